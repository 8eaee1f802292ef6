/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_CONJUGATE_H
#define CLV_OP_CONJUGATE_H

#include "op/navier.h"

/* Floats of `state`; `partial` has CLV_NAVIER_PARTIALS. */
enum { CLV_CONJUGATE_STATE = 8 };

/* Fields that conjugate gradients need besides v and f, each of 3 n floats. */
typedef struct clv_conjugate_room {
    clv_buffer *residual, *direction, *product, *partial, *state;
} clv_conjugate_room;

/* Conjugate gradients for L v = f (Ha 2011, section 2.3.6), any beta; v holds
 * the first guess and then the result. Until the residual that the iteration
 * carries along is no longer than tolerance |f|, or `most` are done. Step
 * lengths and the end are found on the device: the host looks every eight
 * iterations, and what it has queued too many changes nothing. *iterations: how
 * many it took; *left: the carried residual over |f|. The same bits run after
 * run. tolerance 0: exactly `most`, and the host looks once. */
int clv_conjugate_solve(clvox_context *ctx, const clv_navier *op, const clv_buffer *f, double tolerance,
                        int most, clv_buffer *v, const clv_conjugate_room *room, int *iterations,
                        double *left);

/* Queues the first residual and direction, and single iterations after it: what
 * clv_conjugate_solve consists of. */
int clv_conjugate_begin(clvox_context *ctx, const clv_navier *op, const clv_buffer *f, double tolerance,
                        clv_buffer *v, const clv_conjugate_room *room);
int clv_conjugate_step(clvox_context *ctx, const clv_navier *op, clv_buffer *v,
                       const clv_conjugate_room *room);

extern const clv_entry clv_entry_conjugate_descend;
extern const clv_entry clv_entry_conjugate_total;
extern const clv_entry clv_entry_conjugate_turn;

#endif
