/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_SELECT_H
#define CLV_SELECT_H

#include <stddef.h>

/* The value that would stand at `place` (below count) if values ascended; they
 * are shuffled (Hoare's selection). No NaN among them. */
double clv_select(float *values, size_t count, size_t place);

/* Between the two values next to the place q (count - 1), by its fraction. */
double clv_select_quantile(float *values, size_t count, double q);

/* For qsort, of doubles: ascending. */
int clv_ascending(const void *a, const void *b);

/* The one in the middle, the upper of two; 0 of none. */
double clv_median(float *values, size_t count);

#endif
