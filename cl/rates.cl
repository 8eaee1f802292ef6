/* SPDX-License-Identifier: Apache-2.0 */
/* The unbiased force in two launches with one float a voxel between them: the
 * rates lambda L'(J) of all voxels, then the divergence, whose cofactors are
 * made again from u. The flux along x at the neighbours x - 1 and x + 1 needs
 * differences along y and z there, hence u at the edges of the 3x3x3 cube
 * around a voxel, twelve places, each of them used by two fluxes; no logarithm
 * and no local memory. MASK: mask is not NULL. */
#include "force.clh"
#include "residual8.clh"

/* lambda L' at each voxel. inverse: 1/spacing, lambda. */
__kernel void rates_item(__global const float *u, int4 size, float4 inverse, __global float *rate)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 ax, ay, az;
    columns1(u, i, n, ends_at(x, size.x, 1, inverse.x), ends_at(y, size.y, size.x, inverse.y),
             ends_at(z, size.z, size.x * size.y, inverse.z), &ax, &ay, &az);
    rate[i] = inverse.w * penalty_slope1(dot1(ax, cross1(ay, az)));
}

__kernel void rates_row(__global const float *u, int4 size, float4 inverse, __global float *rate)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, row = z * plane + y * size.x;
    ends inner = ends_at(1, 3, 1, inverse.x);
    ends ey = ends_at(y, size.y, size.x, inverse.y), ez = ends_at(z, size.z, plane, inverse.z);
    int end = size.x - 1;
    for (int x = 0; x < size.x; x++) {
        if (x == 1 && end - x >= 8) {
            for (; x < end; x += 8) {
                int at = min(x, end - 8); /* the last eight may overlap those before them */
                vec8 ax, ay, az;
                columns8(u, row + at, n, inner, ey, ez, &ax, &ay, &az);
                STORE8(inverse.w * penalty_slope8(dot8(ax, cross8(ay, az))), rate + row + at);
            }
            x = end;
        }
        vec1 ax, ay, az;
        columns1(u, row + x, n, ends_at(x, size.x, 1, inverse.x), ey, ez, &ax, &ay, &az);
        rate[row + x] = inverse.w * penalty_slope1(dot1(ax, cross1(ay, az)));
    }
}

/* Adds the penalty's force at voxel i to f. N: 1 or 8. */
#define DEFINE_EDGES(N, RATE)                                                                     \
    INLINED vec##N edges##N(__global const float *u, __global const float *rate, int i, int n,    \
                            ends ex, ends ey, ends ez, adjoint tx, adjoint ty, adjoint tz,        \
                            vec##N f)                                                             \
    {                                                                                             \
        vec##N a = load_vec##N(u, i + ex.low + ey.low, n), b = load_vec##N(u, i + ex.high + ey.low, n); \
        vec##N c = load_vec##N(u, i + ex.low + ey.high, n), d = load_vec##N(u, i + ex.high + ey.high, n); \
        vec##N y_below = slope##N(a, c, ey.weight), y_above = slope##N(b, d, ey.weight);          \
        vec##N x_south = slope##N(a, b, ex.weight), x_north = slope##N(c, d, ex.weight);          \
        y_below.y += 1.0f;                                                                        \
        y_above.y += 1.0f;                                                                        \
        x_south.x += 1.0f;                                                                        \
        x_north.x += 1.0f;                                                                        \
        a = load_vec##N(u, i + ex.low + ez.low, n), b = load_vec##N(u, i + ex.high + ez.low, n);  \
        c = load_vec##N(u, i + ex.low + ez.high, n), d = load_vec##N(u, i + ex.high + ez.high, n); \
        vec##N z_side = slope##N(a, c, ez.weight);                                                \
        z_side.z += 1.0f;                                                                         \
        f = plus##N(f, cross##N(y_below, z_side), tx.low * RATE(rate + i + ex.low));              \
        z_side = slope##N(b, d, ez.weight);                                                       \
        z_side.z += 1.0f;                                                                         \
        f = plus##N(f, cross##N(y_above, z_side), tx.high * RATE(rate + i + ex.high));            \
        vec##N x_under = slope##N(a, b, ex.weight), x_over = slope##N(c, d, ex.weight);           \
        x_under.x += 1.0f;                                                                        \
        x_over.x += 1.0f;                                                                         \
        a = load_vec##N(u, i + ey.low + ez.low, n), b = load_vec##N(u, i + ey.high + ez.low, n);  \
        c = load_vec##N(u, i + ey.low + ez.high, n), d = load_vec##N(u, i + ey.high + ez.high, n); \
        z_side = slope##N(a, c, ez.weight);                                                       \
        z_side.z += 1.0f;                                                                         \
        f = plus##N(f, cross##N(z_side, x_south), ty.low * RATE(rate + i + ey.low));              \
        z_side = slope##N(b, d, ez.weight);                                                       \
        z_side.z += 1.0f;                                                                         \
        f = plus##N(f, cross##N(z_side, x_north), ty.high * RATE(rate + i + ey.high));            \
        vec##N y_side = slope##N(a, b, ey.weight);                                                \
        y_side.y += 1.0f;                                                                         \
        f = plus##N(f, cross##N(x_under, y_side), tz.low * RATE(rate + i + ez.low));              \
        y_side = slope##N(c, d, ey.weight);                                                       \
        y_side.y += 1.0f;                                                                         \
        return plus##N(f, cross##N(x_over, y_side), tz.high * RATE(rate + i + ez.high));          \
    }

#define RATE1(p) (*(p))
DEFINE_EDGES(1, RATE1)
DEFINE_EDGES(8, LOAD8)

__kernel void rates_force_item(__global const float *rate, FORCE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x + x;
    vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
    f = edges1(u, rate, i, n, ends_at(x, size.x, 1, inverse.x), ends_at(y, size.y, size.x, inverse.y),
               ends_at(z, size.z, plane, inverse.z), adjoint_at(x, size.x, inverse.x),
               adjoint_at(y, size.y, inverse.y), adjoint_at(z, size.z, inverse.z), f);
    store_vec(f, force, i, n);
}

/* For CPU devices: the image term of a part of the row, then the penalty's
 * force of those of its voxels whose neighbours' differences are all inner
 * ones, eight at a time; the others one by one. */
__kernel void rates_force_row(__global const float *rate, FORCE_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, row = z * plane + y * size.x;
    ends inner = ends_at(2, 5, 1, inverse.x);
    ends ey = ends_at(y, size.y, size.x, inverse.y), ez = ends_at(z, size.z, plane, inverse.z);
    adjoint ax = adjoint_at(2, 5, inverse.x), ay = adjoint_at(y, size.y, inverse.y);
    adjoint az = adjoint_at(z, size.z, inverse.z);
    int begin = 2, end = size.x - 2, x = 0;
    if (moving_size.x > 1 && end - begin >= 8)
        for (x = begin; x < end;) {
            row_part part;
            int count = min(PART, end - x);
            if (count < 8) {
                count = 8;
                x = end - 8; /* over some of the last part again */
            }
            read_part(&part, moving, moving_size, u, n, row, x, y, z, count, MAP);
            for (int e = 0; e < count; e += 8) {
                int c = min(e, count - 8), i = row + x + c;
                vec8 slope, f;
                float8 r = residual8(&part, c, LOAD8(fixed + i), &slope);
#if MASK
                r *= LOAD8(mask + i);
#endif
                f.x = r * (shift0.x * slope.x + shift1.x * slope.y + shift2.x * slope.z);
                f.y = r * (shift0.y * slope.x + shift1.y * slope.y + shift2.y * slope.z);
                f.z = r * (shift0.z * slope.x + shift1.z * slope.y + shift2.z * slope.z);
                store_vec8(edges8(u, rate, i, n, inner, ey, ez, ax, ay, az, f), force, i, n);
            }
            x += count;
        }
    bool done = x > 0;
    for (x = 0; x < size.x; x++) {
        if (done && x == begin)
            x = end;
        vec1 f = IMAGE_FORCE(load_vec1(u, row + x, n), x, y, z, row + x);
        f = edges1(u, rate, row + x, n, ends_at(x, size.x, 1, inverse.x), ey, ez,
                   adjoint_at(x, size.x, inverse.x), ay, az, f);
        store_vec(f, force, row + x, n);
    }
}
