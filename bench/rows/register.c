/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of what registrations are made of. */
#include <stdlib.h>

#include "bench/papers/op/force_forms.h"
#include "bench/rows/check.h"
#include "op/field/compositive_step.h"
#include "op/field/compose.h"
#include "op/field/divergence.h"
#include "op/field/velocity_sum.h"
#include "op/image/weighted_sum.h"
#include "op/fluid/energy.h"
#include "op/fluid/fluid_step.h"
#include "op/image/gaussian.h"
#include "op/field/inverse.h"
#include "op/match/metric.h"
#include "op/match/affine_metric.h"
#include "op/match/lncc.h"
#include "op/match/mind.h"
#include "op/match/metric_force.h"
#include "op/field/splat.h"
#include "op/field/warp.h"
#include "ref/field/splat.h"

static const float UNIT[3] = {1, 1, 1};
static const clv_map SAME = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                             {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}};

static int warp(bench_data *d, clv_interpolation how)
{
    return clv_warp(d->ctx, CLV_VOLUME(d->in[0], d->size), &SAME, d->u, how, 0,
                    CLV_VOLUME(d->out[0], d->size));
}

static int row_warp(bench_data *d)
{
    return warp(d, CLV_LINEAR);
}

static int row_warp_nearest(bench_data *d)
{
    return warp(d, CLV_NEAREST);
}

static int row_warp_cubic(bench_data *d)
{
    return warp(d, CLV_CUBIC);
}

static int row_warp_label(bench_data *d)
{
    return clv_warp(d->ctx, CLV_VOLUME(d->labels, d->size), &SAME, d->u, CLV_LABEL, 0,
                    CLV_VOLUME(d->out[0], d->size));
}

/* All voxels within a few of the middle, moved by u. */
static clv_map collapsing(const bench_data *d)
{
    clv_map map = SAME;
    for (int a = 0; a < 3; a++) {
        map.linear[a][a] = 0;
        map.linear[a][3] = .5f * (float)d->size[a];
    }
    return map;
}

static int begin_splat(bench_data *d)
{
    return clv_buffer_fill(d->ctx, d->field[0], 0, 0, 8 * (size_t)d->n);
}

static clv_splat_args splat_args(bench_data *d, const clv_map *map)
{
    clv_buffer *boxes = d->field[1];
    return (clv_splat_args){.in = *CLV_VOLUME(d->in[0], d->size),
                            .map = map,
                            .field = d->u,
                            .size = {d->size[0], d->size[1], d->size[2]},
                            .most = 1e3f,
                            .sums = d->field[0],
                            .beyond = d->partial,
                            .boxes = boxes->bytes >= clv_splat_box_bytes(d->ctx) ? boxes : NULL};
}

static int splat(bench_data *d, const clv_map *map)
{
    int status = CLVOX_OK;
    const clv_splat_args args = splat_args(d, map);
    CLV_TRY(clv_splat(d->ctx, &args));
    CLV_TRY(clv_splat_total(d->ctx, &args, 1, NULL, d->out[0]));
end:
    return status;
}

static int check_splatted(bench_check *c, const clv_map *map, double relative)
{
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = 0;
    ref_splat(c->in[0], c->data->size, map, c->u, c->data->size, c->want, NULL);
    return check_buffer(c, c->data->out[0], c->want, c->n, 1e-4, relative);
}

static int row_splat(bench_data *d)
{
    return splat(d, &SAME);
}

static int check_splat(bench_check *c)
{
    return check_splatted(c, &SAME, 1e-5);
}

static int row_splat_collapsing(bench_data *d)
{
    const clv_map map = collapsing(d);
    return splat(d, &map);
}

static int check_splat_collapsing(bench_check *c)
{
    const clv_map map = collapsing(c->data);
    return check_splatted(c, &map, 1e-4);
}

/* In d->nine: a field that takes voxels anywhere. */
static int begin_splat_random(bench_data *d)
{
    const size_t count = 3 * (size_t)d->n;
    float *u = malloc(count * sizeof *u);
    uint64_t state = 2011;
    int status = u ? begin_splat(d) : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < count && u; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        u[i] = (float)((double)(state >> 40) / (1 << 24) - .5) * (float)d->size[0];
    }
    if (status >= 0)
        status = clv_buffer_write(d->ctx, d->nine, 0, u, count * sizeof *u);
    free(u);
    return status;
}

static int row_splat_random(bench_data *d)
{
    int status = CLVOX_OK;
    clv_splat_args args = splat_args(d, &SAME);
    args.field = d->nine;
    CLV_TRY(clv_splat(d->ctx, &args));
    CLV_TRY(clv_splat_total(d->ctx, &args, 1, NULL, d->out[0]));
end:
    return status;
}

static int check_splat_random(bench_check *c)
{
    int status = CLVOX_OK;
    float *u = malloc(3 * c->n * sizeof *u);
    if (!u)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(check_read_field(c, c->data->nine, u));
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = 0;
    ref_splat(c->in[0], c->data->size, &SAME, u, c->data->size, c->want, NULL);
    CLV_TRY(check_buffer(c, c->data->out[0], c->want, c->n, 2e-4, 1e-5));
end:
    free(u);
    return status;
}

static int row_compose(bench_data *d)
{
    static const float one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return clv_compose(d->ctx, &(clv_compose_args){.u = d->u, .own = 1, .w = *CLV_VECTORS(d->v, d->size),
                                                   .map = &SAME, .reorient = one,
                                                   .out = *CLV_VECTORS(d->field[0], d->size)});
}

static int row_compositive_step(bench_data *d)
{
    return clv_compositive_step(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), d->v,
                                &(clv_step_length){1.5f, 0, d->state, BENCH_LONGEST}, (clv_within){NULL, 0},
                                d->field[0]);
}

/* Sums from 0, to which each run adds once more. */
static int begin_sum(bench_data *d)
{
    return clv_buffer_fill(d->ctx, d->field[0], 0, 0, 3 * (size_t)d->n * sizeof(float));
}

static int row_velocity_sum(bench_data *d)
{
    const clv_image u = clv_image_of(d->u, (const int[3]){3 * (int)d->n, 1, 1}, NULL, 1);
    return clv_velocity_sum(d->ctx, &u, d->v, BENCH_WEIGHT, BENCH_UNIT, d->field[0]);
}

static int row_weighted_sum(bench_data *d)
{
    return clv_weighted_sum(d->ctx, CLV_VOLUME(d->in[0], d->size), BENCH_WEIGHT, &BENCH_UNITS, d->field[0]);
}

static int row_divergence(bench_data *d)
{
    return clv_divergence(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), d->out[0]);
}

static int row_add_gradient(bench_data *d)
{
    return clv_add_gradient(d->ctx, d->in[0], BENCH_GRADIENT, CLV_VECTORS_MM(d->field[0], d->size, UNIT));
}

static int row_metric_force(bench_data *d)
{
    const int *n = d->size;
    const clv_metric_force_args args = {
        .moving = {.buffer = d->in[0], .size = {n[0], n[1], n[2]}}, .map = &SAME, .u = d->u,
        .derivative = d->in[1], .weight = 1, .keep = 0,
        .force = {.buffer = d->field[0], .size = {n[0], n[1], n[2]}, .components = 3},
    };
    return clv_metric_force(d->ctx, &args);
}

static int row_inverse(bench_data *d)
{
    return clv_inverse(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), 40, false, d->field[0]);
}

/* ---- linear registration: one map, all voxels ---- */

static clv_affine_pair linear_pair(const bench_data *d)
{
    const int *n = d->size;
    return (clv_affine_pair){.fixed = {.buffer = d->in[0], .size = {n[0], n[1], n[2]}},
                             .moving = {.buffer = d->in[1], .size = {n[0], n[1], n[2]}},
                             .step = {1, 1}, .maps = d->map, .count = 1};
}

static int row_linear_histogram(bench_data *d)
{
    const clv_affine_pair pair = linear_pair(d);
    return clv_affine_histogram(d->ctx, &pair, 32, 16, d->nine);
}

static int row_linear_sums(bench_data *d)
{
    const clv_affine_pair pair = linear_pair(d);
    return clv_affine_sums(d->ctx, &pair, &(clv_affine_derivatives){.source = CLV_AFFINE_PAIR}, d->nine,
                           d->sums);
}

/* ---- the unbiased model ---- */

static clv_force_args force_args(const bench_data *d)
{
    return (clv_force_args){
        .moving = clv_image_of(d->in[0], d->size, NULL, 1), .fixed = clv_image_of(d->in[1], d->size, NULL, 1),
        .u = d->u, .map = SAME, .lambda = .01f, .force = d->field[0],
    };
}

int bench_force(bench_data *d)
{
    const clv_force_args args = force_args(d);
    return clv_force(d->ctx, &args);
}

int bench_unbiased_form(bench_data *d)
{
    const clv_force_args args = force_args(d);
    return clv_force_form(d->ctx, &args, d->nine);
}

/* lambda 0: what looking up the moving image costs. */
static int row_force_image(bench_data *d)
{
    clv_force_args args = force_args(d);
    args.lambda = 0;
    return clv_force(d->ctx, &args);
}

static int row_energy(bench_data *d)
{
    const clv_force_args args = force_args(d);
    return clv_energy(d->ctx, &args, d->partial, d->state, 0);
}

static int row_rate(bench_data *d)
{
    return clv_fluid_rate(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), d->v, d->field[0], d->partial,
                          d->state);
}

/* Steps of 1e-3 voxels, so that many of them stay near the start. */
static int begin_update(bench_data *d)
{
    return clv_buffer_write(d->ctx, d->state, CLV_FLUID_LONGEST, (const float[2]){1.5f, 1},
                            2 * sizeof(float));
}

static int row_update(bench_data *d)
{
    return clv_fluid_update(d->ctx, CLV_VECTORS(d->field[1], d->size), d->v, 1e-3f, d->state);
}

static int row_iteration(bench_data *d)
{
    int status = bench_force(d);
    if (status >= 0)
        status = clv_gaussian(d->ctx, CLV_VECTORS(d->field[0], d->size), (float[3]){1.7f, 1.7f, 1.7f},
                              CLV_GAUSSIAN_AUTO, d->field[1], d->nine);
    if (status >= 0)
        status = clv_fluid_rate(d->ctx, CLV_VECTORS_MM(d->u, d->size, UNIT), d->nine, d->field[0], d->partial,
                                d->state);
    if (status >= 0) /* so small a step leaves the data as they are */
        status = clv_fluid_update(d->ctx, CLV_VECTORS(d->u, d->size), d->field[0], 1e-30f, d->state);
    return status;
}

/* ---- metrics ---- */

static int metric(bench_data *d, clv_metric_kind kind)
{
    return clv_metric(d->ctx, kind, &(clv_metric_args){
        .fixed = clv_image_of(d->in[0], d->size, NULL, 1), .moving = d->in[1], .parameter = 32,
        .derivative_moving = d->out[0], .derivative_fixed = d->out[1], .scratch = d->partial, .out = d->state,
    });
}

static int row_ssd(bench_data *d)
{
    return metric(d, CLV_METRIC_SSD);
}

static int row_ncc(bench_data *d)
{
    return metric(d, CLV_METRIC_NCC);
}

static int row_mi(bench_data *d)
{
    return metric(d, CLV_METRIC_MI);
}

static int lncc(bench_data *d, int radius, bool local, bool both)
{
    const clv_metric_args args = {
        .fixed = clv_image_of(d->in[0], d->size, NULL, 1), .moving = d->in[1], .parameter = radius,
        .epsilon = 1e-4f, .local = local, .derivative_moving = d->out[0], .derivative_fixed = both ? d->out[1] : NULL,
        .scratch = d->nine, .partial = d->partial, .out = d->state,
    };
    return clv_lncc(d->ctx, &args);
}

static int row_lncc(bench_data *d)
{
    return lncc(d, 2, false, false);
}

static int row_lncc_wide(bench_data *d)
{
    return lncc(d, 4, false, false);
}

static int row_lncc_any(bench_data *d)
{
    return lncc(d, 7, false, false);
}

static int row_lncc_both(bench_data *d)
{
    return lncc(d, 2, false, true);
}

static int row_lncc_local(bench_data *d)
{
    return lncc(d, 2, true, false);
}

static int begin_mind(bench_data *d, int radius)
{
    int status = CLVOX_OK;
    clv_pool_release(d->workspace_list, d->workspace_count);
    d->workspace_count = 0;
    d->workspace_list[0] = (clv_request){
        &d->padded[0], clv_mind_scratch(d->size, radius, false, true) * sizeof(float), "descriptors"};
    CLV_TRY(clv_pool_take(d->ctx, d->workspace_list, 1));
    d->workspace_count = 1;
end:
    return status;
}

static int mind(bench_data *d, int radius)
{
    const clv_metric_args args = {
        .fixed = clv_image_of(d->in[0], d->size, NULL, 1),
        .moving = d->in[1],
        .parameter = radius,
        .epsilon = 1e-4f,
        .derivative_moving = d->out[0],
        .derivative_fixed = d->out[1],
        .scratch = d->padded[0],
        .partial = d->partial,
        .out = d->state,
    };
    return clv_mind(d->ctx, &args);
}

static int begin_mind_points(bench_data *d)
{
    return begin_mind(d, 0);
}

static int row_mind_points(bench_data *d)
{
    return mind(d, 0);
}

static int begin_mind_patches(bench_data *d)
{
    return begin_mind(d, 1);
}

static int row_mind_patches(bench_data *d)
{
    return mind(d, 1);
}

/* Operations of the force are the paper's count; those of metrics and linear registration
 * are not counted. */
const bench_row bench_rows_register[] = {
    {"warp linear", "warp", 20, 30, row_warp, check_warp, NULL, NULL},
    {"warp nearest", NULL, 20, 9, row_warp_nearest, check_warp_nearest, NULL, NULL},
    {"warp cubic", NULL, 20, 190, row_warp_cubic, check_warp_cubic, NULL, NULL},
    {"warp label", "warp_label", 20, 0, row_warp_label, check_warp_label, NULL, NULL},
    /* An image and a field are read; sums read and written where something lands, then read, emptied, and
     * written as numbers. */
    {"splat", "splat", 52, 0, row_splat, check_splat, begin_splat, NULL},
    {"splat random", "splat", 52, 0, row_splat_random, check_splat_random, begin_splat_random, NULL},
    {"splat collapsing", "splat", 36, 0, row_splat_collapsing, check_splat_collapsing, begin_splat, NULL},
    {"compose", "compose", 36, 60, row_compose, check_compose, NULL, NULL},
    {"compositive_step", "compositive_step", 36, 60, row_compositive_step, check_compositive_step, NULL,
     NULL},
    {"velocity_sum", "velocity_sum", 48, 0, row_velocity_sum, check_velocity_sum, begin_sum, NULL},
    {"weighted_sum", "weighted_sum", 20, 0, row_weighted_sum, check_weighted_sum, begin_sum, NULL},
    {"divergence", "divergence", 16, 9, row_divergence, check_divergence, NULL, NULL},
    {"add_gradient", "add_gradient", 28, 12, row_add_gradient, check_add_gradient, NULL, NULL},
    {"metric_force", "metric_force", 32, 60, row_metric_force, check_metric_force, NULL, NULL},
    {"inverse", "inverse", 24, 0, row_inverse, check_inverse, NULL, NULL},
    {"linear histogram", "affine_histogram", 8, 0, row_linear_histogram, check_linear_histogram, NULL, NULL},
    {"linear sums", "affine_sums", 8, 0, row_linear_sums, check_linear_sums, NULL, NULL},
    {"force", NULL, 32, 158, bench_force, bench_check_force, NULL, NULL},
    {"force image only", NULL, 32, 0, row_force_image, check_force_image, NULL, NULL},
    {"force recompute", "force_forms/recompute", 32, 158, bench_unbiased_form, bench_check_force, NULL, NULL},
    {"force reuse", "force/reuse", 32, 158, bench_force, bench_check_force, NULL, NULL},
    {"force capped", "force_forms/capped", 32, 158, bench_unbiased_form, bench_check_force, NULL, NULL},
    {"force twopass", "force_forms/twopass", 32, 158, bench_unbiased_form, bench_check_force, NULL, NULL},
    {"energy", "energy", 20, 0, row_energy, check_energy, NULL, NULL},
    {"fluid rate", NULL, 60, 0, row_rate, check_rate, NULL, NULL},
    {"fluid update", NULL, 36, 6, row_update, check_update, begin_update, NULL},
    {"fluid iteration", NULL, 200, 0, row_iteration, check_iteration, NULL, NULL},
    {"metric SSD", "metric_ssd", 16, 0, row_ssd, check_ssd, NULL, NULL},
    {"metric NCC", "metric_ncc", 24, 0, row_ncc, check_ncc, NULL, NULL},
    {"metric MI 32", "metric_counts", 24, 0, row_mi, check_mi, NULL, NULL},
    {"metric MI derivative", "metric_table_derivatives", 24, 0, row_mi, check_mi, NULL, NULL},
    /* Terms 20 bytes and derivative 24; with both derivatives 28 and 36. Operations: differences and
     * products 5, six sums along three axes, one voxel in and one out, 36, the window 35 (with both
     * derivatives 44, without terms 33); three or five sums of terms 18 or 30, the derivative 6 or 12. */
    {"lncc 2", "lncc_terms", 44, 100, row_lncc, check_lncc, NULL, NULL},
    {"lncc 2 derivative", "lncc_derivative", 44, 100, row_lncc, check_lncc, NULL, NULL},
    {"lncc 4", "lncc_wide_terms", 44, 100, row_lncc_wide, check_lncc_4, NULL, NULL},
    {"lncc 7", "lncc_wide_derivative", 44, 100, row_lncc_any, check_lncc_7, NULL, NULL},
    {"lncc 2 both derivatives", NULL, 64, 127, row_lncc_both, check_lncc_both, NULL, NULL},
    {"lncc 2 local", NULL, 12, 74, row_lncc_local, check_lncc_local, NULL, NULL},
    /* Points: packing 16 bytes, what voxels say of their neighbours 56, each derivative 32; of 24 pairs the difference
     * and its square 6, the exponential 13, the value and its share 5, the pull 4. Patches: packing 16, differences
     * and sums 76 an image, descriptors 68 and 112, each derivative 88. */
    {"mind both derivatives", "mind_point_pull", 136, 670, row_mind_points, check_mind_points,
     begin_mind_points, NULL},
    {"mind patch 1 both derivatives", "mind_compare", 524, 0, row_mind_patches, check_mind_patches,
     begin_mind_patches, NULL},
    {NULL, NULL, 0, 0, NULL, NULL, NULL, NULL},
};
