/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/solve.h"

#include <stdlib.h>

#include "ref/fluid/fourier.h"

/* A field on another grid that begins at the same voxel, 0 where it ends. */
static void fit(const double *from, const int a[3], double *to, const int b[3])
{
    for (int c = 0; c < 3; c++)
        for (int z = 0; z < b[2]; z++)
            for (int y = 0; y < b[1]; y++)
                for (int x = 0; x < b[0]; x++)
                    *to++ = x < a[0] && y < a[1] && z < a[2] ? from[((c * a[2] + z) * a[1] + y) * a[0] + x] : 0;
}

void ref_solve(const clv_fluid_operator *op, const int *wide, const double *f, double *v)
{
    if (!wide) {
        ref_fft_solve(op, f, v);
        return;
    }
    clv_fluid_operator all = *op;
    size_t n = 3 * (size_t)wide[0] * (size_t)wide[1] * (size_t)wide[2];
    double *forces = calloc(2 * n, sizeof *forces), *found = forces + n;
    for (int a = 0; a < 3; a++)
        all.size[a] = wide[a];
    all.periodic = true;
    fit(f, op->size, forces, wide);
    ref_fft_solve(&all, forces, found);
    fit(found, wide, v, op->size);
    free(forces);
}
