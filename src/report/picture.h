/* SPDX-License-Identifier: Apache-2.0 */
/* A volume as it is looked at: sampled anywhere in the world, in a grey window of its own. */
#ifndef CLV_REPORT_PICTURE_H
#define CLV_REPORT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "report/figure_view.h"

/* A volume with the map from world to its voxels, and its grey window. */
typedef struct clv_picture {
    const clvox_volume *volume; /* its first frame */
    double from_ras[4][4];
    double low, high, threshold;
} clv_picture;

/* CLVOX_ERROR_DATA for a grid that has no inverse. The window is 0 to 1. */
int clv_picture_open(clv_picture *p, const clvox_volume *volume);

/* The same of the volume as the world has its axes. *own, the caller's, holds it where its voxels are stored
 * otherwise. NULL: the picture stays as it is. */
int clv_picture_open_upright(clv_picture *p, const clvox_volume *volume, clvox_volume **own);

/* Chooses the window: from below the darkest to 99.5 percent of what is brighter than
 * the mean, which leaves out the air round a head, inside the mask if there is
 * one, as skin and fat are brighter than a brain. */
int clv_picture_window(clv_picture *p, const clv_picture *mask);

/* 0 to 1 within the window. */
double clv_picture_grey(const clv_picture *p, double value);

/* Trilinear; NAN outside. */
double clv_picture_sample(const clv_picture *p, const double ras[3]);

/* The label with the largest weight round the position, 0 outside. */
int clv_picture_label(const clv_picture *p, const double ras[3]);

/* Frames the head (what is above the threshold of an open window) with a margin, at so many pixels of the
 * longest side, and cuts through the centre of the mask (may be NULL), or of the head. v is oriented. */
void clv_picture_frame(const clv_picture *head, const clv_picture *mask, int pixels, clv_view *v);

/* Edges of a w x h panel of values: its slope is a maximum across the edge and among the steepest. *out is the
 * caller's to free, also on failure. */
int clv_picture_edges(const clv_picture *p, const double *values, int w, int h, bool **out);

/* How far colours for values of either sign reach: 99 percent of the values that were added, rounded up, at
 * most 4. A zeroed one is empty. NAN is passed over. */
enum { CLV_REACH_BINS = 4096 };
typedef struct clv_reach {
    size_t histogram[CLV_REACH_BINS], count;
} clv_reach;
void clv_reach_add(clv_reach *reach, double value);
double clv_reach_end(const clv_reach *reach);

#endif
