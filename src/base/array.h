/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_ARRAY_H
#define CLV_BASE_ARRAY_H

#include <stddef.h>

/* Memory for count elements of `each` bytes, at least one byte, to be freed; NULL where there is none or the
 * product exceeds any. A gate sees to it that readers multiply sizes here alone (tests/gates/sizes.py). */
void *clv_array(size_t count, size_t each);
/* The same, of an array that is moved, which stays as it is where the result is NULL. */
void *clv_array_moved(void *array, size_t count, size_t each);
/* A product of sizes, SIZE_MAX, of which there is no memory, where it exceeds any. */
size_t clv_times(size_t a, size_t b);

/* The array with room for one more element, moved when it had to grow by
 * doubling; NULL, with the message set and array untouched, without memory. */
void *clv_grown(void *array, int count, int *room, size_t element);

#endif
