/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/multigrid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weight of coarse voxel j in fine voxel i of an axis. */
static double share(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, int a, int i, int j)
{
    int n = fine->size[a], m = coarse->size[a], shift = fine->periodic ? 0 : 1;
    double at = (i + shift) * (double)(m + shift) / (n + shift) - shift, sum = 0;
    for (int turn = fine->periodic ? -1 : 0; turn <= (fine->periodic ? 1 : 0); turn++)
        sum += fmax(0, 1 - fabs(at - j - turn * m));
    return sum;
}

/* All pairs of voxels: back is the adjoint. */
static void apply(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, const double *in, double *out,
                  int back)
{
    const int *n = fine->size, *m = coarse->size;
    double scale = 1;
    for (int a = 0; a < 3 && back; a++)
        scale *= (double)(m[a] + !fine->periodic) / (n[a] + !fine->periodic);
    for (int c = 0; c < 3; c++)
        for (int z = 0; z < n[2]; z++)
            for (int y = 0; y < n[1]; y++)
                for (int x = 0; x < n[0]; x++)
                    for (int k = 0; k < m[2]; k++)
                        for (int j = 0; j < m[1]; j++)
                            for (int i = 0; i < m[0]; i++) {
                                size_t p = (size_t)(((c * n[2] + z) * n[1] + y) * n[0] + x);
                                size_t q = (size_t)(((c * m[2] + k) * m[1] + j) * m[0] + i);
                                double w = share(fine, coarse, 0, x, i) * share(fine, coarse, 1, y, j) *
                                           share(fine, coarse, 2, z, k);
                                out[back ? q : p] += scale * w * in[back ? p : q];
                            }
}

void ref_mg_prolong(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, const double *in, double *out)
{
    apply(fine, coarse, in, out, 0);
}

void ref_mg_restrict(const clv_fluid_operator *fine, const clv_fluid_operator *coarse, const double *in, double *out)
{
    memset(out, 0, 3 * (size_t)coarse->size[0] * (size_t)coarse->size[1] * (size_t)coarse->size[2] * sizeof *out);
    apply(fine, coarse, in, out, 1);
}
