/* SPDX-License-Identifier: Apache-2.0 */
/* The images of a run brought together, in the fixed image's mm. */
#ifndef CLV_REGISTER_CONTRAST_MEETING_H
#define CLV_REGISTER_CONTRAST_MEETING_H

#include "op/map.h"
#include "register/register.h"

/* Parts of a run in the moving image's own units. */
typedef struct clv_own_units {
    clvox_grid grid;
    double matrix[4][4];
} clv_own_units;

/* mm of the moving image in one of the fixed one: 1, unless its header is in other units. */
double clv_units_apart(const clv_registration *run);

/* Moves the moving image into the fixed one's units, and back. */
void clv_units_enter(clv_registration *run, clv_own_units *own);
void clv_units_leave(clv_registration *run, const clv_own_units *own);

/* Two images of a run, of one side and of the other, on grids of their own. */
typedef struct clv_meeting {
    const clvox_grid *grid[2];
    const clv_buffer *image[2];
} clv_meeting;

/* Leaves out of values what map and u (NULL: the map alone) lead to outside of a mask. scratch: as large. */
int clv_contrast_leave_out(clv_registration *run, const clv_buffer *mask, const clvox_grid *mask_grid,
                         const clvox_grid *grid, const clv_map *map, const clv_buffer *u, float *scratch,
                         float *values);

/* On the grid of a side its image and, under the linear part, the other one, NaN where that does not
 * count: values, then there, then room for two more, to be freed by the caller. */
int clv_contrast_meet(clv_registration *run, const clv_meeting *m, bool moving, float **values);

#endif
