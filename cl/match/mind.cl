/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of self-similarity descriptors and their derivatives: op/match/mind.h has the
 * equations. Images lie in a row with pitch.z places of NaN or more between lines, planes and at both
 * ends, so that no kernel but the first and the last knows a border: what reaches one is NaN and counts 0.
 * An index is a place in that row; scratch is volumes of such rows, each of length values, one behind
 * another. pitch: places from one line and lines from one plane to the next, the margin, and where the
 * first voxel lies. WIDE: values that an item takes. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "common/sample.clh"
#include "common/within.clh"

#if WIDE == 8
typedef float8 real;
typedef int8 truth;
#define GET(p) LOAD8(p)
#define PUT(v, p) STORE8(v, p)
#define ANY(t) any(t)
#else
typedef float real;
typedef int truth;
#define GET(p) (*(p))
#define PUT(v, p) (*(p) = (v))
#define ANY(t) (t)
#endif
#define VOLUME(number) (scratch + (size_t)(number) * length)
#define INLINED static inline __attribute__((always_inline))

/* Steps of the row along y and z; the line of the grid's first row. */
#define STEPS int down = pitch.x, deep = pitch.x * pitch.y
#define FIRST_LINE (pitch.w / pitch.x)

/* v where t, else 0. */
#if WIDE == 8
#define MASKED(v, t) as_float8(as_int8(v) & (t))
#else
#define MASKED(v, t) ((t) ? (v) : 0.0f)
#endif

/* exp(-x) of 0 <= x < 80, within 3e-7 of it. On CPU devices exp is a call, around which all vectors are
 * saved: there it is 2^n times a polynomial of what is left, with n from the last digits of a float of
 * which they are whole. */
INLINED real exp_minus(real x)
{
#if WIDE == 8
    const float8 whole = 12582912.0f, per_octave = -1.44269504f;
    float8 n = muladd(x, per_octave, whole), f = muladd(x, per_octave, whole - n), p = 0.00132765f;
    p = muladd(p, f, (float8)(0.00967554f));
    p = muladd(p, f, (float8)(0.05550713f));
    p = muladd(p, f, (float8)(0.2402212f));
    p = muladd(p, f, (float8)(0.69314694f));
    p = muladd(p, f, (float8)(1.0000001f));
    return as_float8(as_int8(p) + (as_int8(n) << 23));
#else
    return exp(-x);
#endif
}

/* S and the number of voxels by group, from what items have. */
INLINED void leave_sums(real total, real count, __local float *cell, int lane, __global float *partial)
{
#if WIDE == 8
    float4 four = total.lo + total.hi, number = count.lo + count.hi;
    cell[lane] = (four.x + four.z) + (four.y + four.w);
    cell[TILE_X + lane] = (number.x + number.z) + (number.y + number.w);
#else
    cell[lane] = total;
    cell[TILE_X + lane] = count;
#endif
    group_fold(cell, 2, lane, TILE_X, 1);
    if (lane == 0 && partial)
        vstore2((float2)(cell[0] / -24.0f, cell[TILE_X]), get_group_id(0), partial);
}

#if PACKS
/* Both images into the row; NaN where either is not finite. */
__kernel void mind_pack(__global const float *fixed, __global const float *moving, int4 size, int4 pitch,
                        int length, __global float *scratch, int to)
{
    int column = get_global_id(0) * PACKS, line = get_global_id(1), rows = line - FIRST_LINE, start = line * pitch.x;
    int z = rows / pitch.y, y = rows - z * pitch.y, end = min(column + PACKS, pitch.x);
    bool margin = rows < 0 || y >= size.y || z >= size.z;
    int voxel = (z * size.y + y) * size.x - pitch.z, last = margin ? 0 : min(end, pitch.z + size.x);
    __global float *f = VOLUME(to) + start, *m = VOLUME(to + 1) + start;
    if (start >= length)
        return;
    for (; column < min(last, pitch.z); column++)
        f[column] = m[column] = NAN;
#if PACKS > 1
    for (; column + 8 <= last; column += 8) {
        float8 a = LOAD8(fixed + voxel + column), b = LOAD8(moving + voxel + column), none = NAN;
        int8 counts = (fabs(a) < INFINITY) & (fabs(b) < INFINITY);
        STORE8(select(none, a, counts), f + column);
        STORE8(select(none, b, counts), m + column);
    }
#endif
    for (; column < last; column++) {
        float a = fixed[voxel + column], b = moving[voxel + column];
        bool counts = fabs(a) < INFINITY && fabs(b) < INFINITY;
        f[column] = counts ? a : NAN;
        m[column] = counts ? b : NAN;
    }
    for (; column < end; column++)
        f[column] = m[column] = NAN;
}
#else
#if RADIUS > 0
/* Patches of more than one voxel: squared differences of the six diagonals of neighbours are summed over
 * patches, compared, and what they are worth is brought back the same way. What a voxel that counts needs
 * lies around it: descriptors see distances one place away, these the differences of a patch, and
 * derivatives go back as far. So each kernel takes of a line the places that lie near the part that
 * counts, and leaves others, which nothing that counts depends on. */

/* NEAR: lines at most one from one that counts, columns within a patch of what counts there; FARTHER: a
 * patch and one more of both. */
enum { NEAR, FARTHER, SPANS };

/* For each line and SPANS the first place and the one behind the last. */
__kernel void mind_spans(__global const int2 *within, int4 size, int4 pitch, int length,
                         __global float *scratch, int to)
{
    int line = get_global_id(0), lines = length / pitch.x, ahead = pitch.z + 1;
    if (line >= lines)
        return;
    int rows = line - FIRST_LINE + ahead * pitch.y, z = rows / pitch.y - ahead,
        y = rows - (z + ahead) * pitch.y;
    __global int2 *spans = (__global int2 *)VOLUME(to);
    int2 near = (int2)(size.x, 0), farther = near;
    for (int dz = -RADIUS - 1; dz <= RADIUS + 1; dz++)
        for (int dy = -RADIUS - 1; dy <= RADIUS + 1; dy++) {
            int at = z + dz, row = y + dy;
            if (row >= pitch.y) { /* of the next plane, whose margin this one's is */
                row -= pitch.y;
                at++;
            }
            if (row < 0 || row >= size.y || at < 0 || at >= size.z)
                continue;
            int2 columns = columns_within(within, row, at, size);
            if (columns.x >= columns.y)
                continue;
            farther = (int2)(min(farther.x, columns.x), max(farther.y, columns.y));
            if (max(dz, -dz) <= 1 && max(dy, -dy) <= 1)
                near = (int2)(min(near.x, columns.x), max(near.y, columns.y));
        }
    near = near.x < near.y ? near + pitch.z + (int2)(-RADIUS, RADIUS) : (int2)(0);
    farther = farther.x < farther.y ? farther + pitch.z + (int2)(-RADIUS - 1, RADIUS + 1) : (int2)(0);
    spans[NEAR * lines + line] = near;
    spans[FARTHER * lines + line] = farther;
}

/* The places i of an item, which takes one place of a line, or a whole line by eights. */
#define SPAN(s, line) ((__global const int2 *)VOLUME(spans))[(s) * (length / pitch.x) + (line)]
#if WIDE == 8
#define PLACES(i, s)           \
    int2 span = SPAN(s, line); \
    for (int i = line * pitch.x + (span.x & ~7), end = line * pitch.x + span.y; i < end; i += 8)
#else
#define PLACES(i, s)                           \
    int2 span = SPAN(s, line);                 \
    int i = line * pitch.x + get_global_id(0); \
    if (get_global_id(0) >= span.x && get_global_id(0) < span.y)
#endif
#define LINE_OF_ITEM              \
    STEPS;                        \
    int line = get_global_id(1);  \
    if (line >= length / pitch.x) \
    return

/* (I(i) - I(i + step))^2, 0 where there is no number. */
INLINED real difference2(__global const float *image, int i, int step)
{
    real d = GET(image + i) - GET(image + i + step);
    return MASKED(d * d, fabs(d) < INFINITY);
}

/* The six diagonals of a square of neighbours, in the order of BASES. */
#define DIAGONALS                                                        \
    {                                                                    \
        1 + down, down - 1, 1 + deep, deep - 1, down + deep, deep - down \
    }
/* Starts of the two pairs of neighbours of a voxel along a diagonal. */
#define BASES                                                             \
    {                                                                     \
        {-1, -down}, {1, -down}, {-1, -deep}, {1, -deep}, {-down, -deep}, \
        {                                                                 \
            down, -deep                                                   \
        }                                                                 \
    }

/* Along x: squared differences by diagonal, summed over 2 RADIUS + 1 voxels. */
__kernel void mind_lines(__global float *scratch, int image, int4 pitch, int length, int spans, int to)
{
    LINE_OF_ITEM;
    const int step[6] = DIAGONALS;
    PLACES(i, FARTHER)
    {
#pragma unroll
        for (int d = 0; d < 6; d++) {
            real sum = 0.0f;
#pragma unroll
            for (int q = -RADIUS; q <= RADIUS; q++)
                sum += difference2(VOLUME(image), i + q, step[d]);
            PUT(sum, VOLUME(to + d) + i);
        }
    }
}

/* Along z and y, times scale. An item takes ITEM_Y lines, whose sums along z have most in common; on CPU
 * devices of one volume, whose planes then stay in the cache until the next one needs them. */
__kernel void mind_planes(__global float *scratch, int from, int4 pitch, int length, float scale, int spans,
                          int to)
{
    STEPS;
    int line = get_global_id(1) * ITEM_Y, lines = length / pitch.x, first = pitch.x, end = 0,
        i = get_global_id(0);
    for (int k = 0; k < ITEM_Y && line + k < lines; k++) {
        int2 span = SPAN(NEAR, line + k);
        first = span.x < span.y ? min(first, span.x) : first;
        end = max(end, span.y);
    }
#if WIDE == 8
    int d = get_global_id(2);
    for (i = first & ~7; i < end; i += 8)
#else
    if (i >= first && i < end)
        for (int d = 0; d < 6; d++)
#endif
    {
        __global const float *at = VOLUME(from + d) + line * pitch.x + i;
        real along_z[ITEM_Y + 2 * RADIUS];
#pragma unroll
        for (int y = 0; y < ITEM_Y + 2 * RADIUS; y++) {
            along_z[y] = 0.0f;
            for (int z = -RADIUS; z <= RADIUS; z++)
                along_z[y] += GET(at + (y - RADIUS) * down + z * deep);
        }
#pragma unroll
        for (int k = 0; k < ITEM_Y; k++) {
            real sum = 0.0f;
#pragma unroll
            for (int y = 0; y <= 2 * RADIUS; y++)
                sum += along_z[k + y];
            PUT(scale * sum, VOLUME(to + d) + (line + k) * pitch.x + i);
        }
    }
}

/* The mean of the twelve distances of the descriptor at i. */
INLINED real mean_distance(__global const float *patches, int length, int i, int down, int deep)
{
    const int base[6][2] = BASES;
    real sum = 0.0f;
#pragma unroll
    for (int d = 0; d < 6; d++)
        sum += GET(patches + (size_t)d * length + i + base[d][0]) +
               GET(patches + (size_t)d * length + i + base[d][1]);
    return sum / 12.0f;
}

/* Adds to S and the number of voxels, and leaves what the derivatives need of a voxel: 1 / (V + e) of
 * either image and what V contributes, both 0 where the voxel does not count. */
INLINED void compare_at(__global float *scratch, int image, int fixed, int moving, int i, int4 pitch,
                        int length, float epsilon, int to, real *total, real *number)
{
    __global const float *fixed_patches = VOLUME(fixed), *moving_patches = VOLUME(moving);
    STEPS;
    const int base[6][2] = BASES;
    const real none = 0.0f, one = 1.0f;
    real inverse_f = 0.0f, inverse_m = 0.0f, share_f = 0.0f, share_m = 0.0f;
    truth counts = fabs(GET(VOLUME(image) + i)) < INFINITY;
    if (ANY(counts)) {
        real apart = 0.0f;
        inverse_f = one / (mean_distance(fixed_patches, length, i, down, deep) + epsilon);
        inverse_m = one / (mean_distance(moving_patches, length, i, down, deep) + epsilon);
#pragma unroll
        for (int k = 0; k < 12; k++) {
            size_t at = (size_t)(k / 2) * length + i + base[k / 2][k % 2];
            real df = (GET(fixed_patches + at) + epsilon) * inverse_f;
            real dm = (GET(moving_patches + at) + epsilon) * inverse_m;
            real f = exp_minus(df), m = exp_minus(dm), r = m - f;
            apart += r * r;
            share_m += r * m * dm;
            share_f -= r * f * df;
        }
        *total += select(none, apart, counts);
        *number += select(none, one, counts);
        share_f = select(none, share_f * inverse_f / -144.0f, counts);
        share_m = select(none, share_m * inverse_m / -144.0f, counts);
        inverse_f = select(none, inverse_f, counts);
        inverse_m = select(none, inverse_m, counts);
    }
    PUT(inverse_f, VOLUME(to) + i);
    PUT(inverse_m, VOLUME(to + 1) + i);
    PUT(share_f, VOLUME(to + 2) + i);
    PUT(share_m, VOLUME(to + 3) + i);
}

/* S by group, each of which takes a part of the row, on CPU devices lines of it. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
mind_compare(__global float *scratch, int image, int fixed, int moving, int4 pitch, int length, float epsilon,
             int spans, int to, __global float *partial)
{
    __local float cell[2 * TILE_X];
    int lane = get_local_id(0), groups = get_num_groups(0), group = get_group_id(0);
    real total = 0.0f, number = 0.0f;
#if WIDE == 8
    int lines = length / pitch.x, each = (lines + groups - 1) / groups;
    for (int line = group * each; line < min((group + 1) * each, lines); line++) {
        PLACES(i, FARTHER)
        compare_at(scratch, image, fixed, moving, i, pitch, length, epsilon, to, &total, &number);
    }
#else
    int each = ((length + groups - 1) / groups + GROUP_X - 1) / GROUP_X * GROUP_X;
    int first = min(group * each, length), last = first + min(each, length - first);
    for (int i = first + lane; i < last; i += TILE_X)
        compare_at(scratch, image, fixed, moving, i, pitch, length, epsilon, to, &total, &number);
#endif
    leave_sums(total, number, cell, lane, partial);
}

/* dS by every patch distance, in place of the distances. */
__kernel void mind_pull(__global float *scratch, int from, int4 pitch, int length, float epsilon, int spans,
                        int fixed, int moving)
{
    LINE_OF_ITEM;
    const int base[6][2] = BASES;
    PLACES(i, FARTHER)
    {
#pragma unroll
        for (int d = 0; d < 6; d++) {
            __global float *fixed_patch = VOLUME(fixed + d) + i, *moving_patch = VOLUME(moving + d) + i;
            real df = GET(fixed_patch) + epsilon, dm = GET(moving_patch) + epsilon;
            /* Beyond NEAR stands what the buffer held before, which the inverses, 0 there, remove if it is
             * finite. */
            df = MASKED(df, fabs(df) < INFINITY);
            dm = MASKED(dm, fabs(dm) < INFINITY);
            real on_f = 0.0f, on_m = 0.0f;
#pragma unroll
            for (int k = 0; k < 2; k++) {
                __global const float *voxel = VOLUME(from) + i - base[d][k];
                real inverse_f = GET(voxel), inverse_m = GET(voxel + length);
                real f = exp_minus(df * inverse_f), m = exp_minus(dm * inverse_m), r = (m - f) / 12.0f;
                on_f += GET(voxel + 2 * (size_t)length) - r * f * inverse_f;
                on_m += GET(voxel + 3 * (size_t)length) + r * m * inverse_m;
            }
            PUT(on_f, fixed_patch);
            PUT(on_m, moving_patch);
        }
    }
}

/* 2 (I(i) - I(i + step)) times what the difference from `pair` on is worth; 0 where there is no number. */
INLINED real pulled(__global const float *image, __global const float *worth, int i, int step, int pair)
{
    real d = GET(image + i) - GET(image + i + step), sum = 0.0f;
#pragma unroll
    for (int q = -RADIUS; q <= RADIUS; q++)
        sum += GET(worth + pair + q);
    return MASKED(2.0f * d * sum, fabs(d) < INFINITY);
}

/* dS/dI from what squared differences are worth, which are summed along x here. */
INLINED real derivative_at(__global const float *image, __global const float *worth, int length, int i,
                           int4 pitch)
{
    STEPS;
    const int step[6] = DIAGONALS;
    real sum = 0.0f;
#pragma unroll
    for (int d = 0; d < 6; d++) {
        __global const float *w = worth + (size_t)d * length;
        sum += pulled(image, w, i, step[d], i) + pulled(image, w, i, -step[d], i - step[d]);
    }
    return sum;
}

#else
/* Patches of one voxel: a descriptor sees its six neighbours alone, so that one kernel has all that it
 * says of them, and another gathers what six descriptors say of a voxel. */

/* The neighbours of a voxel, and the twelve pairs of them that touch along an edge. */
#define NEIGHBOURS                      \
    {                                   \
        1, -1, down, -down, deep, -deep \
    }
#define PAIRS                                                                                   \
    {                                                                                           \
        {0, 2}, {0, 3}, {0, 4}, {0, 5}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {2, 4}, {2, 5}, {3, 4}, \
        {                                                                                       \
            3, 5                                                                                \
        }                                                                                       \
    }

/* The differences of the pairs, 0 where either neighbour does not count; the mean of their squares. */
INLINED real differences(const real *neighbour, const truth *counts, real *d)
{
    const int pair[12][2] = PAIRS;
    real sum = 0.0f;
#pragma unroll
    for (int k = 0; k < 12; k++) {
        int p = pair[k][0], q = pair[k][1];
        d[k] = MASKED(neighbour[p] - neighbour[q], counts[p] & counts[q]);
        sum += d[k] * d[k];
    }
    return sum / 12.0f;
}

/* Derivative of the descriptor by the six neighbours: each dS/dD times the derivative of D. r: m - f times
 * the value by pair; share: the mean of that times (D + e) / (V + e); scale: what all are multiplied by. */
INLINED void leave_pulls(const real *d, const real *r, real share, real scale, __global float *to, int length)
{
    const int pair[12][2] = PAIRS;
    real pull[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < 12; k++) {
        real by = (r[k] - share) * d[k];
        pull[pair[k][0]] += by;
        pull[pair[k][1]] -= by;
    }
#pragma unroll
    for (int a = 0; a < 6; a++)
        PUT(scale * pull[a], to + (size_t)a * length);
}

/* S by group, and what each voxel says of its neighbours in the fixed and then in the moving image, six
 * volumes each; where no voxel counts they are left as they were. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
mind_point_pull(__global float *scratch, int image, int4 pitch, int length, float epsilon, int to,
                __global float *partial)
{
    __local float cell[2 * TILE_X];
    STEPS;
    const int step[6] = NEIGHBOURS;
    int lane = get_local_id(0), groups = get_num_groups(0);
    int each = ((length + groups - 1) / groups + GROUP_X - 1) / GROUP_X * GROUP_X;
    int first = min((int)get_group_id(0) * each, length), last = first + min(each, length - first);
    real total = 0.0f, count = 0.0f;
    for (int i = first + lane * WIDE; i < last; i += TILE_X * WIDE) {
        __global const float *fixed = VOLUME(image) + i, *moving = fixed + length;
        const real none = 0.0f, one = 1.0f;
        truth counts = fabs(GET(fixed)) < INFINITY;
        if (!ANY(counts))
            continue;
        truth known[6];
        real f[6], m[6], df[12], dm[12], rf[12], rm[12], apart = 0.0f, share_f = 0.0f, share_m = 0.0f;
#pragma unroll
        for (int a = 0; a < 6; a++) {
            f[a] = GET(fixed + step[a]);
            m[a] = GET(moving + step[a]);
            known[a] = fabs(f[a]) < INFINITY;
        }
        real inverse_f = one / (differences(f, known, df) + epsilon);
        real inverse_m = one / (differences(m, known, dm) + epsilon);
#pragma unroll
        for (int k = 0; k < 12; k++) {
            real of_f = (df[k] * df[k] + epsilon) * inverse_f, of_m = (dm[k] * dm[k] + epsilon) * inverse_m;
            real value_f = exp_minus(of_f), value_m = exp_minus(of_m), r = value_m - value_f;
            apart += r * r;
            rf[k] = r * value_f;
            rm[k] = r * value_m;
            share_f += rf[k] * of_f;
            share_m += rm[k] * of_m;
        }
        total += select(none, apart, counts);
        count += select(none, one, counts);
        leave_pulls(df, rf, share_f / 12.0f, select(none, inverse_f / -6.0f, counts), VOLUME(to) + i, length);
        leave_pulls(dm, rm, share_m / 12.0f, select(none, inverse_m / 6.0f, counts), VOLUME(to + 6) + i,
                    length);
    }
    leave_sums(total, count, cell, lane, partial);
}

/* Derivative at a position from its six neighbours. */
INLINED real derivative_at(__global const float *image, __global const float *pulls, int length, int i,
                           int4 pitch)
{
    STEPS;
    const int step[6] = NEIGHBOURS;
    real sum = 0.0f;
#pragma unroll
    for (int a = 0; a < 6; a++)
        sum +=
            MASKED(GET(pulls + (size_t)a * length + i - step[a]), fabs(GET(image + i - step[a])) < INFINITY);
    return sum;
}

#endif

/* out = weight dS/dI, or where adds that is added to it; outside of `within` it is left as it was. from:
 * what patch distances are worth, or what points say of their neighbours, six volumes. */
__kernel void mind_derivative(__global const float *scratch, int image, int from, int4 size, int4 pitch, int length,
                              float weight, int adds, __global const int2 *within, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int2 columns = columns_within(within, y, z, size);
    __global const float *values = VOLUME(image), *six = VOLUME(from);
    int place = pitch.w + (z * pitch.y + y) * pitch.x;
    __global float *row = out + (z * size.y + y) * size.x;
#if WIDE == 8
    for (x = columns.x; x + 8 <= columns.y; x += 8) {
        float8 value = weight * derivative_at(values, six, length, place + x, pitch);
        STORE8(adds ? LOAD8(row + x) + value : value, row + x);
    }
    if (x < columns.y) {
        float some[8];
        PUT8(weight * derivative_at(values, six, length, place + x, pitch), some);
        for (int k = 0; x + k < columns.y; k++)
            row[x + k] = adds ? row[x + k] + some[k] : some[k];
    }
#else
    if (x >= columns.x && x < columns.y) {
        float value = weight * derivative_at(values, six, length, place + x, pitch);
        row[x] = adds ? row[x] + value : value;
    }
#endif
}
#endif
