/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor fields whose truth is known in world space, and the diffusion-weighted
 * scan that a scanner would make of them: the same field for any grid with the
 * same centre and extents, however its axes run. */
#ifndef CLV_PHANTOM_TENSOR_H
#define CLV_PHANTOM_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/phantom.h"

/* Lengths go by the half of the grid's middle extent; the frame of helix, rings
 * and blocks is turned against the world's axes, so that no face runs along voxels
 * of a plain grid. The mask is an ellipsoid along the grid's axes. */
typedef struct clv_tensor_phantom {
    clvox_tensor_phantom kind;
    uint64_t seed;         /* of the blocks of CLVOX_TENSOR_STEPS */
    double to_own[4][4];   /* RAS mm -> the phantom's frame, in its unit */
    double own_axes[3][3]; /* a rotation: a direction in that frame -> RAS */
    double to_mask[4][4];  /* RAS mm -> the mask is the unit ball */
} clv_tensor_phantom;

int clv_tensor_phantom_make(clvox_tensor_phantom kind, const clvox_grid *grid, uint64_t seed,
                            clv_tensor_phantom *out);

/* The tensor at a world position, RAS mm: Dxx Dxy Dxz Dyy Dyz Dzz in RAS, mm^2/s. */
void clv_tensor_phantom_at(const clv_tensor_phantom *phantom, const double x[3], double d[6]);
bool clv_tensor_phantom_inside(const clv_tensor_phantom *phantom, const double x[3]);

/* Truth at the voxels of a grid: tensors and their FA, 0 outside the mask, and the mask (kind LABEL, type uint8).
 * The caller's; on failure NULL. */
int clv_tensor_phantom_truth(const clv_tensor_phantom *phantom, const clvox_grid *grid,
                             clvox_volume **tensor, clvox_volume **fa, clvox_volume **mask);

/* A table of one volume without weighting for every ten directions (at least
 * one), these first, and directions with weight b, spread over the half sphere by
 * the repulsion of charges at both ends of each axis (Jones et al. 1999).
 * The caller's; on failure NULL. */
int clv_tensor_phantom_gradients(int directions, double b, uint64_t seed, clvox_gradients **out);

/* The signal S0 exp(-b g'Dg) with S0 = 1000 inside the mask and 0 outside.
 * snr: S0 / sigma of the noise, infinite for none; the noise is of the
 * magnitude of a complex signal (Rician) or added (Gaussian). The caller's. */
int clv_tensor_phantom_dwi(const clv_tensor_phantom *phantom, const clvox_grid *grid,
                           const clvox_gradients *gradients, double snr, bool rician, uint64_t seed,
                           clvox_volume **out);

#endif
