/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/tv.h"

#include <math.h>

/* Of pairs march says how many voxels a work-item takes, of rows how many planes, twice as many rows. */
#define PAIR(z)                                                                                             \
    {.name = "pair", .function = "tensor_tv_pair", .defines = "-DPART=4", \
     .devices = CLV_ON_GPU, .tiles = {{32, 2, z, 2}}}
#define ITEM                                                                                                \
    {.name = "item", .function = "tensor_tv_item", .devices = CLV_ON_GPU,          \
     .tiles = {{32, 2, 2, 1}, {32, 4, 2, 1}}}
#define ROW                                                                                                 \
    {.name = "row", .function = "tensor_tv_row", .defines = "-DPART=3", .item = {CLV_WHOLE},             \
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 8}}}
static const clv_variant step_variants[] = {PAIR(2), ITEM, ROW};
static const clv_variant paper_step_variants[] = {PAIR(1), ITEM, ROW};
#undef PAIR
#undef ITEM
#undef ROW
/* Steps of a launch at most are the halo's width. */
static const clv_variant overlap_variants[] = {
    {.name = "two", .function = "tensor_tv_blocks", .defines = "-DPART=1 -DOVERLAP=1 -DHALO=2",
     .devices = CLV_ON_ANY, .halo = {2, 2, 2}, .cell_bytes = 49, .fixed_bytes = 16,
     .tiles = {{8, 4, 4, 1}}},
    {.name = "one", .function = "tensor_tv_blocks", .defines = "-DPART=1 -DOVERLAP=1 -DHALO=1",
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .cell_bytes = 49, .fixed_bytes = 16,
     .tiles = {{8, 8, 4, 1}}},
};
/* 24 of a cell's bytes are of its work-item, of which there are fewer. */
static const clv_variant block_variants[] = {
    {.name = "block", .function = "tensor_tv_blocks", .defines = "-DPART=1 -DOVERLAP=0 -DHALO=1",
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .cell_bytes = 49 + 24,
     .fixed_bytes = 16, .tiles = {{8, 8, 4, 1}, {16, 4, 4, 1}, {4, 4, 4, 1}}},
};
static const clv_variant none_variants[] = {
    {.name = "eight", .function = "tensor_tv_none", .defines = "-DPART=1",
     .devices = CLV_ON_ANY, .cell_bytes = 392, .fixed_bytes = 16,
     .tiles = {{32, 2, 1, 1}, {16, 2, 2, 1}}},
};
/* march: voxels, or rows, of a chunk at least. */
static const clv_variant sums_variants[] = {
    {.name = "groups", .function = "tensor_tv_sums_groups", .defines = "-DPART=2",
     .group = {1, 1, 1}, .devices = CLV_ON_GPU, .fixed_bytes = 256 * 32,
     .tiles = {{256, 1, 1, 4096}, {128, 1, 1, 2048}}},
    {.name = "rows", .function = "tensor_tv_sums_rows", .defines = "-DPART=5",
     .group = {1, 1, 1}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 32}}},
};
static const clv_variant last_variants[] = {
    {.name = "groups", .function = "tensor_tv_last_group", .defines = "-DPART=2",
     .group = {1, 1, 1}, .devices = CLV_ON_GPU, .fixed_bytes = 1024 * 4,
     .tiles = {{256, 1, 1, 1}, {1024, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "tensor_tv_last_item", .defines = "-DPART=2",
     .group = {1, 1, 1}, .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 1}}},
};

static const char *const coupling_builds[] = {"-DPAPER=0", "-DPAPER=1", NULL};
static const char *const sums_builds[] = {"-DDATA=0", "-DDATA=1", NULL};
/* By whether rows have an even length. */
static const char *const local_builds[] = {"-DPAPER=0", "-DPAPER=0 -DEVEN=1", NULL};
static const char *const paper_builds[] = {"-DPAPER=1", "-DPAPER=1 -DEVEN=1", NULL};

const clv_entry clv_entry_tensor_tv_step = {"tensor/tv", "tensor_tv_step", step_variants, 3, local_builds};
const clv_entry clv_entry_tensor_tv_step_paper = {"tensor/tv", "tensor_tv_step_paper", paper_step_variants,
                                                  3, paper_builds};
const clv_entry clv_entry_tensor_tv_sums = {"tensor/tv", "tensor_tv_sums", sums_variants, 2, sums_builds};
const clv_entry clv_entry_tensor_tv_last = {"tensor/tv", "tensor_tv_last", last_variants, 2,
                                            coupling_builds};

const clv_entry clv_entry_tensor_tv_overlap = {"tensor/tv", "tensor_tv_overlap", overlap_variants, 2,
                                               coupling_builds};
const clv_entry clv_entry_tensor_tv_block = {"tensor/tv", "tensor_tv_block", block_variants, 1,
                                             coupling_builds};
const clv_entry clv_entry_tensor_tv_none = {"tensor/tv", "tensor_tv_none", none_variants, 1,
                                            coupling_builds};

static int voxels(const clv_tensor_tv_args *a)
{
    return a->size[0] * a->size[1] * a->size[2];
}

/* Differences' weights, and as the fourth the sum of their squares. */
static void weights_of(const clv_tensor_tv_args *args, float w[4])
{
    float least = fminf(args->spacing[0], fminf(args->spacing[1], args->spacing[2]));
    w[3] = 0;
    for (int a = 0; a < 3; a++) {
        w[a] = least / args->spacing[a];
        w[3] += w[a] * w[a];
    }
}

/* The step length without what depends on the voxel. */
static float rate_of(const clv_tensor_tv_args *args, const float w[4])
{
    return args->relax * 2 / ((4 * w[3] / sqrtf(args->eps) + args->lambda) * 4);
}

/* The sums of groups, eight floats each, and then those of all. */
static int sums(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field, bool data)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *last;
    const int most = CLV_TENSOR_TV_PARTIALS / 8, one[3] = {1, 1, 1};
    float w[4];
    int n = voxels(args);
    weights_of(args, w);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_tv_sums, sums_builds[data], args->size, 0, &kernel));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_tv_last, coupling_builds[args->coupling], one, 0, &last));
    bool rows = kernel->tile.x == 1;
    int things = rows ? args->size[1] * args->size[2] : n;
    int chunk = (things + most - 1) / most;
    chunk = chunk > kernel->tile.march ? chunk : kernel->tile.march;
    chunk = (chunk + 3) / 4 * 4; /* voxels are read four at a time */
    const int count = (things + chunk - 1) / chunk, groups[3] = {count, 1, 1};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, groups, n * (data ? 49. : 25.), CLV_BUF(field), CLV_BUF(args->data),
                       CLV_BUF(args->links), CLV_INT4(args->size[0], args->size[1], args->size[2], 0),
                       CLV_FLOAT4V(w), CLV_FLOAT(args->eps), CLV_INT(chunk), CLV_BUF(args->partial)));
    CLV_TRY(CLV_LAUNCH(ctx, last, one, 32. * count, CLV_BUF(args->partial), CLV_INT(count),
                       CLV_FLOAT(args->lambda), CLV_BUF(args->state)));
end:
    return status;
}

int clv_tensor_tv_sums(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field)
{
    return sums(ctx, args, field, false);
}

int clv_tensor_tv_energy(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field)
{
    return sums(ctx, args, field, true);
}

static int step(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_kernel *kernel,
                const clv_buffer *from, clv_buffer *to)
{
    int status = CLVOX_OK, march = kernel->tile.march;
    bool rows = kernel->item[0] == 0;
    const int *size = args->size, each[3] = {rows ? 1 : march, rows ? 2 * march : 1, rows ? march : 1};
    const int items[3] = {(size[0] + each[0] - 1) / each[0], (size[1] + each[1] - 1) / each[1],
                          (size[2] + each[2] - 1) / each[2]};
    float w[4];
    weights_of(args, w);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, items, 73. * voxels(args), CLV_BUF(from), CLV_BUF(args->data),
                       CLV_BUF(args->links), CLV_BUF(args->state), CLV_INT4(size[0], size[1], size[2], 0),
                       CLV_FLOAT4V(w), CLV_FLOAT(args->lambda), CLV_FLOAT(args->eps),
                       CLV_FLOAT(rate_of(args, w)), CLV_FLOAT(args->floor), CLV_BUF(to)));
end:
    return status;
}

int clv_tensor_tv_step(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                       clv_buffer *to)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    bool paper = args->coupling == CLV_TENSOR_PAPER, even = args->size[0] % 2 == 0;
    CLV_TRY(clv_kernel_get(ctx, paper ? &clv_entry_tensor_tv_step_paper : &clv_entry_tensor_tv_step,
                           (paper ? paper_builds : local_builds)[even], args->size, 0, &kernel));
    CLV_TRY(step(ctx, args, kernel, from, to));
end:
    return status;
}

int clv_tensor_tv_advance(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                          clv_buffer *to)
{
    int status = CLVOX_OK;
    if (args->coupling == CLV_TENSOR_PAPER)
        CLV_TRY(clv_tensor_tv_sums(ctx, args, from));
    CLV_TRY(clv_tensor_tv_step(ctx, args, from, to));
end:
    return status;
}

/* Up to `most` steps in one launch (the rest is the caller's to ask for again):
 * how many it made is in *made. */
static int round_of(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme, int most,
                    const clv_buffer *from, clv_buffer *to, int *made)
{
    static const clv_entry *const entries[] = {NULL, &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block,
                                               &clv_entry_tensor_tv_none};
    int status = CLVOX_OK, size[3];
    const clv_kernel *kernel;
    float w[4];
    weights_of(args, w);
    for (int a = 0; a < 3; a++)
        size[a] = scheme == CLV_TENSOR_NONE ? (args->size[a] + 1) / 2 : args->size[a];
    CLV_TRY(clv_kernel_get(ctx, entries[scheme], coupling_builds[args->coupling], size, 0, &kernel));
    int limit = scheme == CLV_TENSOR_OVERLAP ? kernel->variant->halo[0]
                : scheme == CLV_TENSOR_BLOCK ? CLV_TENSOR_BLOCK_STEPS : most;
    *made = most < limit ? most : limit;
    if (scheme == CLV_TENSOR_OVERLAP && args->coupling == CLV_TENSOR_PAPER)
        CLV_TRY(clv_tensor_tv_sums(ctx, args, from));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 73. * voxels(args), CLV_BUF(from), CLV_BUF(args->data),
                       CLV_BUF(args->links), CLV_BUF(args->state),
                       CLV_INT4(args->size[0], args->size[1], args->size[2], 0), CLV_FLOAT4V(w),
                       CLV_FLOAT(args->lambda), CLV_FLOAT(args->eps), CLV_FLOAT(rate_of(args, w)),
                       CLV_FLOAT(args->floor), CLV_INT(*made), CLV_BUF(to)));
end:
    return status;
}

int clv_tensor_tv_descend(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme,
                          int steps, clv_buffer *field, clv_buffer *other)
{
    int status = CLVOX_OK;
    clv_buffer *from = field, *to = other;
    for (int k = 0, made = 1; k < steps; k += made) {
        if (scheme != CLV_TENSOR_GLOBAL) {
            CLV_TRY(round_of(ctx, args, scheme, steps - k, from, to, &made));
        } else {
            CLV_TRY(clv_tensor_tv_advance(ctx, args, from, to));
        }
        clv_buffer *last = from;
        from = to;
        to = last;
    }
    if (from != field)
        CLV_TRY(clv_buffer_copy(ctx, from, 0, field, 0, (size_t)voxels(args) * 24));
end:
    return status;
}

const clv_entry *const clv_operation_tensor_tv[] = {
    &clv_entry_tensor_tv_step, &clv_entry_tensor_tv_step_paper, &clv_entry_tensor_tv_sums,
    &clv_entry_tensor_tv_last, &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block,
    &clv_entry_tensor_tv_none, NULL};
