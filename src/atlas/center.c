/* SPDX-License-Identifier: Apache-2.0 */
/* The mean map, which every round removes. */
#include "atlas/center.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/sums.h"
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

/* SQUARINGS: exp(v) by that many of v / 2^SQUARINGS. LOG_STEPS, WARP_STEPS: at most, until the mean of the
 * logarithms of the affines is 0, that of the warps below ENOUGH voxels or falls by less than to SLOW of
 * itself. */
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

/* exp(-v) and exp(v) of each move, by a device. */
typedef struct movement {
    clv_buffer *to_middle[WARP_STEPS], *from_middle[WARP_STEPS];
} movement;

typedef struct clv_atlas_center {
    size_t values; /* of a field */
    float unit;    /* of sums: so many whole numbers a mm */
    clv_atlas_sums sums;
    float *mean;    /* as kernels hold it; during clv_atlas_center_warps */
    movement *each; /* device */
    clv_maps_moves moves; /* of which those before `ended` are gone, as all maps have taken them */
    int ended;
} clv_atlas_center;

static void release_move(clv_atlas_run *a, int number)
{
    for (int i = 0; i < a->devices; i++) {
        clv_buffer_destroy(&a->center->each[i].to_middle[number]);
        clv_buffer_destroy(&a->center->each[i].from_middle[number]);
    }
}

void clv_atlas_center_end(clv_atlas_run *a)
{
    clv_atlas_center *c = a->center;
    if (!c)
        return;
    clv_maps_follow(a->maps, NULL);
    for (int i = 0; c->each && i < WARP_STEPS; i++)
        release_move(a, i);
    clv_atlas_sums_close(&c->sums);
    clv_large_free(c->mean);
    free(c->each);
    free(c);
    a->center = NULL;
}

static int add(clv_atlas_run *a, const clv_atlas_member *s, int device, clv_buffer *const field[2])
{
    int status = CLVOX_OK;
    clv_atlas_center *c = a->center;
    clv_buffer *sum;
    CLV_TRY(clv_atlas_sums_on(&c->sums, device, &sum));
    status = clv_velocity_sum(a->ctx[device], CLV_VECTORS(field[0], a->grid.size), field[1], (float)s->weight,
                              c->unit, sum);
end:
    return status;
}

int clv_atlas_center_add(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *const field[2])
{
    const int status = add(a, s, device, field);
    s->summed = status >= 0;
    return status == CLVOX_ERROR_MEMORY ? CLVOX_OK : status; /* then it is added later */
}

static int measure_on(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *warp);

/* Its maps after the moves until now, to the sum. Those that pass are measured while they are here. */
static int move_and_add(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    clv_loan loan = {.rooms = 0};
    const int map = (int)(s - a->s);
    (void)user;
    if (!clv_maps_there(a->maps, map) || s->summed)
        return CLVOX_OK;
    CLV_TRY(clv_atlas_sums_make(&a->center->sums, device));
    CLV_TRY(clv_maps_lend(a->maps, map, device, 2, &loan));
    CLV_TRY(add(a, s, device, loan.field));
    if (loan.passes)
        CLV_TRY(measure_on(a, s, device, loan.field[0]));
    status = clv_finish(a->ctx[device]); /* the time is this subject's */
end:
    clv_maps_return(&loan);
    return status;
}

static void divide(void *user, const int32_t *sum, size_t from, size_t count)
{
    const clv_atlas_run *a = user;
    for (size_t k = 0; k < count; k++)
        a->center->mean[from + k] = (float)((double)sum[k] / (double)a->center->unit / a->weights);
}

/* The mean of the logarithms (u - u~) / 2, u~ that of the inverse, of the maps after `moves`. */
static int mean_velocity(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    const clvox_atlas_work name = a->center->moves.count ? CLVOX_ATLAS_MOVE : CLVOX_ATLAS_MEAN_MAP;
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = move_and_add, .name = name, .reads = CLV_ATLAS_WARPS}));
    const double mark = clv_seconds();
    CLV_TRY(clv_atlas_sums_take(&a->center->sums, divide, a));
    for (int i = 0; i < a->count; i++)
        a->s[i].summed = false;
    clv_atlas_timed(a, CLVOX_ATLAS_MEAN_MAP_ONCE, mark);
end:
    return status;
}

enum { PART = 4096 };

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
static int length_of_mean(const clv_atlas_run *a, double *length)
{
    int status = CLVOX_OK;
    const bool packed = clv_fields_packed(a->ctx[0]);
    const size_t voxels = a->center->values / 3, parts = (voxels + PART - 1) / PART;
    squares q = {
        .mean = a->center->mean, .voxels = voxels, .voxel = packed ? 3 : 1, .part = packed ? 1 : voxels};
    double sum = 0;
    clv_field_frame(&a->grid, q.frame);
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

/* A move that is prepared, and the mean's length meanwhile; length NULL: it is known. */
typedef struct preparation {
    int number;
    double *length;
} preparation;

static int prepare(clv_atlas_run *a, int device, void *user)
{
    int status = CLVOX_OK;
    movement *m = &a->center->each[device];
    clv_buffer *given = NULL, *made = NULL;
    clvox_context *ctx = a->ctx[device];
    const preparation *p = user;
    const int number = p->number;
    const size_t bytes = a->center->values * sizeof(float);
    const clv_request moves[2] = {{&m->to_middle[number], bytes, "mean map"},
                                  {&m->from_middle[number], bytes, "inverse mean map"}},
                      rooms[2] = {{&given, bytes, "displacement field"},
                                  {&made, bytes, "composed displacement field"}};
    CLV_TRY(clv_maps_take(a->maps, device, moves, 2));
    CLV_TRY(clv_maps_take(a->maps, device, rooms, 2));
    CLV_TRY(clv_buffer_send(ctx, given, a->center->mean, bytes));
    CLV_TRY(exponential(ctx, &a->grid, given, -1, &m->to_middle[number], &made));
    CLV_TRY(exponential(ctx, &a->grid, given, 1, &m->from_middle[number], &made));
    if (p->length && !device)
        CLV_TRY(length_of_mean(a, p->length));
    status = clv_finish(ctx);
end:
    clv_pool_release(rooms, 2);
    return status;
}

static int take_move(void *user, int device, int which, int number, clv_buffer *field, clv_buffer *out)
{
    const clv_atlas_run *a = user;
    const movement *m = &a->center->each[device];
    return which ? follow(a->ctx[device], &a->grid, field, m->from_middle[number], out)
                 : follow(a->ctx[device], &a->grid, m->to_middle[number], field, out);
}

int clv_atlas_center_begin(clv_atlas_run *a)
{
    int status = CLVOX_OK;
    clv_atlas_center_end(a);
    clv_atlas_center *c = a->center = calloc(1, sizeof *c);
    if (!c)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    c->moves = (clv_maps_moves){.follow = take_move, .user = a};
    clv_maps_follow(a->maps, &c->moves);
    for (int i = 0; i < a->count; i++) {
        a->s[i].summed = false;
        a->s[i].measured = 0;
    }
    c->values = 3 * clvox_grid_voxels(&a->grid);
    c->unit = clv_velocity_unit(clv_atlas_taking_part(a));
    CLV_TRY(clv_atlas_sums_open(a, c->values, &c->sums));
    c->each = calloc((size_t)a->devices, sizeof *c->each);
    if (!c->each)
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    return status;
}

/* The next move on each device: phi_i <- phi_i exp(-v), phi_i^-1 <- exp(v) phi_i^-1. Once it counts, maps
 * take it as soon as they are looked at. */
static int prepare_move(clv_atlas_run *a, double *length)
{
    const double mark = clv_seconds();
    clv_atlas_center *c = a->center;
    for (const int moved = clv_maps_moved(a->maps); c->ended < moved; c->ended++)
        release_move(a, c->ended);
    const int status = clv_atlas_every(a, prepare, &(preparation){c->moves.count, length});
    clv_atlas_timed(a, CLVOX_ATLAS_EXPONENTIAL, mark);
    return status;
}

/* ---- what is left ---------------------------------------------------------- */

/* rms over the grid of a subject's warp, which is on the device. */
static int measure_on(clv_atlas_run *a, clv_atlas_member *s, int device, clv_buffer *warp)
{
    int status = CLVOX_OK;
    clvox_context *ctx = a->ctx[device];
    clv_buffer *partial = NULL;
    const clv_request wanted = {&partial, CLV_STATISTICS_PARTIALS * sizeof(float), "partial sums"};
    double frame[3][3];
    float reorient[3][3];
    clv_statistics lengths;
    clv_field_frame(&a->grid, frame);
    for (int i = 0; i < 9; i++)
        reorient[i / 3][i % 3] = (float)frame[i / 3][i % 3];
    CLV_TRY(clv_pool_take(ctx, &wanted, 1));
    CLV_TRY(clv_statistics_lengths(ctx, CLV_VECTORS(warp, a->grid.size), CLV_MATRIX3F(reorient), NULL, NULL,
                                   partial, &lengths));
    s->map.displacement_mm = lengths.voxels ? sqrt(lengths.sum_squares / (double)lengths.voxels) : 0;
    s->measured = 1 + a->center->moves.count;
end:
    clv_pool_release(&wanted, 1);
    return status;
}

static int measure(clv_atlas_run *a, clv_atlas_member *s, int device, void *user)
{
    int status = CLVOX_OK;
    clv_loan loan;
    (void)user;
    if (s->measured == 1 + a->center->moves.count)
        return CLVOX_OK;
    CLV_TRY(clv_maps_lend(a->maps, (int)(s - a->s), device, 1, &loan));
    status = measure_on(a, s, device, loan.field[0]);
end:
    clv_maps_return(&loan);
    return status;
}

/* Removes the mean map until there is none, or interpolation keeps it from falling further: once leaves
 * what is of second order in the maps' lengths. */
static int remove_mean(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    double before = INFINITY;
    for (int step = 0;; step++) {
        const bool ahead = !a->o->team && step < a->usual && step < WARP_STEPS;
        CLV_TRY(mean_velocity(a));
        CLV_TRY(ahead ? prepare_move(a, &round->left_voxels)
                      : clv_atlas_agree(a, length_of_mean(a, &round->left_voxels)));
        round->left_voxels /= clv_atlas_edge(&a->grid);
        if (step == 0)
            round->removed_voxels = round->left_voxels;
        if (round->left_voxels < ENOUGH || round->left_voxels > SLOW * before || step == WARP_STEPS)
            break;
        before = round->left_voxels;
        if (!ahead)
            CLV_TRY(prepare_move(a, NULL));
        a->center->moves.count++;
    }
    a->usual = a->center->moves.count;
end:
    return status;
}

/* Subjects left out since the registrations began can change the unit of sums. */
static void check_unit(clv_atlas_run *a)
{
    clv_atlas_center *c = a->center;
    const float unit = clv_velocity_unit(clv_atlas_taking_part(a));
    if (unit == c->unit)
        return;
    c->unit = unit;
    clv_atlas_sums_clear(&c->sums);
    for (int i = 0; i < a->count; i++)
        a->s[i].summed = false;
}

int clv_atlas_center_warps(clv_atlas_run *a, clvox_atlas_round *round)
{
    int status = CLVOX_OK;
    double sum = 0;
    clv_atlas_center *c = a->center;
    check_unit(a);
    c->mean = clv_large(c->values * sizeof *c->mean);
    CLV_TRY(clv_atlas_have(a, c->mean != NULL));
    CLV_TRY(remove_mean(a, round));
    CLV_TRY(clv_atlas_each(
        a, &(clv_atlas_step){.take = measure, .name = CLVOX_ATLAS_DISPLACEMENT, .reads = CLV_ATLAS_WARPS}));
    CLV_TRY(clv_atlas_share(a));
    for (int i = 0; i < a->count; i++) {
        const double length = a->s[i].map.displacement_mm;
        sum += a->s[i].weight > 0 ? a->s[i].weight * length * length / a->weights : 0;
    }
    round->spread_mm = sqrt(sum);
end:
    clv_atlas_sums_close(&c->sums);
    clv_large_free(c->mean);
    c->mean = NULL;
    return status;
}
