/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/tensor_tv.h"

#include <math.h>

/* The weights' place in the state. */
#define STATE "-DWEIGHTS=" CLV_TEXT(CLV_TENSOR_TV_WEIGHT)

/* A pair of voxels in a row; a voxel; rows of a block, of which a work-item takes so many lines and planes. */
static const clv_variant step_variants[] = {
    {.name = "pair", .function = "tensor_tv_pair", .defines = "-DPART=STEP_VOXEL " STATE,
     .item = {CLV_MARCH, 1, 1}, .devices = CLV_ON_GPU, .tiles = {{32, 2, 2, 2}, {32, 2, 1, 2}}},
    {.name = "item", .function = "tensor_tv_item", .defines = "-DPART=STEP_VOXEL " STATE,
     .devices = CLV_ON_GPU, .tiles = {{32, 2, 2, 1}, {32, 4, 2, 1}}},
    {.name = "row", .function = "tensor_tv_row", .defines = "-DPART=STEP_ROW " STATE,
     .item = {CLV_WHOLE, 16, CLV_MARCH}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 8}}},
};
/* Sums, and where the results belong in the state. */
#define PLACES                                                                                        \
    "-DPART=SUMS -DSUM=" CLV_TEXT(CLV_TENSOR_TV_SUM) " -DWEIGHTS=" CLV_TEXT(CLV_TENSOR_TV_WEIGHT)     \
    " -DTOTAL=" CLV_TEXT(CLV_TENSOR_TV_TOTAL) " -DSHARED=" CLV_TEXT(CLV_TENSOR_TV_SHARED)             \
    " -DFIT=" CLV_TEXT(CLV_TENSOR_TV_DATA) " -DENERGY=" CLV_TEXT(CLV_TENSOR_TV_ENERGY)
/* march: voxels of a chunk at least. How many there are follows from the volume alone, and so does the
 * order of additions. */
enum { MOST_CHUNKS = CLV_TENSOR_TV_PARTIALS / 8 };
static const clv_variant sums_variants[] = {
    {.name = "groups", .function = "tensor_tv_sums_groups", .defines = PLACES, .group = {CLV_MARCH, 1, 1},
     .most_groups = MOST_CHUNKS, .devices = CLV_ON_GPU, .fixed_bytes = 256 * 32,
     .tiles = {{256, 1, 1, 4096}, {128, 1, 1, 2048}}},
    {.name = "rows", .function = "tensor_tv_sums_rows", .defines = "-DPART=SUMS_ROW", .group = {CLV_MARCH, 1, 1},
     .most_groups = MOST_CHUNKS, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 4096}}},
};
static const clv_variant last_variants[] = {
    {.name = "groups", .function = "tensor_tv_last_group", .defines = PLACES, .group = {CLV_WHOLE},
     .devices = CLV_ON_GPU, .fixed_bytes = 1024 * 4,
     .tiles = {{1024, 1, 1, 1}, {256, 1, 1, 1}}},
    {.name = "item", .function = "tensor_tv_last_item", .defines = PLACES, .item = {CLV_WHOLE},
     .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 1}}},
};

static const char *const coupling_builds[] = {"-DPAPER=0", "-DPAPER=1", NULL};
static const char *const sums_builds[] = {"-DDATA=0", "-DDATA=1", NULL};
/* By the coupling and whether rows have an even length. */
static const char *const step_builds[] = {"-DPAPER=0", "-DPAPER=0 -DEVEN=1", "-DPAPER=1",
                                          "-DPAPER=1 -DEVEN=1", NULL};

const clv_entry clv_entry_tensor_tv_step = CLV_ENTRY("papers/tensor_tv", "tensor_tv_step", step_variants,
                                                     step_builds);
const clv_entry clv_entry_tensor_tv_sums = CLV_ENTRY("papers/tensor_tv", "tensor_tv_sums", sums_variants,
                                                     sums_builds);
const clv_entry clv_entry_tensor_tv_last = CLV_ENTRY("papers/tensor_tv", "tensor_tv_last", last_variants,
                                                     coupling_builds);

void clv_tensor_tv_weights(const clv_tensor_tv_args *args, float w[4])
{
    const float *edge = args->data.spacing, least = fminf(edge[0], fminf(edge[1], edge[2]));
    for (int a = 0; a < 3; a++)
        w[a] = least / edge[a];
    w[3] = 0;
}

/* The sums of groups, eight floats each, and then those of all. */
static int sums(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *field, bool data)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *last;
    const int *size = args->data.size, n = (int)clv_image_voxels(&args->data), line[3] = {n, 1, 1};
    float w[4];
    clv_tensor_tv_weights(args, w);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_tv_sums, sums_builds[data], line, 0, &kernel));
    const int chunks[3] = {clv_launch_groups(kernel, line, NULL), 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_tv_last, coupling_builds[args->coupling], chunks, 0, &last));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, n * (data ? 49. : 25.), CLV_BUF(field), CLV_BUF(args->data.buffer),
                       CLV_BUF(args->links), CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w),
                       CLV_FLOAT(args->eps), CLV_BUF(args->partial)));
    CLV_TRY(CLV_LAUNCH(ctx, last, chunks, 32. * chunks[0], CLV_BUF(args->partial), CLV_INT(chunks[0]),
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

int clv_tensor_tv_step(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                       clv_buffer *to)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = args->data.size;
    bool even = size[0] % 2 == 0;
    float w[4];
    clv_tensor_tv_weights(args, w);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_tv_step, step_builds[2 * (int)args->coupling + even], size,
                           0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 73. * (double)clv_image_voxels(&args->data), CLV_BUF(from),
                       CLV_BUF(args->data.buffer), CLV_BUF(args->links), CLV_BUF(args->state),
                       CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w), CLV_FLOAT(args->lambda),
                       CLV_FLOAT(args->eps), CLV_FLOAT(args->dt), CLV_FLOAT(args->floor), CLV_BUF(to)));
end:
    return status;
}

int clv_tensor_tv_iterate(clvox_context *ctx, const clv_tensor_tv_args *args, const clv_buffer *from,
                          clv_buffer *to)
{
    int status = CLVOX_OK;
    if (args->coupling == CLV_TENSOR_PAPER)
        CLV_TRY(clv_tensor_tv_sums(ctx, args, from));
    CLV_TRY(clv_tensor_tv_step(ctx, args, from, to));
end:
    return status;
}

int clv_tensor_tv_descend(clvox_context *ctx, const clv_tensor_tv_args *args, int iterations,
                          clv_buffer *field, clv_buffer *other)
{
    int status = CLVOX_OK;
    clv_buffer *from = field, *to = other;
    for (int k = 0; k < iterations; k++) {
        CLV_TRY(clv_tensor_tv_iterate(ctx, args, from, to));
        clv_buffer *last = from;
        from = to;
        to = last;
    }
    if (from != field)
        CLV_TRY(clv_buffer_copy(ctx, from, 0, field, 0, clv_image_voxels(&args->data) * 24));
end:
    return status;
}

const clv_entry *const clv_operation_papers_tensor_tv[] = {
    &clv_entry_tensor_tv_step, &clv_entry_tensor_tv_sums, &clv_entry_tensor_tv_last, NULL};
