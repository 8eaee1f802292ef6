/* SPDX-License-Identifier: Apache-2.0 */
/* The adjoint of next(i) = d(i) + s w(i + d(i)): what g = dS/dnext makes of d, in
 * place, and of w, added to sums in whole units, so that the order in which
 * voxels arrive does not show. w goes on beyond its border; there its derivative
 * across the border is 0. */
#include "common/grid.clh"
#include "common/sample.clh"

#define UNITS 1048576.0f

/* g + s (Dw)^T g with the interpolant's own derivative; rate: s / spacing. */
static inline float3 turned_back(__global const float *w, int4 size, float3 p, float3 g, float3 rate)
{
    float3 dx, dy, dz;
    sample_vec_gradient(w, size, p, &dx, &dy, &dz);
    return g + rate * (float3)(dot(dx, g), dot(dy, g), dot(dz, g));
}

static inline float3 position(__global const float *d, int i, int n, int x, int y, int z, float3 per_mm)
{
    return (float3)((float)x, (float)y, (float)z) + per_mm * load_vec(d, i, n);
}

/* Units of the longest g; 0 where there is none. */
static inline float units_of(float longest)
{
    return longest > 0.0f && longest < INFINITY ? UNITS / longest : 0.0f;
}

static inline void add(__global int *sums, int i, int n, float3 units)
{
    atomic_add(&sums[VEC_AT(i, 0, n)], convert_int_rte(units.x));
    atomic_add(&sums[VEC_AT(i, 1, n)], convert_int_rte(units.y));
    atomic_add(&sums[VEC_AT(i, 2, n)], convert_int_rte(units.z));
}

__kernel void compose_adjoint_item(__global const float *d, __global const float *w, grid on, float s,
                                   __global const float *state, int slot, __global float *g,
                                   __global int *sums)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 p = position(d, i, n, x, y, z, per_mm.xyz), here = load_vec(g, i, n), units = units_of(state[slot]) * here;
    cell at = whole_cell(position_clamp(p, size), size);
    store_vec(turned_back(w, size, p, here, s * per_mm.xyz), g, i, n);
    float3 f = (float3)(at.fx, at.fy, at.fz), r = 1.0f - f;
    int j = at.base, k = at.base + at.dz;
    add(sums, j, n, r.x * r.y * r.z * units);
    add(sums, j + at.dx, n, f.x * r.y * r.z * units);
    add(sums, j + at.dy, n, r.x * f.y * r.z * units);
    add(sums, j + at.dy + at.dx, n, f.x * f.y * r.z * units);
    add(sums, k, n, r.x * r.y * f.z * units);
    add(sums, k + at.dx, n, f.x * r.y * f.z * units);
    add(sums, k + at.dy, n, r.x * f.y * f.z * units);
    add(sums, k + at.dy + at.dx, n, f.x * f.y * f.z * units);
}

static inline void flush(__global int *sums, cell at, int n, const int3 kept[4])
{
    int edges[4] = {at.base + at.dx, at.base + at.dx + at.dy, at.base + at.dx + at.dz,
                    at.base + at.dx + at.dz + at.dy};
    for (int e = 0; e < 4; e++) {
        atomic_add(&sums[VEC_AT(edges[e], 0, n)], kept[e].x);
        atomic_add(&sums[VEC_AT(edges[e], 1, n)], kept[e].y);
        atomic_add(&sums[VEC_AT(edges[e], 2, n)], kept[e].z);
    }
}

/* A row: what a voxel adds on its right is kept and joined with what the next one
 * adds on its left, mostly the same place: half the atomic additions. */
__kernel void compose_adjoint_row(__global const float *d, __global const float *w, grid on, float s,
                                  __global const float *state, int slot, __global float *g,
                                  __global int *sums)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    float scale = units_of(state[slot]);
    int3 kept[4];
    cell before;
    for (int x = 0; x < size.x; x++) {
        int i = row + x;
        float3 p = position(d, i, n, x, y, z, per_mm.xyz), here = load_vec(g, i, n), units = scale * here;
        cell at = whole_cell(position_clamp(p, size), size);
        store_vec(turned_back(w, size, p, here, s * per_mm.xyz), g, i, n);
        float3 f = (float3)(at.fx, at.fy, at.fz), r = 1.0f - f;
        float share[4] = {r.y * r.z, f.y * r.z, r.y * f.z, f.y * f.z};
        int edges[4] = {at.base, at.base + at.dy, at.base + at.dz, at.base + at.dz + at.dy};
        bool joined = x > 0 && at.base == before.base + before.dx;
        if (x > 0 && !joined)
            flush(sums, before, n, kept);
        for (int e = 0; e < 4; e++) {
            int3 left = convert_int3_rte(r.x * share[e] * units);
            if (joined)
                left += kept[e];
            atomic_add(&sums[VEC_AT(edges[e], 0, n)], left.x);
            atomic_add(&sums[VEC_AT(edges[e], 1, n)], left.y);
            atomic_add(&sums[VEC_AT(edges[e], 2, n)], left.z);
            kept[e] = convert_int3_rte(f.x * share[e] * units);
        }
        before = at;
    }
    flush(sums, before, n, kept);
}

/* out = factor times the sums, which are 0 again. */
static inline void total(__global int *sums, float scale, __global float *out, int i)
{
    out[i] = scale * (float)sums[i];
    sums[i] = 0;
}

__kernel void compose_adjoint_total(__global int *sums, float factor, __global const float *state, int slot,
                                    __global float *out, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    float longest = state[slot], scale = longest > 0.0f && longest < INFINITY ? factor * longest / UNITS : 0.0f;
    for (int i = first; i < end; i++)
        total(sums, scale, out, i);
}
