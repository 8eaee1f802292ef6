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

/* west: the eight floats a voxel before e, and then before next. They are fetched before the
 * store, which may be in place: a load of what two stores in flight wrote waits for both. */
#define EIGHT(e, active, next)                                                                     \
    {                                                                                              \
        float8 w = LOAD8(here + (e));                                                              \
        float8 sum = near.x * (LOAD8(here + (e) + INNER) + west) +                                 \
                     (wn * LOAD8(pn + (e)) + ws * LOAD8(ps + (e))) +                               \
                     (wu * LOAD8(pu + (e)) + wd * LOAD8(pd + (e)));                                \
        w = select(w, keep * w + gain * (LOAD8(known + (e)) + sum), active);                       \
        west = LOAD8(here + (next));                                                               \
        STORE8(w, to + (e));                                                                       \
    }

/* A colour of row (y, z). out: what has the other colour is copied to it, where it is not in.
 * Three eights are a whole number of voxels of either layout, and an even one. */
static inline void relax_row(__global const float *in, __global const float *f, __global float *out,
                             int4 size, float4 near, float gain, float keep, int colour, int y, int z)
{
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
        float8 west = length >= 8 ? LOAD8(here) : 0.0f;
        for (; e + 24 + INNER <= length; e += 24) {
            EIGHT(e, PATTERN_0 ^ turn, e + 8 - INNER)
            EIGHT(e + 8, PATTERN_1 ^ turn, e + 16 - INNER)
            EIGHT(e + 16, PATTERN_2 ^ turn, min(e + 24 - INNER, length - 8))
        }
        /* The rest: the first voxel, and the last ones. */
        for (int x = 0; x < size.x; x = x ? x + 1 : e / INNER) {
            bool active = (x & 1) == odd;
            if (!active && in == out)
                continue;
            int right = x + 1 < size.x ? INNER : INNER - length, left = x ? -INNER : length - INNER;
            float wr = x + 1 < size.x ? near.x : at.edge, wl = x ? near.x : at.edge;
            for (int i = x * INNER; i < (x + 1) * INNER; i++) {
                float w = here[i];
                if (active)
                    w = keep * w + gain * (known[i] + (wr * here[i + right] + wl * here[i + left]) +
                                           (wn * pn[i] + ws * ps[i]) + (wu * pu[i] + wd * pd[i]));
                to[i] = w;
            }
        }
    }
}

__kernel void sor_row(SOR_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y < size.y && z < size.z)
        relax_row(in, f, out, size, near, gain, keep, colour, y, z);
}

/* ---- several colours in place, the same as one after another: an item walks up a slab of
 * planes, and while it is at plane p, plane p - s gets the slab's colour s, row by row, so that
 * a row is asked for once. The colours of a slab reach one plane less far each, so that
 * none needs what another slab writes; a second launch does what is left between slabs.
 * Slabs have two planes for each colour, or there is one and the volume is not periodic.
 * colour: the first one, + 2 in the second launch, + 4 times their number. */
__kernel void sor_slab(SOR_ARGUMENTS)
{
    int slab = get_global_id(2), slabs = get_global_size(2), colours = colour >> 2;
    bool ring = size.w && size.z > 1, between = colour & 2;
    int z0 = slab * size.z / slabs, z1 = (slab + 1) * size.z / slabs;
    bool first = slab == 0 && !ring, last = slab == slabs - 1 && !ring;
    if (between && last)
        return;
    for (int p = between ? z1 : z0; p < (between ? z1 + 2 * colours - 1 : z1 + colours - 1); p++)
        for (int y = 0; y < size.y; y++)
            for (int s = 0; s < colours; s++) {
                int z = p - s, low = between ? z1 - s : first ? 0 : z0 + s + 1;
                int high = between ? z1 + s + 1 : last ? z1 : z1 - s;
                if (z < low || z >= high)
                    continue;
                z = z < size.z ? z : z - size.z;
                relax_row(out, f, out, size, near, gain, keep, colour + s, y, z);
            }
}

/* ---- SWEEPS sweeps in one pass, the same as one after another. An item holds blocks
 * of 2 x 2 voxels, one of each of MARCH planes that its group walks up, and of the
 * planes in flight: while plane p comes, plane p - 1 - k gets its colour k, so that
 * all colours of a step lie on one diagonal of the blocks. Above and below is the
 * item's own; what lies beside it passes through local memory. Each colour is right
 * one voxel less far from the border of the tile, and from where the walk begins. */

#ifndef SWEEPS
#define SWEEPS 1
#endif
#define COLOURS (2 * SWEEPS)
#define ITEMS (TILE_X * TILE_Y)

/* Values that the voxels of a diagonal pass on: those in the lower row, then the others. */
typedef float passed_on[COLOURS][2][ITEMS];

/* The place of i in a line of n, however far beyond an end, or -1. */
static inline int far_place_of(int i, int n, int periodic)
{
    if (!periodic)
        return i >= 0 && i < n ? i : -1;
    int turned = i % n;
    return turned < 0 ? turned + n : turned;
}

static inline float2 fetch(__global const float *from, const int *at, int z, int plane, int c, int n)
{
    return (float2)(z >= 0 && at[0] >= 0 ? from[VEC_AT(z * plane + at[0], c, n)] : 0.0f,
                    z >= 0 && at[1] >= 0 ? from[VEC_AT(z * plane + at[1], c, n)] : 0.0f);
}

/* The colours of a step. v, known: a diagonal, of plane p downwards; beside: the other
 * one. gain: of the voxels, 0 of those that are not there. aside: the items whose
 * block meets the lower voxel's along x, the other's along x, and along y. */
static inline void relax(float2 *v, const float2 *beside, const float2 *known, float2 gain, float keep,
                         float4 near, int colours, int p, int4 size, int4 aside,
                         __local float (*from)[2][ITEMS], __local float (*to)[2][ITEMS], int item)
{
    to[0][0][item] = v[0].x;
    to[0][1][item] = v[0].y;
#pragma unroll
    for (int k = 0; k < COLOURS; k++) {
        int z = p - 1 - k;
        if (k < colours && (size.w || (z >= 0 && z < size.z))) {
            float2 own = beside[k + 1];
            float2 along_x = own + (float2)(from[k][0][aside.x], from[k][1][aside.y]);
            float2 along_y = own.yx + (float2)(from[k][1][aside.z], from[k][0][aside.w]);
            v[k + 1] = keep * v[k + 1] +
                       gain * (known[k] + near.x * along_x + near.y * along_y + near.z * (v[k] + v[k + 2]));
        }
        if (k + 1 < COLOURS) {
            to[k + 1][0][item] = v[k + 1].x;
            to[k + 1][1][item] = v[k + 1].y;
        }
    }
}

static inline void store_pair(float2 v, __global float *out, const int *at, int z, int plane, int c, int n)
{
    if (at[0] >= 0)
        out[VEC_AT(z * plane + at[0], c, n)] = v.x;
    if (at[1] >= 0)
        out[VEC_AT(z * plane + at[1], c, n)] = v.y;
}

/* A plane up: the next one comes to 0. */
static inline void move_up(float2 *v, float2 *known, float2 v_next, float2 known_next)
{
#pragma unroll
    for (int k = COLOURS + 1; k > 0; k--)
        v[k] = v[k - 1];
#pragma unroll
    for (int k = COLOURS - 1; k > 0; k--)
        known[k] = known[k - 1];
    v[0] = v_next;
    known[0] = known_next;
}

/* colour: how many sweeps, at most SWEEPS. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void sor_block(SOR_ARGUMENTS)
{
    __local passed_on passed[2];
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int plane = size.x * size.y, n = plane * size.z, slabs = (size.z + MARCH - 1) / MARCH;
    int c = get_group_id(2) / slabs, z0 = get_group_id(2) % slabs * MARCH, z1 = min(z0 + MARCH, size.z);
    int x = get_group_id(0) * GROUP_X + 2 * (lx - SWEEPS), y = get_group_id(1) * GROUP_Y + 2 * (ly - SWEEPS);
    /* Voxels with x + y even, the lower first, then the others. */
    int even[2], odd[2];
    for (int row = 0; row < 2; row++) {
        int py = far_place_of(y + row, size.y, size.w);
        int px0 = far_place_of(x + row, size.x, size.w), px1 = far_place_of(x + 1 - row, size.x, size.w);
        even[row] = px0 < 0 || py < 0 ? -1 : py * size.x + px0;
        odd[row] = px1 < 0 || py < 0 ? -1 : py * size.x + px1;
    }
    float2 even_gain = (float2)(even[0] < 0 ? 0.0f : gain, even[1] < 0 ? 0.0f : gain);
    float2 odd_gain = (float2)(odd[0] < 0 ? 0.0f : gain, odd[1] < 0 ? 0.0f : gain);
    int left = lx > 0 ? item - 1 : item, right = lx < TILE_X - 1 ? item + 1 : item;
    int below = ly > 0 ? item - TILE_X : item, above = ly < TILE_Y - 1 ? item + TILE_X : item;
    int4 even_aside = (int4)(left, right, below, above), odd_aside = (int4)(right, left, below, above);
    bool mine = lx >= SWEEPS && lx < TILE_X - SWEEPS && ly >= SWEEPS && ly < TILE_Y - SWEEPS;
    int even_to[2], odd_to[2];
    for (int row = 0; row < 2; row++) {
        bool inside = mine && y + row < size.y;
        even_to[row] = inside && x + row < size.x ? even[row] : -1;
        odd_to[row] = inside && x + 1 - row < size.x ? odd[row] : -1;
    }
    float2 even_v[COLOURS + 2], odd_v[COLOURS + 2], even_known[COLOURS], odd_known[COLOURS];
#pragma unroll
    for (int k = 0; k < COLOURS + 2; k++)
        even_v[k] = odd_v[k] = 0.0f;
#pragma unroll
    for (int k = 0; k < COLOURS; k++) {
        even_known[k] = odd_known[k] = 0.0f;
        passed[1][k][0][item] = passed[1][k][1][item] = 0.0f;
    }
    int begin = z0 - COLOURS, at = far_place_of(begin, size.z, size.w);
    even_v[0] = fetch(in, even, at, plane, c, n);
    odd_v[0] = fetch(in, odd, at, plane, c, n);
    float2 even_next = fetch(f, even, at, plane, c, n), odd_next = fetch(f, odd, at, plane, c, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = begin; p < z1 + COLOURS; p++) {
        /* Loads of the next plane start before this one is used. */
        int next = far_place_of(p + 1, size.z, size.w), z = p - COLOURS;
        float2 even_ahead = fetch(in, even, next, plane, c, n), odd_ahead = fetch(in, odd, next, plane, c, n);
        float2 even_f = fetch(f, even, next, plane, c, n), odd_f = fetch(f, odd, next, plane, c, n);
        if (p & 1)
            relax(even_v, odd_v, even_known, even_gain, keep, near, 2 * colour, p, size, even_aside,
                  passed[0], passed[1], item);
        else
            relax(odd_v, even_v, odd_known, odd_gain, keep, near, 2 * colour, p, size, odd_aside,
                  passed[1], passed[0], item);
        if (z >= z0) {
            store_pair(even_v[COLOURS], out, even_to, z, plane, c, n);
            store_pair(odd_v[COLOURS], out, odd_to, z, plane, c, n);
        }
        move_up(even_v, even_known, even_ahead, even_next);
        move_up(odd_v, odd_known, odd_ahead, odd_next);
        even_next = even_f;
        odd_next = odd_f;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
