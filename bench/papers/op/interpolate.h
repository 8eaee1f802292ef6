/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_INTERPOLATE_H
#define CLV_OP_PAPERS_INTERPOLATE_H

#include "op/image.h"
#include "op/map.h"

/* clv_warp with CLV_LINEAR and outside 0, by where the image lies (Ha 2011, table 2.2): in the buffer of in,
 * or in an image object of it (texture.h), where the variant that is forced reads one; NULL: one for this
 * call. All eight corners count: a NaN spreads to positions on its neighbours. A sampler that interpolates
 * may round weights to 8 bits. */
int clv_interpolate(clvox_context *ctx, const clv_image *in, const clv_buffer *image, const clv_map *map,
                    const clv_buffer *u, const clv_image *out);

extern const clv_entry clv_entry_interpolate;

#endif
