/* SPDX-License-Identifier: Apache-2.0 */
/* Two images with the true map between them, for the tests of registration. */
#ifndef REGISTER_PAIR_H
#define REGISTER_PAIR_H

#include "clvox/registration.h"
#include "phantom/phantom.h"

/* A textured head and the same head deformed: the truth leads from a place x of
 * the fixed image to matrix (x + warp(x)) of the moving one. labels: where the
 * head is in the fixed image. */
typedef struct pair {
    clvox_grid fixed_grid, moving_grid;
    double matrix[4][4];
    clv_phantom phantom;
    clv_phantom_warp warp;
    clvox_volume *fixed, *moving, *labels;
} pair;

/* Both images on one grid, matrix the identity, and a warp of `amplitude` mm. */
void pair_make(pair *p, const int size[3], const double spacing[3], bool oblique, double amplitude,
               uint64_t seed);
/* The same on grids and with a matrix that the caller has set. */
void pair_fill(pair *p, double amplitude, uint64_t seed);
void pair_free(pair *p);
/* An oblique left-handed fixed grid of odd sizes, the moving image on another
 * grid, and an affine between them that is not small. */
void pair_apart(pair *p, double amplitude, uint64_t seed);

/* A deformation alone, from the header: two levels of few iterations in steps
 * that end near the optimum, without momentum and without damping: the map of
 * a pair expands and compresses as much as it slides. */
void pair_options(clvox_register_options *o, clvox_deform deform, clvox_metric metric);

/* The models that have terms of anatomy. */
enum { PAIR_MODELS = 4 };
typedef struct pair_model {
    clvox_deform deform;
    const char *name;
} pair_model;
extern const pair_model pair_models[PAIR_MODELS];

/* A ball of 100 with soft edges in the middle of a grid about `middle`, RAS mm, that is turned about z. */
clvox_volume *pair_ball(const int size[3], const double spacing[3], const double middle[3], double radius,
                        double cosine);

/* Soft classes of an image's values, a frame each, which add up to `certain` with those of the darkest
 * ones, that are left out. */
clvox_volume *pair_tissues(const clvox_volume *image, int tissues, double certain);

/* Mean and largest distance of the result's map from the truth inside the head,
 * in voxels (the smallest edge); mask (may be NULL) says where to look instead. */
double pair_error(const pair *p, const clvox_register_result *r, const clvox_volume *mask, double *largest);

/* The same of no warp at all. */
double pair_start(const pair *p, const clvox_volume *mask);

/* How far `then` after `first` (both displacements) leads the voxel centres of
 * mask away from where they start, in voxels (the smallest edge of mask). */
double pair_detour(const clvox_volume *first, const clvox_volume *then, const clvox_volume *mask,
                   double *largest);
/* The same of a whole chain of links, the first one first. */
double pair_detour_of(const clvox_link *links, int count, const clvox_volume *mask, double *largest);
/* The same of the maps of two results, there and back, each an affine after its warp, if any. */
double pair_there_and_back(const clvox_register_result *there, const clvox_register_result *back,
                           const clvox_volume *mask, double *largest);
/* Mean and largest distance of two displacements on one grid over mask (NULL:
 * everywhere), in voxels (the smallest edge). */
double pair_distance(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask, double *largest);

/* One channel. */
int pair_register(clvox_context *ctx, const clvox_volume *fixed, const clvox_volume *moving,
                  const clvox_volume *fixed_mask, const clvox_volume *moving_mask,
                  const clvox_register_options *o, clvox_register_result *r);

/* Whether two warps on one grid have the same bits. */
bool pair_same(const clvox_volume *a, const clvox_volume *b);

/* pair_options with LNCC, and widths of shapes for a pair of levels. */
void pair_shape_options(clvox_register_options *o, clvox_deform deform);

#endif
