/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/bands.h"

#include <stddef.h>

void ref_bands(const float *in, const int size[3], int axis, int rows, const double *matrix, double *out)
{
    int to[3] = {size[0], size[1], size[2]};
    to[axis] = rows;
    for (int z = 0; z < to[2]; z++)
        for (int y = 0; y < to[1]; y++)
            for (int x = 0; x < to[0]; x++) {
                const int at[3] = {x, y, z};
                double sum = 0;
                for (int k = 0; k < size[axis]; k++) {
                    int from[3] = {x, y, z};
                    from[axis] = k;
                    sum += matrix[at[axis] * size[axis] + k] *
                           in[((size_t)from[2] * (size_t)size[1] + (size_t)from[1]) * (size_t)size[0] +
                              (size_t)from[0]];
                }
                out[((size_t)z * (size_t)to[1] + (size_t)y) * (size_t)to[0] + (size_t)x] = sum;
            }
}
