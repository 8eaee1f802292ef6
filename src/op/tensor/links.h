/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_LINKS_H
#define CLV_OP_TENSOR_LINKS_H

#include "op/image.h"

/* What a voxel has to do with its neighbours, a byte each, so that kernels of
 * total variation need no test of borders and of masks: a link joins two voxels
 * that are neighbours along an axis and both inside the mask. A voxel outside
 * has 0. */
enum {
    CLV_LINK_X = 1,       /* to the next voxel along x */
    CLV_LINK_Y = 2,
    CLV_LINK_Z = 4,
    CLV_LINK_INSIDE = 8,  /* the voxel itself is inside */
    CLV_LINK_BACK_X = 16, /* to the voxel before it along x */
    CLV_LINK_BACK_Y = 32,
    CLV_LINK_BACK_Z = 64
};

/* Bytes that a buffer of links takes. */
size_t clv_tensor_links_bytes(const int size[3]);

/* mask: inside where > 0 (so NaN is outside); without a buffer all are. */
int clv_tensor_links(clvox_context *ctx, const clv_image *mask, clv_buffer *links);

extern const clv_entry clv_entry_tensor_links;

#endif
