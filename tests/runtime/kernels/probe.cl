/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the tests of the runtime: out = factor * in + ADD in several shapes. */
#include "probe.clh"

__kernel void probe_broken(__global float *out)
{
    this is no OpenCL C;
}

#define PROBE_ARGUMENTS __global const float *in, __global float *out, int4 size, float factor

__kernel void probe_item(PROBE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z) {
        int i = voxel(x, y, z, size);
        out[i] = factor * in[i] + ADD;
    }
}

__kernel void probe_row(PROBE_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y < size.y && z < size.z)
        for (int x = 0; x < size.x; x++) {
            int i = voxel(x, y, z, size);
            out[i] = factor * in[i] + ADD;
        }
}

/* A tile with a halo of one in local memory, marched along z. */
__kernel void probe_march(PROBE_ARGUMENTS)
{
    __local float cells[TILE_Y + 2][TILE_X + 2];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), y = get_global_id(1), z0 = get_global_id(2) * MARCH;
    for (int z = z0; z < z0 + MARCH; z++) {
        bool inside = x < size.x && y < size.y && z < size.z;
        cells[ly + 1][lx + 1] = inside ? in[voxel(x, y, z, size)] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inside)
            out[voxel(x, y, z, size)] = factor * cells[ly + 1][lx + 1] + ADD;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

__kernel void probe_line(PROBE_ARGUMENTS)
{
    int n = size.x * size.y * size.z;
    for (int k = 0; k < MARCH; k++) {
        int i = get_global_id(0) + k * get_global_size(0);
        if (i < n)
            out[i] = factor * in[i] + ADD;
    }
}

/* Work-groups stated by the caller; local memory that depends on the call. */
__kernel void probe_groups(PROBE_ARGUMENTS, __local float *scratch)
{
    int n = size.x * size.y * size.z, l = get_local_id(0);
    for (int start = get_group_id(0) * TILE_X; start < n; start += get_num_groups(0) * TILE_X) {
        int i = start + l;
        scratch[l] = i < n ? in[i] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < n)
            out[i] = factor * scratch[l] + ADD;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
