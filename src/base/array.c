/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/status.h"

size_t clv_times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

void *clv_array_moved(void *array, size_t count, size_t each)
{
    const size_t bytes = clv_times(count, each);
    return bytes == SIZE_MAX ? NULL : realloc(array, bytes ? bytes : 1);
}

void *clv_array(size_t count, size_t each)
{
    return clv_array_moved(NULL, count, each);
}

void *clv_grown(void *array, int count, int *room, size_t element)
{
    if (count < *room)
        return array;
    int wanted = 16;
    const bool fits = !*room || !__builtin_mul_overflow(*room, 2, &wanted);
    void *grown = fits ? clv_array_moved(array, (size_t)wanted, element) : NULL;
    if (!grown) {
        clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        return NULL;
    }
    *room = wanted;
    return grown;
}
