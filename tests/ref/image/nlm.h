/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_NLM_H
#define REF_IMAGE_NLM_H

#include <stdbool.h>

/* As op/image/nlm.h says, of volumes that are not padded. guide NULL: by patches. */
typedef struct ref_nlm {
    const float *value, *guide, *sigma;
    int size[3], patch, search;
    double strength;
    bool rician;
} ref_nlm;

/* Frames (of one size, patch, search and strength, guided or not) by the weights of all; out: n of each. */
void ref_nlm_joint(const ref_nlm *frame, int frames, double *out);

void ref_nlm_means(const ref_nlm *args, double *out);

#endif
