/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over the samples of a fixed image and of the moving image seen through
 * a linear map, for many maps at once: joint histograms, and the sums from
 * which values, gradients and normal matrices follow on the host.
 * SOURCE says what a sample's derivative is: 0 three sets of sums, with 1, F and M
 * as derivatives; 1 from the table of a histogram's derivative; 2 from an image; 3 as
 * 0, each sample with its weight of an image. */
#include "common/bins.clh"
#include "match/affine_metric.clh"

#ifndef SOURCE
#define SOURCE 0
#endif
#define SETS (SOURCE % 3 == 0 ? 3 : 1)
#define FIRST_DERIVATIVE 6
#define FIRST_NORMAL (FIRST_DERIVATIVE + 12 * SETS)
#define SUMS (FIRST_NORMAL + 60)
#if SOURCE == 3
#define LOOK_UP look_up_smooth
#define LOOK_UP8 look_up_smooth8
#else
#define LOOK_UP look_up
#define LOOK_UP8 look_up8
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
        for (int x = 0; x < size.x; x += 8) {
            samples s;
            if (!look_up8(fixed + (z * size.y + y) * size.x, size.x, x, moving, moving_size, affine, start,
                          &s))
                continue;
            float value[8];
            int line[8], counts_here[8];
            float8 f = min(max(s.fixed, 0.0f), 1.0f) * (float)bins;
            PUT_INT8(min(convert_int8(f), (int8)(bins - 1)) * bins, line);
            PUT8(s.value, value);
            PUT_INT8(s.counts, counts_here);
            for (int c = 0; c < 8; c++) {
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

/* Terms that a sample adds, with one derivative s: n F M FF MM FM; s g_j {1, x, y, z} by j; weight g_i g_j (xx xy
 * xz yy yz zz) times {1, x, y, z, xx, xy, xz, yy, yz, zz}. */
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

/* ---- sums on CPU devices: eight samples of a row at a time -------------- */

#if SOURCE == 1
/* table_derivative() of eight; where nothing counts, f and m are 0. */
static inline float8 table_derivative8(__global const float *table, int bins, float8 f, float8 m,
                                       float8 *weight)
{
    /* oclgrind misreads a scalar bound of vector integers. */
    int8 line = convert_int8(min(max(f * (float)bins, 0.0f), (float)(bins - 1)));
    float8 t = min(max(m, 0.0f), 1.0f) * (float)(bins - 3);
    int8 first = min(convert_int8(t), (int8)(bins - 4));
    t -= convert_float8(first);
    int at[8], own[8];
    PUT_INT8(line * bins + first, at);
    PUT_INT8(bins * bins + line, own);
    *weight = (float8)(table[own[0]], table[own[1]], table[own[2]], table[own[3]], table[own[4]],
                       table[own[5]], table[own[6]], table[own[7]]);
    float8 a = (float8)(LOAD4(table + at[0]), LOAD4(table + at[4]));
    float8 b = (float8)(LOAD4(table + at[1]), LOAD4(table + at[5]));
    float8 c = (float8)(LOAD4(table + at[2]), LOAD4(table + at[6]));
    float8 d = (float8)(LOAD4(table + at[3]), LOAD4(table + at[7]));
    float8 first_two = (float8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5);
    float8 more = (float8)(c.s0, d.s0, c.s1, d.s1, c.s4, d.s4, c.s5, d.s5);
    float8 last_two = (float8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7);
    float8 rest = (float8)(c.s2, d.s2, c.s3, d.s3, c.s6, d.s6, c.s7, d.s7);
    float8 sum = ((-0.5f * t + 1.0f) * t - 0.5f) * (float8)(first_two.s01, more.s01, first_two.s45, more.s45);
    sum += ((1.5f * t - 2.0f) * t) * (float8)(first_two.s23, more.s23, first_two.s67, more.s67);
    sum += ((-1.5f * t + 1.0f) * t + 0.5f) * (float8)(last_two.s01, rest.s01, last_two.s45, rest.s45);
    sum += (0.5f * t * t) * (float8)(last_two.s23, rest.s23, last_two.s67, rest.s67);
    return sum * (float)(bins - 3);
}
#endif

/* Eights of samples that are added up at once, so that the sums stay in registers meanwhile. */
#define HELD 16

typedef struct eights {
    float8 k[HELD], y[HELD]; /* from the centre */
    float8 f[HELD], m[HELD], gx[HELD], gy[HELD], gz[HELD];
    float8 share[HELD];  /* what a sample counts */
    float8 factor[HELD]; /* its derivative, SOURCE 1 and 2 */
    float8 weight[HELD]; /* of the normal matrix, SOURCE 1 */
} eights;

/* Sums of a plane, by lane: z is a constant there, so that all else follows. */
typedef struct plane_sums {
    float8 pair[8];                /* n F M FF MM FM */
    float8 derivative[SETS][2][8]; /* s g_j, from the fifth on times x; times y */
    float8 normal[6][8];           /* weight g_i g_j times 1, x, y, xx, xy, yy */
} plane_sums;

static inline void clear(plane_sums *sums)
{
    for (int i = 0; i < 8; i++) {
        sums->pair[i] = (float8)(0.0f);
        for (int set = 0; set < SETS; set++)
            sums->derivative[set][0][i] = sums->derivative[set][1][i] = (float8)(0.0f);
        for (int k = 0; k < 6; k++)
            sums->normal[k][i] = (float8)(0.0f);
    }
}

static inline void add_pairs(const eights *e, int count, float8 *to)
{
    float8 n = to[0], f = to[1], m = to[2], ff = to[3], mm = to[4], fm = to[5];
    for (int i = 0; i < count; i++) {
        float8 share = e->share[i];
#if SOURCE == 3
        float8 fw = share * e->f[i], mw = share * e->m[i];
#else
        float8 fw = e->f[i], mw = e->m[i]; /* 0 where nothing counts */
#endif
        n += share;
        f += fw;
        m += mw;
        ff = muladd(e->f[i], fw, ff);
        mm = muladd(e->m[i], mw, mm);
        fm = muladd(fw, e->m[i], fm);
    }
    to[0] = n;
    to[1] = f;
    to[2] = m;
    to[3] = ff;
    to[4] = mm;
    to[5] = fm;
}

static inline float8 factor_of(const eights *e, int i, int set)
{
#if SOURCE == 0
    return set == 1 ? e->f[i] : e->m[i];
#elif SOURCE == 3
    return set == 0 ? e->share[i] : e->share[i] * (set == 1 ? e->f[i] : e->m[i]);
#else
    return e->factor[i];
#endif
}

static inline void add_derivatives(const eights *e, int count, int set, float8 (*to)[8])
{
    float8 x = to[0][0], y = to[0][1], z = to[0][2], xk = to[0][4], yk = to[0][5], zk = to[0][6];
    float8 xy = to[1][0], yy = to[1][1], zy = to[1][2];
    for (int i = 0; i < count; i++) {
        float8 a = e->gx[i], b = e->gy[i], c = e->gz[i];
        if (SOURCE != 0 || set != 0) {
            float8 factor = factor_of(e, i, set);
            a *= factor;
            b *= factor;
            c *= factor;
        }
        x += a;
        y += b;
        z += c;
        xk = muladd(a, e->k[i], xk);
        yk = muladd(b, e->k[i], yk);
        zk = muladd(c, e->k[i], zk);
        xy = muladd(a, e->y[i], xy);
        yy = muladd(b, e->y[i], yy);
        zy = muladd(c, e->y[i], zy);
    }
    to[0][0] = x;
    to[0][1] = y;
    to[0][2] = z;
    to[0][4] = xk;
    to[0][5] = yk;
    to[0][6] = zk;
    to[1][0] = xy;
    to[1][1] = yy;
    to[1][2] = zy;
}

/* Two entries of the normal matrix: of the products of a with b and with c. */
static inline void add_normal(const eights *e, int count, const float8 *a, const float8 *b, int at,
                              const float8 *c, int also, float8 (*to)[8])
{
    float8 p = to[0][at], pk = to[1][at], py = to[2][at], pkk = to[3][at], pky = to[4][at], pyy = to[5][at];
    float8 q = to[0][also], qk = to[1][also], qy = to[2][also];
    float8 qkk = to[3][also], qky = to[4][also], qyy = to[5][also];
    for (int i = 0; i < count; i++) {
        float8 k = e->k[i], y = e->y[i], left = a[i];
#if SOURCE == 1
        left *= e->weight[i];
#elif SOURCE == 3
        left *= e->share[i];
#endif
        float8 one = left * b[i], by_k = one * k, by_y = one * y;
        p += one;
        pk += by_k;
        py += by_y;
        pkk = muladd(by_k, k, pkk);
        pky = muladd(by_k, y, pky);
        pyy = muladd(by_y, y, pyy);
        one = left * c[i];
        by_k = one * k;
        by_y = one * y;
        q += one;
        qk += by_k;
        qy += by_y;
        qkk = muladd(by_k, k, qkk);
        qky = muladd(by_k, y, qky);
        qyy = muladd(by_y, y, qyy);
    }
    to[0][at] = p;
    to[1][at] = pk;
    to[2][at] = py;
    to[3][at] = pkk;
    to[4][at] = pky;
    to[5][at] = pyy;
    to[0][also] = q;
    to[1][also] = qk;
    to[2][also] = qy;
    to[3][also] = qkk;
    to[4][also] = qky;
    to[5][also] = qyy;
}

static inline void add_eights(const eights *e, int count, plane_sums *to)
{
    add_pairs(e, count, to->pair);
    add_derivatives(e, count, 0, to->derivative[0]);
#if SETS == 3
    add_derivatives(e, count, 1, to->derivative[1]);
    add_derivatives(e, count, 2, to->derivative[2]);
#endif
    add_normal(e, count, e->gx, e->gx, 0, e->gy, 1, to->normal);
    add_normal(e, count, e->gz, e->gx, 2, e->gz, 5, to->normal);
    add_normal(e, count, e->gy, e->gy, 3, e->gz, 4, to->normal);
}

/* The sums of each of eight vectors. */
static inline float8 add_across(const float8 *v)
{
#define TWO(a, b) ((float8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5) + \
                   (float8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7))
    float8 a = TWO(v[0], v[1]), b = TWO(v[2], v[3]), c = TWO(v[4], v[5]), d = TWO(v[6], v[7]);
    a = (float8)(a.s01, b.s01, a.s45, b.s45) + (float8)(a.s23, b.s23, a.s67, b.s67);
    c = (float8)(c.s01, d.s01, c.s45, d.s45) + (float8)(c.s23, d.s23, c.s67, d.s67);
    return (float8)(a.lo, c.lo) + (float8)(a.hi, c.hi);
#undef TWO
}

/* A block's sums: derivatives times 1 and x, and times y and z, by four; of the normal matrix, times
 * 1 x y z xx xy xz yy yz zz. */
typedef struct block_sums {
    float8 pair, along_x[SETS], along_yz[SETS], normal[10];
} block_sums;

static inline void add_plane(const plane_sums *plane, float kz, block_sums *to)
{
    const float8 z = (float8)(kz);
    to->pair += add_across(plane->pair);
    for (int set = 0; set < SETS; set++) {
        float8 sums = add_across(plane->derivative[set][0]), by_y = add_across(plane->derivative[set][1]);
        to->along_x[set] += sums;
        to->along_yz[set] += (float8)(by_y.lo, sums.lo * kz);
    }
    float8 one = add_across(plane->normal[0]), x = add_across(plane->normal[1]);
    float8 y = add_across(plane->normal[2]);
    to->normal[0] += one;
    to->normal[1] += x;
    to->normal[2] += y;
    to->normal[3] = muladd(one, z, to->normal[3]);
    to->normal[4] += add_across(plane->normal[3]);
    to->normal[5] += add_across(plane->normal[4]);
    to->normal[6] = muladd(x, z, to->normal[6]);
    to->normal[7] += add_across(plane->normal[5]);
    to->normal[8] = muladd(y, z, to->normal[8]);
    to->normal[9] = muladd(one * kz, z, to->normal[9]);
}

/* The values of an image at eight voxels of a row of nx that begin at x, for fixed8(). */
static inline float8 beside8(__global const float *row, int nx, int x)
{
    float own[8];
    if (nx >= 8)
        return LOAD8(row + x);
    for (int c = 0; c < 8; c++)
        own[c] = row[min(c, nx - 1)];
    return GET8(own);
}

/* A work-item a block of rows. */
__kernel void sums_rows(__global const float *fixed, int4 size, __global const float *moving,
                        int4 moving_size, __global const float4 *maps, int4 lattice, float4 centre,
                        int bins, __global const float *tables, __global const float *derivatives,
                        __global float *partial)
{
    const float8 zero = (float8)(0.0f);
    int which = get_group_id(1);
    int first = get_group_id(0) * lattice.z, last = min(first + lattice.z, lattice.w);
    map affine = map_of(maps, which);
    __global const float *table = tables + which * bins * (bins + 1);
    block_sums sum;
    plane_sums of_plane;
    eights held;
    sum.pair = zero;
    for (int set = 0; set < SETS; set++)
        sum.along_x[set] = sum.along_yz[set] = zero;
    for (int i = 0; i < 10; i++)
        sum.normal[i] = zero;
    clear(&of_plane);
    int count = 0, plane = ROW_Z(first);
    for (int row = first; row < last; row++) {
        int y = ROW_Y(row), z = ROW_Z(row), start_at = (z * size.y + y) * size.x;
        vec8 start = row_positions(affine, y, z);
        if (z != plane) {
            add_eights(&held, count, &of_plane);
            add_plane(&of_plane, plane - centre.z, &sum);
            clear(&of_plane);
            count = 0;
            plane = z;
        }
        for (int x = 0; x < size.x; x += 8) {
            samples s;
            if (!LOOK_UP8(fixed + start_at, size.x, x, moving, moving_size, affine, start, &s))
                continue;
            held.k[count] = (float)s.x - centre.x + (float8)(0, 1, 2, 3, 4, 5, 6, 7);
            held.y[count] = (float8)(y - centre.y);
            held.f[count] = s.fixed;
            held.m[count] = s.value;
            held.gx[count] = s.gradient.x;
            held.gy[count] = s.gradient.y;
            held.gz[count] = s.gradient.z;
            float8 share = (float8)(1.0f);
#if SOURCE == 1
            float8 factor = table_derivative8(table, bins, s.fixed, s.value, &held.weight[count]);
            held.factor[count] = s.counts ? factor : zero;
#elif SOURCE == 2
            /* A derivative that is no number where nothing counts stays away. */
            held.factor[count] = s.counts ? beside8(derivatives + start_at, size.x, s.x) : zero;
#elif SOURCE == 3
            share = beside8(derivatives + start_at, size.x, s.x);
#endif
            held.share[count] = s.counts ? share : zero;
            if (++count == HELD) {
                add_eights(&held, count, &of_plane);
                count = 0;
            }
        }
    }
    add_eights(&held, count, &of_plane);
    add_plane(&of_plane, plane - centre.z, &sum);
    __global float *out = partial + (which * get_num_groups(0) + get_group_id(0)) * SUMS;
    float own[8], also[8];
    PUT8(sum.pair, own);
    for (int i = 0; i < FIRST_DERIVATIVE; i++)
        out[i] = own[i];
    for (int set = 0; set < SETS; set++) {
        PUT8(sum.along_x[set], own);
        PUT8(sum.along_yz[set], also);
        for (int j = 0; j < 3; j++)
            vstore4((float4)(own[j], own[4 + j], also[j], also[4 + j]), 3 * set + j, out + FIRST_DERIVATIVE);
    }
    for (int k = 0; k < 10; k++) {
        PUT8(sum.normal[k], own);
        for (int j = 0; j < 6; j++)
            out[FIRST_NORMAL + 10 * j + k] = own[j];
    }
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
