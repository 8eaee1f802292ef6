/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_TURN_H
#define CLV_OP_PAPERS_TURN_H

#include "op/image.h"

/* out(y, z, x) = in(x, y, z), a volume of size[1] x size[2] x size[0]; out is not in. */
int clv_turn(clvox_context *ctx, const clv_image *in, clv_buffer *out);

extern const clv_entry clv_entry_turn;

#endif
