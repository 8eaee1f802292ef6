/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a run: all of a side on one grid, coarser where the finest
 * level is, and sent to the device. */
#include <math.h>

#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"

/* Brings a volume of a problem onto a grid. */
static int place(clv_problem *p, const clvox_grid *grid, clvox_interpolation interpolation, float outside,
                 const clvox_volume **volume)
{
    if (!*volume || clvox_grid_equal(&(*volume)->grid, grid))
        return CLVOX_OK;
    clvox_volume **own = &p->own.own[p->own.count++];
    int status = clvox_apply(p->ctx, *volume, grid, NULL, 0, interpolation, outside, own);
    *volume = *own;
    return status;
}

/* Voxels that a channel does not cover are NaN. */
static int enter(clv_problem *p)
{
    int status = CLVOX_OK;
    const clvox_volume **at[CLV_PROBLEM_VOLUMES];
    const clvox_grid *const grid[2] = {&clv_register_first(&p->images, false)->grid,
                                       &clv_register_first(&p->images, true)->grid};
    const int count = clv_problem_volumes(&p->images, at), channels = 2 * p->images.channels;
    for (int i = 0; i + 1 < count; i++) {
        const clvox_interpolation by = i < channels       ? CLVOX_INTERPOLATE_AUTO
                                       : i < channels + 2 ? CLVOX_INTERPOLATE_LINEAR /* posteriors */
                                                          : CLVOX_INTERPOLATE_NEAREST;
        CLV_TRY(place(p, grid[i % 2], by, i < channels ? NAN : 0, at[i]));
    }
end:
    return status;
}

const clv_step clv_step_one_grid = {.name = "one grid", .enter = enter};

int clv_register_send(clvox_context *ctx, const clvox_volume *volume, clv_buffer *to, clv_buffer *partial,
                      clv_buffer *state)
{
    int status = CLVOX_OK;
    int n = (int)clvox_grid_voxels(&volume->grid);
    float darkest;
    CLV_TRY(clv_buffer_send(ctx, to, volume->data, (size_t)n * sizeof(float)));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(to, volume->grid.size), to, NULL, NULL,
                          (float[4]){NAN, 0, 0, 0}));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_MIN, &(clv_terms){to, NULL, NULL, 0, n}, partial, state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(ctx, state, CLV_STATE_SUMS * sizeof(float), &darkest, sizeof darkest));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(to, volume->grid.size), to, NULL, NULL,
                          (float[4]){isfinite(darkest) ? darkest : 0, 0, 0, 0}));
end:
    return status;
}

/* Each frame of a volume on a coarser grid: smoothed as the sampling asks for. */
static int coarsen(clv_problem *p, const clvox_grid *grid, const clvox_volume **volume)
{
    int status = CLVOX_OK;
    clvox_context *ctx = p->ctx;
    clv_buffer *in = NULL, *tmp = NULL, *tmp2 = NULL, *out = NULL, *partial = NULL, *state = NULL;
    clvox_volume *made = NULL;
    size_t n = *volume ? sizeof(float) * clvox_grid_voxels(&(*volume)->grid) : 0,
           m = sizeof(float) * clvox_grid_voxels(grid);
    const clv_request requests[] = {
        {&in, n, "image"}, {&tmp, n, "scratch for smoothing"}, {&tmp2, n, "scratch for smoothing"},
        {&out, m, "coarser image"}, {&partial, CLV_REDUCE_PARTIALS * sizeof(float), "partial minima"},
        {&state, CLV_STATE_SLOTS * sizeof(float), "state"},
    };
    int count = sizeof requests / sizeof *requests;
    if (!*volume || clvox_grid_equal(&(*volume)->grid, grid))
        return CLVOX_OK;
    CLV_TRY(clv_pool_take(ctx, requests, count));
    CLV_TRY(clvox_volume_create(grid, (*volume)->frames, CLVOX_KIND_SCALAR, &made));
    for (int k = 0; k < made->frames; k++) {
        const clvox_volume from = clv_posteriors_frame(*volume, k), to = clv_posteriors_frame(made, k);
        CLV_TRY(clv_register_send(ctx, &from, in, partial, state));
        CLV_TRY(clv_downsample(ctx, in, &from.grid, (clv_buffer *[2]){tmp, tmp2}, out, grid));
        CLV_TRY(clv_buffer_read(ctx, out, 0, to.data, m));
    }
    *volume = p->own.own[p->own.count++] = made;
    made = NULL;
end:
    clv_pool_release(requests, count);
    clvox_volume_destroy(&made);
    return status;
}

int clv_problem_coarsen(clv_problem *p, const clvox_grid *const grid[2])
{
    int status = CLVOX_OK;
    const clvox_volume **at[CLV_PROBLEM_VOLUMES];
    const int count = clv_problem_volumes(&p->images, at), masks = 2 * p->images.channels + 2;
    for (int i = 0; i + 1 < count; i++)
        CLV_TRY(i < masks ? coarsen(p, grid[i % 2], at[i])
                          : place(p, grid[i % 2], CLVOX_INTERPOLATE_NEAREST, 0, at[i]));
end:
    return status;
}

int clv_register_send_mask(clv_registration *run, const clvox_volume *mask, const char *kind, bool moving,
                           clv_buffer *to)
{
    int status = CLVOX_OK;
    float sum;
    if (!to)
        return CLVOX_OK;
    int n = (int)clvox_grid_voxels(&mask->grid);
    CLV_TRY(clv_buffer_write(run->ctx, to, 0, mask->data, (size_t)n * sizeof(float)));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(to, mask->grid.size), to, NULL, NULL,
                          (float[4]){0, 1, 0, 0}));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, &(clv_terms){to, NULL, NULL, 0, n}, run->partial,
                       run->state, CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), &sum, sizeof sum));
    if (!(sum > 0))
        status = clvox_fail(
            CLVOX_ERROR_DATA,
            "the %s%s mask has no voxel above 0 on its image's grid; check that it belongs to it", kind,
            clv_side_name(run, moving));
end:
    return status;
}

int clv_register_upload(clv_registration *run)
{
    int status = CLVOX_OK;
    const clvox_register_images *images = &run->problem->images;
    for (int i = 0; i < images->channels; i++) {
        clv_channel *c = &run->channels[i];
        CLV_TRY(clv_register_send(run->ctx, images->fixed[i], c->fixed, run->partial, run->state));
        CLV_TRY(clv_register_send(run->ctx, images->moving[i], c->moving, run->partial, run->state));
    }
    CLV_TRY(clv_posteriors_upload(run));
    CLV_TRY(clv_register_send_mask(run, images->fixed_mask, "", false, run->masks.of[0]));
    CLV_TRY(clv_register_send_mask(run, images->moving_mask, "", true, run->masks.of[1]));
    CLV_TRY(clv_register_send_mask(run, images->linear_fixed_mask, "linear ", false, run->masks.linear[0]));
    CLV_TRY(clv_register_send_mask(run, images->linear_moving_mask, "linear ", true, run->masks.linear[1]));
end:
    return status;
}
