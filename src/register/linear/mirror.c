/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that mirror: an image whose left and right are exchanged is aligned as well as any, as heads are
 * nearly symmetric. What is not symmetric tells: the moving image is mirrored and aligned again, and both are
 * compared with the fixed image window by window. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "op/image/resample.h"
#include "register/linear/linear.h"
#include "register/linear/thresholds.h"

/* Planes to mirror in, their normals about 20 degrees apart; of them so many are improved at 12 and 8 mm, and
 * the last at 4 mm, in at most so many steps. */
enum { PLANES = 48, IMPROVED = 8, LAST = 2, FIRST_STEPS = 5, STIFF_STEPS = 8, STEPS = 12, FINE_STEPS = 20 };
/* The level that is compared, of 4 mm; its images, and their sums. */
enum { LEVEL = 1, IMAGES = 3, SUMS = 10 };
/* Windows reach so many mm of the level to either side: 28 mm tell heads from their mirror images best. */
static const double REACH = 3;
/* A variance that counts as none. */
static const double NONE = 1e-3;

/* The state after a reflection in the plane through the fixed centre with this normal. */
static void reflect(const clv_linear_state *from, const double normal[3], clv_linear_state *to)
{
    *to = *from;
    for (int i = 0; i < 3; i++) {
        double along = 0;
        for (int k = 0; k < 3; k++)
            along += from->linear[i][k] * normal[k];
        for (int j = 0; j < 3; j++)
            to->linear[i][j] -= 2 * along * normal[j];
    }
}

/* Half of a sphere, evenly: a spiral by the golden angle. */
static void normal_of(int i, double normal[3])
{
    const double z = (i + .5) / PLANES, angle = i * M_PI * (3 - sqrt(5)), r = sqrt(1 - z * z);
    normal[0] = r * cos(angle);
    normal[1] = r * sin(angle);
    normal[2] = z;
}

/* A part of the way from coarse to fine. */
typedef struct stretch {
    clv_linear_climb climb;
    int kept;     /* of the states, before the climb */
    double apart; /* mm, of those that are kept */
} stretch;

/* The best map of the mirrored moving image goes to *best; its value is -INFINITY where there is none. */
static int fit(clv_linear_stage *stage, const clv_linear_state *state, clv_linear_state *best)
{
    int status = CLVOX_OK, coarsest = CLV_LINEAR_LEVELS - 1, count = PLANES;
    const clv_metric_row *metric = clv_metric_find(stage->metric);
    const clvox_linear kind = stage->run->options->linear;
    const clvox_linear stiff = kind > CLVOX_LINEAR_SIMILARITY ? CLVOX_LINEAR_SIMILARITY : kind;
    const bool detail = stage->detailed;
    const clvox_metric coarse = detail ? CLVOX_METRIC_NCC : metric->coarse,
                       fine = detail ? CLVOX_METRIC_NCC : stage->metric;
    const int bins = detail ? 8 : stage->bins, above = detail ? CLV_LINEAR_DETAIL : 0;
    const double far = stage->level[coarsest].mm, near = stage->level[LEVEL + 1].mm,
                 mm = stage->level[LEVEL].mm;
    const clv_linear_measure search = {coarsest, metric->search, LINEAR_SEARCH_BINS, stiff};
    const stretch way[] = {
        {{search, FIRST_STEPS, .1 * far}, IMPROVED, 0},
        {{{above + LEVEL + 1, coarse, bins, stiff}, STIFF_STEPS, .05 * near}, IMPROVED, far},
        {{{above + LEVEL + 1, coarse, bins, kind}, STEPS, .02 * near}, LAST, .5 * near},
        {{{above + LEVEL, fine, bins, kind}, FINE_STEPS, .02 * mm}, 1, .25 * near},
    };
    clv_linear_state *states = malloc(sizeof *states * PLANES);
    best->value = -INFINITY;
    if (!states)
        return clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
    for (int i = 0; i < PLANES; i++) {
        double normal[3];
        normal_of(i, normal);
        reflect(state, normal, &states[i]);
    }
    CLV_TRY(clv_linear_evaluate(stage, &search, states, count, false));
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        CLV_TRY(clv_linear_sort(stage, states, &count, way[i].apart));
        count = count < way[i].kept ? count : way[i].kept;
        if (count > 0)
            CLV_TRY(clv_linear_optimise(stage, &way[i].climb, states, count));
    }
    if (count > 0)
        *best = states[0];
end:
    free(states);
    return status;
}

/* Sums over 2 reach + 1 values along an axis, in place; beyond the border there are none. */
static void box(float *values, const int size[3], int axis, int reach, float *line)
{
    const int n = size[axis];
    const size_t stride = axis == 0 ? 1 : axis == 1 ? (size_t)size[0] : (size_t)size[0] * (size_t)size[1];
    const size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    if (axis == 0) {
        for (size_t start = 0; start < voxels; start += (size_t)n) {
            double sum = 0;
            for (int i = 0; i < n && i < reach; i++)
                sum += (double)values[start + (size_t)i];
            for (int i = 0; i < n; i++) {
                sum += i + reach < n ? (double)values[start + (size_t)(i + reach)] : 0;
                line[i] = (float)sum;
                sum -= i - reach >= 0 ? (double)values[start + (size_t)(i - reach)] : 0;
            }
            memcpy(values + start, line, sizeof *line * (size_t)n);
        }
        return;
    }
    /* Rows that lie side by side in memory together. */
    float *sum = line, *plane = line + stride;
    for (size_t start = 0; start < voxels; start += stride * (size_t)n) {
        float *from = values + start;
        memcpy(plane, from, sizeof *plane * stride * (size_t)n);
        memset(sum, 0, sizeof *sum * stride);
        for (int i = -reach; i < n; i++) {
            const float *in = i + reach < n ? plane + stride * (size_t)(i + reach) : NULL;
            const float *out = i - reach - 1 >= 0 ? plane + stride * (size_t)(i - reach - 1) : NULL;
            for (size_t k = 0; k < stride; k++)
                sum[k] += (in ? in[k] : 0) - (out ? out[k] : 0);
            if (i >= 0)
                memcpy(from + stride * (size_t)i, sum, sizeof *sum * stride);
        }
    }
}

static double squared_correlation(double n, double f, double m, double ff, double mm, double fm)
{
    const double c = fm / n - f / n * m / n, vf = ff / n - f / n * f / n, vm = mm / n - m / n * m / n;
    return c * c / ((fmax(vf, 0) + NONE) * (fmax(vm, 0) + NONE));
}

/* A quarter, a half and a quarter of three neighbours along each axis: what differs between two heads at 4 mm
 * says nothing of sides. */
static void smooth(float *values, const int size[3])
{
    const size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    size_t stride = 1;
    for (int axis = 0; axis < 3; axis++) {
        const size_t line = stride * (size_t)size[axis];
        for (size_t start = 0; start < voxels; start += line)
            for (size_t k = 0; k < stride; k++) {
                float before = values[start + k];
                for (size_t i = start + k; i < start + line; i += stride) {
                    const float here = values[i],
                                after = i + stride < start + line ? values[i + stride] : here;
                    values[i] = .25f * (before + after) + .5f * here;
                    before = here;
                }
            }
        stride = line;
    }
}

/* Three images, and their sums over windows. */
typedef struct windows {
    float *image, *sums; /* IMAGES and SUMS of n values */
    float *scratch;      /* 2 n of each worker */
    const int *size, *reach;
    size_t n;
    double volume;          /* voxels of a window */
    double *better, *count; /* by plane: how much better the third image fits, and of how many windows */
} windows;

static int smooth_image(void *user, size_t k, int worker)
{
    const windows *w = user;
    (void)worker;
    smooth(w->image + k * w->n, w->size);
    return 0;
}

static int sum_up(void *user, size_t k, int worker)
{
    const windows *w = user;
    const float *f = w->image, *a = f + w->n, *b = a + w->n;
    float *sum = w->sums + k * w->n;
    for (size_t i = 0; i < w->n; i++) {
        const float v[SUMS] = {1,           f[i],        a[i],        b[i],        f[i] * f[i],
                               a[i] * a[i], b[i] * b[i], f[i] * a[i], f[i] * b[i], (double)f[i] > BRIGHT};
        sum[i] = isfinite(f[i]) && isfinite(a[i]) && isfinite(b[i]) ? v[k] : 0;
    }
    for (int axis = 0; axis < 3; axis++)
        box(sum, w->size, axis, w->reach[axis], w->scratch + 2 * w->n * (size_t)worker);
    return 0;
}

static int compare_plane(void *user, size_t z, int worker)
{
    const windows *w = user;
    const size_t plane = (size_t)w->size[0] * (size_t)w->size[1];
    double sum = 0, count = 0;
    (void)worker;
    for (size_t i = z * plane; i < (z + 1) * plane; i++) {
        double s[SUMS];
        for (size_t k = 0; k < SUMS; k++)
            s[k] = (double)w->sums[k * w->n + i];
        if (s[0] < .5 * w->volume || s[9] < .5 * s[0] ||
            s[4] / s[0] - s[1] / s[0] * s[1] / s[0] < VARIES * VARIES)
            continue;
        const double first = squared_correlation(s[0], s[1], s[2], s[4], s[5], s[7]);
        const double second = squared_correlation(s[0], s[1], s[3], s[4], s[6], s[8]);
        sum += tanh((second - first) / CLEAR);
        count++;
    }
    w->better[z] = sum;
    w->count[z] = count;
    return 0;
}

/* How much better the third image fits the first than the second does, -1 to 1, and by how many windows side
 * by side, of places that all three show. */
static int compare(windows *w, double *better, double *side_by_side)
{
    int status = CLVOX_OK;
    double sum = 0, count = 0;
    w->volume = (2. * w->reach[0] + 1) * (2. * w->reach[1] + 1) * (2. * w->reach[2] + 1);
    CLV_TRY(clvox_parallel(IMAGES, smooth_image, w));
    CLV_TRY(clvox_parallel(SUMS, sum_up, w));
    CLV_TRY(clvox_parallel((size_t)w->size[2], compare_plane, w));
    for (int z = 0; z < w->size[2]; z++) {
        sum += w->better[z];
        count += w->count[z];
    }
    *better = count > 0 ? sum / count : 0;
    *side_by_side = count / w->volume;
end:
    return status;
}

static int warp(clv_linear_stage *stage, const clv_linear_state *state, clv_buffer *out)
{
    const clv_linear_level *level = &stage->level[LEVEL];
    double matrix[4][4];
    clv_map map;
    clv_linear_to_matrix(stage, state, matrix);
    clv_map_between(&level->fixed_grid, &level->moving_grid, CLV_MATRIX(matrix), 0, &map);
    return clv_warp(stage->run->ctx, CLV_VOLUME(level->moving[0], level->moving_grid.size), &map, NULL,
                    CLV_LINEAR, NAN, CLV_VOLUME(out, level->fixed_grid.size));
}

int clv_linear_mirrored(clv_linear_stage *stage, const clv_linear_state *state, bool *mirrored)
{
    int status = CLVOX_OK, reach[3];
    clvox_context *ctx = stage->run->ctx;
    const clv_linear_level *level = &stage->level[LEVEL];
    const int *size = level->fixed_grid.size;
    size_t n = clvox_grid_voxels(&level->fixed_grid), bytes = n * sizeof(float);
    windows w = {.size = size, .reach = reach, .n = n};
    clv_linear_state other;
    double edge[3], better, seen;
    *mirrored = false;
    if (stage->thin ||
        clv_linear_parameters(stage->run->options->linear) < clv_linear_parameters(CLVOX_LINEAR_RIGID))
        return CLVOX_OK;
    CLV_TRY(fit(stage, state, &other));
    if (!isfinite(other.value) || other.overlap < .5 * state->overlap)
        goto end;
    w.image = malloc((IMAGES + SUMS + 2 * (size_t)clvox_threads()) * bytes);
    w.better = calloc(2 * (size_t)size[2], sizeof *w.better);
    if (!w.image || !w.better) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "linear registration: out of host memory");
        goto end;
    }
    w.sums = w.image + IMAGES * n;
    w.scratch = w.sums + SUMS * n;
    w.count = w.better + size[2];
    CLV_TRY(warp(stage, state, stage->warped));
    CLV_TRY(warp(stage, &other, stage->derivatives));
    CLV_TRY(clv_buffer_read(ctx, level->fixed[0], 0, w.image, bytes));
    CLV_TRY(clv_buffer_read(ctx, stage->warped, 0, w.image + n, bytes));
    CLV_TRY(clv_buffer_read(ctx, stage->derivatives, 0, w.image + 2 * n, bytes));
    clvox_grid_spacing(&level->fixed_grid, edge);
    for (int i = 0; i < 3; i++)
        reach[i] = (int)fmax(1, round(REACH * level->mm / edge[i]));
    CLV_TRY(compare(&w, &better, &seen));
    const bool contrasts = clv_contrast_made(stage->run) || stage->run->contrasts.differ;
    const double margin = contrasts ? CONTRASTS_MARGIN : MIRROR_MARGIN;
    *mirrored = seen >= LEAST_WINDOWS && better > margin;
end:
    free(w.image);
    free(w.better);
    return status;
}
