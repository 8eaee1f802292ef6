/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/ceiling.h"

void ref_ceiling_local(const float *in, int group, int l, int steps, double sums[4])
{
    for (int c = 0; c < 4; c++) {
        sums[c] = 0;
        for (int i = 0; i < steps; i++)
            sums[c] += (double)in[4 * ((l + i) % group) + c];
    }
}

double ref_ceiling_reads(const float *in, int cells, int l, int steps)
{
    static const int away[8] = {0, 1, 33, 34, 66, 67, 99, 100};
    double sum = 0;
    for (int i = 0; i < steps; i++)
        sum += (double)in[(l + 37 * (i / 8 * 8)) % cells + away[i % 8]];
    return sum;
}

void ref_ceiling_atomics(int count, int items, int steps, int *counters)
{
    for (int i = 0; i < count; i++)
        counters[i] = 0;
    for (int g = 0; g < items; g++)
        for (int i = 0; i < steps; i++)
            counters[(g + 31 * i) % count]++;
}
