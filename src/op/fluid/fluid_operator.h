/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FLUID_FLUID_OPERATOR_H
#define CLV_OP_FLUID_FLUID_OPERATOR_H

#include "runtime/runtime.h"

/* L = -alpha Laplacian - beta grad div + gamma on vector fields, with alpha and
 * beta >= 0 and gamma > 0 (Ha 2011, equation 2.1, with the sign that makes it
 * positive definite). Second differences along an axis are those of the nearest
 * neighbours, mixed ones products of central differences, in mm; an axis of one
 * voxel has none. Beyond its border the field is 0, or begins anew where it is
 * periodic. Either way L is symmetric and no eigenvalue is below gamma. */
typedef struct clv_fluid_operator {
    int size[3];
    float spacing[3];
    float alpha, beta, gamma;
    bool periodic;
} clv_fluid_operator;

/* Floats of `partial` that any size takes. */
enum { CLV_FLUID_OPERATOR_PARTIALS = 65536 };

/* CLVOX_ERROR_ARGUMENT where L is not as above. */
int clv_fluid_operator_check(const clv_fluid_operator *op);

/* out = L v, which is not v. */
int clv_fluid_operator_apply(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *v, clv_buffer *out);

/* out = L v or, where there is an f, f - L v; out is neither v nor f. The first *count floats of partial add
 * up to v . L v, or to the square of f - L v; without f both may be NULL. */
typedef struct clv_fluid_product {
    const clv_buffer *v, *f;
    clv_buffer *out, *partial;
    int *count;
} clv_fluid_product;
int clv_fluid_operator_launch(clvox_context *ctx, const clv_fluid_operator *op, const clv_fluid_product *p);

/* L v = f, to be solved from the v that is there until |f - L v| <= tolerance |f|
 * or `most` iterations are done. */
typedef struct clv_fluid_problem {
    clv_fluid_operator op;
    const clv_buffer *f;
    clv_buffer *v;
    double tolerance;
    int most;
} clv_fluid_problem;

/* Report of a solver. */
typedef struct clv_fluid_report {
    int iterations;
    double left; /* |f - L v| / |f| */
} clv_fluid_report;

extern const clv_entry clv_entry_fluid_operator;

#endif
