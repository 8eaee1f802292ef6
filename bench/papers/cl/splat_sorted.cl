/* SPDX-License-Identifier: Apache-2.0 */
/* Splatting without collisions (Ha 2011, section 3.3.2.2): each voxel's eight shares with the nodes that
 * they go to, which are then sorted by node and summed by segments. Shares in units as in splat.cl, and so
 * the same sums. */
#define HAS_FIELD 1
#include "field/splat.cl"

/* Shares that go nowhere get the node behind the last one. */
__kernel void splat_contribute(__global const float *in, int4 size, map m, __global const float *field,
                               float most, int4 to, __global int *beyond, __global uint *nodes,
                               __global float *values)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    size_t i = (size_t)((z * size.y + y) * size.x + x), n = (size_t)size.x * size.y * size.z;
    landing a = landing_of(in, size, m, field, most, 1.0f, to, beyond, x, y, z);
    float3 f = a.f, r = 1.0f - f;
    int base = (a.base.z * to.y + a.base.y) * to.x + a.base.x;
    for (int k = 0; k < 8; k++) {
        int dx = k & 1 ? a.up.x : 0, dy = k & 2 ? a.up.y : 0, dz = k & 4 ? a.up.z : 0;
        float edge = (k & 2 ? f.y : r.y) * (k & 4 ? f.z : r.z);
        nodes[k * n + i] = a.lands ? base + (dz * to.y + dy) * to.x + dx : to.x * to.y * to.z;
        values[k * n + i] = a.lands ? (k & 1 ? f.x : r.x) * edge * a.units : 0.0f;
    }
}

__kernel void splat_units(__global const float *values, float scale, int count, __global long *units)
{
    int i = get_global_id(0);
    if (i < count)
        units[i] = convert_long_rte(values[i] * scale);
}

/* units: sums of each segment up to here. */
__kernel void splat_ends(__global const uint *nodes, __global const long *units, int count, uint last,
                         __global long *sums)
{
    int i = get_global_id(0);
    if (i < count && nodes[i] < last && (i + 1 == count || nodes[i + 1] != nodes[i]))
        sums[nodes[i]] = units[i];
}
