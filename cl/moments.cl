/* SPDX-License-Identifier: Apache-2.0 */
/* Moments of each row along x: sum of weights, mean x and sum of
 * w (x - mean)^2, three floats a row. Sums about the row's own mean lose
 * nothing when the weights sit far from the origin. */

#include "field8.clh"

static inline float usable(float w)
{
    return w > 0.0f && w <= FLT_MAX ? w : 0.0f;
}

static inline float8 usable8(float8 w)
{
    return ((w > 0.0f) & (w <= FLT_MAX)) ? w : (float8)(0.0f);
}

static inline float sum8(float8 v)
{
    float4 four = v.lo + v.hi;
    return (four.x + four.y) + (four.z + four.w);
}

static inline float sum_group(float mine, __local float *shared)
{
    int lane = get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    shared[lane] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = TILE_X / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            shared[lane] += shared[lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    return shared[0];
}

/* A work-group a row: groups (ny, nz). */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
moments_groups(__global const float *weights, int4 size, __global float *rows)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0), row = get_group_id(1) * size.y + get_group_id(0);
    __global const float *w = weights + row * size.x;
    float middle = (float)(size.x / 2), sum = 0.0f, first = 0.0f, second = 0.0f;
    for (int x = lane; x < size.x; x += TILE_X) {
        float here = usable(w[x]);
        sum += here;
        first += here * ((float)x - middle);
    }
    sum = sum_group(sum, shared);
    first = sum_group(first, shared);
    float mean = sum > 0.0f ? middle + first / sum : 0.0f;
    for (int x = lane; x < size.x; x += TILE_X) {
        float off = (float)x - mean;
        second += usable(w[x]) * off * off;
    }
    second = sum_group(second, shared);
    if (lane == 0) {
        rows[3 * row] = sum;
        rows[3 * row + 1] = mean;
        rows[3 * row + 2] = second;
    }
}

/* A work-item a row. */
__kernel void moments_row(__global const float *weights, int4 size, __global float *rows)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int row = z * size.y + y, whole = size.x & ~7;
    __global const float *w = weights + row * size.x;
    const float8 steps = (float8)(0, 1, 2, 3, 4, 5, 6, 7);
    float middle = (float)(size.x / 2);
    float8 sum8s = 0.0f, first8 = 0.0f, second8 = 0.0f;
    for (int x = 0; x < whole; x += 8) {
        float8 here = usable8(LOAD8(w + x));
        sum8s += here;
        first8 += here * (steps + ((float)x - middle));
    }
    float sum = sum8(sum8s), first = sum8(first8);
    for (int x = whole; x < size.x; x++) {
        float here = usable(w[x]);
        sum += here;
        first += here * ((float)x - middle);
    }
    float mean = sum > 0.0f ? middle + first / sum : 0.0f;
    for (int x = 0; x < whole; x += 8) {
        float8 off = steps + (float)x - mean;
        second8 += usable8(LOAD8(w + x)) * off * off;
    }
    float second = sum8(second8);
    for (int x = whole; x < size.x; x++) {
        float off = (float)x - mean;
        second += usable(w[x]) * off * off;
    }
    rows[3 * row] = sum;
    rows[3 * row + 1] = mean;
    rows[3 * row + 2] = second;
}

/* A work-group a plane joins its rows: sum, mean x and y, and about them the
 * sums of w xx, w xy and w yy, six floats a plane. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
moments_planes(__global const float *rows, int4 size, __global float *planes)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0), z = get_group_id(0);
    __global const float *r = rows + 3 * z * size.y;
    float middle_x = (float)(size.x / 2), middle_y = (float)(size.y / 2);
    float sum = 0.0f, x = 0.0f, y = 0.0f, xx = 0.0f, xy = 0.0f, yy = 0.0f;
    for (int i = lane; i < size.y; i += TILE_X) {
        float here = r[3 * i];
        sum += here;
        x += here * (r[3 * i + 1] - middle_x);
        y += here * ((float)i - middle_y);
    }
    sum = sum_group(sum, shared);
    x = sum_group(x, shared);
    y = sum_group(y, shared);
    x = sum > 0.0f ? middle_x + x / sum : 0.0f;
    y = sum > 0.0f ? middle_y + y / sum : 0.0f;
    for (int i = lane; i < size.y; i += TILE_X) {
        float here = r[3 * i], dx = r[3 * i + 1] - x, dy = (float)i - y;
        xx += r[3 * i + 2] + here * dx * dx;
        xy += here * dx * dy;
        yy += here * dy * dy;
    }
    xx = sum_group(xx, shared);
    xy = sum_group(xy, shared);
    yy = sum_group(yy, shared);
    if (lane == 0) {
        __global float *p = planes + 6 * z;
        p[0] = sum;
        p[1] = x;
        p[2] = y;
        p[3] = xx;
        p[4] = xy;
        p[5] = yy;
    }
}
