/* SPDX-License-Identifier: Apache-2.0 */
/* What a result says about itself: the affine as rotation, scales and shears, and what speaks
 * against it. */
#include <math.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/metric/metric.h"
#include "register/register.h"

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

/* Whether no two heads differ so much in size, or so unevenly: what is missing in one image is made up for by
 * stretching it. */
static bool squeezes(const double scale[3])
{
    static const double MOST = 2, UNEVEN = 1.28;
    double least = fmin(scale[0], fmin(scale[1], scale[2])), most = fmax(scale[0], fmax(scale[1], scale[2]));
    return !(least >= 1 / MOST && most <= MOST && most <= UNEVEN * least);
}

/* Whether the images are less alike at the end than a metric and a correlation
 * of an earlier stage say. Interpolation alone costs a little. */
static bool less_alike(const clv_metric_row *metric, double before, double ncc, const clvox_register_result *r)
{
    if (metric->worse)
        return metric->worse(before, ncc, r->metric_after, r->ncc_after);
    return before - r->metric_after > .03 * fabs(before) + 1e-12;
}

/* The variance of log J where there is content; 0 where it is too small to show anything. */
static double changed(double content, const clvox_register_result *r)
{
    static const double SHOWS = .035;
    const double variance = r->jacobian.sd_log * r->jacobian.sd_log / fmax(content, 1e-3);
    return variance > SHOWS ? variance : 0;
}

/* Whether the deformation gains less than so much in the metric for what it changes. */
static bool gains_less(double yield, double variance, const clvox_register_result *r)
{
    return yield > 0 && variance > 0 && r->metric_after - r->metric_linear < yield * variance;
}

/* Whether a deformation brings so much of what coarse images lack for what it changes. */
static bool coarse_gain(const clv_register_coarse *coarse, double yield, double variance)
{
    return coarse->after - coarse->linear >= yield * variance * (1 - coarse->linear);
}

/* Whether coarse images, where noise of single voxels has gone, are alike: by the linear part, as they are
 * not where that is wrong, and by a deformation that is worth its changes. */
static bool alike_coarsely(const clv_register_coarse *coarse, double variance)
{
    static const double LINEAR = .27, YIELD = 1.6;
    return coarse->linear >= LINEAR && coarse_gain(coarse, YIELD, variance);
}

/* Whether the deformation costs more than it brings: noise and other contrasts are matched at the price of
 * volumes that change at random. That noise hides what is gained is no reproach. */
static bool dear(const clv_metric_row *metric, const clv_register_evidence *e, const clvox_register_result *r)
{
    const double variance = changed(e->content, r);
    return gains_less(metric->yield, variance, r) && !alike_coarsely(&e->coarse, variance);
}

/* The same of images that were recast, which makes whatever lies one over the other alike, by MIND after
 * runs by LNCC. Of the variance where there is content heads of one contrast with strong bias fields gain
 * .084 or more, unrelated images .05 at most. Of that of the whole grid, which tells where there is no air,
 * images that hardly correlate gain .31 or more if they are heads with bias or of another contrast (less if
 * that is not monotonic), .24 at most if they lie in the wrong place, and .21 if they are unrelated. They may
 * also be noisy: then coarse ones tell, which end more alike (.75 and more) than those with wrong affines
 * (.70 at most), and gain 8 times the variance and more of what they lacked, unrelated ones 3 to 5 times. */
static bool recast_in_vain(const clv_register_evidence *e, const clvox_register_result *r)
{
    static const double YIELD = .078, WHOLE = .27, ALIKE = .875, COARSE = .72, COARSE_YIELD = 6.5;
    const double whole = changed(1, r);
    const bool apart = fabs(r->ncc_after) < ALIKE, little = gains_less(YIELD, changed(e->content, r), r),
               unrelated = apart && gains_less(WHOLE, whole, r),
               noisy = apart && e->coarse.after >= COARSE && coarse_gain(&e->coarse, COARSE_YIELD, whole);
    return (little || unrelated) && !noisy;
}

bool clv_register_coarse_counts(const clv_registration *run, double content, const clvox_register_result *r)
{
    /* A coarse run states the variance of the full grid, which differs a little, later. */
    static const double ROOM = 1.2;
    const clv_metric_row *metric = clv_metric_find(run->options->metric);
    return run->recast || (metric->hides && gains_less(metric->yield, ROOM * changed(content, r), r));
}

/* By measures that were not optimised: the correlation over the whole image, and what a deformation costs. */
static bool unlike(const clv_registration *run, const clv_register_evidence *e,
                   const clvox_register_result *r)
{
    static const double FALL = .05;
    const clvox_register_options *o = run->options;
    bool linear = o->linear != CLVOX_LINEAR_NONE && fabs(r->ncc_linear) < fabs(r->ncc_before) - FALL;
    bool deform = o->deform != CLVOX_DEFORM_NONE &&
                  (fabs(r->ncc_after) < fabs(r->ncc_linear) - FALL ||
                   (e->recast ? recast_in_vain(e, r) : dear(clv_metric_find(o->metric), e, r)));
    return linear || deform;
}

/* Whether a deformation was asked for, and images that differ stayed where they were. */
static bool still(const clv_registration *run, const clvox_register_result *r)
{
    static const double SAME = .9999, MOVED = 1e-6; /* correlation, mm */
    const clvox_register_options *o = run->options;
    int iterations = 0;
    for (int i = 0; i < o->levels; i++)
        iterations += o->iterations[i];
    return o->deform != CLVOX_DEFORM_NONE && iterations > 0 && r->largest_mm < MOVED && r->ncc_linear < SAME;
}

void clv_register_judge(const clv_registration *run, const clv_register_evidence *evidence,
                        clvox_register_result *r)
{
    r->suspicions = run->suspicions;
    r->overlap = overlap(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix));
    if (r->overlap < .1)
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
    if (!(r->suspicions & CLVOX_SUSPECT_METRIC) && unlike(run, evidence, r))
        r->suspicions |= CLVOX_SUSPECT_UNLIKE;
    if (run->options->deform != CLVOX_DEFORM_NONE && r->jacobian.folded > 0)
        r->suspicions |= CLVOX_SUSPECT_FOLDS;
}
