/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_PATCH_PAIRS_H
#define CLV_OP_PAPERS_PATCH_PAIRS_H

#include "op/surface/patch_search.h"

/* Where the patches lie that each patch is compared with: what the paper compares. */
typedef enum clv_patch_memory {
    CLV_PATCH_CONSTANT,
    CLV_PATCH_GLOBAL,
    CLV_PATCH_IMAGE, /* not on CPU devices, which read images many times slower than buffers */
    CLV_PATCH_MEMORIES
} clv_patch_memory;

/* The search of Lee et al. 2012, section 3.1.2, pair by pair, a subset of the band
 * at a time: gives what clv_patch_search gives, without a reach. CLVOX_ERROR_DEVICE
 * for image memory on a CPU device. */
int clv_patch_pairs(clvox_context *ctx, clv_patch_memory memory, const clv_patch_search_args *args);

extern const clv_entry clv_entry_patch_pairs[CLV_PATCH_MEMORIES];

#endif
