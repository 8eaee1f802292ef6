/* SPDX-License-Identifier: Apache-2.0 */
/* Search for a start: many rotations, sizes and shifts at the coarsest level, the best of them improved there. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

/* About 27 degrees apart; of them those that heads need. */
enum { ROTATIONS = 1500, MOST_TRIALS = 4096, IMPROVED = 48 };
/* Samples of the coarsest level by which trials are told apart. */
static const double FEW = 5e3;

typedef struct trials {
    clv_linear_state *state;
    int count;
} trials;

static void add(trials *t, const double rotation[3][3], double scale, const double shift[3])
{
    if (t->count == MOST_TRIALS)
        return;
    clv_linear_state *s = &t->state[t->count++];
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 3; i++) {
        s->shift[i] = shift[i];
        for (int j = 0; j < 3; j++)
            s->linear[i][j] = scale * rotation[i][j];
    }
}

static void rotation_of(const double q[4], double r[3][3])
{
    const double x = q[0], y = q[1], z = q[2], w = q[3];
    const double m[3][3] = {{1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)},
                            {2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)},
                            {2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)}};
    memcpy(r, m, sizeof m);
}

double clv_linear_rotation(int i, int count, double rotation[3][3])
{
    double s = i + .5, r = sqrt(s / count), R = sqrt(1 - s / count);
    double a = 2 * M_PI * s / M_SQRT2, b = 2 * M_PI * s / 1.533751168755204288118041;
    const double q[4] = {r * sin(a), r * cos(a), R * sin(b), R * cos(b)};
    rotation_of(q, rotation);
    return 2 * acos(fmin(1, fabs(q[3])));
}

/* The rotations to try; the first is none. */
static int rotations_of(const clv_linear_stage *stage, clvox_linear kind, double (*rotations)[3][3])
{
    static const double none[4] = {0, 0, 0, 1};
    int count = 0;
    rotation_of(none, rotations[count++]);
    if (kind == CLVOX_LINEAR_TRANSLATION)
        return count;
    if (stage->thin) {
        for (int k = 1; k < 24; k++) {
            double half = k * M_PI / 24, s = sin(half), q[4] = {0, 0, 0, cos(half)};
            for (int i = 0; i < 3; i++)
                q[i] = s * stage->thin_axis[i];
            if (fmin(2 * half, 2 * M_PI - 2 * half) < SEARCH_ANGLE)
                rotation_of(q, rotations[count++]);
        }
        return count;
    }
    for (int i = 0; i < ROTATIONS; i++)
        if (clv_linear_rotation(i, ROTATIONS, rotations[count]) < SEARCH_ANGLE)
            count++;
    return count;
}

static void offset_shift(const double from[3], const clv_linear_stage *stage, int way, double by,
                         double shift[3])
{
    double delta[12] = {0};
    if (way > 0)
        delta[(way - 1) / 2] = (way & 1 ? 1 : -1) * by * stage->radius;
    clv_linear_keep_in_plane(stage, CLVOX_LINEAR_TRANSLATION, delta);
    for (int i = 0; i < 3; i++)
        shift[i] = from[i] + delta[i];
}

static void list_trials(const clv_linear_stage *stage, clvox_linear kind, trials *t)
{
    const double scales[] = {1, SMALLER, LARGER};
    double(*rotations)[3][3] = malloc(sizeof *rotations * (ROTATIONS + 1));
    if (!rotations)
        return;
    int count = rotations_of(stage, kind, rotations);
    int sizes = kind >= CLVOX_LINEAR_SIMILARITY ? 3 : 1;
    for (int i = 0; i < count; i++)
        for (int s = 0; s < sizes; s++)
            for (int way = 0; way < (s == 0 ? 7 : 1); way++) {
                double shift[3];
                offset_shift(stage->moving.center, stage, way, OFFSET, shift);
                add(t, CLV_MATRIX3(rotations[i]), scales[s], shift);
            }
    free(rotations);
}

void clv_linear_weigh(clv_linear_state *states, int count)
{
    for (int i = 0; i < count; i++)
        if (isfinite(states[i].value))
            states[i].value *= fmin(1, states[i].overlap / OVERLAPS);
}

/* Rotations far from the header have to be better to be believed. */
static void doubt(clv_linear_state *states, int count)
{
    for (int i = 0; i < count; i++) {
        double beyond = clv_linear_angle(CLV_MATRIX3(states[i].linear)) - DOUBTED;
        if (isfinite(states[i].value))
            states[i].value *= 1 - DOUBT * fmin(fmax(beyond, 0), 1);
    }
    clv_linear_weigh(states, count);
}

int clv_linear_search(clv_linear_stage *stage, const clv_linear_state *given, int given_count,
                      clv_linear_state *best, int room, int *count)
{
    int status = CLVOX_OK, level = CLV_LINEAR_LEVELS - 1;
    clvox_metric metric = clv_metric_find(stage->metric)->search;
    clvox_linear kind = stage->run->options->linear;
    clvox_linear coarse = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    const clv_linear_measure measure = {level, metric, LINEAR_SEARCH_BINS, coarse};
    trials t = {malloc(sizeof *t.state * MOST_TRIALS), 0};
    if (!t.state)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    list_trials(stage, kind, &t);
    clv_linear_sample(&stage->level[level], FEW);
    CLV_TRY(clv_linear_evaluate(stage, &measure, t.state, t.count, false));
    clv_linear_sample_all(&stage->level[level]);
    doubt(t.state, t.count);
    CLV_TRY(clv_linear_sort(stage, t.state, &t.count, 0));
    t.count = t.count < IMPROVED ? t.count : IMPROVED;
    for (int i = 0; i < given_count; i++)
        t.state[t.count++] = given[i];
    CLV_TRY(clv_linear_optimise(stage,
                            &(clv_linear_climb){measure, 6, .1 * stage->level[level].mm},
                            t.state, t.count));
    doubt(t.state, t.count);
    CLV_TRY(clv_linear_sort(stage, t.state, &t.count, 1.5 * stage->level[level].mm));
    *count = t.count < room ? t.count : room;
    memcpy(best, t.state, sizeof *best * (size_t)*count);
end:
    free(t.state);
    return status;
}
