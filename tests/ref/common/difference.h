/* SPDX-License-Identifier: Apache-2.0 */
/* Central differences, one-sided at the border, 0 along an axis of one voxel. */
#ifndef REF_COMMON_DIFFERENCE_H
#define REF_COMMON_DIFFERENCE_H

/* The slope of a along axis at one voxel, by the unit of spacing. */
static inline double ref_difference(const float *a, const int size[3], const float spacing[3],
                                    const int at[3], int axis)
{
    int before[3] = {at[0], at[1], at[2]}, after[3] = {at[0], at[1], at[2]};
    if (at[axis] > 0)
        before[axis]--;
    if (at[axis] < size[axis] - 1)
        after[axis]++;
    if (after[axis] == before[axis])
        return 0;
    double high = a[(after[2] * size[1] + after[1]) * size[0] + after[0]];
    double low = a[(before[2] * size[1] + before[1]) * size[0] + before[0]];
    return (high - low) / ((after[axis] - before[axis]) * (double)spacing[axis]);
}

#endif
