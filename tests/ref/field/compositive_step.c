/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/field/compositive_step.h"

#include <math.h>

#include "ref/field/compose.h"

void ref_compositive_step(const float *u, const float *v, const int size[3], const float spacing[3], double step,
                 double longest, double rim, double slack, double *out, int *unsure)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    bool moves = longest > 0 && isfinite(longest);
    double s = moves ? step / fmax(longest, 1e-30) : 0;
    for (size_t i = 0; i < n; i++) {
        const int x[3] = {(int)(i % (size_t)size[0]), (int)(i / (size_t)size[0] % (size_t)size[1]),
                          (int)(i / ((size_t)size[0] * (size_t)size[1]))};
        double p[3], d[3], share = 1;
        for (int a = 0; a < 3; a++)
            if (rim > 0 && size[a] > 1)
                share = fmin(share, fmin(x[a], size[a] - 1 - x[a]) / rim);
        unsure[i] = 0;
        for (int a = 0; a < 3; a++) {
            d[a] = moves && share > 0 ? share * s * v[(size_t)a * n + i] : 0;
            p[a] = x[a] + d[a] / (double)spacing[a];
            p[a] = fmin(fmax(p[a], 0), size[a] - 1);
            /* A weight of nearly 0 times NaN is NaN or nothing. */
            if (fabs(p[a] - rint(p[a])) < slack && fabs(p[a] - rint(p[a])) > 0)
                unsure[i] = 1;
        }
        for (int c = 0; c < 3; c++)
            out[(size_t)c * n + i] = share > 0 ? d[c] + ref_component(u, size, p, c) : 0;
    }
}
