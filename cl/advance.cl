/* SPDX-License-Identifier: Apache-2.0 */
/* out(x) = s v(x) + u(x + s v(x)), s = step / state[slot]: the step of a
 * displacement by the rate v, whose longest vector state[slot] is. */
#include "sample_vec.clh"

/* Lengths below it are taken as if they were so long, so that s stays finite. */
#define SHORTEST 1e-30f

/* 0 where the longest vector says nothing. */
static inline float step_scale(float longest, float step)
{
    return longest > 0.0f && longest < INFINITY ? step / fmax(longest, SHORTEST) : 0.0f;
}

/* s = 0 does not look at v, which then may hold a NaN. rate: voxels per mm. */
static inline void advance_voxel(__global const float *u, __global const float *v, float s, float4 rate,
                                 __global float *out, int x, int y, int z, int4 size)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 d = s != 0.0f ? s * load_vec(v, i, n) : (float3)(0.0f);
    float3 p = muladd(rate.xyz, d, (float3)((float)x, (float)y, (float)z));
    store_vec(d + sample_vec(u, size, position_clamp(p, size)), out, i, n);
}

__kernel void advance_item(__global const float *u, __global const float *v, int4 size, float4 rate,
                           float step, __global const float *state, int slot, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        advance_voxel(u, v, step_scale(state[slot], step), rate, out, x, y, z, size);
}

__kernel void advance_row(__global const float *u, __global const float *v, int4 size, float4 rate,
                          float step, __global const float *state, int slot, __global float *out)
{
    int y = get_global_id(1), z = get_global_id(2), x = 0;
    if (y >= size.y || z >= size.z)
        return;
    float s = step_scale(state[slot], step);
#if FIELD_PACKED
    int start = (z * size.y + y) * size.x, n = size.x * size.y * size.z;
    for (; s != 0.0f && size.x > 1 && x + CHUNK <= size.x; x += CHUNK) {
        places at;
        vectors found;
        for (int c = 0; c < CHUNK; c += 8) {
            vec8 p = load_vec8(v, start + x + c, n);
            float8 column = (float)(x + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
            p.x = muladd((float8)(rate.x), s * p.x, column);
            p.y = muladd((float8)(rate.y), s * p.y, (float8)(y));
            p.z = muladd((float8)(rate.z), s * p.z, (float8)(z));
            find8(&at, c, clamp8(p, size), size);
        }
        read_chunk(&found, u, &at);
        for (int c = 0; c < CHUNK; c += 8) {
            vec8 d = load_vec8(v, start + x + c, n);
            d.x = muladd((float8)(s), d.x, vload8(0, found.x + c));
            d.y = muladd((float8)(s), d.y, vload8(0, found.y + c));
            d.z = muladd((float8)(s), d.z, vload8(0, found.z + c));
            store_vec8(d, out, start + x + c, n);
        }
    }
#endif
    for (; x < size.x; x++)
        advance_voxel(u, v, s, rate, out, x, y, z, size);
}
