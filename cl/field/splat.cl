/* SPDX-License-Identifier: Apache-2.0 */
/* Each voxel's value to the eight voxels around the place where it lands, by their trilinear weights: the
 * adjoint of warp.cl's linear interpolation. Sums are whole numbers of 64 bits, so that the order in which
 * voxels arrive does not show. Two words a sum, the lower first.
 * HAS_FIELD: whether there is a u. ONES: 1 in the place of each finite value. WORDS: additions of 32 bits and
 * their carry, for devices without atomics of 64 bits. */
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

/* Where a voxel lands: the lower corner, 1 where there is an upper one, the fractions, and its value in units.
 * lands: not where nothing is added. */
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

/* slabs: of splat_slab. */
__kernel void splat_item(__global const float *in, int4 size, map m, __global const float *field, float most,
                         float scale, __global uint *sums, int4 to, __global int *beyond, int slabs)
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
           __global uint *sums, int4 to, __global int *beyond, int slabs)
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
                        float scale, __global uint *sums, int4 to, __global int *beyond, int slabs)
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

/* As convert_long8_rte, which PoCL calls for each lane. */
static inline long8 whole8(float8 v)
{
    const float even = 8388608.0f; /* 2^23: floats from there on are whole */
    float8 size = fabs(v), rounded = (size + even) - even;
    return convert_long8(copysign(size < even ? rounded : size, v));
}

#define SHARE_AT(k) (share + (k) * CHUNK)

/* Which of a voxel's corners lie in the planes [from, end): of its lower plane, of its upper one. */
enum { LOWER = 1, UPPER = 2 };
static inline int8 corners8(vec8 p, int4 to, int from, int end)
{
    int8 z = max(min(convert_int8(clamp8_axis(p.z, to.z)), (int8)(to.z - 2)), (int8)(0));
    int8 inside = inside8(p, to);
    return inside & (((z >= from) & (z < end) & LOWER) | ((z + 1 >= from) & (z + 1 < end) & UPPER));
}

/* What a voxel adds to planes that are no one else's. */
static inline void add_own(__global long *sums, int4 to, int base, int which, const long *share)
{
    int dx = to.x > 1, dy = to.y > 1 ? to.x : 0, dz = to.z > 1 ? to.x * to.y : 0;
    __global long *a = sums + base, *b = a + dz;
    if (which & LOWER) {
        a[0] += share[0];
        a[dx] += share[CHUNK];
        a[dy] += share[2 * CHUNK];
        a[dy + dx] += share[3 * CHUNK];
    }
    if (which & UPPER) {
        b[0] += share[4 * CHUNK];
        b[dx] += share[5 * CHUNK];
        b[dy] += share[6 * CHUNK];
        b[dy + dx] += share[7 * CHUNK];
    }
}

/* A work-item has a slab of the planes landed on to itself, and adds there, without atomics, what lands there
 * of all voxels. Each looks at all positions; there are few slabs, so that this costs less than atomics. */
__kernel void splat_slab(__global const float *in, int4 size, map m, __global const float *field, float most,
                         float scale, __global uint *sums, int4 to, __global int *beyond, int slabs)
{
    /* Slabs lie far apart among the groups: threads take many groups at once. */
    int groups = get_num_groups(0), n = size.x * size.y * size.z;
    slabs = max(min(min(slabs, groups), to.z), 1);
    int apart = groups / slabs, slab = get_group_id(0) / apart;
    if (slab >= slabs || (int)get_group_id(0) != slab * apart)
        return;
    int from = (int)((long)to.z * slab / slabs), end = (int)((long)to.z * (slab + 1) / slabs);
    __global long *own = (__global long *)sums;
    int farthest = to.x + to.x * to.y; /* need not exist */
    for (int line = 0; line < size.y * size.z; line++) {
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
                    for (int c = 0; c < CHUNK; c++) {
                        float value = fabs(in[start + x + c]);
                        if (value < INFINITY && (ONES ? 1.0f : value) > most)
                            atomic_inc(beyond);
                    }
            }
            if (!any(some != 0))
                continue;
            places at;
            long share[8 * CHUNK] ALIGNED;
            for (int c = 0; c < CHUNK; c += 8) {
                vec8 p = {GET8(px + c), GET8(py + c), GET8(pz + c)};
                float8 value = LOAD8(in + start + x + c);
                int8 finite = fabs(value) < INFINITY;
#if ONES
                value = (float8)(1.0f);
#endif
                int8 lands = finite & (fabs(value) <= most);
                place8(&at, c, p, to, true);
                PUT_INT8(lands & GET_INT8(which + c), which + c);
                float8 units = lands ? value * scale : (float8)(0.0f);
                float8 fx = GET8(at.fx + c), fy = GET8(at.fy + c), fz = GET8(at.fz + c);
                float8 rx = 1.0f - fx, ry = 1.0f - fy, rz = 1.0f - fz;
                float8 edge[4] = {ry * rz, fy * rz, ry * fz, fy * fz};
                for (int e = 0; e < 4; e++) {
                    vstore8(whole8(rx * edge[e] * units), 0, SHARE_AT(2 * e) + c);
                    vstore8(whole8(fx * edge[e] * units), 0, SHARE_AT(2 * e + 1) + c);
                }
            }
            int mine[CHUNK], count = 0; /* without a jump that no processor foresees */
            for (int c = 0; c < CHUNK; c++) {
                mine[count] = c;
                count += which[c] != 0;
            }
            for (int k = 0; k < count; k++) /* the row that no voxel has reached yet */
                FETCH_SOON(own + at.base[mine[k]] + farthest);
            for (int k = 0; k < count; k++) {
                int c = mine[k];
                add_own(own, to, at.base[c], which[c], share + c);
            }
        }
        for (; x < size.x; x++) {
            float value = fabs(in[start + x]);
            landing a = landing_of(in, size, m, field, INFINITY, scale, to, beyond, x, y, z);
            long each[8], share[8 * CHUNK];
#if ONES
            value = value < INFINITY ? 1.0f : value;
#endif
            if (slab == 0 && value > most && value < INFINITY)
                atomic_inc(beyond);
            if (!a.lands || !(value <= most))
                continue;
            shares_of(a, each);
            for (int k = 0; k < 8; k++)
                share[k * CHUNK] = each[k];
            int low = a.base.z, up = low + 1;
            int which = (low >= from && low < end ? LOWER : 0) | (up >= from && up < end ? UPPER : 0);
            add_own(own, to, (a.base.z * to.y + a.base.y) * to.x + a.base.x, which, share);
        }
    }
}

/* ---- by sorting: voxels in the order of the cells where they land, and sums by cell of each corner's shares ---- */

#define NOWHERE 0xffffffffu

__kernel void splat_cells(__global const float *in, int4 size, map m, __global const float *field, float most,
                          int4 to, __global uint *cells, __global uint *order, __global int *beyond, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    for (int i = first; i < end; i++) {
        int row = i / size.x;
        landing a = landing_of(in, size, m, field, most, 1.0f, to, beyond, i - row * size.x, row % size.y,
                               row / size.y);
        cells[i] = a.lands ? (uint)((a.base.z * to.y + a.base.y) * to.x + a.base.x) : NOWHERE;
        order[i] = i;
    }
}

/* most: infinite; what is beyond was found before. */
__kernel void splat_shares(__global const float *in, int4 size, map m, __global const float *field, float most,
                           float scale, int4 to, __global const uint *order, int corner, __global long *units, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    for (int k = first; k < end; k++) {
        int i = order[k], row = i / size.x;
        long share[8], mine = 0;
        landing a = landing_of(in, size, m, field, most, scale, to, 0, i - row * size.x, row % size.y, row / size.y);
        shares_of(a, share);
        for (int c = 0; c < 8; c++)
            mine = c == corner ? share[c] : mine;
        units[k] = mine;
    }
}

/* A cell's last sum is that of all: for one corner, no two cells meet. */
__kernel void splat_ends(__global const uint *cells, __global const long *units, int corner, int4 to,
                         __global uint *sums, int n)
{
    int dx = (corner & 1) && to.x > 1 ? 1 : 0, dy = (corner & 2) && to.y > 1 ? 1 : 0;
    int dz = (corner & 4) && to.z > 1 ? 1 : 0, more = (dz * to.y + dy) * to.x + dx;
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    for (int k = first; k < end; k++) {
        uint cell = cells[k];
        if (cell == NOWHERE || (k + 1 < n && cells[k + 1] == cell))
            continue;
        int j = (int)cell + more;
        ulong sum = ((ulong)sums[2 * j + 1] << 32 | sums[2 * j]) + (ulong)units[k];
        sums[2 * j] = (uint)sum;
        sums[2 * j + 1] = (uint)(sum >> 32);
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
