/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of listed voxels by the votes of atlases: the label of most weight, of equals the smallest, and its
 * share of the weight; behind those of all voxels the second label, -1: there is none, and its share. */
#include "label/patch.clh"
#include "label/tally.clh"

/* By weights: those of the voxels within how.z along each axis all vote, each with the label that its shift
 * leads to from here. place: number in the list of every voxel; -1: all atlases have one label around it; -2:
 * it does not vote. how.w 0: every atlas counts as one. how: atlases, listed voxels. */
__kernel void label_vote(__global const int *labels, __global const int *list, __global const int *place,
                         __global const float *weights, __global const int *shifts, __global int *out,
                         __global float *share, int4 size, int4 how)
{
    int i = get_global_id(0), n = how.y, reach = how.z;
    if (i >= n)
        return;
    int x = list[i];
    tally t;
    tally_begin(&t);
    while (t.more) {
        tally_round(&t);
        for (int c = -reach; c <= reach; c++)
            for (int b = -reach; b <= reach; b++)
                for (int a = -reach; a <= reach; a++) {
                    int j = place[x + SHIFT(size, a, b, c)];
                    if (j == -2)
                        continue;
                    int one = -1;
                    for (int k = 0; k < how.x; k++) {
                        int from = k * size.w + x;
                        if (j >= 0)
                            tally_vote(&t, labels[from + (how.w ? shifts[k * n + j] : 0)],
                                       how.w ? weights[k * n + j] : 1.0f);
                        else if (one < 0)
                            one = labels[from];
                    }
                    tally_vote(&t, one, 1.0f);
                }
        tally_count(&t);
    }
    tally_write(&t, i, n, out, share);
}

/* By patches (Coupe et al. 2011): every voxel of every atlas within the search votes, by exp(-d / h) of the
 * mean squared difference d of patches of mean 0 and variance 1, h being `width` of the least d. */
__kernel void label_vote_patches(__global const float *images, __global const float2 *moments,
                                 __global const int *labels, __global const int *list, __global int *out,
                                 __global float *share, int4 size, int4 how, float width)
{
    int i = get_global_id(0);
    if (i >= how.y)
        return;
    int x = list[i], at[TOGETHER], count;
    float least = FLT_MAX, d[TOGETHER];
    own_patch own;
    tally t;
    take_patch(images, moments[x], size, x, &own);
    for (int k = 0; k < how.x; k++) {
        walk w = search_begin(size, how.z);
        while ((count = search_next(&w, (k + 1) * size.w + x, at))) {
            unlike(&own, images, moments, size, at, d);
            for (int s = 0; s < count; s++)
                if (labels[at[s] - size.w] >= 0)
                    least = fmin(least, d[s]);
        }
    }
    const float h = width * fmax(least, 1e-4f);
    tally_begin(&t);
    while (t.more) {
        tally_round(&t);
        for (int k = 0; k < how.x; k++) {
            walk w = search_begin(size, how.z);
            while ((count = search_next(&w, (k + 1) * size.w + x, at))) {
                unlike(&own, images, moments, size, at, d);
                for (int s = 0; s < count; s++)
                    tally_vote(&t, labels[at[s] - size.w], exp((least - d[s]) / h));
            }
        }
        tally_count(&t);
    }
    tally_write(&t, i, how.y, out, share);
}
