/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/reduce.h"

#include <math.h>

double ref_reduce(clv_reduce_kind kind, const float *a, const float *b, const float *weight, float k,
                  int n)
{
    double sum = 0, low = INFINITY, high = -INFINITY, high_abs = 0;
    for (int i = 0; i < n; i++) {
        double x = a[i], y = b ? b[i] : 0, w = weight ? weight[i] : 1;
        if (kind == CLV_REDUCE_SUM)
            sum += w * x;
        else if (kind == CLV_REDUCE_DOT)
            sum += w * x * y;
        else if (kind == CLV_REDUCE_SQUARE_DIFFERENCE)
            sum += w * (x - y) * (x - y);
        else if (kind == CLV_REDUCE_COUNT_NOT_ABOVE)
            sum += x <= k ? w : 0;
        if (w == 0 || isnan(x))
            continue;
        low = fmin(low, x);
        high = fmax(high, x);
        high_abs = fmax(high_abs, fabs(x));
    }
    return kind == CLV_REDUCE_MIN       ? low
           : kind == CLV_REDUCE_MAX     ? high
           : kind == CLV_REDUCE_MAX_ABS ? high_abs
                                        : sum;
}

double ref_reduce_longest(const float *field, const float scale[3], int voxels)
{
    double longest = 0;
    for (int i = 0; i < voxels; i++) {
        double square = 0;
        for (int c = 0; c < 3; c++) {
            double v = (double)field[c * voxels + i] * scale[c];
            square += v * v;
        }
        if (square > longest)
            longest = square;
    }
    return sqrt(longest);
}
