/* SPDX-License-Identifier: Apache-2.0 */
/* out(x) = s v(x) + u(x + s v(x)), s = step / state[slot]: the step of a
 * displacement by the rate v, whose longest vector state[slot] is. Within rim
 * voxels of the border s falls to 0, and out is 0 on the border. Outside of `within` s is 0, whatever
 * v holds. */
#include "common/grid.clh"
#include "common/sample_row.clh"
#include "common/within.clh"

/* Lengths below it are taken as if they were so long, so that s stays finite. */
#define SHORTEST 1e-30f

/* 0 where the longest vector says nothing. */
static inline float step_scale(float longest, float step)
{
    return longest > 0.0f && longest < INFINITY ? step / fmax(longest, SHORTEST) : 0.0f;
}

/* Share of the step at index i of an axis of n voxels; an axis of one has no border. */
static inline float rim_share(int i, int n, float rim)
{
    return rim > 0.0f && n > 1 ? fmin(1.0f, (float)(i < n - 1 - i ? i : n - 1 - i) / rim) : 1.0f;
}

/* Share of the step at a voxel. */
static inline float share_at(int x, int y, int z, int4 size, float rim)
{
    return fmin(rim_share(x, size.x, rim), fmin(rim_share(y, size.y, rim), rim_share(z, size.z, rim)));
}

/* s = 0 does not look at v, which then may hold a NaN. rate: voxels per mm. */
static inline void compositive_step_voxel(__global const float *u, __global const float *v, float s, float4 rate,
                                 float rim, __global float *out, int x, int y, int z, int4 size)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float share = share_at(x, y, z, size, rim);
    float3 d = s != 0.0f && share != 0.0f ? share * s * load_vec(v, i, n) : (float3)(0.0f);
    float3 p = muladd(rate.xyz, d, (float3)((float)x, (float)y, (float)z));
    store_vec(share != 0.0f ? d + sample_vec(u, size, position_clamp(p, size)) : d, out, i, n);
}

#define STEP_ARGUMENTS                                                                                      \
    __global const float *u, __global const float *v, grid on, float rim, float step,                      \
        __global const float *state, int slot, __global const int2 *within, __global float *out

__kernel void compositive_step_item(STEP_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 rate = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int2 columns = columns_within(within, y, z, size);
    if ((x >= columns.x && x < columns.y) || share_at(x, y, z, size, rim) == 0.0f) {
        compositive_step_voxel(u, v, step_scale(state[slot], step), rate, rim, out, x, y, z, size);
    } else {
        int i = (z * size.y + y) * size.x + x, n = size.x * size.y * size.z;
        store_vec(load_vec(u, i, n), out, i, n);
    }
}

/* Vectors i up to end. */
static inline void copy_vectors(__global const float *from, __global float *to, int i, int end, int n)
{
#if FIELD_PACKED
    for (; i + 8 <= end; i += 8) {
        float8 a = LOAD8(from + 3 * i), b = LOAD8(from + 3 * i + 8), c = LOAD8(from + 3 * i + 16);
        STORE8(a, to + 3 * i);
        STORE8(b, to + 3 * i + 8);
        STORE8(c, to + 3 * i + 16);
    }
#endif
    for (; i + 8 <= end; i += 8)
        store_vec8(load_vec8(from, i, n), to, i, n);
    for (; i < end; i++)
        store_vec(load_vec(from, i, n), to, i, n);
}

__kernel void compositive_step_row(STEP_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 rate = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    const float row_share = fmin(rim_share(y, size.y, rim), rim_share(z, size.z, rim));
    const int2 columns = row_share == 0.0f ? (int2)(0, size.x) : columns_within(within, y, z, size);
    const int start = (z * size.y + y) * size.x, n = size.x * size.y * size.z;
    int x = columns.x;
    float s = step_scale(state[slot], step);
#if FIELD_PACKED
    bool chunks = s != 0.0f && row_share != 0.0f && size.x >= CHUNK;
    for (int count; chunks && x < columns.y; x += count) {
        /* Whole eights: the last ones may overlap those before, and what is not within. */
        count = min(CHUNK, (columns.y - x + 7) / 8 * 8);
        x = min(x, size.x - count);
        places at;
        float scale[CHUNK];
        for (int c = 0; c < count; c += 8) {
            vec8 p = load_vec8(v, start + x + c, n);
            /* Two rows on: parts of rows are too short for memory to follow by itself. */
            fetch_vec8_soon(v, start + 2 * size.x + x + c, n);
            fetch_vec8_soon(out, start + 2 * size.x + x + c, n);
            float8 column = (float)(x + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7), f = row_share;
            if (rim > 0.0f)
                f = min(f, min(column, size.x - 1.0f - column) / rim);
            f *= s;
            vstore8(f, 0, scale + c);
            p.x = muladd((float8)(rate.x), f * p.x, column);
            p.y = muladd((float8)(rate.y), f * p.y, (float8)(y));
            p.z = muladd((float8)(rate.z), f * p.z, (float8)(z));
            find8(&at, c, clamp8(p, size), size, false);
        }
        for (int c = 0; c < count; c += 8)
            fetch_vec8_soon(u, at.base[c] + 3 * size.x + size.x * size.y, n);
        for (int c = 0; c < count; c += 8) {
            vec8 found = look_vectors8(u, &at, c, n), d = load_vec8(v, start + x + c, n);
            float8 f = vload8(0, scale + c);
            int8 moves = f != 0.0f;
            d.x = select((float8)0.0f, muladd(f, d.x, found.x), moves);
            d.y = select((float8)0.0f, muladd(f, d.y, found.y), moves);
            d.z = select((float8)0.0f, muladd(f, d.z, found.z), moves);
            store_vec8(d, out, start + x + c, n);
        }
    }
#endif
    for (; x < columns.y; x++)
        compositive_step_voxel(u, v, s, rate, rim, out, x, y, z, size);
    copy_vectors(u, out, start, start + columns.x, n);
    copy_vectors(u, out, start + columns.y, start + size.x, n);
    if (rim_share(0, size.x, rim) == 0.0f) {
        store_vec((float3)(0.0f), out, start, n);
        store_vec((float3)(0.0f), out, start + size.x - 1, n);
    }
}
