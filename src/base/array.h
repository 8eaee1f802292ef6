/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_ARRAY_H
#define CLV_BASE_ARRAY_H

#include <stddef.h>

/* The array with room for one more element, moved when it had to grow by
 * doubling; NULL, with the message set and array untouched, without memory. */
void *clv_grown(void *array, int count, int *room, size_t element);

#endif
