/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/jacobian.h"

static const clv_variant variants[] = {
    {.name = "march", .function = "jacobian_march", .defines = "-DUNROLL=2",
     .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 8}, {64, 4, 1, 16}, {32, 2, 1, 4}}},
    {.name = "row", .function = "jacobian_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DLOG=0", "-DLOG=1", NULL};

const clv_entry clv_entry_jacobian = CLV_ENTRY("field/jacobian", "jacobian", variants, builds);

int clv_jacobian(clvox_context *ctx, const clv_image *u, bool log, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = u->size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_jacobian, builds[log], size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 16. * (double)clv_image_voxels(u), CLV_BUF(u->buffer), CLV_BUF(out),
                       CLV_GRID(u)));
end:
    return status;
}

const clv_entry *const clv_operation_field_jacobian[] = {
    &clv_entry_jacobian, NULL};
