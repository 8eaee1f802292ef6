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

static const char *const builds[] = {"-DHAS_FIELD=0", "-DHAS_FIELD=1", NULL};

const clv_entry clv_entry_metric_force = {.file = "match/metric_force", .name = "metric_force", .variants = variants, .count = 2,
                                  .builds = builds};

int clv_metric_force(clvox_context *ctx, const clv_buffer *moving, const int moving_size[3], const clv_map *map,
             const clv_buffer *u, const clv_buffer *derivative, float weight, float keep, clv_buffer *force,
             const int size[3])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const float(*s)[3] = map->shift;
    double from = (double)moving_size[0] * moving_size[1] * moving_size[2];
    double to = (double)size[0] * size[1] * size[2];
    bool keeps = keep < 0 || keep > 0;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_force, builds[u != NULL], size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 4 * from + (u ? 28 : 16) * to + (keeps ? 12 : 0) * to,
                       CLV_BUF(moving), CLV_INT4(moving_size[0], moving_size[1], moving_size[2], 0),
                       CLV_FLOAT4V(map->linear[0]), CLV_FLOAT4V(map->linear[1]), CLV_FLOAT4V(map->linear[2]),
                       CLV_FLOAT4(s[0][0], s[0][1], s[0][2], 0), CLV_FLOAT4(s[1][0], s[1][1], s[1][2], 0),
                       CLV_FLOAT4(s[2][0], s[2][1], s[2][2], 0), CLV_BUF(u), CLV_BUF(derivative),
                       CLV_FLOAT(weight), CLV_FLOAT(keep), CLV_BUF(force),
                       CLV_INT4(size[0], size[1], size[2], 0)));
end:
    return status;
}

const clv_entry *const clv_operation_match_metric_force[] = {
    &clv_entry_metric_force, NULL};
