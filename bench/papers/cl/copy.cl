/* SPDX-License-Identifier: Apache-2.0 */
/* out = in: the ceiling of everything that streams. n4 counts float4s. */

__kernel void copy_item(__global const float4 *in, __global float4 *out, int n4)
{
    int i = (int)get_global_id(0);
    if (i < n4)
        out[i] = in[i];
}

/* For CPU devices: each work-item a contiguous run of MARCH float4s. */
__kernel void copy_run(__global const float4 *in, __global float4 *out, int n4)
{
    int first = (int)get_global_id(0) * MARCH, last = min(first + MARCH, n4);
    for (int i = first; i < last; i++)
        out[i] = in[i];
}
