/* SPDX-License-Identifier: Apache-2.0 */
/* Each voxel's value to the eight voxels around the place where it lands, by their trilinear weights: the
 * adjoint of warp.cl's linear interpolation. Sums are whole numbers of 64 bits, so that the order in which
 * voxels arrive does not show. Two words a sum, the lower first.
 * HAS_FIELD: whether there is a u. ONES: 1 in the place of each finite value. */
#include "common/fixed_sum.clh"
#include "common/position.clh"

#ifndef ONES
#define ONES 0
#endif
#ifndef HAS_WEIGHTS
#define HAS_WEIGHTS 0
#endif
#ifndef CELLS
#define CELLS 1
#endif

/* Cell in which a voxel lands: the lower corner, 1 where there is an upper one, the fractions, and its value in
 * units. lands: not where nothing is added. */
typedef struct landing {
    int3 base, up;
    float3 f;
    float units;
    bool lands;
} landing;

static inline landing landing_of(__global const float *in, int4 size, map m, __global const float *field,
                                 float most, float scale, int4 to, __global int *beyond, int x, int y, int z)
{
    landing a;
    int i = (z * size.y + y) * size.x + x;
    float3 u = (float3)(0.0f);
#if HAS_FIELD
    u = load_vec(field, i, size.x * size.y * size.z);
#endif
    float3 p = position_of(m, x, y, z, u), q = position_clamp(p, to);
    float value = in[i];
    bool finite = fabs(value) < INFINITY;
#if ONES
    value = 1.0f;
#endif
    if (finite && fabs(value) > most)
        atomic_inc(beyond);
    a.lands = finite && fabs(value) <= most && position_inside(p, to);
    a.base = a.lands ? (int3)(max(min((int)q.x, to.x - 2), 0), max(min((int)q.y, to.y - 2), 0),
                              max(min((int)q.z, to.z - 2), 0))
                     : (int3)(0);
    a.up = (int3)(to.x > 1, to.y > 1, to.z > 1);
    a.f = (float3)(q.x - a.base.x, q.y - a.base.y, q.z - a.base.z);
    a.units = a.lands ? value * scale : 0.0f;
    return a;
}

/* The eight shares, x fastest. */
static inline void shares_of(landing a, long share[8])
{
    float3 f = a.f, r = 1.0f - f;
    float edge[4] = {r.y * r.z, f.y * r.z, r.y * f.z, f.y * f.z};
    for (int e = 0; e < 4; e++) {
        share[2 * e] = convert_long_rte(r.x * edge[e] * a.units);
        share[2 * e + 1] = convert_long_rte(f.x * edge[e] * a.units);
    }
}

static inline void add_all(__global uint *sums, int4 to, landing a)
{
    long share[8];
    if (!a.lands)
        return;
    shares_of(a, share);
    int base = (a.base.z * to.y + a.base.y) * to.x + a.base.x;
    for (int k = 0; k < 8; k++) {
        int dx = k & 1 ? a.up.x : 0, dy = k & 2 ? a.up.y : 0, dz = k & 4 ? a.up.z : 0;
        if (share[k])
            add(sums, base + (dz * to.y + dy) * to.x + dx, share[k]);
    }
}

/* slabs, boxes: of splat_slab. */
__kernel void splat_item(__global const float *in, int4 size, map m, __global const float *field, float most,
                         float scale, __global uint *sums, int4 to, __global int *beyond, int slabs,
                         __global const long *boxes)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    add_all(sums, to, landing_of(in, size, m, field, most, scale, to, beyond, x, y, z));
}

/* A work-group adds up in local memory what lands in the box around where its voxels land, where that box is
 * small enough, as under smooth maps; what is there then goes out at once. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
splat_tile(__global const float *in, int4 size, map m, __global const float *field, float most, float scale,
           __global uint *sums, int4 to, __global int *beyond, int slabs, __global const long *boxes)
{
    __local uint box[2 * CELLS];
    __local int low[3], high[3];
    const int items = TILE_X * TILE_Y * TILE_Z;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int item = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    landing a;
    a.lands = false;
    if (item < 3) {
        low[item] = INT_MAX;
        high[item] = -1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x < size.x && y < size.y && z < size.z)
        a = landing_of(in, size, m, field, most, scale, to, beyond, x, y, z);
    if (a.lands) {
        atomic_min(&low[0], a.base.x);
        atomic_min(&low[1], a.base.y);
        atomic_min(&low[2], a.base.z);
        atomic_max(&high[0], a.base.x + a.up.x);
        atomic_max(&high[1], a.base.y + a.up.y);
        atomic_max(&high[2], a.base.z + a.up.z);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int3 first = (int3)(low[0], low[1], low[2]);
    int nx = high[0] < 0 ? 0 : high[0] - first.x + 1, ny = high[0] < 0 ? 0 : high[1] - first.y + 1;
    int nz = high[0] < 0 ? 0 : high[2] - first.z + 1;
    bool fits = (float)nx * (float)ny * (float)nz <= (float)CELLS;
    int cells = fits ? nx * ny * nz : 0;
    for (int c = item; c < 2 * cells; c += items)
        box[c] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (a.lands && !fits)
        add_all(sums, to, a);
    if (a.lands && fits) {
        long share[8];
        shares_of(a, share);
        int3 at = a.base - first;
        for (int k = 0; k < 8; k++) {
            int dx = k & 1 ? a.up.x : 0, dy = k & 2 ? a.up.y : 0, dz = k & 4 ? a.up.z : 0;
            if (share[k])
                add_local(box, ((at.z + dz) * ny + at.y + dy) * nx + at.x + dx, share[k]);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int c = item; c < cells; c += items) {
        long units = (long)((ulong)box[2 * c + 1] << 32 | box[2 * c]);
        int cx = first.x + c % nx, cy = first.y + c / nx % ny, cz = first.z + c / (nx * ny);
        if (units)
            add(sums, (cz * to.y + cy) * to.x + cx, units);
    }
}

static inline void flush(__global uint *sums, int4 to, int3 base, int3 up, const long kept[4])
{
    for (int e = 0; e < 4; e++) {
        int dy = e & 1 ? up.y : 0, dz = e & 2 ? up.z : 0;
        if (kept[e])
            add(sums, ((base.z + dz) * to.y + base.y + dy) * to.x + base.x + up.x, kept[e]);
    }
}

/* A row: what a voxel adds on its right is kept and joined with what the next one adds on its left, mostly the
 * same place: half the atomic additions. */
__kernel void splat_row(__global const float *in, int4 size, map m, __global const float *field, float most,
                        float scale, __global uint *sums, int4 to, __global int *beyond, int slabs,
                        __global const long *boxes)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    long kept[4] = {0, 0, 0, 0};
    int3 base = (int3)(0), up = (int3)(to.x > 1, to.y > 1, to.z > 1);
    for (int x = 0; x < size.x; x++) {
        landing a = landing_of(in, size, m, field, most, scale, to, beyond, x, y, z);
        if (!a.lands)
            continue;
        long share[8];
        shares_of(a, share);
        bool joined = a.base.x == base.x + up.x && a.base.y == base.y && a.base.z == base.z;
        if (!joined)
            flush(sums, to, base, up, kept);
        for (int e = 0; e < 4; e++) {
            int dy = e & 1 ? up.y : 0, dz = e & 2 ? up.z : 0;
            long left = share[2 * e] + (joined ? kept[e] : 0);
            if (left)
                add(sums, ((a.base.z + dz) * to.y + a.base.y + dy) * to.x + a.base.x, left);
            kept[e] = share[2 * e + 1];
        }
        base = a.base;
    }
    flush(sums, to, base, up, kept);
}

/* ---- slabs of planes ---- */

/* As convert_long8_rte, which some compilers call for each lane. */
static inline long8 whole8(float8 v)
{
    const float even = 8388608.0f; /* 2^23: floats from there on are whole */
    float8 size = fabs(v), rounded = (size + even) - even;
    return convert_long8(copysign(size < even ? rounded : size, v));
}

#define SHARE_AT(k) (share + (k) * CHUNK)

/* Shares that eight voxels add to their corners, by fractions and units. */
static inline void shares8(float8 fx, float8 fy, float8 fz, float8 units, long *share)
{
    float8 rx = 1.0f - fx, ry = 1.0f - fy, rz = 1.0f - fz;
    float8 edge[4] = {ry * rz, fy * rz, ry * fz, fy * fz};
    for (int e = 0; e < 4; e++) {
        vstore8(whole8(rx * edge[e] * units), 0, SHARE_AT(2 * e));
        vstore8(whole8(fx * edge[e] * units), 0, SHARE_AT(2 * e + 1));
    }
}

/* Which of a voxel's corners count: of its lower plane, of its upper one. */
enum { LOWER = 1, UPPER = 2 };

/* Adds a voxel to sums that no other item touches; strides: to the next along x, y and z. */
static inline void add_own(__global long *sums, int4 strides, int which, const long *share)
{
    __global long *b = sums + strides.z;
    if (which & LOWER) {
        sums[0] += share[0];
        sums[strides.x] += share[CHUNK];
        sums[strides.y] += share[2 * CHUNK];
        sums[strides.y + strides.x] += share[3 * CHUNK];
    }
    if (which & UPPER) {
        b[0] += share[4 * CHUNK];
        b[strides.x] += share[5 * CHUNK];
        b[strides.y] += share[6 * CHUNK];
        b[strides.y + strides.x] += share[7 * CHUNK];
    }
}

static inline int4 strides_of(int4 to, int row, int plane)
{
    return (int4)(to.x > 1, to.y > 1 ? row : 0, to.z > 1 ? plane : 0, 0);
}

/* Whether a value is too large, and then not added. */
static inline bool too_large(float value, float most)
{
    return fabs(value) < INFINITY && (ONES ? 1.0f : fabs(value)) > most;
}

/* The part that a group takes of the work of so many, or none: -1. Parts lie far apart among the groups:
 * threads take many groups at once. */
static inline int part_of(int parts)
{
    int apart = get_num_groups(0) / parts, part = get_group_id(0) / apart;
    return part < parts && (int)get_group_id(0) == part * apart ? part : -1;
}

static inline int parts_of(int slabs)
{
    return max(min(slabs, (int)get_num_groups(0)), 1);
}

/* ---- boxes: where a part of the rows lands within few voxels, as under collapsing maps, its work-item adds
 * up in a box of its own ---- */

#define SIDE 32
#define CELLS_BOX (SIDE * SIDE * SIDE)
/* Before the cells: whether all of the part is in there, and where its first cell lies. */
#define HEAD 4
#define LOOKED_AT 512

typedef struct reach {
    int3 low, high;
} reach;

/* Range of the lower corners of some voxels in the rows [row, end). */
static inline reach reach_of(__global const float *in, int4 size, map m, __global const float *field, int4 to,
                             __global int *beyond, int row, int end)
{
    reach r = {(int3)(INT_MAX), (int3)(-1)};
    int n = (end - row) * size.x, step = max(n / LOOKED_AT, 1) | 1;
    for (int i = row * size.x; i < end * size.x; i += step) {
        int line = i / size.x;
        landing a = landing_of(in, size, m, field, INFINITY, 1.0f, to, beyond, i - line * size.x,
                               line % size.y, line / size.y);
        if (!a.lands)
            continue;
        r.low = min(r.low, a.base);
        r.high = max(r.high, a.base);
    }
    return r;
}

__kernel void splat_box(__global const float *in, int4 size, map m, __global const float *field, float most,
                        float scale, __global long *boxes, int4 to, __global int *beyond, int slabs)
{
    int parts = parts_of(slabs), part = part_of(parts), n = size.x * size.y * size.z, lines = size.y * size.z;
    if (part < 0)
        return;
    __global long *head = boxes + (long)part * (HEAD + CELLS_BOX), *box = head + HEAD;
    int first = (int)((long)lines * part / parts), end = (int)((long)lines * (part + 1) / parts), over = 0;
    head[0] = 0;
    reach r = reach_of(in, size, m, field, to, beyond, first, end);
    int3 wide = r.high - r.low;
    if (r.high.x < 0 || max(max(wide.x, wide.y), wide.z) > SIDE / 2)
        return;
    int3 from = max(min(r.low + wide / 2 - SIDE / 2, to.xyz - SIDE), (int3)(0));
    int4 strides = strides_of(to, SIDE, SIDE * SIDE);
    for (int c = 0; c < CELLS_BOX; c++)
        box[c] = 0;
    for (int line = first; line < end; line++) {
        int z = line / size.y, y = line - z * size.y, start = line * size.x, x = 0;
        vec8 row = row_positions(m, y, z);
        for (; x + CHUNK <= size.x; x += CHUNK) {
            int base[CHUNK] ALIGNED;
            int8 outside = (int8)(0), large = (int8)(0), missing = (int8)(0);
            long share[8 * CHUNK] ALIGNED;
            for (int c = 0; c < CHUNK; c += 8) {
                vec8 u = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
                u = load_vec8(field, start + x + c, n);
#endif
                vec8 p = positions_of8(m, row, x + c, u), q = clamp8(p, to);
                float8 value = LOAD8(in + start + x + c);
                int8 lands = (fabs(value) < INFINITY) & inside8(p, to);
                int8 i = max(min(convert_int8(q.x), (int8)(to.x - 2)), (int8)(0));
                int8 j = max(min(convert_int8(q.y), (int8)(to.y - 2)), (int8)(0));
                int8 k = max(min(convert_int8(q.z), (int8)(to.z - 2)), (int8)(0));
                float8 fx = q.x - convert_float8(i), fy = q.y - convert_float8(j),
                       fz = q.z - convert_float8(k);
#if ONES
                value = (float8)(1.0f);
#endif
                large |= (fabs(value) > most) & (fabs(value) < INFINITY);
                lands &= fabs(value) <= most;
                i -= from.x;
                j -= from.y;
                k -= from.z;
                outside |=
                    lands & ((i < 0) | (j < 0) | (k < 0) | (i > SIDE - 2) | (j > SIDE - 2) | (k > SIDE - 2));
                missing |= ~lands;
                PUT_INT8(lands ? (k * SIDE + j) * SIDE + i : (int8)(-1), base + c);
                shares8(fx, fy, fz, lands ? value * scale : (float8)(0.0f), share + c);
            }
            if (any(outside))
                return;
            if (any(large))
                for (int c = 0; c < CHUNK; c++)
                    over += too_large(in[start + x + c], most);
            if (any(missing)) {
                for (int c = 0; c < CHUNK; c++)
                    if (base[c] >= 0)
                        add_own(box + base[c], strides, LOWER | UPPER, share + c);
            } else
                for (int c = 0; c < CHUNK; c++)
                    add_own(box + base[c], strides, LOWER | UPPER, share + c);
        }
        for (; x < size.x; x++) {
            landing a = landing_of(in, size, m, field, INFINITY, scale, to, beyond, x, y, z);
            int3 at = a.base - from;
            long each[8], share[8 * CHUNK];
            bool large = too_large(in[start + x], most);
            over += large;
            if (!a.lands || large)
                continue;
            if (min(min(at.x, at.y), at.z) < 0 || max(max(at.x, at.y), at.z) > SIDE - 2)
                return;
            shares_of(a, each);
            for (int k = 0; k < 8; k++)
                share[k * CHUNK] = each[k];
            add_own(box + (at.z * SIDE + at.y) * SIDE + at.x, strides, LOWER | UPPER, share);
        }
    }
    if (over)
        atomic_add(beyond, over);
    head[1] = from.x;
    head[2] = from.y;
    head[3] = from.z;
    head[0] = 1;
}

/* Boxes into the sums. */
__kernel void splat_boxes(__global const long *boxes, int parts, __global uint *sums, int4 to)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, parts * CELLS_BOX);
    for (int i = first; i < end; i++) {
        int part = i / CELLS_BOX, c = i - part * CELLS_BOX;
        __global const long *head = boxes + (long)part * (HEAD + CELLS_BOX);
        if (!head[0]) {
            i += CELLS_BOX - 1 - c;
            continue;
        }
        if (head[HEAD + c])
            add(sums,
                (int)(((head[3] + c / (SIDE * SIDE)) * to.y + head[2] + c / SIDE % SIDE) * to.x + head[1] +
                      c % SIDE),
                head[HEAD + c]);
    }
}

/* ---- slabs ---- */

/* Which corners lie in the planes [from, end). */
static inline int8 corners8(vec8 p, int4 to, int from, int end)
{
    int8 z = max(min(convert_int8(clamp8_axis(p.z, to.z)), (int8)(to.z - 2)), (int8)(0));
    int8 inside = inside8(p, to);
    return inside & (((z >= from) & (z < end) & LOWER) | ((z + 1 >= from) & (z + 1 < end) & UPPER));
}

/* A work-item has a slab of the planes landed on to itself, and adds there, without atomics, what lands there
 * of all voxels that are in no box. Each looks at all their positions; there are few slabs, so that this
 * costs less than atomics. */
__kernel void splat_slab(__global const float *in, int4 size, map m, __global const float *field, float most,
                         float scale, __global uint *sums, int4 to, __global int *beyond, int slabs,
                         __global const long *boxes)
{
    int parts = parts_of(slabs), part = 0, n = size.x * size.y * size.z, lines = size.y * size.z;
    slabs = min(parts, to.z);
    int slab = part_of(slabs);
    if (slab < 0)
        return;
    int from = (int)((long)to.z * slab / slabs), end = (int)((long)to.z * (slab + 1) / slabs);
    __global long *own = (__global long *)sums;
    int farthest = to.x + to.x * to.y; /* need not exist */
    int4 strides = strides_of(to, to.x, to.x * to.y);
    for (int line = 0; line < lines; line++) {
        for (; boxes && part < parts && line == (int)((long)lines * part / parts); part++)
            if (boxes[(long)part * (HEAD + CELLS_BOX)])
                line = (int)((long)lines * (part + 1) / parts);
        if (line >= lines)
            break;
        int z = line / size.y, y = line - z * size.y, start = line * size.x, x = 0;
        vec8 row = row_positions(m, y, z);
        for (; x + CHUNK <= size.x; x += CHUNK) {
            int8 some = (int8)(0), over = (int8)(0);
            float px[CHUNK] ALIGNED, py[CHUNK] ALIGNED, pz[CHUNK] ALIGNED;
            int which[CHUNK] ALIGNED;
            for (int c = 0; c < CHUNK; c += 8) {
                vec8 u = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
                u = load_vec8(field, start + x + c, n);
#endif
                vec8 p = positions_of8(m, row, x + c, u);
                int8 corners = corners8(p, to, from, end);
                PUT8(p.x, px + c);
                PUT8(p.y, py + c);
                PUT8(p.z, pz + c);
                PUT_INT8(corners, which + c);
                some |= corners;
            }
            if (slab == 0) { /* counts for all */
                for (int c = 0; c < CHUNK; c += 8) {
                    float8 value = fabs(LOAD8(in + start + x + c));
#if ONES
                    value = value < INFINITY ? (float8)(1.0f) : value;
#endif
                    over |= (value > most) & (value < INFINITY);
                }
                if (any(over))
                    for (int c = 0; c < CHUNK; c++)
                        if (too_large(in[start + x + c], most))
                            atomic_inc(beyond);
            }
            if (!any(some != 0))
                continue;
            int mine[CHUNK], count = 0; /* without a jump that no processor foresees */
            for (int c = 0; c < CHUNK; c++) {
                mine[count] = c;
                count += which[c] != 0;
            }
            float values[CHUNK] ALIGNED;
            for (int c = 0; c < CHUNK; c += 8)
                PUT8(LOAD8(in + start + x + c), values + c);
            for (int k = 0; k < count && count < CHUNK; k++) {
                int c = mine[k];
                px[k] = px[c];
                py[k] = py[c];
                pz[k] = pz[c];
                which[k] = which[c];
                values[k] = values[c];
            }
            places at;
            long share[8 * CHUNK] ALIGNED;
            for (int c = 0; c < count; c += 8) {
                vec8 p = {GET8(px + c), GET8(py + c), GET8(pz + c)};
                float8 value = GET8(values + c);
                int8 finite = fabs(value) < INFINITY;
#if ONES
                value = (float8)(1.0f);
#endif
                int8 lands = finite & (fabs(value) <= most);
                place8(&at, c, p, to, true);
                shares8(GET8(at.fx + c), GET8(at.fy + c), GET8(at.fz + c),
                        lands ? value * scale : (float8)(0.0f), share + c);
            }
            for (int k = 0; k < count; k++) /* the row that no voxel has reached yet */
                FETCH_SOON(own + at.base[k] + farthest);
            for (int k = 0; k < count; k++)
                add_own(own + at.base[k], strides, which[k], share + k);
        }
        for (; x < size.x; x++) {
            landing a = landing_of(in, size, m, field, INFINITY, scale, to, beyond, x, y, z);
            bool large = too_large(in[start + x], most);
            long each[8], share[8 * CHUNK];
            if (slab == 0 && large)
                atomic_inc(beyond);
            if (!a.lands || large)
                continue;
            shares_of(a, each);
            for (int k = 0; k < 8; k++)
                share[k * CHUNK] = each[k];
            int low = a.base.z, up = low + 1;
            int which = (low >= from && low < end ? LOWER : 0) | (up >= from && up < end ? UPPER : 0);
            add_own(own + (a.base.z * to.y + a.base.y) * to.x + a.base.x, strides, which, share);
        }
    }
}

static inline float units_at(__global uint *sums, int i)
{
    long units = (long)((ulong)sums[2 * i + 1] << 32 | sums[2 * i]);
    sums[2 * i] = sums[2 * i + 1] = 0;
    return (float)units;
}

/* Sums as numbers, or their means; the sums are 0 again. */
__kernel void splat_total(__global uint *sums, float unit, __global uint *weights, float weight_unit, float least,
                          float outside, __global float *out, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    for (int i = first; i < end; i++) {
        float sum = units_at(sums, i) * unit;
#if HAS_WEIGHTS
        float weight = units_at(weights, i) * weight_unit;
        out[i] = weight >= least ? sum / weight : outside;
#else
        out[i] = sum;
#endif
    }
}
