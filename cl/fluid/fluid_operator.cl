/* SPDX-License-Identifier: Apache-2.0 */
/* L = -alpha Laplacian - beta grad div + gamma on a vector field.
 * COUPLED: beta is not 0. what: L v; DOT, the same with partial sums of v . L v;
 * RESIDUAL, f - L v with partial sums of its square. What it does not need is NULL.
 * size.w: periodic, else 0 outside. near: alpha / spacing^2, along: beta /
 * spacing^2, centre: what a voxel itself contributes to each component, cross:
 * beta / (4 spacing spacing) of xy, xz, yz. */
#include "common/border.clh"
#include "common/field_row.clh"
#include "common/group_reduce.clh"

#ifndef COUPLED
#define COUPLED 0
#endif

#define OPERATOR_ARGUMENTS                                                                        \
    __global const float *v, __global const float *f, __global float *out, int4 size, float4 centre, \
        float4 near, float4 along, float4 cross, int what, __global float *partial

#if ROW_FORM
/* ---- for CPU devices: a work-item some rows */

#if COUPLED
static inline float3 fetch(__global const float *v, int x, int y, int z, int4 size)
{
    int at_x = place_of(x, size.x, size.w), at_y = place_of(y, size.y, size.w);
    int at_z = place_of(z, size.z, size.w);
    if (at_x < 0 || at_y < 0 || at_z < 0)
        return (float3)(0.0f);
    return load_vec(v, (at_z * size.y + at_y) * size.x + at_x, size.x * size.y * size.z);
}

static inline float3 product_at(__global const float *v, int x, int y, int z, int4 size, float4 centre,
                                float4 near, float4 along, float4 cross)
{
    float3 sx = fetch(v, x + 1, y, z, size) + fetch(v, x - 1, y, z, size);
    float3 sy = fetch(v, x, y + 1, z, size) + fetch(v, x, y - 1, z, size);
    float3 sz = fetch(v, x, y, z + 1, size) + fetch(v, x, y, z - 1, size);
    float3 xy = fetch(v, x + 1, y + 1, z, size) - fetch(v, x + 1, y - 1, z, size) -
                fetch(v, x - 1, y + 1, z, size) + fetch(v, x - 1, y - 1, z, size);
    float3 xz = fetch(v, x + 1, y, z + 1, size) - fetch(v, x + 1, y, z - 1, size) -
                fetch(v, x - 1, y, z + 1, size) + fetch(v, x - 1, y, z - 1, size);
    float3 yz = fetch(v, x, y + 1, z + 1, size) - fetch(v, x, y + 1, z - 1, size) -
                fetch(v, x, y - 1, z + 1, size) + fetch(v, x, y - 1, z - 1, size);
    float3 r = centre.xyz * fetch(v, x, y, z, size) - near.x * sx - near.y * sy - near.z * sz;
    r.x -= along.x * sx.x + cross.x * xy.y + cross.y * xz.z;
    r.y -= along.y * sy.y + cross.x * xy.x + cross.z * yz.z;
    r.z -= along.z * sz.z + cross.y * xz.x + cross.z * yz.y;
    return r;
}

static inline float finish_at(float3 r, __global const float *v, __global const float *f,
                              __global float *out, int i, int n)
{
    float3 w = load_vec(v, i, n);
    if (f)
        w = r = load_vec(f, i, n) - r;
    float sum = w.x * r.x + w.y * r.y + w.z * r.z;
    store_vec(r, out, i, n);
    return sum;
}

static inline vec8 sum8(vec8 a, vec8 b)
{
    vec8 s;
    s.x = a.x + b.x;
    s.y = a.y + b.y;
    s.z = a.z + b.z;
    return s;
}

/* All voxels of a row. Rows that do not exist have weight 0. */
static inline float product_row(__global const float *v, __global const float *f, __global float *out, int y,
                                int z, int4 size, float4 centre, float4 near, float4 along, float4 cross)
{
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 1;
    int ny = place_of(y + 1, size.y, size.w), sy = place_of(y - 1, size.y, size.w);
    int nz = place_of(z + 1, size.z, size.w), sz = place_of(z - 1, size.z, size.w);
    float has_n = ny >= 0 ? 1.0f : 0.0f, has_s = sy >= 0 ? 1.0f : 0.0f;
    float has_u = nz >= 0 ? 1.0f : 0.0f, has_d = sz >= 0 ? 1.0f : 0.0f;
    ny = ny < 0 ? y : ny;
    sy = sy < 0 ? y : sy;
    nz = nz < 0 ? z : nz;
    sz = sz < 0 ? z : sz;
    int north = (z * size.y + ny) * size.x, south = (z * size.y + sy) * size.x;
    int up = (nz * size.y + y) * size.x, down = (sz * size.y + y) * size.x;
    int north_up = (nz * size.y + ny) * size.x, north_down = (sz * size.y + ny) * size.x;
    int south_up = (nz * size.y + sy) * size.x, south_down = (sz * size.y + sy) * size.x;
    float sum = finish_at(product_at(v, 0, y, z, size, centre, near, along, cross), v, f, out, row, n);
    float8 sums = 0.0f;
    /* The last eight but one lie over those before them, which count once. */
    for (x = 1; x + 1 < size.x && size.x > 9;) {
        int at = min(x, size.x - 9);
        int8 new = (int8)(at - x) + (int8)(0, 1, 2, 3, 4, 5, 6, 7) >= 0;
        vec8 here = load_vec8(v, row + at, n);
        vec8 a = sum8(load_vec8(v, row + at + 1, n), load_vec8(v, row + at - 1, n));
        vec8 b = load_vec8(v, north + at, n), c = load_vec8(v, south + at, n), r;
        r.x = centre.x * here.x - (near.x + along.x) * a.x - near.y * (has_n * b.x + has_s * c.x);
        r.y = centre.y * here.y - near.x * a.y - (near.y + along.y) * (has_n * b.y + has_s * c.y);
        r.z = centre.z * here.z - near.x * a.z - near.y * (has_n * b.z + has_s * c.z);
        b = load_vec8(v, up + at, n);
        c = load_vec8(v, down + at, n);
        r.x -= near.z * (has_u * b.x + has_d * c.x);
        r.y -= near.z * (has_u * b.y + has_d * c.y);
        r.z -= (near.z + along.z) * (has_u * b.z + has_d * c.z);
        b = difference_vec8(v, north + at + 1, north + at - 1, cross.x * has_n, n);
        c = difference_vec8(v, south + at + 1, south + at - 1, cross.x * has_s, n);
        r.x -= b.y - c.y;
        r.y -= b.x - c.x;
        b = difference_vec8(v, up + at + 1, up + at - 1, cross.y * has_u, n);
        c = difference_vec8(v, down + at + 1, down + at - 1, cross.y * has_d, n);
        r.x -= b.z - c.z;
        r.z -= b.x - c.x;
        b = load_vec8(v, north_up + at, n);
        c = load_vec8(v, south_up + at, n);
        r.y -= cross.z * has_u * (has_n * b.z - has_s * c.z);
        r.z -= cross.z * has_u * (has_n * b.y - has_s * c.y);
        b = load_vec8(v, north_down + at, n);
        c = load_vec8(v, south_down + at, n);
        r.y += cross.z * has_d * (has_n * b.z - has_s * c.z);
        r.z += cross.z * has_d * (has_n * b.y - has_s * c.y);
        if (f) {
            b = load_vec8(f, row + at, n);
            here.x = r.x = b.x - r.x;
            here.y = r.y = b.y - r.y;
            here.z = r.z = b.z - r.z;
        }
        sums += select((float8)0.0f, here.x * r.x + here.y * r.y + here.z * r.z, new);
        store_vec8(r, out, row + at, n);
        x = at + 8;
    }
    for (; x < size.x; x++)
        sum += finish_at(product_at(v, x, y, z, size, centre, near, along, cross), v, f, out, row + x, n);
    float4 four = sums.lo + sums.hi;
    return sum + (four.x + four.y) + (four.z + four.w);
}
#else

#define FINISH(r, w, known) \
    if (f)   \
        w = r = known - r;

static inline float product_row(__global const float *v, __global const float *f, __global float *out, int y,
                                int z, int4 size, float4 centre, float4 near, float4 along, float4 cross)
{
    int length = size.x * INNER, n = size.x * size.y * size.z;
    rows_around at;
    find_rows(y, z, size, near, &at);
    float wn = at.wn, ws = at.ws, wu = at.wu, wd = at.wd;
    float8 sums = 0.0f;
    float sum = 0.0f;
    for (int c = 0; c < VOLUMES; c++) {
        __global const float *volume = v + c * n, *here = volume + at.here, *known = f + c * n + at.here;
        __global const float *pn = volume + at.north, *ps = volume + at.south;
        __global const float *pu = volume + at.up, *pd = volume + at.down;
        __global float *to = out + c * n + at.here;
        int e = INNER;
        for (; e + 8 + INNER <= length; e += 8) {
            float8 w = LOAD8(here + e);
            float8 r = centre.x * w - near.x * (LOAD8(here + e + INNER) + LOAD8(here + e - INNER)) -
                       (wn * LOAD8(pn + e) + ws * LOAD8(ps + e)) - (wu * LOAD8(pu + e) + wd * LOAD8(pd + e));
            FINISH(r, w, LOAD8(known + e))
            sums += w * r;
            STORE8(r, to + e);
        }
        /* The rest: the first voxel, and the last ones. */
        for (int k = -INNER; k < length - e; k++) {
            int i = k < 0 ? k + INNER : e + k;
            if (i >= length)
                continue;
            int right = i + INNER < length ? i + INNER : i + INNER - length;
            int left = i >= INNER ? i - INNER : i - INNER + length;
            float w = here[i], wr = i + INNER < length ? near.x : at.edge, wl = i >= INNER ? near.x : at.edge;
            float r = centre.x * w - (wr * here[right] + wl * here[left]) - (wn * pn[i] + ws * ps[i]) -
                      (wu * pu[i] + wd * pd[i]);
            FINISH(r, w, known[i])
            sum += w * r;
            to[i] = r;
        }
    }
    float4 four = sums.lo + sums.hi;
    return sum + (four.x + four.y) + (four.z + four.w);
}
#endif

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fluid_operator_row(OPERATOR_ARGUMENTS)
{
    int rows = size.y * size.z, chunk = (rows + get_num_groups(0) - 1) / get_num_groups(0);
    int first = get_group_id(0) * chunk, last = min(first + chunk, rows);
    float sum = 0.0f;
    for (int row = first; row < last; row++)
        sum += product_row(v, f, out, row % size.y, row / size.y, size, centre, near, along, cross);
    if (what)
        partial[get_group_id(0)] = sum;
}

#else
/* ---- for GPUs: a work-group walks up MARCH planes, three components of four
 * planes in local memory. */

#define ITEMS (TILE_X * TILE_Y)
#define PITCH (TILE_X + 2)
#define CELLS (PITCH * (TILE_Y + 2))
#define ROUNDS ((CELLS + ITEMS - 1) / ITEMS)

/* Loads a work-item's share of a plane; at_z -1: zeros. */
static inline void fetch_plane(float (*to)[3], __global const float *v, const int *from, int at_z, int plane,
                               int n)
{
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        int at = at_z * plane + from[k];
        bool there = at_z >= 0 && from[k] >= 0;
        to[k][0] = there ? v[VEC_AT(at, 0, n)] : 0.0f;
        to[k][1] = there ? v[VEC_AT(at, 1, n)] : 0.0f;
        to[k][2] = there ? v[VEC_AT(at, 2, n)] : 0.0f;
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fluid_operator_march(OPERATOR_ARGUMENTS)
{
    __local float cells[4][3 * CELLS];
    __local float sums[ITEMS];
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int plane = size.x * size.y, n = plane * size.z;
    int x0 = get_group_id(0) * TILE_X, y0 = get_group_id(1) * TILE_Y;
    int z0 = get_group_id(2) * MARCH, z1 = min(z0 + MARCH, size.z);
    int x = x0 + lx, y = y0 + ly, from[ROUNDS];
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        int cell = item + k * ITEMS;
        int at_x = place_of(x0 - 1 + cell % PITCH, size.x, size.w);
        int at_y = place_of(y0 - 1 + cell / PITCH, size.y, size.w);
        from[k] = at_x < 0 || at_y < 0 ? -1 : at_y * size.x + at_x;
    }
    /* A plane is asked for before the one before it is used. */
    float ahead[ROUNDS][3];
    fetch_plane(ahead, v, from, place_of(z0 - 1, size.z, size.w), plane, n);
    for (int p = z0 - 1; p <= z1; p++) {
        __local float *to = cells[(p + 1) & 3];
#pragma unroll
        for (int k = 0; k < ROUNDS; k++) {
            int cell = item + k * ITEMS;
            if (cell < CELLS) {
                to[cell] = ahead[k][0];
                to[cell + CELLS] = ahead[k][1];
                to[cell + 2 * CELLS] = ahead[k][2];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        fetch_plane(ahead, v, from, p < z1 ? place_of(p + 1, size.z, size.w) : -1, plane, n);
        int z = p - 1;
        if (z >= z0 && x < size.x && y < size.y) {
            int base = (ly + 1) * PITCH + lx + 1, i = z * plane + y * size.x + x;
            __local const float *here = cells[(z + 1) & 3] + base;
            __local const float *up = cells[(z + 2) & 3] + base, *down = cells[z & 3] + base;
            float w[3], r[3], sx[3], sy[3], sz[3];
#pragma unroll
            for (int c = 0; c < 3; c++) {
                w[c] = here[c * CELLS];
                sx[c] = here[c * CELLS + 1] + here[c * CELLS - 1];
                sy[c] = here[c * CELLS + PITCH] + here[c * CELLS - PITCH];
                sz[c] = up[c * CELLS] + down[c * CELLS];
                r[c] = -(near.x * sx[c] + near.y * sy[c] + near.z * sz[c]);
            }
            r[0] += centre.x * w[0];
            r[1] += centre.y * w[1];
            r[2] += centre.z * w[2];
#if COUPLED
#define XY(c) (here[(c) * CELLS + PITCH + 1] - here[(c) * CELLS - PITCH + 1] - \
           here[(c) * CELLS + PITCH - 1] + here[(c) * CELLS - PITCH - 1])
#define XZ(c) (up[(c) * CELLS + 1] - up[(c) * CELLS - 1] - down[(c) * CELLS + 1] + down[(c) * CELLS - 1])
#define YZ(c) (up[(c) * CELLS + PITCH] - up[(c) * CELLS - PITCH] - down[(c) * CELLS + PITCH] + \
           down[(c) * CELLS - PITCH])
            r[0] -= along.x * sx[0] + cross.x * XY(1) + cross.y * XZ(2);
            r[1] -= along.y * sy[1] + cross.x * XY(0) + cross.z * YZ(2);
            r[2] -= along.z * sz[2] + cross.y * XZ(0) + cross.z * YZ(1);
#endif
#pragma unroll
            for (int c = 0; c < 3; c++) {
                if (what == RESIDUAL)
                    w[c] = r[c] = f[VEC_AT(i, c, n)] - r[c];
                sum += w[c] * r[c];
                out[VEC_AT(i, c, n)] = r[c];
            }
        }
    }
    group_sums(&sum, 1, item, ITEMS, sums);
    int row = get_group_id(2) * get_num_groups(1) + get_group_id(1);
    if (what && item == 0)
        partial[row * get_num_groups(0) + get_group_id(0)] = sums[0];
}
#endif
