/* SPDX-License-Identifier: Apache-2.0 */
/* Images carried forward along a chain. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/apply.h"
#include "io/volume/labels.h"
#include "op/field/splat.h"
#include "op/image/resample.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
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
    const int *to = made->grid.size, buffers = mean ? 6 : 5;
    const size_t from = clvox_grid_voxels(&image->grid), voxels = clvox_grid_voxels(&made->grid);
    const float factor = mean ? 1 : (float)(voxel_volume(&image->grid) / voxel_volume(&made->grid));
    clv_buffer *in = NULL, *out = NULL, *sums = NULL, *counts = NULL, *beyond = NULL, *boxes = NULL;
    clv_map map;
    const clv_request requests[] = {
        {&in, from * sizeof(float), "image"},
        {&out, voxels * sizeof(float), "carried image"},
        {&sums, voxels * 8, "sums"},
        {&beyond, 16, "what is beyond"},
        {&boxes, 16 + clv_splat_box_bytes(ctx), "sums of few voxels"},
        {&counts, voxels * 8, "weights"},
    };
    CLV_TRY(clv_pool_take(ctx, requests, buffers));
    clv_map_between(&image->grid, &made->grid, matrix, 1, &map);
    status = clv_buffer_fill(ctx, sums, 0, 0, voxels * 8);
    if (status >= 0)
        status = clv_buffer_fill(ctx, beyond, 0, 0, 16);
    if (status >= 0 && mean)
        status = clv_buffer_fill(ctx, counts, 0, 0, voxels * 8);
    clv_splat_args args = {.in = clv_image_of(in, image->grid.size, NULL, 1),
                           .map = &map,
                           .field = field,
                           .size = {to[0], to[1], to[2]},
                           .sums = sums,
                           .beyond = beyond,
                           .boxes = boxes};
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
        if (status >= 0)
            status = clv_watch_told(ctx, (frame + 1.) / image->frames);
    }
    clv_pool_release(requests, buffers);
end:
    return status;
}

/* ---- labels ---------------------------------------------------------------- */

/* Its finite values, ascending; *values is the caller's, also after a failure. */
static int list_values(const clvox_volume *image, float **values, int *count)
{
    int room = 0;
    *values = NULL;
    *count = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&image->grid) * (size_t)image->frames; i++) {
        const float value = image->data[i];
        int low = 0, high = *count;
        if (!isfinite(value) || (i > 0 && value == image->data[i - 1]))
            continue;
        while (low < high) {
            const int middle = (low + high) / 2;
            if ((*values)[middle] < value)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < *count && (*values)[low] == value)
            continue;
        if (*count == room) {
            float *more = realloc(*values, (size_t)(room = 2 * room + 64) * sizeof *more);
            if (!more)
                return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for labels");
            *values = more;
        }
        memmove(*values + low + 1, *values + low, (size_t)(*count - low) * sizeof **values);
        (*values)[low] = value;
        ++*count;
    }
    return CLVOX_OK;
}

/* One frame: each label as a mask; a voxel takes the one most of which lands there, of equals the first. */
typedef struct ballot {
    clv_buffer *in, *out, *sums, *beyond, *boxes;
    const float *labels;
    int count;
    float *mask, *share, *best, *total; /* of voxels: mask of the image, the others of what is made */
} ballot;

static int vote_frame(clvox_context *ctx, const ballot *b, const float *from, size_t voxels_from,
                      const clv_splat_args *args, float outside, float *to)
{
    int status = CLVOX_OK;
    const size_t voxels =
        clvox_grid_voxels(&(clvox_grid){.size = {args->size[0], args->size[1], args->size[2]}});
    memset(b->best, 0, voxels * sizeof *b->best);
    memset(b->total, 0, voxels * sizeof *b->total);
    for (size_t i = 0; i < voxels; i++)
        to[i] = outside;
    for (int k = 0; k < b->count; k++) {
        for (size_t i = 0; i < voxels_from; i++)
            b->mask[i] = from[i] == b->labels[k];
        CLV_TRY(clv_buffer_write(ctx, b->in, 0, b->mask, voxels_from * sizeof *b->mask));
        CLV_TRY(clv_splat(ctx, args));
        CLV_TRY(clv_splat_total(ctx, args, 1, NULL, b->out));
        CLV_TRY(clv_buffer_read(ctx, b->out, 0, b->share, voxels * sizeof *b->share));
        for (size_t i = 0; i < voxels; i++) {
            b->total[i] += b->share[i];
            if (b->share[i] <= b->best[i])
                continue;
            b->best[i] = b->share[i];
            to[i] = b->labels[k];
        }
    }
    for (size_t i = 0; i < voxels; i++)
        if (b->total[i] < LEAST)
            to[i] = outside;
end:
    return status;
}

static int vote(clvox_context *ctx, const clvox_volume *image, const clv_buffer *field,
                const double matrix[4][4], float outside, clvox_volume *made)
{
    int status = CLVOX_OK;
    const size_t from = clvox_grid_voxels(&image->grid), to = clvox_grid_voxels(&made->grid);
    ballot b = {.count = 0};
    float *labels = NULL;
    clv_map map;
    const clv_request requests[] = {
        {&b.in, from * sizeof(float), "a label"},
        {&b.out, to * sizeof(float), "what is carried of it"},
        {&b.sums, to * 8, "sums"},
        {&b.beyond, 16, "what is beyond"},
        {&b.boxes, 16 + clv_splat_box_bytes(ctx), "sums of few voxels"},
    };
    CLV_TRY(list_values(image, &labels, &b.count));
    b.labels = labels;
    b.mask = malloc(from * sizeof *b.mask);
    b.share = malloc(3 * to * sizeof *b.share);
    if (!b.mask || !b.share) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for labels");
        goto end;
    }
    b.best = b.share + to;
    b.total = b.best + to;
    CLV_TRY(clv_pool_take(ctx, requests, 5));
    clv_map_between(&image->grid, &made->grid, matrix, 1, &map);
    CLV_TRY(clv_buffer_fill(ctx, b.sums, 0, 0, to * 8));
    CLV_TRY(clv_buffer_fill(ctx, b.beyond, 0, 0, 16));
    const clv_splat_args args = {.in = clv_image_of(b.in, image->grid.size, NULL, 1),
                                 .map = &map,
                                 .field = field,
                                 .size = {made->grid.size[0], made->grid.size[1], made->grid.size[2]},
                                 .most = 1,
                                 .sums = b.sums,
                                 .beyond = b.beyond,
                                 .boxes = b.boxes};
    for (int frame = 0; frame < image->frames; frame++) {
        CLV_TRY(vote_frame(ctx, &b, image->data + (size_t)frame * from, from, &args, outside,
                           made->data + (size_t)frame * to));
        CLV_TRY(clv_watch_told(ctx, (frame + 1.) / image->frames));
    }
end:
    clv_pool_release(requests, 5);
    free(labels);
    free(b.mask);
    free(b.share);
    return status;
}

/* Marks what is made as labels of the same names; *outside becomes the value that stands for it. */
static int name_labels(const clvox_volume *image, clvox_volume *made, float *outside)
{
    const int64_t fills = llrintf(*outside);
    made->kind = image->hint == CLVOX_LABELS_MASK && !image->names ? image->kind : CLVOX_KIND_LABEL;
    made->hint = image->hint;
    int status = clv_labels_copy_names(image, &fills, made);
    if (status >= 0 && image->names)
        *outside = clv_label_value(made, fills);
    return status;
}

int clvox_forward(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                  const clvox_link *links, int count, clvox_landing landing, float outside, clvox_volume **out)
{
    CLV_GIVEN(context, image, grid, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "resampling");
    int status = CLVOX_OK;
    clv_chain chain = {0};
    clv_buffer *field = NULL;
    clvox_volume *made = NULL;
    double matrix[4][4];
    *out = NULL;
    const bool named = image->kind == CLVOX_KIND_LABEL || image->names;
    const bool labels = named || (image->kind == CLVOX_KIND_SCALAR && image->hint != CLVOX_LABELS_NONE &&
                                  landing == CLVOX_LANDING_MEAN);
    if (named && landing == CLVOX_LANDING_MASS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "labels are names and cannot be added up; leave the mass away, or carry each as a "
                          "mask");
    if (!labels && image->kind != CLVOX_KIND_SCALAR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "vectors and tensors are not carried forward; bring them with the inverse "
                          "of the chain");
    CLV_TRY(clv_field_check(grid));
    CLV_TRY(clv_field_check(&image->grid));
    CLV_TRY(clvox_volume_create(grid, image->frames, image->kind, &made));
    /* Sums have shares of whole numbers. */
    made->type = landing == CLVOX_LANDING_MASS ? CLVOX_TYPE_FLOAT32 : image->type;
    made->frame_seconds = image->frame_seconds;
    CLV_TRY(clv_chain_make(context, links, count, &chain));
    CLV_TRY(clv_chain_field(context, &chain, &image->grid, &field, matrix));
    if (labels) {
        CLV_TRY(name_labels(image, made, &outside));
        CLV_TRY(vote(context, image, field, CLV_MATRIX(matrix), outside, made));
    } else {
        CLV_TRY(carry(context, image, field, CLV_MATRIX(matrix), landing, outside, made));
    }
    *out = made;
    made = NULL;
end:
    clv_buffer_destroy(&field);
    clv_chain_free(&chain);
    clvox_volume_destroy(&made);
    return status;
}
