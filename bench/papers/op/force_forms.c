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
#define MARCH                                                                                       \
    .function = "force_march", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_ANY, .halo = {2, 2, 0}, \
    .cell_bytes = 12, .planes = 5, .optional = true
#define PLANES                                                                                      \
    .function = "force_planes", .item = {1, 1, CLV_MARCH}, .rim = {2, 2, 0}, .devices = CLV_ON_ANY, \
    .cell_bytes = 128, .planes = 1, .optional = true
/* One tile with so many bytes of local memory in all. */
#define LADEN(bytes, own) .fixed_bytes = (bytes) - (own), .tiles = {{16, 8, 1, 16}}
#define LADEN_MARCH(bytes) MARCH, .defines = "-DMARCHED=1 -DLADEN=" #bytes "/4", LADEN(bytes, 20 * 12 * 60)
#define LADEN_PLANES(bytes) PLANES, .defines = "-DKEPT=1 -DLADEN=" #bytes "/4", LADEN(bytes, 16 * 8 * 128)
#define TWO_PASS .before = &clv_entry_force_products, .optional = true

static const clv_variant variants[] = {
    {.name = "recompute", RECOMPUTE},
    {.name = "capped", .register_cap = 48, RECOMPUTE},
    {.name = "march", .defines = "-DMARCHED=1", MARCH,
     .tiles = {{32, 8, 1, 32}, {32, 16, 1, 32}, {16, 8, 1, 16}}},
    {.name = "planes", .defines = "-DKEPT=1", PLANES,
     .tiles = {{32, 8, 1, 32}, {32, 12, 1, 32}, {16, 8, 1, 16}}},
    /* One, two and three groups of a GTX 480's multiprocessor, which has 48 KB. */
    {.name = "laden march 48", LADEN_MARCH(48000)},
    {.name = "laden march 24", LADEN_MARCH(24000)},
    {.name = "laden march 16", LADEN_MARCH(16000)},
    {.name = "laden planes 48", LADEN_PLANES(48000)},
    {.name = "laden planes 24", LADEN_PLANES(24000)},
    {.name = "laden planes 16", LADEN_PLANES(16384)},
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
