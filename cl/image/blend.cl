/* SPDX-License-Identifier: Apache-2.0 */
/* u += w (v - u), one weight a voxel. */
#include "common/field_row.clh"

__kernel void blend_item(__global float *u, __global const float *v, __global const float *w, int n)
{
    int i = (int)get_global_id(0);
    if (i >= n)
        return;
    float3 a = load_vec(u, i, n);
    store_vec(a + w[i] * (load_vec(v, i, n) - a), u, i, n);
}

/* For CPU devices: each work-item MARCH voxels, eight at a time. */
__kernel void blend_run(__global float *u, __global const float *v, __global const float *w, int n)
{
    int i = (int)get_global_id(0) * MARCH, last = min(i + MARCH, n);
    for (; i + 8 <= last; i += 8) {
        float8 k = vload8(0, w + i);
        vec8 a = load_vec8(u, i, n), b = load_vec8(v, i, n);
        a.x += k * (b.x - a.x);
        a.y += k * (b.y - a.y);
        a.z += k * (b.z - a.z);
        store_vec8(a, u, i, n);
    }
    for (; i < last; i++) {
        float3 a = load_vec(u, i, n);
        store_vec(a + w[i] * (load_vec(v, i, n) - a), u, i, n);
    }
}
