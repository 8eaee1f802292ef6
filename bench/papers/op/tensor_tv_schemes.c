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
static const clv_variant block_variants[] = {
    {.name = "block", .function = "tensor_tv_blocks", .defines = "-DOVERLAP=0 -DHALO=1 " STATE,
     .devices = CLV_ON_ANY, .halo = {1, 1, 1}, .cell_bytes = 49 + 24,
     .fixed_bytes = 16, .tiles = {{8, 8, 4, 1}, {16, 4, 4, 1}, {4, 4, 4, 1}}},
};
static const clv_variant none_variants[] = {
    {.name = "eight", .function = "tensor_tv_none", .defines = STATE, .item = {2, 2, 2},
     .devices = CLV_ON_ANY, .cell_bytes = 392, .fixed_bytes = 16, .tiles = {{32, 2, 1, 1}, {16, 2, 2, 1}}},
};

static const char *const builds[] = {"-DPAPER=0", "-DPAPER=1", NULL};

const clv_entry clv_entry_tensor_tv_overlap = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_overlap",
                                                        overlap_variants, builds);
const clv_entry clv_entry_tensor_tv_block = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_block",
                                                      block_variants, builds);
const clv_entry clv_entry_tensor_tv_none = CLV_ENTRY("papers/tensor_tv_schemes", "tensor_tv_none",
                                                     none_variants, builds);

/* Up to `most` steps in one launch (the rest is the caller's to ask for again):
 * how many it made is in *made. */
static int launch(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme, int most,
                  const clv_buffer *from, clv_buffer *to, int *made)
{
    static const clv_entry *const entries[] = {NULL, &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block,
                                               &clv_entry_tensor_tv_none};
    int status = CLVOX_OK, limit = most;
    const clv_kernel *kernel;
    const int *size = args->data.size;
    float w[4], rate = clv_tensor_tv_rate(args, w);
    CLV_TRY(clv_kernel_get(ctx, entries[scheme], builds[args->coupling], size, 0, &kernel));
    if (scheme == CLV_TENSOR_OVERLAP)
        limit = kernel->variant->halo[0];
    else if (scheme == CLV_TENSOR_BLOCK)
        limit = CLV_TENSOR_BLOCK_STEPS;
    *made = most < limit ? most : limit;
    if (scheme == CLV_TENSOR_OVERLAP && args->coupling == CLV_TENSOR_PAPER)
        CLV_TRY(clv_tensor_tv_sums(ctx, args, from));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 73. * (double)clv_image_voxels(&args->data), CLV_BUF(from),
                       CLV_BUF(args->data.buffer), CLV_BUF(args->links), CLV_BUF(args->state),
                       CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w), CLV_FLOAT(args->lambda),
                       CLV_FLOAT(args->eps), CLV_FLOAT(rate), CLV_FLOAT(args->floor), CLV_INT(*made),
                       CLV_BUF(to)));
end:
    return status;
}

int clv_tensor_tv_schemes(clvox_context *ctx, const clv_tensor_tv_args *args, clv_tensor_scheme scheme,
                          int steps, clv_buffer *field, clv_buffer *other)
{
    int status = CLVOX_OK;
    clv_buffer *from = field, *to = other;
    if (scheme == CLV_TENSOR_EXACT)
        return clv_tensor_tv_descend(ctx, args, steps, field, other);
    for (int k = 0, made; k < steps; k += made) {
        CLV_TRY(launch(ctx, args, scheme, steps - k, from, to, &made));
        clv_buffer *last = from;
        from = to;
        to = last;
    }
    if (from != field)
        CLV_TRY(clv_buffer_copy(ctx, from, 0, field, 0, clv_image_voxels(&args->data) * 24));
end:
    return status;
}

const clv_entry *const clv_operation_papers_tensor_tv_schemes[] = {
    &clv_entry_tensor_tv_overlap, &clv_entry_tensor_tv_block, &clv_entry_tensor_tv_none, NULL};
