/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_REDISTANCE_H
#define CLV_OP_SURFACE_REDISTANCE_H

#include "runtime/runtime.h"

/* out = the signed distance to the zero level of phi, sign as phi's, |grad out|
 * = 1 with the voxel edges `spacing` (out is in their unit).
 * Voxels beside the level, those with a neighbour on the other side, keep phi
 * where its slope is 1 already (within 1%, or within what the differences on the
 * two sides of a kink leave open) and divide it by its slope elsewhere: what is
 * a distance stays one, sharp edges included, and the level stays in its place.
 * Each of them knows the place of the level that it is nearest to. The others
 * take the nearest of these places, found by jump flooding, and correct for the
 * level's curvature there: third order where the level is smooth; next to edges
 * and corners up to 0.3 voxels too far. phi is to be near a distance beside the
 * level; any other values take clv_level_distance (op/level.h). Beyond the grid the level goes on
 * straight. |out| is at most reach (in the unit of spacing); phi without a zero
 * level gives +-reach everywhere. NaN counts as outside. The same bits run after
 * run; devices agree but for rounding, which where two places are equally near
 * may choose the other. out is not phi. scratch: clv_redistance_bytes.
 * CLVOX_ERROR_ARGUMENT for an axis of more than 2040 voxels. */
int clv_redistance(clvox_context *ctx, const clv_buffer *phi, const int size[3], const float spacing[3],
                   float reach, clv_buffer *out, clv_buffer *scratch);

extern const clv_entry clv_entry_redistance_near, clv_entry_redistance_seed, clv_entry_redistance_jump,
    clv_entry_redistance_reach, clv_entry_redistance_finish;

size_t clv_redistance_bytes(const int size[3]);

/* Refuses axes too long for places. */
int clv_places_check(const int size[3]);
/* Empties the maps of cells (cl/surface/cells.clh) in scratch (clv_redistance_bytes);
 * *at is where they lie there, in units of 32 words. */
int clv_places_cells(clvox_context *ctx, const int size[3], clv_buffer *scratch, int *at);
/* Spreads the places in the first half of scratch to all voxels within reach of
 * the marked cells; *from is the first word of the result there. */
int clv_places_spread(clvox_context *ctx, const int size[3], const float spacing[3], float reach,
                      clv_buffer *scratch, int cells, int *from);

#endif
