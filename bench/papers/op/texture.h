/* SPDX-License-Identifier: Apache-2.0 */
/* Image objects for cl/texture.clh, which reads a buffer or one of these. */
#ifndef CLV_OP_PAPERS_TEXTURE_H
#define CLV_OP_PAPERS_TEXTURE_H

#include "op/image.h"

/* An image object of in, of so many dimensions as the variant's name begins with; the caller destroys it. */
static inline int clv_texture_create(clvox_context *ctx, const clv_variant *variant, const clv_image *in,
                                     clv_buffer **out)
{
    return clv_image_create(ctx, in->buffer, variant->name[0] == '3' ? in->size : NULL,
                            "image object of a volume", out);
}

#endif
