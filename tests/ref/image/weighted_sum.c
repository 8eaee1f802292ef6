/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/weighted_sum.h"

#include <math.h>

void ref_weighted_sum(const double *x, double weight, size_t count, double *sums)
{
    for (size_t i = 0; i < count; i++)
        if (isfinite(x[i])) {
            sums[2 * i] += weight * x[i];
            sums[2 * i + 1] += weight;
        }
}
