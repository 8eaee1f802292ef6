/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_PAPERS_SPLAT_SORTED_H
#define CLV_OP_PAPERS_SPLAT_SORTED_H

#include "op/field/splat.h"

/* Room for eight shares of each of so many voxels: nodes and values twice, sums of segments, and what sorting
 * and scanning take. */
enum { CLV_SPLAT_ROOM = 8 };
typedef struct clv_splat_room {
    clv_buffer *buffer[CLV_SPLAT_ROOM];
} clv_splat_room;
int clv_splat_room_create(clvox_context *ctx, int voxels, clv_splat_room *out);

/* clv_splat without collisions, by sorting and segmented sums (Ha 2011, section 3.3.2.2): the same sums, bit
 * for bit. args->field is given, ones and boxes are not. */
int clv_splat_sorted(clvox_context *ctx, const clv_splat_args *args, const clv_splat_room *room);

extern const clv_entry clv_entry_splat_contribute, clv_entry_splat_units, clv_entry_splat_ends;

#endif
