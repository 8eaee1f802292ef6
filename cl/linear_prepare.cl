/* SPDX-License-Identifier: Apache-2.0 */
/* Values of images for linear registration: on one scale, or seen against their surroundings. */
#include "position.clh"

/* Brings values to [0, 1]. in is an image times its mask and share the mask,
 * both smoothed alike: under half of a share is outside and becomes NaN.
 * Built with HAS_MASK. */
#ifndef HAS_MASK
#define HAS_MASK 0
#endif

static inline float prepared(float v, float share, float scale, float offset)
{
    float out = fmin(fmax(muladd(v, scale, offset), 0.0f), 1.0f);
    return v == v && share >= 0.5f ? out : NAN;
}

__kernel void prepare(__global const float *in, __global const float *share, int n, float scale,
                      float offset, __global float *out)
{
    int first = get_global_id(0) * MARCH;
    for (int i = first; i < min(first + MARCH, n); i++) {
#if HAS_MASK
        float m = share[i];
        out[i] = prepared(in[i] / m, m, scale, offset);
#else
        out[i] = prepared(in[i], 1.0f, scale, offset);
#endif
    }
}

/* A value by the mean and spread of its surroundings, between -1/2 and 1/2: sums
 * of products that are about 0 lose nothing to the squares of means. The
 * outermost rim voxels along each axis are left out. */
__kernel void localise(__global const float *in, __global const float *mean, __global const float *square,
                       __global const float *share, int4 size, int4 rim, float epsilon, __global float *out)
{
    int first = get_global_id(0) * MARCH, n = size.x * size.y * size.z;
    for (int i = first; i < min(first + MARCH, n); i++) {
        int x = i % size.x, y = i / size.x % size.y, z = i / (size.x * size.y);
        int inside = x >= rim.x && x < size.x - rim.x && y >= rim.y && y < size.y - rim.y && z >= rim.z &&
                     z < size.z - rim.z;
        float w = fmax(share[i], 1e-3f), m = mean[i] / w, v = fmax(square[i] / w - m * m, 0.0f);
        float at = (in[i] - m) / (sqrt(v) + epsilon) * (1.0f / 6.0f);
        out[i] = in[i] == in[i] && inside ? fmin(fmax(at, -0.5f), 0.5f) : NAN;
    }
}
