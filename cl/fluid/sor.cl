/* SPDX-License-Identifier: Apache-2.0 */
/* Successive over-relaxation of (-alpha Laplacian + gamma) v = f, a component at
 * a time: v becomes keep v + gain (f + sum of near times the neighbours).
 * size.w: periodic, with even sides, else 0 outside. near: alpha / spacing^2. */
#include "common/border.clh"
#include "common/field_row.clh"

#define SOR_ARGUMENTS                                                                              \
    __global const float *in, __global const float *f, __global float *out, int4 size, float4 near, \
        float gain, float keep, int colour

/* ---- one colour: what has the other is copied */

__kernel void sor_item(SOR_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x + x;
    float3 v = load_vec(in, i, n);
    if (((x + y + z) & 1) == colour) {
        int west = place_of(x - 1, size.x, size.w), east = place_of(x + 1, size.x, size.w);
        int south = place_of(y - 1, size.y, size.w), north = place_of(y + 1, size.y, size.w);
        int down = place_of(z - 1, size.z, size.w), up = place_of(z + 1, size.z, size.w);
        float3 sum = load_vec(f, i, n);
        if (west >= 0)
            sum += near.x * load_vec(in, i + west - x, n);
        if (east >= 0)
            sum += near.x * load_vec(in, i + east - x, n);
        if (south >= 0)
            sum += near.y * load_vec(in, i + (south - y) * size.x, n);
        if (north >= 0)
            sum += near.y * load_vec(in, i + (north - y) * size.x, n);
        if (down >= 0)
            sum += near.z * load_vec(in, i + (down - z) * plane, n);
        if (up >= 0)
            sum += near.z * load_vec(in, i + (up - z) * plane, n);
        v = keep * v + gain * sum;
    }
    store_vec(v, out, i, n);
}

#if FIELD_PACKED
#define PATTERN_0 ((int8)(-1, -1, -1, 0, 0, 0, -1, -1))
#define PATTERN_1 ((int8)(-1, 0, 0, 0, -1, -1, -1, 0))
#define PATTERN_2 ((int8)(0, 0, -1, -1, -1, 0, 0, 0))
#else
#define PATTERN_0 ((int8)(-1, 0, -1, 0, -1, 0, -1, 0))
#define PATTERN_1 PATTERN_0
#define PATTERN_2 PATTERN_0
#endif

#define EIGHT(e, active)                                                                                    \
    {                                                                                                       \
        float8 w = LOAD8(here + (e));                                                                       \
        float8 sum = near.x * (LOAD8(here + (e) + INNER) + LOAD8(here + (e) - INNER)) +                     \
                     (wn * LOAD8(pn + (e)) + ws * LOAD8(ps + (e))) +                                        \
                     (wu * LOAD8(pu + (e)) + wd * LOAD8(pd + (e)));                                         \
        STORE8(select(w, keep * w + gain * (LOAD8(known + (e)) + sum), active), to + (e));                  \
    }

/* Three eights are a whole number of voxels of either layout, and an even one. */
__kernel void sor_row(SOR_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int length = size.x * INNER, n = size.x * size.y * size.z;
    rows_around at;
    find_rows(y, z, size, near, &at);
    float wn = at.wn, ws = at.ws, wu = at.wu, wd = at.wd;
    int odd = (colour + y + z) & 1; /* what x must be, modulo 2 */
    int8 turn = (int8)(odd - 1);
    for (int c = 0; c < VOLUMES; c++) {
        __global const float *volume = in + c * n, *here = volume + at.here, *known = f + c * n + at.here;
        __global const float *pn = volume + at.north, *ps = volume + at.south;
        __global const float *pu = volume + at.up, *pd = volume + at.down;
        __global float *to = out + c * n + at.here;
        int e = INNER;
        for (; e + 24 + INNER <= length; e += 24) {
            EIGHT(e, PATTERN_0 ^ turn)
            EIGHT(e + 8, PATTERN_1 ^ turn)
            EIGHT(e + 16, PATTERN_2 ^ turn)
        }
        /* What is left: the first voxel, and the last ones. */
        for (int k = -INNER; k < length - e; k++) {
            int i = k < 0 ? k + INNER : e + k;
            float w = here[i];
            if (((i / INNER) & 1) == odd) {
                int right = i + INNER < length ? i + INNER : i + INNER - length;
                int left = i >= INNER ? i - INNER : i - INNER + length;
                float wr = i + INNER < length ? near.x : at.edge, wl = i >= INNER ? near.x : at.edge;
                w = keep * w + gain * (known[i] + (wr * here[right] + wl * here[left]) +
                                       (wn * pn[i] + ws * ps[i]) + (wu * pu[i] + wd * pd[i]));
            }
            to[i] = w;
        }
    }
}

/* ---- both colours in one pass: a work-group walks up MARCH planes of a
 * component. While plane p comes to local memory, plane p - 1 gets its first
 * colour, one voxel beyond the tile too, and plane p - 2 its second. */

#define ITEMS (TILE_X * TILE_Y)
#define PITCH (TILE_X + 4)
#define CELLS (PITCH * (TILE_Y + 4))
#define ROUNDS ((CELLS + ITEMS - 1) / ITEMS)
#define HALF ((TILE_X + 3) / 2) /* voxels of a colour in a row of the tile and one more on each side */
#define FIRSTS (HALF * (TILE_Y + 2))
#define FIRST_ROUNDS ((FIRSTS + ITEMS - 1) / ITEMS)

#define AROUND(plane, below, above)                                                            \
    (near.x * ((plane)[-1] + (plane)[1]) + near.y * ((plane)[-PITCH] + (plane)[PITCH]) +       \
     near.z * ((below)[0] + (above)[0]))

/* What a work-item brings of a plane of v, and of f for its voxels of the first
 * colour; at_z -1: nothing, which is 0. */
static inline void fetch_plane(float *to, __global const float *v, const int *from, int at_z, int plane,
                               int c, int n)
{
#pragma unroll
    for (int k = 0; k < ROUNDS; k++)
        to[k] = at_z >= 0 && from[k] >= 0 ? v[VEC_AT(at_z * plane + from[k], c, n)] : 0.0f;
}

static inline void fetch_known(float *to, __global const float *f, int (*known_of)[2], int odd, int at_z,
                               int plane, int c, int n)
{
#pragma unroll
    for (int k = 0; k < FIRST_ROUNDS; k++) {
        int known = odd ? known_of[k][1] : known_of[k][0];
        to[k] = at_z >= 0 && known >= 0 ? f[VEC_AT(at_z * plane + known, c, n)] : 0.0f;
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void sor_block(SOR_ARGUMENTS)
{
    __local float cells[5][CELLS];
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int plane = size.x * size.y, n = plane * size.z, slabs = (size.z + MARCH - 1) / MARCH;
    int x0 = get_group_id(0) * TILE_X, y0 = get_group_id(1) * TILE_Y, c = get_group_id(2) / slabs;
    int z0 = get_group_id(2) % slabs * MARCH, z1 = min(z0 + MARCH, size.z), x = x0 + lx, y = y0 + ly;
    int from[ROUNDS], cell_of[FIRST_ROUNDS][2], known_of[FIRST_ROUNDS][2];
#pragma unroll
    for (int k = 0; k < ROUNDS; k++) {
        int cell = item + k * ITEMS;
        int at_x = place_of(x0 - 2 + cell % PITCH, size.x, size.w);
        int at_y = place_of(y0 - 2 + cell / PITCH, size.y, size.w);
        from[k] = at_x < 0 || at_y < 0 ? -1 : at_y * size.x + at_x;
    }
#pragma unroll
    for (int k = 0; k < FIRST_ROUNDS; k++)
#pragma unroll
        for (int odd = 0; odd < 2; odd++) { /* of the plane */
            int i = item + k * ITEMS, at_y = y0 - 1 + i / HALF, column = 1 + 2 * (i % HALF);
            column += (x0 - 2 + column + at_y + odd) & 1;
            int px = place_of(x0 - 2 + column, size.x, size.w), py = place_of(at_y, size.y, size.w);
            cell_of[k][odd] = (i / HALF + 1) * PITCH + column;
            bool there = i < FIRSTS && column <= TILE_X + 2 && px >= 0 && py >= 0;
            known_of[k][odd] = there ? py * size.x + px : -1;
        }
    /* What is needed of the next plane is asked for before this one is used. */
    float ahead[ROUNDS], first_known[FIRST_ROUNDS], second_known = 0.0f;
    fetch_plane(ahead, in, from, place_of(z0 - 2, size.z, size.w), plane, c, n);
#pragma unroll
    for (int k = 0; k < FIRST_ROUNDS; k++)
        first_known[k] = 0.0f;
    bool mine = x < size.x && y < size.y;
    for (int p = z0 - 2; p < z1 + 2; p++) {
        int turn = p + 10, odd = (p - 1) & 1, z = p - 2;
        __local float *now = cells[turn % 5], *last = cells[(turn - 1) % 5];
        __local const float *second = cells[(turn - 2) % 5], *third = cells[(turn - 3) % 5];
#pragma unroll
        for (int k = 0; k < ROUNDS; k++)
            if (item + k * ITEMS < CELLS)
                now[item + k * ITEMS] = ahead[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        bool first = p >= z0 && place_of(p - 1, size.z, size.w) >= 0;
        int next_first = p >= z0 - 1 ? place_of(p, size.z, size.w) : -1;
        float first_next[FIRST_ROUNDS], second_next = 0.0f;
        fetch_plane(ahead, in, from, p < z1 + 1 ? place_of(p + 1, size.z, size.w) : -1, plane, c, n);
        fetch_known(first_next, f, known_of, 1 - odd, next_first, plane, c, n);
        if (mine && z + 1 >= z0 && z + 1 < z1 && ((x + y + z + 1) & 1))
            second_next = f[VEC_AT((z + 1) * plane + y * size.x + x, c, n)];
#pragma unroll
        for (int k = 0; k < FIRST_ROUNDS; k++) {
            int cell = odd ? cell_of[k][1] : cell_of[k][0];
            if (first && (odd ? known_of[k][1] : known_of[k][0]) >= 0)
                last[cell] = keep * last[cell] +
                             gain * (first_known[k] + AROUND(last + cell, second + cell, now + cell));
            first_known[k] = first_next[k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (z >= z0 && mine) {
            int cell = (ly + 2) * PITCH + lx + 2;
            float v = second[cell];
            if ((x + y + z) & 1)
                v = keep * v + gain * (second_known + AROUND(second + cell, third + cell, last + cell));
            out[VEC_AT(z * plane + y * size.x + x, c, n)] = v;
        }
        second_known = second_next;
    }
}
