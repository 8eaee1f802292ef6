/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/tensor_tv_schemes.h"

#include <stdlib.h>
#include <string.h>

/* Takes the block's voxels from one field to another. */
static void take_block(const ref_tensor_tv *m, const int low[3], const int high[3], const double *from, double *to)
{
    const int *size = m->size;
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (int z = low[2]; z < high[2] && z < size[2]; z++)
        for (int y = low[1]; y < high[1] && y < size[1]; y++)
            for (int x = low[0]; x < high[0] && x < size[0]; x++) {
                size_t i = ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x;
                for (size_t c = 0; c < 6; c++)
                    to[c * n + i] = from[c * n + i];
            }
}

void ref_tensor_blocks(const ref_tensor_tv *m, double *d, const int block[3], bool alone, int steps)
{
    size_t n = (size_t)m->size[0] * (size_t)m->size[1] * (size_t)m->size[2];
    double *before = malloc(6 * n * sizeof *before), *field = malloc(6 * n * sizeof *field);
    memcpy(before, d, 6 * n * sizeof *before);
    ref_tensor_tv one = *m;
    one.alone = alone;
    for (int z = 0; z < m->size[2]; z += block[2])
        for (int y = 0; y < m->size[1]; y += block[1])
            for (int x = 0; x < m->size[0]; x += block[0]) {
                const int low[3] = {x, y, z};
                for (int a = 0; a < 3; a++) {
                    one.low[a] = low[a];
                    one.high[a] = low[a] + block[a];
                }
                memcpy(field, before, 6 * n * sizeof *field);
                for (int k = 0; k < steps; k++)
                    ref_tensor_step(&one, field);
                take_block(m, one.low, one.high, field, d);
            }
    free(before);
    free(field);
}
