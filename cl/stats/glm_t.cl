/* SPDX-License-Identifier: Apache-2.0 */
/* Student's t at every voxel, of BATCH permutations in one pass over the data: residuals e of unit length,
 * of which blocks of BLOCK voxels lie together, subject by subject. With a permutation's weights w_0 of the
 * tested column and w_j of its nuisances, from weights[start] on: r = w_0 e, t = r sqrt(dof / (1 - sum_j
 * (w_j e)^2 - r^2)), 0 where no more than least is left. The largest t of a permutation is kept as an
 * integer of the same order, so that groups may join theirs in any order. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"

static inline int ordered(float value)
{
    int bits = as_int(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

GROUP_REDUCTION(join_largest, float, max)

#define CHUNK 8

/* The share of the variance that one permutation leaves, from the residuals themselves: near a perfect fit
 * rounding hides it in 1 - sum. A sum over the subjects keeps its own rounding apart (Kahan), of which the
 * squares are small. */
static float share_left(__global const float *e, __global const float *weights, int subjects, int vectors)
{
    float sum = 0.0f;
    for (int begin = 0; begin < subjects; begin += CHUNK) {
        float rest[CHUNK];
        for (int i = 0; i < CHUNK; i++)
            rest[i] = begin + i < subjects ? e[(begin + i) * BLOCK] : 0.0f;
        for (int j = 0; j < vectors; j++) {
            __global const float *w = weights + j * subjects * BATCH;
            float r = 0.0f, lost = 0.0f;
            for (int s = 0; s < subjects; s++) {
                const float term = w[s * BATCH] * e[s * BLOCK] - lost, more = r + term;
                lost = (more - r) - term;
                r = more;
            }
            for (int i = 0; i < CHUNK; i++)
                if (begin + i < subjects)
                    rest[i] -= r * w[(begin + i) * BATCH];
        }
        for (int i = 0; i < CHUNK; i++)
            sum += rest[i] * rest[i];
    }
    return sum;
}

/* A voxel a work-item, one after another; the group's largest t at its end. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
glm_t_items(__global const float *data, __global const float *weights, int start, int subjects, int vectors, int voxels,
            float dof, int absolute, int permutations, int slot, int first, __global const float *least,
            __global const float *threshold, __global int *count, __global int *largest, __global float *maps)
{
    __local float shared[BATCH * TILE_X];
    const int lane = get_local_id(0), begin = get_group_id(0) * GROUP_X;
    float most[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        most[k] = -INFINITY;
    for (int v = begin + lane; v < min(begin + GROUP_X, voxels); v += TILE_X) {
        __global const float *e = data + v / BLOCK * subjects * BLOCK + v % BLOCK;
        float r[BATCH], left[BATCH];
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            left[k] = 1.0f;
        /* The tested column comes last and leaves its sum in r. */
        for (int j = vectors - 1; j >= 0; j--) {
            __global const float *w = weights + start + j * subjects * BATCH;
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                r[k] = 0.0f;
            for (int s = 0; s < subjects; s++) {
                const float value = e[s * BLOCK];
#pragma unroll
                for (int k = 0; k < BATCH; k++)
                    r[k] += w[s * BATCH + k] * value;
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++)
                left[k] -= r[k] * r[k];
        }
        int near = 0;
#pragma unroll
        for (int k = 0; k < BATCH; k++)
            near |= (left[k] < NEAR) << k;
        for (int k = 0; near && k < permutations; k++)
            if (near >> k & 1)
                shared[k * TILE_X + lane] = share_left(e, weights + start + k, subjects, vectors);
        const float limit = threshold ? threshold[first + v] : INFINITY, none = least[v];
        int reached = 0;
#pragma unroll
        for (int k = 0; k < BATCH; k++) {
            if (k < permutations && (near >> k & 1))
                left[k] = shared[k * TILE_X + lane];
            const float t = left[k] > none ? r[k] * sqrt(dof / left[k]) : 0.0f;
            const float value = absolute ? fabs(t) : t;
            most[k] = max(most[k], value);
            reached += k < permutations && value >= limit;
            if (maps && k < permutations)
                maps[k * voxels + v] = t;
        }
        if (count)
            count[first + v] += reached;
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++)
        shared[k * TILE_X + lane] = most[k];
    join_largest(shared, BATCH, lane, TILE_X, 1);
    for (int k = lane; k < permutations; k += TILE_X)
        atomic_max(&largest[slot + k], ordered(shared[k * TILE_X]));
}

static inline float largest_of(float8 v)
{
    float4 four = max(v.lo, v.hi);
    float2 two = max(four.lo, four.hi);
    return max(two.x, two.y);
}

#define PART 8

/* Eight voxels at a time, and PART of the permutations, whose sums stay in registers. */
__kernel void glm_t_rows(__global const float *data, __global const float *weights, int start, int subjects, int vectors,
                         int voxels, float dof, int absolute, int permutations, int slot, int first,
                         __global const float *least, __global const float *threshold, __global int *count,
                         __global int *largest, __global float *maps)
{
    const int begin = get_group_id(0) * GROUP_X, end = min(begin + GROUP_X, voxels);
    float most[BATCH];
    for (int k = 0; k < BATCH; k++)
        most[k] = -INFINITY;
    for (int v = begin; v < end; v += 8) {
        __global const float *e = data + v / BLOCK * subjects * BLOCK + v % BLOCK;
        const int lanes = min(8, end - v); /* blocks are whole: behind the last voxel lie zeros */
        float limits[8] = {0};
        for (int i = 0; i < lanes; i++)
            limits[i] = least[v + i];
        const float8 none = GET8(limits);
        for (int part = 0; part < permutations; part += PART) {
            float8 r[PART], left[PART];
#pragma unroll
            for (int k = 0; k < PART; k++)
                left[k] = 1.0f;
            for (int j = vectors - 1; j >= 0; j--) {
                __global const float *w = weights + start + j * subjects * BATCH + part;
#pragma unroll
                for (int k = 0; k < PART; k++)
                    r[k] = 0.0f;
                for (int s = 0; s < subjects; s++) {
                    const float8 value = LOAD8(e + s * BLOCK);
#pragma unroll
                    for (int k = 0; k < PART; k++)
                        r[k] += w[s * BATCH + k] * value;
                }
#pragma unroll
                for (int k = 0; k < PART; k++)
                    left[k] -= r[k] * r[k];
            }
            for (int k = 0; k < PART && part + k < permutations; k++) {
                float found[8];
                if (any(left[k] < NEAR)) {
                    PUT8(left[k], found);
                    for (int i = 0; i < lanes; i++)
                        if (found[i] < NEAR)
                            found[i] = share_left(e + i, weights + start + part + k, subjects, vectors);
                    left[k] = GET8(found);
                }
                const float8 t = left[k] > none ? r[k] * sqrt(dof / left[k]) : (float8)(0.0f);
                const float8 value = absolute ? fabs(t) : t;
                PUT8(value, found);
                if (lanes == 8) {
                    most[part + k] = max(most[part + k], largest_of(value));
                    if (maps)
                        STORE8(t, maps + (part + k) * voxels + v);
                } else {
                    float all[8];
                    PUT8(t, all);
                    for (int i = 0; i < lanes; i++) {
                        most[part + k] = max(most[part + k], found[i]);
                        if (maps)
                            maps[(part + k) * voxels + v + i] = all[i];
                    }
                }
                if (count)
                    for (int i = 0; i < lanes; i++)
                        count[first + v + i] += found[i] >= threshold[first + v + i];
            }
        }
    }
    for (int k = 0; k < permutations; k++)
        atomic_max(&largest[slot + k], ordered(most[k]));
}
