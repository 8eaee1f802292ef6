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
/* Mutual information of two images: the joint histogram under cubic B-spline
 * windows, what an addition to each of its bins is worth, and the derivatives.
 *
 * Weights are counted in whole units of which `one` make up a weight of 1, so
 * that the order of additions does not matter. A chunk of voxels is counted in
 * 32 bits (the host chooses chunk and one so that it fits) and then added to
 * the image's counts, which are held in two words: units below and above
 * 2^SPLIT. The counts start at 0 and have a head before them. */

#include "common/bins.clh"

#define SPLIT 15
#define LOW_BITS ((1u << SPLIT) - 1u)

/* The head, HEAD words of which NOTES are in use: voxels counted, and the bits of
 * the largest value of each image and how far the smallest one's lie below those
 * of 1. Floats from 0 to 1 have the order of their bits. */
enum { VOXELS, LARGEST_F, LARGEST_M, FROM_ONE_F, FROM_ONE_M };
#define ONE_BITS 0x3F800000u

#define COUNT_ARGUMENTS                                                                       \
    __global const float *fixed, __global const float *moving, int n, int bins, int chunk,    \
        int rows, int copies, float one, int own_at, int places, __global uint *counts,           \
        __local uint *shared

/* Range that a work-item has seen. */
typedef struct seen {
    uint voxels, largest_f, largest_m, from_one_f, from_one_m;
} seen;

static inline void see(seen *s, float f, float m, uint times)
{
    s->voxels += times;
    s->largest_f = max(s->largest_f, as_uint(f));
    s->largest_m = max(s->largest_m, as_uint(m));
    s->from_one_f = max(s->from_one_f, ONE_BITS - as_uint(f));
    s->from_one_m = max(s->from_one_m, ONE_BITS - as_uint(m));
}

#define NOTE(seen, head)                                  \
    do {                                                  \
        atomic_add((head) + VOXELS, seen.voxels);         \
        atomic_max((head) + LARGEST_F, seen.largest_f);   \
        atomic_max((head) + LARGEST_M, seen.largest_m);   \
        atomic_max((head) + FROM_ONE_F, seen.from_one_f); \
        atomic_max((head) + FROM_ONE_M, seen.from_one_m); \
    } while (0)

static inline void add_count(__global uint *counts, int bin, int square, uint units)
{
    if (units & LOW_BITS)
        atomic_add(&counts[HEAD + bin], units & LOW_BITS);
    if (units >> SPLIT)
        atomic_add(&counts[HEAD + square + bin], units >> SPLIT);
}

/* Four bins of a row; weights are in units. */
static inline void tally(__local uint *row, float4 weights, uint times)
{
    uint4 units = convert_uint4(weights + 0.5f);
    if (units.x)
        atomic_add(row, units.x * times);
    if (units.y)
        atomic_add(row + 1, units.y * times);
    if (units.z)
        atomic_add(row + 2, units.z * times);
    if (units.w)
        atomic_add(row + 3, units.w * times);
}

#define TALLY_ROW(r, w)                                           \
    do {                                                          \
        if ((r) >= 0 && (r) < mine)                               \
            tally(shared + (r) * bins + column, wm * (w), times); \
    } while (0)

/* Adds a pair of values that was met `times` times in a row. */
INLINED void tally_pair(__local uint *shared, int first_row, int mine, int bins, float one, float f, float m,
                        uint times)
{
    float at_f, at_m;
    int row = first_bin(f, bins, &at_f) - first_row, column = first_bin(m, bins, &at_m);
    float4 wf = window(at_f), wm = window(at_m) * one;
    TALLY_ROW(row, wf.x);
    TALLY_ROW(row + 1, wf.y);
    TALLY_ROW(row + 2, wf.z);
    TALLY_ROW(row + 3, wf.w);
}

/* A work-group a chunk and `rows` of the histogram's rows, of which it holds copies in
 * local memory. Runs of one pair of values, as in the background, are added at
 * once, and neighbours add to different copies: equal addresses are what slows local
 * atomics down. */
#define PITCH(words) ((words) + 8)

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void metric_counts_group(COUNT_ARGUMENTS)
{
    int lane = get_local_id(0), first_row = get_group_id(1) * rows;
    int mine = min(rows, bins - first_row), square = bins * bins;
    int pitch = PITCH(mine * bins);
    __local uint *notes = shared + copies * pitch, *own = shared + lane % copies * pitch;
    for (int b = lane; b < copies * pitch + NOTES; b += TILE_X)
        shared[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    int first = get_group_id(0) * chunk, last = first + min(chunk, n - first);
    seen s = {0, 0, 0, 0, 0};
    float f = 0.0f, m = 0.0f;
    uint times = 0;
    for (int i = first + lane; i < last; i += TILE_X) {
        float next_f = fixed[i], next_m = moving[i];
        if (COUNTS(next_f, next_m)) {
            next_f = kept_inside(next_f);
            next_m = kept_inside(next_m);
            if (next_f != f || next_m != m) {
                if (times) {
                    tally_pair(own, first_row, mine, bins, one, f, m, times);
                    see(&s, f, m, times);
                }
                f = next_f;
                m = next_m;
                times = 0;
            }
            times++;
        }
    }
    if (times) {
        tally_pair(own, first_row, mine, bins, one, f, m, times);
        see(&s, f, m, times);
    }
    if (s.voxels)
        NOTE(s, notes);
    barrier(CLK_LOCAL_MEM_FENCE);
    /* Every work-group of a chunk has seen the same: one of them says so. */
    if (first_row == 0 && lane < NOTES && notes[VOXELS]) {
        if (lane == VOXELS)
            atomic_add(counts + lane, notes[lane]);
        else
            atomic_max(counts + lane, notes[lane]);
    }
    for (int b = lane; b < mine * bins; b += TILE_X) {
        uint units = 0;
        for (int c = 0; c < copies; c++)
            units += shared[c * pitch + b];
        add_count(counts, first_row * bins + b, square, units);
    }
}

static inline void tally_row4(__global uint *own, float4 weights, uint times)
{
    uint4 units = convert_uint4(weights + 0.5f) * times;
    STORE4U(LOAD4U(own) + units, own);
}

static inline void tally_own(__global uint *own, int bins, float one, float f, float m, uint times)
{
    float at_f, at_m;
    int row = first_bin(f, bins, &at_f), column = first_bin(m, bins, &at_m);
    float4 wf = window(at_f), wm = window(at_m) * one;
    own += row * bins + column;
    tally_row4(own, wm * wf.x, times);
    tally_row4(own + bins, wm * wf.y, times);
    tally_row4(own + 2 * bins, wm * wf.z, times);
    tally_row4(own + 3 * bins, wm * wf.w, times);
}

/* A work-item takes every chunk at a distance of the number of items, with a
 * histogram of its own in global memory, which has places for so many. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void metric_counts_own(COUNT_ARGUMENTS)
{
    int square = bins * bins, chunks = (n - 1) / chunk + 1, items = min((int)get_num_groups(0), places);
    if ((int)get_group_id(0) >= items)
        return;
    __global uint *own = counts + own_at + get_group_id(0) * square;
    for (int b = 0; b < square; b++)
        own[b] = 0;
    seen s = {0, 0, 0, 0, 0};
    for (int c = get_group_id(0); c < chunks; c += items) {
        int first = c * chunk, last = first + min(chunk, n - first);
        float f = 0.0f, m = 0.0f;
        uint times = 0;
        for (int i = first; i < last; i++) {
            float next_f = fixed[i], next_m = moving[i];
            if (!COUNTS(next_f, next_m))
                continue;
            next_f = kept_inside(next_f);
            next_m = kept_inside(next_m);
            if (next_f != f || next_m != m) {
                if (times) {
                    tally_own(own, bins, one, f, m, times);
                    see(&s, f, m, times);
                }
                f = next_f;
                m = next_m;
                times = 0;
            }
            times++;
        }
        if (times) {
            tally_own(own, bins, one, f, m, times);
            see(&s, f, m, times);
        }
        for (int b = 0; b < square; b++)
            if (own[b]) {
                add_count(counts, b, square, own[b]);
                own[b] = 0;
            }
    }
    if (s.voxels)
        NOTE(s, counts);
}

static inline float count_at(__global const uint *counts, int bin, int square)
{
    return (float)counts[HEAD + square + bin] * (float)(1u << SPLIT) + (float)counts[HEAD + bin];
}

/* One work-group: table(k, l) = log (p / (pF pM)), 0 in empty bins, which is
 * dS/dp but for terms that cancel because windows add up to 1. A constant
 * image has a table of zeros. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
metric_table(__global uint *counts, int bins, int table_at, __global float *out, int slot)
{
    __global float *table = (__global float *)counts + table_at;
    __local float row_sum[MOST_BINS], column_sum[MOST_BINS], cell[TILE_X];
    int lane = get_local_id(0), square = bins * bins;
    for (int k = lane; k < bins; k += TILE_X) {
        float row = 0.0f, column = 0.0f;
        for (int l = 0; l < bins; l++) {
            row += count_at(counts, k * bins + l, square);
            column += count_at(counts, l * bins + k, square);
        }
        row_sum[k] = row;
        column_sum[k] = column;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float total = 0.0f, sum = 0.0f, lost = 0.0f;
    for (int k = 0; k < bins; k++)
        total += row_sum[k];
    bool varies = counts[LARGEST_F] + counts[FROM_ONE_F] > ONE_BITS &&
                  counts[LARGEST_M] + counts[FROM_ONE_M] > ONE_BITS;
    for (int b = lane; b < square; b += TILE_X) {
        float count = count_at(counts, b, square), value = 0.0f;
        if (varies && count > 0.0f)
            value = log((count / row_sum[b / bins]) * (total / column_sum[b % bins]));
        table[b] = value;
        float y = (count > 0.0f ? count / total * value : 0.0f) - lost, t = sum + y;
        lost = (t - sum) - y;
        sum = t;
    }
    cell[lane] = sum;
    group_fold(cell, 1, lane, TILE_X, 1);
    if (lane == 0 && out) {
        out[slot] = (float)counts[VOXELS] * cell[0];
        out[slot + 1] = (float)counts[VOXELS];
    }
}

/* The derivatives along the values of a pair, where asked for. TABLE reads four neighbours of a row. */
#define PAIR_DERIVATIVES(TABLE, pitch) \
    bool inside_f = f >= 0.0f && f <= 1.0f, inside_m = m >= 0.0f && m <= 1.0f; \
    on_m = on_f = 0.0f; \
    if (inside_m || (derivative_fixed && inside_f)) { \
        float at_f, at_m; \
        int row = first_bin(kept_inside(f), bins, &at_f), column = first_bin(kept_inside(m), bins, &at_m); \
        int at = row * (pitch) + column; \
        float4 a = TABLE(at), b = TABLE(at + (pitch)); \
        float4 c = TABLE(at + 2 * (pitch)), d = TABLE(at + 3 * (pitch)); \
        if (inside_m) { \
            float4 w = window(at_f); \
            on_m = scale * dot(window_derivative(at_m), a * w.x + b * w.y + c * w.z + d * w.w); \
        } \
        if (derivative_fixed && inside_f) { \
            float4 w = window_derivative(at_f); \
            on_f = scale * dot(window(at_m), a * w.x + b * w.y + c * w.z + d * w.w); \
        } \
    }

#define FROM_TABLE(i) LOAD4(table + (i))
#define FROM_OWN(i) (float4)(own[i], own[(i) + 1], own[(i) + 2], own[(i) + 3])

#define DERIVATIVE_ARGUMENTS \
    __global const float *fixed, __global const float *moving, int n, int bins, \
        __global const float *scratch, int table_at, int kept, \
        __global float *derivative_moving, __global float *derivative_fixed, __local float *own

/* The derivative along the moving image's values and, where asked for, along the
 * fixed one's. MARCH voxels a work-item; a pair of values met again costs nothing. */
__kernel void metric_table_derivatives(DERIVATIVE_ARGUMENTS)
{
    int first = get_global_id(0) * MARCH, last = first + min(MARCH, n - first);
    __global const float *table = scratch + table_at;
    float f = NAN, m = NAN, on_m = 0.0f, on_f = 0.0f, scale = (float)(bins - 3);
    for (int i = first; i < last; i++) {
        float next_f = fixed[i], next_m = moving[i];
        bool counts = COUNTS(next_f, next_m);
        if (counts && (next_f != f || next_m != m)) {
            f = next_f;
            m = next_m;
            PAIR_DERIVATIVES(FROM_TABLE, bins)
        }
        derivative_moving[i] = counts ? on_m : 0.0f;
        if (derivative_fixed)
            derivative_fixed[i] = counts ? on_f : 0.0f;
    }
}

/* The same with the table in local memory, where that has room for it (kept): neighbours look at
 * any of its rows. */
#define GROUP_DERIVATIVES(TABLE, pitch) \
    for (int i = first + lane; i < last; i += TILE_X) { \
        float f = fixed[i], m = moving[i], on_m, on_f; \
        bool counts = COUNTS(f, m); \
        PAIR_DERIVATIVES(TABLE, pitch) \
        derivative_moving[i] = counts ? on_m : 0.0f; \
        if (derivative_fixed) \
            derivative_fixed[i] = counts ? on_f : 0.0f; \
    }

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
metric_table_derivatives_group(DERIVATIVE_ARGUMENTS)
{
    int lane = get_local_id(0), pitch = bins | 1, first = get_group_id(0) * TILE_X * MARCH;
    int last = first + min(TILE_X * MARCH, n - first);
    __global const float *table = scratch + table_at;
    float scale = (float)(bins - 3);
    for (int b = lane; b < bins * bins && kept; b += TILE_X)
        own[b / bins * pitch + b % bins] = table[b];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (kept) {
        GROUP_DERIVATIVES(FROM_OWN, pitch)
    } else {
        GROUP_DERIVATIVES(FROM_TABLE, bins)
    }
}

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
