/* SPDX-License-Identifier: Apache-2.0 */
/* Landmarks of two images that meet in a middle (or in the second one): where they
 * lie there, and the force that brings those of a pair together. */
#include "anatomy/place.clh"

#ifndef HAS_SECOND
#define HAS_SECOND 0
#endif
#ifndef GAUSSIAN
#define GAUSSIAN 0
#endif
#ifndef MARCH
#define MARCH 1
#endif

/* points: `count` of the first image, then of the second, in voxels. tracked: the same,
 * two float4 each: the place and (of the first) the squared distance, mm; the vector. */
__kernel void landmark_track_item(__global const float4 *points, int count, __global const float *u,
                                  __global const float *second, grid g, float weight, float4 axes,
                                  __global const float *state, int slot, __global float4 *tracked)
{
    int k = get_global_id(0);
    if (k >= count)
        return;
    spot a, b = {points[count + k].xyz, (float3)(0.0f), (float3)(0.0f), (float3)(0.0f)};
    float3 pull = (float3)(0.0f);
    find_place(u, g, points[k].xyz, &a);
#if HAS_SECOND
    find_place(second, g, points[count + k].xyz, &b);
#endif
    float3 apart = g.spacing.xyz * (a.at - b.at);
    float strength = 2.0f * weight * state[slot] / count;
#if HAS_SECOND
    pull = -strength * axes.xyz * pull_of(&b, g, apart);
#endif
    tracked[2 * k] = (float4)(a.at, dot(apart, apart));
    tracked[2 * k + 1] = (float4)(strength * axes.xyz * pull_of(&a, g, apart), 0.0f);
    tracked[2 * (count + k)] = (float4)(b.at, 0.0f);
    tracked[2 * (count + k) + 1] = (float4)(pull, 0.0f);
}

/* ---- the force ---- */

/* Weight of a landmark t voxels away along an axis of n; rate: 1 / sigma. Landmarks beyond a border pull as
 * interpolation there does: at it. */
#if GAUSSIAN
#define REACH(rate) (4.0f / (rate))
#define PLACE(p, n) (p)
#else
#define REACH(rate) 1.0f
#define PLACE(p, n) fmin(fmax(p, 0.0f), (n) - 1.0f)
#endif

static inline float share_of(float t, float rate, int n)
{
#if GAUSSIAN
    t *= rate;
    return n == 1 ? 1.0f : fabs(t) <= 4.0f ? 0.39894228f * rate * exp(-0.5f * t * t) : 0.0f;
#else
    return fmax(0.0f, 1.0f - fabs(t));
#endif
}

__kernel void landmark_force_item(__global const float4 *tracked, int first, int count, float4 rate,
                                  __global float *force, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 sum = (float3)(0.0f);
    bool any_near = false;
    for (int k = first; k < first + count; k++) {
        float4 at = tracked[2 * k];
        float share = share_of(z - PLACE(at.z, size.z), rate.z, size.z);
        if (share > 0.0f)
            share *= share_of(y - PLACE(at.y, size.y), rate.y, size.y);
        if (share > 0.0f)
            share *= share_of(x - PLACE(at.x, size.x), rate.x, size.x);
        if (share > 0.0f) {
            sum += share * tracked[2 * k + 1].xyz;
            any_near = true;
        }
    }
    if (any_near)
        store_vec(load_vec(force, i, n) + sum, force, i, n);
}

/* ---- many landmarks, trilinear: each voxel's in their order, with the bits of the kernels around ---- */

#if !GAUSSIAN
#define NOWHERE 0xffffffffu

/* The voxels that each landmark reaches, eight entries a landmark. */
__kernel void landmark_cells(__global const float4 *tracked, int first, int count, __global uint *cells,
                             __global uint *order, int4 size)
{
    int begin = get_global_id(0) * MARCH, end = min(begin + MARCH, count);
    for (int k = begin; k < end; k++) {
        float4 at = tracked[2 * (first + k)];
        float3 p = (float3)(PLACE(at.x, size.x), PLACE(at.y, size.y), PLACE(at.z, size.z));
        int3 base = (int3)((int)p.x, (int)p.y, (int)p.z);
        for (int c = 0; c < 8; c++) {
            int x = base.x + (c & 1), y = base.y + (c >> 1 & 1), z = base.z + (c >> 2);
            bool reached = x < size.x && y < size.y && z < size.z && share_of(x - p.x, 1.0f, size.x) > 0.0f &&
                           share_of(y - p.y, 1.0f, size.y) > 0.0f && share_of(z - p.z, 1.0f, size.z) > 0.0f;
            cells[8 * k + c] = reached ? (uint)((z * size.y + y) * size.x + x) : NOWHERE;
            order[8 * k + c] = k;
        }
    }
}

/* Entries by voxel: where a voxel's begin, all of them are added. */
#define FIRST_OF(e) (cells[e] != NOWHERE && ((e) == 0 || cells[(e) - 1] != cells[e]))

__kernel void landmark_sums_item(__global const float4 *tracked, int first, __global const uint *cells,
                                 __global const uint *order, int entries, __global float *force, int4 size)
{
    int e = get_global_id(0);
    if (e >= entries || !FIRST_OF(e))
        return;
    int i = (int)cells[e], row = i / size.x, n = size.x * size.y * size.z;
    int x = i - row * size.x, y = row % size.y, z = row / size.y;
    float3 sum = (float3)(0.0f);
    for (; e < entries && cells[e] == (uint)i; e++) {
        int k = first + (int)order[e];
        float4 at = tracked[2 * k];
        float share = share_of(z - PLACE(at.z, size.z), 1.0f, size.z);
        share *= share_of(y - PLACE(at.y, size.y), 1.0f, size.y);
        share *= share_of(x - PLACE(at.x, size.x), 1.0f, size.x);
        sum += share * tracked[2 * k + 1].xyz;
    }
    store_vec(load_vec(force, i, n) + sum, force, i, n);
}

__kernel void landmark_sums_run(__global const float4 *tracked, int first, __global const uint *cells,
                                __global const uint *order, int entries, __global float *force, int4 size)
{
    int begin = get_global_id(0) * MARCH, end = min(begin + MARCH, entries), n = size.x * size.y * size.z;
    for (int b = begin; b < end; b++) {
        if (!FIRST_OF(b))
            continue;
        int i = (int)cells[b], row = i / size.x, x = i - row * size.x, y = row % size.y, z = row / size.y;
        float3 sum = load_vec(force, i, n);
        for (int e = b; e < entries && cells[e] == (uint)i; e++) {
            int k = first + (int)order[e];
            float4 at = tracked[2 * k];
            float share = share_of(z - PLACE(at.z, size.z), 1.0f, size.z) *
                          share_of(y - PLACE(at.y, size.y), 1.0f, size.y);
            float3 pull = share * tracked[2 * k + 1].xyz;
            sum = sum + share_of(x - PLACE(at.x, size.x), 1.0f, size.x) * pull;
        }
        store_vec(sum, force, i, n);
    }
}
#endif

/* A row: of each landmark only the voxels that it reaches. */
__kernel void landmark_force_row(__global const float4 *tracked, int first, int count, float4 rate,
                                 __global float *force, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, start = (z * size.y + y) * size.x;
    float reach = size.x > 1 ? REACH(rate.x) : INFINITY;
    for (int k = first; k < first + count; k++) {
        float4 at = tracked[2 * k];
        float share = share_of(z - PLACE(at.z, size.z), rate.z, size.z) *
                      share_of(y - PLACE(at.y, size.y), rate.y, size.y);
        float middle = PLACE(at.x, size.x);
        float least = fmax(ceil(middle - reach), 0.0f), most = fmin(floor(middle + reach), size.x - 1.0f);
        if (!(share > 0.0f) || !(least <= most))
            continue;
        float3 pull = share * tracked[2 * k + 1].xyz;
        for (int x = (int)least; x <= (int)most; x++)
            store_vec(load_vec(force, start + x, n) + share_of(x - middle, rate.x, size.x) * pull, force, start + x, n);
    }
}
