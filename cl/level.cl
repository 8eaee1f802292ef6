/* SPDX-License-Identifier: Apache-2.0 */
/* Signed distance to where values, linear between voxels, cross a level.
 *   near    voxels beside the level look for their nearest place on it
 *   (redistance.cl spreads the places)
 *   finish  every voxel moves along the level from the place it was given to
 *           the nearest one around */
#include "level.clh"

/* The nearest place of the cells around the voxel, from the middle of each that
 * the level passes through. */
static inline float4 near_at(__global const float *values, int4 at, int4 size, float4 spacing, float iso)
{
    bool inside = level_value(values, at, size, iso) > 0.0f, any = false;
    float least = INFINITY;
    float4 nearest = (float4)(0.0f);
    for (int k = -1; k <= 1; k++)
        for (int j = -1; j <= 1; j++)
            for (int i = -1; i <= 1; i++) {
                int4 to = at + (int4)(i, j, k, 0);
                if (!in_grid(to, size) || (level_value(values, to, size, iso) > 0.0f) == inside)
                    continue;
                any = true;
                float4 place = 0.5f * convert_float4((int4)(i, j, k, 0));
                float d = nearest_from(values, at, size, spacing, iso, &place, 4);
                nearest = d < least ? place : nearest;
                least = fmin(d, least);
            }
    return any && least < INFINITY ? make_place(at, nearest) : no_place();
}

__kernel void level_near(__global const float *values, __global float *places, int4 size, float4 spacing,
                         float iso)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    int i = (z * size.y + y) * size.x + x, n = size.x * size.y * size.z;
    if (x < size.x && y < size.y && z < size.z)
        store_place(near_at(values, (int4)(x, y, z, 0), size, spacing, iso), places, i, n);
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

__kernel void level_near_row(__global const float *values, __global float *places, int4 size, float4 spacing,
                             float iso)
{
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    const int row = (z * size.y + y) * size.x;
    bool inner = y > 0 && z > 0 && y + 1 < size.y && z + 1 < size.z;
    for (int x = 0; x < size.x;) {
        bool run = inner && x > 0 && x + 8 < size.x;
        int end = x + (run ? 8 : 1);
        bool beside = !run || beside8(values, (int4)(x, y, z, 0), size, iso);
        for (; x < end; x++)
            store_place(beside ? near_at(values, (int4)(x, y, z, 0), size, spacing, iso) : no_place(), places,
                        row + x, n);
    }
}

static inline float finish_at(__global const float *values, float4 found, int4 at, int4 size, float4 spacing,
                              float iso, float reach)
{
    float side = level_value(values, at, size, iso) > 0.0f ? -1.0f : 1.0f;
    if (!is_place(found))
        return side * reach;
    float4 place = offset_to(found, at);
    float d = length3(place * spacing);
    if (d < MOVED_WITHIN * fmax(spacing.x, fmax(spacing.y, spacing.z)))
        d = fmin(d, nearest_from(values, at, size, spacing, iso, &place, 6));
    return side * fmin(d, reach);
}

__kernel void level_finish(__global const float *values, __global const float *places, int from,
                           __global float *out, int4 size, float4 spacing, float iso, float reach)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int i = (z * size.y + y) * size.x + x, n = size.x * size.y * size.z;
    out[i] = finish_at(values, load_place(places + from, i, n), (int4)(x, y, z, 0), size, spacing, iso,
                       reach);
}

__kernel void level_finish_row(__global const float *values, __global const float *places, int from,
                               __global float *out, int4 size, float4 spacing, float iso, float reach)
{
    int y = get_global_id(1), z = get_global_id(2), n = size.x * size.y * size.z;
    if (y >= size.y || z >= size.z)
        return;
    for (int x = 0, i = (z * size.y + y) * size.x; x < size.x; x++, i++)
        out[i] = finish_at(values, load_place(places + from, i, n), (int4)(x, y, z, 0), size, spacing, iso,
                           reach);
}
