/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/coadjoint.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "coadjoint_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {16, 4, 1, 1}}},
    {.name = "row", .function = "coadjoint_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DTRANSPOSED=0", "-DTRANSPOSED=1", NULL};

const clv_entry clv_entry_coadjoint = CLV_ENTRY("fluid/coadjoint", "coadjoint", variants, builds);

static int act(clvox_context *ctx, const clv_image *v, const clv_buffer *w, bool transposed, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = v->size;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_coadjoint, builds[transposed], size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 36. * (double)clv_image_voxels(v), CLV_BUF(v->buffer), CLV_BUF(w),
                       CLV_GRID(v), CLV_BUF(out)));
end:
    return status;
}

int clv_adjoint_action(clvox_context *ctx, const clv_image *v, const clv_buffer *w, clv_buffer *out)
{
    return act(ctx, v, w, false, out);
}

int clv_coadjoint_action(clvox_context *ctx, const clv_image *v, const clv_buffer *m, clv_buffer *out)
{
    return act(ctx, v, m, true, out);
}

const clv_entry *const clv_operation_fluid_coadjoint[] = {
    &clv_entry_coadjoint, NULL};
