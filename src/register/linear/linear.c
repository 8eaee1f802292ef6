/* SPDX-License-Identifier: Apache-2.0 */
/* The linear part of a registration: starts from headers, centres and a search
 * over rotations, the best of them improved from coarse to fine. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

enum { ROOM = 8 };

static void grid_center(const clvox_grid *grid, double center[3])
{
    const double middle[3] = {.5 * (grid->size[0] - 1), .5 * (grid->size[1] - 1), .5 * (grid->size[2] - 1)};
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), middle, center);
}

/* Whether the centre of either grid lies inside the other one: headers of
 * scanners and atlases agree that far, or not at all. */
static bool headers_overlap(const clvox_grid *a, const clvox_grid *b)
{
    for (int pass = 0; pass < 2; pass++) {
        double center[3], inverse[4][4], at[3];
        const clvox_grid *other = pass ? a : b;
        grid_center(pass ? b : a, center);
        if (clv_matrix_invert(CLV_MATRIX(other->to_ras), inverse) < 0)
            return false;
        clv_matrix_apply(CLV_MATRIX(inverse), center, at);
        for (int i = 0; i < 3; i++)
            if (at[i] < -.5 || at[i] > other->size[i] - .5)
                return false;
    }
    return true;
}

static void shifted(const double from[3], const double to[3], double matrix[4][4])
{
    clv_matrix_identity(matrix);
    for (int i = 0; i < 3; i++)
        matrix[i][3] = to[i] - from[i];
}

/* The starts that are no search: the headers, the grids' centres, the images'
 * centres. */
static int given_starts(const clv_linear_stage *stage, const clvox_register_options *o, bool overlap,
                        clv_linear_state *given)
{
    const clv_registration *run = stage->run;
    double matrix[4][4], a[3], b[3];
    int count = 0;
    if (o->init == CLVOX_INIT_AUTO && overlap)
        clv_linear_from_matrix(stage, CLV_MATRIX(run->matrix), &given[count++]);
    shifted(stage->fixed.center, stage->moving.center, matrix);
    clv_linear_from_matrix(stage, CLV_MATRIX(matrix), &given[count++]);
    if (o->init == CLVOX_INIT_AUTO) {
        grid_center(&run->fixed_grid, a);
        grid_center(&run->moving_grid, b);
        shifted(a, b, matrix);
        clv_linear_from_matrix(stage, CLV_MATRIX(matrix), &given[count++]);
    }
    return count;
}

/* Puts first what agrees best in small windows: outlines of heads that are cut
 * off differently agree in wrong places too. */
static int rank(clv_linear_stage *stage, clv_linear_state *states, int *count)
{
    int status = CLVOX_OK;
    clv_linear_state *trials = malloc(sizeof *trials * (size_t)*count);
    if (!trials)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    memcpy(trials, states, sizeof *trials * (size_t)*count);
    const clv_linear_measure measure = {1, CLVOX_METRIC_LNCC, stage->bins, stage->run->options->linear};
    CLV_TRY(clv_linear_evaluate(stage, &measure, trials, *count, true));
    for (int i = 0; i < *count; i++)
        states[i].value = trials[i].value;
    CLV_TRY(clv_linear_sort(stage, states, count, 0));
end:
    free(trials);
    return status;
}

int clv_linear_settle(clv_linear_stage *stage, int level, clvox_metric metric, const clv_linear_state *start,
                  clv_linear_state *state)
{
    clv_linear_state both[2] = {*start, *state};
    double rounding = clv_metric_find(metric)->rounding;
    const clv_linear_measure measure = {level, metric, stage->bins, stage->run->options->linear};
    int status = clv_linear_evaluate(stage, &measure, both, 2, false);
    if (status >= 0)
        *state = both[both[0].value < both[1].value - rounding * fabs(both[1].value)];
    return status;
}

/* From coarse to fine: all, then the best few, then the best one. */
static int refine(clv_linear_stage *stage, const clv_linear_state *start, clv_linear_state *states, int count)
{
    int status = CLVOX_OK;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    clvox_metric metric = stage->metric, coarse = clv_metric_find(metric)->coarse;
    const clv_linear_level *level = stage->level;
    bool done = false;
    stage->detailed = false;
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{2, coarse, stage->bins, stiff}, 8, .05 * level[2].mm}, states, count));
    CLV_TRY(clv_linear_sort(stage, states, &count, level[2].mm));
    count = count < 5 ? count : 5;
    if (clv_metric_find(metric)->detail && count > 0) {
        CLV_TRY(clv_linear_refine_detail(stage, start, states, count, &done));
        stage->detailed = done;
        if (done)
            goto end;
    }
    if (kind != stiff)
        CLV_TRY(clv_linear_optimise(
            stage, &(clv_linear_climb){{2, coarse, stage->bins, kind}, 8, .05 * level[2].mm}, states, count));
    CLV_TRY(clv_linear_sort(stage, states, &count, .25 * level[2].mm));
    if (count > 1)
        CLV_TRY(rank(stage, states, &count));
    count = count < 2 ? count : 2;
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{1, metric, stage->bins, kind}, 3, .02 * level[1].mm}, states, count));
    if (count > 1)
        CLV_TRY(rank(stage, states, &count));
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{1, metric, stage->bins, kind}, 12, .01 * level[1].mm}, states, 1));
    CLV_TRY(clv_linear_optimise(
        stage, &(clv_linear_climb){{0, metric, stage->bins, kind}, 12, .003 * level[0].mm}, states, 1));
    CLV_TRY(clv_linear_settle(stage, 0, metric, start, &states[0]));
end:
    return status;
}

/* By mutual information, which is never negative, at the finest level: ratios of its values say something. */
static int look_at(clv_linear_stage *stage, clv_linear_state *states, int count)
{
    const clv_linear_measure measure = {0, CLVOX_METRIC_MI, stage->bins, stage->run->options->linear};
    int status = clv_linear_evaluate(stage, &measure, states, count, false);
    clv_linear_weigh(states, count);
    return status;
}

/* Follows other starts to the finest level. Where the best of them is clearly better there it takes the
 * place of state. even: what is stretched more than heads differ counts less. */
static int follow(clv_linear_stage *stage, clv_linear_state *others, int count, bool even,
                  clv_linear_state *state, bool *taken)
{
    clv_linear_state both[2] = {*state, *state};
    int status = CLVOX_OK;
    const bool differ = stage->run->contrasts.differ, detailed = stage->detailed;
    *taken = false;
    CLV_TRY(refine(stage, state, others, count));
    both[1] = others[0];
    CLV_TRY(look_at(stage, both, 2));
    if (even)
        clv_linear_weigh_stretch(both, 2);
    *taken = both[1].value > FINEST_MARGIN * both[0].value;
    if (*taken) {
        *state = both[1];
    } else {
        stage->run->contrasts.differ = differ;
        stage->detailed = detailed;
    }
end:
    return status;
}

enum { TURNS = 3 };

/* Follows rotations far from the header that are better at the coarsest level to the finest; those no longer better
 * there are reported. */
static int turn(clv_linear_stage *stage, clv_linear_state *state)
{
    clv_linear_state turned[TURNS];
    int status = CLVOX_OK, count;
    bool taken;
    CLV_TRY(clv_linear_turned(stage, state, turned, TURNS, &count));
    if (count == 0)
        return CLVOX_OK;
    CLV_TRY(follow(stage, turned, count, false, state, &taken));
    if (!taken)
        stage->run->suspicions |= CLVOX_SUSPECT_TURNED;
end:
    return status;
}

/* An outline alone is fitted in many orientations, by heads that are wide for their length above all:
 * others within it are followed where they are clearly better at the coarsest level, or nearly as good
 * where state stretches one axis more than heads differ. Not where detail
 * agrees and no axis is stretched so. */
static int roll(clv_linear_stage *stage, clv_linear_state *state)
{
    clv_linear_state rolled[TURNS];
    int status = CLVOX_OK, count;
    bool taken;
    const bool even = clv_linear_unevenness(state) <= UNEVEN;
    if (even && stage->detailed)
        return CLVOX_OK;
    CLV_TRY(clv_linear_rolled(stage, state, even ? ROLL_MARGIN : UNEVEN_MARGIN, rolled, TURNS, &count));
    if (count > 0)
        CLV_TRY(follow(stage, rolled, count, true, state, &taken));
end:
    return status;
}

/* Whether starts are looked for. */
static bool searches(const clvox_register_options *o)
{
    return o->linear != CLVOX_LINEAR_NONE && (o->init == CLVOX_INIT_MOMENTS || o->init == CLVOX_INIT_AUTO);
}

/* From run->matrix on. value: of look_at; NULL: not wanted. */
static int find(clv_registration *run, double *value)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    clv_linear_stage stage = {.run = run, .metric = o->linear_metric, .bins = o->linear_bins};
    clv_linear_state start, states[ROOM], given[4];
    int count = 0;
    bool mirrored = false;
    if (o->init == CLVOX_INIT_CENTERS) {
        double a[3], b[3];
        grid_center(&run->fixed_grid, a);
        grid_center(&run->moving_grid, b);
        shifted(a, b, run->matrix);
    }
    bool overlap = headers_overlap(&run->fixed_grid, &run->moving_grid);
    bool moments = o->init == CLVOX_INIT_MOMENTS || (o->init == CLVOX_INIT_AUTO && !overlap);
    if (o->linear == CLVOX_LINEAR_NONE && !moments)
        return CLVOX_OK;
    CLV_TRY(clv_linear_levels_make(&stage));
    if (stage.flat) {
        if (moments)
            status =
                clvox_fail(CLVOX_ERROR_DATA, "an image is constant: there is nothing to align it by; use "
                                             "--init header");
        goto end;
    }
    if (o->linear == CLVOX_LINEAR_NONE) {
        shifted(stage.fixed.center, stage.moving.center, run->matrix);
        goto end;
    }
    clv_linear_from_matrix(&stage, CLV_MATRIX(run->matrix), &start);
    if (searches(o)) {
        int starts = given_starts(&stage, o, overlap, given);
        CLV_TRY(clv_linear_search(&stage, given, starts, states, ROOM, &count));
    } else {
        states[0] = start;
        count = 1;
    }
    if (count > 0)
        CLV_TRY(refine(&stage, &start, states, count));
    if (count > 0 && isfinite(states[0].value)) {
        if (searches(o)) {
            CLV_TRY(turn(&stage, &states[0]));
            CLV_TRY(roll(&stage, &states[0]));
        }
        if (o->robust)
            CLV_TRY(clv_linear_refine_robust(&stage, &states[0]));
        if (o->sides)
            CLV_TRY(clv_linear_mirrored(&stage, &states[0], &mirrored));
        if (mirrored)
            run->suspicions |= CLVOX_SUSPECT_MIRRORED;
        clv_linear_to_matrix(&stage, &states[0], run->matrix);
    }
    if (value && count > 0) {
        CLV_TRY(look_at(&stage, states, 1));
        *value = states[0].value;
    }
end:
    clv_linear_levels_free(&stage);
    return status;
}

/* By what lengths of the moving image have to be multiplied to be like those of the fixed one: a power of ten where
 * that is near; 1 unless they differ by more than any two scans of heads. */
static double units_apart(const clv_registration *run)
{
    double ratio = cbrt(fabs(clv_matrix_determinant(CLV_MATRIX(run->fixed_grid.to_ras)) *
                             (double)clvox_grid_voxels(&run->fixed_grid) /
                             clv_matrix_determinant(CLV_MATRIX(run->moving_grid.to_ras)) /
                             (double)clvox_grid_voxels(&run->moving_grid)));
    double power = log10(ratio);
    if (ratio <= UNITS && ratio >= 1 / UNITS)
        return 1;
    return fabs(power - round(power)) < NEAR_POWER ? pow(10, round(power)) : ratio;
}

static void scale_rows(double matrix[4][4], double factor)
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            matrix[i][j] *= factor;
}

/* All that finding changes in a run. */
typedef struct found {
    double matrix[4][4];
    unsigned suspicions;
    bool contrasts_differ;
} found;

static void keep(const clv_registration *run, found *f)
{
    clv_matrix_copy(CLV_MATRIX(run->matrix), f->matrix);
    f->suspicions = run->suspicions;
    f->contrasts_differ = run->contrasts.differ;
}

static void restore(const found *f, clv_registration *run)
{
    clv_matrix_copy(CLV_MATRIX(f->matrix), run->matrix);
    run->suspicions = f->suspicions;
    run->contrasts.differ = f->contrasts_differ;
}

/* The headers are also taken to be in other units: of a grid that is far smaller than the other one it is
 * asked whether it shows a part, or the whole in centimetres, say. */
int clv_register_linear(clv_registration *run)
{
    int status = CLVOX_OK;
    double units = units_apart(run), value = -INFINITY, other = -INFINITY;
    const clvox_grid grid = run->moving_grid;
    found start, as_is;
    if (units == 1 || !searches(run->options) || run->options->linear < CLVOX_LINEAR_SIMILARITY)
        return find(run, NULL);
    keep(run, &start);
    CLV_TRY(find(run, &value));
    keep(run, &as_is);
    restore(&start, run);
    scale_rows(run->moving_grid.to_ras, units);
    CLV_TRY(find(run, &other));
    if (other > UNITS_MARGIN * value)
        scale_rows(run->matrix, 1 / units);
    else
        restore(&as_is, run);
end:
    run->moving_grid = grid;
    return status;
}
