/* SPDX-License-Identifier: Apache-2.0 */
/* A geodesic from its momentum: the same steps as at the end of a registration by shooting, so that its
 * momentum gives its map. To time T a momentum leads where T times it leads in unit time. */
#include <math.h>

#include "base/matrix.h"
#include "base/options.h"
#include "base/status.h"
#include "flow/shooting.h"
#include "io/volume/orientation.h"
#include "register/problem.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

void clvox_shoot_defaults(clvox_shoot_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_shoot_options){.size = sizeof *options, .time = 1};
}

static bool same(double a, double b)
{
    return (float)a == (float)b;
}

int clvox_shoot_settle(const clvox_volume *momentum, clvox_shoot_options *s)
{
    CLV_GIVEN(momentum, s);
    const clvox_flow *made = &momentum->flow;
    clvox_register_options o;
    double edge[3];
    int status = clv_options_sized(s, sizeof *s);
    if (status < 0)
        return status;
    if (!isfinite(s->time))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "time is not a finite number");
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_SHOOTING;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.timesteps = s->timesteps ? s->timesteps : made->gamma > 0 ? made->timesteps : o.timesteps;
    o.alpha = s->alpha;
    o.beta = s->beta;
    o.gamma = s->gamma;
    status = clv_flow_check(&o);
    if (status < 0)
        return status;
    if (made->gamma > 0 && s->gamma > 0 &&
        !(same(made->alpha, s->alpha) && same(made->beta, s->beta) && same(made->gamma, s->gamma)))
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the momentum was found with the operator %g,%g,%g, and %g,%g,%g would lead elsewhere; leave the "
            "operator out",
            made->alpha, made->beta, made->gamma, s->alpha, s->beta, s->gamma);
    clvox_grid_spacing(&momentum->grid, edge);
    clv_fluid_operator op = clv_flow_operator(&o, edge);
    if (made->gamma > 0)
        op = (clv_fluid_operator){.alpha = (float)made->alpha, .beta = (float)made->beta, .gamma = (float)made->gamma};
    s->alpha = (double)op.alpha;
    s->beta = (double)op.beta;
    s->gamma = (double)op.gamma;
    s->timesteps = o.timesteps;
    return CLVOX_OK;
}

/* The momentum lies on the reference's grid or on a part of it, maybe of larger voxels. */
static int check_grids(const clvox_grid *momentum, const clvox_grid *reference)
{
    int status = CLVOX_OK;
    double inverse[4][4], edge[3], coarse[3];
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(reference->to_ras), inverse));
    clvox_grid_spacing(reference, edge);
    clvox_grid_spacing(momentum, coarse);
    bool fits = clvox_grid_voxels(momentum) <= clvox_grid_voxels(reference);
    for (int a = 0; a < 3; a++) {
        double along[3] = {0}, first = inverse[a][3], across = 0;
        for (int r = 0; r < 3; r++) {
            first += inverse[a][r] * momentum->to_ras[r][3];
            for (int k = 0; k < 3; k++)
                along[k] += inverse[a][r] * momentum->to_ras[r][k];
        }
        for (int k = 0; k < 3; k++)
            across = k == a ? across : fmax(across, fabs(along[k]) * (momentum->size[k] - 1));
        double last = first + along[a] * (momentum->size[a] - 1), margin = .5 * fmax(1, along[a]);
        fits = fits && across < .05 && along[a] > .99 && first > -margin - .01 &&
               last < reference->size[a] - 1 + margin + .01;
    }
    if (!fits)
        status = clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the momentum lies on another grid (%d x %d x %d voxels of %.3g x %.3g x %.3g mm) than the "
            "reference; give as reference the fixed image of the registration that made it",
            momentum->size[0], momentum->size[1], momentum->size[2], coarse[0], coarse[1], coarse[2]);
end:
    return status;
}

/* As many steps a unit of time as asked for, at least those of one. */
static int count_steps(const clvox_shoot_options *s, int *count)
{
    double steps = s->timesteps * fmax(1, ceil(fabs(s->time) - 1e-9));
    if (steps > CLV_FLOW_STEPS)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "to time %g with %d time steps a unit takes %.0f steps, and a flow has at most %d; take fewer "
            "time steps or an earlier end",
            s->time, s->timesteps, steps, CLV_FLOW_STEPS);
    *count = (int)steps;
    return CLVOX_OK;
}

/* In the storage nearest to RAS, as a registration works: *own, the caller's, where the volume lies otherwise. */
static int bring(const clvox_volume **volume, clvox_volume **own)
{
    clv_orientation o;
    clv_orientation_of(&(*volume)->grid, &o);
    if (clv_orientation_same(&o))
        return CLVOX_OK;
    int status = clv_orientation_volume(*volume, &o, NULL, own);
    *volume = status < 0 ? *volume : *own;
    return status;
}

/* A displacement of the run, in the storage of reference. */
static int give(clvox_context *ctx, const clv_buffer *u, const clvox_grid *grid, const clvox_grid *reference,
                clvox_volume **out)
{
    int status = CLVOX_OK;
    clv_orientation o, back;
    clvox_volume *made = NULL;
    clv_orientation_of(reference, &o);
    if (clv_orientation_same(&o))
        return clv_field_download(ctx, u, grid, 1, out);
    clv_orientation_inverse(&o, &back);
    CLV_TRY(clv_field_download(ctx, u, grid, 1, &made));
    CLV_TRY(clv_orientation_volume(made, &back, reference, out));
end:
    clvox_volume_destroy(&made);
    return status;
}

/* Leaves out what the descent alone needs: gradients, steps, and momenta on the way but one, which each step
 * overwrites. */
static int keep_what_leads_forward(clv_registration *run, clv_request *list, int count)
{
    clv_shooting *own = clv_shooting_of(run);
    int kept = 0;
    for (int i = 0; i < count; i++) {
        bool descends = list[i].slot == &own->before || list[i].slot == &own->direction || list[i].slot == &own->way ||
                        list[i].slot == &own->flow.derivative[1];
        for (int k = 0; k < CLV_FLOW_STEPS; k++)
            descends =
                descends || list[i].slot == &own->flow.w[k] || (k > 0 && list[i].slot == &own->node[k]);
        for (int k = 0; k < CLV_SHOOTING_FIELDS - CLV_SHOOTING_SHARED; k++)
            descends = descends || list[i].slot == &own->own[k];
        if (!descends)
            list[kept++] = list[i];
    }
    return kept;
}

int clvox_shoot(clvox_context *ctx, const clvox_volume *momentum, const clvox_grid *reference,
                const clvox_shoot_options *options, clvox_volume **warp, clvox_volume **inverse_warp)
{
    CLV_GIVEN(ctx, momentum, reference, warp);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "geodesic");
    clvox_shoot_options standard;
    clvox_shoot_defaults(&standard);
    options = options ? options : &standard;
    int status = CLVOX_OK, count = 0;
    clvox_shoot_options s = *options;
    clvox_register_options o;
    clv_orientation stored;
    clvox_grid grid;
    clvox_volume *brought = NULL;
    clv_flow_level flow = {.steps = 0};
    const clv_problem nothing = {.ctx = ctx};
    clv_registration run = {.ctx = ctx, .problem = &nothing, .options = &o};
    clv_request requests[CLV_REGISTER_REQUESTS];
    clv_pyramid_level level;
    float numbers[CLV_FLOW_NUMBERS];
    double edge[3];
    *warp = NULL;
    if (inverse_warp)
        *inverse_warp = NULL;
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_SHOOTING;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    CLV_TRY(clvox_shoot_settle(momentum, &s));
    o.alpha = s.alpha;
    o.beta = s.beta;
    o.gamma = s.gamma;
    CLV_TRY(count_steps(&s, &o.timesteps));
    CLV_TRY(clv_field_check(reference));
    CLV_TRY(bring(&momentum, &brought));
    clv_orientation_of(reference, &stored);
    clv_orientation_grid(reference, &stored, &grid);
    CLV_TRY(check_grids(&momentum->grid, &grid));
    run.fixed_grid = run.moving_grid = grid;
    run.domain = momentum->grid;
    run.n = run.m = (int)clvox_grid_voxels(&grid);
    for (int i = 0; i < 4; i++)
        run.matrix[i][i] = 1;
    count = keep_what_leads_forward(&run, requests, clv_register_list(&run, requests));
    CLV_TRY(clv_pool_take(ctx, requests, count));
    for (int k = 1; k < o.timesteps; k++)
        clv_shooting_of(&run)->node[k] = clv_shooting_of(&run)->node[0];
    clvox_grid_spacing(&momentum->grid, edge);
    level = (clv_pyramid_level){.fixed = momentum->grid, .moving = momentum->grid,
                                .n = (int)clvox_grid_voxels(&momentum->grid),
                                .spacing = {(float)edge[0], (float)edge[1], (float)edge[2]}};
    level.m = level.n;
    CLV_TRY(clv_flow_begin(&flow, &run, &level));
    CLV_TRY(clv_field_upload(ctx, momentum, s.time, clv_shooting_of(&run)->momentum));
    CLV_TRY(clv_shooting_forward(&flow));
    CLV_TRY(clv_buffer_read(ctx, clv_flow_of(&run)->numbers, 0, numbers, sizeof numbers));
    if (!clv_shooting_followed(&flow, numbers)) {
        status = clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "%d time steps cannot follow this momentum to time %g: its energy does not stay what it is; take "
            "more time steps or an earlier end",
            flow.steps, s.time);
        goto end;
    }
    CLV_TRY(clv_flow_integrate(&flow));
    CLV_TRY(clv_flow_finish(&run, &momentum->grid));
    CLV_TRY(give(ctx, run.u, &grid, reference, warp));
    if (inverse_warp)
        CLV_TRY(give(ctx, run.inverse, &grid, reference, inverse_warp));
end:
    if (flow.run)
        clv_flow_end(&flow);
    clv_pool_release(requests, count);
    clvox_volume_destroy(&brought);
    if (status < 0)
        clvox_volume_destroy(warp);
    return status;
}
