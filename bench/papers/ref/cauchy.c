/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/cauchy.h"

#include <stddef.h>

double ref_cauchy(const float *target, int targets, const float *source, int sources, double width,
                  double *shares)
{
    double product = 0;
    for (int i = 0; i < targets; i++) {
        const float *a = target + 8 * (size_t)i;
        double sum = 0;
        for (int j = 0; j < sources; j++) {
            const float *b = source + 8 * (size_t)j;
            double square = 0, along = 0;
            for (int k = 0; k < 3; k++) {
                const double d = (double)a[k] - (double)b[k];
                square += d * d;
                along += (double)a[4 + k] * (double)b[4 + k];
            }
            sum += along * (double)b[7] / (1 + square / (width * width));
        }
        if (shares)
            shares[i] = (double)a[7] * sum;
        product += (double)a[7] * sum;
    }
    return product;
}
