/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BASE_ARRAY_H
#define CLV_BASE_ARRAY_H

#include <stddef.h>

/* Memory for count elements of `each` bytes, at least one byte, to be freed; NULL where there is none or the
 * product exceeds any. Sizes that depend on a file or on a caller are multiplied here and by calloc, nowhere
 * else. */
void *clv_array(size_t count, size_t each);
/* The same, of an array that is moved, which stays as it is where the result is NULL. */
void *clv_array_moved(void *array, size_t count, size_t each);

/* The array with room for one more element, moved when it had to grow by
 * doubling; NULL, with the message set and array untouched, without memory. */
void *clv_grown(void *array, int count, int *room, size_t element);

#endif
