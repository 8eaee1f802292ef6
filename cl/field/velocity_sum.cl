/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of many velocities, a subject at a time: sum += weight (u - back) / 2 as whole numbers of UNIT, whose sums do
 * not depend on their order. The host adds the same whole numbers (velocity_sum.h): each step rounds once. */
#define UNIT 0x1p34f
#define MOST 4096.0f

/* V, L: float and long, or vectors of them. What is not finite adds nothing. */
#define WHOLE(V, L, u, back, v)                      \
    v = weight * (0.5f * ((u) - (back)));            \
    v = fabs(v) <= (V)(FLT_MAX) ? v : (V)(0.0f);     \
    v = clamp(v, -MOST, MOST) * UNIT;                \
    units = convert_##L##_rte(v)

static inline long whole(float u, float back, float weight)
{
    float v;
    long units;
    WHOLE(float, long, u, back, v);
    return units;
}

static inline long8 whole8(float8 u, float8 back, float weight)
{
    float8 v;
    long8 units;
    WHOLE(float8, long8, u, back, v);
    return units;
}

/* MARCH numbers a work-item. */
__kernel void velocity_sum_lanes(__global const float *u, __global const float *back, float weight,
                                 __global long *sum, int n)
{
    uint first = get_group_id(0) * TILE_X * MARCH + get_local_id(0);
    for (int step = 0; step < MARCH; step++) {
        uint i = first + step * TILE_X;
        if (i < (uint)n)
            sum[i] += whole(u[i], back[i], weight);
    }
}

/* A long run of memory for each work-item, eight numbers at a time. */
__kernel void velocity_sum_runs(__global const float *u, __global const float *back, float weight,
                                __global long *sum, int n)
{
    int i = get_global_id(0) * MARCH, end = min(i + MARCH, n);
    for (; i + 8 <= end; i += 8)
        vstore8(vload8(0, sum + i) + whole8(vload8(0, u + i), vload8(0, back + i), weight), 0, sum + i);
    for (; i < end; i++)
        sum[i] += whole(u[i], back[i], weight);
}
