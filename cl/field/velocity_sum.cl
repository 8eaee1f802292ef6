/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of many velocities, a subject at a time: sum += weight (u - back) / 2 as whole numbers of UNIT, whose sums do
 * not depend on their order. The host adds the same whole numbers (velocity_sum.h): each step rounds once. */
#define UNIT 0x1p34f
#define MOST 4096.0f

static inline long whole(float u, float back, float weight)
{
    float v = weight * (0.5f * (u - back));
    return fabs(v) <= FLT_MAX ? convert_long_rte(clamp(v, -MOST, MOST) * UNIT) : 0;
}

/* MARCH numbers a work-item. */
__kernel void velocity_sum_lanes(__global const float *u, __global const float *back, float weight,
                                 __global long *sum, int n)
{
    int first = get_group_id(0) * TILE_X * MARCH + get_local_id(0);
    for (int step = 0; step < MARCH; step++) {
        int i = first + step * TILE_X;
        if (i < n)
            sum[i] += whole(u[i], back[i], weight);
    }
}

/* A long run of memory for each work-item. */
__kernel void velocity_sum_runs(__global const float *u, __global const float *back, float weight,
                                __global long *sum, int n)
{
    int first = get_global_id(0) * MARCH, end = min(first + MARCH, n);
    for (int i = first; i < end; i++)
        sum[i] += whole(u[i], back[i], weight);
}
