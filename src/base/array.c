/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"

#include <stdlib.h>

#include "base/status.h"

void *clv_grown(void *array, int count, int *room, size_t element)
{
    if (count < *room)
        return array;
    int wanted = *room ? 2 * *room : 16;
    void *grown = realloc(array, (size_t)wanted * element);
    if (!grown) {
        clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        return NULL;
    }
    *room = wanted;
    return grown;
}
