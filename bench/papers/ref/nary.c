/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/nary.h"

#include <math.h>

void ref_nary(bool most, const float *in, int count, int n, double *out)
{
    for (int i = 0; i < n; i++) {
        double value = (double)in[i];
        for (int k = 1; k < count; k++) {
            const double next = (double)in[(long)k * n + i];
            value = most ? fmax(value, next) : value + next;
        }
        out[i] = most ? value : value / count;
    }
}
