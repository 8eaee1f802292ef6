/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_SURFACE_REDISTANCE_H
#define CLV_OP_SURFACE_REDISTANCE_H

#include "op/image.h"

/* out = the signed distance to the zero level of phi, sign as phi's, |grad out|
 * = 1 with the image's spacing (out is in its unit).
 * Voxels beside the level, those with a neighbour on the other side, keep phi
 * where its gradient norm is 1 already (within 1%, or within what the differences on the
 * two sides of a kink leave open) and divide it by its gradient norm elsewhere: what is
 * a distance stays one, sharp edges included, and the level stays where it is.
 * Each of them knows its closest point of the level. The others take the closest
 * of these points, found by jump flooding, and correct for the
 * level's curvature there: third order where the level is smooth; next to edges
 * and corners up to 0.3 voxels too far. phi is to be near a distance beside the
 * level; any other values take clv_level_distance. Beyond the grid the level goes on
 * straight. |out| is at most reach (in the unit of spacing); phi without a zero
 * level gives +-reach everywhere. NaN counts as outside. The same bits run after
 * run; devices agree but for rounding, which where two points are equally near
 * may choose the other. out is not phi. scratch: clv_redistance_bytes.
 * CLVOX_ERROR_ARGUMENT for an axis of more than 2040 voxels. */
int clv_redistance(clvox_context *ctx, const clv_image *phi, float reach, clv_buffer *out,
                   clv_buffer *scratch);

extern const clv_entry clv_entry_redistance_near, clv_entry_redistance_seed, clv_entry_redistance_jump,
    clv_entry_redistance_reach, clv_entry_redistance_finish;

size_t clv_redistance_bytes(const int size[3]);

/* ---- closest points, for clv_level_distance too ---- */

/* Sizes passed to kernels: voxels of a cell of cl/surface/cells.clh, and words that an axis of closest points has
 * in a run (cl/common/closest_point.clh). */
#define CLV_CELL_X 32
#define CLV_CELL_Y 4
#define CLV_CELL_Z 2
#define CLV_POINT_RUN 32
#define CLV_CLOSEST_POINTS                                                                            \
    "-DCELL_X=" CLV_TEXT(CLV_CELL_X) " -DCELL_Y=" CLV_TEXT(CLV_CELL_Y) " -DCELL_Z=" CLV_TEXT(CLV_CELL_Z) \
    " -DPOINT_RUN=" CLV_TEXT(CLV_POINT_RUN)

/* Refuses axes too long for them. */
int clv_closest_points_check(const int size[3]);
/* Empties the maps of cells in scratch (clv_redistance_bytes); *at is where they lie
 * there, in units of CLV_POINT_RUN words. */
int clv_closest_points_cells(clvox_context *ctx, const int size[3], clv_buffer *scratch, int *at);
/* Spreads the points in the first half of scratch to all voxels of the grid within
 * reach of the marked cells; *from is the first word of the result there. */
int clv_closest_points_spread(clvox_context *ctx, const clv_image *grid, float reach, clv_buffer *scratch,
                              int cells, int *from);

#endif
