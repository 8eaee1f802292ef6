/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with a sampled Gaussian along one axis, border value repeated.
 * An array is seen as [outer][n][inner]: n samples along the filtered axis,
 * `inner` floats apart. So y and z passes do not know the layout of a field,
 * and an x pass knows it only as inner = 3 (packed) instead of 1.
 * RADIUS is exact, so that loops over the weights unroll. */

typedef struct weights {
    float w[RADIUS + 1]; /* centre first */
} weights;

/* The pass along x and y at once has a radius for each. */
#ifndef RADIUS_X
#define RADIUS_X RADIUS
#endif
typedef struct weights_x {
    float w[RADIUS_X + 1];
} weights_x;

#if ROWS
#include "common/field_row.clh"

/* ---- for CPU devices ------------------------------------------------------
 * Stretches of CHUNK floats in private memory, which the first-level cache
 * holds, eight floats at a time. Copying there is a small part of the work,
 * makes all borders alike, and keeps planes that lie a power of two apart from
 * driving each other out of the cache. */

#define BLOCK ((RADIUS + 25) / 2 * 2)       /* lines filtered between two moves of the window */
#define STRIDE (CHUNK + 16)
#define LINES (BLOCK + 2 * RADIUS)
#define HALO (3 * RADIUS_X)

/* Eight floats at any float's address. Some compilers take vload8 apart into
 * four loads; this stays one. */
typedef struct __attribute__((packed)) lanes {
    float8 v;
} lanes;
#define LOAD(p) (((const lanes *)(p))->v)
#define STORE(p, value) (((lanes *)(p))->v = (value))
#define LOAD_GLOBAL(p) (((__global const lanes *)(p))->v)
#define STORE_GLOBAL(p, value) (((__global lanes *)(p))->v = (value))

/* count floats, all of which exist. */
static inline void copy_in(float *to, __global const float *from, int count)
{
    int e = 0;
    for (; e + 8 <= count; e += 8)
        STORE(to + e, LOAD_GLOBAL(from + e));
    for (; e < count; e++)
        to[e] = from[e];
}

/* The line that comes next: lines are too short for processors to see them come. */
static inline void fetch_line(__global const float *line, int count)
{
    for (int e = 0; e < count; e += 16)
        FETCH_SOON(line + e);
}

static inline void copy_out(__global float *to, const float *from, int count)
{
    int e = 0;
    for (; e + 8 <= count; e += 8)
        STORE_GLOBAL(to + e, LOAD(from + e));
    for (; e < count; e++)
        to[e] = from[e];
}

/* Elements first - RADIUS_X inner to first + count + RADIUS_X inner of a row of n
 * voxels of inner floats, end values repeated, to `to`. */
static inline void load_row(float *to, __global const float *row, int first, int count, int inner, int n)
{
    int length = n * inner, halo = RADIUS_X * inner;
    int low = max(first - halo, 0), high = min(first + count + halo, length);
    for (int e = first - halo; e < 0; e++)
        to[e - first + halo] = row[inner == 1 ? 0 : (e + HALO) % 3];
    copy_in(to + low - first + halo, row + low, high - low);
    fetch_line(row + length + low, high - low);
    for (int e = length; e < first + count + halo; e++)
        to[e - first + halo] = row[length - inner + (inner == 1 ? 0 : e % 3)];
}

/* One chunk of a row filtered along x: window as left by load_row. */
#define FILTER_ROW(to, window, count, inner)                                                 \
    for (int e = 0; e < (count); e += 8) {                                                   \
        const float *c = (window) + e + RADIUS_X * (inner);                                    \
        float8 sum = gx.w[0] * LOAD(c);                                                  \
        _Pragma("unroll") for (int k = 1; k <= RADIUS_X; k++)                                  \
            sum += gx.w[k] * (LOAD(c - k * (inner)) + LOAD(c + k * (inner)));       \
        STORE((to) + e, sum);                                                           \
    }

/* shape = (inner, n, rows of a plane, planes) */
__kernel void gaussian_x_row(__global const float *in, __global float *out, const int4 shape,
                             const weights_x gx)
{
    int y = get_global_id(1), z = get_global_id(2);
    int inner = shape.x, length = inner * shape.y;
    if (y >= shape.z || z >= shape.w)
        return;
    int row = (z * shape.z + y) * length;
    float window[CHUNK + 2 * HALO + 8], made[CHUNK];
    for (int first = 0; first < length; first += CHUNK) {
        int count = min(CHUNK, length - first);
        load_row(window, in + row, first, count, inner, shape.y);
        if (inner == 1) {
            FILTER_ROW(made, window, count, 1)
        } else {
            FILTER_ROW(made, window, count, 3)
        }
        copy_out(out + row + first, made, count);
    }
}

static inline float8 filter_lines(const float *c, const weights *g)
{
    float8 sum = g->w[0] * LOAD(c);
#pragma unroll
    for (int k = 1; k <= RADIUS; k++)
        sum += g->w[k] * (LOAD(c - k * STRIDE) + LOAD(c + k * STRIDE));
    return sum;
}

/* Two lines at once share most of their loads. The second is written where
 * there is one. */
static inline void make_lines(__global float *to, int inner, int count, int two, const float *centre,
                              const weights *g)
{
    float8 tail[2];
    int e = 0;
    if (two)
        for (; e + 8 <= count; e += 8) {
            float8 a = filter_lines(centre + e, g), b = filter_lines(centre + STRIDE + e, g);
            STORE_GLOBAL(to + e, a);
            STORE_GLOBAL(to + inner + e, b);
        }
    else
        for (; e + 8 <= count; e += 8)
            STORE_GLOBAL(to + e, filter_lines(centre + e, g));
    if (e < count) {
        tail[0] = filter_lines(centre + e, g);
        copy_out(to + e, (const float *)tail, count - e);
        if (two) {
            tail[1] = filter_lines(centre + STRIDE + e, g);
            copy_out(to + inner + e, (const float *)(tail + 1), count - e);
        }
    }
}

/* shape = (inner, n, outer, 0): a work-item walks the lines of one chunk. */
__kernel void gaussian_axis_row(__global const float *in, __global float *out, const int4 shape,
                                const weights g)
{
    int inner = shape.x, n = shape.y;
    int first = get_global_id(0) * ITEM_X, o = get_global_id(2);
    if (first >= inner || o >= shape.z)
        return;
    int base = o * n * inner + first, count = min(CHUNK, inner - first);
    float lines[LINES * STRIDE];
    /* lines[j] is line i - RADIUS + j of the array, where i begins a block. */
    for (int j = 0; j < 2 * RADIUS; j++)
        copy_in(lines + j * STRIDE, in + base + clamp(j - RADIUS, 0, n - 1) * inner, count);
    for (int i = 0; i < n; i += BLOCK) {
        for (int m = 0; m < BLOCK && i + m < n; m += 2) {
            for (int j = m + 2 * RADIUS; j < m + 2 * RADIUS + 2; j++) {
                copy_in(lines + j * STRIDE, in + base + min(i - RADIUS + j, n - 1) * inner, count);
                fetch_line(in + base + min(i - RADIUS + j + 2, n - 1) * inner, count);
            }
            fetch_line(out + base + min(i + m + 2, n - 1) * inner, count);
            fetch_line(out + base + min(i + m + 3, n - 1) * inner, count);
            make_lines(out + base + (i + m) * inner, inner, count, i + m + 1 < n,
                       lines + (m + RADIUS) * STRIDE, &g);
        }
        for (int j = 0; j < 2 * RADIUS * STRIDE; j += 8)
            STORE(lines + j, LOAD(lines + BLOCK * STRIDE + j));
    }
}

/* Along x and y: as gaussian_axis_row along y, over lines that are filtered
 * along x as they come in. shape = (inner, nx, ny, planes) */
__kernel void gaussian_xy_row(__global const float *in, __global float *out, const int4 shape,
                              const weights_x gx, const weights g)
{
    int inner = shape.x, length = inner * shape.y, n = shape.z;
    int first = get_global_id(0) * ITEM_X, z = get_global_id(2);
    if (first >= length || z >= shape.w)
        return;
    int plane = z * n * length, count = min(CHUNK, length - first);
    float lines[LINES * STRIDE], window[CHUNK + 2 * HALO + 8];
    int filled = 0; /* lines[j] is line i - RADIUS + j of the plane, where i begins a block */
    for (int i = 0; i < n; i += BLOCK) {
        for (int m = 0; m < BLOCK && i + m < n; m += 2) {
            for (; filled < m + 2 * RADIUS + 2; filled++) {
                int y = i - RADIUS + filled;
                float *line = lines + filled * STRIDE;
                if (filled > 0 && (y <= 0 || y >= n)) { /* the edge line again */
                    for (int e = 0; e < count; e += 8)
                        STORE(line + e, LOAD(line - STRIDE + e));
                    continue;
                }
                load_row(window, in + plane + clamp(y, 0, n - 1) * length, first, count, inner, shape.y);
                if (inner == 1) {
                    FILTER_ROW(line, window, count, 1)
                } else {
                    FILTER_ROW(line, window, count, 3)
                }
            }
            make_lines(out + plane + (i + m) * length + first, length, count, i + m + 1 < n,
                       lines + (m + RADIUS) * STRIDE, &g);
        }
        for (int j = 0; j < 2 * RADIUS * STRIDE; j += 8)
            STORE(lines + j, LOAD(lines + BLOCK * STRIDE + j));
        filled = 2 * RADIUS;
    }
}

#else
#define GROUP __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
/* ---- along x: shape = (inner, n, rows of a plane, planes) ---------------- */

/* Row segments with their halo in local memory, of RADIUS_X voxels of up to three floats. */
#if FIELD_PACKED
#define X_HALO (3 * RADIUS_X)
#else
#define X_HALO RADIUS_X
#endif

/* Element e of a row, up to halo (a multiple of inner) before it or anything
 * behind it, as the same component of the nearest voxel. */
static inline int kept_in_row(int e, int halo, int inner, int n)
{
    if (inner == 1)
        return clamp(e, 0, n - 1);
    int at = (e + halo) / inner;
    return clamp(at - halo / inner, 0, n - 1) * inner + e + halo - at * inner;
}

/* Four neighbouring outputs a work-item, from registers: a quarter of the
 * reads from local memory. */
#define WIDE_HALO ((X_HALO + 3) / 4 * 4)
#define WIDE(inner)                                                                   \
    _Pragma("unroll") for (int m = 0; m < 4; m++) {                                   \
        sum[m] = g.w[0] * near[WIDE_HALO + m];                                        \
        _Pragma("unroll") for (int k = 1; k <= RADIUS; k++)                           \
            sum[m] += g.w[k] * (near[WIDE_HALO + m - k * (inner)] +                   \
                                near[WIDE_HALO + m + k * (inner)]);                   \
    }

__kernel GROUP void gaussian_x_wide(__global const float *in, __global float *out, const int4 shape,
                              const weights g)
{
    __local float4 cells[TILE_Y * TILE_Z][TILE_X + WIDE_HALO / 2];
    int lx = get_local_id(0), line = get_local_id(2) * TILE_Y + get_local_id(1);
    int y = get_global_id(1), z = get_global_id(2);
    int first = get_group_id(0) * TILE_X * 4;
    int inner = shape.x, n = shape.y, length = inner * n;
    int row = (min(z, shape.w - 1) * shape.z + min(y, shape.z - 1)) * length;
    __local float *cell = (__local float *)cells[line];
    for (int i = lx; i < TILE_X * 4 + 2 * WIDE_HALO; i += TILE_X)
        cell[i] = in[row + kept_in_row(first - WIDE_HALO + i, 3 * WIDE_HALO, inner, n)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float near[4 + 2 * WIDE_HALO], sum[4];
#pragma unroll
    for (int v = 0; v < 1 + WIDE_HALO / 2; v++) {
        float4 part = cells[line][lx + v];
        near[4 * v] = part.x;
        near[4 * v + 1] = part.y;
        near[4 * v + 2] = part.z;
        near[4 * v + 3] = part.w;
    }
#if FIELD_PACKED
    if (inner == 3) {
        WIDE(3)
    } else
#endif
    {
        WIDE(1)
    }
    int e = first + 4 * lx;
    if (y >= shape.z || z >= shape.w)
        return;
    if (length % 4 == 0 && e < length) {
        *(__global float4 *)(out + row + e) = (float4)(sum[0], sum[1], sum[2], sum[3]);
    } else {
#pragma unroll
        for (int m = 0; m < 4; m++)
            if (e + m < length)
                out[row + e + m] = sum[m];
    }
}

/* ---- along y or z: shape = (inner, n, outer, 0) -------------------------- */

/* A work-item makes MARCH outputs at once: every input it reads is added to
 * all the outputs in registers that it reaches. */
__kernel GROUP void gaussian_axis_march(__global const float *in, __global float *out, const int4 shape,
                                  const weights g)
{
    int x = get_global_id(0), first = get_global_id(1) * MARCH, o = get_global_id(2);
    int inner = shape.x, n = shape.y;
    if (x >= inner || first >= n || o >= shape.z)
        return;
    int line = o * n * inner + x;
    float sum[MARCH];
#pragma unroll
    for (int m = 0; m < MARCH; m++)
        sum[m] = 0;
#pragma unroll
    for (int i = -RADIUS; i < MARCH + RADIUS; i++) {
        float v = in[line + clamp(first + i, 0, n - 1) * inner];
#pragma unroll
        for (int k = 0; k <= RADIUS; k++) {
            if (i - k >= 0 && i - k < MARCH)
                sum[i - k] += g.w[k] * v;
            if (k > 0 && i + k >= 0 && i + k < MARCH)
                sum[i + k] += g.w[k] * v;
        }
    }
#pragma unroll
    for (int m = 0; m < MARCH; m++)
        if (first + m < n)
            out[line + (first + m) * inner] = sum[m];
}

#endif
