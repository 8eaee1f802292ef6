/* SPDX-License-Identifier: Apache-2.0 */
/* out(i) = own u(i) + reorient w(p(i)), p(i) = linear (i, 1) + shift u(i); w is 0
 * outside of its grid, or goes on with its border's vectors (extend).
 * HAS_FIELD: whether there is a u. */
#include "common/position.clh"

static inline float3 turned(rows m, float3 v)
{
    return (float3)(muladd(m.x.x, v.x, muladd(m.x.y, v.y, m.x.z * v.z)),
                    muladd(m.y.x, v.x, muladd(m.y.y, v.y, m.y.z * v.z)),
                    muladd(m.z.x, v.x, muladd(m.z.y, v.y, m.z.z * v.z)));
}

static inline void compose_voxel(__global const float *u, float own, __global const float *w,
                                 int4 w_size, map m, rows reorient, int extend,
                                 __global float *out, int x, int y, int z, int4 size)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 at = (float3)(0.0f);
#if HAS_FIELD
    at = load_vec(u, i, n);
#endif
    float3 p = position_of(m, x, y, z, at);
    float3 v = (float3)(0.0f);
    if (extend || position_inside(p, w_size))
        v = turned(reorient, sample_vec(w, w_size, position_clamp(p, w_size)));
#if HAS_FIELD
    v = muladd((float3)(own), at, v);
#endif
    store_vec(v, out, i, n);
}

__kernel void compose_item(__global const float *u, float own, __global const float *w, int4 w_size,
                           map m, rows reorient, int extend, __global float *out, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    compose_voxel(u, own, w, w_size, m, reorient, extend, out, x, y, z, size);
}

/* As the row form of warp.cl: positions of a chunk eight at a time, then the
 * reads. */
__kernel void compose_row(__global const float *u, float own, __global const float *w, int4 w_size,
                          map m, rows reorient, int extend, __global float *out, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int x = 0;
#if FIELD_PACKED
    int start = (z * size.y + y) * size.x, n = size.x * size.y * size.z;
    int voxels = w_size.x * w_size.y * w_size.z;
    vec8 row = row_positions(m, y, z);
    bool chunks = w_size.x > 1 && size.x >= CHUNK;
    for (; chunks && x < size.x; x += CHUNK) {
        x = min(x, size.x - CHUNK); /* the last one may overlap the one before */
        places at;
        for (int c = 0; c < CHUNK; c += 8) {
            vec8 v = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
            v = load_vec8(u, start + x + c, n);
#endif
            vec8 p = positions_of8(m, row, x + c, v);
            place8(&at, c, p, w_size, false);
        }
        for (int c = 0; c < CHUNK; c += 8) {
            vec8 a = look_vectors8(w, &at, c, voxels);
            int8 inside = (GET_INT8(at.inside + c) != 0) | (int8)(extend ? -1 : 0);
            vec8 v;
            v.x = muladd((float8)reorient.x.x, a.x,
                         muladd((float8)reorient.x.y, a.y, (float8)reorient.x.z * a.z));
            v.y = muladd((float8)reorient.y.x, a.x,
                         muladd((float8)reorient.y.y, a.y, (float8)reorient.y.z * a.z));
            v.z = muladd((float8)reorient.z.x, a.x,
                         muladd((float8)reorient.z.y, a.y, (float8)reorient.z.z * a.z));
            v.x = select((float8)0.0f, v.x, inside);
            v.y = select((float8)0.0f, v.y, inside);
            v.z = select((float8)0.0f, v.z, inside);
#if HAS_FIELD
            vec8 own8 = load_vec8(u, start + x + c, n);
            v.x = muladd((float8)own, own8.x, v.x);
            v.y = muladd((float8)own, own8.y, v.y);
            v.z = muladd((float8)own, own8.z, v.z);
#endif
            store_vec8(v, out, start + x + c, n);
        }
    }
#endif
    for (; x < size.x; x++)
        compose_voxel(u, own, w, w_size, m, reorient, extend, out, x, y, z, size);
}
