/* SPDX-License-Identifier: Apache-2.0 */
/* Squared differences of self-similarity descriptors and their derivatives: op/match/mind.h has the equations.
 * Images lie in a row with RADIUS + 2 voxels of NaN between lines, planes and at both ends, so that no kernel but
 * the first and the last knows a border: what reaches one is NaN and counts 0. An index is a place in that row;
 * scratch is volumes of such rows, each of length values, one behind another. WIDE: values that an item takes. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"

#if WIDE == 8
typedef float8 real;
typedef int8 truth;
#define GET(p) LOAD8(p)
#define PUT(v, p) STORE8(v, p)
#else
typedef float real;
typedef int truth;
#define GET(p) (*(p))
#define PUT(v, p) (*(p) = (v))
#endif
#define VOLUME(number) (scratch + (size_t)(number) * length)
#define INLINED static inline __attribute__((always_inline))

/* Steps of the row along y and z, and the places at either end from which a voxel's neighbours would lie beyond it. */
#define STEPS int down = pitch.x, deep = pitch.x * pitch.y
#define BEYOND(i, reach) ((i) < (reach) || (i) + WIDE > length - (reach))

/* Both images into the row; NaN where either is not finite. */
__kernel void mind_pack(__global const float *fixed, __global const float *moving, int4 size, int4 pitch,
                        int length, __global float *scratch, int to)
{
    int i = get_global_id(0);
    if (i >= length)
        return;
    STEPS;
    int at = i - pitch.w, z = at / deep, y = (at - z * deep) / down, x = at - z * deep - y * down;
    float f = NAN, m = NAN;
    if (at >= 0 && x < size.x && y < size.y && z < size.z) {
        int voxel = (z * size.y + y) * size.x + x;
        f = fixed[voxel];
        m = moving[voxel];
    }
    bool counts = fabs(f) < INFINITY && fabs(m) < INFINITY;
    VOLUME(to)[i] = counts ? f : NAN;
    VOLUME(to + 1)[i] = counts ? m : NAN;
}

__kernel void mind_unpack(__global const float *scratch, int from, int4 size, int4 pitch, int length,
                          __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        out[(z * size.y + y) * size.x + x] = VOLUME(from)[pitch.w + (z * pitch.y + y) * pitch.x + x];
}

/* (I(i) - I(i + step))^2, 0 where there is no number. */
INLINED real difference2(__global const float *image, int i, int step)
{
    real d = GET(image + i) - GET(image + i + step), none = 0.0f;
    return select(none, d * d, fabs(d) < INFINITY);
}

/* The six diagonals of a square of neighbours, in the order of BASES. */
#define DIAGONALS {1 + down, down - 1, 1 + deep, deep - 1, down + deep, deep - down}
/* Where the two pairs of neighbours of a voxel that lie along a diagonal begin. */
#define BASES {{-1, -down}, {1, -down}, {-1, -deep}, {1, -deep}, {-down, -deep}, {down, -deep}}

/* Along x: squared differences by diagonal, summed over 2 RADIUS + 1 voxels. */
__kernel void mind_lines(__global float *scratch, int image, int4 pitch, int length, int to)
{
    int i = get_global_id(0) * WIDE;
    if (i >= length)
        return;
    STEPS;
    const int step[6] = DIAGONALS;
    bool beyond = BEYOND(i, RADIUS + down + deep);
    for (int d = 0; d < 6; d++) {
        real sum = 0.0f;
        for (int q = -RADIUS; q <= RADIUS && !beyond; q++)
            sum += difference2(VOLUME(image), i + q, step[d]);
        PUT(sum, VOLUME(to + d) + i);
    }
}

/* Along y and z, times scale. */
__kernel void mind_planes(__global float *scratch, int from, int4 pitch, int length, float scale, int to)
{
    int i = get_global_id(0) * WIDE;
    if (i >= length)
        return;
    STEPS;
    bool beyond = BEYOND(i, RADIUS * (down + deep));
    for (int d = 0; d < 6; d++) {
        real sum = 0.0f;
        for (int z = -RADIUS; z <= RADIUS && !beyond; z++)
            for (int y = -RADIUS; y <= RADIUS; y++)
                sum += GET(VOLUME(from + d) + i + y * down + z * deep);
        PUT(scale * sum, VOLUME(to + d) + i);
    }
}

/* The mean of the twelve distances of the descriptor at i. */
INLINED real mean_distance(__global const float *patches, int length, int i, int down, int deep)
{
    const int base[6][2] = BASES;
    real sum = 0.0f;
    for (int d = 0; d < 6; d++)
        for (int k = 0; k < 2; k++)
            sum += GET(patches + (size_t)d * length + i + base[d][k]);
    return sum / 12.0f;
}

/* S by group, and what the derivatives need of a voxel: 1 / (V + e) of either image and what V contributes, both 0
 * where the voxel does not count. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void mind_compare(__global float *scratch, int image, int fixed, int moving, int4 pitch, int length,
                  float epsilon, int to, __global float *partial)
{
    __local float cell[2 * TILE_X];
    __global const float *fixed_patches = VOLUME(fixed), *moving_patches = VOLUME(moving);
    STEPS;
    const int base[6][2] = BASES;
    int lane = get_local_id(0), groups = get_num_groups(0);
    int each = ((length + groups - 1) / groups + GROUP_X - 1) / GROUP_X * GROUP_X;
    int first = min((int)get_group_id(0) * each, length), last = first + min(each, length - first);
    real total = 0.0f, count = 0.0f;
    for (int i = first + lane * WIDE; i < last; i += TILE_X * WIDE) {
        real inverse_f = 0.0f, inverse_m = 0.0f, share_f = 0.0f, share_m = 0.0f;
        if (!BEYOND(i, deep)) {
            const real none = 0.0f, one = 1.0f;
            truth counts = fabs(GET(VOLUME(image) + i)) < INFINITY;
            real apart = 0.0f;
            inverse_f = one / (mean_distance(fixed_patches, length, i, down, deep) + epsilon);
            inverse_m = one / (mean_distance(moving_patches, length, i, down, deep) + epsilon);
            for (int d = 0; d < 6; d++)
                for (int k = 0; k < 2; k++) {
                    size_t at = (size_t)d * length + i + base[d][k];
                    real df = (GET(fixed_patches + at) + epsilon) * inverse_f;
                    real dm = (GET(moving_patches + at) + epsilon) * inverse_m;
                    real f = exp(-df), m = exp(-dm), r = m - f;
                    apart += r * r;
                    share_m += r * m * dm;
                    share_f -= r * f * df;
                }
            total += select(none, apart, counts);
            count += select(none, one, counts);
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

/* dS by every patch distance, in place of the distances. */
__kernel void mind_pull(__global float *scratch, int from, int4 pitch, int length, float epsilon, int fixed,
                        int moving)
{
    int i = get_global_id(0) * WIDE;
    if (i >= length)
        return;
    STEPS;
    const int base[6][2] = BASES;
    bool beyond = BEYOND(i, deep);
    for (int d = 0; d < 6; d++) {
        __global float *fixed_patch = VOLUME(fixed + d) + i, *moving_patch = VOLUME(moving + d) + i;
        real df = GET(fixed_patch) + epsilon, dm = GET(moving_patch) + epsilon;
        real on_f = 0.0f, on_m = 0.0f;
        for (int k = 0; k < 2 && !beyond; k++) {
            __global const float *voxel = VOLUME(from) + i - base[d][k];
            real inverse_f = GET(voxel), inverse_m = GET(voxel + length);
            real f = exp(-df * inverse_f), m = exp(-dm * inverse_m), r = (m - f) / 12.0f;
            on_f += GET(voxel + 2 * (size_t)length) - r * f * inverse_f;
            on_m += GET(voxel + 3 * (size_t)length) + r * m * inverse_m;
        }
        PUT(on_f, fixed_patch);
        PUT(on_m, moving_patch);
    }
}

/* 2 (I(i) - I(i + step)) times what the difference from `pair` on is worth; 0 where there is no number. */
INLINED real pulled(__global const float *image, __global const float *worth, int i, int step, int pair)
{
    real d = GET(image + i) - GET(image + i + step), sum = 0.0f, none = 0.0f;
    for (int q = -RADIUS; q <= RADIUS; q++)
        sum += GET(worth + pair + q);
    return select(none, 2.0f * d * sum, fabs(d) < INFINITY);
}

/* dS/dI from what squared differences are worth, which are summed along x here. */
__kernel void mind_derivative(__global float *scratch, int image, int worth, int4 pitch, int length, int to)
{
    int i = get_global_id(0) * WIDE;
    if (i >= length)
        return;
    STEPS;
    const int step[6] = DIAGONALS;
    bool beyond = BEYOND(i, RADIUS + down + deep);
    real sum = 0.0f;
    for (int d = 0; d < 6 && !beyond; d++) {
        __global const float *values = VOLUME(image), *w = VOLUME(worth + d);
        sum += pulled(values, w, i, step[d], i) + pulled(values, w, i, -step[d], i - step[d]);
    }
    PUT(sum, VOLUME(to) + i);
}
