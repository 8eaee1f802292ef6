/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/velocity_sum.h"

#include <math.h>

void ref_velocity_sum(const double *u, const double *back, double weight, size_t count, double *sum)
{
    for (size_t i = 0; i < count; i++) {
        const double units = ldexp(weight * (u[i] - back[i]) / 2, 34);
        sum[i] += isfinite(units) ? rint(units) : 0;
    }
}
