/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_COADJOINT_H
#define CLV_OP_FLUID_COADJOINT_H

#include "op/image.h"

/* The adjoint action of one vector field on another,
 *   ad_v w = Dv w - Dw v
 * by central differences (one-sided at the border), and its exact transpose, the coadjoint action
 *   ad*_v m = (Dv)^T m - sum_j D_j^T (v_j m),   <ad*_v m, w> = <m, ad_v w>,
 * which is (Dv)^T m + Dm v + m div v inside: EPDiff is dm/dt = -ad*_v m with v = K m, and as ad_v v = 0 keeps
 * <m, K m> but for steps in time. Fields on one grid in mm along its axes; out is neither of the others. */
int clv_adjoint_action(clvox_context *ctx, const clv_image *v, const clv_buffer *w, clv_buffer *out);
int clv_coadjoint_action(clvox_context *ctx, const clv_image *v, const clv_buffer *m, clv_buffer *out);

extern const clv_entry clv_entry_coadjoint;

#endif
