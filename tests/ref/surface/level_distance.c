/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/surface/level_distance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double value(const float *values, const int size[3], double iso, int x, int y, int z)
{
    double v = (double)values[(z * size[1] + y) * size[0] + x] - iso;
    return isnan(v) ? -1 : v;
}

/* At a point of the grid, in voxels. */
static double sample(const float *values, const int size[3], double iso, const double p[3])
{
    int base[3], next[3];
    double t[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        base[a] = (int)floor(p[a]);
        base[a] = base[a] > size[a] - 2 ? size[a] - 2 : base[a];
        base[a] = base[a] < 0 ? 0 : base[a];
        next[a] = base[a] + 1 < size[a] ? base[a] + 1 : base[a];
        t[a] = p[a] - base[a];
    }
    for (int c = 0; c < 8; c++)
        sum += value(values, size, iso, c & 1 ? next[0] : base[0], c & 2 ? next[1] : base[1],
                     c & 4 ? next[2] : base[2]) *
               (c & 1 ? t[0] : 1 - t[0]) * (c & 2 ? t[1] : 1 - t[1]) * (c & 4 ? t[2] : 1 - t[2]);
    return sum;
}

typedef struct points {
    double (*at)[3];
    size_t count, room;
} points;

static void add(points *list, const double p[3])
{
    if (list->count == list->room) {
        list->room = 2 * list->room + 1024;
        list->at = realloc(list->at, list->room * sizeof *list->at);
    }
    memcpy(list->at[list->count++], p, 3 * sizeof *p);
}

/* Crossings along the lines through the grid in one direction, `fine` lines a
 * voxel, by halving. */
static void cross(const float *values, const int size[3], double iso, int axis, int fine, points *list)
{
    int b = (axis + 1) % 3, c = (axis + 2) % 3;
    for (int j = 0; j <= fine * (size[b] - 1); j++)
        for (int k = 0; k <= fine * (size[c] - 1); k++)
            for (int i = 0; i < fine * (size[axis] - 1); i++) {
                double low[3], high[3], middle[3];
                low[b] = high[b] = (double)j / fine;
                low[c] = high[c] = (double)k / fine;
                low[axis] = (double)i / fine;
                high[axis] = (double)(i + 1) / fine;
                int side = sample(values, size, iso, low) > 0;
                if ((sample(values, size, iso, high) > 0) == side)
                    continue;
                for (int h = 0; h < 30; h++) {
                    for (int a = 0; a < 3; a++)
                        middle[a] = (low[a] + high[a]) / 2;
                    int there = sample(values, size, iso, middle) > 0;
                    memcpy(there == side ? low : high, middle, sizeof middle);
                }
                add(list, low);
            }
}

void ref_level(const float *values, const int size[3], const float spacing[3], double iso, double reach,
               int fine, double *out)
{
    points list = {0};
    for (int axis = 0; axis < 3; axis++)
        cross(values, size, iso, axis, fine, &list);
    for (int i = 0; i < size[0] * size[1] * size[2]; i++) {
        int at[3] = {i % size[0], i / size[0] % size[1], i / size[0] / size[1]};
        double least = reach * reach;
        for (size_t k = 0; k < list.count; k++) {
            double square = 0;
            for (int a = 0; a < 3; a++)
                square += pow((list.at[k][a] - at[a]) * (double)spacing[a], 2);
            least = fmin(least, square);
        }
        out[i] = (value(values, size, iso, at[0], at[1], at[2]) > 0 ? -1 : 1) * sqrt(least);
    }
    free(list.at);
}
