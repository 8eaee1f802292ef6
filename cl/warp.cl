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
    float3 p = (float3)(mad(linear.x.x, (float)x, map_row(linear.x, y, z)),
                        mad(linear.y.x, (float)x, map_row(linear.y, y, z)),
                        mad(linear.z.x, (float)x, map_row(linear.z, y, z)));
#if HAS_FIELD
    float3 u = load_vec(field, (z * size.y + y) * size.x + x, size.x * size.y * size.z);
    p.x = mad(shift.x.x, u.x, mad(shift.x.y, u.y, mad(shift.x.z, u.z, p.x)));
    p.y = mad(shift.y.x, u.x, mad(shift.y.y, u.y, mad(shift.y.z, u.z, p.y)));
    p.z = mad(shift.z.x, u.x, mad(shift.z.y, u.y, mad(shift.z.z, u.z, p.z)));
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
 * private arrays, then the reads one voxel after another, then the last mixing
 * again eight at a time. The reads of both x corners are one vload2, for which
 * the last column is reached as fraction 1 of the pair before it. */
#define CHUNK 32

__kernel void warp_row(__global const float *in, int4 in_size, float4 linear_x, float4 linear_y,
                       float4 linear_z, float4 shift_x, float4 shift_y, float4 shift_z,
                       __global const float *field, float outside, __global float *out, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    rows linear = {linear_x, linear_y, linear_z}, shift = {shift_x, shift_y, shift_z};
    int start = (z * size.y + y) * size.x, x = 0;
#if INTERPOLATION == 1
    int n = size.x * size.y * size.z, plane = in_size.x * in_size.y;
    int nx = in_size.x;
    float8 row_x = map_row(linear_x, y, z), row_y = map_row(linear_y, y, z);
    float8 row_z = map_row(linear_z, y, z);
    float8 high_x = in_size.x - 0.5f, high_y = in_size.y - 0.5f, high_z = in_size.z - 0.5f;
    for (; nx > 1 && x + CHUNK <= size.x; x += CHUNK) {
        float fx[CHUNK], fy[CHUNK], fz[CHUNK], left[CHUNK], right[CHUNK];
        int base[CHUNK], dy[CHUNK], dz[CHUNK], beyond[CHUNK];
        for (int c = 0; c < CHUNK; c += 8) {
            float8 at = (float)(x + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
            float8 px = mad((float8)linear_x.x, at, row_x);
            float8 py = mad((float8)linear_y.x, at, row_y);
            float8 pz = mad((float8)linear_z.x, at, row_z);
#if HAS_FIELD
            vec8 u = load_vec8(field, start + x + c, n);
            px = mad((float8)shift_x.x, u.x, mad((float8)shift_x.y, u.y, mad((float8)shift_x.z, u.z, px)));
            py = mad((float8)shift_y.x, u.x, mad((float8)shift_y.y, u.y, mad((float8)shift_y.z, u.z, py)));
            pz = mad((float8)shift_z.x, u.x, mad((float8)shift_z.y, u.y, mad((float8)shift_z.z, u.z, pz)));
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
            vstore8((iz * in_size.y + iy) * nx + ix, 0, base + c);
            vstore8((gy > 0.0f) & nx, 0, dy + c);
            vstore8((gz > 0.0f) & plane, 0, dz + c);
            vstore8(~inside, 0, beyond + c);
        }
        for (int c = 0; c < CHUNK; c++) {
            __global const float *a = in + base[c], *b = a + dz[c];
            float2 a0 = vload2(0, a), b0 = vload2(0, b);
            float2 a1 = vload2(0, a + dy[c]), b1 = vload2(0, b + dy[c]);
            float2 v0 = mad((float2)fz[c], b0 - a0, a0);
            float2 v1 = mad((float2)fz[c], b1 - a1, a1);
            float2 v = mad((float2)fy[c], v1 - v0, v0);
            left[c] = v.x;
            right[c] = v.y;
        }
        for (int c = 0; c < CHUNK; c += 8) {
            float8 f = vload8(0, fx + c), a = vload8(0, left + c), b = vload8(0, right + c);
            float8 v = mad(f, b - a, a);
            v = select(v, a, f == 0.0f);
            v = select(v, b, f == 1.0f);
            vstore8(select(v, (float8)outside, vload8(0, beyond + c)), 0, out + start + x + c);
        }
    }
#endif
    for (; x < size.x; x++)
        out[start + x] = warp_voxel(in, in_size, linear, shift, field, outside, x, y, z, size);
}
