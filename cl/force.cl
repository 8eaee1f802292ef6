/* SPDX-License-Identifier: Apache-2.0 */
/* The unbiased force. PENALTY: lambda is not 0. MASK: mask is not NULL. */
#include "force.clh"
#include "residual.clh"

/* u in local memory: three planes of components, one after another. */
INLINED vec1 local_vec(__local const float *u, int cell, int cells)
{
    vec1 r;
    r.x = u[cell];
    r.y = u[cell + cells];
    r.z = u[cell + 2 * cells];
    return r;
}

/* The flux at voxel (x, y, z), whose u is at index i of an array with these
 * strides along y and z: once from global memory and once from local. */
#define DEFINE_FLUX(NAME, SPACE, LOAD)                                                        \
    INLINED vec1 NAME(SPACE const float *u, int i, int n, int x, int y, int z,                \
                      int stride_y, int stride_z, int4 size, float4 inverse, int axis)  \
    {                                                                                         \
        ends ex = ends_at(x, size.x, 1, inverse.x);                                           \
        ends ey = ends_at(y, size.y, stride_y, inverse.y);                                    \
        ends ez = ends_at(z, size.z, stride_z, inverse.z);                                    \
        vec1 ax = slope1(LOAD(u, i + ex.low, n), LOAD(u, i + ex.high, n), ex.weight);         \
        vec1 ay = slope1(LOAD(u, i + ey.low, n), LOAD(u, i + ey.high, n), ey.weight);         \
        vec1 az = slope1(LOAD(u, i + ez.low, n), LOAD(u, i + ez.high, n), ez.weight);         \
        ax.x += 1.0f;                                                                         \
        ay.y += 1.0f;                                                                         \
        az.z += 1.0f;                                                                         \
        return flux_of(ax, ay, az, inverse.w, axis);                                          \
    }                                                                                         \
                                                                                              \
    INLINED vec1 NAME##_divergence(SPACE const float *u, int i, int n, int x, int y, int z,   \
                                   int stride_y, int stride_z, int4 size, float4 inverse)     \
    {                                                                                         \
        adjoint tx = adjoint_at(x, size.x, inverse.x), ty = adjoint_at(y, size.y, inverse.y); \
        adjoint tz = adjoint_at(z, size.z, inverse.z);                                        \
        int x0 = difference_below(x), x1 = difference_above(x, size.x);                       \
        int y0 = difference_below(y), y1 = difference_above(y, size.y);                       \
        int z0 = difference_below(z), z1 = difference_above(z, size.z);                       \
        vec1 f = scaled1(NAME(u, i + x0 - x, n, x0, y, z, stride_y, stride_z, size, inverse, 0), tx.low); \
        f = plus1(f, NAME(u, i + x1 - x, n, x1, y, z, stride_y, stride_z, size, inverse, 0), tx.high); \
        f = plus1(f, NAME(u, i + (y0 - y) * stride_y, n, x, y0, z, stride_y, stride_z, size,  \
                          inverse, 1), ty.low);                                               \
        f = plus1(f, NAME(u, i + (y1 - y) * stride_y, n, x, y1, z, stride_y, stride_z, size,  \
                          inverse, 1), ty.high);                                              \
        f = plus1(f, NAME(u, i + (z0 - z) * stride_z, n, x, y, z0, stride_y, stride_z, size,  \
                          inverse, 2), tz.low);                                               \
        return plus1(f, NAME(u, i + (z1 - z) * stride_z, n, x, y, z1, stride_y, stride_z, size, \
                             inverse, 2), tz.high);                                           \
    }

DEFINE_FLUX(global_flux, __global, load_vec1)
DEFINE_FLUX(local_flux, __local, local_vec)

/* No local memory: for devices that have none to speak of. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_direct(FORCE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
#if PENALTY
    f = plus1(f, global_flux_divergence(u, i, n, x, y, z, size.x, size.x * size.y, size, inverse), 1.0f);
#endif
    store_vec(f, force, i, n);
}

/* Recompute (Lee et al. 2012, 3.1.1): u alone in local memory, two voxels
 * beyond the tile; each work-item computes its six neighbours' fluxes. */
#define HALO 2
#define CELLS_X (TILE_X + 2 * HALO)
#define CELLS_Y (TILE_Y + 2 * HALO)
#define CELLS (CELLS_X * CELLS_Y * (TILE_Z + 2 * HALO))

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_recompute(FORCE_ARGUMENTS)
{
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
                                           size, inverse), 1.0f);
#endif
        store_vec(f, force, i, n);
    }
}

/* Reuse (Lee et al. 2012, 3.1.1): each work-item walks up a column of MARCH
 * planes and computes the fluxes of each of its voxels once; those along x and
 * y go to local memory for the neighbours, those along z stay in registers.
 * The outermost work-items of the tile compute fluxes only: the tile gives
 * (TILE_X - 2)(TILE_Y - 2) values a plane. Columns beyond the volume repeat the
 * border, which is what the adjoint asks for. Two buffers of local memory: one
 * barrier a plane suffices. */
#define PLANE (TILE_X * TILE_Y)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_reuse(FORCE_ARGUMENTS)
{
    __local float cell[2 * 6 * PLANE];
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int own_x = get_group_id(0) * (TILE_X - 2) + lx - 1, own_y = get_group_id(1) * (TILE_Y - 2) + ly - 1;
    int x = clamp(own_x, 0, size.x - 1), y = clamp(own_y, 0, size.y - 1);
    bool inner = lx > 0 && lx < TILE_X - 1 && own_x < size.x && ly > 0 && ly < TILE_Y - 1 &&
                 own_y < size.y;
    int from = get_group_id(2) * MARCH, to = min(from + MARCH, size.z);
    int plane = size.x * size.y, n = plane * size.z, start = max(from - 1, 0);
    int column = y * size.x + x;
    ends ex = ends_at(x, size.x, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y);
    adjoint tx = adjoint_at(x, size.x, inverse.x), ty = adjoint_at(y, size.y, inverse.y);
    vec1 low = load_vec1(u, column + difference_below(start) * plane, n);
    vec1 here = load_vec1(u, column + start * plane, n);
    /* Fluxes along z one and two planes back; divergence in the plane before. */
    vec1 back1 = scaled1(here, 0.0f), back2 = back1, across = back1;
    for (int k = start; k <= to; k++) {
        /* Plane k = size.z does not exist: its values are not used. */
        int z = min(k, size.z - 1), i = column + z * plane;
        vec1 high = load_vec1(u, column + min(k + 1, size.z - 1) * plane, n);
#if PENALTY
        ends ez = ends_at(z, size.z, plane, inverse.z);
        vec1 ax = slope1(load_vec1(u, i + ex.low, n), load_vec1(u, i + ex.high, n), ex.weight);
        vec1 ay = slope1(load_vec1(u, i + ey.low, n), load_vec1(u, i + ey.high, n), ey.weight);
        vec1 az = slope1(low, high, ez.weight);
        ax.x += 1.0f;
        ay.y += 1.0f;
        az.z += 1.0f;
        vec1 gx = cross1(ay, az);
        float rate = inverse.w * penalty_slope1(dot1(ax, gx));
        vec1 gy = scaled1(cross1(az, ax), rate), gz = scaled1(cross1(ax, ay), rate);
        __local float *c = cell + (k & 1) * 6 * PLANE + item;
        c[0] = gx.x * rate;
        c[PLANE] = gx.y * rate;
        c[2 * PLANE] = gx.z * rate;
        c[3 * PLANE] = gy.x;
        c[4 * PLANE] = gy.y;
        c[5 * PLANE] = gy.z;
        barrier(CLK_LOCAL_MEM_FENCE);
        /* Beyond both ends the flux of the end itself counts. */
        if (k == size.z)
            gz = back1;
        if (k == 0)
            back1 = gz;
#endif
        if (inner && k > from) {
            int before = column + (k - 1) * plane;
            vec1 f = IMAGE_FORCE(low, x, y, k - 1, before);
#if PENALTY
            adjoint tz = adjoint_at(k - 1, size.z, inverse.z);
            f.x += across.x + (tz.low * back2.x + tz.high * gz.x);
            f.y += across.y + (tz.low * back2.y + tz.high * gz.y);
            f.z += across.z + (tz.low * back2.z + tz.high * gz.z);
#endif
            store_vec(f, force, before, n);
        }
#if PENALTY
        if (inner) {
            across.x = tx.low * c[-1] + tx.high * c[1] +
                       (ty.low * c[3 * PLANE - TILE_X] + ty.high * c[3 * PLANE + TILE_X]);
            across.y = tx.low * c[PLANE - 1] + tx.high * c[PLANE + 1] +
                       (ty.low * c[4 * PLANE - TILE_X] + ty.high * c[4 * PLANE + TILE_X]);
            across.z = tx.low * c[2 * PLANE - 1] + tx.high * c[2 * PLANE + 1] +
                       (ty.low * c[5 * PLANE - TILE_X] + ty.high * c[5 * PLANE + TILE_X]);
        }
        back2 = back1;
        back1 = gz;
#endif
        low = here;
        here = high;
    }
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
        vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
        store_vec(f, force, i, n);
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
            vec1 f = global_flux_divergence(u, i, n, x, y, z, size.x, plane, size, inverse);
            store_vec(plus1(f, load_vec1(force, i, n), 1.0f), force, i, n);
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
