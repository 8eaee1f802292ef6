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

/* exp(-x) of 0 <= x < 80, within 3e-7 of it. On CPU devices exp is a call, around which all vectors are saved: there
 * it is 2^n times a polynomial of what is left, with n from the last digits of a float of which they are whole. */
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
#include "match/mind_patches.clh"
#else
#include "match/mind_points.clh"
#endif

/* out = weight dS/dI, or where adds that is added to it; outside of `within` it is left as it was. from: what patch
 * distances are worth, or what points say of their neighbours, six volumes. */
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
