/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_FORCE_FORMS_H
#define CLV_OP_PAPERS_FORCE_FORMS_H

#include "op/fluid/force.h"

/* Recompute and capped of Lee et al. 2012, section 4, recompute ("march") and reuse ("planes") in the planes
 * of local memory that section 3.1.1 describes, the same with room that they do not use, and two passes; what
 * the latter runs first. */
extern const clv_entry clv_entry_force_forms, clv_entry_force_products;

/* As clv_force, for a lambda that is not 0, by the variant that is forced (clv_force_variant). nine:
 * scratch of 9 floats a voxel, which two passes need; else NULL will do. */
int clv_force_form(clvox_context *ctx, const clv_force_args *args, clv_buffer *nine);

#endif
