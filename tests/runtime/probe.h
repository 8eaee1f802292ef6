/* SPDX-License-Identifier: Apache-2.0 */
/* The entry of kernels/probe.cl, in every shape, for the tests of the runtime. */
#ifndef PROBE_H
#define PROBE_H

#include "check.h"
#include "runtime/runtime.h"

static const clv_variant probe_variants[] = {
    {.name = "march", .function = "probe_march", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .halo = {1, 1, 0}, .cell_bytes = 4, .planes = 1,
     .tiles = {{16, 4, 1, 4}, {32, 8, 1, 8}, {32, 16, 1, 8}, {64, 16, 1, 8}}},
    {.name = "item", .function = "probe_item", .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {4, 4, 4, 1}}},
    {.name = "row", .function = "probe_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}, {1, 2, 2, 1}}},
    {.name = "line", .function = "probe_line", .item = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .optional = true, .register_cap = 32, .tiles = {{64, 1, 1, 4}}},
    {.name = "broken", .function = "probe_broken", .item = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .optional = true, .tiles = {{64, 1, 1, 1}}},
};
static const clv_entry probe = CLV_ENTRY("probe", "probe", probe_variants, NULL);

/* Runs the probe over 19 x 7 x 5 voxels: returns whether out = factor in + add. */
static inline bool probe_runs(clvox_context *ctx, const char *extra, float add)
{
    enum { NX = 19, NY = 7, NZ = 5, N = NX * NY * NZ };
    static const int size[3] = {NX, NY, NZ};
    float host[N];
    bool right = false;
    const clv_kernel *kernel;
    clv_buffer *in = NULL, *out = NULL;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    if (clv_kernel_get(ctx, &probe, extra, size, 0, &kernel) < 0 ||
        clv_buffer_create(ctx, sizeof host, "input", &in) < 0 ||
        clv_buffer_create(ctx, sizeof host, "output", &out) < 0 ||
        clv_buffer_write(ctx, in, 0, host, sizeof host) < 0)
        goto end;
    const int *launch = kernel->variant->item[0] == CLV_MARCH ? (int[3]){N, 1, 1} : size;
    if (CLV_LAUNCH(ctx, kernel, launch, 8.0 * N, CLV_BUF(in), CLV_BUF(out), CLV_INT4(NX, NY, NZ, 0),
                   CLV_FLOAT(3)) < 0 ||
        clv_buffer_read(ctx, out, 0, host, sizeof host) < 0)
        goto end;
    right = true;
    for (int i = 0; i < N; i++)
        right = right && host[i] == 3.0f * (float)i + add;
end:
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    return right;
}

#endif
