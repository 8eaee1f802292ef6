/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_FIELD_SPLAT_H
#define REF_FIELD_SPLAT_H

#include "op/map.h"

/* out (0 before) += sum_i weight_j(p(i)) in(i), in double precision. field: planar, may be NULL. total, where not
 * NULL, receives what landed, its first moments along x, y, z, and the sum of |value|. */
void ref_splat(const float *in, const int size[3], const clv_map *map, const float *field, const int to[3],
               double *out, double total[5]);

#endif
