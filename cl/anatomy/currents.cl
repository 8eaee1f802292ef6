/* SPDX-License-Identifier: Apache-2.0 */
/* Inner products of surfaces as currents or varifolds, and their gradients: for each
 * target element i
 *   e_i = a_i sum_j k(x_i, y_j) b_j c_ij^P,  c_ij = n_i . m_j,  k = exp(-|x - y|^2 / h^2)
 * with areas a and b and unit normals n and m; P is 1 for currents, 2 for varifolds,
 * which take no notice of orientation. An element is two float4: centre, then unit
 * normal and area. BLOCK elements in a row have a box around them, two float4 as well:
 * pairs of boxes that k makes negligible are passed over. Of a surface and itself, halves
 * is set: of two blocks that meet twice only one looks at the other, and counts it twice.
 * Each block looks at the next half of them, so that all have the same to do. Built with
 * VARIFOLD and GRADIENT. Sums of a block are added with compensation: float32 alone would lose what
 * is left when inner products of like surfaces cancel. */
#include "common/group_reduce.clh"

#ifndef VARIFOLD
#define VARIFOLD 0
#endif
#ifndef GRADIENT
#define GRADIENT 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif

#if VARIFOLD
#define POWER(c) ((c) * (c))
#else
#define POWER(c) (c)
#endif

/* Squared distance of two boxes. */
static inline float apart(__global const float4 *a, __global const float4 *b)
{
    float3 gap = max(max(a[0].xyz - b[1].xyz, b[0].xyz - a[1].xyz), 0.0f);
    return dot(gap, gap);
}

/* How many blocks a block looks at, which one comes after so many, and how often it counts. */
#define LOOKED_AT(blocks) (halves ? (blocks) / 2 + 1 : (blocks))
static inline int nth_block(int step, int block, int blocks, int halves)
{
    int other = halves ? block + step : step;
    return other < blocks ? other : other - blocks;
}
static inline float counts(int step, int blocks, int halves)
{
    return halves && step > 0 && 2 * step != blocks ? 2.0f : 1.0f;
}

/* sum += term, with what rounding takes from it in `lost`. */
#define ADD(sum, lost, term)                 \
    do {                                     \
        float corrected_ = (term) - (lost);  \
        float next_ = (sum) + corrected_;    \
        lost = (next_ - (sum)) - corrected_; \
        sum = next_;                         \
    } while (0)

/* Sums of one target: e / a, and its derivatives by centre (over a and -2 / h^2) and by unit normal (over a, as if
 * the normal were free). scale is -log2 e / h^2. */
#define BY_CENTRE (1.38629436f * scale)
enum { SUMS = GRADIENT ? 7 : 1 };

/* ---- a work-group a block of targets, an item some of them ---- */

#define EACH (BLOCK / TILE_X)
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
currents_group(__global const float4 *target, __global const float4 *target_box, int targets,
               __global const float4 *source, __global const float4 *source_box, int sources, float scale,
               float far, int halves, float factor, __global float4 *gradient, __global float *partial)
{
    __local float4 centre[TILE_X], normal[TILE_X];
    __local float cell[TILE_X];
    int item = get_local_id(0), block = get_group_id(0), blocks = (sources + BLOCK - 1) / BLOCK;
    float4 x[EACH], n[EACH];
    float sum[EACH][SUMS], lost[EACH][SUMS];
#pragma unroll
    for (int t = 0; t < EACH; t++) {
        int i = block * BLOCK + t * TILE_X + item;
        x[t] = i < targets ? target[2 * i] : (float4)(0.0f);
        n[t] = i < targets ? target[2 * i + 1] : (float4)(0.0f);
        for (int s = 0; s < SUMS; s++)
            sum[t][s] = lost[t][s] = 0.0f;
    }
    for (int step = 0; step < LOOKED_AT(blocks); step++) {
        int other = nth_block(step, block, blocks, halves);
        if (apart(target_box + 2 * block, source_box + 2 * other) > far)
            continue;
        float part[EACH][SUMS];
#pragma unroll
        for (int t = 0; t < EACH; t++)
            for (int s = 0; s < SUMS; s++)
                part[t][s] = 0.0f;
        for (int first = other * BLOCK; first < min(sources, (other + 1) * BLOCK); first += TILE_X) {
            int held = min(TILE_X, sources - first);
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < held) {
                centre[item] = source[2 * (first + item)];
                normal[item] = source[2 * (first + item) + 1];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int j = 0; j < held; j++) {
                float4 y = centre[j], m = normal[j];
#pragma unroll
                for (int t = 0; t < EACH; t++) {
                    float3 d = x[t].xyz - y.xyz;
                    float k = exp2(scale * dot(d, d)) * m.w, c = dot(n[t].xyz, m.xyz);
                    part[t][0] += k * POWER(c);
#if GRADIENT
                    float g = k * POWER(c), along = VARIFOLD ? 2.0f * k * c : k;
                    part[t][1] += g * d.x;
                    part[t][2] += g * d.y;
                    part[t][3] += g * d.z;
                    part[t][4] += along * m.x;
                    part[t][5] += along * m.y;
                    part[t][6] += along * m.z;
#endif
                }
            }
        }
#pragma unroll
        for (int t = 0; t < EACH; t++)
            for (int s = 0; s < SUMS; s++)
                ADD(sum[t][s], lost[t][s], counts(step, blocks, halves) * part[t][s]);
    }
    float mine = 0.0f;
#pragma unroll
    for (int t = 0; t < EACH; t++) {
        mine += n[t].w * sum[t][0];
#if GRADIENT
        int i = block * BLOCK + t * TILE_X + item;
        if (i < targets) {
            gradient[2 * i].xyz += factor * n[t].w * BY_CENTRE * (float3)(sum[t][1], sum[t][2], sum[t][3]);
            gradient[2 * i + 1] += factor * (float4)(sum[t][4], sum[t][5], sum[t][6], sum[t][0]);
        }
#endif
    }
    cell[item] = mine;
    group_fold(cell, 1, item, TILE_X, 1);
    if (item == 0)
        partial[block] = cell[0];
}

/* ---- an item a block of targets, eight at a time ---- */

/* 2^t for t <= 0, to 2e-7 of it; far below it is nearly 0. Adding 1.5 * 2^23 rounds t,
 * and leaves the exponent in the lowest bits. */
static inline float8 power8(float8 t)
{
    t = t > -100.0f ? t : (float8)(-100.0f);
    float8 whole = t + 12582912.0f, f = t - (whole - 12582912.0f);
    float8 p = 1.54353139e-4f;
    p = p * f + 1.33335581e-3f;
    p = p * f + 9.61812910e-3f;
    p = p * f + 5.55041086e-2f;
    p = p * f + 2.40226507e-1f;
    p = p * f + 6.93147180e-1f;
    p = p * f + 1.0f;
    return as_float8(as_int8(p) + (as_int8(whole) << 23));
}

__kernel void currents_row(__global const float4 *target, __global const float4 *target_box, int targets,
                           __global const float4 *source, __global const float4 *source_box, int sources,
                           float scale, float far, int halves, float factor, __global float4 *gradient,
                           __global float *partial)
{
    int block = get_group_id(0), blocks = (sources + BLOCK - 1) / BLOCK;
    float total = 0.0f, total_lost = 0.0f;
    for (int first = block * BLOCK; first < min(targets, (block + 1) * BLOCK); first += 8) {
        float lane[8][8];
        for (int t = 0; t < 8; t++) {
            int i = min(first + t, targets - 1);
            vstore4(target[2 * i], 0, lane[t]);
            vstore4(target[2 * i + 1], 1, lane[t]);
        }
#define LANES(c) (float8)(lane[0][c], lane[1][c], lane[2][c], lane[3][c], lane[4][c], lane[5][c], lane[6][c], lane[7][c])
        float8 x = LANES(0), y = LANES(1), z = LANES(2), nx = LANES(4), ny = LANES(5), nz = LANES(6);
        float8 sum[SUMS], lost[SUMS];
        for (int s = 0; s < SUMS; s++)
            sum[s] = lost[s] = 0.0f;
        for (int step = 0; step < LOOKED_AT(blocks); step++) {
            int other = nth_block(step, block, blocks, halves);
            if (apart(target_box + 2 * block, source_box + 2 * other) > far)
                continue;
            float8 part[SUMS];
            for (int s = 0; s < SUMS; s++)
                part[s] = 0.0f;
            for (int j = other * BLOCK; j < min(sources, (other + 1) * BLOCK); j++) {
                float4 from = source[2 * j], m = source[2 * j + 1];
                float8 dx = x - from.x, dy = y - from.y, dz = z - from.z;
                float8 k = power8(scale * (dx * dx + dy * dy + dz * dz)) * m.w, c = nx * m.x + ny * m.y + nz * m.z;
                float8 g = k * POWER(c);
                part[0] += g;
#if GRADIENT
                float8 along = VARIFOLD ? 2.0f * k * c : k;
                part[1] += g * dx;
                part[2] += g * dy;
                part[3] += g * dz;
                part[4] += along * m.x;
                part[5] += along * m.y;
                part[6] += along * m.z;
#endif
            }
            for (int s = 0; s < SUMS; s++) {
                float8 corrected = counts(step, blocks, halves) * part[s] - lost[s];
                float8 next = sum[s] + corrected;
                lost[s] = (next - sum[s]) - corrected;
                sum[s] = next;
            }
        }
        float got[SUMS][8];
        for (int s = 0; s < SUMS; s++)
            vstore8(sum[s], 0, got[s]);
        for (int t = 0; t < 8 && first + t < targets; t++) {
            float area = lane[t][7];
            ADD(total, total_lost, area * got[0][t]);
#if GRADIENT
            int i = first + t;
            gradient[2 * i].xyz += factor * area * BY_CENTRE * (float3)(got[1][t], got[2][t], got[3][t]);
            gradient[2 * i + 1] += factor * (float4)(got[4][t], got[5][t], got[6][t], got[0][t]);
#endif
        }
    }
    partial[block] = total;
}
