/* SPDX-License-Identifier: Apache-2.0 */
#include "ref/image/unsharp.h"

void ref_unsharp(const float *in, const float *smooth, int n, double amount, double *out)
{
    for (int i = 0; i < n; i++)
        out[i] = smooth[i] + (1 + amount) * ((double)in[i] - smooth[i]);
}
