/* SPDX-License-Identifier: Apache-2.0 */
/* out = M in along one axis: row i of M has `width` weights, for in's places from
 * first[i] on. AXIS: 0, 1 or 2. size: of out; `length`: of in along the axis. */
#include "common/field_row.clh"

__kernel void bands_item(__global const float *in, int length, __global const int *first,
                         __global const float *weights, int width, __global float *out, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
#if AXIS == 0
    int row = x, stride = 1, at = (z * size.y + y) * length;
#elif AXIS == 1
    int row = y, stride = size.x, at = z * length * size.x + x;
#else
    int row = z, stride = size.x * size.y, at = y * size.x + x;
#endif
    __global const float *w = weights + row * width;
    at += first[row] * stride;
    float sum = 0.0f;
    for (int k = 0; k < width; k++)
        sum += w[k] * in[at + k * stride];
    out[(z * size.y + y) * size.x + x] = sum;
}

/* A row of out a work-item: along x the products of a row of M are added eight at
 * a time; across it, eight columns go through the same weights. */
__kernel void bands_row(__global const float *in, int length, __global const int *first,
                        __global const float *weights, int width, __global float *out, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int start = (z * size.y + y) * size.x;
#if AXIS == 0
    __global const float *line = in + (z * size.y + y) * length;
    for (int x = 0; x < size.x; x++) {
        __global const float *w = weights + x * width, *a = line + first[x];
        float8 sums = 0.0f;
        int k = 0;
        for (; k + 8 <= width; k += 8)
            sums += LOAD8(w + k) * LOAD8(a + k);
        float4 half_sums = sums.lo + sums.hi;
        float sum = half_sums.x + half_sums.y + half_sums.z + half_sums.w;
        for (; k < width; k++)
            sum += w[k] * a[k];
        out[start + x] = sum;
    }
#else
#if AXIS == 1
    int row = y, stride = size.x, at = z * length * size.x;
#else
    int row = z, stride = size.x * size.y, at = y * size.x;
#endif
    __global const float *w = weights + row * width;
    int x = 0;
    at += first[row] * stride;
    for (; x + 8 <= size.x; x += 8) {
        float8 sum = 0.0f;
        for (int k = 0; k < width; k++)
            sum += w[k] * LOAD8(in + at + k * stride + x);
        STORE8(sum, out + start + x);
    }
    for (; x < size.x; x++) {
        float sum = 0.0f;
        for (int k = 0; k < width; k++)
            sum += w[k] * in[at + k * stride + x];
        out[start + x] = sum;
    }
#endif
}
