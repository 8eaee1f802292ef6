/* SPDX-License-Identifier: Apache-2.0 */
/* Rigid motion between corrected images, a step of Gauss and Newton at a time. A motion along the axis of
 * phase encoding looks like a field, which explains it at once: the step is taken by what only a motion
 * explains, the displacements across the axis. */
#include <math.h>
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "epi/epi.h"
#include "op/match/affine_metric.h"

enum { PARAMETERS = 6, ENTRIES = 12 }; /* 3 shifts, 3 turns; displacement i = sum_j B[i][j] (1, k)_j */

/* The displacement in voxels that a unit of each parameter causes: mm along RAS, radians about RAS through
 * the centre. */
static int basis_of(const clv_epi_motion *m, double basis[PARAMETERS][ENTRIES])
{
    double back[4][4];
    memset(basis, 0, sizeof(double[PARAMETERS][ENTRIES]));
    const int status = clv_matrix_invert(m->grid->to_ras, back);
    for (int p = 0; p < PARAMETERS && status >= 0; p++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 4; j++) {
                if (i == m->axis)
                    continue;
                if (p < 3) {
                    basis[p][4 * i + j] = j ? 0 : back[i][p];
                    continue;
                }
                /* w x (A k) with w a unit vector, in voxels. */
                const int u = (p - 3 + 1) % 3, v = (p - 3 + 2) % 3;
                if (j)
                    basis[p][4 * i + j] =
                        back[i][v] * m->grid->to_ras[u][j - 1] - back[i][u] * m->grid->to_ras[v][j - 1];
            }
    return status;
}

/* The sum of g_i g_j k_a k_b, a and b of 1, x, y, z. */
static double product(const float *sums, int i, int j, int a, int b)
{
    static const int pairs[3][3] = {{0, 1, 2}, {1, 3, 4}, {2, 4, 5}};
    static const int places[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    return (double)sums[10 * pairs[i][j] + places[a][b]];
}

/* Solves the damped normal equations by Cholesky's factors in place; what the images do not tell stays. */
static bool solve(double a[PARAMETERS][PARAMETERS], double x[PARAMETERS])
{
    double most[2] = {0, 0};
    for (int i = 0; i < PARAMETERS; i++)
        most[i / 3] = fmax(most[i / 3], a[i][i]);
    for (int i = 0; i < PARAMETERS; i++)
        a[i][i] += 1e-4 * most[i / 3];
    for (int i = 0; i < PARAMETERS; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = a[i][j];
            for (int k = 0; k < j; k++)
                sum -= a[i][k] * a[j][k];
            if (i == j && !(sum > 0))
                return false;
            a[i][j] = i == j ? sqrt(sum) : sum / a[j][j];
        }
        for (int k = 0; k < i; k++)
            x[i] -= a[i][k] * x[k];
        x[i] /= a[i][i];
    }
    for (int i = PARAMETERS - 1; i >= 0; i--) {
        for (int k = i + 1; k < PARAMETERS; k++)
            x[i] -= a[k][i] * x[k];
        x[i] /= a[i][i];
    }
    return true;
}

/* The step as a matrix: the turn about the centre of the grid, then the shift. */
static void matrix_of(const clv_epi_motion *m, const double x[PARAMETERS], double step[4][4])
{
    double turn[4][4] = {{0, -x[5], x[4], 0}, {x[5], 0, -x[3], 0}, {-x[4], x[3], 0, 0}, {0, 0, 0, 0}},
           centre[3];
    clv_matrix_exp(CLV_MATRIX(turn), step);
    for (int a = 0; a < 3; a++)
        centre[a] = .5 * (m->grid->size[a] - 1);
    clv_matrix_apply(m->grid->to_ras, centre, centre);
    for (int i = 0; i < 3; i++) {
        step[i][3] = centre[i] + x[i];
        for (int j = 0; j < 3; j++)
            step[i][3] -= step[i][j] * centre[j];
    }
}

static clv_affine_pair pair_of(const clv_epi_motion *m)
{
    clv_affine_pair pair = {.fixed = clv_image_of(m->fixed, m->grid->size, NULL, 1),
                            .moving = clv_image_of(m->moving, m->grid->size, NULL, 1),
                            .step = {1, 1},
                            .maps = m->maps,
                            .count = 1};
    for (int a = 0; a < 3; a++)
        pair.centre[a] = .5f * (float)(m->grid->size[a] - 1);
    return pair;
}

size_t clv_epi_motion_partials(const clvox_grid *grid)
{
    const clv_epi_motion m = {.grid = grid};
    const clv_affine_pair pair = pair_of(&m);
    return clv_affine_partials(&pair);
}

int clv_epi_motion_step(clvox_context *ctx, const clv_epi_motion *m, double step[4][4])
{
    int status = CLVOX_OK;
    float sums[CLV_AFFINE_MOST_SUMS];
    double basis[PARAMETERS][ENTRIES], normal[PARAMETERS][PARAMETERS], x[PARAMETERS];
    const clv_affine_pair pair = pair_of(m);
    clv_matrix_identity(step);
    CLV_TRY(basis_of(m, basis));
    CLV_TRY(clv_affine_sums(ctx, &pair, &(clv_affine_derivatives){.source = CLV_AFFINE_PAIR}, m->partial,
                            m->sums));
    CLV_TRY(clv_buffer_read(ctx, m->sums, 0, sums, sizeof sums));
    if (!(sums[0] > 0))
        goto end;
    const float *with_fixed = sums + CLV_AFFINE_DERIVATIVE + 12, *with_moving = with_fixed + 12,
                *squares = with_moving + 12;
    for (int p = 0; p < PARAMETERS; p++) {
        x[p] = 0;
        for (int e = 0; e < ENTRIES; e++)
            x[p] += basis[p][e] * ((double)with_fixed[e] - (double)with_moving[e]);
        for (int q = 0; q < PARAMETERS; q++) {
            normal[p][q] = 0;
            for (int e = 0; e < ENTRIES; e++)
                for (int f = 0; f < ENTRIES; f++)
                    normal[p][q] += basis[p][e] * basis[q][f] * product(squares, e / 4, f / 4, e % 4, f % 4);
        }
    }
    if (solve(normal, x))
        matrix_of(m, x, step);
end:
    return status;
}
