/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_PATCH_PAIRS_H
#define CLV_OP_PAPERS_PATCH_PAIRS_H

#include "op/surface/patch_search.h"

/* The search of Lee et al. 2012, section 3.1.2, pair by pair, a subset of the band
 * at a time: gives what clv_patch_search gives, without a reach. The variants are
 * the memories that the subset may lie in: constant, global and, but for CPU
 * devices, image; and constant with a record of the row in local memory, which has
 * room for patches of 5^3 samples and 96 neighbours (else CLVOX_ERROR_ARGUMENT). */
int clv_patch_pairs(clvox_context *ctx, const clv_patch_search_args *args);

extern const clv_entry clv_entry_patch_pairs;

#endif
