/* SPDX-License-Identifier: Apache-2.0 */
/* Levels of a registration, coarse to fine: images of a level, and what becomes
 * of a displacement between and within levels. */
#ifndef CLV_REGISTER_PYRAMID_H
#define CLV_REGISTER_PYRAMID_H

#include "register/register.h"

typedef struct clv_pyramid_level {
    int index;             /* from 0 */
    clvox_grid fixed, moving;
    int n, m;              /* voxels of the two */
    float spacing[3];      /* of fixed, mm */
    bool holes;            /* outside of the fixed mask the fixed image is NaN, and there is no mask */
    const clv_buffer *masks[2]; /* fixed and moving, each on its image's grid, 0 or 1; NULL: none */
    const clv_buffer *mask; /* the fixed one on the level, 0 to 1; NULL: none, or holes mark it */
} clv_pyramid_level;

/* The grids of a level, on which all terms are placed. They lie in the world; the moving one's resolution
 * follows the fixed one's through run->matrix. */
int clv_pyramid_make(clv_registration *run, int index, bool holes, clv_pyramid_level *level);

/* Smooths and samples every channel of the run into its level_fixed and level_moving. Outside of the moving
 * mask the moving image is NaN: unknown. */
int clv_pyramid_images(clv_registration *run, const clv_pyramid_level *level);

/* Shares of the work by level, of iterations weighed by their voxels; they add up to 1, or are all 0. */
void clv_pyramid_shares(const clvox_register_options *options, double share[CLVOX_MAX_LEVELS]);

/* Tells whoever watches of an iteration; CLVOX_ERROR_STOPPED where the deformation is to stop. */
int clv_pyramid_tell(const clv_registration *run, int level, int iteration, double metric, double fraction);

/* u on grid `to` from u on grid `from`: trilinear, the border's vectors go on
 * beyond it. In place, or to out. */
int clv_pyramid_carry(clv_registration *run, clv_buffer *u, const clvox_grid *from, const clvox_grid *to);
int clv_pyramid_sample(clv_registration *run, const clv_buffer *u, const clvox_grid *from,
                       const clvox_grid *to, clv_buffer *out);

/* Carries u, and its inverse where the run has it, from grid `from` to the fixed one, its determinants above
 * smallest there. */
int clv_pyramid_end(clv_registration *run, const clvox_grid *from, float smallest);

/* Fields as large as u, and a float a voxel, that mending overwrites. */
typedef struct clv_mending {
    clv_buffer *a, *b, *c;
    clv_buffer *weight;
} clv_mending;

/* Smooths u around voxels whose determinant det(I + Du) has fallen to
 * `smallest` or below, a little at a time and wider with every pass, until there
 * are none. *passes (may be NULL): how many it took. Blocking. */
int clv_mend_folds(clv_registration *run, clv_buffer *u, const clvox_grid *grid, float smallest,
                   const clv_mending *scratch, int *passes);

/* The same in room that is lent. */
int clv_pyramid_mend(clv_registration *run, clv_buffer *u, const clvox_grid *grid, float smallest,
                     int *passes);

#endif
