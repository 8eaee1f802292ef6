/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/ceiling.h"

static const clv_variant copy_variants[] = {
    {.name = "item", .function = "ceiling_copy_item", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "ceiling_copy_run", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
static const char *const copy_builds[] = {"-DWIDTH=1", "-DWIDTH=2", "-DWIDTH=4", NULL};
const clv_entry clv_entry_ceiling_copy = CLV_ENTRY("papers/ceiling", "ceiling_copy", copy_variants,
                                                   copy_builds);

static const clv_variant local_variants[] = {
    {.name = "group", .function = "ceiling_local", .devices = CLV_ON_ANY,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
};
const clv_entry clv_entry_ceiling_local = CLV_ENTRY("papers/ceiling", "ceiling_local", local_variants, NULL);

static const clv_variant reads_variants[] = {
    {.name = "item", .function = "ceiling_reads", .defines = "-DCELLS=" CLV_TEXT(CLV_CEILING_CELLS),
     .devices = CLV_ON_ANY, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
};
const clv_entry clv_entry_ceiling_reads = CLV_ENTRY("papers/ceiling", "ceiling_reads", reads_variants, NULL);

static const clv_variant atomic_variants[] = {
    {.name = "item", .function = "ceiling_atomics", .devices = CLV_ON_ANY,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
};
const clv_entry clv_entry_ceiling_atomics = CLV_ENTRY("papers/ceiling", "ceiling_atomics", atomic_variants,
                                                      NULL);

static const clv_variant empty_variants[] = {
    {.name = "item", .function = "ceiling_empty", .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_ceiling_empty = CLV_ENTRY("papers/ceiling", "ceiling_empty", empty_variants, NULL);

/* Work-items, a multiple of any group's, that fill every compute unit several times
 * over, `most` at most. */
static int item_count(const clvox_context *ctx, int most)
{
    int units = clvox_context_limits(ctx)->compute_units, wanted = (units < 1 ? 16 : 16 * units) * 256;
    return wanted < most ? wanted : most;
}

int clv_ceiling_copy(clvox_context *ctx, int access, const clv_buffer *in, clv_buffer *out, int n)
{
    const clv_kernel *kernel;
    const int width = access / 4, count = n / width, size[3] = {count, 1, 1};
    const char *build = copy_builds[width == 1 ? 0 : width == 2 ? 1 : 2];
    int status = clv_kernel_get(ctx, &clv_entry_ceiling_copy, build, size, 0, &kernel);
    if (status < 0)
        return status;
    return CLV_LAUNCH(ctx, kernel, size, 8. * n, CLV_BUF(in), CLV_BUF(out), CLV_INT(count));
}

int clv_ceiling_local(clvox_context *ctx, int steps, const clv_buffer *in, clv_buffer *out, double *bytes,
                      int *group)
{
    const clv_kernel *kernel;
    const int size[3] = {item_count(ctx, CLV_CEILING_ROOM / 4), 1, 1};
    int status = clv_kernel_get(ctx, &clv_entry_ceiling_local, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    *group = kernel->tile.x;
    *bytes = 16. * steps * size[0];
    return CLV_LAUNCH(ctx, kernel, size, 0, CLV_BUF(in), CLV_INT(steps), CLV_BUF(out));
}

int clv_ceiling_reads(clvox_context *ctx, int steps, const clv_buffer *in, clv_buffer *out, double *reads,
                      int *group)
{
    const clv_kernel *kernel;
    const int size[3] = {item_count(ctx, CLV_CEILING_ROOM), 1, 1};
    int status = clv_kernel_get(ctx, &clv_entry_ceiling_reads, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    *group = kernel->tile.x;
    *reads = (double)steps * size[0];
    return CLV_LAUNCH(ctx, kernel, size, 0, CLV_BUF(in), CLV_INT(steps), CLV_BUF(out));
}

int clv_ceiling_atomics(clvox_context *ctx, int count, int steps, clv_buffer *counters, double *additions)
{
    const clv_kernel *kernel;
    const int size[3] = {item_count(ctx, 1 << 24), 1, 1};
    int status = clv_kernel_get(ctx, &clv_entry_ceiling_atomics, NULL, size, 0, &kernel);
    if (status < 0)
        return status;
    *additions = (double)steps * size[0];
    return CLV_LAUNCH(ctx, kernel, size, 0, CLV_BUF(counters), CLV_INT(count - 1), CLV_INT(steps));
}

int clv_ceiling_empty(clvox_context *ctx, clv_buffer *any)
{
    static const int one[3] = {1, 1, 1};
    const clv_kernel *kernel;
    int status = clv_kernel_get(ctx, &clv_entry_ceiling_empty, NULL, one, 0, &kernel);
    return status < 0 ? status : CLV_LAUNCH(ctx, kernel, one, 0, CLV_BUF(any));
}

const clv_entry *const clv_operation_papers_ceiling[] = {
    &clv_entry_ceiling_copy, &clv_entry_ceiling_local, &clv_entry_ceiling_reads,
    &clv_entry_ceiling_atomics, &clv_entry_ceiling_empty, NULL};
