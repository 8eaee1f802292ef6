/* SPDX-License-Identifier: Apache-2.0 */
/* How a volume's voxels lie in memory, apart from where they lie in the world: the
 * same image may be stored in 48 ways, by three axes in any order, each in either
 * direction. */
#ifndef CLV_IO_ORIENTATION_H
#define CLV_IO_ORIENTATION_H

#include <stdbool.h>

#include "clvox/volume.h"

/* Axis w of one storage is axis[w] of another one, the other way round where
 * flipped[w]. */
typedef struct clv_orientation {
    int axis[3];
    bool flipped[3];
} clv_orientation;

/* Orientation that brings a grid to the storage nearest to RAS: axis w runs along R, A or S. The answer, also
 * between two that are equally near, depends on the directions of the axes in the world alone, so that all 48
 * storages of an image become one. */
void clv_orientation_of(const clvox_grid *grid, clv_orientation *o);
bool clv_orientation_same(const clv_orientation *o);
void clv_orientation_inverse(const clv_orientation *o, clv_orientation *inverse);

/* The same voxels at the same places, stored otherwise. */
void clv_orientation_grid(const clvox_grid *grid, const clv_orientation *o, clvox_grid *out);
/* All frames of a volume likewise: values are moved, none is computed. grid: that of the
 * result, or NULL for clv_orientation_grid's. Ownership as clvox_volume_create. */
int clv_orientation_volume(const clvox_volume *volume, const clv_orientation *o, const clvox_grid *grid,
                           clvox_volume **out);

/* The same in the volume's place; nothing happens where it is NULL or o changes nothing. */
int clv_orientation_replace(const clv_orientation *o, const clvox_grid *grid, clvox_volume **volume);

/* The same of a volume stored as near to RAS as may be, onto a grid with the same voxels. */
int clv_orientation_show(const clvox_grid *shown, clvox_volume **volume);

/* Position of voxel (0, 0, 0) of the reordered storage in a frame of the given one, and the distances of its
 * neighbours there. */
typedef struct clv_strides {
    ptrdiff_t first, step[3];
} clv_strides;
clv_strides clv_orientation_strides(const int size[3], const clv_orientation *o);

#endif
