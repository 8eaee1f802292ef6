/* SPDX-License-Identifier: Apache-2.0 */
/* Corresponding landmarks of two images, whose maps x + u lead from a middle to each of them. */
#ifndef CLV_OP_ANATOMY_LANDMARK_FORCE_H
#define CLV_OP_ANATOMY_LANDMARK_FORCE_H

#include "op/image.h"

/* Floats of the landmarks of one image: as given (x, y, z in voxels of the field's grid, 0), and as
 * clv_landmark_track leaves them (place in voxels and, of the first image, the squared distance of the two places in
 * mm^2; a vector and 0). The first image's come first. */
#define CLV_LANDMARK_POINT 4
#define CLV_LANDMARK_TRACKED 8

/* Positions of landmarks p_k and q_k in the middle, a_k + u(a_k) = p_k and b_k + second(b_k) = q_k (second NULL:
 * b_k = q_k), and with S = -weight state[slot] / count sum_k |a_k - b_k|^2 the vectors dS/du(a_k) and
 * dS/dsecond(b_k): -2 weight state[slot] / count D(x + u)(a_k)^-T (b_k - a_k) and its counterpart. Fields are
 * interpolated trilinearly, their border's vectors go on outside. Places where no inverse is found are the nearest
 * that was. */
typedef struct clv_landmark_args {
    const clv_buffer *points;
    int count;
    clv_image u; /* in mm along its grid's axes */
    const clv_buffer *second;
    float weight;
    const float *axes; /* NULL, or what the components of the vectors are multiplied by */
    const clv_buffer *state;
    int slot;
    clv_buffer *tracked;
} clv_landmark_args;

int clv_landmark_track(clvox_context *ctx, const clv_landmark_args *args);

/* force(i) += sum_k w(i - place_k) vector_k over the first image's landmarks or the second's, in their order: the same bits
 * run after run. sigma NULL: w trilinear, so that what is added is dS/du of every voxel. Else w is a Gaussian of so many
 * voxels along each axis, at least 1, cut off at 4 sigma, whose sum over voxels is 1 (along axes of one voxel it is
 * constant): that derivative smoothed. */
int clv_landmark_force(clvox_context *ctx, const clv_landmark_args *args, bool second, const float *sigma,
                       const clv_image *force);

/* Buffers in which many landmarks are sorted by the voxels that they reach. */
typedef struct clv_landmark_scratch {
    clv_buffer *cells, *order, *other_cells, *other_order, *counts, *totals;
    int most; /* landmarks; 0: there is none */
} clv_landmark_scratch;

/* On failure *out is empty. */
int clv_landmark_scratch_create(clvox_context *ctx, int most, clv_landmark_scratch *out);
void clv_landmark_scratch_destroy(clv_landmark_scratch *scratch);
/* At most. */
size_t clv_landmark_scratch_bytes(int most);

/* clv_landmark_force without sigma, bit for bit, in a time that grows with the sum of landmarks and not
 * with their product with the voxels: from thousands of landmarks on it is the faster one. */
int clv_landmark_force_sorted(clvox_context *ctx, const clv_landmark_args *args, bool second,
                              const clv_landmark_scratch *scratch, const clv_image *force);

extern const clv_entry clv_entry_landmark_cells, clv_entry_landmark_sums;
extern const clv_entry clv_entry_landmark_track;
extern const clv_entry clv_entry_landmark_force;

#endif
