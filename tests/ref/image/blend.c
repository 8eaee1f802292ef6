/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/blend.h"

void ref_blend(const float *u, const float *v, const float *w, size_t n, double *out)
{
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++)
            out[c * n + i] = u[c * n + i] + w[i] * ((double)v[c * n + i] - u[c * n + i]);
}
