/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of many velocities, a subject at a time: sum += weight (u - back) / 2 as whole numbers, `unit`
 * of them a mm, whose sums do not depend on their order. The host adds the same whole numbers
 * (velocity_sum.h): each step rounds once. */
#define MOST 256.0f

/* V, I: float and int, or vectors of them. What is not finite adds nothing. */
#define WHOLE(V, I, u, back, v)                      \
    v = weight * (0.5f * ((u) - (back)));            \
    v = fabs(v) <= (V)(FLT_MAX) ? v : (V)(0.0f);     \
    v = clamp(v, -MOST, MOST) * unit;                \
    units = convert_##I##_rte(v)

static inline int whole(float u, float back, float weight, float unit)
{
    float v;
    int units;
    WHOLE(float, int, u, back, v);
    return units;
}

static inline int8 whole8(float8 u, float8 back, float weight, float unit)
{
    float8 v;
    int8 units;
    WHOLE(float8, int8, u, back, v);
    return units;
}

/* MARCH numbers a work-item. */
__kernel void velocity_sum_lanes(__global const float *u, __global const float *back, float weight,
                                 float unit, __global int *sum, int n)
{
    uint first = get_group_id(0) * TILE_X * MARCH + get_local_id(0);
    for (int step = 0; step < MARCH; step++) {
        uint i = first + step * TILE_X;
        if (i < (uint)n)
            sum[i] += whole(u[i], back[i], weight, unit);
    }
}

/* A long run of memory for each work-item, eight numbers at a time. */
__kernel void velocity_sum_runs(__global const float *u, __global const float *back, float weight,
                                float unit, __global int *sum, int n)
{
    int i = get_global_id(0) * MARCH, end = min(i + MARCH, n);
    for (; i + 8 <= end; i += 8)
        vstore8(vload8(0, sum + i) + whole8(vload8(0, u + i), vload8(0, back + i), weight, unit), 0,
                sum + i);
    for (; i < end; i++)
        sum[i] += whole(u[i], back[i], weight, unit);
}
