/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_PATCH_SEARCH_H
#define CLV_OP_SURFACE_PATCH_SEARCH_H

#include "op/image.h"

/* The nearest patches of a narrow band (Lee et al. 2012, section 2.3). */
#define CLV_PATCH_MOST_RADIUS 3
#define CLV_PATCH_MOST_NEIGHBOURS 256

typedef struct clv_patches {
    clv_image phi;          /* level set on the grid, in voxels */
    const clv_buffer *band; /* int32: linear indices of the band's voxels, ascending */
    int count;              /* of them */
    int radius;             /* patches of (2 radius + 1)^3 samples */
} clv_patches;

typedef struct clv_patch_search_args {
    clv_patches patches; /* radius 1 to CLV_PATCH_MOST_RADIUS */
    int most;            /* neighbours of each, 1 to CLV_PATCH_MOST_NEIGHBOURS */
    float reach;         /* compare only l with |x_j - x_l| <= reach voxels (linear cost); 0: all */
    const clv_buffer *reach_band; /* int32, ascending: where the patches lie for that, on another grid of */
    int reach_size[3];            /* this size; NULL: in patches.band */
    bool exhaustive;     /* rule no pair out beforehand, to measure by */
    clv_buffer *neighbours; /* int32, count * most: indices into the band */
    clv_buffer *distances;  /* float, count * most */
    clv_buffer *scratch;    /* of clv_patch_search_bytes */
    /* Called from time to time with the share that is done; other than 0 stops with
     * CLVOX_ERROR_STOPPED. NULL: nobody is. */
    int (*progress)(void *user, double fraction);
    void *user;
} clv_patch_search_args;

/* For each voxel j of the band the `most` other voxels l of the band whose
 * patches are nearest by D(j, l) = sum over the patch of (phi[j] - phi[l])^2, in
 * ascending order of (D, l): neighbours[j most + k] and distances[j most + k] (D
 * summed directly, in a fixed order). They are exactly those that comparing
 * every pair gives. Samples beyond the grid continue phi linearly across its
 * border (cl/surface/extrapolate.clh). Where the band has fewer than
 * most + 1 voxels, the rest is -1 and INFINITY. A patch that is not finite has no
 * neighbours and is nobody's. The same bits run after run. */
int clv_patch_search(clvox_context *ctx, const clv_patch_search_args *args);

size_t clv_patch_search_bytes(int count, int radius);

extern const clv_entry clv_entry_patch_search, clv_entry_patch_search_blocks, clv_entry_patch_search_features,
    clv_entry_patch_search_gather, clv_entry_patch_search_keep, clv_entry_patch_search_near,
    clv_entry_patch_search_reach;

#endif
