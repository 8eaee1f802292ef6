/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/metric_force.h"

static const clv_variant variants[] = {
    {.name = "item",
     .function = "metric_force_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "metric_force_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DHAS_FIELD=0", "-DHAS_FIELD=1", "-DHAS_FIELD=0 -DHAS_AXES=1",
                                     "-DHAS_FIELD=1 -DHAS_AXES=1", NULL};

const clv_entry clv_entry_metric_force = CLV_ENTRY("match/metric_force", "metric_force", variants, builds);

int clv_metric_force(clvox_context *ctx, const clv_metric_force_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const double to = clv_within_voxels(a->within, a->force.size);
    const double from = (double)clv_image_voxels(&a->moving) * to / (double)clv_image_voxels(&a->force);
    const float all[3] = {1, 1, 1}, *axes = a->axes ? a->axes : all;
    bool keeps = a->keep < 0 || a->keep > 0;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_force, builds[(a->u != NULL) + 2 * (a->axes != NULL)], a->force.size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->force.size, 4 * from + (a->u ? 28 : 16) * to + (keeps ? 12 : 0) * to,
                       CLV_BUF(a->moving.buffer), CLV_SIZE(&a->moving), CLV_MAP(a->map), CLV_BUF(a->u),
                       CLV_BUF(a->derivative), CLV_FLOAT(a->weight), CLV_FLOAT4(axes[0], axes[1], axes[2], 0),
                       CLV_FLOAT(a->keep), CLV_BUF(a->within.rows), CLV_BUF(a->force.buffer),
                       CLV_SIZE(&a->force)));
end:
    return status;
}

const clv_entry *const clv_operation_match_metric_force[] = {&clv_entry_metric_force, NULL};
