/* SPDX-License-Identifier: Apache-2.0 */
/* The unbiased force. PENALTY: lambda is not 0. MASK: mask is not NULL. */
#include "force.clh"
#include "residual.clh"

/* lambda L' times the cofactors' column of one axis at voxel (x, y, z). */
static inline vec1 flux(__global const float *u, int x, int y, int z, int4 size, float4 inverse,
                        int axis)
{
    int n = size.x * size.y * size.z;
    vec1 ax, ay, az;
    columns1(u, (z * size.y + y) * size.x + x, n, ends_at(x, size.x, 1, inverse.x),
             ends_at(y, size.y, size.x, inverse.y), ends_at(z, size.z, size.x * size.y, inverse.z),
             &ax, &ay, &az);
    vec1 c = axis == 0 ? cross1(ay, az) : (axis == 1 ? cross1(az, ax) : cross1(ax, ay));
    float j = axis == 0 ? dot1(ax, c) : (axis == 1 ? dot1(ay, c) : dot1(az, c));
    return scaled1(c, inverse.w * penalty_slope1(j));
}

/* The penalty's force at one voxel straight from u. inverse: 1/spacing, lambda. */
static inline vec1 penalty_force(__global const float *u, int x, int y, int z, int4 size,
                                 float4 inverse)
{
    adjoint tx = adjoint_at(x, size.x, inverse.x), ty = adjoint_at(y, size.y, inverse.y),
            tz = adjoint_at(z, size.z, inverse.z);
    vec1 f = scaled1(flux(u, max(x - 1, 0), y, z, size, inverse, 0), tx.low);
    f = plus1(f, flux(u, min(x + 1, size.x - 1), y, z, size, inverse, 0), tx.high);
    f = plus1(f, flux(u, x, max(y - 1, 0), z, size, inverse, 1), ty.low);
    f = plus1(f, flux(u, x, min(y + 1, size.y - 1), z, size, inverse, 1), ty.high);
    f = plus1(f, flux(u, x, y, max(z - 1, 0), size, inverse, 2), tz.low);
    return plus1(f, flux(u, x, y, min(z + 1, size.z - 1), size, inverse, 2), tz.high);
}

#define FORCE_ARGUMENTS                                                                       \
    __global const float *moving, int4 moving_size, __global const float *fixed,              \
        __global const float *mask, __global const float *u, int4 size, float4 inverse,       \
        float4 linear0, float4 linear1, float4 linear2, float4 shift0, float4 shift1,         \
        float4 shift2, __global float *force

#define MAP linear0, linear1, linear2, shift0, shift1, shift2

/* No local memory: for devices that have none to speak of. */
__kernel void force_direct(FORCE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 f = image_force(moving, moving_size, fixed, mask, load_vec1(u, i, n), x, y, z, i, MAP);
#if PENALTY
    f = plus1(f, penalty_force(u, x, y, z, size, inverse), 1.0f);
#endif
    store_vec((float3)(f.x, f.y, f.z), force, i, n);
}

/* A row along x in steps of eight voxels; its borders apart. */
#define FLUX8(sum, i, ex, ey, ez, first, second, third, k)              \
    do {                                                                \
        vec8 ax, ay, az;                                                \
        columns8(u, (i), n, ex, ey, ez, &ax, &ay, &az);                 \
        vec8 c = cross8(second, third);                                 \
        float8 rate = penalty_slope8(dot8(first, c)) * (inverse.w * (k)); \
        (sum).x += rate * c.x;                                          \
        (sum).y += rate * c.y;                                          \
        (sum).z += rate * c.z;                                          \
    } while (0)

__kernel void force_row(FORCE_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 0;
    for (; x < size.x; x++) {
        int i = row + x;
        vec1 f = image_force(moving, moving_size, fixed, mask, load_vec1(u, i, n), x, y, z, i, MAP);
        store_vec((float3)(f.x, f.y, f.z), force, i, n);
    }
#if PENALTY
    int plane = size.x * size.y;
    int y0 = max(y - 1, 0), y1 = min(y + 1, size.y - 1);
    int z0 = max(z - 1, 0), z1 = min(z + 1, size.z - 1);
    ends ex = ends_at(1, 3, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y),
         ez = ends_at(z, size.z, plane, inverse.z);
    ends ey0 = ends_at(y0, size.y, size.x, inverse.y), ey1 = ends_at(y1, size.y, size.x, inverse.y);
    ends ez0 = ends_at(z0, size.z, plane, inverse.z), ez1 = ends_at(z1, size.z, plane, inverse.z);
    adjoint tx = adjoint_at(2, 5, inverse.x), ty = adjoint_at(y, size.y, inverse.y),
            tz = adjoint_at(z, size.z, inverse.z);
    for (x = 0; x < size.x;) {
        int i = row + x;
        if (x < 2 || x + 10 > size.x) {
            vec1 f = plus1(load_vec1(force, i, n), penalty_force(u, x, y, z, size, inverse), 1.0f);
            store_vec((float3)(f.x, f.y, f.z), force, i, n);
            x++;
            continue;
        }
        vec8 f = load_vec8(force, i, n);
        FLUX8(f, i - 1, ex, ey, ez, ax, ay, az, tx.low);
        FLUX8(f, i + 1, ex, ey, ez, ax, ay, az, tx.high);
        FLUX8(f, i + (y0 - y) * size.x, ex, ey0, ez, ay, az, ax, ty.low);
        FLUX8(f, i + (y1 - y) * size.x, ex, ey1, ez, ay, az, ax, ty.high);
        FLUX8(f, i + (z0 - z) * plane, ex, ey, ez0, az, ax, ay, tz.low);
        FLUX8(f, i + (z1 - z) * plane, ex, ey, ez1, az, ax, ay, tz.high);
        store_vec8(f, force, i, n);
        x += 8;
    }
#endif
}
