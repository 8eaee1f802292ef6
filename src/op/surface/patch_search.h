/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_PATCH_SEARCH_H
#define CLV_OP_SURFACE_PATCH_SEARCH_H

#include "runtime/runtime.h"

/* The nearest patches of a narrow band (Lee et al. 2012, section 2.3). */
enum { CLV_NLM_MOST_RADIUS = 3, CLV_NLM_MOST_NEIGHBOURS = 256 };

/* How the patches are compared. AUTO: the blocked product, exact. The papers'
 * forms compare pair by pair, the patches that are compared against in constant,
 * global or image memory. PLAIN is AUTO that skips nothing, to measure by. */
typedef enum clv_nlm_memory {
    CLV_NLM_AUTO = 0,
    CLV_NLM_CONSTANT,
    CLV_NLM_GLOBAL,
    CLV_NLM_IMAGE,
    CLV_NLM_PLAIN
} clv_nlm_memory;

typedef struct clv_nlm_patches {
    const clv_buffer *phi;  /* level set on the grid, in voxels */
    int size[3];
    const clv_buffer *band; /* int32: linear indices of the band's voxels, ascending */
    int count;              /* of them */
    int radius;             /* patches of (2 radius + 1)^3 samples; 1 to CLV_NLM_MOST_RADIUS */
    const clv_buffer *places; /* int32, ascending: where the patches count as lying, for reach, on another */
    int grid[3];              /* grid of this size; NULL: in the band */
} clv_nlm_patches;

/* For each voxel j of the band the `most` other voxels l of the band whose
 * patches are nearest by D(j, l) = sum over the patch of (phi[j] - phi[l])^2, in
 * ascending order of (D, l): neighbours[j most + k] (int32, index into the band)
 * and distances[j most + k] (float, D summed directly, in a fixed order). They
 * are exactly those that comparing every pair gives. Samples beyond the grid
 * continue phi linearly across its border (cl/surface/patch_search_patch.clh). Where the
 * band has fewer than most + 1 voxels, the rest is -1 and INFINITY. A patch that
 * is not finite has no neighbours and is nobody's.
 * reach > 0: only l with |x_j - x_l| <= reach voxels count (linear cost).
 * progress (may be NULL) is called from time to time with the share that is
 * done; other than 0 stops with CLVOX_ERROR_STOPPED. scratch:
 * clv_patch_search_bytes. The same bits run after run. */
int clv_patch_search(clvox_context *ctx, const clv_nlm_patches *patches, clv_nlm_memory memory, int most,
                   float reach, clv_buffer *neighbours, clv_buffer *distances, clv_buffer *scratch,
                   int (*progress)(void *user, double fraction), void *user);

size_t clv_patch_search_bytes(const clvox_context *ctx, int count, int radius, int most);

extern const clv_entry clv_entry_nlm_blocks;
extern const clv_entry clv_entry_nlm_features;
extern const clv_entry clv_entry_nlm_gather;
extern const clv_entry clv_entry_nlm_keep;
extern const clv_entry clv_entry_nlm_near;
extern const clv_entry clv_entry_nlm_reach;
extern const clv_entry clv_entry_nlm_pairs_constant;
extern const clv_entry clv_entry_nlm_pairs_global;
extern const clv_entry clv_entry_nlm_pairs_image;
extern const clv_entry clv_entry_patch_search;

/* The entry of one of the papers' forms. */
const clv_entry *clv_nlm_pairs_entry(clv_nlm_memory memory);

#endif
