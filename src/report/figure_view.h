/* SPDX-License-Identifier: Apache-2.0 */
/* How a grid is cut for a picture: panels across it, hung as a radiologist
 * hangs them. */
#ifndef CLV_REPORT_FIGURE_VIEW_H
#define CLV_REPORT_FIGURE_VIEW_H

#include <stdbool.h>

#include "clvox/volume.h"
#include "report/raster.h"

/* How the grid is cut: for each of R, A, S the grid axis next to it, whether it
 * runs the other way, the shown range in voxel edges, the cut. */
typedef struct clv_view {
    int axis[3];
    bool flipped[3];
    double from[3], to[3]; /* voxel edges along the grid axis of R, A, S */
    int cut[3];
    double spacing[3]; /* of R, A, S */
    double scale;      /* pixels a millimetre */
} clv_view;

/* A panel: which world axes run right and down, and how large it is. */
typedef struct clv_panel {
    int across, down; /* R, A, S as 0, 1, 2 */
    int normal;
    int width, height;
} clv_panel;

/* Sets axis, flipped and spacing: the assignment of grid axes to R, A, S with
 * the largest sum of cosines. */
void clv_view_orient(const clvox_grid *grid, clv_view *v);

/* The axial, the coronal and the sagittal panel (0, 1, 2) of a whole view, as
 * large as its proportions in millimetres say. */
clv_panel clv_view_panel(const clv_view *v, int number);

/* Voxel of the middle of a panel's pixel. R, A and S run to the left, to the
 * left and up: as a radiologist hangs the pictures. */
void clv_view_voxel(const clv_view *v, const clv_panel *p, int x, int y, double voxel[3]);
/* Its place in the world. */
void clv_view_place(const clv_view *v, const clvox_grid *grid, const clv_panel *p, int x, int y,
                    double ras[3]);

/* The letters of the sides of a panel whose corner is (left, top) and, with
 * `where`, at which millimetre it cuts. */
void clv_view_annotate(clv_raster *raster, const clv_view *v, const clvox_grid *grid, const clv_panel *p,
                       int left, int top, bool where);

#endif
