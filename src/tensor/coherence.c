/* SPDX-License-Identifier: Apache-2.0 */
/* Whether fibres hold together: directions of gradients with an axis turned
 * round or exchanged give the same FA everywhere, and fibres that break up.
 * After the fibre coherence index of Schilling et al. 2019. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "base/status.h"
#include "io/gradients.h"
#include "tensor/maps.h"

enum { NEIGHBOURS = 13, MOST = 100000 /* voxels looked at */ };

typedef struct looking {
    const float *fa;
    float *v;            /* V1 in the axes of bvecs, 3 a voxel */
    const int *size;
    size_t step;
    int offset[NEIGHBOURS][3];
    double toward[NEIGHBOURS][3]; /* unit vectors, in the axes of bvecs */
    double score[CLV_TURNS];
    size_t pairs[CLV_TURNS];
} looking;

static const float ANISOTROPIC = 0.2f; /* FA of what has a direction worth the name */

/* Turn number k: which axis goes where, and which of them is turned round. A
 * direction has no sign, so that one turn at a time is all there is. */
static void turn_of(int k, int axis[3], double sign[3])
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    memcpy(axis, orders[k / 4], sizeof orders[0]);
    for (int a = 0; a < 3; a++)
        sign[a] = k % 4 == a + 1 ? -1 : 1;
}

static bool along(const float v[3], const double u[3])
{
    return fabs((double)v[0] * u[0] + (double)v[1] * u[1] + (double)v[2] * u[2]) > 0.9;
}

static int look(void *user, size_t k, int worker)
{
    looking *w = user;
    const int *n = w->size;
    int axis[3];
    double sign[3], turned[NEIGHBOURS][3];
    size_t voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2], seen = 0;
    (void)worker;
    turn_of((int)k, axis, sign);
    /* v' = sign v[axis]; v' . u is the same as v . u', which is cheaper. */
    for (int d = 0; d < NEIGHBOURS; d++)
        for (int a = 0; a < 3; a++)
            turned[d][axis[a]] = sign[a] * w->toward[d][a];
    for (size_t i = 0; i < voxels; i++) {
        if (!(w->fa[i] > ANISOTROPIC) || seen++ % w->step)
            continue;
        const float *v = w->v + 3 * i;
        int at[3] = {(int)(i % (size_t)n[0]), (int)(i / (size_t)n[0] % (size_t)n[1]),
                     (int)(i / (size_t)n[0] / (size_t)n[1])};
        for (int d = 0; d < NEIGHBOURS; d++) {
            const double *u = turned[d];
            int to[3];
            bool inside = true;
            if (!along(v, u))
                continue;
            for (int a = 0; a < 3; a++) {
                to[a] = at[a] + w->offset[d][a];
                inside = inside && to[a] >= 0 && to[a] < n[a];
            }
            if (!inside)
                continue;
            size_t j = ((size_t)to[2] * (size_t)n[1] + (size_t)to[1]) * (size_t)n[0] + (size_t)to[0];
            if (w->fa[j] > ANISOTROPIC && along(w->v + 3 * j, u)) {
                w->score[k] += fmin((double)w->fa[i], 1) * fmin((double)w->fa[j], 1);
                w->pairs[k]++;
            }
        }
    }
    return CLVOX_OK;
}

/* Half of the 26 neighbours: a pair is counted once. */
static void neighbours(looking *w, const clvox_grid *grid, const double to_ras[3][3])
{
    int d = 0;
    for (int k = 14; k < 27; k++, d++) {
        const int offset[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
        double x[3] = {0}, length = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                x[a] += grid->to_ras[a][b] * offset[b];
        for (int a = 0; a < 3; a++) {
            w->offset[d][a] = offset[a];
            w->toward[d][a] = to_ras[0][a] * x[0] + to_ras[1][a] * x[1] + to_ras[2][a] * x[2];
            length += x[a] * x[a];
        }
        for (int a = 0; a < 3; a++)
            w->toward[d][a] /= sqrt(length);
    }
}

void clv_turn_name(int turn, char out[CLV_TURN_NAME])
{
    int axis[3];
    double sign[3];
    char *to = out;
    turn_of(turn, axis, sign);
    for (int a = 0; a < 3; a++) {
        if (a)
            *to++ = ' ';
        if (sign[a] < 0)
            *to++ = '-';
        *to++ = "xyz"[axis[a]];
    }
    *to = 0;
}

int clv_tensor_coherence(const clvox_volume *fa, const clvox_volume *v1, int *best, double *gain)
{
    int status = CLVOX_OK;
    size_t voxels = clvox_grid_voxels(&fa->grid), count = 0;
    double to_ras[3][3];
    looking w = {.fa = fa->data, .size = fa->grid.size};
    *best = 0;
    *gain = 1;
    CLV_TRY(clv_bvec_to_ras(&fa->grid, to_ras));
    w.v = malloc(3 * voxels * sizeof *w.v);
    if (!w.v)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the coherence of fibres"));
    for (size_t i = 0; i < voxels; i++) {
        count += fa->data[i] > ANISOTROPIC;
        for (size_t a = 0; a < 3; a++)
            w.v[3 * i + a] = (float)(to_ras[0][a] * (double)v1->data[i] +
                                     to_ras[1][a] * (double)v1->data[voxels + i] +
                                     to_ras[2][a] * (double)v1->data[2 * voxels + i]);
    }
    w.step = 1 + count / MOST;
    neighbours(&w, &fa->grid, CLV_MATRIX3(to_ras));
    CLV_TRY(clvox_parallel(CLV_TURNS, look, &w));
    for (int k = 1; k < CLV_TURNS; k++)
        if (w.score[k] > w.score[*best])
            *best = k;
    /* Few pairs say nothing. */
    if (w.pairs[*best] < 500)
        *best = 0;
    *gain = *best ? w.score[*best] / fmax(w.score[0], 1e-3 * w.score[*best]) : 1;
end:
    free(w.v);
    return status;
}

int clvox_tensor_coherence(const clvox_volume *fa, const clvox_volume *v1, clvox_coherence *out)
{
    CLV_GIVEN(fa, v1, out);
    int best;
    int status = clv_tensor_coherence(fa, v1, &best, &out->gain);
    if (status >= 0)
        clv_turn_name(best, out->axes);
    return status;
}
