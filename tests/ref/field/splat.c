/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/splat.h"

#include <math.h>
#include <stdbool.h>

void ref_splat(const float *in, const int size[3], const clv_map *map, const float *field, const int to[3],
               double *out, double total[5])
{
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (int k = 0; total && k < 5; k++)
        total[k] = 0;
    for (size_t i = 0; i < n; i++) {
        const double at[4] = {(double)(i % (size_t)size[0]), (double)(i / (size_t)size[0] % (size_t)size[1]),
                              (double)(i / ((size_t)size[0] * (size_t)size[1])), 1};
        double p[3], f[3], value = (double)in[i];
        int base[3];
        bool inside = isfinite(value);
        for (int a = 0; a < 3; a++) {
            p[a] = 0;
            for (int b = 0; b < 4; b++)
                p[a] += (double)map->linear[a][b] * at[b];
            for (int b = 0; field && b < 3; b++)
                p[a] += (double)map->shift[a][b] * (double)field[(size_t)b * n + i];
            inside = inside && p[a] >= -.5 && p[a] <= to[a] - .5;
        }
        if (!inside)
            continue;
        for (int a = 0; a < 3; a++) {
            double q = fmin(fmax(p[a], 0), to[a] - 1);
            base[a] = (int)q;
            f[a] = q - base[a];
            if (total)
                total[1 + a] += value * q;
        }
        if (total) {
            total[0] += value;
            total[4] += fabs(value);
        }
        for (int k = 0; k < 8; k++) {
            double weight = value;
            size_t j = 0;
            for (int a = 2; a >= 0; a--) {
                int up = k >> a & 1;
                weight *= up ? f[a] : 1 - f[a];
                j = j * (size_t)to[a] + (size_t)(base[a] + up);
            }
            if (weight != 0)
                out[j] += weight;
        }
    }
}
