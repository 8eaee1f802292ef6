/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_RATES_H
#define CLV_OP_RATES_H

#include "op/force.h"

extern const clv_entry clv_entry_rates, clv_entry_rates_force;

/* rate = lambda L'(J) at each voxel, J and L' as in op/force.h: one float a
 * voxel. u and rate are distinct. */
int clv_rates(clvox_context *ctx, const clv_buffer *u, const int size[3], const float spacing[3],
              float lambda, clv_buffer *rate);

/* The force of op/force.h from u and its rates: clv_rates into args->rate,
 * then the divergence with the cofactors made again. args->rate is needed. */
int clv_rates_force(clvox_context *ctx, const clv_force_args *args);

#endif
