/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/histogram.h"

#include <math.h>

void ref_histogram(const float *a, const float *mask, int n, float low, float high, int bins,
                   int32_t *counts)
{
    float scale = high > low ? (float)bins / (high - low) : 0;
    for (int b = 0; b < bins; b++)
        counts[b] = 0;
    for (int i = 0; i < n; i++) {
        if (isnan(a[i]) || (mask && !(mask[i] > 0)))
            continue;
        float place = floorf((a[i] - low) * scale);
        int bin = !(place > 0) ? 0 : place > (float)(bins - 1) ? bins - 1 : (int)place;
        counts[bin]++;
    }
}
