/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/copy.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "copy_item", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {512, 1, 1, 1}, {128, 1, 1, 1}}},
    {.name = "run", .function = "copy_run", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}, {1, 1, 1, 65536}, {8, 1, 1, 1}}},
};

const clv_entry clv_entry_copy = CLV_ENTRY("papers/copy", "copy", variants, NULL);

int clv_copy(clvox_context *ctx, const clv_buffer *in, clv_buffer *out, int n)
{
    const int size[3] = {n / 4, 1, 1};
    const clv_kernel *kernel;
    int status = clv_kernel_get(ctx, &clv_entry_copy, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    return CLV_LAUNCH(ctx, kernel, size, 8. * n, CLV_BUF(in), CLV_BUF(out), CLV_INT(n / 4));
}

const clv_entry *const clv_operation_papers_copy[] = {
    &clv_entry_copy, NULL};
