/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_TENSOR_LINKS_H
#define CLV_OP_TENSOR_LINKS_H

#include "op/image.h"

/* Links of a voxel to its neighbours, a byte each that only kernels read (cl/tensor/links.clh), so that those of
 * total variation need no test of borders and of masks. */

/* Bytes that a buffer of links takes. */
size_t clv_tensor_links_bytes(const int size[3]);

/* mask: inside where > 0 (so NaN is outside); without a buffer all are. */
int clv_tensor_links(clvox_context *ctx, const clv_image *mask, clv_buffer *links);

extern const clv_entry clv_entry_tensor_links;

#endif
