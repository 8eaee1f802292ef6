/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of self-similarity descriptors and their derivatives: op/match/mind.h has the equations.
 * Images lie in a row with pitch.z voxels of NaN before each line, between planes and at both ends, so that no kernel
 * but the first and the last knows a border: what reaches one is NaN and counts 0. An index is a place in that row;
 * scratch is volumes of such rows, each of length values, one behind another. pitch: from a line and from a plane, in
 * lines, to the next, the margin, and where the first voxel lies. WIDE: values that an item takes. */
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

/* Steps of the row along y and z, and the places at either end from which a voxel's neighbours would lie beyond it. */
#define STEPS int down = pitch.x, deep = pitch.x * pitch.y
#define BEYOND(i, reach) ((i) < (reach) || (i) + WIDE > length - (reach))

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
    int column = get_global_id(0) * PACKS, line = get_global_id(1), voxels = line - pitch.z * (pitch.y + 1);
    int start = line * pitch.x, z = voxels / pitch.y, y = voxels - z * pitch.y;
    bool margin = voxels < 0 || y >= size.y || z >= size.z;
    int voxel = (z * size.y + y) * size.x - pitch.z, end = min(min(column + PACKS, pitch.x), length - start);
    __global float *f = VOLUME(to) + start, *m = VOLUME(to + 1) + start;
    for (; column < end && (margin || column < pitch.z); column++)
        f[column] = m[column] = NAN;
#if PACKS > 1
    for (; column + 8 <= end; column += 8) {
        float8 a = LOAD8(fixed + voxel + column), b = LOAD8(moving + voxel + column), none = NAN;
        int8 counts = (fabs(a) < INFINITY) & (fabs(b) < INFINITY);
        STORE8(select(none, a, counts), f + column);
        STORE8(select(none, b, counts), m + column);
    }
#endif
    for (; column < end; column++) {
        float a = fixed[voxel + column], b = moving[voxel + column];
        bool counts = fabs(a) < INFINITY && fabs(b) < INFINITY;
        f[column] = counts ? a : NAN;
        m[column] = counts ? b : NAN;
    }
}

/* out = weight times what lies in the row, or where adds that is added to it. */
__kernel void mind_unpack(__global const float *scratch, int from, int4 size, int4 pitch, int length, float weight,
                          int adds, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int voxel = (z * size.y + y) * size.x + x;
    float value = weight * VOLUME(from)[pitch.w + (z * pitch.y + y) * pitch.x + x];
    out[voxel] = adds ? out[voxel] + value : value;
}
#elif POINTS
#include "match/mind_points.clh"
#else
#include "match/mind_patches.clh"
#endif
