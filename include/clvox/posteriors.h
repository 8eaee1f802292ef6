/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_POSTERIORS_H
#define CLVOX_POSTERIORS_H

#include "clvox/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CLVOX_MAX_TISSUES = 32 };

/* Tissue probabilities of two images, made comparable. In each voxel the common tissues and the rest (no
 * tissue, or one that the other image lacks) form a distribution: frames are 0 to 1 and add up to at most 1,
 * and the rest is 1 minus their sum. */
typedef struct clvox_posteriors {
    clvox_volume *fixed, *moving; /* a frame for each common tissue, in the same order; the caller's */
    int tissues;
    int64_t tissue[CLVOX_MAX_TISSUES]; /* the number of each: its frame, counted from 1, or its label */
    int left_out[2];   /* tissues of fixed and of moving that the other one lacks: part of the rest */
    double certain[2]; /* the value that stood for certainty in fixed and in moving: 1, 100 or 255 */
    double rest[2];    /* mean share of the rest over all voxels */
} clvox_posteriors;

/* From two volumes, each of them one frame a tissue, probabilities of 0 to 1, percent or 0 to 255, or a
 * label map (a volume of one frame that is one, or looks like one by its hint), whose labels but 0 are
 * tissues that are there or not. Frames are matched by order, labels by value, and label k with frame k;
 * frames that are 0 everywhere are missing. What is no number counts as 0, sums up to 5% above one are
 * scaled to one. CLVOX_ERROR_DATA where values lie below 0, where sums are larger or say none of the three
 * scales, where no tissue or more than CLVOX_MAX_TISSUES are in both; the sentence begins with "fixed" or
 * "moving" where it is about one of them. Release with clvox_posteriors_destroy, also after a failure. */
CLVOX_API int clvox_posteriors_create(const clvox_volume *fixed, const clvox_volume *moving,
                                    clvox_posteriors *out);

/* Releases what clvox_posteriors_create made; legal on a zeroed value and NULL. */
CLVOX_API void clvox_posteriors_destroy(clvox_posteriors *posteriors);

#ifdef __cplusplus
}
#endif

#endif
