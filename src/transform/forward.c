/* SPDX-License-Identifier: Apache-2.0 */
/* Images carried forward along a chain. */
#include <math.h>

#include "base/matrix.h"
#include "clvox/apply.h"
#include "op/field/splat.h"
#include "op/image/resample.h"
#include "transform/chain.h"
#include "transform/field.h"

/* Voxels that get less than this of a voxel's weight have no mean. */
#define LEAST 1e-3f

static double voxel_volume(const clvox_grid *grid)
{
    return fabs(clv_matrix_determinant(grid->to_ras));
}

static float largest_of(const float *values, size_t count)
{
    float most = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i]))
            most = fmaxf(most, fabsf(values[i]));
    return most;
}

/* Every frame along x -> matrix (x + field), the field on the image's grid. */
static int carry(clvox_context *ctx, const clvox_volume *image, const clv_buffer *field, const double matrix[4][4],
                 clvox_landing landing, float outside, clvox_volume *made)
{
    int status = CLVOX_OK;
    const bool mean = landing == CLVOX_LANDING_MEAN;
    const int *to = made->grid.size, buffers = mean ? 5 : 4;
    const size_t from = clvox_grid_voxels(&image->grid), voxels = clvox_grid_voxels(&made->grid);
    const float factor = mean ? 1 : (float)(voxel_volume(&image->grid) / voxel_volume(&made->grid));
    clv_buffer *in = NULL, *out = NULL, *sums = NULL, *counts = NULL, *beyond = NULL;
    clv_map map;
    const clv_request requests[] = {
        {&in, from * sizeof(float), "image"},
        {&out, voxels * sizeof(float), "carried image"},
        {&sums, voxels * 8, "sums"},
        {&beyond, 16, "what is beyond"},
        {&counts, voxels * 8, "weights"},
    };
    CLV_TRY(clv_pool_take(ctx, requests, buffers));
    clv_map_between(&image->grid, &made->grid, matrix, 1, &map);
    status = clv_buffer_fill(ctx, sums, 0, 0, voxels * 8);
    if (status >= 0)
        status = clv_buffer_fill(ctx, beyond, 0, 0, 16);
    if (status >= 0 && mean)
        status = clv_buffer_fill(ctx, counts, 0, 0, voxels * 8);
    clv_splat_args args = {.in = clv_image_of(in, image->grid.size, NULL, 1), .map = &map, .field = field,
                           .size = {to[0], to[1], to[2]}, .sums = sums, .beyond = beyond};
    clv_splat_args ones = args;
    ones.ones = true;
    ones.sums = counts;
    const clv_splat_mean by = {&ones, LEAST, outside};
    for (int frame = 0; frame < image->frames && status >= 0; frame++) {
        const float *values = image->data + (size_t)frame * from;
        args.most = largest_of(values, from);
        status = clv_buffer_write(ctx, in, 0, values, from * sizeof(float));
        if (status >= 0)
            status = clv_splat(ctx, &args);
        if (status >= 0 && mean)
            status = clv_splat(ctx, &ones);
        if (status >= 0)
            status = clv_splat_total(ctx, &args, factor, mean ? &by : NULL, out);
        if (status >= 0)
            status = clv_buffer_read(ctx, out, 0, made->data + (size_t)frame * voxels, voxels * sizeof(float));
    }
    clv_pool_release(requests, buffers);
end:
    return status;
}

int clvox_forward(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                  const clvox_link *links, int count, clvox_landing landing, float outside, clvox_volume **out)
{
    int status = CLVOX_OK;
    clv_chain chain = {0};
    clv_buffer *field = NULL;
    clvox_volume *made = NULL;
    double matrix[4][4];
    *out = NULL;
    if (image->kind == CLVOX_KIND_LABEL || image->names)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "labels are names and cannot be added up; bring them with the inverse of "
                          "the chain, or carry each as a mask forward");
    if (image->kind != CLVOX_KIND_SCALAR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "vectors and tensors are not carried forward; bring them with the inverse "
                          "of the chain");
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_field_check(&image->grid));
    CLV_TRY(clvox_volume_create(grid, image->frames, image->kind, &made));
    made->type = image->type;
    made->frame_seconds = image->frame_seconds;
    CLV_TRY(clv_chain_make(context, links, count, &chain));
    CLV_TRY(clv_chain_field(context, &chain, &image->grid, &field, matrix));
    CLV_TRY(carry(context, image, field, CLV_MATRIX(matrix), landing, outside, made));
    *out = made;
    made = NULL;
end:
    clv_buffer_destroy(&field);
    clv_chain_free(&chain);
    clvox_volume_destroy(&made);
    return status;
}
