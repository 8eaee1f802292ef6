/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/force_forms.h"

#include "op/fluid/force_args.h"

static const char *const builds[] = {"-DPENALTY=1", "-DPENALTY=1 -DMASK=1", NULL};

static const clv_variant products_variants[] = {
    {.name = "item", .function = "products_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "products_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_force_products = CLV_ENTRY("papers/force_forms", "force_products",
                                                     products_variants, NULL);

#define RECOMPUTE                                                     \
    .function = "force_recompute", .devices = CLV_ON_ANY, .halo = {2, 2, 2}, .cell_bytes = 12,        \
    .optional = true, .tiles = {{16, 4, 4, 1}, {32, 4, 2, 1}, {8, 4, 2, 1}}
#define TWO_PASS .before = &clv_entry_force_products, .optional = true

static const clv_variant variants[] = {
    {.name = "recompute", RECOMPUTE},
    {.name = "capped", .register_cap = 48, RECOMPUTE},
    {.name = "twopass", .function = "divergence_item", TWO_PASS, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "twopass rows", .function = "divergence_row", TWO_PASS, .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_force_forms = CLV_ENTRY("papers/force_forms", "force_forms", variants, builds);

int clv_force_form(clvox_context *ctx, const clv_force_args *a, clv_buffer *nine)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *products;
    double n = (double)clv_image_voxels(&a->fixed), moved = a->mask ? 36 : 32;
    CLV_TRY(clv_force_check(a, true));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_force_forms, builds[a->mask != NULL], a->fixed.size, 0, &kernel));
    if (kernel->variant->before) {
        if (!nine || nine->bytes < (size_t)(36 * n))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "force: two passes need 9 floats a voxel in nine");
        CLV_TRY(clv_kernel_get(ctx, kernel->variant->before, NULL, a->fixed.size, 0, &products));
        CLV_TRY(CLV_LAUNCH(ctx, products, a->fixed.size, 48 * n, CLV_BUF(a->u), CLV_GRID(&a->fixed),
                           CLV_FLOAT(a->lambda), CLV_BUF(nine)));
        moved += 36;
    }
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->fixed.size, moved * n, CLV_FORCE_ARGS(a), CLV_FLOAT(a->lambda),
                       CLV_BUF(a->force), CLV_BUF(nine)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_force_forms[] = {
    &clv_entry_force_forms, &clv_entry_force_products, NULL};
