/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a Gaussian over elements by way of a grid (Ha 2011, section 3.3): what elements carry is shared
 * among the 64 nodes around each by the cubic B-spline, convolved in the Fourier domain, and read at other
 * elements by the same spline. Elements are those of currents.cl. Currents carry normal times area, 3
 * numbers; varifolds area times normal times normal, 6, as two fields: xx, yy, zz, then xy, xz, yz. Built
 * with VARIFOLD and, for what is read, GRADIENT. An element outside of the box where the grid may be used is
 * left out and counted. */
#include "common/field.clh"
#include "common/fixed_sum.clh"
#include "common/group_reduce.clh"

#ifndef VARIFOLD
#define VARIFOLD 0
#endif
#ifndef GRADIENT
#define GRADIENT 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef CELLS
#define CELLS 1
#endif
enum { CARRIED = VARIFOLD ? 6 : 3 };

/* Position of a centre. grid: the place of node 0, then 1 / spacing; room: the greatest place, in nodes from the
 * first but one. Of each axis the first of four nodes, and the fraction beyond the second. Whether it is inside. */
static inline bool place_of(float4 centre, float4 grid, float4 room, int first[3], float f[3])
{
    float p[3] = {(centre.x - grid.x) * grid.w, (centre.y - grid.y) * grid.w, (centre.z - grid.z) * grid.w};
    float most[3] = {room.x, room.y, room.z};
    bool inside = true;
#pragma unroll
    for (int k = 0; k < 3; k++) {
        inside = inside && p[k] >= 1.0f && p[k] <= most[k];
        float whole = floor(inside ? p[k] : 1.0f);
        first[k] = (int)whole - 1;
        f[k] = inside ? p[k] - whole : 0.0f;
    }
    return inside;
}

/* The cubic B-spline's weights of four nodes, and their slopes. */
static inline void weights_of(float f, float w[4])
{
    float g = 1.0f - f, square = f * f, cube = square * f;
    w[0] = g * g * g * (1.0f / 6);
    w[1] = 2.0f / 3 - square + 0.5f * cube;
    w[3] = cube * (1.0f / 6);
    w[2] = 1.0f - w[0] - w[1] - w[3];
}

static inline void slopes_of(float f, float d[4])
{
    float g = 1.0f - f;
    d[0] = -0.5f * g * g;
    d[1] = f * (1.5f * f - 2.0f);
    d[3] = 0.5f * f * f;
    d[2] = -d[0] - d[1] - d[3];
}

/* One of some numbers by a choice: a place that is not known when the kernel is built would take them out of
 * registers. */
static inline float one_of(const float *w, int count, int k)
{
    float chosen = w[0];
#pragma unroll
    for (int i = 1; i < count; i++)
        chosen = i == k ? w[i] : chosen;
    return chosen;
}

/* ---- from elements to the grid ---- */

#define MESH_ARGUMENTS                                                                            \
    __global const float4 *element, int count, float4 grid, float4 room, int4 size, float factor, \
        float most, float scale, __global uint *sums, __global uint *more, __global int *beyond

/* Reads what an element carries, in units. Returns whether it counts. */
static inline bool carried_by(__global const float4 *element, int i, float4 grid, float4 room, float factor,
                              float most, float scale, int first[3], float f[3], float units[6])
{
    float4 n = element[2 * i + 1];
    float area = factor * n.w;
    bool counts = place_of(element[2 * i], grid, room, first, f) && fabs(n.w) <= most;
    area = counts ? area * scale : 0.0f;
    units[0] = area * n.x;
    units[1] = area * n.y;
    units[2] = area * n.z;
#if VARIFOLD
    float3 once = (float3)(units[0], units[1], units[2]);
    units[0] = once.x * n.x;
    units[1] = once.y * n.y;
    units[2] = once.z * n.z;
    units[3] = once.x * n.y;
    units[4] = once.x * n.z;
    units[5] = once.y * n.z;
#endif
    return counts;
}

/* To component c of node i. */
static inline void add_to(__global uint *sums, __global uint *more, int i, int c, int nodes, long units)
{
    if (units)
        add(c < 3 ? sums : more, VEC_AT(i, c < 3 ? c : c - 3, nodes), units);
}

static inline void add_all(__global uint *sums, __global uint *more, int4 size, const int first[3],
                           const float f[3], const float units[6])
{
    float wx[4], wy[4], wz[4];
    int nodes = size.x * size.y * size.z;
    weights_of(f[0], wx);
    weights_of(f[1], wy);
    weights_of(f[2], wz);
    for (int z = 0; z < 4; z++) {
        float across = one_of(wz, 4, z);
#pragma unroll
        for (int k = 0; k < 16; k++) {
            float w = across * wy[k >> 2] * wx[k & 3];
            int at = ((first[2] + z) * size.y + first[1] + (k >> 2)) * size.x + first[0] + (k & 3);
#pragma unroll
            for (int c = 0; c < CARRIED; c++)
                add_to(sums, more, at, c, nodes, convert_long_rte(w * units[c]));
        }
    }
}

__kernel void mesh_splat_item(MESH_ARGUMENTS)
{
    int i = get_global_id(0), first[3];
    float f[3], units[6];
    if (i >= count)
        return;
    if (carried_by(element, i, grid, room, factor, most, scale, first, f, units))
        add_all(sums, more, size, first, f, units);
    else
        atomic_inc(beyond);
}

/* A work-group adds up in local memory what its elements carry where the box around them is small, one
 * component after another. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void mesh_splat_tile(MESH_ARGUMENTS)
{
    __local uint box[2 * CELLS];
    __local int low[3], high[3];
    int item = get_local_id(0), i = get_global_id(0), first[3] = {0, 0, 0}, nodes = size.x * size.y * size.z;
    float f[3] = {0, 0, 0}, units[6] = {0, 0, 0, 0, 0, 0};
    bool counts = false;
    if (item < 3) {
        low[item] = INT_MAX;
        high[item] = -1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < count) {
        counts = carried_by(element, i, grid, room, factor, most, scale, first, f, units);
        if (!counts)
            atomic_inc(beyond);
    }
    if (counts) {
#pragma unroll
        for (int k = 0; k < 3; k++) {
            atomic_min(&low[k], first[k]);
            atomic_max(&high[k], first[k] + 3);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int3 from = (int3)(low[0], low[1], low[2]);
    int nx = high[0] < 0 ? 0 : high[0] - from.x + 1, ny = high[0] < 0 ? 0 : high[1] - from.y + 1;
    int nz = high[0] < 0 ? 0 : high[2] - from.z + 1;
    bool fits = (float)nx * (float)ny * (float)nz <= (float)CELLS;
    int cells = fits ? nx * ny * nz : 0;
    if (counts && !fits)
        add_all(sums, more, size, first, f, units);
    float wx[4], wy[4], wz[4];
    weights_of(f[0], wx);
    weights_of(f[1], wy);
    weights_of(f[2], wz);
    for (int c = 0; c < CARRIED; c++) {
        float carried = one_of(units, CARRIED, c);
        for (int k = item; k < 2 * cells; k += TILE_X)
            box[k] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int z = 0; z < (counts && fits ? 4 : 0); z++) {
            float across = one_of(wz, 4, z);
            int at = ((first[2] - from.z + z) * ny + first[1] - from.y) * nx + first[0] - from.x;
#pragma unroll
            for (int k = 0; k < 16; k++)
                add_local(box, at + (k >> 2) * nx + (k & 3),
                          convert_long_rte(across * wy[k >> 2] * wx[k & 3] * carried));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = item; k < cells; k += TILE_X) {
            long all = (long)((ulong)box[2 * k + 1] << 32 | box[2 * k]);
            int at = ((from.z + k / (nx * ny)) * size.y + from.y + k / nx % ny) * size.x + from.x + k % nx;
            add_to(sums, more, at, c, nodes, all);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* An item adds up a run of elements in memory of its own for as long as the box around them is small, four
 * nodes at a time. */
__kernel void mesh_splat_row(MESH_ARGUMENTS)
{
    long box[CARRIED][CELLS];
    int start = get_global_id(0) * MARCH, end = min(start + MARCH, count), nodes = size.x * size.y * size.z;
    while (start < end) {
        int low[3], high[3], stop = start, first[3];
        float f[3], units[6];
        for (; stop < end; stop++) {
            int l[3], h[3];
            bool inside = place_of(element[2 * stop], grid, room, first, f);
            for (int k = 0; k < 3; k++) {
                l[k] = stop == start ? first[k] : min(low[k], first[k]);
                h[k] = stop == start ? first[k] + 4 : max(high[k], first[k] + 4);
            }
            if (stop > start && (!inside || (h[0] - l[0]) * (h[1] - l[1]) * (h[2] - l[2]) > CELLS))
                break;
            for (int k = 0; k < 3; k++) {
                low[k] = l[k];
                high[k] = h[k];
            }
        }
        int nx = high[0] - low[0], ny = high[1] - low[1], cells = nx * ny * (high[2] - low[2]);
        for (int c = 0; c < CARRIED; c++)
            for (int k = 0; k < cells; k++)
                box[c][k] = 0;
        for (int i = start; i < stop; i++) {
            if (!carried_by(element, i, grid, room, factor, most, scale, first, f, units)) {
                atomic_inc(beyond);
                continue;
            }
            float wx[4], wy[4], wz[4];
            weights_of(f[0], wx);
            weights_of(f[1], wy);
            weights_of(f[2], wz);
            float4 row = (float4)(wx[0], wx[1], wx[2], wx[3]);
            int at = ((first[2] - low[2]) * ny + first[1] - low[1]) * nx + first[0] - low[0];
            for (int k = 0; k < 16; k++) {
                float4 w = wz[k >> 2] * wy[k & 3] * row;
                int to = at + ((k >> 2) * ny + (k & 3)) * nx;
                for (int c = 0; c < CARRIED; c++)
                    vstore4(vload4(0, box[c] + to) + convert_long4_rte(w * units[c]), 0, box[c] + to);
            }
        }
        for (int c = 0; c < CARRIED; c++)
            for (int k = 0; k < cells; k++) {
                int at =
                    ((low[2] + k / (nx * ny)) * size.y + low[1] + k / nx % ny) * size.x + low[0] + k % nx;
                add_to(sums, more, at, c, nodes, box[c][k]);
            }
        start = stop;
    }
}

/* ---- the kernel: what the Fourier transform is multiplied by is a product of three ---- */

__kernel void mesh_multiply(__global float2 *spectrum, int4 size, __global const float *factors)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), kept = size.x / 2 + 1;
    if (x >= kept || y >= size.y || z >= size.z)
        return;
    int n = kept * size.y * size.z, i = (z * size.y + y) * kept + x;
    float factor = factors[x] * factors[size.x + y] * factors[size.x + size.y + z];
    for (int c = 0; c < 3; c++)
        spectrum[c * n + i] *= factor;
}

/* ---- from the grid to elements ---- */

/* Value of the grid at a node: 3 numbers, or 6 times a normal. */
static inline float3 held_at(__global const float *a, __global const float *b, int i, int nodes, float3 n)
{
    float3 v = load_vec(a, i, nodes);
#if VARIFOLD
    float3 w = load_vec(b, i, nodes);
    v = (float3)(v.x * n.x + w.x * n.y + w.y * n.z, w.x * n.x + v.y * n.y + w.z * n.z,
                 w.y * n.x + w.z * n.y + v.z * n.z);
#endif
    return v;
}

/* e_i, to which the gradient of target i is added. */
static inline float read_one(__global const float4 *target, int i, float4 grid, float4 room, int4 size,
                             __global const float *a, __global const float *b, float factor,
                             __global float4 *gradient)
{
    float4 normal = target[2 * i + 1];
    float3 n = normal.xyz, held = (float3)(0.0f), by = (float3)(0.0f);
    int first[3], nodes = size.x * size.y * size.z;
    float f[3], wx[4], wy[4], wz[4];
    if (!place_of(target[2 * i], grid, room, first, f))
        return 0.0f;
    weights_of(f[0], wx);
    weights_of(f[1], wy);
    weights_of(f[2], wz);
#if GRADIENT
    float dx[4], dy[4], dz[4];
    slopes_of(f[0], dx);
    slopes_of(f[1], dy);
    slopes_of(f[2], dz);
#endif
    for (int z = 0; z < 4; z++) {
        float across = one_of(wz, 4, z);
#if GRADIENT
        float upwards = one_of(dz, 4, z);
#endif
#pragma unroll
        for (int y = 0; y < 4; y++) {
            int at = ((first[2] + z) * size.y + first[1] + y) * size.x + first[0];
            float3 along = (float3)(0.0f);
            float slope = 0.0f;
#pragma unroll
            for (int x = 0; x < 4; x++) {
                float3 v = held_at(a, b, at + x, nodes, n);
                along += wx[x] * v;
#if GRADIENT
                slope += dx[x] * dot(v, n);
#endif
            }
            held += across * wy[y] * along;
#if GRADIENT
            float value = dot(along, n);
            by += (float3)(across * wy[y] * slope, across * dy[y] * value, upwards * wy[y] * value);
#endif
        }
    }
    float e = dot(held, n);
#if GRADIENT
    gradient[2 * i].xyz += factor * normal.w * grid.w * by;
    gradient[2 * i + 1] += factor * (float4)(VARIFOLD ? 2.0f * held : held, e);
#endif
    return e;
}

#define READ_ARGUMENTS                                                                             \
    __global const float4 *target, int targets, float4 grid, float4 room, int4 size,               \
        __global const float *a, __global const float *b, float factor, __global float4 *gradient, \
        __global float *partial

/* A work-group a block of targets. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void mesh_read_group(READ_ARGUMENTS)
{
    __local float cell[TILE_X];
    int item = get_local_id(0), block = get_group_id(0), end = min(targets, (block + 1) * BLOCK);
    float mine = 0.0f;
    for (int i = block * BLOCK + item; i < end; i += TILE_X)
        mine += target[2 * i + 1].w * read_one(target, i, grid, room, size, a, b, factor, gradient);
    cell[item] = mine;
    group_fold(cell, 1, item, TILE_X, 1);
    if (item == 0)
        partial[block] = cell[0];
}

/* An item a block. */
__kernel void mesh_read_row(READ_ARGUMENTS)
{
    int block = get_group_id(0), end = min(targets, (block + 1) * BLOCK);
    float sum = 0.0f, lost = 0.0f;
    for (int i = block * BLOCK; i < end; i++) {
        float term =
            target[2 * i + 1].w * read_one(target, i, grid, room, size, a, b, factor, gradient) - lost;
        float next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    partial[block] = sum;
}
