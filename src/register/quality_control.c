/* SPDX-License-Identifier: Apache-2.0 */
/* Quality control of a result: the affine as rotation, scales and shears, and what speaks against it. */
#include <math.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/metric/metric.h"
#include "register/problem.h"
#include "register/thresholds.h"

int clvox_affine_take_apart(const double m[4][4], const clvox_grid *fixed, clvox_affine_parts *parts)
{
    CLV_GIVEN_OR(0, m, fixed, parts);
    double q[3][3], s[3][3] = {{0}}, center[3], moved[3], middle[3];
    if (!clv_matrix_regular(m) || !(clv_matrix_determinant(m) > 0))
        return 0;
    /* R S: columns made orthonormal in turn, S what it took. */
    for (int c = 0; c < 3; c++) {
        double v[3] = {m[0][c], m[1][c], m[2][c]}, length = 0;
        for (int b = 0; b < c; b++) {
            s[b][c] = q[0][b] * v[0] + q[1][b] * v[1] + q[2][b] * v[2];
            for (int i = 0; i < 3; i++)
                v[i] -= s[b][c] * q[i][b];
        }
        length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        s[c][c] = length;
        for (int i = 0; i < 3; i++)
            q[i][c] = v[i] / length;
    }
    const double degrees = 180 / M_PI;
    parts->rotation_degrees[0] = degrees * atan2(q[2][1], q[2][2]);
    parts->rotation_degrees[1] = degrees * asin(fmax(-1, fmin(1, -q[2][0])));
    parts->rotation_degrees[2] = degrees * atan2(q[1][0], q[0][0]);
    for (int i = 0; i < 3; i++) {
        parts->scale[i] = s[i][i];
        middle[i] = .5 * (fixed->size[i] - 1);
    }
    parts->shear[0] = s[0][1] / s[0][0];
    parts->shear[1] = s[0][2] / s[0][0];
    parts->shear[2] = s[1][2] / s[1][1];
    clv_matrix_apply(fixed->to_ras, middle, center);
    clv_matrix_apply(m, center, moved);
    for (int i = 0; i < 3; i++)
        parts->shift_mm[i] = moved[i] - center[i];
    return 1;
}

/* The share of the smaller of the two grids that lies in the other, through
 * matrix; from points spread evenly over the fixed grid. */
static double overlap(const clvox_grid *fixed, const clvox_grid *moving, const double matrix[4][4])
{
    enum { POINTS = 24 };
    double from_ras[4][4], map[4][4];
    int inside = 0;
    if (clv_matrix_invert(moving->to_ras, from_ras) < 0)
        return 0;
    clv_matrix_multiply(matrix, fixed->to_ras, map);
    clv_matrix_multiply(CLV_MATRIX(from_ras), CLV_MATRIX(map), map);
    for (int k = 0; k < POINTS * POINTS * POINTS; k++) {
        const int part[3] = {k % POINTS, k / POINTS % POINTS, k / POINTS / POINTS};
        double at[3], to[3];
        for (int i = 0; i < 3; i++)
            at[i] = (part[i] + .5) / POINTS * fixed->size[i] - .5;
        clv_matrix_apply(CLV_MATRIX(map), at, to);
        inside += to[0] >= -.5 && to[0] <= moving->size[0] - .5 && to[1] >= -.5 &&
                  to[1] <= moving->size[1] - .5 && to[2] >= -.5 && to[2] <= moving->size[2] - .5;
    }
    double share = (double)inside / (POINTS * POINTS * POINTS);
    /* Fixed voxels' volume over that of the moving grid as the fixed one sees it. */
    double ratio = fabs(clv_matrix_determinant(CLV_MATRIX(map))) * (double)clvox_grid_voxels(fixed) /
                   (double)clvox_grid_voxels(moving);
    return fmin(1, share * fmax(1, ratio));
}

/* Whether no two heads differ so much in size, or so unevenly. */
static bool squeezes(const double scale[3])
{
    double least = fmin(scale[0], fmin(scale[1], scale[2])), most = fmax(scale[0], fmax(scale[1], scale[2]));
    return !(least >= 1 / MOST_SCALE && most <= MOST_SCALE && most <= MOST_UNEVEN * least);
}

/* Whether the images are less alike at the end than a metric and a correlation
 * of an earlier stage say. Interpolation alone costs a little. */
static bool less_alike(const clv_metric_row *metric, double before, double ncc, const clvox_register_result *r)
{
    if (metric->worse)
        return metric->worse(before, ncc, r->metric_after, r->ncc_after);
    return before - r->metric_after > WORSE * fabs(before) + 1e-12;
}

int clv_quality_unlike(clv_registration *run, double content, const clvox_register_result *r, bool *unlike)
{
    const clv_metric_row *metric = clv_metric_find(run->options->metric);
    const bool made = clv_contrast_made(run);
    const double yield = made ? SYNTHESIS_YIELD : metric->yield,
                 variance = r->jacobian.sd_log * r->jacobian.sd_log / fmax(content, 1e-3);
    *unlike = yield > 0 && variance > SHOWS && r->metric_after - r->metric_linear < yield * variance;
    if (!*unlike || made || !metric->hides)
        return CLVOX_OK;
    double coarse;
    int status = clv_register_measure_coarse(run, &coarse);
    *unlike = !(coarse >= COARSE_ALIKE);
    return status;
}

/* Whether a deformation was asked for, and images that differ stayed where they were. */
static bool still(const clv_registration *run, const clvox_register_result *r)
{
    const clvox_register_options *o = run->options;
    int iterations = 0;
    for (int i = 0; i < o->levels; i++)
        iterations += o->iterations[i];
    return o->deform != CLVOX_DEFORM_NONE && iterations > 0 && r->largest_mm < MOVED && r->ncc_linear < SAME;
}

void clv_quality_control(const clv_registration *run, const clv_register_evidence *evidence,
                        clvox_register_result *r)
{
    r->suspicions = run->suspicions;
    r->overlap = overlap(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix));
    if (r->overlap < LEAST_OVERLAP)
        r->suspicions |= CLVOX_SUSPECT_OVERLAP;
    if (clvox_affine_take_apart(CLV_MATRIX(run->matrix), &run->fixed_grid, &r->parts)) {
        if (squeezes(r->parts.scale))
            r->suspicions |= CLVOX_SUSPECT_SCALE;
    } else {
        r->parts = (clvox_affine_parts){.rotation_degrees = {NAN, NAN, NAN}, .scale = {NAN, NAN, NAN},
                                        .shear = {NAN, NAN, NAN}, .shift_mm = {NAN, NAN, NAN}};
        r->suspicions |= CLVOX_SUSPECT_SCALE;
    }
    const clv_metric_row *metric = clv_metric_find(clv_register_metric(run->options));
    if (less_alike(metric, r->metric_before, r->ncc_before, r) ||
        less_alike(metric, r->metric_linear, r->ncc_linear, r))
        r->suspicions |= CLVOX_SUSPECT_METRIC;
    if (!(r->suspicions & CLVOX_SUSPECT_CONSTANT) && still(run, r))
        r->suspicions |= CLVOX_SUSPECT_STILL;
    if (!(r->suspicions & CLVOX_SUSPECT_METRIC) && evidence->unlike)
        r->suspicions |= CLVOX_SUSPECT_UNLIKE;
    if (run->options->deform != CLVOX_DEFORM_NONE && r->jacobian.folded > 0)
        r->suspicions |= CLVOX_SUSPECT_FOLDS;
}

/* ---- the step ------------------------------------------------------------ */

static int enter(clv_problem *p)
{
    *p->evidence = (clv_register_evidence){0};
    return CLVOX_OK;
}

static int leave(const clv_problem *p, clvox_register_result *r)
{
    clvox_register_options o = p->options;
    clv_registration run = {.options = &o,
                            .fixed_grid = clv_register_first(&p->images, false)->grid,
                            .moving_grid = clv_register_first(&p->images, true)->grid,
                            .suspicions = p->evidence->suspicions};
    o.metric = o.linear_metric = r->metric;
    clv_matrix_copy(CLV_MATRIX(r->matrix), run.matrix);
    clv_quality_control(&run, p->evidence, r);
    return CLVOX_OK;
}

const clv_step clv_step_quality_control = {.name = "quality control", .enter = enter, .leave = leave};
