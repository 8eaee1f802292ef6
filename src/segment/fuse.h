/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of a head from those of atlases on its grid. */
#ifndef CLV_SEGMENT_FUSE_H
#define CLV_SEGMENT_FUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "clvox/segment.h"

enum { CLV_FUSE_SETS = 2, CLV_FUSE_NONE = 0xFFFF };

/* Sets of labels that are fused by the same weights: each atlas's numbers, CLV_FUSE_NONE where it has no say;
 * out: the winners, CLV_FUSE_NONE where no atlas has a say, and their share of the votes. */
typedef struct clv_fuse_set {
    uint16_t *const *atlas;
    uint16_t *out;
    float *share;
    bool by_intensity; /* the method may choose the second label where it fits the head better (refine.h) */
} clv_fuse_set;

typedef struct clv_fusion {
    int size[3], atlases;
    const float *head, *const *images; /* what is not finite counts as 0 */
    clv_fuse_set set[CLV_FUSE_SETS];
    int sets;
    clvox_segment_method method;
    int planes; /* of the head that are on the device at a time; 0: as many as it holds */
} clv_fusion;

int clv_fuse(clvox_context *ctx, const clv_fusion *fusion);

#endif
