/* SPDX-License-Identifier: Apache-2.0 */
/* Total variations of the six entries of a tensor field, and its energy, in two
 * launches of fixed order. Built with DATA 1 for the energy, PAPER for whose. */
#include "tensor_tv8.clh"

#ifndef PAPER
#define PAPER 0
#endif
#define COUNT(c) ((c) == 0 || (c) == 3 || (c) == 5 ? 1.0f : 2.0f)

/* Eight sums: six of TV[d_ij], the shared norm, and (with DATA) |d - f|^2 over
 * all nine entries. */
#ifndef DATA
#define DATA 0
#endif

static inline void add_voxel(__global const float *d, __global const float *f, int here, int i, int4 size,
                             float4 w, float eps, float sum[8])
{
    int n = size.x * size.y * size.z;
    int x = i + (here & 1 ? 1 : 0), y = i + (here & 2 ? size.x : 0);
    int z = i + (here & 4 ? size.x * size.y : 0);
    float shared = eps;
    if (!(here & 8))
        return;
#pragma unroll
    for (int c = 0; c < 6; c++, d += n) {
        float v = d[i], gx = w.x * (d[x] - v), gy = w.y * (d[y] - v), gz = w.z * (d[z] - v);
        float square = gx * gx + gy * gy + gz * gz;
        sum[c] += sqrt(square + eps);
        shared += COUNT(c) * square;
#if DATA
        float e = v - f[c * n + i];
        sum[7] += COUNT(c) * e * e;
#endif
    }
    sum[6] += sqrt(shared);
}

/* A work-group a chunk of voxels. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
tensor_tv_sums_groups(__global const float *d, __global const float *f, __global const uchar *links,
                      int4 size, float4 w, float eps, int chunk, __global float *partial)
{
    __local float shared[8 * TILE_X];
    int lane = get_local_id(0), n = size.x * size.y * size.z;
    int first = get_group_id(0) * chunk, end = first + min(chunk, n - first);
    float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int i = first + lane; i < end; i += TILE_X)
        add_voxel(d, f, links[i], i, size, w, eps, sum);
    for (int s = 0; s < 8; s++)
        shared[s * TILE_X + lane] = sum[s];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int reach = TILE_X / 2; reach > 0; reach /= 2) {
        if (lane < reach)
            for (int s = 0; s < 8; s++)
                shared[s * TILE_X + lane] += shared[s * TILE_X + lane + reach];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane < 8)
        partial[8 * get_group_id(0) + lane] = shared[lane * TILE_X];
}

static inline float total8(float8 v)
{
    float4 four = v.lo + v.hi;
    float2 two = four.lo + four.hi;
    return two.x + two.y;
}

/* A work-item a chunk of rows. */
__kernel void tensor_tv_sums_rows(__global const float *d, __global const float *f,
                                  __global const uchar *links, int4 size, float4 w, float eps, int chunk,
                                  __global float *partial)
{
    int rows = size.y * size.z, n = rows * size.x, plane = size.x * size.y;
    int first = get_group_id(0) * chunk, end = first + min(chunk, rows - first);
    float8 sum8[8];
    float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (int s = 0; s < 8; s++)
        sum8[s] = (float8)(0.0f);
    for (int row = first; row < end; row++) {
        int z = row / size.y, y = row - z * size.y, x = 0;
        int y_next = y + 1 < size.y ? size.x : 0, z_next = z + 1 < size.z ? plane : 0;
        for (; x + 8 <= size.x; x += 8) {
            int i = row * size.x + x;
            if (i + 8 == n) /* nothing lies behind the field */
                break;
            int8 here = links8(links + i);
            float8 shared = (float8)(eps);
            for (int c = 0; c < 6; c++) {
                __global const float *p = d + c * n + i;
                float8 v = LOAD8(p);
                float8 gx = CUT(LOAD8(p + 1) - v, BIT(here, 1)) * w.x;
                float8 gy = CUT(LOAD8(p + y_next) - v, BIT(here, 2)) * w.y;
                float8 gz = CUT(LOAD8(p + z_next) - v, BIT(here, 4)) * w.z;
                float8 square = gx * gx + gy * gy + gz * gz;
                sum8[c] += CUT(sqrt(square + eps), BIT(here, 8));
                shared += COUNT(c) * square;
#if DATA
                float8 e = CUT(v - LOAD8(f + c * n + i), BIT(here, 8));
                sum8[7] += COUNT(c) * e * e;
#endif
            }
            sum8[6] += CUT(sqrt(shared), BIT(here, 8));
        }
        for (; x < size.x; x++)
            add_voxel(d, f, links[row * size.x + x], row * size.x + x, size, w, eps, sum);
    }
    for (int s = 0; s < 8; s++)
        partial[8 * get_group_id(0) + s] = sum[s] + total8(sum8[s]);
}

/* From the eight sums to the places of src/op/tensor_tv.h. */
static inline void finish(__global float *state, const float *sum, float lambda)
{
    float square = 0.0f;
    for (int c = 0; c < 6; c++)
        square += COUNT(c) * sum[c] * sum[c];
    float total = sqrt(square), data = 0.5f * lambda * sum[7];
    for (int c = 0; c < 6; c++) {
        state[c] = sum[c];
        state[8 + c] = total > 0.0f ? sum[c] / total : 0.0f;
    }
    state[16] = total;
    state[17] = sum[6];
    state[18] = data;
    state[19] = (PAPER ? total : sum[6]) + data;
}

/* Eight lanes a strip of the partial sums. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
tensor_tv_last_group(__global const float *partial, int count, float lambda, __global float *state)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0);
    float sum = 0.0f;
    for (int i = lane; i < 8 * count; i += TILE_X)
        sum += partial[i];
    shared[lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane == 0) {
        float all[8];
        for (int s = 0; s < 8; s++) {
            all[s] = 0.0f;
            for (int k = s; k < TILE_X; k += 8)
                all[s] += shared[k];
        }
        finish(state, all, lambda);
    }
}

__kernel void tensor_tv_last_item(__global const float *partial, int count, float lambda,
                                  __global float *state)
{
    float8 sum = 0.0f;
    float all[8];
    for (int i = 0; i < count; i++)
        sum += LOAD8(partial + 8 * i);
    PUT8(sum, all);
    finish(state, all, lambda);
}
