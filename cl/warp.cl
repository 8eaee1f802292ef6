/* SPDX-License-Identifier: Apache-2.0 */
/* out(i) = in(p(i)), p(i) = linear (i, 1) + shift u(i).
 * INTERPOLATION: 0 nearest, 1 linear, 2 cubic, 3 label voting.
 * HAS_FIELD: whether there is a u. */
#include "field8.clh"
#include "sample.clh"

#if INTERPOLATION == 0
#define SAMPLE sample_nearest
#elif INTERPOLATION == 1
#define SAMPLE sample_linear
#elif INTERPOLATION == 2
#define SAMPLE sample_cubic
#else
#define SAMPLE sample_label
#endif

typedef struct rows {
    float4 x, y, z;
} rows;

static inline float warp_voxel(__global const float *in, int4 in_size, rows linear, rows shift,
                               __global const float *field, float outside, int x, int y, int z,
                               int4 size)
{
    float3 p = (float3)(muladd(linear.x.x, (float)x, map_row(linear.x, y, z)),
                        muladd(linear.y.x, (float)x, map_row(linear.y, y, z)),
                        muladd(linear.z.x, (float)x, map_row(linear.z, y, z)));
#if HAS_FIELD
    float3 u = load_vec(field, (z * size.y + y) * size.x + x, size.x * size.y * size.z);
    p.x = muladd(shift.x.x, u.x, muladd(shift.x.y, u.y, muladd(shift.x.z, u.z, p.x)));
    p.y = muladd(shift.y.x, u.x, muladd(shift.y.y, u.y, muladd(shift.y.z, u.z, p.y)));
    p.z = muladd(shift.z.x, u.x, muladd(shift.z.y, u.y, muladd(shift.z.z, u.z, p.z)));
#endif
    return position_inside(p, in_size) ? SAMPLE(in, in_size, position_clamp(p, in_size)) : outside;
}

__kernel void warp_item(__global const float *in, int4 in_size, float4 linear_x, float4 linear_y,
                        float4 linear_z, float4 shift_x, float4 shift_y, float4 shift_z,
                        __global const float *field, float outside, __global float *out, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    rows linear = {linear_x, linear_y, linear_z}, shift = {shift_x, shift_y, shift_z};
    out[(z * size.y + y) * size.x + x] =
        warp_voxel(in, in_size, linear, shift, field, outside, x, y, z, size);
}

/* A row in chunks: first the positions of a chunk, eight at a time, into small
 * private arrays, then the reads one voxel after another. Both x corners are
 * one vload2, for which the last column is reached as fraction 1 of the pair
 * before it. */
#define CHUNK 32

#if INTERPOLATION != 1
/* The value at p: the pair at base with fractions f; dy and dz lead to the
 * upper corners. Where the common case does not hold, as warp_voxel. */
static inline float gather(__global const float *in, int4 n, int base, int dy, int dz, float3 f,
                           float3 p)
{
#if INTERPOLATION == 0
    return in[base + (f.x >= 0.5f) + (f.y >= 0.5f ? dy : 0) + (f.z >= 0.5f ? dz : 0)];
#elif INTERPOLATION == 2
    if (p.x < 1.0f || p.x >= n.x - 2 || p.y < 1.0f || p.y >= n.y - 2 || p.z < 1.0f ||
        p.z >= n.z - 2 || f.x == 0.0f || dy == 0 || dz == 0)
        return sample_cubic(in, n, p);
    float4 wx = cubic_weights(f.x), vy = cubic_weights(f.y), vz = cubic_weights(f.z), sum = 0.0f;
    float wz[4] = {vz.x, vz.y, vz.z, vz.w};
    __global const float *a = in + base - 1 - dy - dz;
    for (int k = 0; k < 4; k++, a += dz) {
        float4 plane = vy.x * vload4(0, a);
        plane = muladd((float4)(vy.y), vload4(0, a + dy), plane);
        plane = muladd((float4)(vy.z), vload4(0, a + 2 * dy), plane);
        plane = muladd((float4)(vy.w), vload4(0, a + 3 * dy), plane);
        sum = muladd((float4)(wz[k]), plane, sum);
    }
    return dot(wx, sum);
#else
    __global const float *a = in + base;
    float4 low = (float4)(vload2(0, a), vload2(0, a + dy));
    float4 high = (float4)(vload2(0, a + dz), vload2(0, a + dz + dy));
    if (all(low == high) && all(low.lo == low.hi) && low.x == low.y)
        return low.x;
    return sample_label(in, n, p);
#endif
}
#endif

__kernel void warp_row(__global const float *in, int4 in_size, float4 linear_x, float4 linear_y,
                       float4 linear_z, float4 shift_x, float4 shift_y, float4 shift_z,
                       __global const float *field, float outside, __global float *out, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    rows linear = {linear_x, linear_y, linear_z}, shift = {shift_x, shift_y, shift_z};
    int start = (z * size.y + y) * size.x, x = 0;
    int n = size.x * size.y * size.z, plane = in_size.x * in_size.y;
    int nx = in_size.x;
    float8 row_x = map_row(linear_x, y, z), row_y = map_row(linear_y, y, z);
    float8 row_z = map_row(linear_z, y, z);
    float8 high_x = in_size.x - 0.5f, high_y = in_size.y - 0.5f, high_z = in_size.z - 0.5f;
    for (; nx > 1 && x + CHUNK <= size.x; x += CHUNK) {
        float fx[CHUNK], fy[CHUNK], fz[CHUNK];
#if INTERPOLATION == 1
        float pair[2 * CHUNK];
#else
        float at_x[CHUNK], at_y[CHUNK], at_z[CHUNK];
#endif
        int base[CHUNK], dy[CHUNK], dz[CHUNK], beyond[CHUNK];
        for (int c = 0; c < CHUNK; c += 8) {
            float8 at = (float)(x + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
            float8 px = muladd((float8)linear_x.x, at, row_x);
            float8 py = muladd((float8)linear_y.x, at, row_y);
            float8 pz = muladd((float8)linear_z.x, at, row_z);
#if HAS_FIELD
            vec8 u = load_vec8(field, start + x + c, n);
            px = muladd((float8)shift_x.z, u.z, px);
            px = muladd((float8)shift_x.y, u.y, px);
            px = muladd((float8)shift_x.x, u.x, px);
            py = muladd((float8)shift_y.z, u.z, py);
            py = muladd((float8)shift_y.y, u.y, py);
            py = muladd((float8)shift_y.x, u.x, py);
            pz = muladd((float8)shift_z.z, u.z, pz);
            pz = muladd((float8)shift_z.y, u.y, pz);
            pz = muladd((float8)shift_z.x, u.x, pz);
#endif
            int8 inside = px >= -0.5f & px <= high_x & py >= -0.5f & py <= high_y & pz >= -0.5f &
                          pz <= high_z;
            px = select((float8)0.0f, min(max(px, 0.0f), high_x - 0.5f), inside);
            py = select((float8)0.0f, min(max(py, 0.0f), high_y - 0.5f), inside);
            pz = select((float8)0.0f, min(max(pz, 0.0f), high_z - 0.5f), inside);
            /* oclgrind misreads a scalar bound of vector integers: a vector one. */
            int8 ix = min(convert_int8(px), (int8)(nx - 2));
            int8 iy = convert_int8(py), iz = convert_int8(pz);
            float8 gy = py - convert_float8(iy), gz = pz - convert_float8(iz);
            vstore8(px - convert_float8(ix), 0, fx + c);
            vstore8(gy, 0, fy + c);
            vstore8(gz, 0, fz + c);
#if INTERPOLATION != 1
            vstore8(px, 0, at_x + c);
            vstore8(py, 0, at_y + c);
            vstore8(pz, 0, at_z + c);
#endif
            vstore8((iz * in_size.y + iy) * nx + ix, 0, base + c);
            vstore8((gy > 0.0f) & nx, 0, dy + c);
            vstore8((gz > 0.0f) & plane, 0, dz + c);
            vstore8(~inside, 0, beyond + c);
        }
#if INTERPOLATION == 1
        for (int c = 0; c < CHUNK; c++) {
            __global const float *a = in + base[c], *b = a + dz[c];
            float4 low = (float4)(vload2(0, a), vload2(0, a + dy[c]));
            float4 high = (float4)(vload2(0, b), vload2(0, b + dy[c]));
            float4 v = muladd((float4)(fz[c]), high - low, low);
            vstore2(muladd((float2)(fy[c]), v.hi - v.lo, v.lo), c, pair);
        }
        for (int c = 0; c < CHUNK; c += 8) {
            float16 both = vload16(0, pair + 2 * c);
            float8 f = vload8(0, fx + c), a = both.even, b = both.odd;
            float8 v = muladd(f, b - a, a);
            v = select(v, a, f == 0.0f);
            v = select(v, b, f == 1.0f);
            vstore8(select(v, (float8)outside, vload8(0, beyond + c)), 0, out + start + x + c);
        }
#else
        for (int c = 0; c < CHUNK; c++) {
            float3 f = (float3)(fx[c], fy[c], fz[c]), p = (float3)(at_x[c], at_y[c], at_z[c]);
            float v = gather(in, in_size, base[c], dy[c], dz[c], f, p);
            out[start + x + c] = beyond[c] ? outside : v;
        }
#endif
    }
    for (; x < size.x; x++)
        out[start + x] = warp_voxel(in, in_size, linear, shift, field, outside, x, y, z, size);
}
