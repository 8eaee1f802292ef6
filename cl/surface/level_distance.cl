/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distance to where values, linear between voxels, cross a level.
 *   near    voxels beside the level look for their closest point on it
 *   (redistance.cl spreads the points)
 *   finish  every voxel moves along the level from the point it was given to
 *           the nearest one around */
#include "surface/cells.clh"
#include "common/closest_point.clh"
#include "common/sample.clh"

/* ---- the closest point of the level ------------------------------------- */

/* Within so many voxels points are moved along the level. */
#define MOVED_WITHIN 10.0f
/* Share of a voxel to which a point lies on the level. */
#define ON_LEVEL 2e-4f

/* Above 0 inside; NaN lies outside. */
static inline float above(float value, float iso)
{
    float v = value - iso;
    return isnan(v) ? -1.0f : clamp(v, -1e15f, 1e15f);
}

static inline float level_value(__global const float *values, int4 at, int4 size, float iso)
{
    return above(values[index_of(at, size)], iso);
}

/* The value at `at` + offset (in voxels), and its gradient in units a voxel.
 * Beyond the border the outermost cells go on. */
static inline float sample(__global const float *values, int4 at, float4 offset, int4 size, float iso,
                           float4 *gradient)
{
    int4 low = max(min(at + convert_int4(floor(offset)), size - 2), (int4)(0));
    low.w = 0;
    float4 t = offset - convert_float4(low - at);
    cell c = {index_of(low, size), size.x > 1 ? 1 : 0, size.y > 1 ? size.x : 0,
              size.z > 1 ? size.x * size.y : 0};
#define READ_ABOVE(i) above(values[i], iso)
    float v[8] = CORNERS(READ_ABOVE, c), gx, gy, gz, value = trilinear(v, t.x, t.y, t.z, &gx, &gy, &gz);
    *gradient = (float4)(gx, gy, gz, 0.0f);
    return value;
}

/* Moves the offset onto the level along the gradient, half a voxel at a time at
 * most; false where it does not get there. */
static inline bool onto_level(__global const float *values, int4 at, int4 size, float4 spacing, float iso,
                              float4 *offset, float4 *gradient)
{
    for (int i = 0; i < 6; i++) {
        float v = sample(values, at, *offset, size, iso, gradient);
        float steep = dot3(*gradient, *gradient), length = sqrt(steep);
        if (fabs(v) <= ON_LEVEL * length && length > 0.0f)
            return true;
        if (!(length > 0.0f))
            return false;
        *offset -= *gradient * (v / steep) * fmin(1.0f, 0.5f * length / fabs(v));
    }
    return false;
}

/* From *offset (from voxel `at`) onto the level and then along it towards the
 * voxel, in steps that are kept only where they come nearer. Returns the
 * distance, INFINITY where the level was not reached. */
static inline float nearest_from(__global const float *values, int4 at, int4 size, float4 spacing, float iso,
                                 float4 *offset, int steps)
{
    float4 gradient;
    if (!onto_level(values, at, size, spacing, iso, offset, &gradient))
        return INFINITY;
    float least = length3(*offset * spacing), pace = 1.0f, edge = fmin(spacing.x, fmin(spacing.y, spacing.z));
    for (int i = 0; i < steps; i++) {
        float4 physical = gradient / spacing, way = *offset * spacing, to, gradient_there;
        float4 along = way - physical * (dot3(way, physical) / dot3(physical, physical));
        float length = length3(along);
        if (length < 1e-3f * edge)
            break;
        to = *offset - along / spacing * (pace * fmin(1.0f, edge / length));
        bool there = onto_level(values, at, size, spacing, iso, &to, &gradient_there);
        float d = length3(to * spacing);
        bool nearer = there && d < least;
        *offset = nearer ? to : *offset;
        gradient = nearer ? gradient_there : gradient;
        least = nearer ? d : least;
        pace *= nearer ? 1.0f : 0.4f;
    }
    return least;
}

/* ---- near --------------------------------------------------------------- */

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

/* ---- finish ------------------------------------------------------------- */

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
