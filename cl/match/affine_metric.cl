/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the samples of a fixed image and of the moving image seen through
 * a linear map, for many maps at once: joint histograms, and the sums from
 * which values, gradients and normal matrices follow on the host.
 * SOURCE says what a sample's derivative is: 0 three sets of sums, with 1, F and M
 * as derivatives; 1 from the table of a histogram's derivative; 2 from an image; 3 as
 * 0, each sample with its weight of an image. */
#include "common/bins.clh"
#include "match/affine_metric_smooth.clh"

#ifndef SOURCE
#define SOURCE 0
#endif
#define SETS (SOURCE % 3 == 0 ? 3 : 1)
#define FIRST_DERIVATIVE 6
#define FIRST_NORMAL (FIRST_DERIVATIVE + 12 * SETS)
#define SUMS (FIRST_NORMAL + 60)
#if SOURCE == 3
#define LOOK_UP look_up_smooth
#define LOOK_UP_CHUNK look_up_smooth_chunk
#else
#define LOOK_UP look_up
#define LOOK_UP_CHUNK look_up_chunk
#endif

/* ---- values: on one scale, or seen against their surroundings ------------ */

/* Brings values to [0, 1]. in is an image times its mask and share the mask,
 * both smoothed alike: under half of a share is outside and becomes NaN. NULL:
 * there is no mask. */
static inline float prepared(float v, float share, float scale, float offset)
{
    float out = fmin(fmax(muladd(v, scale, offset), 0.0f), 1.0f);
    return v == v && share >= 0.5f ? out : NAN;
}

__kernel void prepare(__global const float *in, __global const float *share, int n, float scale,
                      float offset, __global float *out)
{
    int first = get_global_id(0) * MARCH;
    for (int i = first; i < min(first + MARCH, n); i++) {
        float m = share ? share[i] : 1.0f;
        out[i] = prepared(share ? in[i] / m : in[i], m, scale, offset);
    }
}

/* A value by the mean and spread of its surroundings, between -1/2 and 1/2: sums
 * of products that are about 0 lose nothing to the squares of means. The
 * outermost rim voxels along each axis are left out. */
__kernel void localise(__global const float *in, __global const float *mean, __global const float *square,
                       __global const float *share, int4 size, int4 rim, float epsilon, __global float *out)
{
    int first = get_global_id(0) * MARCH, n = size.x * size.y * size.z;
    for (int i = first; i < min(first + MARCH, n); i++) {
        int x = i % size.x, y = i / size.x % size.y, z = i / (size.x * size.y);
        int inside = x >= rim.x && x < size.x - rim.x && y >= rim.y && y < size.y - rim.y && z >= rim.z &&
                     z < size.z - rim.z;
        float w = fmax(share[i], 1e-3f), m = mean[i] / w, v = fmax(square[i] / w - m * m, 0.0f);
        float at = (in[i] - m) / (sqrt(v) + epsilon) * (1.0f / 6.0f);
        out[i] = in[i] == in[i] && inside ? fmin(fmax(at, -0.5f), 0.5f) : NAN;
    }
}

/* ---- what all kernels over samples share -------------------------------- */

/* lattice: (step along y, step along z, rows of a block, rows in all): rows
 * are counted over the lattice, y first. */
#define LATTICE_ROWS_Y ((size.y + lattice.x - 1) / lattice.x)
#define ROW_Y(row) ((row) % LATTICE_ROWS_Y * lattice.x)
#define ROW_Z(row) ((row) / LATTICE_ROWS_Y * lattice.y)

/* A sample of a block of rows, found without a division for each. */
typedef struct place {
    int x, y, z;
} place;

static inline place place_of(int i, int first, int4 size, int4 lattice)
{
    int row = first + i / size.x;
    place at = {i % size.x, ROW_Y(row), ROW_Z(row)};
    return at;
}

static inline void walk_on(place *at, int by, int4 size, int4 lattice)
{
    at->x += by;
    while (at->x >= size.x) {
        at->x -= size.x;
        at->y += lattice.x;
        if (at->y >= size.y) {
            at->y = 0;
            at->z += lattice.y;
        }
    }
}

/* Without a field: nothing is shifted. */
static inline map map_of(__global const float4 *maps, int which)
{
    const float4 none = (float4)(0.0f);
    map affine = {{maps[3 * which], maps[3 * which + 1], maps[3 * which + 2]}, {none, none, none}};
    return affine;
}

/* ---- joint histograms --------------------------------------------------- */

/* scale: what a sample counts, a power of 2 such that no bin overflows. */
static inline uint4 spline_counts(float4 w, float scale)
{
    return convert_uint4(muladd(w, (float4)(scale), (float4)(0.5f)));
}

/* A work-group a block of rows of one map, and a band of F's bins, as many as own
 * has room for. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
histogram_groups(__global const float *fixed, int4 size, __global const float *moving,
                 int4 moving_size, __global const float4 *maps, int4 lattice, int bins, int band,
                 float scale, __global uint *counts, __local uint *own)
{
    int lane = get_local_id(0), which = get_group_id(1), lowest = get_group_id(2) * band;
    int some_bins = min(band, bins - lowest), total = some_bins * bins;
    __global uint *to = counts + (which * bins + lowest) * bins;
    int first = get_group_id(0) * lattice.z, count = min(lattice.z, lattice.w - first) * size.x;
    map affine = map_of(maps, which);
    for (int i = lane; i < total; i += TILE_X)
        own[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    place at_sample = place_of(lane, first, size, lattice);
    for (int i = lane; i < count; i += TILE_X, walk_on(&at_sample, TILE_X, size, lattice)) {
        int x = at_sample.x, y = at_sample.y, z = at_sample.z;
        float f = fixed[(z * size.y + y) * size.x + x];
        float4 m;
        float3 p = position_of(affine, x, y, z, (float3)(0.0f));
        int line = bin_of(f, 0.0f, (float)bins, bins) - lowest;
        if (line >= 0 && line < some_bins && look_up(moving, moving_size, p, &m) && f == f) {
            float t;
            __local uint *at = own + line * bins + first_bin(kept_inside(m.x), bins, &t);
            uint4 w = spline_counts(window(t), scale);
            atomic_add(at, w.x);
            atomic_add(at + 1, w.y);
            atomic_add(at + 2, w.z);
            atomic_add(at + 3, w.w);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < total; i += TILE_X)
        if (own[i])
            atomic_add(to + i, own[i]);
}

/* A work-item a block of rows; all bins at once. */
__kernel void histogram_rows(__global const float *fixed, int4 size, __global const float *moving,
                             int4 moving_size, __global const float4 *maps, int4 lattice, int bins, int band,
                             float scale, __global uint *counts, __local uint *unused)
{
    uint own[MOST_BINS * MOST_BINS];
    int which = get_group_id(1), total = bins * bins;
    int first = get_group_id(0) * lattice.z, last = min(first + lattice.z, lattice.w);
    map affine = map_of(maps, which);
    for (int i = 0; i < total; i++)
        own[i] = 0;
    for (int row = first; row < last; row++) {
        int y = ROW_Y(row), z = ROW_Z(row);
        vec8 start = row_positions(affine, y, z);
        for (int x = 0; x < size.x; x += CHUNK) {
            samples s;
            if (!look_up_chunk(fixed + (z * size.y + y) * size.x, size.x, x, moving, moving_size, affine,
                               start, false, &s))
                continue;
            float value[CHUNK];
            int line[CHUNK], counts_here[CHUNK];
            for (int c = 0; c < CHUNK / 8; c++) {
                float8 f = min(max(s.fixed[c], 0.0f), 1.0f) * (float)bins;
                vstore8(min(convert_int8(f), (int8)(bins - 1)) * bins, c, line);
                vstore8(s.value[c], c, value);
                vstore8(s.counts[c], c, counts_here);
            }
            for (int c = 0; c < CHUNK; c++) {
                float t;
                if (!counts_here[c])
                    continue;
                uint *at = own + line[c] + first_bin(kept_inside(value[c]), bins, &t);
                vstore4(vload4(0, at) + spline_counts(window(t), scale), 0, at);
            }
        }
    }
    for (int i = 0; i < total; i++)
        if (own[i])
            atomic_add(counts + which * total + i, own[i]);
}

/* ---- sums --------------------------------------------------------------- */

/* Columns of a table: by bin of F, bins derivatives by spline, then one weight of
 * the normal matrix for each bin of F. */
static inline float table_derivative(__global const float *table, int bins, float f, float m, float *weight)
{
    float t;
    int line = bin_of(f, 0.0f, (float)bins, bins), first = first_bin(kept_inside(m), bins, &t);
    *weight = table[bins * bins + line];
    return dot(vload4(0, table + line * bins + first), window_derivative(t)) * (float)(bins - 3);
}

/* What a sample adds, of one derivative s: n F M FF MM FM; s g_j {1, x, y, z} by j;
 * weight g_i g_j (xx xy xz yy yz zz) times {1, x, y, z, xx, xy, xz, yy, yz, zz}. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
sums_groups(__global const float *fixed, int4 size, __global const float *moving, int4 moving_size,
            __global const float4 *maps, int4 lattice, float4 centre, int bins,
            __global const float *tables, __global const float *derivatives, __global float *partial)
{
    __local float shared[8 * TILE_X];
    int lane = get_local_id(0), which = get_group_id(1);
    int first = get_group_id(0) * lattice.z, count = min(lattice.z, lattice.w - first) * size.x;
    map affine = map_of(maps, which);
    __global const float *table = tables + which * bins * (bins + 1);
    float sum[SUMS + 7];
#pragma unroll
    for (int i = 0; i < SUMS + 7; i++)
        sum[i] = 0.0f;
    place at_sample = place_of(lane, first, size, lattice);
    for (int i = lane; i < count; i += TILE_X, walk_on(&at_sample, TILE_X, size, lattice)) {
        int x = at_sample.x, y = at_sample.y, z = at_sample.z;
        int at = (z * size.y + y) * size.x + x;
        float f = fixed[at], weight = 1.0f, s[3] = {1.0f, f, 0.0f};
        float4 m;
        float3 p = position_of(affine, x, y, z, (float3)(0.0f));
        if (!LOOK_UP(moving, moving_size, p, &m) || f != f)
            continue;
        float share = 1.0f;
#if SOURCE == 0
        s[2] = m.x;
#elif SOURCE == 1
        s[0] = table_derivative(table, bins, f, m.x, &weight);
#elif SOURCE == 2
        s[0] = derivatives[at];
#else
        weight = share = derivatives[at];
        s[0] = share;
        s[1] = share * f;
        s[2] = share * m.x;
#endif
        float g[3] = {m.y, m.z, m.w}, k[4] = {1.0f, x - centre.x, y - centre.y, z - centre.z};
        float fw = share * f, mw = share * m.x;
        sum[0] += share;
        sum[1] += fw;
        sum[2] += mw;
        sum[3] = muladd(f, fw, sum[3]);
        sum[4] = muladd(m.x, mw, sum[4]);
        sum[5] = muladd(fw, m.x, sum[5]);
#pragma unroll
        for (int set = 0; set < SETS; set++)
#pragma unroll
            for (int j = 0; j < 12; j++) {
                float derivative = s[set] * g[j / 4];
                int at_sum = FIRST_DERIVATIVE + 12 * set + j;
                sum[at_sum] = muladd(derivative, k[j % 4], sum[at_sum]);
            }
        float gg[6] = {g[0] * g[0], g[0] * g[1], g[0] * g[2], g[1] * g[1], g[1] * g[2], g[2] * g[2]};
        float kk[10] = {1.0f,        k[1],        k[2],        k[3],        k[1] * k[1],
                        k[1] * k[2], k[1] * k[3], k[2] * k[2], k[2] * k[3], k[3] * k[3]};
#pragma unroll
        for (int j = 0; j < 60; j++)
            sum[FIRST_NORMAL + j] = muladd(weight * gg[j / 10], kk[j % 10], sum[FIRST_NORMAL + j]);
    }
    __global float *out = partial + (which * get_num_groups(0) + get_group_id(0)) * SUMS;
    /* Eight sums at a time, in two steps; unrolled where sums are to stay in
     * registers. */
#if !FIELD_PACKED
#pragma unroll
#endif
    for (int i = 0; i < SUMS; i += 8) {
        float part = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; j++)
            shared[j * TILE_X + lane] = sum[i + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 8; j++)
            part += shared[lane * 8 + j];
        barrier(CLK_LOCAL_MEM_FENCE);
        shared[lane] = part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lane < 8 && i + lane < SUMS) {
            float total = 0.0f;
            for (int j = 0; j < TILE_X / 8; j++)
                total += shared[lane * (TILE_X / 8) + j];
            out[i + lane] = total;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

static inline float sum8(float8 v)
{
    float4 four = v.lo + v.hi;
    return (four.x + four.y) + (four.z + four.w);
}

/* A work-item a block of rows. Of a row, y and z are constants: what it adds
 * follows from 6 + 6 SETS + 18 sums along x. */
__kernel void sums_rows(__global const float *fixed, int4 size, __global const float *moving,
                        int4 moving_size, __global const float4 *maps, int4 lattice, float4 centre,
                        int bins, __global const float *tables, __global const float *derivatives,
                        __global float *partial)
{
    int which = get_group_id(1);
    int first = get_group_id(0) * lattice.z, last = min(first + lattice.z, lattice.w);
    map affine = map_of(maps, which);
    __global const float *table = tables + which * bins * (bins + 1);
    float sum[SUMS];
    for (int i = 0; i < SUMS; i++)
        sum[i] = 0.0f;
    for (int row = first; row < last; row++) {
        int y = ROW_Y(row), z = ROW_Z(row), start_at = (z * size.y + y) * size.x, some = 0;
        vec8 start = row_positions(affine, y, z);
        float8 pair[6], derivative[6 * SETS], normal[18];
        for (int i = 0; i < 6; i++)
            pair[i] = 0.0f;
        for (int i = 0; i < 6 * SETS; i++)
            derivative[i] = 0.0f;
        for (int i = 0; i < 18; i++)
            normal[i] = 0.0f;
        for (int x = 0; x < size.x; x += CHUNK) {
            samples s;
            if (!LOOK_UP_CHUNK(fixed + start_at, size.x, x, moving, moving_size, affine, start, true, &s))
                continue;
            some = 1;
#if SOURCE == 1 || SOURCE == 2
            float f1[CHUNK], m1[CHUNK], s1[CHUNK], w1[CHUNK];
            for (int c = 0; c < CHUNK / 8; c++) {
                vstore8(s.fixed[c], c, f1);
                vstore8(s.value[c], c, m1);
            }
            for (int c = 0; c < CHUNK; c++) {
                w1[c] = 1.0f;
#if SOURCE == 1
                s1[c] = table_derivative(table, bins, f1[c], m1[c], w1 + c);
#else
                s1[c] = x + c < size.x ? derivatives[start_at + x + c] : 0.0f;
#endif
            }
#elif SOURCE == 3
            float s1[CHUNK];
            for (int c = 0; c < CHUNK; c++)
                s1[c] = derivatives[start_at + min(x + c, size.x - 1)];
#endif
            for (int c = 0; c < CHUNK / 8; c++) {
                float8 f = s.fixed[c], m = s.value[c], gx = s.gx[c], gy = s.gy[c], gz = s.gz[c];
                float8 k = (float)(x + 8 * c) - centre.x + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
                float8 share = (float8)(1.0f);
#if SOURCE == 3
                share = vload8(c, s1);
#endif
                share = select((float8)(0.0f), share, s.counts[c]);
#if SOURCE == 3
                float8 fw = share * f, mw = share * m;
#else
                float8 fw = f, mw = m; /* 0 where nothing counts */
#endif
                pair[0] += share;
                pair[1] += fw;
                pair[2] += mw;
                pair[3] = muladd(f, fw, pair[3]);
                pair[4] = muladd(m, mw, pair[4]);
                pair[5] = muladd(fw, m, pair[5]);
#if SOURCE == 0
                float8 factor[3] = {(float8)(1.0f), f, m}, wx = gx, wy = gy, wz = gz;
#elif SOURCE == 3
                float8 factor[3] = {share, fw, mw}, wx = share * gx, wy = share * gy, wz = share * gz;
#else
                float8 factor[1] = {vload8(c, s1)}, weight = vload8(c, w1);
                float8 wx = weight * gx, wy = weight * gy, wz = weight * gz;
                /* A derivative that is no number where nothing counts stays away. */
                factor[0] = select((float8)(0.0f), factor[0], s.counts[c]);
#endif
                for (int set = 0; set < SETS; set++) {
                    float8 a = factor[set] * gx, b = factor[set] * gy, d = factor[set] * gz;
                    derivative[6 * set] += a;
                    derivative[6 * set + 1] = muladd(a, k, derivative[6 * set + 1]);
                    derivative[6 * set + 2] += b;
                    derivative[6 * set + 3] = muladd(b, k, derivative[6 * set + 3]);
                    derivative[6 * set + 4] += d;
                    derivative[6 * set + 5] = muladd(d, k, derivative[6 * set + 5]);
                }
                float8 gg[6] = {wx * gx, wx * gy, wx * gz, wy * gy, wy * gz, wz * gz};
                for (int j = 0; j < 6; j++) {
                    float8 once = gg[j] * k;
                    normal[3 * j] += gg[j];
                    normal[3 * j + 1] += once;
                    normal[3 * j + 2] = muladd(once, k, normal[3 * j + 2]);
                }
            }
        }
        if (!some)
            continue;
        float ky = y - centre.y, kz = z - centre.z;
        for (int i = 0; i < 6; i++)
            sum[i] += sum8(pair[i]);
        for (int j = 0; j < 3 * SETS; j++) {
            float one = sum8(derivative[2 * j]);
            float *to = sum + FIRST_DERIVATIVE + 4 * j;
            to[0] += one;
            to[1] += sum8(derivative[2 * j + 1]);
            to[2] += one * ky;
            to[3] += one * kz;
        }
        for (int j = 0; j < 6; j++) {
            float one = sum8(normal[3 * j]), with_x = sum8(normal[3 * j + 1]);
            float *to = sum + FIRST_NORMAL + 10 * j;
            to[0] += one;
            to[1] += with_x;
            to[2] += one * ky;
            to[3] += one * kz;
            to[4] += sum8(normal[3 * j + 2]);
            to[5] += with_x * ky;
            to[6] += with_x * kz;
            to[7] += one * ky * ky;
            to[8] += one * ky * kz;
            to[9] += one * kz * kz;
        }
    }
    __global float *out = partial + (which * get_num_groups(0) + get_group_id(0)) * SUMS;
    for (int i = 0; i < SUMS; i++)
        out[i] = sum[i];
}

/* Adds up the blocks of each sum of each map, in their order; as groups, first those that TILE_Y
 * items of a sum take in turn. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, 1))) void
join_groups(__global const float *partial, int blocks, int sums, int count, __global float *out)
{
    __local float part[TILE_X * TILE_Y];
    int lane = get_local_id(0), turn = get_local_id(1), i = get_global_id(0);
    __global const float *from = partial + i / sums * blocks * sums + i % sums;
    float total = 0.0f;
    for (int b = turn; b < blocks && i < count; b += TILE_Y)
        total += from[b * sums];
    part[turn * TILE_X + lane] = total;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 1; t < TILE_Y && turn == 0; t++)
        total += part[t * TILE_X + lane];
    if (turn == 0 && i < count)
        out[i] = total;
}

__kernel void join_blocks(__global const float *partial, int blocks, int sums, int count,
                          __global float *out)
{
    int i = get_global_id(0);
    if (i >= count)
        return;
    __global const float *from = partial + i / sums * blocks * sums + i % sums;
    float total = 0.0f;
    for (int b = 0; b < blocks; b++)
        total += from[b * sums];
    out[i] = total;
}
