/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/convolve.h"

#include <stdio.h>

/* Beside the block: what marching down needs more, of the widest mask. */
#define MORE_ROWS (3 * 8 * (32 + 2 * CLV_CONVOLVE_MAX_RADIUS) * 4)

/* "rolled" and "strided" show what unrolled loops and neighbours that read
 * neighbours are worth (mueller2008). */
static const clv_variant variants[] = {
    {.name = "block", .function = "convolve_block", .item = {1, CLV_MARCH, 1}, .devices = CLV_ON_GPU,
     .halo = {CLV_CONVOLVE_MAX_RADIUS, CLV_CONVOLVE_MAX_RADIUS, 0}, .cell_bytes = 4,
     .fixed_bytes = MORE_ROWS, .tiles = {{32, 8, 1, 4}, {32, 8, 1, 1}}},
    {.name = "direct", .function = "convolve_direct", .devices = CLV_ON_GPU,
     .tiles = {{32, 8, 1, 1}, {1, 1, 1, 1}}},
    {.name = "rolled", .function = "convolve_direct", .defines = "-DROLLED=1", .devices = CLV_ON_GPU,
     .optional = true, .tiles = {{32, 8, 1, 1}}},
    {.name = "strided", .function = "convolve_direct", .devices = CLV_ON_GPU,
     .optional = true, .tiles = {{1, 256, 1, 1}, {1, 64, 1, 1}}},
    {.name = "row", .function = "convolve_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
    {.name = "row rolled", .function = "convolve_row", .defines = "-DROLLED=1", .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU, .optional = true, .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DRADIUS=1", "-DRADIUS=5", NULL};

const clv_entry clv_entry_convolve = CLV_ENTRY("papers/convolve", "convolve", variants, builds);

int clv_convolve(clvox_context *ctx, const clv_buffer *in, const int size[3], int radius,
                 const clv_buffer *mask, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    char build[32];
    if (radius < 1 || radius > CLV_CONVOLVE_MAX_RADIUS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "convolution: a mask reaches 1 to %d voxels, not %d",
                          CLV_CONVOLVE_MAX_RADIUS, radius);
    snprintf(build, sizeof build, "-DRADIUS=%d", radius);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_convolve, build, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 8.0 * size[0] * size[1] * size[2], CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(size[0], size[1], size[2], radius), CLV_BUF(mask)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_convolve[] = {
    &clv_entry_convolve, NULL};
