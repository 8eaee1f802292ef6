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

/* Recompute as printed (3.1.1): a plane of work-items walks up MARCH planes with five planes of u in local
 * memory, 15 (w + 4)(h + 4) floats, which shift by one each time. Tiles are one plane deep. LADEN: floats of
 * local memory in all, more than are used, so that fewer groups fit a multiprocessor. */
#ifdef LADEN
#define LOCAL_FLOATS(used) LADEN
#else
#define LOCAL_FLOATS(used) (used)
#endif

#ifdef MARCHED
#define PLANE (CELLS_X * CELLS_Y)

INLINED void load_cell(__local float *cell, int c, int slot, __global const float *u, int x0, int y0, int z,
                       int4 size)
{
    int x = clamp(x0 + c % CELLS_X, 0, size.x - 1), y = clamp(y0 + c / CELLS_X, 0, size.y - 1);
    vec1 v = load_vec1(u, (clamp(z, 0, size.z - 1) * size.y + y) * size.x + x, size.x * size.y * size.z);
    cell[slot * PLANE + c] = v.x;
    cell[(5 + slot) * PLANE + c] = v.y;
    cell[(10 + slot) * PLANE + c] = v.z;
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_march(FORCE_ARGUMENTS, __global const float *nine)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float cell[LOCAL_FLOATS(15 * PLANE)];
    int item = get_local_id(1) * TILE_X + get_local_id(0), n = size.x * size.y * size.z;
    int x0 = get_group_id(0) * TILE_X - HALO, y0 = get_group_id(1) * TILE_Y - HALO;
    int x = get_global_id(0), y = get_global_id(1);
    int here = 2 * PLANE + (y - y0) * CELLS_X + x - x0;
    int from = get_group_id(2) * MARCH, to = min(from + MARCH, size.z);
    for (int c = item; c < PLANE; c += TILE_X * TILE_Y)
        for (int slot = 1; slot < 5; slot++)
            load_cell(cell, c, slot, u, x0, y0, from + slot - 3, size);
    for (int z = from; z < to; z++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int c = item; c < PLANE; c += TILE_X * TILE_Y) {
            for (int k = 0; k < 15; k++)
                if (k % 5 < 4)
                    cell[k * PLANE + c] = cell[(k + 1) * PLANE + c];
            load_cell(cell, c, 4, u, x0, y0, z + 2, size);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x < size.x && y < size.y) {
            int i = (z * size.y + y) * size.x + x;
            vec1 f = IMAGE_FORCE(local_vec(cell, here, 5 * PLANE), x, y, z, i);
#if PENALTY
            f = plus1(f, local_flux_divergence(cell, here, 5 * PLANE, x, y, z, CELLS_X, PLANE, size, inverse,
                                               lambda), 1.0f);
#endif
            store_vec(f, force, i, n);
        }
    }
}

#endif

#ifdef KEPT
/* Reuse as printed (3.1.1): the work-items of a tile, rim of two included, walk up MARCH planes with 32
 * planes in local memory. Slices are numbered from the one whose force is made, 0. */
#define TILE (TILE_X * TILE_Y)
enum {
    U = 0, /* u of slices -1 to 2, four planes a component; of slice -1 its du/dx of slice 0 has the place */
    ALONG_Y = 12, /* du/dy, du/dz and J of slice 0 */
    ALONG_Z = 15,
    DETERMINANT = 18,
    NEXT = 19,  /* du/dx, du/dy, du/dz and J of slice 1 */
    BEFORE = 29 /* the flux along z of slice -1 */
};

INLINED void put_cell(__local float *cell, int plane, int apart, vec1 v)
{
    cell[plane * TILE] = v.x;
    cell[(plane + apart) * TILE] = v.y;
    cell[(plane + 2 * apart) * TILE] = v.z;
}

INLINED vec1 get_cell(__local const float *cell, int plane, int apart)
{
    vec1 v;
    v.x = cell[plane * TILE];
    v.y = cell[(plane + apart) * TILE];
    v.z = cell[(plane + 2 * apart) * TILE];
    return v;
}

/* The flux of a cell of slice 0 or 1 along an axis, from what is kept of it; columns of A = I + Du are
 * kept. */
INLINED vec1 kept_flux(__local const float *cell, int slice, float lambda, int axis)
{
    vec1 ax = slice ? get_cell(cell, NEXT, 1) : get_cell(cell, U, 4);
    vec1 ay = get_cell(cell, slice ? NEXT + 3 : ALONG_Y, 1),
         az = get_cell(cell, slice ? NEXT + 6 : ALONG_Z, 1);
    vec1 c = axis == 0 ? cross1(ay, az) : (axis == 1 ? cross1(az, ax) : cross1(ax, ay));
    return scaled1(c, -lambda * penalty_derivative1(cell[(slice ? NEXT + 9 : DETERMINANT) * TILE]));
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_planes(FORCE_ARGUMENTS, __global const float *nine)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float all[LOCAL_FLOATS(32 * TILE)];
    int lx = get_local_id(0), ly = get_local_id(1), plane = size.x * size.y, n = plane * size.z;
    int own_x = get_group_id(0) * GROUP_X + lx - 2, own_y = get_group_id(1) * GROUP_Y + ly - 2;
    int x = clamp(own_x, 0, size.x - 1), y = clamp(own_y, 0, size.y - 1), column = y * size.x + x;
    bool beside = lx > 0 && lx < TILE_X - 1 && ly > 0 && ly < TILE_Y - 1;
    bool inner = lx > 1 && lx < TILE_X - 2 && ly > 1 && ly < TILE_Y - 2 && own_x < size.x && own_y < size.y;
    int from = get_group_id(2) * MARCH, to = min(from + MARCH, size.z);
    ends ex = ends_at(x, size.x, 1, inverse.x), ey = ends_at(y, size.y, TILE_X, inverse.y);
    adjoint tx = adjoint_at(x, size.x, inverse.x), ty = adjoint_at(y, size.y, inverse.y);
    int west = difference_below(x) - x, east = difference_above(x, size.x) - x;
    int north = (difference_below(y) - y) * TILE_X, south = (difference_above(y, size.y) - y) * TILE_X;
    __local float *cell = all + ly * TILE_X + lx;
    for (int p = 0; p < 32; p++)
        cell[p * TILE] = 0.0f;
    put_cell(cell, U + 2, 4, load_vec1(u, column + clamp(from - 2, 0, size.z - 1) * plane, n));
    put_cell(cell, U + 3, 4, load_vec1(u, column + clamp(from - 1, 0, size.z - 1) * plane, n));
    for (int z = from - 2; z < to; z++) {
        barrier(CLK_LOCAL_MEM_FENCE);
        put_cell(cell, BEFORE, 1, kept_flux(cell, 0, lambda, 2));
        put_cell(cell, U, 4, get_cell(cell, NEXT, 1));
        for (int p = 0; p < 7; p++)
            cell[(ALONG_Y + p) * TILE] = cell[(NEXT + 3 + p) * TILE];
        for (int p = 1; p < 3; p++)
            put_cell(cell, U + p, 4, get_cell(cell, U + p + 1, 4));
        put_cell(cell, U + 3, 4, load_vec1(u, column + clamp(z + 2, 0, size.z - 1) * plane, n));
        barrier(CLK_LOCAL_MEM_FENCE);
        if (beside) {
            int next = clamp(z + 1, 0, size.z - 1);
            __local const float *middle = cell + (U + 2) * TILE;
            vec1 low = get_cell(cell, next > 0 ? U + 1 : U + 2, 4);
            vec1 high = get_cell(cell, next < size.z - 1 ? U + 3 : U + 2, 4);
            vec1 ax =
                difference1(get_cell(middle + ex.low, 0, 4), get_cell(middle + ex.high, 0, 4), ex.weight);
            vec1 ay =
                difference1(get_cell(middle + ey.low, 0, 4), get_cell(middle + ey.high, 0, 4), ey.weight);
            vec1 az = difference1(low, high, difference_scale(next, size.z, inverse.z));
            ax.x += 1.0f;
            ay.y += 1.0f;
            az.z += 1.0f;
            put_cell(cell, NEXT, 1, ax);
            put_cell(cell, NEXT + 3, 1, ay);
            put_cell(cell, NEXT + 6, 1, az);
            cell[(NEXT + 9) * TILE] = dot1(ax, cross1(ay, az));
        }
        if (inner && z >= from) {
            int i = column + z * plane;
            vec1 f = IMAGE_FORCE(get_cell(cell, U + 1, 4), x, y, z, i);
#if PENALTY
            adjoint tz = adjoint_at(z, size.z, inverse.z);
            f = plus1(f, kept_flux(cell + west, 0, lambda, 0), tx.low);
            f = plus1(f, kept_flux(cell + east, 0, lambda, 0), tx.high);
            f = plus1(f, kept_flux(cell + north, 0, lambda, 1), ty.low);
            f = plus1(f, kept_flux(cell + south, 0, lambda, 1), ty.high);
            f = plus1(f, z > 0 ? get_cell(cell, BEFORE, 1) : kept_flux(cell, 0, lambda, 2), tz.low);
            f = plus1(f, kept_flux(cell, z + 1 < size.z, lambda, 2), tz.high);
#endif
            store_vec(f, force, i, n);
        }
    }
}

#endif

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
