/* SPDX-License-Identifier: Apache-2.0 */
/* out(i) = own u(i) + turn w(p(i)), p(i) = linear (i, 1) + shift u(i); w is 0
 * outside of its grid. HAS_FIELD: whether there is a u. */
#include "position.clh"

static inline float3 mix3(float3 a, float3 b, float f)
{
    return muladd((float3)(f), b - a, a);
}

static inline float3 sample_vec(__global const float *w, int4 n, float3 p)
{
    corner c = corner_of(p, n);
    int all = n.x * n.y * n.z, i = c.base, j = c.base + c.dz;
    float3 v00 = mix3(load_vec(w, i, all), load_vec(w, j, all), c.fz);
    float3 v10 = mix3(load_vec(w, i + c.dx, all), load_vec(w, j + c.dx, all), c.fz);
    float3 v01 = mix3(load_vec(w, i + c.dy, all), load_vec(w, j + c.dy, all), c.fz);
    float3 v11 = mix3(load_vec(w, i + c.dy + c.dx, all), load_vec(w, j + c.dy + c.dx, all), c.fz);
    return mix3(mix3(v00, v01, c.fy), mix3(v10, v11, c.fy), c.fx);
}

static inline float3 turned(rows m, float3 v)
{
    return (float3)(muladd(m.x.x, v.x, muladd(m.x.y, v.y, m.x.z * v.z)),
                    muladd(m.y.x, v.x, muladd(m.y.y, v.y, m.y.z * v.z)),
                    muladd(m.z.x, v.x, muladd(m.z.y, v.y, m.z.z * v.z)));
}

static inline void compose_voxel(__global const float *u, float own, __global const float *w,
                                 int4 w_size, rows linear, rows shift, rows turn,
                                 __global float *out, int x, int y, int z, int4 size)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 at = (float3)(0.0f);
#if HAS_FIELD
    at = load_vec(u, i, n);
#endif
    float3 p = position_of(linear, shift, x, y, z, at);
    float3 v = (float3)(0.0f);
    if (position_inside(p, w_size))
        v = turned(turn, sample_vec(w, w_size, position_clamp(p, w_size)));
#if HAS_FIELD
    v = muladd((float3)(own), at, v);
#endif
    store_vec(v, out, i, n);
}

__kernel void compose_item(__global const float *u, float own, __global const float *w, int4 w_size,
                           float4 linear_x, float4 linear_y, float4 linear_z, float4 shift_x,
                           float4 shift_y, float4 shift_z, float4 turn_x, float4 turn_y,
                           float4 turn_z, __global float *out, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    rows linear = {linear_x, linear_y, linear_z}, shift = {shift_x, shift_y, shift_z};
    rows turn = {turn_x, turn_y, turn_z};
    compose_voxel(u, own, w, w_size, linear, shift, turn, out, x, y, z, size);
}

/* As the row form of warp.cl: positions of a chunk eight at a time, then the
 * reads. Of packed vectors both x corners, six floats in a row, are read as
 * two float4: x y z and the next x, the first z and the next x y z. */
#define CHUNK 32

#if FIELD_PACKED
static inline float4 pair_left(__global const float *w, int i)
{
    return vload4(0, w + 3 * i);
}
static inline float4 pair_right(__global const float *w, int i)
{
    return vload4(0, w + 3 * i + 2);
}
static inline float3 sample_pair(__global const float *w, int i, int dy, int dz, float fx, float fy,
                                 float fz)
{
    int j = i + dz;
    float4 a = pair_left(w, i), b = pair_left(w, i + dy);
    a = muladd((float4)(fz), pair_left(w, j) - a, a);
    b = muladd((float4)(fz), pair_left(w, j + dy) - b, b);
    float4 left = muladd((float4)(fy), b - a, a);
    a = pair_right(w, i);
    b = pair_right(w, i + dy);
    a = muladd((float4)(fz), pair_right(w, j) - a, a);
    b = muladd((float4)(fz), pair_right(w, j + dy) - b, b);
    float4 right = muladd((float4)(fy), b - a, a);
    return fx == 0.0f ? left.xyz : fx == 1.0f ? right.yzw : mix3(left.xyz, right.yzw, fx);
}
#endif

__kernel void compose_row(__global const float *u, float own, __global const float *w, int4 w_size,
                          float4 linear_x, float4 linear_y, float4 linear_z, float4 shift_x,
                          float4 shift_y, float4 shift_z, float4 turn_x, float4 turn_y,
                          float4 turn_z, __global float *out, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    rows linear = {linear_x, linear_y, linear_z}, shift = {shift_x, shift_y, shift_z};
    rows turn = {turn_x, turn_y, turn_z};
    int x = 0;
#if FIELD_PACKED
    int start = (z * size.y + y) * size.x, n = size.x * size.y * size.z;
    int nx = w_size.x, plane = w_size.x * w_size.y;
    vec8 row = row_positions(linear, y, z);
    for (; nx > 1 && x + CHUNK <= size.x; x += CHUNK) {
        float fx[CHUNK], fy[CHUNK], fz[CHUNK], vx[CHUNK], vy[CHUNK], vz[CHUNK];
        int base[CHUNK], dy[CHUNK], dz[CHUNK], within[CHUNK];
        for (int c = 0; c < CHUNK; c += 8) {
            vec8 v = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
            v = load_vec8(u, start + x + c, n);
#endif
            vec8 p = positions_of8(linear, shift, row, x + c, v);
            int8 inside = keep_inside8(&p, w_size);
            int8 ix = min(convert_int8(p.x), (int8)(nx - 2));
            int8 iy = convert_int8(p.y), iz = convert_int8(p.z);
            float8 gy = p.y - convert_float8(iy), gz = p.z - convert_float8(iz);
            vstore8(p.x - convert_float8(ix), 0, fx + c);
            vstore8(gy, 0, fy + c);
            vstore8(gz, 0, fz + c);
            vstore8((iz * w_size.y + iy) * nx + ix, 0, base + c);
            vstore8((gy > 0.0f) & nx, 0, dy + c);
            vstore8((gz > 0.0f) & plane, 0, dz + c);
            vstore8(inside, 0, within + c);
        }
        for (int c = 0; c < CHUNK; c++) {
            float3 v = sample_pair(w, base[c], dy[c], dz[c], fx[c], fy[c], fz[c]);
            vx[c] = v.x;
            vy[c] = v.y;
            vz[c] = v.z;
        }
        for (int c = 0; c < CHUNK; c += 8) {
            float8 ax = vload8(0, vx + c), ay = vload8(0, vy + c), az = vload8(0, vz + c);
            int8 inside = vload8(0, within + c);
            vec8 v;
            v.x = muladd((float8)turn_x.x, ax, muladd((float8)turn_x.y, ay, (float8)turn_x.z * az));
            v.y = muladd((float8)turn_y.x, ax, muladd((float8)turn_y.y, ay, (float8)turn_y.z * az));
            v.z = muladd((float8)turn_z.x, ax, muladd((float8)turn_z.y, ay, (float8)turn_z.z * az));
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
        compose_voxel(u, own, w, w_size, linear, shift, turn, out, x, y, z, size);
}
