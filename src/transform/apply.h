/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_TRANSFORM_APPLY_H
#define CLV_TRANSFORM_APPLY_H

#include "clvox/apply.h"
#include "runtime/runtime.h"

/* As clvox_apply_with of a scalar volume or labels, by x -> matrix (x + field(x)): a field on the grid as kernels hold it,
 * or NULL for none. */
int clv_apply_field(clvox_context *context, const clvox_volume *image, const clvox_grid *grid,
                    const clv_buffer *field, const double matrix[4][4], const clvox_apply_options *options,
                    clvox_volume **out);

#endif
