/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/tensor_tv_schemes.h"

#define STATE "-DWEIGHTS=" CLV_TEXT(CLV_TENSOR_TV_WEIGHT)

/* A launch makes as many steps at most as the halo is wide. */
static const clv_variant overlap_variants[] = {
    {.name = "two", .function = "tensor_tv_blocks", .defines = "-DOVERLAP=1 -DHALO=2 " STATE,
     .devices = CLV_ON_ANY, .halo = {2, 2, 2}, .cell_bytes = 49, .fixed_bytes = 16,
     .tiles = {{8, 4, 4, 1}}},
    {.name = "one", .function = "tensor_tv_blocks", .defines = "-DOVERLAP=1 -DHALO=1 " STATE,
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .cell_bytes = 49, .fixed_bytes = 16,
     .tiles = {{8, 8, 4, 1}}},
};
/* 24 of a cell's bytes are of its work-item, of which there are fewer. */
#define GLOBAL "-DSPACE=__global "
static const clv_variant block_variants[] = {
    {.name = "block", .function = "tensor_tv_blocks", .defines = "-DOVERLAP=0 -DHALO=1 " STATE,
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .cell_bytes = 49 + 24,
     .fixed_bytes = 16, .tiles = {{8, 8, 4, 1}, {16, 4, 4, 1}, {4, 4, 4, 1}}},
    {.name = "global", .function = "tensor_tv_blocks", .defines = "-DOVERLAP=0 -DHALO=1 " GLOBAL STATE,
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .fixed_bytes = 16 * 16 * 24, .optional = true,
     .tiles = {{8, 8, 1, 1}, {16, 16, 1, 1}}},
};
static const clv_variant none_variants[] = {
    {.name = "eight", .function = "tensor_tv_none", .defines = STATE, .item = {2, 2, 2},
     .devices = CLV_ON_ANY, .cell_bytes = 392, .fixed_bytes = 16, .tiles = {{32, 2, 1, 1}, {16, 2, 2, 1}}},
    {.name = "global", .function = "tensor_tv_none", .defines = GLOBAL STATE, .item = {2, 2, 2},
     .devices = CLV_ON_ANY, .optional = true, .tiles = {{8, 8, 1, 1}, {16, 16, 1, 1}}},
};

static const char *const builds[] = {"-DPAPER=0", "-DPAPER=1", NULL};

const clv_entry clv_entry_tensor_tv_overlap = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_overlap",
                                                        overlap_variants, builds);
const clv_entry clv_entry_tensor_tv_block = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_block",
                                                      block_variants, builds);
const clv_entry clv_entry_tensor_tv_none = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_none",
                                                     none_variants, builds);

/* Room for the groups of a kernel that keeps them in global memory: as ROOM of the kernels. */
static int make_scratch(clvox_context *ctx, const clv_kernel *kernel, const int size[3], clv_buffer **scratch)
{
    const clv_variant *v = kernel->variant;
    const clv_tile t = kernel->tile;
    size_t cells =
        (size_t)(t.x + 2 * v->halo[0]) * (size_t)(t.y + 2 * v->halo[1]) * (size_t)(t.z + 2 * v->halo[2]);
    if (v->item[0])
        cells *= 8;
    const size_t floats = (size_t)clv_launch_groups(kernel, size, NULL) * (12 * cells + (cells + 3) / 4);
    if (!v->optional || (*scratch && (*scratch)->bytes >= floats * sizeof(float)))
        return CLVOX_OK;
    clv_buffer_destroy(scratch);
    return clv_buffer_create(ctx, floats * sizeof(float), "blocks in global memory", scratch);
}

/* Up to `most` steps in one launch from one field into the other (the rest is the caller's to ask for again):
 * how many it made is in *made. */
static int launch(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme, int most,
                  const clv_tensor_fields *between, int *made)
{
    static const clv_entry *const entries[] = {NULL, &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block,
                                               &clv_entry_tensor_tv_none};
    int status = CLVOX_OK, limit = most;
    const clv_kernel *kernel;
    const int *size = args->data.size;
    float w[4];
    clv_tensor_tv_weights(args, w);
    CLV_TRY(clv_kernel_get(ctx, entries[scheme], builds[args->coupling], size, 0, &kernel));
    CLV_TRY(make_scratch(ctx, kernel, size, between->scratch));
    if (scheme == CLV_TENSOR_OVERLAP)
        limit = kernel->variant->halo[0];
    else if (scheme == CLV_TENSOR_BLOCK)
        limit = CLV_TENSOR_BLOCK_STEPS;
    *made = most < limit ? most : limit;
    if (scheme == CLV_TENSOR_OVERLAP && args->coupling == CLV_TENSOR_PAPER)
        CLV_TRY(clv_tensor_tv_sums(ctx, args, between->field));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 73. * (double)clv_image_voxels(&args->data),
                       CLV_BUF(between->field), CLV_BUF(args->data.buffer), CLV_BUF(args->links),
                       CLV_BUF(args->state), CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w),
                       CLV_FLOAT(args->lambda), CLV_FLOAT(args->eps), CLV_FLOAT(args->dt),
                       CLV_FLOAT(args->floor), CLV_INT(*made), CLV_BUF(between->other),
                       CLV_BUF(*between->scratch)));
end:
    return status;
}

int clv_tensor_tv_schemes(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme,
                          int steps, const clv_tensor_fields *fields)
{
    int status = CLVOX_OK;
    clv_tensor_fields between = *fields;
    if (scheme == CLV_TENSOR_EXACT)
        return clv_tensor_tv_descend(ctx, args, steps, fields->field, fields->other);
    for (int k = 0, made; k < steps; k += made) {
        CLV_TRY(launch(ctx, args, scheme, steps - k, &between, &made));
        clv_buffer *last = between.field;
        between.field = between.other;
        between.other = last;
    }
    if (between.field != fields->field)
        CLV_TRY(clv_buffer_copy(ctx, between.field, 0, fields->field, 0, clv_image_voxels(&args->data) * 24));
end:
    return status;
}

const clv_entry *const clv_operation_papers_tensor_tv_schemes[] = {
    &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block, &clv_entry_tensor_tv_none, NULL};
