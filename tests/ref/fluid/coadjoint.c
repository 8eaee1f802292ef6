/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/fluid/coadjoint.h"

#include <string.h>

/* The two voxels of a difference along axis a at voxel i, and what it is multiplied by. */
static double ends(const int size[3], const double spacing[3], size_t i, int a, size_t *above, size_t *below)
{
    size_t stride = a == 0 ? 1 : a == 1 ? (size_t)size[0] : (size_t)size[0] * (size_t)size[1];
    int at = (int)(i / stride % (size_t)size[a]), up = at < size[a] - 1, down = at > 0;
    *above = i + (up ? stride : 0);
    *below = i - (down ? stride : 0);
    return up + down ? 1 / ((up + down) * spacing[a]) : 0;
}

void ref_adjoint_action(const double *v, const double *w, const int size[3], const double spacing[3], double *out)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], p, q;
    memset(out, 0, 3 * n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            double s = ends(size, spacing, i, a, &p, &q);
            for (size_t c = 0; c < 3; c++)
                out[c * n + i] += s * ((v[c * n + p] - v[c * n + q]) * w[(size_t)a * n + i] -
                                       (w[c * n + p] - w[c * n + q]) * v[(size_t)a * n + i]);
        }
}

void ref_coadjoint_action(const double *v, const double *m, const int size[3], const double spacing[3], double *out)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], p, q;
    memset(out, 0, 3 * n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++) {
            double s = ends(size, spacing, i, a, &p, &q);
            for (size_t c = 0; c < 3; c++) {
                out[(size_t)a * n + i] += s * (v[c * n + p] - v[c * n + q]) * m[c * n + i];
                double back = s * m[c * n + i] * v[(size_t)a * n + i];
                out[c * n + p] -= back;
                out[c * n + q] += back;
            }
        }
}
