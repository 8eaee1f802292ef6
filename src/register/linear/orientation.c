/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that are turned: starts are looked for within 80 degrees of the header, as headers are mostly right, and one
 * that is off by more ends in a wrong place that looks as good as any. Further rotations are tried once it is known
 * how good that place is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "register/linear/linear.h"

/* The rotations that take a cube onto itself, but for none at all, as headers are off by those; and others beyond
 * ANGLE, evenly spread (as in search.c). Of them so many are improved. */
enum { CUBE = 23, SPREAD = 150, IMPROVED = 10, STEPS = 6 };
static const double ANGLE = 70 * M_PI / 180;
/* By how much another rotation has to be better to be believed: what the search takes off for rotations
 * beyond 60 degrees, and the symmetry of heads. */
static const double MARGIN = 1.1;

static int list(const linear_stage *stage, linear_state *states)
{
    static const int orders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
    int count = 0;
    for (int k = 1; k < 48; k++) {
        linear_state s = {.value = 0};
        for (int i = 0; i < 3; i++)
            s.linear[i][orders[k / 8][i]] = k >> i & 1 ? -1 : 1;
        if (clv_matrix3_determinant(CLV_MATRIX3(s.linear)) > 0)
            states[count++] = s;
    }
    for (int i = 0; i < SPREAD; i++) {
        linear_state s = {.value = 0};
        if (linear_rotation(i, SPREAD, s.linear) > ANGLE)
            states[count++] = s;
    }
    for (int i = 0; i < count; i++)
        memcpy(states[i].shift, stage->moving.center, sizeof states[i].shift);
    return count;
}

int linear_turned(linear_stage *stage, const linear_state *state, linear_state *better, int room, int *found)
{
    int status = CLVOX_OK, level = LINEAR_LEVELS - 1, count;
    clvox_metric metric = clv_metric_find(stage->metric)->search;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    linear_state *states = NULL, here = *state;
    const linear_climb climb = {{level, metric, LINEAR_SEARCH_BINS, stiff}, STEPS,
                                .1 * stage->level[level].mm};
    *found = 0;
    if (stage->thin || linear_parameters(kind) < linear_parameters(CLVOX_LINEAR_RIGID))
        return CLVOX_OK;
    states = malloc(sizeof *states * (CUBE + SPREAD));
    if (!states)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    count = list(stage, states);
    CLV_TRY(linear_evaluate(stage, &climb.measure, states, count, false));
    linear_weigh(states, count);
    CLV_TRY(linear_sort(stage, states, &count, 0));
    count = count < IMPROVED ? count : IMPROVED;
    CLV_TRY(linear_optimise(stage, &climb, states, count));
    linear_weigh(states, count);
    CLV_TRY(linear_sort(stage, states, &count, 1.5 * stage->level[level].mm));
    CLV_TRY(linear_optimise(stage, &climb, &here, 1));
    linear_weigh(&here, 1);
    for (int i = 0; i < count && *found < room && isfinite(here.value); i++)
        if (states[i].value > MARGIN * here.value)
            better[(*found)++] = states[i];
end:
    free(states);
    return status;
}
