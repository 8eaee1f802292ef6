/* SPDX-License-Identifier: Apache-2.0 */
/* The energies of unbiased registration: each work-group adds up a run of rows
 * into partial[4 group ...]; one more work-group adds the groups. The order is
 * fixed by the size and the tile. The values: image term, penalty, smallest J,
 * number of J that are not above 0. */
#include "common/group_reduce.clh"
#include "fluid/force.clh"
#include "fluid/residual_row.clh"

#define ENERGY_ARGUMENTS                                                                      \
    __global const float *moving, int4 moving_size, __global const float *fixed,              \
        __global const float *mask, __global const float *u, grid on, map m,                  \
        __global float *partial

static inline float image_energy(__global const float *moving, int4 moving_size,
                                 __global const float *fixed, __global const float *mask, vec1 u,
                                 int x, int y, int z, int i, map m)
{
    vec1 gradient;
    float r = residual(moving, moving_size, fixed[i], u, x, y, z, m, &gradient);
    r *= 0.5f * r;
#if MASK
    r *= mask[i];
#endif
    return r;
}

/* A running sum that keeps what each addition lost. */
static inline void add(float *sum, float *lost, float term)
{
    float y = term - *lost, t = *sum + y;
    *lost = (t - *sum) - y;
    *sum = t;
}

/* Adds a work-group's values in a tree whose shape depends on TILE_X alone. */
static inline float4 join(float4 a, float4 b)
{
    return (float4)(a.x + b.x, a.y + b.y, fmin(a.z, b.z), a.w + b.w);
}

GROUP_REDUCTION(join_cells, float4, join)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void energy_group(ENERGY_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float4 cell[TILE_X];
    int item = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    int n = size.x * size.y * size.z, rows = size.y * size.z;
    int each = (rows + groups - 1) / groups;
    int from = min(group * each, rows) * size.x, to = min((group + 1) * each, rows) * size.x;
    float sum0 = 0.0f, lost0 = 0.0f, sum1 = 0.0f, lost1 = 0.0f, least = INFINITY, folded = 0.0f;
    for (int i = from + item; i < to; i += TILE_X) {
        int row = i / size.x, x = i - row * size.x, z = row / size.y, y = row - z * size.y;
        add(&sum0, &lost0,
            image_energy(moving, moving_size, fixed, mask, load_vec1(u, i, n), x, y, z, i, m));
        vec1 ax, ay, az;
        columns1(u, i, n, ends_at(x, size.x, 1, inverse.x), ends_at(y, size.y, size.x, inverse.y),
                 ends_at(z, size.z, size.x * size.y, inverse.z), &ax, &ay, &az);
        float j = dot1(ax, cross1(ay, az));
        add(&sum1, &lost1, penalty_value1(j));
        least = fmin(least, j);
        folded += j > 0.0f ? 0.0f : 1.0f;
    }
    cell[item] = (float4)(sum0, sum1, least, folded);
    join_cells(cell, 1, item, TILE_X, 1);
    if (item == 0)
        vstore4(cell[0], group, partial);
}

static inline float sum_of8(float8 v)
{
    float4 a = v.lo + v.hi;
    return (a.x + a.z) + (a.y + a.w);
}

/* A work-item's rows one after another, eight voxels at a time: no barriers. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void energy_row(ENERGY_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int group = get_group_id(0), groups = get_num_groups(0);
    int n = size.x * size.y * size.z, rows = size.y * size.z;
    int each = (rows + groups - 1) / groups;
    float sum0 = 0.0f, lost0 = 0.0f, sum1 = 0.0f, lost1 = 0.0f, least = INFINITY, folded = 0.0f;
    float8 least8 = INFINITY;
    for (int row = group * each; row < min((group + 1) * each, rows); row++) {
        int z = row / size.y, y = row - z * size.y, first = row * size.x, x = 0;
        ends ey = ends_at(y, size.y, size.x, inverse.y);
        ends ez = ends_at(z, size.z, size.x * size.y, inverse.z);
        float image = 0.0f, penalty = 0.0f;
        float8 image8 = 0.0f;
        int k = 0;
        while (k + 8 <= size.x) {
            int count = min(CHUNK, (size.x - k) / 8 * 8);
            row_part part;
            read_part(&part, moving, moving_size, u, n, first, k, y, z, count, m);
            for (int c = 0; c < count; c += 8) {
                vec8 gradient;
                float8 r = residual8(&part, c, LOAD8(fixed + first + k + c), &gradient);
                r *= 0.5f * r;
#if MASK
                r *= LOAD8(mask + first + k + c);
#endif
                image8 += r;
            }
            k += count;
        }
        for (; k < size.x; k++)
            image += image_energy(moving, moving_size, fixed, mask, load_vec1(u, first + k, n), k, y,
                                  z, first + k, m);
        float8 penalty8 = 0.0f, folded8 = 0.0f;
        while (x < size.x) {
            if (x >= 1 && x + 9 <= size.x) {
                vec8 ax, ay, az;
                columns8(u, first + x, n, ends_at(1, 3, 1, inverse.x), ey, ez, &ax, &ay, &az);
                float8 j = dot8(ax, cross8(ay, az));
                penalty8 += penalty_value8(j);
                least8 = fmin(least8, j);
                folded8 += select((float8)1.0f, (float8)0.0f, j > 0.0f);
                x += 8;
            } else {
                vec1 ax, ay, az;
                columns1(u, first + x, n, ends_at(x, size.x, 1, inverse.x), ey, ez, &ax, &ay, &az);
                float j = dot1(ax, cross1(ay, az));
                penalty += penalty_value1(j);
                least = fmin(least, j);
                folded += j > 0.0f ? 0.0f : 1.0f;
                x++;
            }
        }
        add(&sum0, &lost0, image + sum_of8(image8));
        add(&sum1, &lost1, penalty + sum_of8(penalty8));
        folded += sum_of8(folded8);
    }
    float4 four = fmin(least8.lo, least8.hi);
    least = fmin(least, fmin(fmin(four.x, four.y), fmin(four.z, four.w)));
    vstore4((float4)(sum0, sum1, least, folded), group, partial);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void energy_total(__global const float *partial, int groups, __global float *out, int slot)
{
    __local float4 cell[TILE_X];
    int item = get_local_id(0);
    float4 mine = (float4)(0.0f, 0.0f, INFINITY, 0.0f);
    for (int i = item; i < groups; i += TILE_X)
        mine = join(mine, vload4(i, partial));
    cell[item] = mine;
    join_cells(cell, 1, item, TILE_X, 1);
    if (item == 0) {
        out[slot] = cell[0].x;
        out[slot + 1] = cell[0].y;
        out[slot + 2] = cell[0].z;
        out[slot + 3] = cell[0].w;
    }
}
