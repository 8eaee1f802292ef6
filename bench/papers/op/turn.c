/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/turn.h"

#define EDGE 32
static const clv_variant variants[] = {
    {.name = "block", .function = "turn_block", .item = {1, CLV_MARCH, 1}, .devices = CLV_ON_GPU,
     .fixed_bytes = EDGE * (EDGE + 1) * 4, .tiles = {{EDGE, 8, 1, 4}}},
    {.name = "row", .function = "turn_row", .item = {1, CLV_WHOLE, 1}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}, {16, 1, 1, 1}}},
};
const clv_entry clv_entry_turn = CLV_ENTRY("papers/turn", "turn", variants, NULL);

int clv_turn(clvox_context *ctx, const clv_image *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_turn, NULL, in->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, in->size, 8. * (double)clv_image_voxels(in), CLV_BUF(in->buffer),
                       CLV_BUF(out), CLV_SIZE(in)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_turn[] = {&clv_entry_turn, NULL};
