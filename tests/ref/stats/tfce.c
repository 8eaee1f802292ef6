/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/stats/tfce.h"

#include <math.h>
#include <stdlib.h>

typedef struct flood {
    const float *t;
    const int *size;
    double level;
    int connectivity, count;
    int *found;
    char *seen;
} flood;

static void spread(flood *f, int x, int y, int z)
{
    if (x < 0 || y < 0 || z < 0 || x >= f->size[0] || y >= f->size[1] || z >= f->size[2])
        return;
    int at = (z * f->size[1] + y) * f->size[0] + x;
    if (f->seen[at] || !((double)f->t[at] >= f->level))
        return;
    f->seen[at] = 1;
    f->found[f->count++] = at;
    for (int c = -1; c <= 1; c++)
        for (int b = -1; b <= 1; b++)
            for (int a = -1; a <= 1; a++)
                if (f->connectivity == 26 || abs(a) + abs(b) + abs(c) == 1)
                    spread(f, x + a, y + b, z + c);
}

void ref_tfce(const float *t, const int size[3], double step, double height, double extent, int connectivity,
              double *out)
{
    const int n = size[0] * size[1] * size[2];
    double most = 0;
    flood f = {t, size, 0, connectivity, 0, malloc((size_t)n * sizeof(int)), NULL};
    for (int i = 0; i < n; i++) {
        out[i] = 0;
        most = fmax(most, (double)t[i]);
    }
    for (int k = 1; k * step <= most; k++) {
        f.level = k * step;
        f.seen = calloc((size_t)n, 1);
        for (int i = 0; i < n; i++) {
            f.count = 0;
            spread(&f, i % size[0], i / size[0] % size[1], i / size[0] / size[1]);
            for (int j = 0; j < f.count; j++)
                out[f.found[j]] += pow(f.count, extent) * pow(f.level, height) * step;
        }
        free(f.seen);
    }
    free(f.found);
}
