/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of the unbiased force that Lee et al. 2012 compare with reuse (fluid/force.cl), for a lambda that
 * is not 0. MASK: there is a mask. nine: of two passes alone. */
#include "fluid/flux.clh"
#include "fluid/residual.clh"

/* u in local memory: three planes of components, one after another. */
INLINED vec1 local_vec(__local const float *u, int cell, int cells)
{
    vec1 r;
    r.x = u[cell];
    r.y = u[cell + cells];
    r.z = u[cell + 2 * cells];
    return r;
}

DEFINE_FLUX(local_flux, __local, local_vec)

/* Recompute (3.1.1): u alone in local memory, two voxels
 * beyond the tile; each work-item computes its six neighbours' fluxes. */
#define HALO 2
#define CELLS_X (TILE_X + 2 * HALO)
#define CELLS_Y (TILE_Y + 2 * HALO)
#define CELLS (CELLS_X * CELLS_Y * (TILE_Z + 2 * HALO))

/* Without reqd_work_group_size, for which a compiler may forget a cap on
 * registers. */
__kernel void force_recompute(FORCE_ARGUMENTS, __global const float *nine)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float cell[3 * CELLS];
    int x0 = get_group_id(0) * TILE_X - HALO, y0 = get_group_id(1) * TILE_Y - HALO;
    int z0 = get_group_id(2) * TILE_Z - HALO, n = size.x * size.y * size.z;
    int item = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    for (int c = item; c < CELLS; c += TILE_X * TILE_Y * TILE_Z) {
        int row = c / CELLS_X, cz = row / CELLS_Y, cy = row - cz * CELLS_Y, cx = c - row * CELLS_X;
        vec1 v = load_vec1(u, (clamp(z0 + cz, 0, size.z - 1) * size.y + clamp(y0 + cy, 0, size.y - 1)) *
                                      size.x + clamp(x0 + cx, 0, size.x - 1), n);
        cell[c] = v.x;
        cell[c + CELLS] = v.y;
        cell[c + 2 * CELLS] = v.z;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z) {
        int i = (z * size.y + y) * size.x + x;
        int here = ((z - z0) * CELLS_Y + y - y0) * CELLS_X + x - x0;
        vec1 f = IMAGE_FORCE(local_vec(cell, here, CELLS), x, y, z, i);
#if PENALTY
        f = plus1(f, local_flux_divergence(cell, here, CELLS, x, y, z, CELLS_X, CELLS_X * CELLS_Y,
                                           size, inverse, lambda), 1.0f);
#endif
        store_vec(f, force, i, n);
    }
}

/* Two passes: the nine fluxes of each voxel to global
 * memory (three vector fields, one an axis), then their divergence and the
 * image term. No local memory, nothing computed twice, 72 bytes a voxel more. */
#define PRODUCTS_ARGUMENTS \
    __global const float *u, grid on, float lambda, __global float *nine

static inline void products(__global const float *u, int x, int y, int z, int4 size, float4 inverse,
                            float lambda, __global float *nine)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 ax, ay, az;
    columns1(u, i, n, ends_at(x, size.x, 1, inverse.x), ends_at(y, size.y, size.x, inverse.y),
             ends_at(z, size.z, size.x * size.y, inverse.z), &ax, &ay, &az);
    vec1 c = cross1(ay, az);
    float rate = -lambda * penalty_derivative1(dot1(ax, c));
    store_vec(scaled1(c, rate), nine, i, n);
    store_vec(scaled1(cross1(az, ax), rate), nine + 3 * n, i, n);
    store_vec(scaled1(cross1(ax, ay), rate), nine + 6 * n, i, n);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void products_item(PRODUCTS_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        products(u, x, y, z, size, inverse, lambda, nine);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void products_row(PRODUCTS_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    ends ex = ends_at(1, 3, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y);
    ends ez = ends_at(z, size.z, size.x * size.y, inverse.z);
    for (int x = 0; x < size.x;) {
        if (x < 1 || x + 9 > size.x) {
            products(u, x, y, z, size, inverse, lambda, nine);
            x++;
            continue;
        }
        vec8 ax, ay, az;
        columns8(u, row + x, n, ex, ey, ez, &ax, &ay, &az);
        vec8 c = cross8(ay, az);
        float8 rate = -lambda * penalty_derivative8(dot8(ax, c));
        store_vec8(scaled8(c, rate), nine, row + x, n);
        store_vec8(scaled8(cross8(az, ax), rate), nine + 3 * n, row + x, n);
        store_vec8(scaled8(cross8(ax, ay), rate), nine + 6 * n, row + x, n);
        x += 8;
    }
}

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
void divergence_item(FORCE_ARGUMENTS, __global const float *nine)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
    store_vec(plus1(f, divergence(nine, x, y, z, size, inverse), 1.0f), force, i, n);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void divergence_row(FORCE_ARGUMENTS, __global const float *nine)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
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
