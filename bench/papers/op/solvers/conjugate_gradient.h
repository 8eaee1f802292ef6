/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_CONJUGATE_GRADIENT_H
#define CLV_OP_FLUID_CONJUGATE_GRADIENT_H

#include "op/fluid/fluid_operator.h"

/* Floats of `state`; `partial` has CLV_FLUID_OPERATOR_PARTIALS. */
enum { CLV_CG_STATE = 8 };

/* Fields that conjugate gradients need besides v and f, each of 3 n floats. */
typedef struct clv_cg_workspace {
    clv_buffer *residual, *direction, *product, *partial, *state;
} clv_cg_workspace;

/* Conjugate gradients for L v = f (Ha 2011, section 2.3.6), any beta. The
 * residual that the iteration carries along decides about the end, and is what
 * the report states. Step lengths and the end are found on the device: the host
 * looks every eight iterations, and what it has queued too many changes nothing.
 * The same bits run after run. tolerance 0: exactly `most`, and the host looks
 * once. */
int clv_cg_solve(clvox_context *ctx, const clv_fluid_problem *problem, const clv_cg_workspace *workspace,
                 clv_fluid_report *report);

/* Queues the first residual and direction, and single iterations after it: what
 * clv_cg_solve consists of. */
int clv_cg_begin(clvox_context *ctx, const clv_fluid_problem *problem, const clv_cg_workspace *workspace);
int clv_cg_step(clvox_context *ctx, const clv_fluid_problem *problem, const clv_cg_workspace *workspace);

extern const clv_entry clv_entry_cg_descend;
extern const clv_entry clv_entry_cg_total;
extern const clv_entry clv_entry_cg_direction;

#endif
