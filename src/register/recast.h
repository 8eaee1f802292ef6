/* SPDX-License-Identifier: Apache-2.0 */
/* One of two images of different contrasts gets the other one's: each of its values becomes the mean of
 * the other image where this one has that value (Guimond et al. 2001 alternate likewise between
 * intensities and displacements). */
#ifndef CLV_REGISTER_RECAST_H
#define CLV_REGISTER_RECAST_H

#include "register/register.h"

enum { CLV_RECAST_BINS = 64 };

typedef struct clv_recast {
    int knots;   /* 0: nothing is known */
    bool moving; /* which image it is of */
    float from[CLV_RECAST_BINS], to[CLV_RECAST_BINS];
} clv_recast;

/* From samples that lie over one another, NaN where there is none; every step-th of n. */
void clv_recast_find(const float *fixed, const float *moving, size_t n, size_t step, clv_recast *out);

/* Whether two images on one grid become brighter in the same places: of the squared correlations of small
 * windows with content, those of positive ones less those of negative ones, over all: 1 for images of one
 * contrast. table: what the moving values go through first, or the fixed ones; NULL: neither do. NaN where
 * nothing has content. */
double clv_recast_agreement(const float *fixed, const float *moving, const int size[3],
                            const clv_recast *table);

/* Of a run whose images are as they were read, under its linear part. Blocking. */
int clv_recast_measure(clv_registration *run, clv_recast *out);

/* In the run's buffer of that image, and in a copy of a volume. */
int clv_recast_apply(clv_registration *run, const clv_recast *recast);
int clv_recast_copy(const clv_recast *recast, const clvox_volume *volume, clvox_volume **out);

#endif
