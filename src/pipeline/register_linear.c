/* SPDX-License-Identifier: Apache-2.0 */
/* Where the registration starts: the headers, or closed forms from the first
 * and second moments of the masks (or of the tissue); among the candidates the
 * correlation of the two images at a coarse level decides. */
#include <math.h>
#include <string.h>

#include "base/eigen.h"
#include "base/matrix.h"
#include "op/moments.h"
#include "op/pointwise.h"
#include "op/reduce.h"
#include "op/resample.h"
#include "pipeline/register.h"

enum { MAX_CANDIDATES = 40 };

typedef struct shape {
    double center[3];
    double spread[3][3]; /* second moments in mm^2 */
} shape;

typedef struct candidates {
    double matrix[MAX_CANDIDATES][4][4];
    double angle[MAX_CANDIDATES]; /* of the rotation in it, radians */
    int count;
} candidates;

/* Maps an image's values to [0, 1], so that float sums of squares keep their
 * digits whatever offset a scanner added, and what lies outside is darkest. */
static int to_unit(clv_registration *run, clv_buffer *image, int n)
{
    int status = CLVOX_OK;
    float range[2];
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MIN, image, NULL, NULL, 0, n, run->partial, run->state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MAX, image, NULL, NULL, 0, n, run->partial, run->state,
                       CLV_STATE_SUMS + 1));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), range, sizeof range));
    double scale = range[1] > range[0] ? 1 / ((double)range[1] - range[0]) : 0;
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_LINEAR, image, n, image, NULL, NULL,
                          (float[4]){(float)scale, 0, 0, (float)(-scale * range[0])}));
end:
    return status;
}

/* Moments of the mask or, without one, of the image above its darkest value,
 * in RAS mm. */
static int measure_shape(clv_registration *run, const clv_buffer *image, const clv_buffer *mask,
                         const clvox_grid *grid, int n, const char *which, shape *out)
{
    int status = CLVOX_OK;
    double moments[10];
    const clv_buffer *weights = mask;
    if (!mask) {
        CLV_TRY(clv_buffer_copy(run->ctx, image, 0, run->scratch_a, 0, (size_t)n * sizeof(float)));
        CLV_TRY(to_unit(run, run->scratch_a, n));
        weights = run->scratch_a;
    }
    CLV_TRY(clv_moments(run->ctx, weights, grid->size, moments));
    if (!(moments[0] > 0)) {
        status = mask ? clv_fail(CLVOX_ERROR_DATA, "the %s mask is empty; give one with voxels above 0",
                                 which)
                      : clv_fail(CLVOX_ERROR_DATA, "the %s image is constant: there is nothing to align "
                                                   "it by; use --init header",
                                 which);
        goto end;
    }
    const double c[3][3] = {{moments[4], moments[5], moments[6]},
                            {moments[5], moments[7], moments[8]},
                            {moments[6], moments[8], moments[9]}};
    for (int i = 0; i < 3; i++) {
        out->center[i] = grid->to_ras[i][3];
        for (int j = 0; j < 3; j++) {
            out->center[i] += grid->to_ras[i][j] * moments[1 + j];
            double sum = 0;
            for (int k = 0; k < 3; k++)
                for (int l = 0; l < 3; l++)
                    sum += grid->to_ras[i][k] * c[k][l] * grid->to_ras[j][l];
            out->spread[i][j] = sum;
        }
    }
    /* A flat shape still has the extent of a voxel. */
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    for (int i = 0; i < 3; i++)
        out->spread[i][i] += spacing[i] * spacing[i] / 12;
end:
    return status;
}

/* Adds x -> to + linear (x - from). */
static void add(candidates *list, double linear[3][3], const double from[3], const double to[3],
                double angle)
{
    if (list->count == MAX_CANDIDATES)
        return;
    double(*m)[4] = list->matrix[list->count];
    memset(m, 0, sizeof list->matrix[0]);
    for (int i = 0; i < 3; i++) {
        m[i][3] = to[i];
        for (int j = 0; j < 3; j++) {
            m[i][j] = linear[i][j];
            m[i][3] -= linear[i][j] * from[j];
        }
    }
    m[3][3] = 1;
    list->angle[list->count++] = angle;
}

static void multiply(double a[3][3], double b[3][3], double out[3][3])
{
    double t[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
    memcpy(out, t, sizeof t);
}

/* Every transform of the permitted kind that carries the fixed shape's centre
 * (and axes, and lengths) onto the moving one's. */
static void moment_candidates(candidates *list, clvox_linear linear, const shape *f, const shape *m)
{
    double one[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    add(list, one, f->center, m->center, 0);
    if (linear < CLVOX_LINEAR_RIGID)
        return;
    double fv[3], fe[3][3], mv[3], me[3][3];
    clv_eigen_symmetric(f->spread, fv, fe);
    clv_eigen_symmetric(m->spread, mv, me);
    double scale = pow(mv[0] * mv[1] * mv[2] / (fv[0] * fv[1] * fv[2]), 1. / 6);
    if (linear >= CLVOX_LINEAR_SIMILARITY) {
        double s[3][3] = {{scale, 0, 0}, {0, scale, 0}, {0, 0, scale}};
        add(list, s, f->center, m->center, 0);
    }
    if (linear >= CLVOX_LINEAR_AFFINE) {
        /* The symmetric map F^-1/2 (F^1/2 M F^1/2)^1/2 F^-1/2: no rotation. */
        double half[3][3], back[3][3], a[3][3];
        clv_power_symmetric(f->spread, .5, half);
        clv_power_symmetric(f->spread, -.5, back);
        memcpy(a, m->spread, sizeof a);
        multiply(half, a, a);
        multiply(a, half, a);
        clv_power_symmetric(CLV_MATRIX3(a), .5, a);
        multiply(back, a, a);
        multiply(a, back, a);
        add(list, a, f->center, m->center, 0);
    }
    /* The axes fit each other in four ways; lengths in between by kind. */
    for (int flip = 0; flip < 4; flip++) {
        const double sign[3] = {flip == 1 || flip == 2 ? -1 : 1, flip == 1 || flip == 3 ? -1 : 1,
                                flip == 2 || flip == 3 ? -1 : 1};
        double r[3][3], s[3][3], a[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) {
                r[i][j] = a[i][j] = 0;
                for (int k = 0; k < 3; k++) {
                    r[i][j] += me[i][k] * sign[k] * fe[j][k];
                    a[i][j] += me[i][k] * sign[k] * sqrt(mv[k] / fv[k]) * fe[j][k];
                }
                s[i][j] = scale * r[i][j];
            }
        double angle = acos(fmax(-1, fmin(1, (r[0][0] + r[1][1] + r[2][2] - 1) / 2)));
        add(list, r, f->center, m->center, angle);
        if (linear >= CLVOX_LINEAR_SIMILARITY)
            add(list, s, f->center, m->center, angle);
        if (linear >= CLVOX_LINEAR_AFFINE)
            add(list, a, f->center, m->center, angle);
    }
}

static void grid_center(const clvox_grid *grid, double center[3])
{
    for (int i = 0; i < 3; i++) {
        center[i] = grid->to_ras[i][3];
        for (int j = 0; j < 3; j++)
            center[i] += grid->to_ras[i][j] * .5 * (grid->size[j] - 1);
    }
}

/* Whether the centre of either grid lies inside the other one: headers of
 * scanners and atlases agree that far, or not at all. */
static bool headers_overlap(const clvox_grid *a, const clvox_grid *b)
{
    for (int pass = 0; pass < 2; pass++) {
        double center[3], inverse[4][4];
        grid_center(pass ? b : a, center);
        const clvox_grid *other = pass ? a : b;
        if (clv_matrix_invert(other->to_ras, inverse) < 0)
            return false;
        for (int i = 0; i < 3; i++) {
            double at = inverse[i][3];
            for (int j = 0; j < 3; j++)
                at += inverse[i][j] * center[j];
            if (at < -.5 || at > other->size[i] - .5)
                return false;
        }
    }
    return true;
}

static double largest_spacing(const clvox_grid *grid)
{
    double s[3];
    clvox_grid_spacing(grid, s);
    return fmax(s[0], fmax(s[1], s[2]));
}

static int coarse(clv_registration *run, const clv_buffer *image, const clvox_grid *grid, double mm,
                  clv_buffer *out, clvox_grid *level)
{
    double spacing[3], factor[3];
    clvox_grid_spacing(grid, spacing);
    for (int i = 0; i < 3; i++)
        factor[i] = fmax(1, mm / spacing[i]);
    clv_level_grid(grid, factor, level);
    return clv_downsample(run->ctx, image, grid, run->scratch_a, run->scratch_b, out, level);
}

static int choose(clv_registration *run, const candidates *list)
{
    int status = CLVOX_OK;
    clvox_grid fixed_level, moving_level;
    double mm = fmax(4, fmax(largest_spacing(&run->fixed_grid), largest_spacing(&run->moving_grid)));
    double best = -2, square;
    int chosen = 0;
    clv_buffer *weight = NULL;
    CLV_TRY(coarse(run, run->channels[0].fixed, &run->fixed_grid, mm, run->channels[0].level_fixed, &fixed_level));
    CLV_TRY(coarse(run, run->channels[0].moving, &run->moving_grid, mm, run->channels[0].level_moving, &moving_level));
    int n = (int)clvox_grid_voxels(&fixed_level);
    CLV_TRY(to_unit(run, run->channels[0].level_fixed, n));
    CLV_TRY(to_unit(run, run->channels[0].level_moving, (int)clvox_grid_voxels(&moving_level)));
    if (run->fixed_mask) {
        CLV_TRY(coarse(run, run->fixed_mask, &run->fixed_grid, mm, run->level_mask, &fixed_level));
        weight = run->level_mask;
    }
    for (int i = 0; i < list->count; i++) {
        clv_map map;
        double ncc;
        clv_map_between(&fixed_level, &moving_level, list->matrix[i], 0, &map);
        CLV_TRY(clv_warp(run->ctx, run->channels[0].level_moving, moving_level.size, &map, NULL, CLV_LINEAR, 0,
                         run->scratch_a, fixed_level.size));
        CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, run->scratch_a, n, run->scratch_a, NULL,
                              NULL, (float[4]){0, 0, 0, 0}));
        CLV_TRY(clv_similarity(run, run->scratch_a, run->channels[0].level_fixed, weight, n, &square, &ncc));
        /* A turn beyond 45 degrees has to be clearly better to be believed. */
        if (list->angle[i] > M_PI / 4)
            ncc -= .1;
        if (ncc > best) {
            best = ncc;
            chosen = i;
        }
    }
    memcpy(run->matrix, list->matrix[chosen], sizeof run->matrix);
end:
    return status;
}

int clv_register_linear(clv_registration *run, const clvox_volume *fixed, const clvox_volume *moving)
{
    int status = CLVOX_OK;
    const clvox_register_options *o = run->options;
    static const double identity[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    candidates list = {.count = 0};
    shape f, m;
    memcpy(run->matrix, o->init == CLVOX_INIT_MATRIX ? o->matrix : identity, sizeof run->matrix);
    if (o->init == CLVOX_INIT_CENTERS) {
        double a[3], b[3];
        grid_center(&fixed->grid, a);
        grid_center(&moving->grid, b);
        for (int i = 0; i < 3; i++)
            run->matrix[i][3] = b[i] - a[i];
    }
    bool overlap = headers_overlap(&fixed->grid, &moving->grid);
    bool moments = o->init == CLVOX_INIT_MOMENTS ||
                   (o->init == CLVOX_INIT_AUTO && (!overlap || o->linear != CLVOX_LINEAR_NONE));
    if (!moments)
        return CLVOX_OK;
    if (o->init == CLVOX_INIT_AUTO && overlap) {
        memcpy(list.matrix[0], identity, sizeof identity);
        list.angle[0] = 0;
        list.count = 1;
    }
    /* Moments of a mask on one side and of a whole head on the other do not
     * compare: use the masks only when both are there. */
    bool both = run->fixed_mask && run->moving_mask;
    status = measure_shape(run, run->channels[0].fixed, both ? run->fixed_mask : NULL, &run->fixed_grid, run->n,
                           "fixed", &f);
    if (status >= 0)
        status = measure_shape(run, run->channels[0].moving, both ? run->moving_mask : NULL, &run->moving_grid, run->m,
                               "moving", &m);
    /* Of a constant image the header is all there is. */
    if (status == CLVOX_ERROR_DATA && !both && list.count > 0)
        return CLVOX_OK;
    CLV_TRY(status);
    moment_candidates(&list, o->linear, &f, &m);
    CLV_TRY(choose(run, &list));
end:
    return status;
}
