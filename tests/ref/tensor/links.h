/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_TENSOR_LINKS_H
#define REF_TENSOR_LINKS_H

/* Bytes of links (src/op/tensor/links.h); mask may be NULL. */
void ref_tensor_links(const float *mask, const int size[3], unsigned char *links);

#endif
