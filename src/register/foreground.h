/* SPDX-License-Identifier: Apache-2.0 */
/* Foreground of the fixed images, in cells of some millimetres, and its neighbourhood. */
#ifndef CLV_REGISTER_FOREGROUND_H
#define CLV_REGISTER_FOREGROUND_H

#include "clvox/volume.h"

/* A part of a grid as large as this share is not worth its own work. */
#define CLV_FOREGROUND_WORTH 0.97

typedef struct clv_foreground {
    clvox_grid grid;      /* of the fixed images */
    int edge[3], size[3]; /* voxels of a cell along each axis, and how many cells there are */
    unsigned char *holds; /* of each cell, whether it has content; NULL: nothing is known */
    double *shows;        /* of each cell, which share of what all volumes show lies there */
} clv_foreground;

/* No cell has content. To be freed, also after a failure. */
int clv_foreground_begin(const clvox_grid *grid, clv_foreground *content);
void clv_foreground_free(clv_foreground *content);

/* Adds the cells where a volume on the grid has more voxels above the threshold than a share of a whole
 * cell's. What it shows is the sum of the values above the threshold. */
int clv_foreground_mark(clv_foreground *content, const clvox_volume *volume, float threshold, double share);

/* The voxels of a level, a coarser or smaller grid of the same axes, that lie within room (mm along each
 * axis, the half axes of an ellipsoid) of a row of cells from its first to its last one with content: of
 * each row of the level two columns, as op/within.h has them. *part: how much of the level they are;
 * *missed (NULL: nobody asks): which share of what the volumes show on the level lies elsewhere, as vessels
 * do, which fill no cell, and noise. */
int clv_foreground_around(const clv_foreground *content, const clvox_grid *level, const double room[3],
                       int *columns, double *part, double *missed);

#endif
