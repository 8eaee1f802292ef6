/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/apply.h"

#include <math.h>

#include "base/matrix.h"
#include "base/options.h"
#include "base/status.h"
#include "image/spline.h"
#include "io/volume/labels.h"
#include "io/volume/volume.h"
#include "op/image/resample.h"
#include "op/field/warp.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/apply.h"
#include "transform/chain.h"
#include "transform/field.h"
#include "transform/reorient.h"

/* Resolves AUTO for this image, and checks that the choice suits it. */
static int choose(const clvox_volume *image, clvox_interpolation *interpolation)
{
    /* An image that only looks like labels may be interpolated on request. */
    bool names = image->kind == CLVOX_KIND_LABEL || image->names;
    if (*interpolation == CLVOX_INTERPOLATE_AUTO)
        *interpolation =
            names || image->hint != CLVOX_LABELS_NONE ? CLVOX_INTERPOLATE_LABEL : CLVOX_INTERPOLATE_LINEAR;
    if (names && *interpolation != CLVOX_INTERPOLATE_LABEL && *interpolation != CLVOX_INTERPOLATE_NEAREST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "labels are names and have no values in between; use label or nearest "
                          "interpolation for this image");
    bool vectors = image->kind == CLVOX_KIND_VECTOR || image->kind == CLVOX_KIND_DISPLACEMENT;
    if ((vectors && image->frames != 3) || (image->kind == CLVOX_KIND_TENSOR && image->frames != 6))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a %s volume has %d frames, this one has %d",
                          vectors ? "vector" : "tensor", vectors ? 3 : 6, image->frames);
    return CLVOX_OK;
}

static clv_interpolation kind_of(clvox_interpolation interpolation)
{
    return interpolation == CLVOX_INTERPOLATE_LABEL     ? CLV_LABEL
           : interpolation == CLVOX_INTERPOLATE_NEAREST ? CLV_NEAREST
           : interpolation == CLVOX_INTERPOLATE_LINEAR  ? CLV_LINEAR
           : interpolation == CLVOX_INTERPOLATE_BSPLINE ? CLV_BSPLINE
           : interpolation == CLVOX_INTERPOLATE_LANCZOS ? CLV_LANCZOS
           : interpolation == CLVOX_INTERPOLATE_GAUSSIAN ? CLV_GAUSSIAN
                                                        : CLV_CUBIC;
}

/* Every frame through x -> matrix (x + field). */
static int apply_map(clvox_context *ctx, const clvox_volume *image, const clv_buffer *field,
                     const double matrix[4][4], clvox_interpolation interpolation, float outside,
                     clvox_volume *made)
{
    int status = CLVOX_OK;
    size_t from = clvox_grid_voxels(&image->grid), to = clvox_grid_voxels(&made->grid);
    clv_buffer *in = NULL, *out = NULL, *coefficients = NULL;
    clv_map map;
    clv_spline spline = {.along = {{.rows = 0}}};
    const int buffers = interpolation == CLVOX_INTERPOLATE_BSPLINE ? 3 : 2;
    const clv_request requests[] = {
        {&in, from * sizeof(float), "image"},
        {&out, to * sizeof(float), "resampled image"},
        {&coefficients, from * sizeof(float), "coefficients of the image"},
    };
    CLV_TRY(clv_pool_take(ctx, requests, buffers));
    if (coefficients)
        status = clv_spline_samples(ctx, image->grid.size, &spline);
    clv_map_between(&made->grid, &image->grid, matrix, 1, &map);
    for (int frame = 0; frame < image->frames && status >= 0; frame++) {
        status = clv_buffer_write(ctx, in, 0, image->data + (size_t)frame * from, from * sizeof(float));
        if (status >= 0 && coefficients)
            status = clv_spline_apply(ctx, &spline, in, image->grid.size, (clv_buffer *[2]){coefficients, in},
                                      coefficients, image->grid.size);
        if (status >= 0)
            status = clv_warp(ctx, CLV_VOLUME(coefficients ? coefficients : in, image->grid.size), &map,
                              field, kind_of(interpolation), outside, CLV_VOLUME(out, made->grid.size));
        if (status >= 0)
            status = clv_buffer_read(ctx, out, 0, made->data + (size_t)frame * to, to * sizeof(float));
        if (status >= 0)
            status = clv_watch_told(ctx, (frame + 1.) / image->frames);
    }
    clv_spline_free(&spline);
    clv_pool_release(requests, buffers);
end:
    return status;
}

void clvox_apply_defaults(clvox_apply_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_apply_options){.size = sizeof *options};
}

int clvox_apply(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                const clvox_link *links, int count, clvox_interpolation interpolation, float outside,
                clvox_volume **out)
{
    CLV_GIVEN(context, image, grid, out);
    CLV_HOST_THREADS(context);
    const clvox_apply_options options = {
        .size = sizeof options, .interpolation = interpolation, .outside = outside};
    return clvox_apply_with(context, image, grid, links, count, &options, out);
}

/* A volume for the image on the grid: its kind, type, names and time between frames. *outside becomes what the new volume
 * calls that value. */
static int begin(const clvox_volume *image, const clvox_grid *grid, const clvox_apply_options *options,
                 clvox_interpolation *interpolation, float *outside, clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_volume *made = NULL;
    *interpolation = options ? options->interpolation : CLVOX_INTERPOLATE_AUTO;
    *outside = options ? options->outside : 0;
    CLV_TRY(choose(image, interpolation));
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_field_check(&image->grid));
    CLV_TRY(clv_volume_room(grid, image->frames, image->kind, &made));
    made->type = image->type;
    /* Images carried as labels are marked as labels from now on; masks may still be smoothed. */
    bool kept = *interpolation == CLVOX_INTERPOLATE_LABEL || *interpolation == CLVOX_INTERPOLATE_NEAREST;
    if (image->names || (kept && image->hint > CLVOX_LABELS_MASK))
        made->kind = CLVOX_KIND_LABEL;
    else
        made->hint = image->hint;
    if (image->names) {
        const int64_t fills = llrintf(*outside);
        CLV_TRY(clv_labels_copy_names(image, &fills, made));
        *outside = clv_label_value(made, fills);
    }
    made->frame_seconds = image->frame_seconds;
    if (!(kept && image->hint != CLVOX_LABELS_NONE))
        CLV_TRY(clvox_volume_set_output(made, image, (double)*outside,
                                      options ? options->output : CLVOX_OUTPUT_AUTO));
    *out = made;
    made = NULL;
end:
    clvox_volume_destroy(&made);
    return status;
}

int clv_apply_field(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                    const clv_buffer *field, const double matrix[4][4], const clvox_apply_options *options,
                    clvox_volume **out)
{
    int status = CLVOX_OK;
    clvox_interpolation interpolation;
    float outside;
    *out = NULL;
    CLV_TRY(begin(image, grid, options, &interpolation, &outside, out));
    status = apply_map(context, image, field, matrix, interpolation, outside, *out);
    if (status < 0)
        clvox_volume_destroy(out);
end:
    return status;
}

int clvox_apply_with(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                     const clvox_link *links, int count, const clvox_apply_options *options,
                     clvox_volume **out)
{
    CLV_GIVEN(context, image, grid, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "resampling");
    clvox_interpolation interpolation;
    float outside;
    clvox_reorientation reorientation = options ? options->reorientation : CLVOX_REORIENT_AUTO;
    int status = CLVOX_OK;
    clv_chain chain = {0};
    clv_buffer *field = NULL;
    clvox_volume *made = NULL, *u = NULL;
    double matrix[4][4];
    *out = NULL;
    CLV_TRY(options ? clv_options_sized(options, sizeof *options) : CLVOX_OK);
    CLV_TRY(begin(image, grid, options, &interpolation, &outside, &made));
    CLV_TRY(clv_chain_make(context, links, count, &chain));
    CLV_TRY(clv_chain_field(context, &chain, grid, &field, matrix));
    CLV_TRY(apply_map(context, image, field, CLV_MATRIX(matrix), interpolation, outside, made));
    bool reorients = image->kind == CLVOX_KIND_VECTOR || image->kind == CLVOX_KIND_DISPLACEMENT ||
                     image->kind == CLVOX_KIND_TENSOR;
    if (reorients && reorientation != CLVOX_REORIENT_NONE) {
        if (field)
            CLV_TRY(clv_field_download(context, field, grid, 1, &u));
        CLV_TRY(clv_reorient(made, u, CLV_MATRIX(matrix), reorientation));
    }
    *out = made;
    made = NULL;
end:
    clv_buffer_destroy(&field);
    clv_chain_free(&chain);
    clvox_volume_destroy(&made);
    clvox_volume_destroy(&u);
    return status;
}

int clvox_compose_affine(const clvox_link *links, int count, double matrix[4][4])
{
    CLV_GIVEN(matrix);
    if (count > 0)
        CLV_GIVEN(links);
    int status = CLVOX_OK;
    clv_chain chain = {0};
    for (int i = 0; i < count; i++)
        if (links[i].transform && links[i].transform->is_warp)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "transform %d is a warp; a matrix is made of affines alone", i + 1);
    CLV_TRY(clv_chain_make(NULL, links, count, &chain));
    clv_matrix_copy(CLV_MATRIX(chain.affine[0]), matrix);
end:
    clv_chain_free(&chain);
    return status;
}

int clvox_compose(clvox_context *context, const clvox_grid *grid, const clvox_link *links, int count,
                  clvox_volume **out)
{
    CLV_GIVEN(context, grid, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "composition");
    int status = CLVOX_OK;
    clv_chain chain = {0};
    clv_buffer *field = NULL;
    double matrix[4][4];
    *out = NULL;
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_chain_make(context, links, count, &chain));
    CLV_TRY(clv_chain_field(context, &chain, grid, &field, matrix));
    CLV_TRY(clv_field_download_map(context, field, grid, CLV_MATRIX(matrix), out));
end:
    clv_buffer_destroy(&field);
    clv_chain_free(&chain);
    return status;
}
