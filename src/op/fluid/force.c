/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/force_args.h"

#include <string.h>

enum { ROLLING_ROWS = 8 }; /* ROWS of cl/fluid/force.cl */

static const char *const builds[] = {"", "-DMASK=1", "-DPENALTY=1", "-DPENALTY=1 -DMASK=1", NULL};
static const char *const image_builds[] = {"", "-DMASK=1", NULL};
static const char *const both_builds[] = {"-DPENALTY=1", "-DPENALTY=1 -DMASK=1", NULL};
static const char *const products_builds[] = {"-DTWOPASS=1", NULL};
static const char *const divergence_builds[] = {"-DTWOPASS=1", "-DTWOPASS=1 -DMASK=1", NULL};

/* What a stated form may run on, CLV_FORCE_AUTO keeps for GPUs. */
#define REUSE(where)                                                                             \
    {.name = "reuse", .function = "force_reuse", .group = {1, 1, 1}, .devices = (where),  \
     .cell_bytes = 48, .planes = 1,                                                              \
     .tiles = {{8, 8, 1, 16}, {16, 16, 1, 32}, {32, 8, 1, 32}}}
#define RECOMPUTE(label, cap)                                                                \
    {.name = (label), .function = "force_recompute", \
     .devices = CLV_ON_ANY, .halo = {2, 2, 2}, .cell_bytes = 12, .register_cap = (cap),      \
     .tiles = {{16, 4, 4, 1}, {32, 4, 2, 1}, {8, 4, 2, 1}}}

#define DIRECT                                                                                   \
    {.name = "direct", .function = "force_direct", .devices = CLV_ON_GPU, \
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}}
#define ROLLING                                                                                  \
    {.name = "rolling", .function = "force_rolling", .group = {1, 1, 1},                  \
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 16}, {1, 1, 1, 4}}}

/* Without the penalty there are no products that neighbours could share. */
static const clv_variant force_variants[] = {REUSE(CLV_ON_GPU), DIRECT, ROLLING};
static const clv_variant image_variants[] = {DIRECT, ROLLING};
static const clv_variant reuse_variants[] = {REUSE(CLV_ON_ANY)};
static const clv_variant recompute_variants[] = {RECOMPUTE("recompute", 0)};
static const clv_variant capped_variants[] = {RECOMPUTE("capped", 48)};

/* One entry a form: a stated form is its own role. */
#define ENTRY(file, name, table, builds) {file, name, table, sizeof(table) / sizeof *(table), builds}
const clv_entry clv_entry_force = ENTRY("fluid/force", "force", force_variants, both_builds);
const clv_entry clv_entry_force_image = ENTRY("fluid/force", "force_image", image_variants, image_builds);
const clv_entry clv_entry_force_reuse = ENTRY("fluid/force", "force_reuse", reuse_variants, builds);
const clv_entry clv_entry_force_recompute = ENTRY("fluid/force", "force_recompute", recompute_variants, builds);
const clv_entry clv_entry_force_capped = ENTRY("fluid/force", "force_capped", capped_variants, builds);

static const clv_variant products_variants[] = {
    {.name = "item", .function = "products_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "products_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_force_products =
    ENTRY("fluid/force", "force_products", products_variants, products_builds);

static const clv_variant divergence_variants[] = {
    {.name = "item", .function = "divergence_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "divergence_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_force_divergence =
    ENTRY("fluid/force", "force_divergence", divergence_variants, divergence_builds);

static const char *build_of(const clv_force_args *a)
{
    return builds[(a->mask ? 1 : 0) + (a->lambda != 0 ? 2 : 0)];
}

int clv_force_check(const clv_force_args *a, bool with_force)
{
    if (!a->moving || !a->fixed || !a->u || (with_force && !a->force))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "force: a buffer is missing; pass moving, fixed, u and force");
    if (with_force && a->force == a->u)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "force: the force may not overwrite u; pass another buffer");
    for (int i = 0; i < 3; i++)
        if (a->size[i] < 1 || a->moving_size[i] < 1 || !(a->spacing[i] > 0))
            return clv_fail(CLVOX_ERROR_ARGUMENT,
                            "force: sizes must be at least 1 and spacings positive");
    return CLVOX_OK;
}

static int groups_of(int n, int each)
{
    return (n + each - 1) / each;
}

static int two_passes(clvox_context *ctx, const clv_force_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *products, *divergence;
    double n = clv_force_voxels(a);
    if (!a->nine || a->nine->bytes < (size_t)(36 * n))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "force: the two-pass form needs 9 floats a voxel in nine");
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_force_products, products_builds[0], a->size, 0, &products));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_force_divergence, divergence_builds[a->mask != NULL], a->size,
                           0, &divergence));
    CLV_TRY(CLV_LAUNCH(ctx, products, a->size, 48 * n, CLV_BUF(a->u), CLV_FORCE_SIZE(a->size),
                       CLV_FORCE_INVERSE(a), CLV_BUF(a->nine)));
    CLV_TRY(CLV_LAUNCH(ctx, divergence, a->size, n * (a->mask ? 72 : 68), CLV_BUF(a->nine),
                       CLV_FORCE_ARGS(a), CLV_BUF(a->force)));
end:
    return status;
}

int clv_force(clvox_context *ctx, clv_force_form form, const clv_force_args *a)
{
    static const clv_entry *const entries[] = {
        [CLV_FORCE_AUTO] = &clv_entry_force,
        [CLV_FORCE_RECOMPUTE] = &clv_entry_force_recompute,
        [CLV_FORCE_REUSE] = &clv_entry_force_reuse,
        [CLV_FORCE_CAPPED] = &clv_entry_force_capped,
    };
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_force_check(a, true));
    if (form == CLV_FORCE_TWOPASS)
        return two_passes(ctx, a);
    if (form < 0 || (size_t)form >= sizeof entries / sizeof *entries)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "force: there is no form %d", (int)form);
    const clv_entry *entry = form == CLV_FORCE_AUTO && a->lambda == 0 ? &clv_entry_force_image : entries[form];
    CLV_TRY(clv_kernel_get(ctx, entry, build_of(a), a->size, 0, &kernel));
    int launch[3] = {a->size[0], a->size[1], a->size[2]};
    if (!strcmp(kernel->variant->function, "force_reuse")) {
        if (kernel->tile.x < 3 || kernel->tile.y < 3)
            return clv_fail(CLVOX_ERROR_DEVICE,
                            "force: the reuse form needs work-groups of 3 by 3; choose another form");
        launch[0] = groups_of(launch[0], kernel->tile.x - 2); /* the tile's rim gives no values */
        launch[1] = groups_of(launch[1], kernel->tile.y - 2);
        launch[2] = groups_of(launch[2], kernel->tile.march);
    } else if (!strcmp(kernel->variant->function, "force_rolling")) {
        launch[0] = 1;
        launch[1] = groups_of(launch[1], ROLLING_ROWS);
        launch[2] = groups_of(launch[2], kernel->tile.march);
    }
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, clv_force_voxels(a) * (a->mask ? 36 : 32), CLV_FORCE_ARGS(a),
                       CLV_BUF(a->force)));
end:
    return status;
}

const clv_entry *const clv_operation_fluid_force[] = {
    &clv_entry_force, &clv_entry_force_image, &clv_entry_force_reuse, &clv_entry_force_recompute,
    &clv_entry_force_capped, &clv_entry_force_products, &clv_entry_force_divergence, NULL};
