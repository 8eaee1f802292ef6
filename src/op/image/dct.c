/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/dct.h"

/* Local memory: what an item adds to the 16 voxels of a plane's block. The four blocks and the three sums that
 * an item keeps want more than 128 registers, so that groups of 512 items would spill on AMD's devices. */
static const clv_variant variants[] = {
    {.name = "block",
     .function = "dct_denoise",
     .item = {1, 1, CLV_MARCH},
     .rim = {2, 2, 0},
     .devices = CLV_ON_GPU,
     .cell_bytes = 64,
     .planes = 1,
     .tiles = {{16, 16, 1, 32}, {32, 8, 1, 32}}},
    {.name = "row",
     .function = "dct_denoise",
     .defines = "-DROW_FORM=1",
     .item = {CLV_WHOLE, 64, 32},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_dct_denoise = CLV_ENTRY("image/dct", "dct_denoise", variants, NULL);

int clv_dct_denoise(clvox_context *ctx, const clv_image *in, const clv_buffer *sigma, float threshold,
                    clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    /* Along an axis of one voxel the four of a cube are one, and so is their noise. */
    for (int a = 0; a < 3; a++)
        threshold *= in->size[a] == 1 ? 2 : 1;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_dct_denoise, NULL, in->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, in->size, 12.0 * (double)clv_image_voxels(in), CLV_BUF(in->buffer),
                       CLV_BUF(sigma), CLV_BUF(out), CLV_SIZE(in), CLV_FLOAT(threshold)));
end:
    return status;
}

const clv_entry *const clv_operation_image_dct[] = {&clv_entry_dct_denoise, NULL};
