/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/anatomy/currents.h"

#include <math.h>
#include <string.h>

double ref_currents(const float *target, int targets, const float *source, int sources, double width, bool varifold,
                    double *gradient)
{
    double product = 0;
    if (gradient)
        memset(gradient, 0, 8 * (size_t)targets * sizeof *gradient);
    for (int i = 0; i < targets; i++) {
        const float *x = target + 8 * i, *n = x + 4;
        double *to = gradient ? gradient + 8 * i : NULL;
        for (int j = 0; j < sources; j++) {
            const float *y = source + 8 * j, *m = y + 4;
            double square = 0, cosine = 0;
            for (int k = 0; k < 3; k++) {
                square += ((double)x[k] - (double)y[k]) * ((double)x[k] - (double)y[k]);
                cosine += (double)n[k] * (double)m[k];
            }
            double weight = exp(-square / (width * width)) * (double)m[3], term = weight * (varifold ? cosine * cosine : cosine);
            product += (double)n[3] * term;
            for (int k = 0; to && k < 3; k++) {
                to[k] += (double)n[3] * term * -2 * ((double)x[k] - (double)y[k]) / (width * width);
                to[4 + k] += weight * (varifold ? 2 * cosine : 1) * (double)m[k];
            }
            if (to)
                to[7] += term;
        }
    }
    return product;
}
