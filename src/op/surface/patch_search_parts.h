/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the patch search, for its own files and the papers' form of it. */
#ifndef CLV_OP_SURFACE_PATCH_SEARCH_PARTS_H
#define CLV_OP_SURFACE_PATCH_SEARCH_PARTS_H

#include "op/surface/patch_search.h"

/* Sizes passed to kernels by CLV_PATCH_SIZES: numbers of features of a patch, floats of a block's box, candidates
 * of a row, near blocks, the longest stride. */
#define CLV_PATCH_POLYNOMIALS 10
#define CLV_PATCH_FEATURES 12
#define CLV_PATCH_BOX 24
#define CLV_PATCH_CAPACITY 512
#define CLV_PATCH_NEAR 16
#define CLV_PATCH_LONGEST 352
#define CLV_PATCH_SIZES                                                                                      \
    "-DPOLYNOMIALS=" CLV_TEXT(CLV_PATCH_POLYNOMIALS) " -DFEATURES=" CLV_TEXT(CLV_PATCH_FEATURES)             \
    " -DBOX=" CLV_TEXT(CLV_PATCH_BOX) " -DCAPACITY=" CLV_TEXT(CLV_PATCH_CAPACITY)                            \
    " -DNEAR=" CLV_TEXT(CLV_PATCH_NEAR) " -DLONGEST=" CLV_TEXT(CLV_PATCH_LONGEST)

enum {
    CLV_PATCH_LARGEST_BLOCK = 128,
    CLV_PATCH_NORM = CLV_PATCH_FEATURES - 1 /* number of the feature that is the patch's norm */
};

/* Layout of the scratch buffer, in units of 16 floats; -1: absent. */
typedef struct clv_patch_layout {
    int order, basis, by_index, patches, panels, features, boxes, centres, near, counts, cursors, left, lists;
    int samples, stride; /* of a patch; the stride is a multiple of 16 */
    int block;           /* positions of a block */
    int panel;           /* and of a panel; 0: there are none */
    int chunk;           /* blocks whose rows have lists at a time */
    size_t bytes;
} clv_patch_layout;

/* The first CLV_PATCH_POLYNOMIALS products of orthonormal polynomials on the samples
 * of a patch, by degree: basis[sample CLV_PATCH_POLYNOMIALS + polynomial]. */
void clv_patch_basis(int radius, float *basis);

/* Orders the indices of all patches that are finite so that blocks of `block`
 * have near features (a k-d tree of medians); returns their number. features:
 * CLV_PATCH_FEATURES a patch. */
int clv_patch_order(const float *features, int count, int block, int32_t *order);

/* Shared by all steps of a search. */
typedef struct clv_patch_task {
    clvox_context *ctx;
    const clv_patch_search_args *a;
    int used; /* patches that take part */
    clv_patch_layout at;
} clv_patch_task;

/* Checks the arguments, lays out the scratch buffer for blocks and panels of so
 * many positions, and makes all neighbours -1, all distances INFINITY. */
int clv_patch_begin(clv_patch_task *task, int block, int panel);

/* Gathers the patches of the whole band, positions being indices, and in panels
 * where the layout has them. */
int clv_patch_take_all(clv_patch_task *task);

/* Waits and tells the caller how far it is; CLVOX_ERROR_STOPPED where asked to stop. */
int clv_patch_report(const clv_patch_task *task, double fraction);

#endif
