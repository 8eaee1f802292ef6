/* SPDX-License-Identifier: Apache-2.0 */
/* Damped Gauss-Newton ascent of many states in step. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "register/linear/linear.h"

/* Solves (normal + damping diag(normal)) x = b by Cholesky's factors. What the
 * images do not determine (an axis of one voxel) has a diagonal of about 0 and
 * stays. */
static bool solve(int n, double normal[12][12], double damping, const double b[12], double x[12])
{
    double l[12][12], largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, normal[i][i]);
    if (!(largest > 0))
        return false;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j <= i; j++) {
            sum = normal[i][j] + (i == j ? damping * normal[i][i] + 1e-5 * largest : 0);
            for (int k = 0; k < j; k++)
                sum -= l[i][k] * l[j][k];
            if (i == j) {
                if (!(sum > 0))
                    return false;
                l[i][i] = sqrt(sum);
            } else {
                l[i][j] = sum / l[j][j];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        x[i] = b[i];
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
    return true;
}

enum { PAIRS = 6 };

/* Values closer than this share of themselves are equal, as they are sums in
 * single precision: of such states the one with the smaller gradient is better. */
static const double ROUNDING = 1e-6;

/* One state's way: how it is damped, how much flatter the metric is than its
 * normal matrix says, and for how many steps it has hardly moved. */
typedef struct walk {
    double damping, flatter, delta[12];
    double step[PAIRS][12], change[PAIRS][12]; /* the last steps, and how the gradient fell along them */
    int pairs, still;
    bool done;
} walk;

static double longest(const double *delta, int n)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(delta[i]));
    return most;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Newton's step by L-BFGS around the damped normal matrix: what the last steps
 * have shown of the curvature corrects it (Nocedal and Wright, 7.2). */
static bool newton(int n, clv_linear_state *state, walk *w)
{
    double q[12], a[PAIRS];
    memcpy(q, state->gradient, sizeof q);
    for (int k = w->pairs - 1; k >= 0; k--) {
        a[k] = dot(w->step[k], q, n) / dot(w->step[k], w->change[k], n);
        for (int i = 0; i < n; i++)
            q[i] -= a[k] * w->change[k][i];
    }
    if (!solve(n, state->normal, w->damping, q, w->delta))
        return false;
    for (int i = 0; i < n; i++)
        w->delta[i] *= w->flatter;
    for (int k = 0; k < w->pairs; k++) {
        double by = a[k] - dot(w->change[k], w->delta, n) / dot(w->step[k], w->change[k], n);
        for (int i = 0; i < n; i++)
            w->delta[i] += by * w->step[k][i];
    }
    return dot(w->delta, state->gradient, n) > 0;
}

static void remember(int n, const clv_linear_state *before, const clv_linear_state *after, walk *w)
{
    double change[12];
    for (int i = 0; i < n; i++)
        change[i] = before->gradient[i] - after->gradient[i];
    double along = dot(change, w->delta, n);
    if (!(along > 1e-3 * dot(before->gradient, w->delta, n)))
        return;
    if (w->pairs == PAIRS) {
        memmove(w->step[0], w->step[1], (PAIRS - 1) * sizeof *w->step);
        memmove(w->change[0], w->change[1], (PAIRS - 1) * sizeof *w->change);
        w->pairs--;
    }
    memcpy(w->step[w->pairs], w->delta, sizeof change);
    memcpy(w->change[w->pairs++], change, sizeof change);
}

/* The next trial of a walk; false where there is none. */
static bool propose(const clv_linear_stage *stage, int level, clvox_linear kind, clv_linear_state *state,
                    walk *w, clv_linear_state *trial)
{
    int n = clv_linear_parameters(kind);
    if (!isfinite(state->value))
        return false;
    if (!newton(n, state, w)) {
        w->pairs = 0;
        if (!newton(n, state, w))
            return false;
    }
    clv_linear_keep_in_plane(stage, kind, w->delta);
    double most = longest(w->delta, n), limit = 1.5 * stage->level[level].mm;
    double share = most > limit ? limit / most : 1;
    for (int i = 0; i < n; i++)
        w->delta[i] *= share;
    clv_linear_move(stage, kind, state, w->delta, trial);
    return true;
}

/* From the change of the gradient along the step: by how much the normal
 * matrix overstates the curvature. */
static double flatter(int n, const clv_linear_state *before, const clv_linear_state *after,
                      const double delta[12])
{
    double seen = 0, said = 0;
    for (int i = 0; i < n; i++) {
        seen += (before->gradient[i] - after->gradient[i]) * delta[i];
        for (int j = 0; j < n; j++)
            said += delta[i] * before->normal[i][j] * delta[j];
    }
    return seen > 0 ? fmin(fmax(said / seen, .3), 4) : 1;
}

int clv_linear_optimise(clv_linear_stage *stage, const clv_linear_climb *climb, clv_linear_state *states,
                        int count)
{
    const clvox_linear kind = climb->measure.kind;
    int status = CLVOX_OK, level = climb->measure.level, n = clv_linear_parameters(kind);
    clv_linear_state *trials = malloc(sizeof *trials * (size_t)count);
    walk *walks = calloc((size_t)count, sizeof *walks);
    int *index = malloc(sizeof *index * (size_t)count);
    if (!trials || !walks || !index) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
        goto end;
    }
    CLV_TRY(clv_linear_evaluate(stage, &climb->measure, states, count, true));
    for (int i = 0; i < count; i++)
        walks[i] = (walk){.damping = .02, .flatter = 1};
    for (int k = 0; k < climb->iterations; k++) {
        int active = 0;
        for (int i = 0; i < count; i++) {
            walks[i].done =
                walks[i].done || !propose(stage, level, kind, &states[i], &walks[i], &trials[active]);
            if (!walks[i].done)
                index[active++] = i;
        }
        if (active == 0)
            break;
        CLV_TRY(clv_linear_evaluate(stage, &climb->measure, trials, active, true));
        for (int t = 0; t < active; t++) {
            int i = index[t];
            walk *w = &walks[i];
            double moved = longest(w->delta, n);
            /* A metric that rises because the images part is no gain. */
            bool parts = trials[t].overlap < .4 && trials[t].overlap < states[i].overlap;
            double gain = trials[t].value - states[i].value;
            bool level_ground = fabs(gain) < ROUNDING * fabs(states[i].value) &&
                                dot(trials[t].gradient, trials[t].gradient, n) <
                                    dot(states[i].gradient, states[i].gradient, n);
            if ((gain > 0 || level_ground) && !parts) {
                w->flatter = .5 * w->flatter + .5 * flatter(n, &states[i], &trials[t], w->delta);
                w->damping = fmax(w->damping / 5, 1e-4);
                /* The derivatives of histograms and windows jump too much to learn from. */
                if (clv_metric_find(climb->measure.metric)->smooth)
                    remember(n, &states[i], &trials[t], w);
                states[i] = trials[t];
            } else {
                w->damping = fmax(w->damping * 5, .05);
                w->flatter = fmin(w->flatter, 1) * .7;
                w->pairs = 0;
            }
            w->still = moved < climb->tolerance ? w->still + 1 : 0;
            w->done = w->still > 1;
        }
    }
end:
    free(trials);
    free(walks);
    free(index);
    return status;
}

double clv_linear_angle(const double linear[3][3])
{
    double m[4][4], r[3][3];
    clv_matrix_identity(m);
    for (int i = 0; i < 3; i++)
        memcpy(m[i], linear[i], sizeof linear[i]);
    if (clv_matrix_rotation(CLV_MATRIX(m), r) < 0)
        return 0;
    return acos(fmax(-1, fmin(1, (r[0][0] + r[1][1] + r[2][2] - 1) / 2)));
}

double clv_linear_distance(const clv_linear_stage *stage, const clv_linear_state *a,
                           const clv_linear_state *b)
{
    double rotation = 0, shift = 0;
    for (int i = 0; i < 3; i++) {
        shift += (a->shift[i] - b->shift[i]) * (a->shift[i] - b->shift[i]);
        for (int j = 0; j < 3; j++) {
            double d = stage->radius * (a->linear[i][j] - b->linear[i][j]);
            rotation += d * d;
        }
    }
    return sqrt(shift) + sqrt(rotation / 2);
}

typedef struct place {
    double value;
    int index;
} place;

/* Falling values; of equals the earlier first, NaN last. */
static int compare_places(const void *left, const void *right)
{
    const place *a = left, *b = right;
    double x = isnan(a->value) ? -INFINITY : a->value, y = isnan(b->value) ? -INFINITY : b->value;
    return x != y ? (x < y) - (x > y) : (a->index > b->index) - (a->index < b->index);
}

int clv_linear_sort(const clv_linear_stage *stage, clv_linear_state *states, int *count, double mm)
{
    int status = CLVOX_OK, kept = 0;
    place *places = malloc(sizeof *places * (size_t)*count);
    clv_linear_state *sorted = malloc(sizeof *sorted * (size_t)*count);
    if (*count > 0 && (!places || !sorted)) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
        goto end;
    }
    for (int i = 0; i < *count; i++)
        places[i] = (place){states[i].value, i};
    qsort(places, (size_t)*count, sizeof *places, compare_places);
    for (int i = 0; i < *count; i++) {
        const clv_linear_state *here = &states[places[i].index];
        bool near = !isfinite(here->value);
        for (int j = 0; j < kept && !near && mm > 0; j++)
            near = clv_linear_distance(stage, here, &sorted[j]) < mm;
        if (!near)
            sorted[kept++] = *here;
    }
    memcpy(states, sorted, sizeof *sorted * (size_t)kept);
    *count = kept;
end:
    free(places);
    free(sorted);
    return status;
}
