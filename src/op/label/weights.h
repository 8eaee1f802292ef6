/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_LABEL_WEIGHTS_H
#define CLV_OP_LABEL_WEIGHTS_H

#include "op/image.h"

enum { CLV_LABEL_PATCH = 2, CLV_LABEL_SEARCH = 3, CLV_LABEL_ATLASES = 64 };

/* A head and its atlases on one grid, with a margin on either side of every axis. */
typedef struct clv_label_stack {
    int size[3];         /* with the margins */
    int atlases, search; /* at most CLV_LABEL_ATLASES and CLV_LABEL_SEARCH */
    clv_buffer *images;  /* the head, then each atlas; finite; clv_label_images_bytes long */
    clv_buffer *moments; /* of their patches, by clv_label_moments; a pair of floats for each voxel */
    clv_buffer *labels;  /* int32_t for each voxel of each atlas; -1: it has none there, as in the margin */
} clv_label_stack;

/* Voxels of each margin. */
static inline int clv_label_margin(int search)
{
    return CLV_LABEL_PATCH + search;
}

/* Bytes of the images: some more than their voxels, as kernels read eight at a time. */
size_t clv_label_images_bytes(const int size[3], int atlases);

int clv_label_moments(clvox_context *ctx, const clv_label_stack *stack);

/* Voxels to work on, by their place in the padded grid; outside the margins. */
typedef struct clv_label_list {
    clv_buffer *at; /* int32_t each */
    int count;
} clv_label_list;

/* Weights (float) and shifts (int32_t) of each atlas at each voxel of the list, atlas by atlas, as
 * cl/label/weights.cl says; joint: from pairs of atlases. */
int clv_label_weights(clvox_context *ctx, const clv_label_stack *stack, const clv_label_list *list,
                      bool joint, float ridge, clv_buffer *weights, clv_buffer *shifts);

extern const clv_entry clv_entry_label_moments, clv_entry_label_weights;

#endif
