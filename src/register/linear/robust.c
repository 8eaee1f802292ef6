/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the way between two images of one contrast that differ in places: iteratively reweighted
 * least squares with Tukey's biweight, which saturates where the residuals of most edges end (Reuter et
 * al., Highly accurate inverse consistent registration: a robust approach, NeuroImage 53, 2010), of
 * locally normalised images, so that neither coils nor scanners make residuals. */
#include <math.h>

#include "base/matrix.h"
#include "op/image/histogram.h"
#include "op/image/pointwise.h"
#include "op/image/resample.h"
#include "op/image/sobel.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

/* Bins of the absolute residuals from 0 to 1. */
enum { BINS = 1024 };

/* The standard deviation of normal residuals by their median, and Tukey's constant, in these: 80 percent
 * of the efficiency of least squares where nothing differs. */
static const double BY_MEDIAN = 1.4826, TUKEY = 3.14;

/* Half a bin at least, which interpolation alone leaves. */
static double median_of(const int counts[BINS])
{
    double all = 0, below = 0;
    for (int i = 0; i < BINS; i++)
        all += counts[i];
    for (int i = 0; i < BINS; i++) {
        if (counts[i] > 0 && below + counts[i] >= .5 * all)
            return fmax((i + (.5 * all - below) / counts[i]) / BINS, .5 / BINS);
        below += counts[i];
    }
    return 1; /* no edges: all counts alike */
}

/* What samples of one image are worth where state makes them look. The residuals at edges tell how large
 * usual ones are: elsewhere they say nothing of the map. */
static int weigh(clv_linear_stage *stage, const clv_linear_level *level, const clv_linear_state *state,
                 bool back, clv_buffer *weights)
{
    int status = CLVOX_OK, counts[BINS];
    clvox_context *ctx = stage->run->ctx;
    const clvox_grid *grid = back ? &level->moving_grid : &level->fixed_grid;
    const clvox_grid *other = back ? &level->fixed_grid : &level->moving_grid;
    const clv_buffer *own = back ? level->moving[0] : level->fixed[0];
    const clv_buffer *seen = back ? level->fixed[0] : level->moving[0];
    clv_buffer *apart = stage->warped, *edges = stage->derivatives;
    const clv_image *to = CLV_VOLUME(apart, grid->size);
    double matrix[4][4];
    clv_map map;
    clv_linear_to_matrix(stage, state, matrix);
    if (back)
        CLV_TRY(clv_matrix_invert(CLV_MATRIX(matrix), matrix));
    clv_map_between(grid, other, CLV_MATRIX(matrix), 0, &map);
    CLV_TRY(clv_warp(ctx, CLV_VOLUME(seen, other->size), &map, NULL, CLV_LINEAR, NAN, to));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, to, apart, own, NULL,
                          (float[4]){1, (float)-state->gain[back], 0, (float)-state->offset[back]}));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_ABS, to, apart, NULL, NULL, (float[4]){0}));
    CLV_TRY(clv_sobel(ctx, CLV_VOLUME(own, grid->size), edges));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(edges, grid->size), edges, NULL, NULL,
                          (float[4]){(float)(EDGE / level->mm), 1, 0, 0}));
    CLV_TRY(clv_histogram(ctx, to, edges, &(clv_bins){0, 1, BINS}, stage->counts));
    CLV_TRY(clv_buffer_read(ctx, stage->counts, 0, counts, sizeof counts));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_TUKEY, CLV_VOLUME(weights, grid->size), apart, NULL, NULL,
                          (float[4]){(float)(TUKEY * BY_MEDIAN * median_of(counts))}));
end:
    return status;
}

/* Weights and map in turn, by the detail of level k. */
static int climb(clv_linear_stage *stage, int k, clv_linear_state *state)
{
    enum { ROUNDS = 40, STEPS = 2 };
    static const double NEAR = 5e-4; /* voxels: the end */
    int status = CLVOX_OK;
    clv_linear_level *level = &stage->level[CLV_LINEAR_DETAIL + k];
    clv_linear_state trial = *state, before;
    const clv_linear_climb climb = {
        {CLV_LINEAR_DETAIL + k, CLVOX_METRIC_NCC, 8, stage->run->options->linear}, STEPS, NEAR * level->mm};
    CLV_TRY(clv_linear_localise(stage, k, NARROW, state));
    CLV_TRY(clv_linear_evaluate(stage, &climb.measure, &trial, 1, false));
    if (k && !(trial.value > SAME_CONTRAST)) { /* of finer detail noise hides more */
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "the images correlate too little (r^2 %.2f) to tell by their values what "
                            "differs: leave the robust linear part out, or give images of one contrast",
                            trial.value);
        goto end;
    }
    for (int round = 0; round < ROUNDS; round++) {
        before = trial;
        CLV_TRY(weigh(stage, level, &trial, false, stage->mean));
        CLV_TRY(weigh(stage, level, &trial, true, stage->square));
        level->weights[0] = stage->mean;
        level->weights[1] = stage->square;
        CLV_TRY(clv_linear_optimise(stage, &climb, &trial, 1));
        if (!(isfinite(trial.value) && trial.overlap > ENOUGH * state->overlap))
            goto end;
        if (clv_linear_distance(stage, &before, &trial) < NEAR * level->mm)
            break;
    }
    *state = trial;
end:
    level->weights[0] = level->weights[1] = NULL;
    return status;
}

/* Coarse detail leads there; what differs is told from its surroundings by fine detail alone. */
int clv_linear_refine_robust(clv_linear_stage *stage, clv_linear_state *state)
{
    int status = climb(stage, 1, state);
    return status < 0 ? status : climb(stage, 0, state);
}
