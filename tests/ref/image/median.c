/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/median.h"

#include <math.h>
#include <stdlib.h>

static int clamp(int i, int n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* NaN last. */
static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return !!isnan(x) - !!isnan(y);
    return (x > y) - (x < y);
}

void ref_median(const float *in, const int size[3], const int radius[3], double *out)
{
    size_t all = (size_t)(2 * radius[0] + 1) * (size_t)(2 * radius[1] + 1) * (size_t)(2 * radius[2] + 1);
    double *box = malloc(all * sizeof *box);
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++) {
                size_t count = 0;
                for (int c = -radius[2]; c <= radius[2]; c++)
                    for (int b = -radius[1]; b <= radius[1]; b++)
                        for (int a = -radius[0]; a <= radius[0]; a++)
                            box[count++] = (double)in[(clamp(z + c, size[2]) * size[1] + clamp(y + b, size[1])) * size[0] +
                                                      clamp(x + a, size[0])];
                qsort(box, all, sizeof *box, ascending);
                *out++ = box[all / 2];
            }
    free(box);
}
