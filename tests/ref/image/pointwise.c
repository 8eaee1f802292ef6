/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/pointwise.h"

#include <math.h>

void ref_pointwise(clv_pointwise_kind kind, double *out, int n, const float *a, const float *b,
                   const float *c, const float k[4])
{
    for (int i = 0; i < n; i++) {
        double x = a[i], y = b ? b[i] : 0, z = c ? c[i] : 0, line = k[0] * x + k[1];
        switch (kind) {
        case CLV_POINTWISE_LINEAR:
            out[i] = k[0] * x + k[1] * y + k[2] * z + k[3];
            break;
        case CLV_POINTWISE_MULTIPLY:
            out[i] = k[0] * x * y + k[1] * z;
            break;
        case CLV_POINTWISE_DIVIDE:
            out[i] = fabs(y) <= k[1] ? 0 : k[0] * x / y;
            break;
        case CLV_POINTWISE_CLAMP:
            out[i] = line < k[2] ? k[2] : line > k[3] ? k[3] : line;
            break;
        case CLV_POINTWISE_LOG:
            out[i] = log(x < k[0] ? k[0] : x);
            break;
        case CLV_POINTWISE_ABS:
            out[i] = fabs(x);
            break;
        case CLV_POINTWISE_SQUARE_DIFFERENCE:
            out[i] = k[0] * (x - y) * (x - y);
            break;
        case CLV_POINTWISE_THRESHOLD:
            out[i] = x > k[0] ? k[1] : k[2];
            break;
        case CLV_POINTWISE_FINITE:
            out[i] = isfinite(x) ? x : k[0];
            break;
        case CLV_POINTWISE_EXP:
            out[i] = exp(k[0] * x + k[1]);
            break;
        case CLV_POINTWISE_ROOT:
            out[i] = x < 0 ? 0 : sqrt(x);
            break;
        case CLV_POINTWISE_TUKEY:
            out[i] = fabs(x) < k[0] ? pow(1 - x * x / k[0] / k[0], 2) : 0;
            break;
        }
    }
}

void ref_pointwise_table(double *out, int n, const float *a, const float *from, const float *to,
                         int knots)
{
    for (int i = 0; i < n; i++) {
        double x = a[i];
        if (isnan(x))
            out[i] = x;
        else if (x < from[0])
            out[i] = to[0];
        else
            out[i] = to[knots - 1];
        for (int j = 0; j + 1 < knots; j++)
            if (x >= from[j] && x < from[j + 1])
                out[i] = to[j] + ((double)to[j + 1] - to[j]) * (x - from[j]) /
                                     ((double)from[j + 1] - from[j]);
    }
}
