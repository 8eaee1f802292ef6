/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/gaussian.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int at_edge(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

void ref_gaussian(const double *in, const int size[3], const double sigma[3], double *out)
{
    size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    double *now = malloc(voxels * sizeof *now);
    memcpy(out, in, voxels * sizeof *out);
    for (int axis = 0; axis < 3; axis++) {
        if (!(sigma[axis] > 0))
            continue;
        int radius = (int)ceil(3 * sigma[axis]);
        radius = radius < 1 ? 1 : radius;
        memcpy(now, out, voxels * sizeof *now);
        size_t to = 0;
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++) {
                    double sum = 0, total = 0;
                    for (int k = -radius; k <= radius; k++) {
                        int p[3] = {x, y, z};
                        p[axis] = at_edge(p[axis] + k, size[axis]);
                        double w = exp(-k * k / (2 * sigma[axis] * sigma[axis]));
                        sum += w * now[((size_t)p[2] * (size_t)size[1] + (size_t)p[1]) * (size_t)size[0] +
                                       (size_t)p[0]];
                        total += w;
                    }
                    out[to++] = sum / total;
                }
    }
    free(now);
}
