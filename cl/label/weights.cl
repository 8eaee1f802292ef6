/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of atlases at listed voxels of a head, by how like it their patches are (mean 0, variance 1). Each
 * atlas is looked up where within a search around the voxel its patch is most alike. With M_ij the square of
 * the mean of |head - atlas i| |head - atlas j| over the patch:
 *   alone    w_i = 1 / (M_ii + ridge)
 *   JOINT    w solves (M + ridge D) w = 1 (Wang et al. 2013). D_i says how many atlases have the very patch
 *            of atlas i, so that copies of one share its weight; weights below 0 become 0
 * and weights sum to one. */
#include "label/patch.clh"

#ifndef JOINT
#define JOINT 0
#endif
#ifndef MOST
#define MOST 64
#endif
/* A patch whose variance is this share of its mean square is flat. */
#define FLAT 1e-10f

/* Sums of the differences from the centre of a patch, and of their squares: mean and inverse deviation. */
#define MOMENTS(real, load)                                                        \
    real centre = load(images + at), first = 0.0f, second = 0.0f;                  \
    for (int c = -PATCH; c <= PATCH; c++)                                          \
        for (int b = -PATCH; b <= PATCH; b++)                                      \
            _Pragma("unroll") for (int a = -PATCH; a <= PATCH; a++)                \
            {                                                                      \
                real d = load(images + at + SHIFT(size, a, b, c)) - centre;        \
                first += d;                                                        \
                second += d * d;                                                   \
            }                                                                      \
    first /= VOXELS;                                                               \
    second = second / VOXELS - first * first;                                      \
    first += centre

static inline float2 patch_moments(__global const float *images, int4 size, int at)
{
    MOMENTS(float, *);
    return (float2)(first, second > FLAT * first * first ? rsqrt(second) : 0.0f);
}

/* Of every volume of the stack; 0 and 0 in the margin. */
__kernel void label_moments(__global const float *images, __global float2 *moments, int4 size, int volumes)
{
    int y = get_global_id(1), z = get_global_id(2), own = z % size.z;
    if (y >= size.y || z >= size.z * volumes)
        return;
    bool inside = y >= PATCH && y < size.y - PATCH && own >= PATCH && own < size.z - PATCH;
#if ROW_FORM
    for (int x = 0; x < size.x;) {
        int at = SHIFT(size, x, y, z);
        if (inside && x >= PATCH && x + 8 <= size.x - PATCH) {
            MOMENTS(float8, LOAD8);
            float16 pairs;
            pairs.even = first;
            pairs.odd = select((float8)(0.0f), rsqrt(second), second > FLAT * first * first);
            vstore16(pairs, 0, (__global float *)(moments + at));
            x += 8;
        } else {
            moments[at] = inside && x >= PATCH && x < size.x - PATCH ? patch_moments(images, size, at)
                                                                     : (float2)(0.0f, 0.0f);
            x++;
        }
    }
#else
    int x = get_global_id(0), at = SHIFT(size, x, y, z);
    if (x < size.x)
        moments[at] = inside && x >= PATCH && x < size.x - PATCH ? patch_moments(images, size, at)
                                                                 : (float2)(0.0f, 0.0f);
#endif
}

/* Packed lower triangle. */
#define ENTRY(i, j) ((i) * ((i) + 1) / 2 + (j))

#if JOINT
#if ROW_FORM
/* Means over the patch of products of absolute differences of `count` atlases, squared. */
static inline void gather_products(const own_patch *own, __global const float *images,
                                   __global const float2 *moments, int4 size, const int *place, int count,
                                   float *m)
{
    const float8 five = (float8)(1.0f, 1.0f, 1.0f, 1.0f, 1.0f, 0.0f, 0.0f, 0.0f);
    float8 d[MOST][SIDE * SIDE];
    for (int i = 0; i < count; i++) {
        float2 of = moments[place[i]];
        float8 scale = five * of.y;
        for (int c = 0; c < SIDE; c++)
            for (int b = 0; b < SIDE; b++) {
                float8 v = LOAD8(images + place[i] + SHIFT(size, -PATCH, b - PATCH, c - PATCH));
                d[i][c * SIDE + b] = fabs(own->row[c * SIDE + b] - (v - of.x) * scale);
            }
    }
    /* What is written beyond a row of the triangle belongs to the next one. */
    for (int i = 0; i < count; i++)
        for (int j = 0; j <= i; j += TOGETHER) {
            float8 sum[TOGETHER];
            const float8 *other[TOGETHER];
            for (int k = 0; k < TOGETHER; k++) {
                sum[k] = 0.0f;
                other[k] = d[min(j + k, i)];
            }
            for (int r = 0; r < SIDE * SIDE; r++) {
                float8 row = d[i][r];
#pragma unroll
                for (int k = 0; k < TOGETHER; k++)
                    sum[k] += row * other[k][r];
            }
            float8 mean = sums_of_lanes(sum) / (float)VOXELS;
            PUT8(mean * mean, m + ENTRY(i, j));
        }
}
#else
/* Means over the patch of products of absolute differences of `count` atlases, squared. */
static inline void gather_products(const own_patch *own, __global const float *images,
                                   __global const float2 *moments, int4 size, const int *place, int count,
                                   float *m)
{
    float d[MOST];
    float2 of[MOST];
    for (int i = 0; i < count; i++)
        of[i] = moments[place[i]];
    for (int e = 0; e < count * (count + 1) / 2; e++)
        m[e] = 0.0f;
    for (int c = 0; c < SIDE; c++)
        for (int b = 0; b < SIDE; b++) {
            float row[8];
            vstore8(own->row[c * SIDE + b], 0, row);
            for (int a = 0; a < SIDE; a++) {
                int shift = SHIFT(size, a - PATCH, b - PATCH, c - PATCH);
                for (int i = 0; i < count; i++)
                    d[i] = fabs(row[a] - (images[place[i] + shift] - of[i].x) * of[i].y);
                for (int i = 0; i < count; i++)
                    for (int j = 0; j <= i; j++)
                        m[ENTRY(i, j)] += d[i] * d[j];
            }
        }
    for (int e = 0; e < count * (count + 1) / 2; e++) {
        m[e] /= VOXELS;
        m[e] *= m[e];
    }
}
#endif

/* Solves (M + ridge D) w = 1 by Cholesky's factors, in the place of m. */
static inline void solve_joint(float *m, int count, float ridge, float *w)
{
    for (int i = 0; i < count; i++) {
        float own = m[ENTRY(i, i)];
        int alike = 0;
        for (int j = 0; j < count; j++)
            alike += m[ENTRY(j, j)] == own && m[j < i ? ENTRY(i, j) : ENTRY(j, i)] == own;
        w[i] = ridge * (float)alike;
    }
    for (int i = 0; i < count; i++) {
        m[ENTRY(i, i)] += w[i];
        w[i] = 1.0f;
    }
    for (int i = 0; i < count; i++) {
        for (int j = 0; j <= i; j++) {
            float sum = m[ENTRY(i, j)];
            for (int k = 0; k < j; k++)
                sum -= m[ENTRY(i, k)] * m[ENTRY(j, k)];
            m[ENTRY(i, j)] = i == j ? sqrt(fmax(sum, 1e-12f)) : sum / m[ENTRY(j, j)];
        }
        for (int k = 0; k < i; k++)
            w[i] -= m[ENTRY(i, k)] * w[k];
        w[i] /= m[ENTRY(i, i)];
    }
    for (int i = count - 1; i >= 0; i--) {
        for (int k = i + 1; k < count; k++)
            w[i] -= m[ENTRY(k, i)] * w[k];
        w[i] = w[i] / m[ENTRY(i, i)];
    }
}
#endif

/* how: atlases, listed voxels, reach of the search. Weights and shifts lie atlas by atlas; an atlas without a
 * label anywhere in the search has weight 0 and shift 0. */
__kernel void label_weights(__global const float *images, __global const float2 *moments,
                            __global const int *labels, __global const int *list, __global float *weights,
                            __global int *shifts, int4 size, int4 how, float ridge)
{
    int i = get_global_id(0), n = how.y, count = 0;
    if (i >= n)
        return;
    int x = list[i], who[MOST];
    int at[TOGETHER], found;
    float w[MOST], d[TOGETHER];
    own_patch own;
    take_patch(images, moments[x], size, x, &own);
#if JOINT
    int place[MOST];
    float m[MOST * (MOST + 1) / 2 + 8];
#endif
    for (int k = 0; k < how.x; k++) {
        float least = FLT_MAX;
        int here = (k + 1) * size.w + x, best = here;
        walk steps = search_begin(size, how.z);
        while ((found = search_next(&steps, here, at))) {
            unlike(&own, images, moments, size, at, d);
            for (int s = 0; s < found; s++)
                if (labels[at[s] - size.w] >= 0 && (d[s] < least || (d[s] == least && at[s] == here))) {
                    least = d[s];
                    best = at[s];
                }
        }
        shifts[k * n + i] = best - here;
        weights[k * n + i] = 0.0f;
        if (least == FLT_MAX)
            continue;
        who[count] = k;
#if JOINT
        place[count++] = best;
#else
        w[count++] = 1.0f / (least * least + ridge);
#endif
    }
#if JOINT
    gather_products(&own, images, moments, size, place, count, m);
    solve_joint(m, count, ridge, w);
#endif
    float all = 0.0f;
    for (int k = 0; k < count; k++)
        all += w[k] = fmax(w[k], 0.0f);
    for (int k = 0; k < count; k++)
        weights[who[k] * n + i] = w[k] / all;
}
