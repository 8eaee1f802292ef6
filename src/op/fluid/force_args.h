/* SPDX-License-Identifier: Apache-2.0 */
/* How clv_force_args reach the kernels that include cl/fluid/residual.clh. */
#ifndef CLV_OP_FLUID_FORCE_ARGS_H
#define CLV_OP_FLUID_FORCE_ARGS_H

#include "op/fluid/force.h"

/* with_force: the force buffer is needed as well. */
int clv_force_check(const clv_force_args *args, bool with_force);

#define CLV_FORCE_SHIFT(row) CLV_FLOAT4((row)[0], (row)[1], (row)[2], 0)
#define CLV_FORCE_MAP(m)                                                                   \
    CLV_FLOAT4V((m)->linear[0]), CLV_FLOAT4V((m)->linear[1]), CLV_FLOAT4V((m)->linear[2]), \
        CLV_FORCE_SHIFT((m)->shift[0]), CLV_FORCE_SHIFT((m)->shift[1]),                    \
        CLV_FORCE_SHIFT((m)->shift[2])
#define CLV_FORCE_ARGS(a)                                                                           \
    CLV_BUF((a)->moving.buffer), CLV_SIZE(&(a)->moving), CLV_BUF((a)->fixed.buffer), CLV_BUF((a)->mask), \
        CLV_BUF((a)->u), CLV_GRID(&(a)->fixed), CLV_FORCE_MAP(&(a)->map)

#endif
