/* SPDX-License-Identifier: Apache-2.0 */
/* The weighted mean of many images, one at a time: of each voxel weight x and the weight are added to a
 * pair of whole numbers, whose sums do not depend on their order. What is not finite adds neither. */

/* Contribution of one voxel. */
static inline int2 whole(float x, float weight, int whole_weight, float unit, float most)
{
    const bool there = fabs(x) <= FLT_MAX;
    const float v = clamp(weight * (there ? x : 0.0f) * unit, -most, most);
    return (int2)(convert_int_rte(v), there ? whole_weight : 0);
}

/* MARCH numbers a work-item. */
__kernel void weighted_sum_lanes(__global const float *x, float weight, int whole_weight, float unit,
                                 float most, __global int2 *sums, int n)
{
    uint first = get_group_id(0) * TILE_X * MARCH + get_local_id(0);
    for (int step = 0; step < MARCH; step++) {
        uint i = first + step * TILE_X;
        if (i < (uint)n)
            sums[i] += whole(x[i], weight, whole_weight, unit, most);
    }
}

/* A long run of memory for each work-item, eight numbers at a time. */
__kernel void weighted_sum_runs(__global const float *x, float weight, int whole_weight, float unit,
                                float most, __global int2 *sums, int n)
{
    int i = get_global_id(0) * MARCH, end = min(i + MARCH, n);
    for (; i + 8 <= end; i += 8) {
        const float8 value = vload8(0, x + i);
        const int8 there = fabs(value) <= (float8)(FLT_MAX); /* all bits, or none */
        const float8 v = clamp(weight * select((float8)(0.0f), value, there) * unit, -most, most);
        int16 pairs;
        pairs.even = convert_int8_rte(v);
        pairs.odd = there & (int8)(whole_weight);
        __global int *at = (__global int *)(sums + i);
        vstore16(vload16(0, at) + pairs, 0, at);
    }
    for (; i < end; i++)
        sums[i] += whole(x[i], weight, whole_weight, unit, most);
}
