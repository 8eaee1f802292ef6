/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of 1 to 8 volumes in one pass (Ha 2011, figure 2.6), or (MOST) the largest. Built with INPUTS;
 * the other arguments are NULL. */
#ifndef INPUTS
#define INPUTS 2
#endif
#if MOST
#define WITH(k) if (INPUTS > k) value = fmax(value, in##k[i])
#define DONE(value) (value)
#else
#define WITH(k) if (INPUTS > k) value += in##k[i]
#define DONE(value) ((value) * (1.0f / INPUTS))
#endif
#define VOLUME __global const float *

__kernel void nary(VOLUME in0, VOLUME in1, VOLUME in2, VOLUME in3, VOLUME in4, VOLUME in5, VOLUME in6,
                   VOLUME in7, __global float *out, int n)
{
    const int first = (int)get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++) {
        float value = in0[i];
        WITH(1);
        WITH(2);
        WITH(3);
        WITH(4);
        WITH(5);
        WITH(6);
        WITH(7);
        out[i] = DONE(value);
    }
}
