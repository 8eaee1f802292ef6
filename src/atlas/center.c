/* SPDX-License-Identifier: Apache-2.0 */
/* The mean map, which every round removes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "base/spares.h"
#include "clvox/threads.h"
#include "op/field/compose.h"
#include "op/field/velocity_sum.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "op/image/statistics.h"
#include "transform/field.h"

/* SQUARINGS: exp(v) by that many of v / 2^SQUARINGS. LOG_STEPS, WARP_STEPS: at most, until the mean of the logarithms
 * of the affines is 0, that of the warps below ENOUGH voxels or falls by less than to SLOW of itself. */
enum { SQUARINGS = 6, LOG_STEPS = 20, WARP_STEPS = 4 };
static const double ENOUGH = 5e-4, SLOW = .25;

/* rms over the grid of |(m - 1) x| in voxels. */
static double length_of_affine(const clvox_grid *grid, const double m[4][4])
{
    double sum = 0, edge = clv_atlas_edge(grid);
    enum { STEPS = 8 };
    for (int i = 0; i < STEPS * STEPS * STEPS; i++) {
        const int step[3] = {i % STEPS, i / STEPS % STEPS, i / (STEPS * STEPS)};
        double at[3], x[3], y[3];
        for (int k = 0; k < 3; k++)
            at[k] = (grid->size[k] - 1) * (step[k] + .5) / STEPS;
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), at, x);
        clv_matrix_apply(m, x, y);
        for (int k = 0; k < 3; k++)
            sum += (y[k] - x[k]) * (y[k] - x[k]);
    }
    return sqrt(sum / (STEPS * STEPS * STEPS)) / edge;
}

static int mean_log(clv_atlas_run *a, double out[4][4])
{
    memset(out, 0, 16 * sizeof(double));
    for (int i = 0; i < a->count; i++) {
        double log[4][4];
        if (!a->s[i].weight)
            continue;
        if (!clv_matrix_log(CLV_MATRIX(a->s[i].map.matrix), log))
            return clv_atlas_fail(
                clvox_fail(CLVOX_ERROR_DATA, "its affine to the template mirrors, or rotates by 180 degrees"),
                &a->s[i]);
        for (int k = 0; k < 16; k++)
            out[k / 4][k % 4] += a->s[i].weight / a->weights * log[k / 4][k % 4];
    }
    return CLVOX_OK;
}

/* A_i <- A_i G until the mean of log A_i is 0. */
int clv_atlas_center_affines(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    double mean[4][4], back[4][4], sum = 0;
    for (int step = 0; step < LOG_STEPS; step++) {
        CLV_TRY(mean_log(a, mean));
        for (int k = 0; k < 16; k++)
            mean[k / 4][k % 4] *= -1;
        clv_matrix_exp(CLV_MATRIX(mean), back);
        double length = length_of_affine(&a->grid, CLV_MATRIX(back));
        if (step == 0)
            round->removed_voxels = length;
        round->left_voxels = length;
        if (length < 1e-9)
            break;
        for (int i = 0; i < a->count; i++)
            clv_matrix_multiply(CLV_MATRIX(a->s[i].map.matrix), CLV_MATRIX(back), a->s[i].map.matrix);
    }
    CLV_TRY(clv_atlas_settle(a));
    double edge = clv_atlas_edge(&a->grid);
    for (int i = 0; i < a->count; i++) {
        double length = edge * length_of_affine(&a->grid, CLV_MATRIX(a->s[i].map.matrix));
        sum += a->s[i].weight * length * length / a->weights;
    }
    round->spread_mm = sqrt(sum);
    status = clv_atlas_spread(a, 0, round, sizeof *round);
end:
    return status;
}

/* ---- the mean velocity ---------------------------------------------------- */

/* As many values as stay in a cache with one subject's. */
enum { PART = 4096 };

typedef struct velocities {
    clv_atlas_run *a;
    size_t values; /* of a field */
    float unit;    /* of sums: so many whole numbers a mm */
    clv_atlas_sums sums;
    int from;    /* the first one of the group that is summed on the host */
    float *mean; /* as kernels hold it */
} velocities;

static size_t part_end(const velocities *w, size_t index)
{
    return (index + 1) * PART < w->values ? (index + 1) * PART : w->values;
}

/* On its own device. */
static int sum_resident(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    velocities *w = user;
    clv_buffer *sum;
    if (!clv_atlas_fields_resident(s))
        return CLVOX_OK;
    CLV_TRY(clv_atlas_sums_on(&w->sums, device, &sum));
    status = clv_velocity_sum(a->ctx[device], CLV_VECTORS(s->fields.buffer[0], a->grid.size),
                              s->fields.buffer[1], (float)s->weight, w->unit, sum);
end:
    return status;
}

static bool is_kept(const clv_atlas_member *s)
{
    return s->weight > 0 && s->fields.there && !clv_atlas_fields_resident(s);
}

static int sum_part(void *user, size_t index, int worker)
{
    const velocities *w = user;
    const clv_atlas_run *a = w->a;
    int32_t *sum = w->sums.all;
    (void)worker;
    if (!w->from)
        memset(sum + index * PART, 0, (part_end(w, index) - index * PART) * sizeof *sum);
    for (int i = w->from; i < a->count && i < w->from + CLV_ATLAS_TOGETHER; i++) {
        const clv_atlas_member *s = &a->s[i];
        if (!is_kept(s))
            continue;
        const float *there = s->fields.kept[0]->data, *back = s->fields.kept[1]->data;
        for (size_t k = index * PART; k < part_end(w, index); k++)
            sum[k] += clv_velocity_whole(there[k], back[k], (float)s->weight, w->unit);
    }
    return CLVOX_OK;
}

static int sum_kept(velocities *w)
{
    int status = CLVOX_OK;
    const clv_atlas_run *a = w->a;
    for (int i = 0; i < a->count; i++)
        w->sums.kept = w->sums.kept || is_kept(&a->s[i]);
    for (w->from = 0; w->sums.kept && w->from < a->count; w->from += CLV_ATLAS_TOGETHER) {
        for (int i = w->from + CLV_ATLAS_TOGETHER; i < a->count && i < w->from + 2 * CLV_ATLAS_TOGETHER; i++)
            clv_atlas_expect(a, &a->s[i], CLV_ATLAS_WARPS);
        CLV_TRY(clvox_parallel((w->values + PART - 1) / PART, sum_part, w));
        for (int i = w->from; i < a->count && i < w->from + CLV_ATLAS_TOGETHER; i++)
            clv_atlas_rest(a, &a->s[i]);
    }
end:
    return status;
}

static void divide(void *user, const int32_t *sum, size_t from, size_t count)
{
    const velocities *w = user;
    for (size_t k = 0; k < count; k++)
        w->mean[from + k] = (float)((double)sum[k] / (double)w->unit / w->a->weights);
}

/* The mean of the logarithms (u - u~) / 2, u~ that of the inverse. */
static int mean_velocity(velocities *w)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = w->a;
    double mark = clv_seconds();
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){
               .take = sum_resident, .user = w, .name = CLVOX_ATLAS_WORKS, .reads = CLV_ATLAS_WARPS}));
    CLV_TRY(clvox_team_agree(a->o->team, sum_kept(w)));
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_MAP, mark);
    mark = clv_seconds();
    CLV_TRY(clv_atlas_sums_take(&w->sums, divide, w));
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_MAP_ONCE, mark);
end:
    return status;
}

typedef struct squares {
    const float *mean;
    size_t voxels, voxel, part; /* the last two: distances of neighbours and of components */
    double frame[3][3];         /* to RAS mm: axes need not be at right angles */
    double *of_part;
} squares;

static int square_part(void *user, size_t index, int worker)
{
    const squares *q = user;
    const size_t end = (index + 1) * PART < q->voxels ? (index + 1) * PART : q->voxels;
    double sum = 0;
    (void)worker;
    for (size_t i = index * PART; i < end; i++)
        for (int r = 0; r < 3; r++) {
            double v = 0;
            for (int c = 0; c < 3; c++)
                v += q->frame[r][c] * (double)q->mean[i * q->voxel + (size_t)c * q->part];
            sum += v * v;
        }
    q->of_part[index] = sum;
    return CLVOX_OK;
}

/* rms over the grid of the mean velocity, mm. */
static int length_of_mean(const velocities *w, double *length)
{
    int status = CLVOX_OK;
    const bool packed = clv_fields_packed(w->a->ctx[0]);
    const size_t voxels = w->values / 3, parts = (voxels + PART - 1) / PART;
    squares q = {.mean = w->mean, .voxels = voxels, .voxel = packed ? 3 : 1, .part = packed ? 1 : voxels};
    double sum = 0;
    clv_field_frame(&w->a->grid, q.frame);
    q.of_part = malloc(parts * sizeof *q.of_part);
    if (!q.of_part)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_parallel(parts, square_part, &q));
    for (size_t i = 0; i < parts; i++)
        sum += q.of_part[i];
    *length = sqrt(sum / (double)voxels);
end:
    free(q.of_part);
    return status;
}

/* ---- the mean map is taken out of each subject's -------------------------- */

/* What a device holds meanwhile. */
typedef struct movement {
    clv_buffer *to_middle, *from_middle; /* exp(-v), exp(v) */
    clv_buffer *given, *made;
} movement;

typedef struct movements {
    const velocities *w;
    movement *each; /* device */
} movements;

/* out = first, then second: u(x) + w(x + u(x)). */
static int follow(clvox_context *ctx, const clvox_grid *grid, clv_buffer *first, clv_buffer *second,
                  clv_buffer *out)
{
    int status = CLVOX_OK;
    double identity[4][4];
    float reorient[3][3];
    clv_map map;
    clv_matrix_identity(identity);
    clv_map_between(grid, grid, CLV_MATRIX(identity), 1, &map);
    CLV_TRY(clv_field_reorientation(grid, grid, CLV_MATRIX(identity), reorient));
    const clv_compose_args args = {.u = first,
                                   .own = 1,
                                   .w = *CLV_VECTORS(second, grid->size),
                                   .map = &map,
                                   .reorient = CLV_MATRIX3F(reorient),
                                   .out = *CLV_VECTORS(out, grid->size)};
    status = clv_compose(ctx, &args);
end:
    return status;
}

/* exp(sign v) */
static int exponential(clvox_context *ctx, const clvox_grid *grid, const clv_buffer *v, float sign,
                       clv_buffer **out, clv_buffer **room)
{
    int status = CLVOX_OK;
    const float k[4] = {sign / (1 << SQUARINGS)};
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VECTORS(*out, grid->size), v, NULL, NULL, k));
    for (int i = 0; i < SQUARINGS; i++) {
        clv_buffer *half = *out;
        CLV_TRY(follow(ctx, grid, half, half, *room));
        *out = *room;
        *room = half;
    }
end:
    return status;
}

static void release(movement *m)
{
    clv_buffer_destroy(&m->to_middle);
    clv_buffer_destroy(&m->from_middle);
    clv_buffer_destroy(&m->given);
    clv_buffer_destroy(&m->made);
}

enum { MOVEMENT_BUFFERS = 4 };
static int prepare(clv_atlas_run *a, int device, void *user)
{
    int status = CLVOX_OK;
    const movements *all = user;
    movement *m = &all->each[device];
    clvox_context *ctx = a->ctx[device];
    const size_t bytes = all->w->values * sizeof(float);
    const clv_request wanted[MOVEMENT_BUFFERS] = {{&m->to_middle, bytes, "mean map"},
                                                  {&m->from_middle, bytes, "inverse mean map"},
                                                  {&m->given, bytes, "displacement field"},
                                                  {&m->made, bytes, "composed displacement field"}};
    CLV_TRY(clv_pool_take(ctx, wanted, MOVEMENT_BUFFERS));
    CLV_TRY(clv_buffer_write(ctx, m->given, 0, all->w->mean, bytes));
    CLV_TRY(exponential(ctx, &a->grid, m->given, -1, &m->to_middle, &m->made));
    CLV_TRY(exponential(ctx, &a->grid, m->given, 1, &m->from_middle, &m->made));
    status = clv_finish(ctx);
end:
    return status;
}

static int move_warp(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    clvox_context *ctx = a->ctx[device];
    movement *m = &((const movements *)user)->each[device];
    clv_buffer *warp, *inverse;
    CLV_TRY(clv_atlas_fields_on(a, s, device, 0, m->given, &warp));
    CLV_TRY(follow(ctx, &a->grid, m->to_middle, warp, m->made));
    CLV_TRY(clv_atlas_fields_replace(a, s, device, 0, &m->made));
    CLV_TRY(clv_atlas_fields_on(a, s, device, 1, m->given, &inverse));
    CLV_TRY(follow(ctx, &a->grid, inverse, m->from_middle, m->made));
    CLV_TRY(clv_atlas_fields_replace(a, s, device, 1, &m->made));
    status = clv_finish(ctx); /* the time is this subject's */
end:
    return status;
}

/* phi_i <- phi_i exp(-v), phi_i^-1 <- exp(v) phi_i^-1 */
static int move_warps(velocities *w)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = w->a;
    const double mark = clv_seconds();
    movements all = {.w = w, .each = calloc((size_t)a->devices, sizeof *all.each)};
    if (!all.each)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_team_agree(a->o->team, status));
    CLV_TRY(clv_atlas_every(a, prepare, &all));
    clv_atlas_timed(a, CLVOX_ATLAS_EXPONENTIAL, mark);
    status = clv_atlas_each(
        a, &(clv_atlas_step){
               .take = move_warp, .user = &all, .name = CLVOX_ATLAS_MOVE, .reads = CLV_ATLAS_WARPS});
end:
    for (int i = 0; all.each && i < a->devices; i++)
        release(&all.each[i]);
    free(all.each);
    return status;
}

/* ---- what is left ---------------------------------------------------------- */

/* rms over the grid of a subject's warp. */
static int measure(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    clvox_context *ctx = a->ctx[device];
    clv_buffer *room = NULL, *partial = NULL, *warp;
    const size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&a->grid);
    const clv_request wanted[] = {{&partial, CLV_STATISTICS_PARTIALS * sizeof(float), "partial sums"},
                                  {&room, bytes, "map of a subject"}};
    const int count = clv_atlas_fields_resident(s) ? 1 : 2;
    double frame[3][3];
    float reorient[3][3];
    clv_statistics lengths;
    (void)user;
    clv_field_frame(&a->grid, frame);
    for (int i = 0; i < 9; i++)
        reorient[i / 3][i % 3] = (float)frame[i / 3][i % 3];
    CLV_TRY(clv_pool_take(ctx, wanted, count));
    CLV_TRY(clv_atlas_fields_on(a, s, device, 0, room, &warp));
    CLV_TRY(clv_statistics_lengths(ctx, CLV_VECTORS(warp, a->grid.size), CLV_MATRIX3F(reorient), NULL, NULL,
                                   partial, &lengths));
    s->map.displacement_mm = lengths.voxels ? sqrt(lengths.sum_squares / (double)lengths.voxels) : 0;
end:
    clv_pool_release(wanted, count);
    return status;
}

/* Removes the mean map until there is none, or interpolation keeps it from falling further: once leaves what is of
 * second order in the maps' lengths. */
static int remove_mean(velocities *w, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    clv_atlas_run *a = w->a;
    double before = INFINITY;
    for (int step = 0;; step++) {
        CLV_TRY(mean_velocity(w));
        CLV_TRY(clvox_team_agree(a->o->team, length_of_mean(w, &round->left_voxels)));
        round->left_voxels /= clv_atlas_edge(&a->grid);
        if (step == 0)
            round->removed_voxels = round->left_voxels;
        if (round->left_voxels < ENOUGH || round->left_voxels > SLOW * before || step == WARP_STEPS)
            break;
        before = round->left_voxels;
        CLV_TRY(move_warps(w));
    }
end:
    return status;
}

int clv_atlas_center_warps(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    double sum = 0;
    velocities w = {.a = a,
                    .values = 3 * clvox_grid_voxels(&a->grid),
                    .unit = clv_velocity_unit(clv_atlas_taking_part(a))};
    status = clv_atlas_sums_open(a, w.values, &w.sums);
    w.mean = clv_large(w.values * sizeof *w.mean);
    if (!w.mean)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_team_agree(a->o->team, status));
    CLV_TRY(remove_mean(&w, round));
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = measure, .name = CLVOX_ATLAS_DISPLACEMENT, .reads = CLV_ATLAS_WARPS}));
    CLV_TRY(clv_atlas_share(a));
    for (int i = 0; i < a->count; i++) {
        const double length = a->s[i].map.displacement_mm;
        sum += a->s[i].weight > 0 ? a->s[i].weight * length * length / a->weights : 0;
    }
    round->spread_mm = sqrt(sum);
end:
    clv_atlas_sums_close(&w.sums);
    clv_large_free(w.mean);
    return status;
}
