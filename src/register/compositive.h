/* SPDX-License-Identifier: Apache-2.0 */
/* Greedy and symmetric registration by compositive steps: what both do. */
#ifndef CLV_REGISTER_COMPOSITIVE_H
#define CLV_REGISTER_COMPOSITIVE_H

#include "op/fluid/solve.h"
#include "register/model.h"

/* run->u moves the moving image, u_fixed (NULL: it stays) the fixed one. */
typedef struct clv_compositive {
    clv_buffer *u_fixed, *force, *force_fixed;
    clv_buffer *velocity, *derivative, *derivative_fixed; /* room, lent */
    clv_buffer *compared, *stepped;            /* parts of a level (op/within.h): of images and of steps */
    clv_buffer *kept[2];                       /* u and u_fixed as the level before left them */
    bool counts;                               /* what it left is better than the start of the run */
    bool follows;                              /* run->inverse is that of u after each iteration */
    clv_solver solver;                         /* of the level, where L regularises and no Gaussian */
} clv_compositive;
_Static_assert(sizeof(clv_compositive) <= CLV_MODEL_BYTES, "more state than a run has room for");

static inline clv_compositive *clv_compositive_of(clv_registration *run)
{
    return CLV_MODEL_STATE(clv_compositive, run);
}

/* Options of theirs alone. */
#define CLV_COMPOSITIVE_TAKES                                                                           \
    "update-sigma", "update-damping", "total-sigma", "step", "momentum", "mind-weight", "points-width", \
        CLV_ANATOMY_TAKES, "restrict"
extern const char *const clv_compositive_takes[];

int clv_compositive_requests(clv_registration *run, bool symmetric, clv_request *list);

/* Runs all levels; u, u_fixed and, where it follows, the inverse are left on *at, the grid of the last one. */
int clv_compositive_levels(clv_registration *run, clvox_register_result *result, clvox_grid *at);

/* Lends what only the levels need, once the run's map is there. */
void clv_compositive_lend(clv_registration *run);

#endif
