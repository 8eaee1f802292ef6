/* SPDX-License-Identifier: Apache-2.0 */
/* Images, labels and warps whose truth is known: closed formulas evaluated in
 * double on any grid, so that no interpolation error enters. The same seed
 * gives the same values on every machine (own integer generator). */
#ifndef CLV_PHANTOM_PHANTOM_H
#define CLV_PHANTOM_PHANTOM_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/phantom.h"

/* Whether a phantom can be made on a grid: CLVOX_ERROR_ARGUMENT and a sentence, or CLVOX_OK. */
int clv_phantom_grid_check(const clvox_grid *grid);

/* Nearly normal noise of variance 1: value number counter of a seed. */
double clv_phantom_normal(uint64_t seed, uint64_t counter);

/* ---- displacements ------------------------------------------------------ */

enum { CLV_PHANTOM_TERMS = 8 };

/* u(x) = W(t) sum_m d_m sin(2 pi k_m.t + phase_m), t the position in the box
 * of a grid (0 and 1 at its outermost voxel centres), W a product of
 * sin^2(pi t): smooth, and 0 on the box's border and outside. Whole numbers k
 * make u a trigonometric polynomial, which bounds its derivative everywhere
 * from samples: |Du| <= steepness < 1, hence x + u(x) is invertible and its
 * Jacobian positive. An axis of one voxel takes no part. */
typedef struct clv_phantom_warp {
    double to_box[4][4]; /* RAS mm -> t */
    bool thick[3];
    double k[CLV_PHANTOM_TERMS][3];
    double phase[CLV_PHANTOM_TERMS];
    double direction[CLV_PHANTOM_TERMS][3]; /* RAS mm */
    double steepness;
} clv_phantom_warp;

/* A seeded warp over the grid's box whose longest vector is amplitude mm.
 * CLVOX_ERROR_ARGUMENT, naming the largest possible amplitude, when the warp
 * could fold. */
int clv_phantom_warp_make(const clvox_grid *grid, double amplitude, uint64_t seed,
                          clv_phantom_warp *out);
/* u at x, both RAS mm. */
void clv_phantom_warp_at(const clv_phantom_warp *warp, const double x[3], double u[3]);
/* (Du)_ij = d u_i / d x_j at x. */
void clv_phantom_warp_gradient(const clv_phantom_warp *warp, const double x[3], double du[3][3]);
/* The x with x + u(x) = y, to 1e-9 mm. */
void clv_phantom_warp_inverse_at(const clv_phantom_warp *warp, const double y[3], double x[3]);
/* The warp (or the inverse, x(y) - y) sampled on a grid: kind DISPLACEMENT,
 * RAS mm. The caller's. */
int clv_phantom_warp_sample(const clv_phantom_warp *warp, const clvox_grid *grid, bool inverse,
                            clvox_volume **out);

/* ---- images ------------------------------------------------------------- */

/* An image as a function of the world position; sample it on any grid. */
typedef struct clv_phantom {
    clvox_phantom_kind kind;
    uint64_t seed;
    double noise;         /* standard deviation added to each voxel */
    double to_unit[4][4]; /* RAS mm -> the head is the unit ball */
    double center[3];     /* of ball, RAS mm */
    double radius;        /* of ball, mm */
    double edge;          /* width of ramps in mm (ball) */
    double unit_edge;     /* and in units of to_unit (shells) */
    float *lattice;       /* values of the texture's spline; owned */
} clv_phantom;

/* A phantom whose head has semi-axes of 0.38 of the grid's extents, along the
 * grid's axes; the ball has a radius of 0.3 of the smallest extent of an axis
 * with more than one voxel. Release with clv_phantom_free. */
int clv_phantom_make(clvox_phantom_kind kind, const clvox_grid *grid, uint64_t seed, double noise,
                     clv_phantom *out);
void clv_phantom_free(clv_phantom *phantom);

/* The phantom without noise at a world position, RAS mm. */
double clv_phantom_at(const clv_phantom *phantom, const double x[3]);
/* Its label: shells 1 (outermost) to 4, other kinds 1 inside of the head or
 * ball, 0 outside. */
int clv_phantom_label_at(const clv_phantom *phantom, const double x[3]);

/* The image whose voxel at x is phantom(matrix (x + u(x))), plus noise: what
 * pulling the phantom back through `-t warp -t matrix` gives. matrix (RAS mm)
 * and warp may be NULL. With fixed made through them and moving without, they
 * are the true map from fixed to moving. The noise depends on seed and
 * noise_seed alone. The caller's. */
int clv_phantom_image(const clv_phantom *phantom, const clvox_grid *grid,
                      const double matrix[4][4], const clv_phantom_warp *warp,
                      uint64_t noise_seed, clvox_volume **out);
/* The label map pulled back in the same way: kind LABEL, type uint8. */
int clv_phantom_labels(const clv_phantom *phantom, const clvox_grid *grid,
                       const double matrix[4][4], const clv_phantom_warp *warp,
                       clvox_volume **out);

#endif
