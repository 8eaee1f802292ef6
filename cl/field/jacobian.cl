/* SPDX-License-Identifier: Apache-2.0 */
/* det(I + Du) or its logarithm (built with LOG). */
#include "common/difference.clh"
#include "common/field_row.clh"
#include "common/grid.clh"

#ifndef LOG
#define LOG 0
#endif
#define SMALLEST 1e-6f

#if LOG
#define FINISH(T, det) log((det) < (T)(SMALLEST) ? (T)(SMALLEST) : (det))
#else
#define FINISH(T, det) (det)
#endif

/* det(I + M) with the columns dx, dy, dz of M. The trace, the sum of principal
 * minors and det M are added to 1: small displacements lose no digits. */
#define DET(dx, dy, dz)                                                                       \
    (1.0f + ((dx.x + dy.y + dz.z) + (dx.x * dy.y - dy.x * dx.y) + (dx.x * dz.z - dz.x * dx.z) + \
             (dy.y * dz.z - dz.y * dy.z) + dx.x * (dy.y * dz.z - dz.y * dy.z) -               \
             dy.x * (dx.y * dz.z - dz.y * dx.z) + dz.x * (dx.y * dy.z - dy.y * dx.z)))

static inline float jacobian_at(__global const float *u, int x, int y, int z, int4 size, float4 inverse)
{
    int plane = size.x * size.y, n = plane * size.z, row = z * plane + y * size.x;
    int column = z * plane + x, line = y * size.x + x;
    float3 dx = (load_vec(u, row + difference_above(x, size.x), n) -
                 load_vec(u, row + difference_below(x), n)) *
                difference_scale(x, size.x, inverse.x);
    float3 dy = (load_vec(u, column + difference_above(y, size.y) * size.x, n) -
                 load_vec(u, column + difference_below(y) * size.x, n)) *
                difference_scale(y, size.y, inverse.y);
    float3 dz = (load_vec(u, line + difference_above(z, size.z) * plane, n) -
                 load_vec(u, line + difference_below(z) * plane, n)) *
                difference_scale(z, size.z, inverse.z);
    float det = DET(dx, dy, dz);
    return FINISH(float, det);
}

__kernel void jacobian_row(__global const float *u, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 1;
    int north = (z * size.y + difference_above(y, size.y)) * size.x;
    int south = (z * size.y + difference_below(y)) * size.x;
    int above = (difference_above(z, size.z) * size.y + y) * size.x;
    int below = (difference_below(z) * size.y + y) * size.x;
    float scale_x = 0.5f * inverse.x, scale_y = difference_scale(y, size.y, inverse.y);
    float scale_z = difference_scale(z, size.z, inverse.z);
    out[row] = jacobian_at(u, 0, y, z, size, inverse);
    for (; x + 8 < size.x; x += 8) {
        vec8 dx = difference_vec8(u, row + x + 1, row + x - 1, scale_x, n);
        vec8 dy = difference_vec8(u, north + x, south + x, scale_y, n);
        vec8 dz = difference_vec8(u, above + x, below + x, scale_z, n);
        float8 det = DET(dx, dy, dz);
        STORE8(FINISH(float8, det), out + row + x);
    }
    for (; x < size.x; x++)
        out[row + x] = jacobian_at(u, x, y, z, size, inverse);
}

/* Walks MARCH planes: the voxels above and below stay in registers. Inside,
 * the neighbours along x are a constant away, which saves as many instructions
 * as the borders cost. */
__kernel void jacobian_march(__global const float *u, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2) * MARCH;
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x + x;
    int east = difference_above(x, size.x) - x, west = difference_below(x) - x;
    int north = (difference_above(y, size.y) - y) * size.x, south = (difference_below(y) - y) * size.x;
    float scale_x = difference_scale(x, size.x, inverse.x), scale_y = difference_scale(y, size.y, inverse.y);
    float3 here = load_vec(u, i, n), below = z > 0 ? load_vec(u, i - plane, n) : here;
    bool inside = x > 0 && x < size.x - 1;
    int end = min(z + MARCH, size.z);
#ifdef UNROLL
#pragma unroll UNROLL
#endif
    for (; z < end; z++, i += plane) {
        float3 above = z + 1 < size.z ? load_vec(u, i + plane, n) : here;
        float3 dx = inside ? load_vec(u, i + 1, n) - load_vec(u, i - 1, n)
                           : load_vec(u, i + east, n) - load_vec(u, i + west, n);
        float3 dy = (load_vec(u, i + north, n) - load_vec(u, i + south, n)) * scale_y;
        float3 dz = (above - below) * difference_scale(z, size.z, inverse.z);
        dx *= scale_x;
        float det = DET(dx, dy, dz);
        out[i] = FINISH(float, det);
        below = here;
        here = above;
    }
}
