/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/median.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "median", .devices = CLV_ON_GPU,
     .tiles = {{32, 8, 1, 1}, {64, 4, 1, 1}, {32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "median", .defines = "-DWIDE=8", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
/* The neighbours alone are selected in registers. */
static const char *const builds[] = {"-DNEXT=0", "-DNEXT=1", NULL};
const clv_entry clv_entry_median = CLV_ENTRY("image/median", "median", variants, builds);

int clv_median_filter(clvox_context *ctx, const clv_image *in, const int radius[3], clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    bool next = true;
    for (int a = 0; a < 3; a++) {
        if (radius[a] < 0 || radius[a] > CLV_MEDIAN_MAX_RADIUS)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "a median of radius %d: 0 to %d voxels are possible",
                              radius[a], CLV_MEDIAN_MAX_RADIUS);
        next = next && radius[a] == 1;
    }
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_median, builds[next], in->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, in->size, 8.0 * (double)clv_image_voxels(in), CLV_BUF(in->buffer), CLV_BUF(out),
                       CLV_SIZE(in), CLV_INT4(radius[0], radius[1], radius[2], 0)));
end:
    return status;
}

const clv_entry *const clv_operation_image_median[] = {
    &clv_entry_median, NULL};
