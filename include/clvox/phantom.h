/* SPDX-License-Identifier: Apache-2.0 */
/* Images, warps, surfaces and scans whose truth is known: closed formulas evaluated in double precision on
 * any grid, so that no interpolation error enters. The same seed gives the same values on every machine. */
#ifndef CLVOX_PHANTOM_H
#define CLVOX_PHANTOM_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/surface.h"
#include "clvox/tensor.h"
#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All functions that make something return a clvox_status; what they make is the caller's on success, NULL on
 * failure: volumes for clvox_volume_destroy, surfaces for clvox_surface_destroy, gradients for
 * clvox_gradients_destroy. Grids have at least one voxel along each axis, and a matrix that is not
 * singular. */

/* A grid of that size and those edges (mm) whose centre is the world's origin: along R, A, S, or where
 * oblique is not 0 turned by a fixed rotation of 28 degrees. */
CLVOX_API void clvox_phantom_grid(const int size[3], const double spacing[3], int oblique, clvox_grid *out);

/* ---- images -------------------------------------------------------------- */

typedef enum clvox_phantom_kind {
    CLVOX_PHANTOM_TEXTURED = 0, /* a head: smooth random texture of three scales in an ellipsoid, 0 around */
    CLVOX_PHANTOM_BALL,         /* 100 inside of a ball, 0 outside, a linear ramp one voxel wide */
    CLVOX_PHANTOM_SHELLS,       /* nested ellipsoids 100, 200, 300, 400 with ramps; labels 1 to 4 */
    CLVOX_PHANTOM_CONSTANT      /* 100 everywhere */
} clvox_phantom_kind;

/* An image f(matrix (x + u(x))) + noise: f the phantom, u the warp of the seed, x the voxel's place in RAS
 * mm. So an image with matrix and u is the fixed one of a pair, one without either the moving one, and matrix
 * and u are the true map between them. */
typedef struct clvox_phantom {
    size_t size;          /* of this struct, as clvox_phantom_defaults sets it */
    clvox_phantom_kind kind;
    clvox_grid grid;      /* that the image is sampled on; the head has semi-axes of 0.38 of its extents */
    uint64_t seed;        /* of texture and warp */
    double noise;         /* standard deviation of noise, in the image's unit */
    uint64_t noise_seed;  /* images of one seed and another noise_seed differ in noise alone */
    double matrix[4][4];  /* RAS mm */
    double amplitude;     /* mm, of u as clvox_phantom_warp makes it; 0: none */
} clvox_phantom;

/* Textured, seed 1, no noise, noise_seed 1, the identity, no warp, on 64 x 64 x 64 voxels of 1 mm. */
CLVOX_API void clvox_phantom_defaults(clvox_phantom *phantom);

/* The image. CLVOX_ERROR_ARGUMENT for a kind that there is not and as clvox_phantom_warp, _MEMORY. */
CLVOX_API int clvox_phantom_image(const clvox_phantom *phantom, clvox_volume **out);

/* Its labels, pulled back alike, CLVOX_KIND_LABEL, uint8: 1 (outermost) to 4 of shells, of the others 1
 * inside of head or ball and 0 outside. Errors are clvox_phantom_image's. */
CLVOX_API int clvox_phantom_labels(const clvox_phantom *phantom, clvox_volume **out);

/* ---- warps --------------------------------------------------------------- */

/* A smooth displacement over the grid's box, 0 on its border and outside, whose longest vector is amplitude
 * mm:
 *   u(x) = W(t) sum_m d_m sin(2 pi k_m . t + phase_m), t in [0, 1]^3 over the box, W a product of sin^2(pi t)
 * with whole k, so that |Du| < 1 is known everywhere and x + u(x) never folds. inverse not 0: of the inverse
 * map. The volume is CLVOX_KIND_DISPLACEMENT, RAS mm. CLVOX_ERROR_ARGUMENT, naming the largest amplitude that
 * is possible, where it could fold, _MEMORY. */
CLVOX_API int clvox_phantom_warp(const clvox_grid *grid, double amplitude, uint64_t seed, int inverse,
                                 clvox_volume **out);

/* The amplitude that `clvox phantom` takes where none is asked for: 5 mm, or less where |Du| would exceed
 * 0.6. */
CLVOX_API int clvox_phantom_amplitude(const clvox_grid *grid, uint64_t seed, double *amplitude);

/* ---- surfaces ------------------------------------------------------------ */

/* Solids. Their size goes by the half extent of the grid's thinnest axis of more than one voxel; they are
 * turned against the grid and off its centre, so that no face runs along voxels. */
typedef enum clvox_solid {
    CLVOX_SOLID_SPHERE = 0,
    CLVOX_SOLID_TORUS,
    CLVOX_SOLID_CUBE,  /* a box on a larger box: edges and corners of both kinds */
    CLVOX_SOLID_CSG,   /* a machined part: a box with two holes through it and half a ball on top */
    CLVOX_SOLID_GYROID /* a gyroid's solid side within a ball */
} clvox_solid;

/* The signed distance in mm, negative inside, true everywhere: closed forms, of the gyroid to a thousandth of
 * a voxel. CLVOX_ERROR_ARGUMENT for a gyroid whose grid has too few voxels to show it and for a solid that
 * there is not, _MEMORY. */
CLVOX_API int clvox_phantom_distance(clvox_solid solid, const clvox_grid *grid, clvox_volume **out);

/* A mesh whose vertices lie on the surface, where it crosses the lines between the voxels of the grid refined
 * so many times (1: as it is). Errors are clvox_phantom_distance's. */
CLVOX_API int clvox_phantom_mesh(clvox_solid solid, const clvox_grid *grid, int refined, clvox_surface **out);

/* 1 where distance + sigma * noise < 0, else 0: CLVOX_KIND_LABEL, uint8. distance and sigma in mm; the noise
 * is normal of variance 1, white, or smoothed by a Gaussian of width voxels. CLVOX_ERROR_ARGUMENT for a width
 * below 0 or above 16, _MEMORY. */
CLVOX_API int clvox_phantom_mask(const clvox_volume *distance, double sigma, double width, uint64_t seed,
                                 clvox_volume **out);

/* Moves vertices along their normals (of the triangles around, by area) by sigma mm times normal noise.
 * CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_phantom_shake(clvox_surface *surface, double sigma, uint64_t seed);

/* ---- diffusion tensors --------------------------------------------------- */

/* Fields of tensors in an ellipsoid along the grid's axes; lengths go by the half of the grid's middle
 * extent. */
typedef enum clvox_tensor_phantom {
    CLVOX_TENSOR_HELIX = 0, /* a bundle along a helix in isotropic surroundings */
    CLVOX_TENSOR_RINGS,     /* rings of three radii and thicknesses, which cross */
    CLVOX_TENSOR_STEPS      /* blocks of constant tensors: edges of FA and of direction */
} clvox_tensor_phantom;

/* The truth: tensors (CLVOX_KIND_TENSOR, mm^2/s) and their FA, 0 outside the mask, and the mask (CLVOX_KIND_LABEL,
 * uint8). seed: of the blocks. CLVOX_ERROR_ARGUMENT for a kind that there is not, _MEMORY. */
CLVOX_API int clvox_phantom_tensor(clvox_tensor_phantom kind, const clvox_grid *grid, uint64_t seed,
                                   clvox_volume **tensor, clvox_volume **fa, clvox_volume **mask);

/* A table of one volume without weighting for every ten directions (at least one), these first, and
 * directions (6 or more) with weight b (s/mm^2), spread over the half sphere by the repulsion of charges at
 * both ends of each axis (Jones et al. 1999). CLVOX_ERROR_ARGUMENT, _MEMORY. */
CLVOX_API int clvox_phantom_gradients(int directions, double b, uint64_t seed, clvox_gradients **out);

/* The scan: S0 exp(-b g'Dg) with S0 = 1000 inside the mask and 0 outside, a frame for each gradient. snr: S0
 * / sigma of the noise, infinite for none; the noise is that of a magnitude image (rician not 0) or added.
 * Errors are clvox_phantom_tensor's. */
CLVOX_API int clvox_phantom_dwi(clvox_tensor_phantom kind, const clvox_grid *grid,
                                const clvox_gradients *gradients, double snr, int rician, uint64_t seed,
                                clvox_volume **out);

#ifdef __cplusplus
}
#endif

#endif
