/* SPDX-License-Identifier: Apache-2.0 */
/* out(i) = own u(i) + turn w(p(i)), p(i) = linear (i, 1) + shift u(i); w is 0
 * outside of its grid. HAS_FIELD: whether there is a u. */
#include "field8.clh"
#include "sample.clh"

typedef struct rows {
    float4 x, y, z;
} rows;

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
    float3 p = (float3)(muladd(linear.x.x, (float)x, map_row(linear.x, y, z)),
                        muladd(linear.y.x, (float)x, map_row(linear.y, y, z)),
                        muladd(linear.z.x, (float)x, map_row(linear.z, y, z)));
#if HAS_FIELD
    float3 at = load_vec(u, i, n);
    p.x = muladd(shift.x.x, at.x, muladd(shift.x.y, at.y, muladd(shift.x.z, at.z, p.x)));
    p.y = muladd(shift.y.x, at.x, muladd(shift.y.y, at.y, muladd(shift.y.z, at.z, p.y)));
    p.z = muladd(shift.z.x, at.x, muladd(shift.z.y, at.y, muladd(shift.z.z, at.z, p.z)));
#endif
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
    float8 row_x = map_row(linear_x, y, z), row_y = map_row(linear_y, y, z);
    float8 row_z = map_row(linear_z, y, z);
    float8 high_x = w_size.x - 0.5f, high_y = w_size.y - 0.5f, high_z = w_size.z - 0.5f;
    for (; nx > 1 && x + CHUNK <= size.x; x += CHUNK) {
        float fx[CHUNK], fy[CHUNK], fz[CHUNK], vx[CHUNK], vy[CHUNK], vz[CHUNK];
        int base[CHUNK], dy[CHUNK], dz[CHUNK], within[CHUNK];
        for (int c = 0; c < CHUNK; c += 8) {
            float8 at = (float)(x + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
            float8 px = muladd((float8)linear_x.x, at, row_x);
            float8 py = muladd((float8)linear_y.x, at, row_y);
            float8 pz = muladd((float8)linear_z.x, at, row_z);
#if HAS_FIELD
            vec8 v = load_vec8(u, start + x + c, n);
            px = muladd((float8)shift_x.z, v.z, px);
            px = muladd((float8)shift_x.y, v.y, px);
            px = muladd((float8)shift_x.x, v.x, px);
            py = muladd((float8)shift_y.z, v.z, py);
            py = muladd((float8)shift_y.y, v.y, py);
            py = muladd((float8)shift_y.x, v.x, py);
            pz = muladd((float8)shift_z.z, v.z, pz);
            pz = muladd((float8)shift_z.y, v.y, pz);
            pz = muladd((float8)shift_z.x, v.x, pz);
#endif
            int8 inside = px >= -0.5f & px <= high_x & py >= -0.5f & py <= high_y & pz >= -0.5f &
                          pz <= high_z;
            px = select((float8)0.0f, min(max(px, 0.0f), high_x - 0.5f), inside);
            py = select((float8)0.0f, min(max(py, 0.0f), high_y - 0.5f), inside);
            pz = select((float8)0.0f, min(max(pz, 0.0f), high_z - 0.5f), inside);
            int8 ix = min(convert_int8(px), nx - 2);
            int8 iy = convert_int8(py), iz = convert_int8(pz);
            float8 gy = py - convert_float8(iy), gz = pz - convert_float8(iz);
            vstore8(px - convert_float8(ix), 0, fx + c);
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
