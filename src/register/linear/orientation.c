/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a header is turned: starts are looked for within 80 degrees of it, as
 * headers are mostly right, and one that is off by 90 or 180 degrees ends in a
 * wrong place that looks as good as any. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "register/linear/linear.h"

/* The rotations that take a cube onto itself, but for none at all; of them so many are improved. */
enum { ROTATIONS = 23, IMPROVED = 6, STEPS = 6 };
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
        if (clv_matrix3_determinant(CLV_MATRIX3(s.linear)) < 0)
            continue;
        memcpy(s.shift, stage->moving.center, sizeof s.shift);
        states[count++] = s;
    }
    return count;
}

/* Small overlaps agree by chance. */
static void doubt(linear_state *states, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(states[i].value))
            states[i].value *= fmin(1, states[i].overlap / .6);
}

int linear_misoriented(linear_stage *stage, const linear_state *state, bool *better)
{
    int status = CLVOX_OK, level = LINEAR_LEVELS - 1, count;
    clvox_metric metric = clv_metric_find(stage->metric)->search;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    linear_state states[ROTATIONS], found = *state;
    const linear_climb climb = {{level, metric, LINEAR_SEARCH_BINS, stiff}, STEPS,
                                .1 * stage->level[level].mm};
    *better = false;
    if (stage->thin || linear_parameters(kind) < linear_parameters(CLVOX_LINEAR_RIGID))
        return CLVOX_OK;
    count = list(stage, states);
    CLV_TRY(linear_evaluate(stage, &climb.measure, states, count, false));
    doubt(states, count);
    CLV_TRY(linear_sort(stage, states, &count, 0));
    count = count < IMPROVED ? count : IMPROVED;
    CLV_TRY(linear_optimise(stage, &climb, states, count));
    doubt(states, count);
    CLV_TRY(linear_optimise(stage, &climb, &found, 1));
    doubt(&found, 1);
    for (int i = 0; i < count && isfinite(found.value); i++)
        *better = *better || states[i].value > MARGIN * found.value;
end:
    return status;
}
