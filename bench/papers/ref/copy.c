/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/ref/copy.h"

void ref_copy(const float *in, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i];
}
