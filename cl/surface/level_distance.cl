/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distance to where values, linear between voxels, cross a level.
 *   near    voxels beside the level look for their closest point on it
 *   (redistance.cl spreads the points)
 *   finish  every voxel moves along the level from the point it was given to
 *           the nearest one around */
#include "surface/cells.clh"
#include "surface/level_distance.clh"

/* Neighbour number m of 27. */
static inline int4 neighbour(int m)
{
    return (int4)(m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1, 0);
}

/* Whether neighbour m lies on the other side. */
static inline bool across(__global const float *values, int4 at, int m, int4 size, float iso, bool inside)
{
    int4 to = at + neighbour(m);
    return in_grid(to, size) && (level_value(values, to, size, iso) > 0.0f) != inside;
}

/* The closest point of the cells around the voxel, from the middle of each that
 * the level passes through. */
static inline float4 near_at(__global const float *values, int4 at, int4 size, float4 spacing, float iso)
{
    bool inside = level_value(values, at, size, iso) > 0.0f;
    float least = INFINITY;
    float4 nearest = (float4)(0.0f);
    for (int m = 0; m < 27; m++) {
        if (!across(values, at, m, size, iso, inside))
            continue;
        float4 point = 0.5f * convert_float4(neighbour(m));
        float d = nearest_from(values, at, size, spacing, iso, &point, 4);
        nearest = d < least ? point : nearest;
        least = fmin(d, least);
    }
    return least < INFINITY ? make_point(at, nearest) : no_point();
}

/* A work-group's tile with the voxels around it: which side each is on. */
#define RIM_X (TILE_X + 2)
#define RIM_Y (TILE_Y + 2)
#define RIMMED (RIM_X * RIM_Y * (TILE_Z + 2))
enum { OUTSIDE, INSIDE, BEYOND }; /* the grid */

/* In a first turn work-items share the pairs of a voxel beside the level and a
 * neighbour on the other side, in a second they go the best way once more. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
level_distance_near(__global const float *values, __global float *points, int cells, grid on,
           float iso)
{
    TAKE_GRID(on);
    __local ushort pairs[26 * GROUP], voxels[GROUP];
    __local uint best[GROUP]; /* distance, the last five bits of which are the neighbour's number */
    __local int count[2];
    __local uchar side[RIMMED];
    int lane = own_lane(), n = size.x * size.y * size.z;
    int4 at = voxel_of(lane);
    const int4 corner = voxel_of(0) - (int4)(1, 1, 1, 0);
    best[lane] = UINT_MAX;
    if (lane == 0)
        count[0] = count[1] = 0;
    for (int i = lane; i < RIMMED; i += GROUP) {
        int4 to = corner + (int4)(i % RIM_X, i / RIM_X % RIM_Y, i / (RIM_X * RIM_Y), 0);
        side[i] = !in_grid(to, size) ? BEYOND : level_value(values, to, size, iso) > 0.0f ? INSIDE : OUTSIDE;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (in_grid(at, size)) {
        const int4 own = at - corner;
        const int here = (own.z * RIM_Y + own.y) * RIM_X + own.x;
        const uchar other = side[here] == INSIDE ? OUTSIDE : INSIDE;
        uint others = 0; /* a bit for each neighbour on the other side */
#pragma unroll
        for (int m = 0; m < 27; m++)
            if (side[here + ((m / 9 - 1) * RIM_Y + m / 3 % 3 - 1) * RIM_X + m % 3 - 1] == other)
                others |= 1u << m;
        if (others) {
            voxels[atomic_inc(&count[1])] = lane;
            for (int to = atomic_add(&count[0], (int)popcount(others)); others; others &= others - 1)
                pairs[to++] = 32 * lane + 31 - (int)clz(others & -others);
        } else {
            store_point(no_point(), points, index_of(at, size), n);
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int turn = 0; turn < 2; turn++) {
        for (int i = lane; i < count[turn]; i += GROUP) {
            int voxel = turn ? voxels[i] : pairs[i] / 32, m = turn ? best[voxel] % 32 : pairs[i] % 32;
            float4 point = 0.5f * convert_float4(neighbour(m));
            at = voxel_of(voxel);
            float d = nearest_from(values, at, size, spacing, iso, &point, 4);
            if (turn == 0 && d < INFINITY)
                atomic_min(&best[voxel], (as_uint(d) & ~31u) | (uint)m);
            if (turn)
                store_point(d < INFINITY && best[voxel] < UINT_MAX ? make_point(at, point) : no_point(), points,
                            index_of(at, size), n);
            if (turn && i == 0)
                mark(points, cells, at, size);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* For eight voxels with neighbours all around: whether the level lies beside any. */
static inline bool beside8(__global const float *values, int4 at, int4 size, float iso)
{
    int8 some = (int8)(0), all_of = (int8)(-1);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int8 inside = LOAD8(values + index_of(at + (int4)(i, j, k, 0), size)) > iso;
                some |= inside;
                all_of &= inside;
            }
    return any(some & ~all_of);
}

__kernel void level_distance_near_row(__global const float *values, __global float *points, int cells, grid on,
                                      float iso)
{
    TAKE_GRID(on);
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    const int row = (z * size.y + y) * size.x;
    bool inner = y > 0 && z > 0 && y + 1 < size.y && z + 1 < size.z;
    for (int x = 0; x < size.x;) {
        bool run = inner && x > 0 && x + 8 < size.x;
        int end = x + (run ? 8 : 1);
        bool beside = !run || beside8(values, (int4)(x, y, z, 0), size, iso);
        if (beside) { /* a run may reach into the next cell */
            mark(points, cells, (int4)(x, y, z, 0), size);
            mark(points, cells, (int4)(end - 1, y, z, 0), size);
        }
        for (; x < end; x++)
            store_point(beside ? near_at(values, (int4)(x, y, z, 0), size, spacing, iso) : no_point(), points,
                        row + x, n);
    }
}

static inline float finish_at(__global const float *values, float4 found, int4 at, int4 size, float4 spacing,
                              float iso, float reach)
{
    float side = level_value(values, at, size, iso) > 0.0f ? -1.0f : 1.0f;
    if (!is_point(found))
        return side * reach;
    float4 point = offset_to(found, at);
    float d = length3(point * spacing);
    if (d < MOVED_WITHIN * fmax(spacing.x, fmax(spacing.y, spacing.z)))
        d = fmin(d, nearest_from(values, at, size, spacing, iso, &point, 6));
    return side * fmin(d, reach);
}

__kernel void level_distance_finish(__global const float *values, __global const float *points, int from,
                           __global float *out, grid on, float iso, float reach)
{
    TAKE_GRID(on);
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int i = (z * size.y + y) * size.x + x, n = size.x * size.y * size.z;
    out[i] = finish_at(values, load_point(points + from, i, n), (int4)(x, y, z, 0), size, spacing, iso,
                       reach);
}

__kernel void level_distance_finish_row(__global const float *values, __global const float *points, int from,
                               __global float *out, grid on, float iso, float reach)
{
    TAKE_GRID(on);
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0, i = (z * size.y + y) * size.x; x < size.x; x++, i++)
        out[i] = finish_at(values, load_point(points + from, i, n), (int4)(x, y, z, 0), size, spacing, iso,
                           reach);
}
