/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution with a sampled Gaussian along one axis, border value repeated.
 * An array is seen as [outer][n][inner]: n samples along the filtered axis,
 * `inner` floats apart. So y and z passes do not know the layout of a field,
 * and an x pass knows it only as inner = 3 (packed) instead of 1.
 * RADIUS is exact, so that loops over the weights unroll. */

typedef struct weights {
    float w[RADIUS + 1]; /* centre first */
} weights;

#if ROWS
/* ---- for CPU devices ------------------------------------------------------
 * Stretches of CHUNK floats in private memory, which the first-level cache
 * holds, eight floats at a time. Copying there is a small part of the work,
 * makes all borders alike, and keeps planes that lie a power of two apart from
 * driving each other out of the cache. */

#define CHUNK 128
#define BLOCK (RADIUS + 16)       /* lines filtered between two moves of the window */
#define LINES (BLOCK + 2 * RADIUS)
#define HALO (3 * RADIUS)

/* Eight floats at any float's address. PoCL takes vload8 apart into four
 * loads; this stays one. */
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

static inline void copy_out(__global float *to, const float *from, int count)
{
    int e = 0;
    for (; e + 8 <= count; e += 8)
        STORE_GLOBAL(to + e, LOAD(from + e));
    for (; e < count; e++)
        to[e] = from[e];
}

/* Elements first - RADIUS inner to first + count + RADIUS inner of a row of n
 * voxels of inner floats, end values repeated, to `to`. */
static inline void load_row(float *to, __global const float *row, int first, int count, int inner, int n)
{
    int length = n * inner, halo = RADIUS * inner;
    int low = max(first - halo, 0), high = min(first + count + halo, length);
    for (int e = first - halo; e < 0; e++)
        to[e - first + halo] = row[inner == 1 ? 0 : (e + HALO) % 3];
    copy_in(to + low - first + halo, row + low, high - low);
    for (int e = length; e < first + count + halo; e++)
        to[e - first + halo] = row[length - inner + (inner == 1 ? 0 : e % 3)];
}

/* One chunk of a row filtered along x: window as left by load_row. */
#define FILTER_ROW(to, window, count, inner)                                                 \
    for (int e = 0; e < (count); e += 8) {                                                   \
        const float *c = (window) + e + RADIUS * (inner);                                    \
        float8 sum = g.w[0] * LOAD(c);                                                  \
        _Pragma("unroll") for (int k = 1; k <= RADIUS; k++)                                  \
            sum += g.w[k] * (LOAD(c - k * (inner)) + LOAD(c + k * (inner)));       \
        STORE((to) + e, sum);                                                           \
    }

/* shape = (inner, n, rows of a plane, planes) */
__kernel void gaussian_x_row(__global const float *in, __global float *out, const int4 shape,
                             const weights g)
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

/* shape = (inner, n, outer, 0): a work-item walks the lines of one chunk. */
__kernel void gaussian_axis_row(__global const float *in, __global float *out, const int4 shape,
                                const weights g)
{
    int inner = shape.x, n = shape.y;
    int first = get_global_id(1) * CHUNK, o = get_global_id(2);
    if (first >= inner || o >= shape.z)
        return;
    int base = o * n * inner + first, count = min(CHUNK, inner - first);
    float lines[LINES * CHUNK], made[CHUNK];
    int filled = 0; /* lines[j] is line i - RADIUS + j of the volume */
    for (int i = 0; i < n; i += BLOCK) {
        if (i > 0) {
            for (int j = 0; j < 2 * RADIUS * CHUNK; j += 8)
                STORE(lines + j, LOAD(lines + BLOCK * CHUNK + j));
            filled = 2 * RADIUS;
        }
        int last = min(BLOCK, n - i) + 2 * RADIUS;
        for (int j = filled; j < last; j++)
            copy_in(lines + j * CHUNK, in + base + clamp(i - RADIUS + j, 0, n - 1) * inner, count);
        for (int m = 0; m < BLOCK && i + m < n; m++) {
            for (int e = 0; e < count; e += 8) {
                const float *c = lines + (m + RADIUS) * CHUNK + e;
                float8 sum = g.w[0] * LOAD(c);
                _Pragma("unroll") for (int k = 1; k <= RADIUS; k++)
                    sum += g.w[k] * (LOAD(c - k * CHUNK) + LOAD(c + k * CHUNK));
                STORE(made + e, sum);
            }
            copy_out(out + base + (i + m) * inner, made, count);
        }
    }
}

#else
/* ---- along x: shape = (inner, n, rows of a plane, planes) ---------------- */

/* Index of tap k of element e in a row: e + k inner, kept in the row on the
 * same component. */
static inline int along_row(int e, int k, int inner, int n)
{
    int at = e / inner, c = e - at * inner;
    return clamp(at + k, 0, n - 1) * inner + c;
}

__kernel void gaussian_x_direct(__global const float *in, __global float *out, const int4 shape,
                                const weights g)
{
    int e = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int length = shape.x * shape.y;
    if (e >= length || y >= shape.z || z >= shape.w)
        return;
    int row = (z * shape.z + y) * length;
    float sum = g.w[0] * in[row + e];
    for (int k = 1; k <= RADIUS; k++)
        sum += g.w[k] * (in[row + along_row(e, -k, shape.x, shape.y)] +
                         in[row + along_row(e, k, shape.x, shape.y)]);
    out[row + e] = sum;
}

/* Row segments with their halo in local memory. The halo is RADIUS voxels of
 * up to three floats. */
#if FIELD_PACKED
#define X_HALO (3 * RADIUS)
#else
#define X_HALO RADIUS
#endif

__kernel void gaussian_x_tile(__global const float *in, __global float *out, const int4 shape,
                              const weights g)
{
    __local float cells[TILE_Y * TILE_Z][TILE_X * MARCH + 2 * X_HALO];
    int lx = get_local_id(0), line = get_local_id(2) * TILE_Y + get_local_id(1);
    int y = get_global_id(1), z = get_global_id(2);
    int first = get_group_id(0) * TILE_X * MARCH;
    int inner = shape.x, n = shape.y, length = inner * n;
    int row = (min(z, shape.w - 1) * shape.z + min(y, shape.z - 1)) * length;
    for (int i = lx; i < TILE_X * MARCH + 2 * X_HALO; i += TILE_X) {
        int e = first - X_HALO + i;
        if (e < 0 || e >= length)
            e = inner == 1 ? clamp(e, 0, length - 1)
                           : clamp((e + 3 * X_HALO) / 3 - X_HALO, 0, n - 1) * 3 + (e + 3 * X_HALO) % 3;
        cells[line][i] = in[row + e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < MARCH; m++) {
        int at = m * TILE_X + lx;
        __local const float *c = &cells[line][at + X_HALO];
        float sum = g.w[0] * c[0];
        for (int k = 1; k <= RADIUS; k++)
            sum += g.w[k] * (c[-k * inner] + c[k * inner]);
        if (first + at < length && y < shape.z && z < shape.w)
            out[row + first + at] = sum;
    }
}

/* ---- along y or z: shape = (inner, n, outer, 0) -------------------------- */

__kernel void gaussian_axis_direct(__global const float *in, __global float *out, const int4 shape,
                                   const weights g)
{
    int x = get_global_id(0), i = get_global_id(1), o = get_global_id(2);
    int inner = shape.x, n = shape.y;
    if (x >= inner || i >= n || o >= shape.z)
        return;
    int line = o * n * inner + x;
    float sum = g.w[0] * in[line + i * inner];
    for (int k = 1; k <= RADIUS; k++)
        sum += g.w[k] * (in[line + max(i - k, 0) * inner] + in[line + min(i + k, n - 1) * inner]);
    out[line + i * inner] = sum;
}

/* Columns with their halo in local memory. */
__kernel void gaussian_axis_tile(__global const float *in, __global float *out, const int4 shape,
                                 const weights g)
{
    __local float cells[TILE_Y * MARCH + 2 * RADIUS][TILE_X];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = get_global_id(0), o = get_global_id(2);
    int first = get_group_id(1) * TILE_Y * MARCH;
    int inner = shape.x, n = shape.y;
    int line = o * n * inner + min(x, inner - 1);
    for (int i = ly; i < TILE_Y * MARCH + 2 * RADIUS; i += TILE_Y)
        cells[i][lx] = in[line + clamp(first + i - RADIUS, 0, n - 1) * inner];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < MARCH; m++) {
        int i = m * TILE_Y + ly;
        float sum = g.w[0] * cells[i + RADIUS][lx];
        for (int k = 1; k <= RADIUS; k++)
            sum += g.w[k] * (cells[i + RADIUS - k][lx] + cells[i + RADIUS + k][lx]);
        if (x < inner && first + i < n)
            out[line + (first + i) * inner] = sum;
    }
}

/* A work-item makes MARCH outputs at once: every input it reads is added to
 * all the outputs in registers that it reaches. */
__kernel void gaussian_axis_march(__global const float *in, __global float *out, const int4 shape,
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
        for (int m = 0; m < MARCH; m++)
            if (i - m >= -RADIUS && i - m <= RADIUS)
                sum[m] += g.w[i < m ? m - i : i - m] * v;
    }
#pragma unroll
    for (int m = 0; m < MARCH; m++)
        if (first + m < n)
            out[line + (first + m) * inner] = sum[m];
}

#endif
