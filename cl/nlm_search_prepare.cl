/* SPDX-License-Identifier: Apache-2.0 */
/* Patches of the band and what bounds their distances: features of each patch,
 * patches in the order of the search, centres and boxes of its blocks, blocks
 * near each block. One work-item an element, or a row of them where a CPU does
 * it; the arguments are those of src/op/nlm_search.c. */
#include "nlm_search.clh"
#include "nlm_search_patch.clh"

/* size: grid and radius. A work-item a voxel of the band. */
__kernel void nlm_features(__global const float *phi, int4 size, __global const int *band, int count,
                           __global float *scratch, int basis_at, int features_at)
{
    int j = get_global_id(0);
    if (j >= count)
        return;
    int side = 2 * size.w + 1, i = band[j], samples = side * side * side;
    __global const float *basis = REGION(scratch, basis_at);
    __global float *out = REGION(scratch, features_at) + (size_t)j * FEATURES;
    float f[POLYNOMIALS], norm = 0.0f, rest = 0.0f;
    for (int p = 0; p < POLYNOMIALS; p++)
        f[p] = 0.0f;
    for (int k = 0; k < samples; k++) {
        float v = patch_at(phi, size, i, k);
        for (int p = 0; p < POLYNOMIALS; p++)
            f[p] += basis[k * POLYNOMIALS + p] * v;
        norm += v * v;
    }
    for (int k = 0; k < samples; k++) {
        float v = patch_at(phi, size, i, k);
        for (int p = 0; p < POLYNOMIALS; p++)
            v -= f[p] * basis[k * POLYNOMIALS + p];
        rest += v * v;
    }
    for (int p = 0; p < POLYNOMIALS; p++)
        out[p] = f[p];
    out[POLYNOMIALS] = sqrt(rest);
    out[BOUNDED] = sqrt(norm);
}

/* One element: sample k of the patch at position s, or with k from stride on a
 * feature. Positions from n on and samples beyond the patch are 0. */
static inline void gather(__global const float *phi, int4 size, __global const int *band,
                          __global float *scratch, int4 n, int4 at, int4 to, int s, int k)
{
    int stride = n.y, block = n.z, side = 2 * size.w + 1;
    int j = s < n.x ? INT_REGION(scratch, at.x)[s] : -1;
    float v = 0.0f;
    if (k >= stride) {
        int f = k - stride;
        if (f >= FEATURES || at.y < 0)
            return;
        if (j >= 0)
            v = REGION(scratch, at.y)[(size_t)j * FEATURES + f];
        REGION(scratch, to.z)[((size_t)(s / block) * FEATURES + f) * block + s % block] = v;
        return;
    }
    if (j >= 0 && k < side * side * side)
        v = patch_at(phi, size, band[j], k);
    REGION(scratch, to.x)[(size_t)s * stride + k] = v;
    if (to.y >= 0)
        REGION(scratch, to.y)[((size_t)(s / 16) * stride + k) * 16 + s % 16] = v;
}

/* n: positions in use, stride, positions in a block. at: order, features by
 * index or -1. to: patches, the same in panels of 16 with the sample as the
 * slow index or -1, features by block. */
__kernel void nlm_gather_items(__global const float *phi, int4 size, __global const int *band,
                               __global float *scratch, int4 n, int4 at, int4 to, int elements)
{
    int i = get_global_id(0), each = n.y + 16;
    if (i < elements)
        gather(phi, size, band, scratch, n, at, to, i / each, i % each);
}

__kernel void nlm_gather_rows(__global const float *phi, int4 size, __global const int *band,
                              __global float *scratch, int4 n, int4 at, int4 to, int elements)
{
    int each = n.y + 16, s = get_global_id(0);
    for (int k = 0; k < each && s < elements / each; k++)
        gather(phi, size, band, scratch, n, at, to, s, k);
}

/* A work-item for each sample of a block's mean patch and, behind the stride,
 * each feature of its box. n as above; at: patches, features by block; to:
 * centres, boxes. */
__kernel void nlm_blocks(__global float *scratch, int4 n, int4 at, int blocks)
{
    int k = get_global_id(0), b = get_global_id(1), stride = n.y, block = n.z;
    if (k >= stride + 16 || b >= blocks)
        return;
    int used = min(block, n.x - b * block);
    if (k < stride) {
        __global const float *patch = REGION(scratch, at.x) + (size_t)b * block * stride + k;
        float sum = 0.0f;
        for (int r = 0; r < used; r++)
            sum += patch[(size_t)r * stride];
        REGION(scratch, at.z)[(size_t)b * stride + k] = sum / (float)used;
    } else if (k - stride < FEATURES) {
        int f = k - stride;
        __global const float *feature = REGION(scratch, at.y) + ((size_t)b * FEATURES + f) * block;
        __global float *box = REGION(scratch, at.w) + (size_t)b * BOX;
        float low = feature[0], high = low;
        for (int r = 1; r < used; r++) {
            low = min(low, feature[r]);
            high = max(high, feature[r]);
        }
        if (f < BOUNDED) {
            box[f] = low;
            box[BOX_HIGH + f] = high;
        } else {
            box[BOX_NORM] = high;
        }
    }
}

/* The NEAR blocks whose boxes' middles are nearest, nearest first, of equals
 * the lower number. A work-item a block. */
__kernel void nlm_near(__global float *scratch, int boxes_at, int near_at, int blocks)
{
    int b = get_global_id(0);
    if (b >= blocks)
        return;
    __global const float *boxes = REGION(scratch, boxes_at), *own = boxes + (size_t)b * BOX;
    float middle[BOUNDED], best[NEAR];
    int which[NEAR];
    for (int f = 0; f < BOUNDED; f++)
        middle[f] = own[f] + own[BOX_HIGH + f];
    for (int i = 0; i < NEAR; i++) {
        best[i] = INFINITY;
        which[i] = 0;
    }
    for (int c = 0; c < blocks; c++) {
        __global const float *box = boxes + (size_t)c * BOX;
        float d = 0.0f;
        for (int f = 0; f < BOUNDED; f++) {
            float gap = middle[f] - box[f] - box[BOX_HIGH + f];
            d += gap * gap;
        }
        d = c == b ? -1.0f : d;
        if (!(d < best[NEAR - 1]))
            continue;
        int moved = c;
        for (int i = 0; i < NEAR; i++) {
            int first = d < best[i];
            float e = best[i];
            int w = which[i];
            best[i] = first ? d : e;
            which[i] = first ? moved : w;
            d = first ? e : d;
            moved = first ? w : moved;
        }
    }
    for (int i = 0; i < NEAR; i++)
        INT_REGION(scratch, near_at)[b * NEAR + i] = which[i];
}
