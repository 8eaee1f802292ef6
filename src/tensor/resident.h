/* SPDX-License-Identifier: Apache-2.0 */
/* The stages from a scan to maps, on what the stage before left on the device. */
#ifndef CLV_TENSOR_RESIDENT_H
#define CLV_TENSOR_RESIDENT_H

#include "clvox/tensor.h"
#include "runtime/runtime.h"

/* Planes of floats on one grid. They are the caller's. */
typedef struct clv_resident {
    clv_buffer *scan;   /* the volumes, one after another */
    clv_buffer *mask;   /* above 0 inside; NULL: everywhere */
    clv_buffer *tensor; /* 6 planes, mm^2/s */
} clv_resident;

/* As clvox_dwi_denoise; `dwi` says the grid, how many volumes and whether they have signs, at->scan holds
 * them and is overwritten. On success *noise is the caller's. */
int clv_dwi_denoise_resident(clvox_context *ctx, const clvox_volume *dwi, int radius, const clv_resident *at,
                             clvox_volume **noise);

/* For the fit of a scan that clvox_dwi_denoise has cleaned: sets noise and sigma, and
 * their medians, to what remains of the noise that the PCA measured. */
int clv_tensor_fit_denoised(clvox_tensor_fit_result *fit, const clvox_volume *noise);

/* CLVOX_OK, or the sentence that says why these can't be fitted; reads no voxel. */
int clv_tensor_fit_check(const clvox_volume *dwi, const clvox_gradients *gradients, const clvox_volume *mask,
                         const clvox_tensor_fit_options *options);

/* Whether the device takes a fit of so many voxels at once, with all that it needs. */
bool clv_tensor_fit_whole(clvox_context *ctx, size_t voxels, int volumes,
                          const clvox_tensor_fit_options *options);

/* As clvox_tensor_fit, of the scan at->scan, which is overwritten; `dwi` says the grid and
 * how many volumes, its values are not read, and keep_scan is passed over. The
 * tensor stays in at->tensor too. at NULL: clvox_tensor_fit itself. */
int clv_tensor_fit_resident(clvox_context *ctx, const clvox_volume *dwi, const clvox_gradients *gradients,
                            const clvox_volume *mask, const clvox_tensor_fit_options *options,
                            const clv_resident *at, clvox_tensor_fit_result *out);

/* As clvox_tensor_denoise; at->tensor holds what `tensor` does and is overwritten by the
 * result. at NULL: clvox_tensor_denoise itself. */
int clv_tensor_denoise_resident(clvox_context *ctx, const clvox_volume *tensor, const clvox_volume *noise,
                                const clvox_volume *mask, const clvox_tensor_denoise_options *options,
                                const clv_resident *at, clvox_tensor_denoise_result *result);

#endif
