/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_STATISTICS_H
#define REF_IMAGE_STATISTICS_H

#include "op/image/statistics.h"

/* weight may be NULL. */
void ref_statistics_determinants(const float *values, const float *weight, int n, clv_statistics *out);
/* Planar fields; through and weight may be NULL. */
void ref_statistics_lengths(const float *field, const float reorient[3][3], const float *through,
                            const float *weight, const int size[3], const float spacing[3],
                            clv_statistics *out);

#endif
