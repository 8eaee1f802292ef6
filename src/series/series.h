/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_SERIES_H
#define CLV_SERIES_H

#include <stdbool.h>

#include "base/options.h"
#include "clvox/series.h"

/* The fields of clvox_series_options (options.c). */
extern const clv_option_table clv_series_table;

/* Motion from the matrices and similarities of a result: parameters, displacements, flags and their counts, about
 * result->center. shell: of each frame, 0 to shells - 1; likenesses are compared within one (motion.c). */
int clv_series_motion(const clvox_series_options *options, const clvox_grid *grid, const int *shell,
                      int shells, clvox_series_result *result);

/* Root mean square, over a ball of that radius about center, of how far apart two maps take a point
 * (Jenkinson 1999). */
double clv_series_rms(const double a[4][4], const double b[4][4], const double center[3], double radius);

/* 1 where a frame shows something, 0 where it is NaN or padded by outer layers of one value, which cut off
 * what the next layer shows; true: it is 1 everywhere (known.c). */
bool clv_series_shown(const clvox_volume *frame, float *known);
/* 0 also within so many voxels, along each axis, of a 0 and of the border. */
int clv_series_shrink(const int size[3], const int reach[3], float *known);

#endif
