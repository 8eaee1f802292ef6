/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_PRIMAL_DUAL_H
#define CLV_OP_TENSOR_PRIMAL_DUAL_H

#include "op/tensor/links.h"

/* Total variation of tensor fields, the convex model in D:
 *   TV[D] + lambda/2 sum over voxels of |D - f|_F^2, eigenvalues of D >= floor,
 * |.|_F of all nine entries, TV[D] = sum over voxels of |grad D|_F (local), or
 * sqrt(sum_ij TV[d_ij]^2), TV[d] = sum |grad d| (paper: Moazeni et al. 2009),
 * or sum radius |grad D|_F with a radius above 0 and at most 1 for each voxel,
 * by Chambolle and Pock 2011, algorithm 2. Differences are forward, times
 * w_a = smallest edge / edge a, between voxels of the mask only.
 *
 * Tensors: 6 n floats, planar, xx xy xz yy yz zz, of size about 1 (1e-3 mm^2/s).
 * What lies outside the mask stays as it is and may be NaN; inside it is finite.
 * Volumes below 2^31 / 18 voxels. */

#define CLV_TENSOR_PD_SUMS 9 /* partial sums of a work-group */
enum { CLV_TENSOR_PD_PARTIALS = CLV_TENSOR_PD_SUMS * 1024, CLV_TENSOR_PD_STATE = 16 };

typedef struct clv_tensor_pd {
    clv_image data;           /* f: 6 n, and the grid of all; of the spacing only the ratios count */
    float lambda;
    float floor;              /* below 0: none (logarithms have no sign) */
    bool paper;               /* the coupling of the paper; else local */
    const clv_buffer *links;  /* clv_tensor_links */
    const clv_buffer *radius; /* n, local alone; NULL: 1 everywhere */
    clv_buffer *tensor;       /* D: 6 n, the start and the result */
    clv_buffer *ahead;        /* 6 n, scratch */
    clv_buffer *dual;         /* clv_tensor_pd_dual_bytes: |p| <= 1 */
    clv_buffer *partial;      /* CLV_TENSOR_PD_PARTIALS */
    clv_buffer *state;        /* CLV_TENSOR_PD_STATE */
    float tau, sigma;         /* the steps, of clv_tensor_pd_start */
} clv_tensor_pd;

/* 18 planes, each a little longer than the volume: planes whose lengths are
 * multiples of a page fall on the same lines of a CPU's cache. */
size_t clv_tensor_pd_dual_bytes(const int size[3]);

/* Sets the steps and what iterations keep. With again, the dual stays as it
 * is, which is a good start when only f has changed. */
int clv_tensor_pd_start(clvox_context *ctx, clv_tensor_pd *pd, bool again);
/* One iteration: two launches (paper: four), no host read. */
int clv_tensor_pd_step(clvox_context *ctx, clv_tensor_pd *pd);

/* radius = contrast / (contrast + |grad D|_F) of pd->tensor: where that has an
 * edge, the next round smooths less (Candes, Wakin and Boyd 2008). n floats. */
int clv_tensor_pd_radius(clvox_context *ctx, const clv_tensor_pd *pd, float contrast, clv_buffer *radius);

typedef struct clv_tensor_pd_energies {
    double components[6]; /* TV[d_ij], those beside the diagonal times sqrt 2 */
    double variation;     /* TV[D] */
    double fit;           /* 1/2 sum |D - f|^2 */
    double energy;
    double dual;          /* what no D can be below: the gap bounds the error */
} clv_tensor_pd_energies;

/* The energies at D and at the dual. Blocking. Fixed order. */
int clv_tensor_pd_energy(clvox_context *ctx, const clv_tensor_pd *pd, clv_tensor_pd_energies *out);

/* The matrix logarithm of each tensor inside, in place (eigenvalues below least
 * count as least, which is above 0), or with back the exponential. */
int clv_tensor_log(clvox_context *ctx, clv_buffer *tensor, const clv_buffer *links, int voxels, float least,
                   bool back);

/* to = times from, inside; elsewhere `to` stays. They may be the same. */
int clv_tensor_inside(clvox_context *ctx, const clv_buffer *from, const clv_buffer *links, int voxels,
                      float times, clv_buffer *to);

extern const clv_entry clv_entry_tensor_inside;
extern const clv_entry clv_entry_tensor_log;
extern const clv_entry clv_entry_tensor_pd_dual;
extern const clv_entry clv_entry_tensor_pd_primal;
extern const clv_entry clv_entry_tensor_pd_radius;
extern const clv_entry clv_entry_tensor_pd_sums;
extern const clv_entry clv_entry_tensor_pd_total;

#endif
