/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of like contrast: what is inside of them decides, seen by the
 * correlation of locally normalised images. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "op/resample.h"
#include "pipeline/linear.h"

/* Squared correlation of detail from which contrasts count as the same. */
static const double SAME_CONTRAST = .25;
/* Agreement of detail of 8 mm from which on they do: pairs of T1 heads and
 * brains have .90 to 1.00; where contrasts were drawn at random, wrong answers
 * have at most .76. */
static const double SAME_SIGN = .85;
/* Surroundings of local normalisation, in radii of the head: 12 and 5.4 mm of 90. */
static const double WIDE = 2. / 15, NARROW = .9 / 15;
/* Around how many states others are tried: turned and shifted either way by
 * this much at the radius, shares of it; so many of all are improved. */
enum { SEEDS = 3, AROUND = 13, IMPROVED = 8, LAST = 3 };
static const double ASIDE = .2, STRETCH = .02;

static int list_around(const linear_stage *stage, clvox_linear kind, const linear_state *states, int count,
                       linear_state *trials)
{
    int made = 0, ways = linear_parameters(kind) < 6 ? 3 : 6;
    for (int i = 0; i < count; i++) {
        trials[made++] = states[i];
        if (i >= SEEDS)
            continue;
        for (int way = 0; way < 2 * ways; way++) {
            double delta[12] = {0};
            delta[way / 2] = (way & 1 ? -1 : 1) * ASIDE * stage->radius;
            linear_move(stage, kind, &states[i], delta, &trials[made++]);
        }
    }
    return made;
}

/* Small overlaps agree by chance. */
static void doubt(linear_state *states, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(states[i].value))
            states[i].value *= fmin(1, states[i].overlap / .6);
}

/* The best state by what its coarser surroundings and then its finer ones say.
 * How far the images are stretched along an axis has several answers that are
 * nearly as good: the best of those beside the first one is taken. */
static int finish(linear_stage *stage, clvox_linear kind, linear_state *states, int count)
{
    enum { STRETCHES = 6 };
    int status = CLVOX_OK, level = LINEAR_DETAIL + 1;
    double mm = stage->level[level].mm;
    linear_state trials[LAST + STRETCHES];
    memcpy(trials, states, sizeof *trials * (size_t)count);
    CLV_TRY(linear_localise(stage, 1, WIDE, &trials[0]));
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, kind, trials, count, 8, .01 * mm));
    CLV_TRY(linear_sort(stage, trials, &count, .25 * mm));
    CLV_TRY(linear_localise(stage, 1, NARROW, &trials[0]));
    for (int way = 0; kind == CLVOX_LINEAR_AFFINE && way < STRETCHES; way++) {
        double delta[12] = {0};
        delta[3 + 4 * (way / 2)] = (way & 1 ? -1 : 1) * STRETCH * stage->radius;
        linear_move(stage, kind, &trials[0], delta, &trials[count++]);
    }
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, kind, trials, count, 3, .01 * mm));
    CLV_TRY(linear_sort(stage, trials, &count, 0));
    count = count < LAST ? count : LAST;
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, kind, trials, count, 6, .01 * mm));
    CLV_TRY(linear_sort(stage, trials, &count, 0));
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, kind, trials, 1, 30, .001 * mm));
    states[0] = trials[0];
end:
    return status;
}

/* Of the voxels r around i, times their number; no number where one of them is none. */
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
static int agreement(linear_stage *stage, int at, const linear_state *state, double *share)
{
    int status = CLVOX_OK;
    const linear_level *level = &stage->level[at];
    const int *size = level->fixed_grid.size;
    size_t n = clvox_grid_voxels(&level->fixed_grid);
    const int r[3] = {size[0] > 2, size[1] > 2, size[2] > 2};
    float *f = malloc(2 * n * sizeof *f), *m = f + n;
    double matrix[4][4], sum = 0, all = 0;
    clv_map map;
    if (!f)
        return clv_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    linear_to_matrix(stage, state, matrix);
    clv_map_between(&level->fixed_grid, &level->moving_grid, CLV_MATRIX(matrix), 0, &map);
    CLV_TRY(clv_warp(stage->run->ctx, level->moving[0], level->moving_grid.size, &map, NULL, CLV_LINEAR, NAN,
                     stage->warped, size));
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

/* Kernels whose widths the images' size decides are built together. */
static int rehearse(linear_stage *stage, const linear_state *state)
{
    int status = clv_rehearsal_begin(stage->run->ctx);
    if (status < 0)
        return status;
    CLV_TRY(linear_localise(stage, 2, WIDE, state));
    CLV_TRY(linear_localise(stage, 1, WIDE, state));
    CLV_TRY(linear_localise(stage, 1, NARROW, state));
end:
    /* One that breaks off has learnt less; the stage itself says what is wrong. */
    return clv_rehearsal_end(stage->run->ctx);
}

int linear_refine_detail(linear_stage *stage, const linear_state *start, linear_state *states, int count,
                         bool *done)
{
    int status = CLVOX_OK, around, level = LINEAR_DETAIL + 2;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    double mm = stage->level[level].mm, share = 0;
    linear_state *trials = malloc(sizeof *trials * (size_t)(count * AROUND));
    *done = false;
    if (!trials)
        return clv_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    CLV_TRY(rehearse(stage, &states[0]));
    CLV_TRY(linear_localise(stage, 2, WIDE, &states[0]));
    around = list_around(stage, stiff, states, count, trials);
    CLV_TRY(linear_evaluate(stage, level, CLVOX_METRIC_NCC, 8, stiff, trials, around, true));
    doubt(trials, around);
    CLV_TRY(linear_sort(stage, trials, &around, 0));
    around = around < IMPROVED ? around : IMPROVED;
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, stiff, trials, around, 5, .05 * mm));
    CLV_TRY(linear_sort(stage, trials, &around, .5 * mm));
    around = around < LAST ? around : LAST;
    CLV_TRY(linear_optimise(stage, level, CLVOX_METRIC_NCC, 8, kind, trials, around, 12, .02 * mm));
    CLV_TRY(linear_sort(stage, trials, &around, .25 * mm));
    if (around == 0 || !(trials[0].value > SAME_CONTRAST))
        goto end;
    CLV_TRY(agreement(stage, level, &trials[0], &share));
    if (!(share > SAME_SIGN))
        goto end;
    CLV_TRY(finish(stage, kind, trials, around));
    CLV_TRY(linear_settle(stage, LINEAR_DETAIL + 1, CLVOX_METRIC_NCC, start, &trials[0]));
    states[0] = trials[0];
    *done = true;
end:
    free(trials);
    return status;
}
