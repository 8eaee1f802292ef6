/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_MPPCA_H
#define CLV_OP_TENSOR_MPPCA_H

#include "op/image.h"

extern const clv_entry clv_entry_mppca_pack, clv_entry_mppca_window, clv_entry_mppca_gather,
    clv_entry_mppca_finish;

typedef struct clv_mppca_args {
    clv_image dwi;          /* a component a volume, planar */
    int radius;             /* of the window, in voxels; less along an axis too short for it */
    bool is_signed;         /* values below 0 are signals; else the result has none */
    const clv_buffer *mask; /* voxels floats, > 0 inside; may be NULL */
    clv_buffer *out;        /* as dwi, and may be dwi */
    clv_buffer *sigma;      /* voxels floats: standard deviation of the noise, in dwi's unit */
    size_t workspace_bytes; /* bytes of scratch for windows in flight; 0: what the device likes */
} clv_mppca_args;

/* Marchenko-Pastur PCA (Veraart et al. 2016). In every window that fits into
 * the volume and has its middle in the mask, the samples without their mean are
 * a matrix X of K volumes and N samples, M and Q the smaller and the larger of K
 * and N. X X' / Q has M eigenvalues l that are not 0 (N - 1 with K >= N); the
 * largest are taken for signal while l_max - l_min > 4 sqrt(c / Q) mean(l) over
 * the c that are left, that mean is the variance of the noise, and components
 * below (1 + sqrt(M / Q))^2 times it are dropped. A voxel becomes the mean over
 * its windows, weighted by 1 / (1 + components kept) (Manjon et al. 2013), not
 * below 0 unless is_signed; outside the mask 0. A window that never changes counts as if it kept
 * everything. What is not finite counts as 0 in its neighbours' windows and
 * stays; voxels that no window reached stay too, with sigma 0. Takes scratch
 * from ctx while it runs. */
int clv_mppca(clvox_context *ctx, const clv_mppca_args *args);

#endif
