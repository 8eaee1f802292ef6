/* SPDX-License-Identifier: Apache-2.0 */
/* Votes of atlases, as cl/label/vote.cl says. */
#ifndef REF_LABEL_VOTE_H
#define REF_LABEL_VOTE_H

#include "ref/label/weights.h"

enum { REF_LABEL_NAMES = 64 };

/* Weight of every label at voxel x, labels below REF_LABEL_NAMES. */
typedef struct ref_label_voters {
    const int *list, *place; /* listed voxels, and the number of each voxel */
    const float *weights;    /* of each atlas at each listed voxel; NULL: all 1, and no shifts */
    const int *shifts;
    int count, reach;
} ref_label_voters;
void ref_label_vote(const ref_label_stack *s, const ref_label_voters *v, int x,
                    double votes[REF_LABEL_NAMES]);
void ref_label_vote_patches(const ref_label_stack *s, int x, double width, double votes[REF_LABEL_NAMES]);

#endif
