/* SPDX-License-Identifier: Apache-2.0 */
/* The unbiased force in two passes: the nine fluxes of each voxel to global
 * memory (three vector fields, one an axis), then their divergence and the
 * image term. No local memory, nothing computed twice, 72 bytes a voxel more. */
#include "force.clh"
#include "residual.clh"

#define PRODUCTS_ARGUMENTS \
    __global const float *u, int4 size, float4 inverse, __global float *nine

static inline void products(__global const float *u, int x, int y, int z, int4 size, float4 inverse,
                            __global float *nine)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 ax, ay, az;
    columns1(u, i, n, ends_at(x, size.x, 1, inverse.x), ends_at(y, size.y, size.x, inverse.y),
             ends_at(z, size.z, size.x * size.y, inverse.z), &ax, &ay, &az);
    vec1 c = cross1(ay, az);
    float rate = inverse.w * penalty_slope1(dot1(ax, c));
    store_vec(scaled1(c, rate), nine, i, n);
    store_vec(scaled1(cross1(az, ax), rate), nine + 3 * n, i, n);
    store_vec(scaled1(cross1(ax, ay), rate), nine + 6 * n, i, n);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void products_item(PRODUCTS_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        products(u, x, y, z, size, inverse, nine);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void products_row(PRODUCTS_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    ends ex = ends_at(1, 3, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y);
    ends ez = ends_at(z, size.z, size.x * size.y, inverse.z);
    for (int x = 0; x < size.x;) {
        if (x < 1 || x + 9 > size.x) {
            products(u, x, y, z, size, inverse, nine);
            x++;
            continue;
        }
        vec8 ax, ay, az;
        columns8(u, row + x, n, ex, ey, ez, &ax, &ay, &az);
        vec8 c = cross8(ay, az);
        float8 rate = inverse.w * penalty_slope8(dot8(ax, c));
        store_vec8(scaled8(c, rate), nine, row + x, n);
        store_vec8(scaled8(cross8(az, ax), rate), nine + 3 * n, row + x, n);
        store_vec8(scaled8(cross8(ax, ay), rate), nine + 6 * n, row + x, n);
        x += 8;
    }
}

#define DIVERGENCE_ARGUMENTS __global const float *nine, FORCE_ARGUMENTS

static inline vec1 divergence(__global const float *nine, int x, int y, int z, int4 size,
                              float4 inverse)
{
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x + x;
    ends ex = ends_at(x, size.x, 1, 0.0f), ey = ends_at(y, size.y, size.x, 0.0f);
    ends ez = ends_at(z, size.z, plane, 0.0f);
    adjoint tx = adjoint_at(x, size.x, inverse.x), ty = adjoint_at(y, size.y, inverse.y);
    adjoint tz = adjoint_at(z, size.z, inverse.z);
    vec1 f = scaled1(load_vec1(nine, i + ex.low, n), tx.low);
    f = plus1(f, load_vec1(nine, i + ex.high, n), tx.high);
    f = plus1(f, load_vec1(nine + 3 * n, i + ey.low, n), ty.low);
    f = plus1(f, load_vec1(nine + 3 * n, i + ey.high, n), ty.high);
    f = plus1(f, load_vec1(nine + 6 * n, i + ez.low, n), tz.low);
    return plus1(f, load_vec1(nine + 6 * n, i + ez.high, n), tz.high);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void divergence_item(DIVERGENCE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
    store_vec(plus1(f, divergence(nine, x, y, z, size, inverse), 1.0f), force, i, n);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void divergence_row(DIVERGENCE_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, row = z * plane + y * size.x;
    for (int x = 0; x < size.x; x++)
        store_vec(IMAGE_FORCE(load_vec1(u, row + x, n), x, y, z, row + x), force, row + x, n);
    ends ey = ends_at(y, size.y, size.x, 0.0f), ez = ends_at(z, size.z, plane, 0.0f);
    adjoint tx = adjoint_at(2, 5, inverse.x), ty = adjoint_at(y, size.y, inverse.y);
    adjoint tz = adjoint_at(z, size.z, inverse.z);
    for (int x = 0; x < size.x;) {
        int i = row + x;
        if (x < 2 || x + 10 > size.x) {
            vec1 f = load_vec1(force, i, n);
            store_vec(plus1(f, divergence(nine, x, y, z, size, inverse), 1.0f), force, i, n);
            x++;
            continue;
        }
        vec8 f = load_vec8(force, i, n);
        f = plus8(f, load_vec8(nine, i - 1, n), tx.low);
        f = plus8(f, load_vec8(nine, i + 1, n), tx.high);
        f = plus8(f, load_vec8(nine + 3 * n, i + ey.low, n), ty.low);
        f = plus8(f, load_vec8(nine + 3 * n, i + ey.high, n), ty.high);
        f = plus8(f, load_vec8(nine + 6 * n, i + ez.low, n), tz.low);
        store_vec8(plus8(f, load_vec8(nine + 6 * n, i + ez.high, n), tz.high), force, i, n);
        x += 8;
    }
}
