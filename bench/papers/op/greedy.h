/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_GREEDY_H
#define CLV_OP_PAPERS_GREEDY_H

#include "op/fluid/solve.h"
#include "op/map.h"
#include "op/image.h"

/* Greedy matching as Ha 2011 has it (algorithm 2), in voxels: with J = I o (x + u), F = (T - J) grad J, v = K
 * F, u <- e v + u o (x + e v). Its atlas (algorithm 1) takes one such step of each subject, then the mean of
 * all J for T. L is periodic. */
typedef struct clv_greedy {
    clv_fluid_operator op;
    clv_solver solver;
    clv_buffer *gradient, *velocity, *difference, *partial, *state;
    clv_request list[5 + CLV_SOLVER_REQUESTS];
    int requests;
} clv_greedy;

/* For a grid, with what it works in; to be destroyed, also after a failure. */
int clv_greedy_create(clvox_context *ctx, const clv_fluid_operator *op, clv_greedy *out);
void clv_greedy_destroy(clv_greedy *g); /* a zeroed one, too */

/* g->velocity = K (weight (target - image) grad image); weight NULL: 1. */
int clv_greedy_velocity(clvox_context *ctx, clv_greedy *g, const clv_buffer *image, const clv_buffer *target,
                        const clv_buffer *weight);
/* The length of the longest vector of g->velocity. Blocking. */
int clv_greedy_longest(clvox_context *ctx, clv_greedy *g, float *longest);
/* out = step v + u o (x + step v); out is neither. v is left as step v where v is g->velocity. */
int clv_greedy_move(clvox_context *ctx, clv_greedy *g, float step, const clv_buffer *u, clv_buffer *out);
/* out = image o (x + u). */
int clv_greedy_deform(clvox_context *ctx, const clv_greedy *g, const clv_buffer *image, const clv_buffer *u,
                      clv_buffer *out);

/* Maps at x + u and at x - u, of fields and images on one grid in voxels. */
extern const clv_map clv_greedy_forth, clv_greedy_back;

#endif
