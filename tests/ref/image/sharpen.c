/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/sharpen.h"

#include <math.h>

void ref_sharpen(const float *u, const float *mask, const float *table, double low, double high, int bins,
                 double *r, int n)
{
    for (int i = 0; i < n; i++) {
        double place = high > low ? (u[i] - low) / (high - low) * (bins - 1) : 0;
        place = fmin(fmax(place, 0), bins - 1);
        int at = (int)fmin(floor(place), bins - 2);
        double expected = table[at] + (place - at) * ((double)table[at + 1] - table[at]);
        r[i] = mask[i] > 0 ? u[i] - expected : 0;
    }
}
