/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/stored_matrix.h"

void ref_matrix_multiply(const float *v, const int size[3], double alpha, double gamma, double *out)
{
    const int step[3] = {1, size[0], size[0] * size[1]};
    for (int z = 0, i = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const int at[3] = {x, y, z};
                out[i] = (6 * alpha + gamma) * (double)v[i];
                for (int a = 0; a < 3; a++) {
                    if (at[a] > 0)
                        out[i] -= alpha * (double)v[i - step[a]];
                    if (at[a] + 1 < size[a])
                        out[i] -= alpha * (double)v[i + step[a]];
                }
            }
}
