/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/statistics.h"

#include <math.h>

#include "op/map.h"

enum { PARTS = 6, MOST_GROUPS = CLV_STATISTICS_PARTIALS / PARTS };

static const clv_variant variants[] = {
    {.name = "groups", .function = "statistics_groups", .defines = "-DUNROLL=4", .group = {CLV_WHOLE, 1, 1},
     .most_groups = MOST_GROUPS, .devices = CLV_ON_GPU,
     .fixed_bytes = 6 * 256 * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "rows", .function = "statistics_rows", .item = {CLV_WHOLE}, .most_groups = MOST_GROUPS, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DLENGTHS=0", "-DLENGTHS=1", NULL};

const clv_entry clv_entry_statistics = CLV_ENTRY("image/statistics", "statistics", variants, builds);

/* Statistics of determinants or, for a vector field, of lengths. */
static int measure(clvox_context *ctx, const clv_image *image, const float reorient[3][3],
                   const clv_buffer *through, const clv_buffer *weight, clv_buffer *partial,
                   clv_statistics *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float parts[CLV_STATISTICS_PARTIALS];
    const int *size = image->size;
    int floats = image->components + (through ? 3 : 0) + (weight ? 1 : 0);
    double moved = 4. * size[0] * size[1] * size[2] * floats;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_statistics, builds[image->components == 3], size, 0, &kernel));
    int groups = clv_launch_groups(kernel, size, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, moved, CLV_BUF(image->buffer), CLV_BUF(through), CLV_BUF(weight),
                       CLV_GRID(image), CLV_ROWS(reorient), CLV_BUF(partial)));
    CLV_TRY(clv_buffer_read(ctx, partial, 0, parts, sizeof(float) * PARTS * (size_t)groups));
    *out = (clv_statistics){.smallest = INFINITY, .largest = -INFINITY};
    double below = 0, voxels = 0;
    for (int g = 0; g < groups; g++) {
        const float *p = parts + PARTS * g;
        out->smallest = fmin(out->smallest, (double)p[0]);
        out->largest = fmax(out->largest, (double)p[1]);
        out->sum += (double)p[2];
        out->sum_squares += (double)p[3];
        below += (double)p[4];
        voxels += (double)p[5];
    }
    out->not_above = (long)below;
    out->voxels = (long)voxels;
end:
    return status;
}

int clv_statistics_determinants(clvox_context *ctx, const clv_buffer *determinants, const clv_buffer *weight,
                                const int size[3], clv_buffer *partial, clv_statistics *out)
{
    static const float none[3][3] = {{0}};
    return measure(ctx, CLV_VOLUME(determinants, size), none, NULL, weight, partial, out);
}

int clv_statistics_lengths(clvox_context *ctx, const clv_image *field, const float reorient[3][3],
                           const clv_buffer *through, const clv_buffer *weight, clv_buffer *partial,
                           clv_statistics *out)
{
    return measure(ctx, field, reorient, through, weight, partial, out);
}

const clv_entry *const clv_operation_image_statistics[] = {
    &clv_entry_statistics, NULL};
