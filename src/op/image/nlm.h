/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_IMAGE_NLM_H
#define CLV_OP_IMAGE_NLM_H

#include "op/image.h"

enum { CLV_NLM_MAX_PATCH = 2, CLV_NLM_MAX_SEARCH = 10 };

/* An image with room around it, as the means below read it. */
typedef struct clv_nlm_padding {
    int size[3], margin[3];
    int part; /* above 0: rows are folded, eight parts of so many voxels side by side */
} clv_nlm_padding;

/* For neighbours up to `search` voxels away. */
clv_nlm_padding clv_nlm_padding_of(const int size[3], int search);
/* The same for clv_nlm_means by a guide, in the order in which the kernel for this device reads it. */
int clv_nlm_guided_padding(clvox_context *ctx, const int size[3], int search, clv_nlm_padding *out);
size_t clv_nlm_padded_bytes(const clv_nlm_padding *padding);
/* The image padded, the edge value repeated; with means, sqrt(3) times the mean of
 * the 3^3 voxels around each instead. Of clv_nlm_padded_bytes. */
int clv_nlm_pad(clvox_context *ctx, const clv_image *in, const clv_nlm_padding *padding, bool means,
                clv_buffer *out);

typedef struct clv_nlm_means_args {
    clv_nlm_padding padding; /* with a guide, of clv_nlm_guided_padding */
    const clv_buffer *value; /* padded: what is averaged */
    const clv_buffer *guide; /* padded: compared voxel by voxel, with */
    const clv_buffer *mean;  /* its padded means, of clv_nlm_pad; NULL, both: patches of value are compared */
    int patch;               /* their radius, 1 to CLV_NLM_MAX_PATCH */
    int search;              /* radius of the ball of neighbours, in voxels: those within search + 1/2 */
    float strength;          /* of a weight exp(-q): q = (D - 2 sigma^2) / (strength sigma^2), at least 0, D
                                the mean squared difference of patches; guided: of (1 - q)^2, 0 from q = 1
                                on: q = (d^2 + 3 m^2) / (strength sigma^2), d and m the differences of guide
                                and mean */
    bool rician;             /* squares are averaged; the root of their mean is larger than the signal */
    const clv_buffer *sigma; /* standard deviation of the noise in each voxel; 0: it stays */
} clv_nlm_means_args;

/* out (n floats): the weighted mean of the voxels of the ball inside the
 * volume, the voxel itself by 1. exp(-q) is (1 - q/8)^8, 0 from q = 8 on. In
 * fixed order. */
int clv_nlm_means(clvox_context *ctx, const clv_image *grid, const clv_nlm_means_args *args, clv_buffer *out);

/* ---- frames that share their weights ------------------------------------- */

typedef struct clv_nlm_frame {
    const clv_buffer *value, *guide, *mean, *sigma; /* as above; where sigma is 0 in one frame it is in all */
    clv_buffer *out;                                /* n floats */
} clv_nlm_frame;

typedef struct clv_nlm_joint_args {
    clv_nlm_padding padding;
    const clv_nlm_frame *frame;
    int frames;
    bool guided; /* by guide and mean; else by patches of value */
    int patch, search;
    float strength; /* q is the mean over the frames of what it is in each; guided: the sum */
    bool rician;
    const clv_buffer *total;   /* n floats: the sum of weights */
    const clv_buffer *weights; /* of some neighbours of some voxels */
    size_t weights_bytes;      /* clv_nlm_weights_bytes; by it the sums are divided, and rounded */
} clv_nlm_joint_args;

/* Room for weights that serves well on the device. */
size_t clv_nlm_weights_bytes(const clvox_context *ctx, const int size[3], int search);
/* How many steps the weights' room makes of it; CLVOX_ERROR_ARGUMENT as clv_nlm_means, or where there is too
 * little room. After all steps, in order, each frame's out is its mean by weights of the sums over all
 * frames. */
int clv_nlm_joint_steps(const clv_image *grid, const clv_nlm_joint_args *args);
int clv_nlm_joint_step(clvox_context *ctx, const clv_image *grid, const clv_nlm_joint_args *args, int step);

extern const clv_entry clv_entry_nlm_distances;
extern const clv_entry clv_entry_nlm_gather;
extern const clv_entry clv_entry_nlm_means;
extern const clv_entry clv_entry_nlm_pad;

#endif
