/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/energy.h"

#include "op/fluid/force_args.h"

static const char *const builds[] = {"", "-DMASK=1", NULL};

/* Work-groups share the rows: how many depends on the size alone, and so does the order of additions. */
static const clv_variant energy_variants[] = {
    {.name = "group", .function = "energy_group", .group = {CLV_WHOLE, 1, 1},
     .most_groups = CLV_ENERGY_PARTIALS / 4, .devices = CLV_ON_GPU, .cell_bytes = 16, .planes = 1,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "energy_row", .item = {CLV_WHOLE}, .most_groups = 256, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_energy = CLV_ENTRY("fluid/energy", "energy", energy_variants, builds);

static const clv_variant total_variants[] = {
    {.name = "group", .function = "energy_total", .group = {1, 1, 1},
     .devices = CLV_ON_ANY, .cell_bytes = 16, .planes = 1,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_energy_total = CLV_ENTRY("fluid/energy", "energy_total", total_variants, NULL);

int clv_energy(clvox_context *ctx, const clv_force_args *a, clv_buffer *partial, clv_buffer *out,
               int slot)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *total;
    CLV_TRY(clv_force_check(a, false));
    if (!partial || partial->bytes < CLV_ENERGY_PARTIALS * sizeof(float) || slot < 0 || !out ||
        out->bytes < (size_t)(slot + 4) * sizeof(float))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "energy: partial holds %d floats and out four from slot on",
                          CLV_ENERGY_PARTIALS);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_energy, builds[a->mask != NULL], a->fixed.size, 0, &kernel));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_energy_total, NULL, (int[3]){1, 1, 1}, 0, &total));
    int groups = clv_launch_groups(kernel, a->fixed.size, NULL);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->fixed.size, (double)clv_image_voxels(&a->fixed) * (a->mask ? 24 : 20),
                       CLV_FORCE_ARGS(a), CLV_BUF(partial)));
    CLV_TRY(CLV_LAUNCH(ctx, total, ((int[3]){1, 1, 1}), 16.0 * groups, CLV_BUF(partial),
                       CLV_INT(groups), CLV_BUF(out), CLV_INT(slot)));
end:
    return status;
}

const clv_entry *const clv_operation_fluid_energy[] = {
    &clv_entry_energy, &clv_entry_energy_total, NULL};
