/* SPDX-License-Identifier: Apache-2.0 */
/* Bands on which patches are searched, and what the search must give. */
#ifndef TESTS_OP_PATCH_PROBLEM_H
#define TESTS_OP_PATCH_PROBLEM_H

#include "harness.h"
#include "op/surface/patch_search.h"

/* A level set with a band, and what its search must give. */
typedef struct patch_problem {
    const char *what;
    int size[3], radius, most;
    float reach;
    int kind;   /* of shape() */
    int random; /* 0: multiples of 1/64, whose sums are exact, with many ties; 1: any values */
    float delta; /* the band is |phi| <= delta; below 0: all voxels that are finite or not */
} patch_problem;

enum { BALL, PLANE, TWO, NOISE, QUIET, HOLES };

typedef struct patch_data {
    int voxels, count;
    float *phi;
    int *band, *want;
    double *want_distance;
    clv_buffer *phi_device, *band_device;
} patch_data;

void patch_make(clvox_context *ctx, const patch_problem *p, patch_data *d);
void patch_drop(patch_data *d);

/* Runs search, which gets the arguments and `how`, and compares what it gives. elsewhere: the
 * places for reach are given apart from the band. */
typedef int (*patch_search)(clvox_context *ctx, const clv_patch_search_args *args, int how);
void patch_check(clvox_context *ctx, const patch_problem *p, const patch_data *d, patch_search search, int how,
                 bool elsewhere);

#endif
