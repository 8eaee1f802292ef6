/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_IMAGE_WEIGHTED_SUM_H
#define REF_IMAGE_WEIGHTED_SUM_H

#include <stddef.h>

/* sums, pairs: weight x and weight where x is finite. */
void ref_weighted_sum(const double *x, double weight, size_t count, double *sums);

#endif
