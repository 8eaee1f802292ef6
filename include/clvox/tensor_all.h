/* SPDX-License-Identifier: Apache-2.0 */
/* From a scan to denoised tensors and their maps in one go. */
#ifndef CLVOX_TENSOR_ALL_H
#define CLVOX_TENSOR_ALL_H

#include "clvox/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct clvox_tensor_all_options {
    size_t size; /* of this struct, as clvox_tensor_all_defaults sets it */
    int everywhere;    /* 1: without a mask all voxels; 0: those of clvox_dwi_mask */
    clvox_tensor_fit_options fit;
    int plain;         /* 1: tensors are not denoised */
    clvox_tensor_denoise_options denoise;
    unsigned measures; /* wanted, as of clvox_tensor_measures */
} clvox_tensor_all_options;

typedef enum clvox_tensor_stage {
    CLVOX_TENSOR_STAGE_SCAN = 0, /* the scan and its mask */
    CLVOX_TENSOR_STAGE_FIT,
    CLVOX_TENSOR_STAGE_DENOISE,
    CLVOX_TENSOR_STAGE_MEASURES
} clvox_tensor_stage;

typedef struct clvox_tensor_all_result {
    clvox_volume *mask;                   /* of clvox_dwi_mask; NULL where one was given, or everywhere */
    clvox_tensor_fit_result fit;
    clvox_tensor_denoise_result denoised; /* its tensor is NULL with `plain` */
    clvox_volume *maps[CLVOX_MEASURES];   /* those wanted */
    clvox_tensor_stage stage;             /* the last that was begun: where it failed */
    double seconds[3];                    /* to the fit, denoising, measures */
    size_t device_bytes;
} clvox_tensor_all_result;

/* The fit's and the denoising's own defaults, in the scan's own mask, all measures. */
CLVOX_API void clvox_tensor_all_defaults(clvox_tensor_all_options *options);

/* The options by name (clvox/options.h). Static. */
CLVOX_API const clvox_option_table *clvox_tensor_all_table(void);

/* clvox_dwi_mask, clvox_tensor_fit, clvox_tensor_denoise and clvox_tensor_measures
 * in one go: the scan goes to the device once, and what a stage makes stays there
 * for the next. Gives the same values as they do one by one, and goes through the
 * host as they do where the device cannot hold it all. Errors are theirs;
 * CLVOX_ERROR_DATA too where a fit leaves no residuals to take lambda from. On
 * success the volumes of *out are the caller's, to be released with
 * clvox_tensor_all_result_destroy; on failure they are NULL. options NULL: the defaults. */
CLVOX_API int clvox_tensor_all(clvox_context *context, const clvox_volume *dwi,
                               const clvox_gradients *gradients, const clvox_volume *mask,
                               const clvox_tensor_all_options *options, clvox_tensor_all_result *out);

/* Releases the volumes and sets them to NULL. */
CLVOX_API void clvox_tensor_all_result_destroy(clvox_tensor_all_result *result);

#ifdef __cplusplus
}
#endif

#endif
