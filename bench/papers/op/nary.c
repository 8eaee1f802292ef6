/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/nary.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "nary",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run",
     .function = "nary",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
static const char *const builds[] = {"-DINPUTS=1", "-DINPUTS=2", "-DINPUTS=3", "-DINPUTS=4",
                                     "-DINPUTS=5", "-DINPUTS=6", "-DINPUTS=7", "-DINPUTS=8",
                                     "-DINPUTS=2 -DMOST=1", NULL};
const clv_entry clv_entry_nary = CLV_ENTRY("papers/nary", "nary", variants, builds);

static int run(clvox_context *ctx, const char *build, const clv_buffer *const *in, int count, int n,
               clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_buffer *all[CLV_NARY_MOST] = {NULL};
    const int line[3] = {n, 1, 1};
    for (int i = 0; i < count; i++)
        all[i] = in[i];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nary, build, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4. * (count + 1) * n, CLV_BUF(all[0]), CLV_BUF(all[1]),
                       CLV_BUF(all[2]), CLV_BUF(all[3]), CLV_BUF(all[4]), CLV_BUF(all[5]), CLV_BUF(all[6]),
                       CLV_BUF(all[7]), CLV_BUF(out), CLV_INT(n)));
end:
    return status;
}

int clv_mean(clvox_context *ctx, const clv_buffer *const *in, int count, int n, clv_buffer *out)
{
    if (count < 1 || count > CLV_NARY_MOST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d volumes at once: from 1 to %d are possible", count,
                          CLV_NARY_MOST);
    return run(ctx, builds[count - 1], in, count, n, out);
}

int clv_largest(clvox_context *ctx, const clv_buffer *a, const clv_buffer *b, int n, clv_buffer *out)
{
    return run(ctx, builds[CLV_NARY_MOST], (const clv_buffer *const[]){a, b}, 2, n, out);
}

const clv_entry *const clv_operation_papers_nary[] = {&clv_entry_nary, NULL};
