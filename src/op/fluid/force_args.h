/* SPDX-License-Identifier: Apache-2.0 */
/* How clv_force_args reach the kernels that include cl/fluid/residual.clh. */
#ifndef CLV_OP_FLUID_FORCE_ARGS_H
#define CLV_OP_FLUID_FORCE_ARGS_H

#include "op/fluid/force.h"

/* with_force: the force buffer is needed as well. */
int clv_force_check(const clv_force_args *args, bool with_force);

#define CLV_FORCE_ARGS(a)                                                                           \
    CLV_BUF((a)->moving.buffer), CLV_SIZE(&(a)->moving), CLV_BUF((a)->fixed.buffer), CLV_BUF((a)->mask), \
        CLV_BUF((a)->u), CLV_GRID(&(a)->fixed), CLV_MAP(&(a)->map)

#endif
