/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/tensor_tv_listing.h"

#define EACH .devices = CLV_ON_ANY, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}
/* The paper's blocks. */
#define BLOCKS .devices = CLV_ON_ANY, .tiles = {{8, 8, 1, 1}, {16, 16, 1, 1}}

static const clv_variant llt_variants[] = {{.name = "item", .function = "listing_llt", EACH}};
static const clv_variant norm_variants[] = {
    {.name = "block", .function = "listing_norm", .fixed_bytes = 256 * 4, BLOCKS}};
static const clv_variant reduction_variants[] = {
    {.name = "group", .function = "listing_reduction", .group = {CLV_WHOLE}, .cell_bytes = 24,
     .devices = CLV_ON_ANY, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}}};
static const clv_variant p_variants[] = {
    {.name = "block", .function = "listing_p", .defines = "-DCURVATURE=1", .halo = {1, 1, 1},
     .cell_bytes = 16, BLOCKS}};
static const clv_variant solver_variants[] = {{.name = "item", .function = "listing_solver", EACH}};

const clv_entry clv_entry_listing_llt =
    CLV_ENTRY("papers/tensor_tv_listing", "listing_llt", llt_variants, NULL);
const clv_entry clv_entry_listing_norm =
    CLV_ENTRY("papers/tensor_tv_listing", "listing_norm", norm_variants, NULL);
const clv_entry clv_entry_listing_reduction = CLV_ENTRY("papers/tensor_tv_listing", "listing_reduction",
                                                        reduction_variants, NULL);
const clv_entry clv_entry_listing_p = CLV_ENTRY("papers/tensor_tv_listing", "listing_p", p_variants, NULL);
const clv_entry clv_entry_listing_solver =
    CLV_ENTRY("papers/tensor_tv_listing", "listing_solver", solver_variants, NULL);

int clv_tensor_listing_stage(clvox_context *ctx, const clv_tensor_listing *of, clv_tensor_stage stage)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *norm;
    const clv_tensor_tv_args *a = of->args;
    const int *size = a->data.size, n = (int)clv_image_voxels(&a->data), line[3] = {n, 1, 1};
    const double plane = 4. * n;
    float w[4];
    clv_tensor_tv_weights(a, w);
    if (stage == CLV_TENSOR_LLT) {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_llt, NULL, line, 0, &kernel));
        return CLV_LAUNCH(ctx, kernel, line, 12 * plane, CLV_BUF(of->l), CLV_INT(n), CLV_BUF(of->d));
    }
    if (stage == CLV_TENSOR_REDUCTION) {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_norm, NULL, size, 0, &norm));
        const int groups[3] = {clv_launch_groups(norm, size, NULL), 1, 1};
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_reduction, NULL, groups, 0, &kernel));
        return CLV_LAUNCH(ctx, kernel, groups, 24. * groups[0], CLV_BUF(of->partial), CLV_INT(groups[0]),
                          CLV_BUF(of->weights));
    }
    for (int c = 0; c < 6; c++)
        if (stage == CLV_TENSOR_NORM) {
            CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_norm, NULL, size, 0, &kernel));
            CLV_TRY(CLV_LAUNCH(ctx, kernel, size, plane, CLV_BUF(of->d), CLV_INT(c),
                               CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w), CLV_FLOAT(a->eps),
                               CLV_BUF(of->partial)));
        } else if (stage == CLV_TENSOR_P) {
            CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_p, NULL, size, 0, &kernel));
            CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 2 * plane, CLV_BUF(of->d), CLV_INT(c),
                               CLV_INT4(size[0], size[1], size[2], 0), CLV_FLOAT4V(w), CLV_FLOAT(a->eps),
                               CLV_BUF(of->weights), CLV_BUF(of->p)));
        } else {
            static const int read[6] = {12, 12, 12, 8, 8, 4}; /* numbers a voxel */
            CLV_TRY(clv_kernel_get(ctx, &clv_entry_listing_solver, NULL, line, 0, &kernel));
            CLV_TRY(CLV_LAUNCH(ctx, kernel, line, (read[c] + 1) * plane, CLV_BUF(of->l), CLV_BUF(of->d),
                               CLV_BUF(a->data.buffer), CLV_BUF(of->p), CLV_INT(c), CLV_INT(n),
                               CLV_FLOAT(a->lambda), CLV_FLOAT(a->dt), CLV_BUF(of->next)));
        }
end:
    return status;
}

int clv_tensor_listing_steps(clvox_context *ctx, const clv_tensor_listing *of, int steps)
{
    int status = CLVOX_OK;
    clv_tensor_listing now = *of;
    for (int k = 0; k < steps; k++) {
        for (int s = 0; s < CLV_TENSOR_STAGES; s++)
            CLV_TRY(clv_tensor_listing_stage(ctx, &now, (clv_tensor_stage)s));
        clv_buffer *last = now.l;
        now.l = now.next;
        now.next = last;
    }
    if (now.l != of->l)
        CLV_TRY(clv_buffer_copy(ctx, now.l, 0, of->l, 0, clv_image_voxels(&of->args->data) * 24));
end:
    return status;
}

const clv_entry *const clv_operation_papers_tensor_tv_listing[] = {
    &clv_entry_listing_llt, &clv_entry_listing_norm, &clv_entry_listing_reduction, &clv_entry_listing_p,
    &clv_entry_listing_solver, NULL};
