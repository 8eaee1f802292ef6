/* SPDX-License-Identifier: Apache-2.0 */
/* The mean map, which every round removes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "base/matrix.h"
#include "clvox/threads.h"
#include "op/field/compose.h"
#include "op/image/resample.h"
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

/* As many values as stay in a cache with one subject's. */
enum { PART = 4096 };

typedef struct squares {
    const clvox_volume *field;
    size_t values;
    double *of_part;
} squares;

static int square_part(void *user, size_t index, int worker)
{
    const squares *q = user;
    const size_t end = (index + 1) * PART < q->values ? (index + 1) * PART : q->values;
    double sum = 0;
    (void)worker;
    for (size_t i = index * PART; i < end; i++)
        sum += isfinite(q->field->data[i]) ? (double)q->field->data[i] * (double)q->field->data[i] : 0;
    q->of_part[index] = sum;
    return CLVOX_OK;
}

/* rms over the grid of a field's vectors, mm. */
static int length_of(const clvox_volume *field, double *length)
{
    int status = CLVOX_OK;
    const size_t n = clvox_grid_voxels(&field->grid), parts = (3 * n + PART - 1) / PART;
    squares q = {field, 3 * n, malloc(parts * sizeof *q.of_part)};
    double sum = 0;
    if (!q.of_part)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_parallel(parts, square_part, &q));
    for (size_t i = 0; i < parts; i++)
        sum += q.of_part[i];
    *length = sqrt(sum / (double)n);
end:
    free(q.of_part);
    return status;
}

typedef struct velocities {
    const clv_atlas_run *a;
    int64_t *sum;
    int from; /* the first one of the group that is summed */
    float *mean;
} velocities;

/* Velocities of up to 4 m in sums of integers, to 6e-11 mm. */
static const double VELOCITY_SCALE = 0x1p34;

static int sum_part(void *user, size_t index, int worker)
{
    const velocities *w = user;
    const size_t n = 3 * clvox_grid_voxels(&w->a->grid), from = index * PART, all = n - from < PART ? n - from : PART;
    int64_t *sum = w->sum + from;
    (void)worker;
    for (int i = w->from; i < w->a->count && i < w->from + CLV_ATLAS_TOGETHER; i++) {
        const clv_atlas_member *s = &w->a->s[i];
        if (!s->weight || !clv_atlas_is_mine(w->a, s))
            continue;
        const float *there = s->map.warp->data + from, *back = s->map.inverse_warp->data + from;
        for (size_t k = 0; k < all; k++) {
            double v = ((double)there[k] - (double)back[k]) / 2;
            sum[k] += isfinite(v) ? clv_atlas_fixed(s->weight * v, VELOCITY_SCALE) : 0;
        }
    }
    return CLVOX_OK;
}

static int mean_part(void *user, size_t index, int worker)
{
    const velocities *w = user;
    const size_t n = 3 * clvox_grid_voxels(&w->a->grid),
                 end = (index + 1) * PART < n ? (index + 1) * PART : n;
    (void)worker;
    for (size_t k = index * PART; k < end; k++)
        w->mean[k] = (float)((double)w->sum[k] / VELOCITY_SCALE / w->a->weights);
    return CLVOX_OK;
}

/* The mean of the logarithms (u - u~) / 2, u~ that of the inverse. */
static int mean_velocity(clv_atlas_run *a, clvox_volume **out)
{
    const size_t n = 3 * clvox_grid_voxels(&a->grid), parts = (n + PART - 1) / PART;
    velocities w = {a, calloc(n, sizeof *w.sum), 0, NULL};
    int status = clvox_volume_create(&a->grid, 3, CLVOX_KIND_DISPLACEMENT, out);
    if (!w.sum)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_team_agree(a->o->team, status));
    for (; w.from < a->count; w.from += CLV_ATLAS_TOGETHER) {
        for (int i = w.from + CLV_ATLAS_TOGETHER; i < a->count && i < w.from + 2 * CLV_ATLAS_TOGETHER; i++)
            clv_atlas_expect(a, &a->s[i], CLV_ATLAS_WARPS);
        CLV_TRY(clvox_parallel(parts, sum_part, &w));
        for (int i = w.from; i < a->count && i < w.from + CLV_ATLAS_TOGETHER; i++)
            clv_atlas_rest(a, &a->s[i]);
    }
    CLV_TRY(clv_atlas_total(a, w.sum, n));
    w.mean = (*out)->data;
    status = clvox_parallel(parts, mean_part, &w);
end:
    free(w.sum);
    return status;
}

/* ---- the mean map is taken out of each subject's -------------------------- */

/* What a device holds meanwhile. */
typedef struct movement {
    clv_buffer *to_middle, *from_middle; /* exp(-v), exp(v) */
    clv_buffer *given, *made;
} movement;

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
static int exponential(clvox_context *ctx, const clvox_volume *v, double sign, clv_buffer **out,
                       clv_buffer **room)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_field_upload(ctx, v, ldexp(sign, -SQUARINGS), *out));
    for (int i = 0; i < SQUARINGS; i++) {
        clv_buffer *half = *out;
        CLV_TRY(follow(ctx, &v->grid, half, half, *room));
        *out = *room;
        *room = half;
    }
end:
    return status;
}

enum { MOVEMENT_BUFFERS = 4 };
static void release(movement *m)
{
    const clv_request held[MOVEMENT_BUFFERS] = {
        {&m->to_middle, 0, NULL}, {&m->from_middle, 0, NULL}, {&m->given, 0, NULL}, {&m->made, 0, NULL}};
    clv_pool_release(held, MOVEMENT_BUFFERS);
}

static int prepare(clvox_context *ctx, const clvox_volume *v, movement *m)
{
    int status = CLVOX_OK;
    const size_t bytes = 3 * sizeof(float) * clvox_grid_voxels(&v->grid);
    const clv_request wanted[MOVEMENT_BUFFERS] = {{&m->to_middle, bytes, "mean map"},
                                                  {&m->from_middle, bytes, "inverse mean map"},
                                                  {&m->given, bytes, "displacement field"},
                                                  {&m->made, bytes, "composed displacement field"}};
    CLV_TRY(clv_pool_take(ctx, wanted, MOVEMENT_BUFFERS));
    CLV_TRY(exponential(ctx, v, -1, &m->to_middle, &m->made));
    status = exponential(ctx, v, 1, &m->from_middle, &m->made);
end:
    return status;
}

static int move_warp(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    clvox_context *ctx = a->ctx[device];
    const movement *m = (const movement *)user + device;
    clvox_volume *warp = NULL, *inverse = NULL;
    CLV_TRY(clv_field_upload(ctx, s->map.warp, 1, m->given));
    CLV_TRY(follow(ctx, &a->grid, m->to_middle, m->given, m->made));
    CLV_TRY(clv_field_download(ctx, m->made, &a->grid, 1, &warp));
    CLV_TRY(clv_field_upload(ctx, s->map.inverse_warp, 1, m->given));
    CLV_TRY(follow(ctx, &a->grid, m->given, m->from_middle, m->made));
    CLV_TRY(clv_field_download(ctx, m->made, &a->grid, 1, &inverse));
    clvox_volume_destroy(&s->map.warp);
    clvox_volume_destroy(&s->map.inverse_warp);
    s->map.warp = warp, s->map.inverse_warp = inverse;
    warp = inverse = NULL;
    status = clv_atlas_keep_maps(a, &s->map);
end:
    clvox_volume_destroy(&warp);
    clvox_volume_destroy(&inverse);
    return status;
}

/* phi_i <- phi_i exp(-v), phi_i^-1 <- exp(v) phi_i^-1 */
static int move_warps(clv_atlas_run *a, const clvox_volume *v)
{
    int status = CLVOX_OK;
    movement *each = calloc((size_t)a->devices, sizeof *each);
    const double mark = clv_seconds();
    if (!each)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->devices && status >= 0; i++)
        status = prepare(a->ctx[i], v, &each[i]);
    CLV_TRY(clvox_team_agree(a->o->team, status));
    clv_atlas_timed(a, CLVOX_ATLAS_EXPONENTIAL, mark);
    status = clv_atlas_each(
        a, &(clv_atlas_step){
               .take = move_warp, .user = each, .name = CLVOX_ATLAS_MOVE, .reads = CLV_ATLAS_WARPS});
end:
    for (int i = 0; each && i < a->devices; i++)
        release(&each[i]);
    free(each);
    return status;
}

/* Removes the mean map until there is none, or interpolation keeps it from falling further: once leaves what is of
 * second order in the maps' lengths. */
int clv_atlas_center_warps(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    clvox_volume *v = NULL;
    double sum = 0, before = INFINITY;
    for (int step = 0;; step++) {
        const double mark = clv_seconds();
        CLV_TRY(mean_velocity(a, &v));
        clv_atlas_timed(a, CLVOX_ATLAS_MEAN_MAP, mark);
        CLV_TRY(clvox_team_agree(a->o->team, length_of(v, &round->left_voxels)));
        round->left_voxels /= clv_atlas_edge(&a->grid);
        if (step == 0)
            round->removed_voxels = round->left_voxels;
        if (round->left_voxels < ENOUGH || round->left_voxels > SLOW * before || step == WARP_STEPS)
            break;
        before = round->left_voxels;
        CLV_TRY(move_warps(a, v));
        clvox_volume_destroy(&v);
    }
    for (int i = 0; i < a->count && status >= 0; i++)
        if (a->s[i].weight > 0 && clv_atlas_is_mine(a, &a->s[i])) {
            status = length_of(a->s[i].map.warp, &a->s[i].map.displacement_mm);
            clvox_store_rest(a->s[i].map.warp);
        }
    CLV_TRY(clvox_team_agree(a->o->team, status));
    CLV_TRY(clv_atlas_share(a));
    for (int i = 0; i < a->count; i++) {
        const double length = a->s[i].map.displacement_mm;
        sum += a->s[i].weight > 0 ? a->s[i].weight * length * length / a->weights : 0;
    }
    round->spread_mm = sqrt(sum);
end:
    clvox_volume_destroy(&v);
    return status;
}
