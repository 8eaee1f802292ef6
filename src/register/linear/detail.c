/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of like contrast: what is inside of them decides, seen by the
 * correlation of locally normalised images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/image/resample.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

/* Around how many states others are tried: turned and shifted either way by
 * this much at the radius, shares of it; so many of all are improved. */
enum { SEEDS = 3, AROUND = 13, IMPROVED = 8, LAST = 3 };
static const double ASIDE = .2, STRETCH = .02;
/* Voxels from the border of what an image shows to where samples count in full. */
enum { RAMP = 3 };
/* Samples that tell which of several states is best, and where its summit is to a hundredth of a voxel. */
static const double FEW = 60e3;

static int list_around(const clv_linear_stage *stage, clvox_linear kind, const clv_linear_state *states,
                       int count, clv_linear_state *trials)
{
    int made = 0, ways = clv_linear_parameters(kind) < 6 ? 3 : 6;
    for (int i = 0; i < count; i++) {
        trials[made++] = states[i];
        if (i >= SEEDS)
            continue;
        for (int way = 0; way < 2 * ways; way++) {
            double delta[12] = {0}, whole = ASIDE * stage->radius;
            delta[way / 2] = way & 1 ? -whole : whole;
            clv_linear_keep_in_plane(stage, kind, delta);
            if (fabs(delta[way / 2]) > .2 * whole)
                clv_linear_move(stage, kind, &states[i], delta, &trials[made++]);
        }
    }
    return made;
}

/* to = min(to, max(from, least)). */
static void nearer(const unsigned char *from, unsigned char least, unsigned char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char v = from[i] > least ? from[i] : least;
        to[i] = to[i] < v ? to[i] : v;
    }
}

/* Weight of a position, 0 to 1: more the farther, by whole voxels, straight or aslant, it lies from voxels that are
 * NaN, and 0 within two of them, so that splines around it see none. In place. */
static void ramp_of(float *image, const int size[3], unsigned char *far, unsigned char *next)
{
    const unsigned char beyond = RAMP + 2;
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], stride = 1;
    for (size_t i = 0; i < n; i++)
        far[i] = image[i] == image[i] ? beyond : 0;
    /* An axis after another: the least, over the neighbours along it, of the larger of their own
     * distance and the steps to them. */
    for (int axis = 0; axis < 3; axis++) {
        size_t line = stride * (size_t)size[axis];
        memcpy(next, far, n);
        for (size_t start = 0; start < n; start += line)
            for (int steps = 1; steps < beyond && steps < size[axis]; steps++) {
                size_t aside = (size_t)steps * stride;
                nearer(far + start + aside, (unsigned char)steps, next + start, line - aside);
                nearer(far + start, (unsigned char)steps, next + start + aside, line - aside);
            }
        unsigned char *other = far;
        far = next;
        next = other;
        stride = line;
    }
    for (size_t i = 0; i < n; i++)
        image[i] = far[i] > 2 ? (float)(far[i] - 2) / RAMP : 0;
}

/* Uploads the ramps of both images, into buffers that local normalisation has left. */
static int make_ramps(clv_linear_stage *stage, const clv_linear_level *level)
{
    int status = CLVOX_OK;
    clvox_context *ctx = stage->run->ctx;
    const clv_buffer *images[2] = {level->fixed[0], level->moving[0]};
    const clvox_grid *grids[2] = {&level->fixed_grid, &level->moving_grid};
    clv_buffer *ramps[2] = {stage->share, stage->derivatives};
    size_t most = clvox_grid_voxels(grids[0]), other = clvox_grid_voxels(grids[1]);
    most = most > other ? most : other;
    float *image = malloc(most * (sizeof *image + 2));
    unsigned char *bytes = (unsigned char *)(image + most);
    if (!image)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    for (int side = 0; side < 2; side++) {
        size_t n = clvox_grid_voxels(grids[side]);
        CLV_TRY(clv_buffer_read(ctx, images[side], 0, image, n * sizeof *image));
        ramp_of(image, grids[side]->size, bytes, bytes + n);
        CLV_TRY(clv_buffer_write(ctx, ramps[side], 0, image, n * sizeof *image));
    }
end:
    free(image);
    return status;
}

/* Settles what samples are worth, on either side: the ramp of the other image where state makes them
 * look. Where samples came in and left at once the metric would jump by a few parts in 1e5, over
 * which nothing finds a summit that another device, which rounds otherwise, would find too. */
static int settle_weights(clv_linear_stage *stage, clv_linear_level *level, const clv_linear_state *state)
{
    int status = CLVOX_OK;
    double matrix[4][4];
    clv_buffer *weights[2] = {stage->mean, stage->square};
    const clvox_grid *grids[2] = {&level->fixed_grid, &level->moving_grid};
    const clv_buffer *ramps[2] = {stage->share, stage->derivatives};
    clv_linear_to_matrix(stage, state, matrix);
    for (int side = 0; side < 2; side++) {
        const clvox_grid *from = grids[side], *to = grids[!side];
        clv_map map;
        if (side)
            CLV_TRY(clv_matrix_invert(CLV_MATRIX(matrix), matrix));
        clv_map_between(from, to, CLV_MATRIX(matrix), 0, &map);
        CLV_TRY(clv_warp(stage->run->ctx, CLV_VOLUME(ramps[!side], to->size), &map, NULL, CLV_LINEAR, 0,
                         CLV_VOLUME(weights[side], from->size)));
        level->weights[side] = weights[side];
    }
end:
    return status;
}

/* The summit as near as sums in single precision say: of smooth samples, with weights that are those
 * of the summit itself, from whatever side it was reached. Where an image is all border the state
 * stays as it is. */
static int climb(clv_linear_stage *stage, int at, clvox_linear kind, clv_linear_state *state)
{
    enum { ROUNDS = 2 };
    static const int most[ROUNDS] = {30, 15};        /* steps */
    static const double near[ROUNDS] = {1e-3, 1e-5}; /* voxels */
    int status = CLVOX_OK;
    clv_linear_level *level = &stage->level[at];
    clv_linear_state trial = *state;
    CLV_TRY(make_ramps(stage, level));
    for (int round = 0; round < ROUNDS; round++) {
        if (round == ROUNDS - 1)
            clv_linear_sample_all(level);
        CLV_TRY(settle_weights(stage, level, &trial));
        CLV_TRY(clv_linear_optimise(stage,
                                &(clv_linear_climb){{at, CLVOX_METRIC_NCC, 8, kind}, most[round],
                                                near[round] * level->mm},
                                &trial, 1));
        if (!(isfinite(trial.value) && trial.overlap > ENOUGH * state->overlap))
            goto end;
    }
    *state = trial;
end:
    clv_linear_sample_all(level);
    level->weights[0] = level->weights[1] = NULL;
    return status;
}

/* The best state by what its coarser surroundings and then its finer ones say.
 * How far the images are stretched along an axis has several answers that are
 * nearly as good: the best of those beside the first one is taken. */
static int finish(clv_linear_stage *stage, clvox_linear kind, clv_linear_state *states, int count)
{
    enum { STRETCHES = 6 };
    int status = CLVOX_OK, level = CLV_LINEAR_DETAIL + 1;
    double mm = stage->level[level].mm;
    clv_linear_state trials[LAST + STRETCHES];
    memcpy(trials, states, sizeof *trials * (size_t)count);
    clv_linear_sample(&stage->level[level], FEW);
    CLV_TRY(clv_linear_localise(stage, 1, WIDE, &trials[0]));
    CLV_TRY(clv_linear_optimise(stage, &(clv_linear_climb){{level, CLVOX_METRIC_NCC, 8, kind}, 8, .01 * mm},
                                trials, count));
    CLV_TRY(clv_linear_sort(stage, trials, &count, .25 * mm));
    CLV_TRY(clv_linear_localise(stage, 1, NARROW, &trials[0]));
    for (int way = 0; kind == CLVOX_LINEAR_AFFINE && way < STRETCHES; way++) {
        double delta[12] = {0};
        delta[3 + 4 * (way / 2)] = (way & 1 ? -1 : 1) * STRETCH * stage->radius;
        clv_linear_keep_in_plane(stage, kind, delta);
        clv_linear_move(stage, kind, &trials[0], delta, &trials[count++]);
    }
    CLV_TRY(clv_linear_optimise(stage, &(clv_linear_climb){{level, CLVOX_METRIC_NCC, 8, kind}, 3, .01 * mm},
                                trials, count));
    CLV_TRY(clv_linear_sort(stage, trials, &count, 0));
    count = count < LAST ? count : LAST;
    CLV_TRY(clv_linear_optimise(stage, &(clv_linear_climb){{level, CLVOX_METRIC_NCC, 8, kind}, 6, .01 * mm},
                                trials, count));
    CLV_TRY(clv_linear_sort(stage, trials, &count, 0));
    CLV_TRY(climb(stage, level, kind, &trials[0]));
    states[0] = trials[0];
end:
    clv_linear_sample_all(&stage->level[level]);
    return status;
}

/* Covariance of the voxels r around i, times their number; NaN if one of them is. */
static double covariance(const float *f, const float *m, const int size[3], const int r[3], size_t i)
{
    double sf = 0, sm = 0, fm = 0, n = 0;
    for (int z = -r[2]; z <= r[2]; z++)
        for (int y = -r[1]; y <= r[1]; y++)
            for (int x = -r[0]; x <= r[0]; x++) {
                ptrdiff_t at = (ptrdiff_t)i + ((ptrdiff_t)z * size[1] + y) * size[0] + x;
                sf += (double)f[at];
                sm += (double)m[at];
                fm += (double)f[at] * (double)m[at];
                n++;
            }
    return fm - sf * sm / n;
}

/* Whether both images turn brighter in the same places: the sum of the
 * covariances of 3 x 3 x 3 voxels of detail over the sum of their magnitudes,
 * 1 for images of one contrast, about 0 where contrasts differ by tissue. */
static int agreement(clv_linear_stage *stage, int at, const clv_linear_state *state, double *share)
{
    int status = CLVOX_OK;
    const clv_linear_level *level = &stage->level[at];
    const int *size = level->fixed_grid.size;
    size_t n = clvox_grid_voxels(&level->fixed_grid);
    const int r[3] = {size[0] > 2, size[1] > 2, size[2] > 2};
    float *f = malloc(2 * n * sizeof *f), *m = f + n;
    double matrix[4][4], sum = 0, all = 0;
    clv_map map;
    if (!f)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    clv_linear_to_matrix(stage, state, matrix);
    clv_map_between(&level->fixed_grid, &level->moving_grid, CLV_MATRIX(matrix), 0, &map);
    CLV_TRY(clv_warp(stage->run->ctx, CLV_VOLUME(level->moving[0], level->moving_grid.size), &map, NULL,
                     CLV_LINEAR, NAN, CLV_VOLUME(stage->warped, size)));
    CLV_TRY(clv_buffer_read(stage->run->ctx, level->fixed[0], 0, f, n * sizeof *f));
    CLV_TRY(clv_buffer_read(stage->run->ctx, stage->warped, 0, m, n * sizeof *m));
    for (int z = r[2]; z < size[2] - r[2]; z++)
        for (int y = r[1]; y < size[1] - r[1]; y++)
            for (int x = r[0]; x < size[0] - r[0]; x++) {
                size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
                double c = covariance(f, m, size, r, i);
                sum += isfinite(c) ? c : 0;
                all += isfinite(c) ? fabs(c) : 0;
            }
    *share = all > 0 ? sum / all : 0;
end:
    free(f);
    return status;
}

/* Whether detail leads to a place where the images themselves are less alike than where it began: in a small mask
 * there may be too little of it. In a large one it finds what the metric does not. */
static int lost(clv_linear_stage *stage, const clv_linear_state *before, const clv_linear_state *after,
                bool *misled)
{
    int status = CLVOX_OK;
    clv_linear_state both[2] = {*before, *after};
    *misled = false;
    if (fmin(stage->run->masks.inside[0], stage->run->masks.inside[1]) >= MASKED)
        return CLVOX_OK;
    CLV_TRY(clv_linear_evaluate(
        stage, &(clv_linear_measure){1, CLVOX_METRIC_NCC, 8, stage->run->options->linear}, both, 2, false));
    *misled = !(both[1].value >= both[0].value);
end:
    return status;
}

int clv_linear_refine_detail(clv_linear_stage *stage, const clv_linear_state *start, clv_linear_state *states,
                             int count, bool *done)
{
    int status = CLVOX_OK, around, level = CLV_LINEAR_DETAIL + 2;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    double mm = stage->level[level].mm, share = 0;
    bool misled;
    clv_linear_state *trials = malloc(sizeof *trials * (size_t)(count * AROUND));
    *done = false;
    stage->run->contrasts.differ = true;
    if (!trials)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    CLV_TRY(clv_linear_localise(stage, 2, WIDE, &states[0]));
    around = list_around(stage, stiff, states, count, trials);
    CLV_TRY(clv_linear_evaluate(stage, &(clv_linear_measure){level, CLVOX_METRIC_NCC, 8, stiff}, trials,
                                around, true));
    clv_linear_weigh(trials, around);
    CLV_TRY(clv_linear_sort(stage, trials, &around, 0));
    around = around < IMPROVED ? around : IMPROVED;
    CLV_TRY(clv_linear_optimise(stage, &(clv_linear_climb){{level, CLVOX_METRIC_NCC, 8, stiff}, 5, .05 * mm},
                                trials, around));
    CLV_TRY(clv_linear_sort(stage, trials, &around, .5 * mm));
    around = around < LAST ? around : LAST;
    CLV_TRY(clv_linear_optimise(stage, &(clv_linear_climb){{level, CLVOX_METRIC_NCC, 8, kind}, 12, .02 * mm},
                                trials, around));
    CLV_TRY(clv_linear_sort(stage, trials, &around, .25 * mm));
    if (around == 0 || !(trials[0].value > SAME_CONTRAST))
        goto end;
    CLV_TRY(agreement(stage, level, &trials[0], &share));
    stage->run->contrasts.differ = !(share > SAME_WINDOWS);
    if (!(share > SAME_SIGN))
        goto end;
    CLV_TRY(finish(stage, kind, trials, around));
    CLV_TRY(clv_linear_settle(stage, CLV_LINEAR_DETAIL + 1, CLVOX_METRIC_NCC, start, &trials[0]));
    CLV_TRY(lost(stage, &states[0], &trials[0], &misled));
    if (misled)
        goto end;
    states[0] = trials[0];
    *done = true;
end:
    free(trials);
    return status;
}
