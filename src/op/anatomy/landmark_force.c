/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/landmark_force.h"

#include <math.h>

static const clv_variant track_variants[] = {
    {.name = "item", .function = "landmark_track_item", .devices = CLV_ON_ANY, .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
};
static const char *const track_builds[] = {"", "-DHAS_SECOND=1", NULL};

static const clv_variant force_variants[] = {
    {.name = "item",
     .function = "landmark_force_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "landmark_force_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const force_builds[] = {"", "-DGAUSSIAN=1", NULL};

const clv_entry clv_entry_landmark_track = {"anatomy/landmark_force", "landmark_track", track_variants, 1, track_builds};
const clv_entry clv_entry_landmark_force = {"anatomy/landmark_force", "landmark_force", force_variants, 2, force_builds};

int clv_landmark_track(clvox_context *ctx, const clv_landmark_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->count, 1, 1};
    const float all[3] = {1, 1, 1}, *axes = a->axes ? a->axes : all;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_track, track_builds[a->second != NULL], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 96. * a->count, CLV_BUF(a->points), CLV_INT(a->count), CLV_BUF(a->u.buffer),
                       CLV_BUF(a->second), CLV_GRID(&a->u), CLV_FLOAT(a->weight),
                       CLV_FLOAT4(axes[0], axes[1], axes[2], 0), CLV_BUF(a->state), CLV_INT(a->slot),
                       CLV_BUF(a->tracked)));
end:
    return status;
}

int clv_landmark_force(clvox_context *ctx, const clv_landmark_args *a, bool second, const float *sigma,
                       const clv_image *force)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float rate[3] = {1, 1, 1};
    for (int i = 0; sigma && i < 3; i++)
        rate[i] = 1 / fmaxf(1, sigma[i]);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_force, force_builds[sigma != NULL], force->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, force->size, 24. * (double)clv_image_voxels(force), CLV_BUF(a->tracked),
                       CLV_INT(second ? a->count : 0), CLV_INT(a->count), CLV_FLOAT4(rate[0], rate[1], rate[2], 0),
                       CLV_BUF(force->buffer), CLV_SIZE(force)));
end:
    return status;
}

const clv_entry *const clv_operation_anatomy_landmark_force[] = {&clv_entry_landmark_track, &clv_entry_landmark_force,
                                                                 NULL};
