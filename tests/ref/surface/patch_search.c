/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/surface/patch_search.h"

#include <math.h>
#include <stdlib.h>

static int at(const int size[3], const int p[3])
{
    return (p[2] * size[1] + p[1]) * size[0] + p[0];
}

/* phi beyond the grid: the nearest voxel's value and, along each axis, the
 * outward slope there times the way. */
static double sample(const float *phi, const int size[3], const int p[3])
{
    int inside[3];
    for (int axis = 0; axis < 3; axis++)
        inside[axis] = p[axis] < 0 ? 0 : p[axis] >= size[axis] ? size[axis] - 1 : p[axis];
    double value = phi[at(size, inside)];
    for (int axis = 0; axis < 3; axis++) {
        int out = p[axis] - inside[axis];
        if (out == 0 || size[axis] == 1)
            continue;
        int before[3] = {inside[0], inside[1], inside[2]};
        before[axis] += out < 0 ? 1 : -1;
        double slope = (double)phi[at(size, inside)] - (double)phi[at(size, before)];
        value += (out < 0 ? -out : out) * slope;
    }
    return value;
}

static void gather(const float *phi, const int size[3], int radius, int a, double *patch)
{
    for (int z = -radius; z <= radius; z++)
        for (int y = -radius; y <= radius; y++)
            for (int x = -radius; x <= radius; x++) {
                const int p[3] = {a % size[0] + x, a / size[0] % size[1] + y, a / (size[0] * size[1]) + z};
                *patch++ = sample(phi, size, p);
            }
}

static double distance_of(const double *a, const double *b, int samples)
{
    double sum = 0;
    for (int k = 0; k < samples; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

double ref_nlm_distance(const float *phi, const int size[3], int radius, int a, int b)
{
    double one[343], other[343];
    int side = 2 * radius + 1;
    gather(phi, size, radius, a, one);
    gather(phi, size, radius, b, other);
    return distance_of(one, other, side * side * side);
}

void ref_patch_search(const float *phi, const int size[3], const int *band, int count, int radius, int most,
                    double reach, int *neighbours, double *distances)
{
    int side = 2 * radius + 1, samples = side * side * side;
    double *patches = malloc((size_t)count * (size_t)samples * sizeof *patches);
    for (int j = 0; j < count; j++)
        gather(phi, size, radius, band[j], patches + j * samples);
    for (int j = 0; j < count; j++) {
        int *n = neighbours + j * most;
        double *d = distances + j * most;
        for (int k = 0; k < most; k++) {
            n[k] = -1;
            d[k] = INFINITY;
        }
        for (int l = 0; l < count; l++) {
            double way = 0;
            for (int axis = 0, stride = 1; axis < 3; stride *= size[axis++]) {
                int a = band[j] / stride % size[axis], b = band[l] / stride % size[axis];
                way += (double)(a - b) * (a - b);
            }
            if (l == j || (reach > 0 && way > reach * reach))
                continue;
            double distance = distance_of(patches + j * samples, patches + l * samples, samples);
            if (!(distance < d[most - 1]))
                continue;
            int k = most - 1;
            for (; k > 0 && distance < d[k - 1]; k--) {
                d[k] = d[k - 1];
                n[k] = n[k - 1];
            }
            d[k] = distance;
            n[k] = l;
        }
    }
    free(patches);
}
