/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/velocity_sum.h"

#include <math.h>

void ref_velocity_sum(const double *u, const double *back, double weight, double unit, size_t count,
                      double *sum)
{
    for (size_t i = 0; i < count; i++) {
        const double units = weight * (u[i] - back[i]) / 2 * unit;
        sum[i] += isfinite(units) ? rint(units) : 0;
    }
}
