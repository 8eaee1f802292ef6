/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the force and of its energy: problems of many shapes. */
#ifndef OP_FLUID_FORCE_PROBLEM_H
#define OP_FLUID_FORCE_PROBLEM_H

#include "op/fluid/force.h"
#include "ref/fluid/energy.h"

typedef struct force_problem {
    const char *what;
    int size[3], moving_size[3];
    float spacing[3];
    float lambda, rough; /* rough: u's largest component in voxels */
    bool mask, image, turned, holes;
} force_problem;

/* Those before FORCE_ONE_BUILD use one build of each kernel, the rest the others. */
enum { FORCE_PROBLEMS = 12, FORCE_ONE_BUILD = 9 };
extern const force_problem force_problems[FORCE_PROBLEMS];

typedef struct force_data {
    ref_energy_problem ref;
    clv_force_args args;
    float *moving, *fixed, *mask, *u;
    double *u_double;
    size_t voxels, moving_voxels;
} force_data;

size_t force_voxels(const int size[3]);

/* Whether the problem is for this run: small ones alone where CLVOX_TEST_TINY is set. */
bool force_tiny(const force_problem *p);

/* Random images, mask and u of the problem; force_upload sends them, and force_discard releases all. */
void force_make(const force_problem *p, force_data *d);
void force_upload(clvox_context *ctx, const force_problem *p, force_data *d);
void force_discard(force_data *d);

/* The force that the call makes of d->args against the reference, twice. */
void force_compare(const force_problem *p, int (*call)(clvox_context *ctx, const force_data *d));

#endif
