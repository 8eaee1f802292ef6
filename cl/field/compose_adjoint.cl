/* SPDX-License-Identifier: Apache-2.0 */
/* The adjoint of next(i) = d(i) + s w(i + d(i)): what g = dS/dnext makes of d, in
 * place, and of w, added to sums in whole units, so that the order in which
 * voxels arrive does not show. w goes on beyond its border; there its derivative
 * across the border is 0. */
#include "common/grid.clh"
#include "common/sample_row.clh"

#define UNITS 1048576.0f

/* g + s (Dw)^T g with the interpolant's own derivative; rate: s / spacing. */
static inline float3 turned_back(__global const float *w, int4 size, float3 p, float3 g, float3 rate)
{
    float3 dx, dy, dz;
    sample_vec_gradient(w, size, p, &dx, &dy, &dz);
    return g + rate * (float3)(dot(dx, g), dot(dy, g), dot(dz, g));
}

static inline float3 position(__global const float *d, int i, int n, int x, int y, int z, float3 per_mm)
{
    return (float3)((float)x, (float)y, (float)z) + per_mm * load_vec(d, i, n);
}

/* Units of the longest g; 0 where there is none. */
static inline float units_of(float longest)
{
    return longest > 0.0f && longest < INFINITY ? UNITS / longest : 0.0f;
}

static inline void add(__global int *sums, int i, int n, float3 units)
{
    atomic_add(&sums[VEC_AT(i, 0, n)], convert_int_rte(units.x));
    atomic_add(&sums[VEC_AT(i, 1, n)], convert_int_rte(units.y));
    atomic_add(&sums[VEC_AT(i, 2, n)], convert_int_rte(units.z));
}

__kernel void compose_adjoint_item(__global const float *d, __global const float *w, grid on, float s,
                                   __global const float *state, int slot, __global float *g,
                                   __global int *sums)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 p = position(d, i, n, x, y, z, per_mm.xyz), here = load_vec(g, i, n), units = units_of(state[slot]) * here;
    cell at = whole_cell(position_clamp(p, size), size);
    store_vec(turned_back(w, size, p, here, s * per_mm.xyz), g, i, n);
    float3 f = (float3)(at.fx, at.fy, at.fz), r = 1.0f - f;
    int j = at.base, k = at.base + at.dz;
    add(sums, j, n, r.x * r.y * r.z * units);
    add(sums, j + at.dx, n, f.x * r.y * r.z * units);
    add(sums, j + at.dy, n, r.x * f.y * r.z * units);
    add(sums, j + at.dy + at.dx, n, f.x * f.y * r.z * units);
    add(sums, k, n, r.x * r.y * f.z * units);
    add(sums, k + at.dx, n, f.x * r.y * f.z * units);
    add(sums, k + at.dy, n, r.x * f.y * f.z * units);
    add(sums, k + at.dy + at.dx, n, f.x * f.y * f.z * units);
}

/* ---- for CPU devices, whose atomic additions take long: an item owns MARCH planes of the sums and goes
 * through the rows that reach them. */

/* The cells of a chunk of a row, and their lower planes. */
typedef struct cells {
    places at;
    int plane[CHUNK];
} ALIGNED cells;

/* The chunk that holds voxel x of a row of at least eight: `first` and how many. */
static inline int chunk_of(int x, int4 size, int *count)
{
    *count = min(size.x, CHUNK);
    return min(x, size.x - *count);
}

static inline void find_cells(cells *to, __global const float *d, int4 size, float3 per_mm, int first,
                              int count, int y, int z)
{
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    for (int k = 0; k < count; k += 8) {
        int c = min(k, count - 8); /* the last ones may overlap those before */
        vec8 p = load_vec8(d, row + first + c, n);
        p.x = (float)(first + c) + (float8)(0, 1, 2, 3, 4, 5, 6, 7) + per_mm.x * p.x;
        p.y = (float)y + per_mm.y * p.y;
        p.z = (float)z + per_mm.z * p.z;
        vec8 q = place8(&to->at, c, p, size, true);
        PUT_INT8(max(min(convert_int8(q.z), (int8)(size.z - 2)), (int8)(0)), to->plane + c);
    }
}

static inline cell cell_in(const cells *of, int c, int4 size)
{
    cell at;
    at.base = of->at.base[c];
    at.dx = 1;
    at.dy = size.y > 1 ? size.x : 0;
    at.dz = size.z > 1 ? size.x * size.y : 0;
    at.fx = of->at.fx[c];
    at.fy = of->at.fy[c];
    at.fz = of->at.fz[c];
    return at;
}

/* The lowest and the highest plane that a row adds to, 16 bits each; the most that they hold is no bound. */
#define FAR 65535

__kernel void compose_adjoint_reach(__global const float *d, grid on, __global int *rows)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2), low = size.z - 1, high = 0;
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    if (size.x >= 8) {
        int8 lows = low, highs = 0;
        for (int x = 0; x < size.x; x += 8) {
            float8 p = (float)z + per_mm.z * load_vec8(d, row + min(x, size.x - 8), n).z;
            int8 plane = max(min(convert_int8(clamp8_axis(p, size.z)), (int8)(size.z - 2)), (int8)(0));
            lows = min(lows, plane);
            highs = max(highs, plane);
        }
        int found[2][8];
        PUT_INT8(lows, found[0]);
        PUT_INT8(highs, found[1]);
        for (int k = 0; k < 8; k++) {
            low = min(low, found[0][k]);
            high = max(high, found[1][k]);
        }
    } else {
        for (int x = 0; x < size.x; x++) {
            float3 q = position_clamp(position(d, row + x, n, x, y, z, per_mm.xyz), size);
            int plane = max(min((int)q.z, size.z - 2), 0);
            low = min(low, plane);
            high = max(high, plane);
        }
    }
    high = min(high + 1, size.z - 1);
    rows[z * size.y + y] = min(low, FAR) | min(high, FAR) << 16;
}

#define INLINE static inline __attribute__((always_inline))

/* convert_int8_rte() of at most 2^22, which takes thirty instructions on some CPUs' drivers. */
INLINE int8 whole8(float8 v)
{
    const float8 shift = 12582912.0f; /* 1.5 2^23 */
    float8 sum = v + shift;
    return as_int8(sum) - as_int8(shift);
}

INLINE void give(__global int *sums, int i, int n, int4 units)
{
#if FIELD_PACKED
    vstore3(vload3(i, sums) + units.xyz, i, sums);
#else
    sums[i] += units.x;
    sums[i + n] += units.y;
    sums[i + 2 * n] += units.z;
#endif
}

/* Four edges of a cell along x: what they get at the end that lies at i. low, high: whether the item owns
 * the planes of the cell. */
INLINE void give_end(__global int *sums, int i, cell at, int n, bool low, bool high, const int4 edges[4])
{
    if (low) {
        give(sums, i, n, edges[0]);
        give(sums, i + at.dy, n, edges[1]);
    }
    if (high) {
        give(sums, i + at.dz, n, edges[2]);
        give(sums, i + at.dz + at.dy, n, edges[3]);
    }
}

/* A voxel and, from then on, the one before: what it keeps for its right is joined with what the next one
 * gives to its left, mostly the same place. */
typedef struct last_voxel {
    cell at;
    bool there, low, high;
    int4 kept[4];
} last_voxel;

INLINE void give_all(__global int *sums, cell at, int n, bool low, bool high, float3 units,
                     last_voxel *before)
{
    bool joined = before->there && at.base == before->at.base + before->at.dx;
    if (before->there && !joined)
        give_end(sums, before->at.base + before->at.dx, before->at, n, before->low, before->high,
                 before->kept);
    float fx = at.fx, fy = at.fy, fz = at.fz, rx = 1.0f - fx, ry = 1.0f - fy, rz = 1.0f - fz;
    float share[4] = {ry * rz, fy * rz, ry * fz, fy * fz};
    float8 ends = (float8)((float4)(rx), (float4)(fx)), all = (float8)(units, 0.0f, units, 0.0f);
    int4 left[4];
#pragma unroll
    for (int e = 0; e < 4; e++) {
        float8 weight = ends * share[e], given = weight * all;
        int8 whole = whole8(given);
        left[e] = joined ? whole.lo + before->kept[e] : whole.lo;
        before->kept[e] = whole.hi;
    }
    give_end(sums, at.base, at, n, low, high, left);
    before->at = at;
    before->there = true;
    before->low = low;
    before->high = high;
}

/* A row, of which planes first to end - 1 are the item's own. all: every plane that the row reaches is. */
INLINE void give_row(__global const float *d, __global const float *g, int4 size, float3 per_mm, float scale,
                     __global int *sums, int y, int z, int first, int end, bool all)
{
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, up = size.z > 1;
    last_voxel before;
    before.there = before.low = before.high = false;
    for (int x = 0; size.x >= 8 && x < size.x;) {
        cells in;
        int count, start = chunk_of(x, size, &count);
        find_cells(&in, d, size, per_mm, start, count, y, z);
        for (int c = x - start; c < count; c++) {
            int plane = in.plane[c];
            give_all(sums, cell_in(&in, c, size), n, all || (plane >= first && plane < end),
                     all || (plane + up >= first && plane + up < end),
                     scale * load_vec(g, row + start + c, n), &before);
        }
        x = start + count;
    }
    for (int x = 0; size.x < 8 && x < size.x; x++) {
        cell at = whole_cell(position_clamp(position(d, row + x, n, x, y, z, per_mm), size), size);
        int plane = at.base / (size.x * size.y);
        give_all(sums, at, n, plane >= first && plane < end, plane + up >= first && plane + up < end,
                 scale * load_vec(g, row + x, n), &before);
    }
    give_end(sums, before.at.base + before.at.dx, before.at, n, before.low, before.high, before.kept);
}

__kernel void compose_adjoint_planes(__global const float *d, grid on, __global const float *state, int slot,
                                     __global const float *g, __global int *sums, __global const int *rows)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int first = get_global_id(2) * MARCH, end = min(first + MARCH, size.z);
    float scale = units_of(state[slot]);
    for (int z = 0; z < size.z; z++)
        for (int y = 0; y < size.y; y++) {
            int reach = rows[z * size.y + y], low = reach & FAR, high = reach >> 16 & FAR;
            bool within = high < FAR && low >= first && high < end;
            if (within)
                give_row(d, g, size, per_mm.xyz, scale, sums, y, z, first, end, true);
            else if (low < end && (high >= first || high == FAR))
                give_row(d, g, size, per_mm.xyz, scale, sums, y, z, first, end, false);
        }
}

#if FIELD_PACKED
/* The derivatives of sample_vec_gradient() times g; the pairs along x as in sample_row.clh. */
static inline float3 turned_in(__global const float *w, cell at, int along, float3 g)
{
    int i = at.base, j = i + at.dz;
    float4 fy = at.fy, fz = at.fz;
    float4 v = vload4(0, w + 3 * i), u = vload4(0, w + 3 * (i + at.dy));
    float4 rise0 = vload4(0, w + 3 * j) - v, rise2 = vload4(0, w + 3 * (j + at.dy)) - u;
    float4 a = muladd(fz, rise0, v), up0 = muladd(fz, rise2, u) - a;
    float4 left = muladd(fy, up0, a), deep0 = muladd(fy, rise2 - rise0, rise0);
    v = vload4(0, w + 3 * i + 2);
    u = vload4(0, w + 3 * (i + at.dy) + 2);
    float4 rise1 = vload4(0, w + 3 * j + 2) - v, rise3 = vload4(0, w + 3 * (j + at.dy) + 2) - u;
    float4 b = muladd(fz, rise1, v), up1 = muladd(fz, rise3, u) - b;
    float4 right = muladd(fy, up1, b), deep1 = muladd(fy, rise3 - rise1, rise1);
    float3 x = right.yzw - left.xyz, y = muladd((float3)(at.fx), up1.yzw - up0.xyz, up0.xyz);
    float3 z = muladd((float3)(at.fx), deep1.yzw - deep0.xyz, deep0.xyz);
    return (float3)(along & ALONG_X ? dot(x, g) : 0.0f, along & ALONG_Y ? dot(y, g) : 0.0f,
                    along & ALONG_Z ? dot(z, g) : 0.0f);
}
#endif

__kernel void compose_adjoint_turn(__global const float *d, __global const float *w, grid on, float s,
                                   __global float *g)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2), x = 0;
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    float3 rate = s * per_mm.xyz;
#if FIELD_PACKED
    while (size.x >= 8 && x < size.x) {
        cells in;
        int count, start = chunk_of(x, size, &count);
        find_cells(&in, d, size, per_mm.xyz, start, count, y, z);
        for (int c = x - start; c < count; c++) {
            float3 here = load_vec(g, row + start + c, n);
            store_vec(here + rate * turned_in(w, cell_in(&in, c, size), in.at.inside[c], here), g,
                      row + start + c, n);
        }
        x = start + count;
    }
#endif
    for (; x < size.x; x++) {
        float3 p = position(d, row + x, n, x, y, z, per_mm.xyz);
        store_vec(turned_back(w, size, p, load_vec(g, row + x, n), rate), g, row + x, n);
    }
}

/* out = factor times the sums, which are 0 again. */
static inline void total(__global int *sums, float scale, __global float *out, int i)
{
    out[i] = scale * (float)sums[i];
    sums[i] = 0;
}

__kernel void compose_adjoint_total(__global int *sums, float factor, __global const float *state, int slot,
                                    __global float *out, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    float longest = state[slot], scale = longest > 0.0f && longest < INFINITY ? factor * longest / UNITS : 0.0f;
    for (int i = first; i < end; i++)
        total(sums, scale, out, i);
}
