/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences and correlation over a whole image. Work-groups leave
 * partial results of equal shares of the voxels, in whole blocks of GROUP_X, one
 * more work-group joins them in an order that depends on their number alone, and
 * derivatives are written from the result.
 * Built with MI: mutual information instead. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "common/share.clh"

/* A driver may lose the result of functions given local memory that it does not inline. */
#define INLINED __attribute__((always_inline)) static inline

/* Comparisons with NaN are false. */
#define COUNTS(f, m) (fabs(f) <= FLT_MAX && fabs(m) <= FLT_MAX)
#define COUNTS8(f, m) ((fabs(f) <= (float8)(FLT_MAX)) & (fabs(m) <= (float8)(FLT_MAX)))

/* Four neighbouring words from any address that a word may have. */
#ifdef __clang__
typedef uint4 uint4_anywhere __attribute__((aligned(4)));
#define LOAD4U(p) (*(__global const uint4_anywhere *)(p))
#define STORE4U(v, p) (*(__global uint4_anywhere *)(p) = (v))
#else
#define LOAD4U(p) vload4(0, p)
#define STORE4U(v, p) vstore4(v, 0, p)
#endif

#ifdef MI
#include "match/metric_mi.clh"
#else

/* Number of voxels, means, and sums about the means. For squared differences
 * the means stay 0 and ff is the sum. */
typedef struct sums {
    int n;
    float f, m, ff, mm, fm;
} sums;

/* Makes a the sums of two disjoint sets of voxels together, about the common
 * means: nothing cancels, however far the means lie from 0. Structures go by
 * address, as oclgrind does not know what clang makes of them by value. */
static inline void join(sums *a, const sums *b)
{
    int n = a->n + b->n;
    float part = b->n > 0 ? (float)b->n / (float)n : 0.0f, both = (float)a->n * part;
    float f = b->f - a->f, m = b->m - a->m;
    a->n = n;
    a->f += f * part;
    a->m += m * part;
    a->ff += b->ff + f * f * both;
    a->mm += b->mm + m * m * both;
    a->fm += b->fm + f * m * both;
}

static inline void put_sums(const sums *s, __global float *partial, int group)
{
    vstore8((float8)(as_float(s->n), s->f, s->m, s->ff, s->mm, s->fm, 0.0f, 0.0f), group, partial);
}

/* s: the work-item's; afterwards those of its group, in item 0 alone. */
INLINED void join_group(__local sums *cell, sums *s)
{
    int lane = get_local_id(0);
    cell[lane] = *s;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = TILE_X / 2; step > 0; step /= 2) {
        if (lane < step) {
            sums other = cell[lane + step];
            join(s, &other);
            cell[lane] = *s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

static inline float sum8(float8 v)
{
    float4 four = v.lo + v.hi;
    return (four.x + four.z) + (four.y + four.w);
}

/* A running sum that keeps what each addition lost. */
static inline void add(float *sum, float *lost, float term)
{
    float y = term - *lost, t = *sum + y;
    *lost = (t - *sum) - y;
    *sum = t;
}

#define SUMS_ARGUMENTS                                                                        \
    __global const float *fixed, __global const float *moving, int n, __global float *partial
/* The voxels of this group: none where the blocks do not go round. */
#define FIND_SHARE                                                                            \
    int each = share_of(n), first = min((int)get_group_id(0) * each, n);                      \
    int last = first + min(each, n - first);
#define DERIVATIVES_ARGUMENTS __global float *derivative_moving, __global float *derivative_fixed

/* Squared differences and, as they need no sums, their derivatives. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
metric_ssd_group(SUMS_ARGUMENTS, DERIVATIVES_ARGUMENTS)
{
    __local sums cell[TILE_X];
    FIND_SHARE
    sums s = {0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = first + get_local_id(0); i < last; i += TILE_X) {
        float f = fixed[i], m = moving[i], d = COUNTS(f, m) ? f - m : 0.0f;
        s.n += COUNTS(f, m) ? 1 : 0;
        s.ff += d * d;
        derivative_moving[i] = d;
        if (derivative_fixed)
            derivative_fixed[i] = -d;
    }
    join_group(cell, &s);
    if (get_local_id(0) == 0)
        put_sums(&s, partial, get_group_id(0));
}

/* 1 where counts is true; a comparison's -1 is 255 to oclgrind once it is negated. */
#define ONES8(counts) ((counts) ? (float8)(1.0f) : (float8)(0.0f))

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
metric_ssd_run(SUMS_ARGUMENTS, DERIVATIVES_ARGUMENTS)
{
    FIND_SHARE
    sums s = {0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    float lost = 0.0f;
    for (int from = first; from < last; from += GROUP_X) {
        int to = from + min(GROUP_X, last - from), i = from;
        float8 square = 0.0f, number = 0.0f;
        for (; i + 8 <= to; i += 8) {
            float8 f = LOAD8(fixed + i), m = LOAD8(moving + i);
            int8 counts = COUNTS8(f, m);
            float8 d = counts ? f - m : (float8)(0.0f);
            number += ONES8(counts);
            square += d * d;
            STORE8(d, derivative_moving + i);
            if (derivative_fixed)
                STORE8(-d, derivative_fixed + i);
        }
        s.n += (int)sum8(number);
        float rest = sum8(square);
        for (; i < to; i++) {
            float f = fixed[i], m = moving[i], d = COUNTS(f, m) ? f - m : 0.0f;
            s.n += COUNTS(f, m) ? 1 : 0;
            rest += d * d;
            derivative_moving[i] = d;
            if (derivative_fixed)
                derivative_fixed[i] = -d;
        }
        add(&s.ff, &lost, rest);
    }
    put_sums(&s, partial, get_group_id(0));
}

/* Each work-item sums about the first pair that it meets, which a constant
 * image leaves at exactly 0. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void metric_ncc_group(SUMS_ARGUMENTS)
{
    __local sums cell[TILE_X];
    FIND_SHARE
    float about_f = 0.0f, about_m = 0.0f;
    sums s = {0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = first + get_local_id(0); i < last; i += TILE_X) {
        float f = fixed[i], m = moving[i];
        bool counts = COUNTS(f, m);
        about_f = counts && s.n == 0 ? f : about_f;
        about_m = counts && s.n == 0 ? m : about_m;
        f = counts ? f - about_f : 0.0f;
        m = counts ? m - about_m : 0.0f;
        s.n += counts ? 1 : 0;
        s.f += f;
        s.m += m;
        s.ff += f * f;
        s.mm += m * m;
        s.fm += f * m;
    }
    float over = s.n > 0 ? 1.0f / (float)s.n : 0.0f, f = s.f * over, m = s.m * over;
    s.ff = fmax(s.ff - s.f * f, 0.0f);
    s.mm = fmax(s.mm - s.m * m, 0.0f);
    s.fm -= s.f * m;
    s.f = about_f + f;
    s.m = about_m + m;
    join_group(cell, &s);
    if (get_local_id(0) == 0)
        put_sums(&s, partial, get_group_id(0));
}

/* A block is read twice, the second time from the cache: its means, then the
 * sums about them. What does not count takes the means' place. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void metric_ncc_run(SUMS_ARGUMENTS)
{
    FIND_SHARE
    sums s = {0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int from = first; from < last; from += GROUP_X) {
        int to = from + min(GROUP_X, last - from), whole = from + ((to - from) & ~7);
        float8 f8 = 0.0f, m8 = 0.0f, number = 0.0f;
        for (int i = from; i < whole; i += 8) {
            float8 f = LOAD8(fixed + i), m = LOAD8(moving + i);
            int8 counts = COUNTS8(f, m);
            number += ONES8(counts);
            f8 += counts ? f : (float8)(0.0f);
            m8 += counts ? m : (float8)(0.0f);
        }
        sums b = {(int)sum8(number), sum8(f8), sum8(m8), 0.0f, 0.0f, 0.0f};
        for (int i = whole; i < to; i++)
            if (COUNTS(fixed[i], moving[i])) {
                b.n++;
                b.f += fixed[i];
                b.m += moving[i];
            }
        if (b.n == 0)
            continue;
        b.f /= (float)b.n;
        b.m /= (float)b.n;
        float8 ff = 0.0f, mm = 0.0f, fm = 0.0f;
        for (int i = from; i < whole; i += 8) {
            float8 f = LOAD8(fixed + i), m = LOAD8(moving + i);
            int8 counts = COUNTS8(f, m);
            f = counts ? f - b.f : (float8)(0.0f);
            m = counts ? m - b.m : (float8)(0.0f);
            ff += f * f;
            mm += m * m;
            fm += f * m;
        }
        b.ff = sum8(ff);
        b.mm = sum8(mm);
        b.fm = sum8(fm);
        for (int i = whole; i < to; i++)
            if (COUNTS(fixed[i], moving[i])) {
                float f = fixed[i] - b.f, m = moving[i] - b.m;
                b.ff += f * f;
                b.mm += m * m;
                b.fm += f * m;
            }
        join(&s, &b);
    }
    put_sums(&s, partial, get_group_id(0));
}

/* One work-group. correlation 0: squared differences, which leave no line.
 * Behind the sums, at line_at: the means, then what the derivatives are made of, p,
 * fm / mm and fm / ff. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
metric_total(__global float *partial, int count, int correlation, float least_variance, int line_at,
               __global float *out, int slot)
{
    __local sums cell[TILE_X];
    sums s = {0, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = get_local_id(0); i < count; i += TILE_X) {
        float8 v = vload8(i, partial);
        sums next = {as_int(v.s0), v.s1, v.s2, v.s3, v.s4, v.s5};
        join(&s, &next);
    }
    join_group(cell, &s);
    if (get_local_id(0) == 0) {
        float number = (float)s.n, least = least_variance * number, value = -0.5f * s.ff;
        if (correlation) {
            bool varies = s.ff > least && s.mm > least;
            float on_f = varies ? s.fm / s.ff : 0.0f, on_m = varies ? s.fm / s.mm : 0.0f;
            value = number * on_f * on_m;
            __global float *line = partial + line_at;
            line[0] = s.f;
            line[1] = s.m;
            line[2] = varies ? 2.0f * on_m * (number / s.ff) : 0.0f;
            line[3] = on_m;
            line[4] = on_f;
        }
        if (out) {
            out[slot] = value;
            out[slot + 1] = number;
        }
    }
}

/* dS/dM = p (F - mF - fm / mm (M - mM)), p = 2 N fm / (ff mm); dS/dF has fm / ff. */
#define LINE_DERIVATIVE(p, on, a, b) ((p) * ((a) - (on) * (b)))

__kernel void metric_line_lanes(__global const float *fixed, __global const float *moving, int n,
                                  __global const float *partial, int line_at, DERIVATIVES_ARGUMENTS)
{
    __global const float *line = partial + line_at;
    int i = get_global_id(0);
    if (i >= n)
        return;
    bool counts = COUNTS(fixed[i], moving[i]);
    float f = fixed[i] - line[0], m = moving[i] - line[1];
    derivative_moving[i] = counts ? LINE_DERIVATIVE(line[2], line[3], f, m) : 0.0f;
    if (derivative_fixed)
        derivative_fixed[i] = counts ? LINE_DERIVATIVE(line[2], line[4], m, f) : 0.0f;
}

__kernel void metric_line_runs(__global const float *fixed, __global const float *moving, int n,
                                 __global const float *partial, int line_at, DERIVATIVES_ARGUMENTS)
{
    __global const float *line = partial + line_at;
    int first = get_global_id(0) * MARCH, last = first + min(MARCH, n - first), i = first;
    float mean_f = line[0], mean_m = line[1], p = line[2], on_m = line[3], on_f = line[4];
    for (; i + 8 <= last; i += 8) {
        float8 f = LOAD8(fixed + i), m = LOAD8(moving + i);
        int8 counts = COUNTS8(f, m);
        f -= mean_f;
        m -= mean_m;
        STORE8(counts ? LINE_DERIVATIVE(p, on_m, f, m) : (float8)(0.0f), derivative_moving + i);
        if (derivative_fixed)
            STORE8(counts ? LINE_DERIVATIVE(p, on_f, m, f) : (float8)(0.0f), derivative_fixed + i);
    }
    for (; i < last; i++) {
        bool counts = COUNTS(fixed[i], moving[i]);
        float f = fixed[i] - mean_f, m = moving[i] - mean_m;
        derivative_moving[i] = counts ? LINE_DERIVATIVE(p, on_m, f, m) : 0.0f;
        if (derivative_fixed)
            derivative_fixed[i] = counts ? LINE_DERIVATIVE(p, on_f, m, f) : 0.0f;
    }
}

#endif
