/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REF_SORT_RADIX_SORT_H
#define REF_SORT_RADIX_SORT_H

#include "op/sort/radix_sort.h"

/* order[i] is the number of the key that comes to place i: by comparison of values, and
 * of places where these are equal. -0 is below +0, and all NaNs are equal and last. */
void ref_sort(clvox_sort_kind kind, const void *keys, int n, uint32_t *order);

#endif
