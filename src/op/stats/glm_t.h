/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_STATS_GLM_T_H
#define CLV_OP_STATS_GLM_T_H

#include "op/image.h"

/* Permutations of one pass over the data, and voxels that lie together. */
#define CLV_GLM_BATCH 16
#define CLV_GLM_BLOCK 64
/* Below this share of the variance, what is left is summed over the residuals. */
#define CLV_GLM_NEAR 1e-3

/* A linear model of one tested column at every voxel. The residuals of the data against the nuisances have a length
 * of 1 over the subjects: subject s of voxel v is the float (v / BLOCK * subjects + s) * BLOCK + v % BLOCK, and zeros
 * fill the last block. */
typedef struct clv_glm {
    const clv_buffer *data;  /* clv_glm_floats */
    const clv_buffer *least; /* of every voxel the share of the variance that rounding alone may leave */
    int subjects;
    int voxels;
    int vectors; /* the tested column, and the nuisances of which permuted residuals are not free */
    double dof;
    bool absolute; /* |t| is what is largest, and what reaches a threshold */
} clv_glm;

size_t clv_glm_floats(int subjects, int voxels);

/* A batch of permutations. */
typedef struct clv_glm_batch {
    /* For permutation k, vector j (0: the tested column) and subject s the float (j * subjects + s) * BATCH + k of
     * this batch: what the permutation makes of the orthonormal vectors. */
    const clv_buffer *weights;
    int at;           /* the batch, of those in weights */
    int permutations; /* of them, at most BATCH */
    clv_buffer
        *largest; /* place slot + k of it, CLV_GLM_NONE at first, rises to the largest t of permutation k;
                            clv_glm_largest reads it */
    int slot;
    /* count[first + v] rises by the permutations whose t is at least threshold[first + v]; both NULL: none. */
    const clv_buffer *threshold;
    clv_buffer *count;
    int first;
    clv_buffer *maps; /* t of permutation k and voxel v at k * voxels + v; NULL: not wanted */
} clv_glm_batch;

#define CLV_GLM_NONE 0x80000000u

/* t = r sqrt(dof / left), left = 1 - sum_j b_j^2 - r^2 with r and b_j the products of data and weights; t is
 * 0 where left is no more than least: a perfect fit has no t. In float32: t is off by about 1e-7 / left of
 * itself where left is CLV_GLM_NEAR or more, by 1e-7 / sqrt(left) below. In queue order, without waiting. */
int clv_glm_t(clvox_context *ctx, const clv_glm *model, const clv_glm_batch *batch);

/* The value that an int of largest stands for. */
float clv_glm_largest(int32_t place);

extern const clv_entry clv_entry_glm_t;

#endif
