/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "base/matrix.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "clvox/apply.h"
#include "transform/chain.h"

enum { PIECE = 4096 };

typedef struct step {
    const clvox_volume *warp; /* NULL: affine */
    int inverse;              /* of a warp */
    double matrix[4][4];      /* the affine, or RAS -> voxels of the warp */
    double tolerance;         /* of an inverse, mm */
} step;

typedef struct work {
    const step *steps;
    int count;
    double *points;
    size_t n;
} work;

/* The displacement at x: trilinear, the border value up to half a voxel beyond
 * the outermost centres, zero farther out, as clv_compose has it. */
static void displacement_at(const step *s, const double x[3], double u[3])
{
    const int *n = s->warp->grid.size;
    size_t voxels = clvox_grid_voxels(&s->warp->grid), base[3], up[3];
    double p[3];
    u[0] = u[1] = u[2] = 0;
    clv_matrix_apply(CLV_MATRIX(s->matrix), x, p);
    for (int a = 0; a < 3; a++) {
        if (!(p[a] >= -0.5 && p[a] <= n[a] - 0.5))
            return;
        p[a] = fmin(fmax(p[a], 0), n[a] - 1);
        base[a] = (size_t)p[a];
        p[a] -= (double)base[a];
        up[a] = p[a] > 0;
    }
    for (int corner = 0; corner < 8; corner++) {
        size_t i[3];
        double weight = 1;
        for (int a = 0; a < 3; a++) {
            int high = corner >> a & 1;
            i[a] = base[a] + (high ? up[a] : 0);
            weight *= high ? p[a] : 1 - p[a];
        }
        if (weight == 0)
            continue;
        const float *v = s->warp->data + (i[2] * (size_t)n[1] + i[1]) * (size_t)n[0] + i[0];
        for (size_t c = 0; c < 3; c++)
            u[c] += weight * (double)v[c * voxels];
    }
}

/* y with y + u(y) = x, by fixed-point steps that are damped when they do not
 * get shorter. */
static void invert_at(const step *s, const double x[3], double y[3])
{
    double u[3], last = INFINITY, damping = 1;
    for (int a = 0; a < 3; a++)
        y[a] = x[a];
    for (int i = 0; i < 200; i++) {
        double square = 0;
        displacement_at(s, y, u);
        for (int a = 0; a < 3; a++) {
            double move = x[a] - u[a] - y[a];
            y[a] += damping * move;
            square += move * move;
        }
        if (!(square > s->tolerance * s->tolerance))
            return;
        if (square >= last)
            damping = fmax(0.7 * damping, 0.1);
        last = square;
    }
}

static int move_points(void *user, size_t index, int worker)
{
    const work *w = user;
    (void)worker;
    for (size_t i = index * PIECE; i < w->n && i < (index + 1) * PIECE; i++) {
        double *x = &w->points[3 * i];
        for (int k = 0; k < w->count; k++) {
            const step *s = &w->steps[k];
            double u[3];
            if (!s->warp) {
                clv_matrix_apply(CLV_MATRIX(s->matrix), x, x);
            } else if (s->inverse) {
                double y[3];
                invert_at(s, x, y);
                for (int a = 0; a < 3; a++)
                    x[a] = y[a];
            } else {
                displacement_at(s, x, u);
                for (int a = 0; a < 3; a++)
                    x[a] += u[a];
            }
        }
    }
    return CLVOX_OK;
}

int clvox_apply_points(const clvox_link *links, int count, double *points, int n)
{
    if (count > 0)
        CLV_GIVEN(links);
    if (n > 0)
        CLV_GIVEN(points);
    int status = CLVOX_OK;
    step *steps = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *steps);
    if (!steps)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < count; i++) {
        const clvox_transform *t = links[i].transform;
        CLV_TRY(clv_link_check(&links[i], i + 1));
        steps[i].inverse = links[i].inverse;
        if (t->is_warp) {
            double spacing[3];
            steps[i].warp = t->warp;
            clvox_grid_spacing(&t->warp->grid, spacing);
            steps[i].tolerance = 1e-6 * fmin(spacing[0], fmin(spacing[1], spacing[2]));
            CLV_TRY(clv_matrix_invert(CLV_MATRIX(t->warp->grid.to_ras), steps[i].matrix));
        } else if (links[i].inverse) {
            CLV_TRY(clv_matrix_invert(t->matrix, steps[i].matrix));
        } else {
            clv_matrix_copy(t->matrix, steps[i].matrix);
        }
    }
    work w = {steps, count > 0 ? count : 0, points, n > 0 ? (size_t)n : 0};
    CLV_TRY(clvox_parallel((w.n + PIECE - 1) / PIECE, move_points, &w));
end:
    free(steps);
    return status;
}
