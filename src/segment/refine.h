/* SPDX-License-Identifier: Apache-2.0 */
/* Of the two labels that atlases vote for most, the one that a voxel's intensity fits better. */
#ifndef CLV_SEGMENT_REFINE_H
#define CLV_SEGMENT_REFINE_H

#include <stdint.h>

/* On a grid of this size, x fastest. What is not finite in the head counts as 0. */
typedef struct clv_refining {
    int size[3], reach; /* voxels along each axis, at which a label's intensities are looked at */
    const float *head;
    float strength;           /* 0: as voted */
    uint16_t *label, *second; /* second UINT16_MAX: nothing to choose between */
    float *share, *other;     /* of the votes, for label and second */
} clv_refining;

/* At voxels with two labels chooses that of the larger p_l N(I | m_l, v_l)^strength: p_l its share of the
 * votes, m_l and v_l mean and variance of the head within reach, each voxel weighed by the label's share
 * there; v_l is raised by FLOOR (refine.c) of the variance of all voxels with two labels. Exchanges label and
 * second where the second wins; share becomes the winner's part of both, other the rest. On the host, in all
 * its threads; the same bits for any number of them. CLVOX_ERROR_MEMORY. */
int clv_refine(const clv_refining *refining);

#endif
