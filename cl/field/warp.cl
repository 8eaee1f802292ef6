/* SPDX-License-Identifier: Apache-2.0 */
/* out(i) = in(p(i)), p(i) = linear (i, 1) + shift u(i).
 * INTERPOLATION: 0 nearest, 1 linear, 2 cubic, 3 label voting, 4 cubic B-spline (in: its coefficients),
 * 5 Lanczos, 6 Gaussian.
 * HAS_FIELD: whether there is a u. Outside of `within` out is NaN. */
#include "common/position.clh"
#include "common/within.clh"

#if INTERPOLATION == 0
#define SAMPLE sample_nearest
#elif INTERPOLATION == 1
#define SAMPLE sample_linear
#elif INTERPOLATION == 2
#define SAMPLE sample_cubic
#elif INTERPOLATION >= 4
#include "common/sample_wide.clh"
#define SAMPLE sample_wide
#else
#define SAMPLE sample_label
#endif

static inline float warp_voxel(__global const float *in, int4 in_size, map m, __global const float *field,
                               float outside, int x, int y, int z, int4 size)
{
    float3 u = (float3)(0.0f);
#if HAS_FIELD
    u = load_vec(field, (z * size.y + y) * size.x + x, size.x * size.y * size.z);
#endif
    float3 p = position_of(m, x, y, z, u);
    return position_inside(p, in_size) ? SAMPLE(in, in_size, position_clamp(p, in_size)) : outside;
}

#define WARP_ARGUMENTS                                                                                      \
    __global const float *in, int4 in_size, map m, __global const float *field, float outside,             \
        __global const int2 *within, __global float *out, int4 size

__kernel void warp_item(WARP_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int2 columns = columns_within(within, y, z, size);
    out[(z * size.y + y) * size.x + x] =
        x >= columns.x && x < columns.y ? warp_voxel(in, in_size, m, field, outside, x, y, z, size) : NAN;
}

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
#elif INTERPOLATION >= 4
    return sample_wide(in, n, p);
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

__kernel void warp_row(WARP_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    const int2 columns = columns_within(within, y, z, size);
    int start = (z * size.y + y) * size.x, x = columns.x;
    int n = size.x * size.y * size.z;
    vec8 row = row_positions(m, y, z);
    bool chunks = in_size.x > 1 && size.x >= CHUNK;
    for (int count; chunks && x < columns.y; x += count) {
        /* Whole eights: the last ones may overlap those before, and what is not within. */
        count = min(CHUNK, (columns.y - x + 7) / 8 * 8);
        x = min(x, size.x - count);
        places at;
#if INTERPOLATION != 1
        float at_x[CHUNK], at_y[CHUNK], at_z[CHUNK];
#endif
        for (int c = 0; c < count; c += 8) {
            vec8 u = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
            u = load_vec8(field, start + x + c, n);
            /* Two rows on: parts of rows are too short for memory to follow by itself. */
            fetch_vec8_soon(field, start + 2 * size.x + x + c, n);
#endif
            FETCH_SOON(out + start + 2 * size.x + x + c);
            vec8 p = place8(&at, c, positions_of8(m, row, x + c, u), in_size, false);
#if INTERPOLATION != 1
            PUT8(p.x, at_x + c);
            PUT8(p.y, at_y + c);
            PUT8(p.z, at_z + c);
#endif
        }
#if INTERPOLATION == 1
        for (int c = 0; c < count; c += 16)
            FETCH_SOON(in + at.base[c] + 3 * in_size.x + in_size.x * in_size.y);
        for (int c = 0; c < count; c += 8) {
            int8 inside = GET_INT8(at.inside + c) != 0;
            STORE8(inside ? sample8(in, &at, c) : (float8)(outside), out + start + x + c);
        }
#else
        for (int c = 0; c < count; c++) {
            float3 f = (float3)(at.fx[c], at.fy[c], at.fz[c]), p = (float3)(at_x[c], at_y[c], at_z[c]);
            out[start + x + c] = at.inside[c] ? gather(in, in_size, at.base[c], at.dy[c], at.dz[c], f, p) : outside;
        }
#endif
    }
    for (; x < columns.y; x++)
        out[start + x] = warp_voxel(in, in_size, m, field, outside, x, y, z, size);
    for (x = 0; x < columns.x; x++)
        out[start + x] = NAN;
    for (x = columns.y; x < size.x; x++)
        out[start + x] = NAN;
}
