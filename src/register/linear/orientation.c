/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that are turned: starts are looked for within 80 degrees of the header, as headers are mostly
 * right, and one that is off by more ends in a wrong place that looks as good as any. Further rotations
 * are tried once it is known how good that place is, and rotations within the outline where that place
 * stretches one axis more than heads differ. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/eigen.h"
#include "base/matrix.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

/* The rotations that take a cube onto itself, but for none at all, as headers are off by those; and others beyond
 * an angle, evenly spread (as in search.c). Of them so many are improved. */
enum { CUBE = 23, SPREAD = CLV_LINEAR_TURNS - CUBE, IMPROVED = 10, STEPS = 6 };

/* Those of a cube, and those of the others that turn by more than least; room for one more than
 * CLV_LINEAR_TURNS. */
static int rotations(double least, double (*list)[3][3])
{
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int count = 0;
    for (int k = 1; k < 48; k++) {
        memset(list[count], 0, sizeof *list);
        for (int i = 0; i < 3; i++)
            list[count][i][orders[k / 8][i]] = k >> i & 1 ? -1 : 1;
        count += clv_matrix3_determinant(CLV_MATRIX3(list[count])) > 0;
    }
    for (int i = 0; i < SPREAD; i++)
        count += clv_linear_rotation(i, SPREAD, list[count]) > least;
    return count;
}

/* Lists turns of the header. */
static int list_turned(const clv_linear_stage *stage, clv_linear_state *states)
{
    double turns[CLV_LINEAR_TURNS + 1][3][3];
    const int count = rotations(TURNED, turns);
    for (int i = 0; i < count; i++) {
        memset(&states[i], 0, sizeof states[i]);
        memcpy(states[i].linear, turns[i], sizeof *turns);
        memcpy(states[i].shift, stage->moving.center, sizeof states[i].shift);
    }
    return count;
}

double clv_linear_unevenness(const clv_linear_state *state)
{
    double square[3][3], values[3], vectors[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            square[i][j] = 0;
            for (int k = 0; k < 3; k++)
                square[i][j] += state->linear[k][i] * state->linear[k][j];
        }
    clv_eigen_symmetric(CLV_MATRIX3(square), values, vectors);
    return values[0] > 0 ? sqrt(values[2] / values[0]) : INFINITY;
}

void clv_linear_weigh_stretch(clv_linear_state *states, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(states[i].value))
            states[i].value *=
                fmax(0, 1 - STRETCH_LOSS * fmax(0, log(clv_linear_unevenness(&states[i]) / EVEN)));
}

int clv_linear_list_rolled(const double covariance[3][3], const clv_linear_state *state,
                           clv_linear_state *rolled)
{
    double turns[CLV_LINEAR_TURNS + 1][3][3], axes[3][3], values[3], root[3][3], back[3][3];
    int count = rotations(ROLLED, turns), kept = 0;
    clv_eigen_symmetric(covariance, values, axes);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            root[i][j] = axes[i][j] * sqrt(fmax(values[j], 1e-6 * values[2]));
    if (clv_matrix3_invert(CLV_MATRIX3(root), back) < 0)
        count = 0;
    for (int i = 0; i < count; i++) {
        clv_linear_state *s = &rolled[kept];
        memset(s, 0, sizeof *s);
        clv_matrix3_multiply(CLV_MATRIX3(state->linear), CLV_MATRIX3(root), s->linear);
        clv_matrix3_multiply(CLV_MATRIX3(s->linear), CLV_MATRIX3(turns[i]), s->linear);
        clv_matrix3_multiply(CLV_MATRIX3(s->linear), CLV_MATRIX3(back), s->linear);
        memcpy(s->shift, state->shift, sizeof s->shift);
        kept += clv_linear_unevenness(s) < MOST_UNEVEN;
    }
    return kept;
}

/* The best few of the starts and state itself, improved at the coarsest level. */
static int improve(clv_linear_stage *stage, const clv_linear_climb *climb, clv_linear_state *starts,
                   int *count, clv_linear_state *state)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_linear_evaluate(stage, &climb->measure, starts, *count, false));
    clv_linear_weigh(starts, *count);
    CLV_TRY(clv_linear_sort(stage, starts, count, 0));
    *count = *count < IMPROVED ? *count : IMPROVED;
    CLV_TRY(clv_linear_optimise(stage, climb, starts, *count));
    CLV_TRY(clv_linear_optimise(stage, climb, state, 1));
    clv_linear_weigh(starts, *count);
    clv_linear_weigh(state, 1);
end:
    return status;
}

/* States in falling order that are better than the value: at most room. */
static int choose(const clv_linear_stage *stage, clv_linear_state *states, int count, double value,
                  clv_linear_state *better, int room, int *found)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_linear_sort(stage, states, &count, 1.5 * stage->level[CLV_LINEAR_LEVELS - 1].mm));
    for (int i = 0; i < count && *found < room && isfinite(value); i++)
        if (states[i].value > value)
            better[(*found)++] = states[i];
end:
    return status;
}

int clv_linear_turned(clv_linear_stage *stage, const clv_linear_state *state, clv_linear_state *better,
                      int room, int *found)
{
    int status = CLVOX_OK, level = CLV_LINEAR_LEVELS - 1, count;
    clvox_metric metric = clv_metric_find(stage->metric)->search;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    clv_linear_state *states = NULL, here = *state;
    const clv_linear_climb climb = {{level, metric, LINEAR_SEARCH_BINS, stiff}, STEPS,
                                .1 * stage->level[level].mm};
    *found = 0;
    if (stage->thin || clv_linear_parameters(kind) < clv_linear_parameters(CLVOX_LINEAR_RIGID))
        return CLVOX_OK;
    states = malloc(sizeof *states * CLV_LINEAR_TURNS);
    if (!states)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    count = list_turned(stage, states);
    CLV_TRY(improve(stage, &climb, states, &count, &here));
    CLV_TRY(choose(stage, states, count, TURN_MARGIN * here.value, better, room, found));
end:
    free(states);
    return status;
}

int clv_linear_rolled(clv_linear_stage *stage, const clv_linear_state *state, double margin,
                      clv_linear_state *better, int room, int *found)
{
    int status = CLVOX_OK, level = CLV_LINEAR_LEVELS - 1, count;
    clv_linear_state *states = NULL, here = *state;
    const clv_linear_climb climb = {{level, CLVOX_METRIC_MI, LINEAR_SEARCH_BINS, CLVOX_LINEAR_AFFINE},
                                STEPS,
                                .1 * stage->level[level].mm};
    *found = 0;
    if (stage->thin || stage->run->options->linear != CLVOX_LINEAR_AFFINE)
        return CLVOX_OK;
    states = malloc(sizeof *states * CLV_LINEAR_TURNS);
    if (!states)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    count = clv_linear_list_rolled(CLV_MATRIX3(stage->fixed.covariance), state, states);
    if (count == 0)
        goto end;
    CLV_TRY(improve(stage, &climb, states, &count, &here));
    clv_linear_weigh_stretch(states, count);
    clv_linear_weigh_stretch(&here, 1);
    CLV_TRY(choose(stage, states, count, margin * here.value, better, room, found));
end:
    free(states);
    return status;
}
