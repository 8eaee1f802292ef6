/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/fma_rate.h"

double ref_fma_rate(double start, double factor, double term, int steps)
{
    double sum = 0;
    for (int chain = 0; chain < 16; chain++) {
        double x = start + chain;
        for (int i = 0; i < steps; i++)
            x = x * factor + term;
        sum += x;
    }
    return sum;
}
