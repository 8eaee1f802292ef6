/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of the patch search, for src/op/nlm_search*.c alone. */
#ifndef CLV_OP_SURFACE_PATCH_SEARCH_PARTS_H
#define CLV_OP_SURFACE_PATCH_SEARCH_PARTS_H

#include "op/surface/patch_search.h"

/* As in cl/surface/patch_search.clh. */
enum {
    NLM_POLYNOMIALS = 10,
    NLM_FEATURES = 12,
    NLM_BOX = 24,
    NLM_CAPACITY = 512,
    NLM_NEAR = 16,
    NLM_LARGEST_BLOCK = 128,
    NLM_NORM = 11 /* number of the feature that is the patch's norm */
};

/* Where things lie in the scratch buffer, in units of 16 floats; -1: absent. */
typedef struct clv_nlm_layout {
    int order, basis, by_index, patches, panels, features, boxes, centres, near, counts, cursors, left, lists;
    int samples, stride; /* of a patch; the stride is a multiple of 16 */
    int block;           /* positions of a block */
    int panel;           /* and of a panel; 0: there are none */
    int chunk;           /* blocks whose rows have lists at a time */
    size_t bytes;
} clv_nlm_layout;

/* Lays out a search of count rows. room: bytes of scratch, to which the chunk
 * is fitted; 0: as many as are worth having. */
void clv_nlm_lay_out(int count, int radius, int block, int panel, size_t room, clv_nlm_layout *out);

/* The first NLM_POLYNOMIALS products of orthonormal polynomials on the samples
 * of a patch, by degree: basis[sample NLM_POLYNOMIALS + polynomial]. */
void clv_nlm_basis(int radius, float *basis);

/* Orders the indices of all patches that are finite so that blocks of `block`
 * have near features (a k-d tree of medians); returns their number. features:
 * NLM_FEATURES a patch. */
int clv_nlm_order(const float *features, int count, int block, int32_t *order);

/* What every step of a search needs. */
typedef struct clv_nlm_task {
    clvox_context *ctx;
    const clv_nlm_patches *p;
    clv_buffer *neighbours, *distances, *scratch;
    int most, used; /* patches that take part */
    bool plain;     /* nothing is skipped */
    clv_nlm_layout at;
    int (*progress)(void *user, double fraction);
    void *user;
} clv_nlm_task;

/* Waits and tells the caller how far it is; CLVOX_ERROR_STOPPED where asked to stop. */
int clv_nlm_report(const clv_nlm_task *task, double fraction);

/* The paper's forms; patches and panels are there, positions are indices. */
int clv_nlm_pairs(const clv_nlm_task *task, clv_nlm_memory memory);

#endif
