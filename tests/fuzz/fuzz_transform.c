/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile transforms: text, ITK's binary files, and whatever else. An affine
 * that was read can be written and is then the same. */
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "clvox/transform.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    clvox_transform *t = NULL, *again = NULL;
    const char *path = fuzz_file(".txt", data, size);
    clvox_threads_set(1);
    if (clvox_transform_read(path, &t) < 0) {
        if (t || !*clvox_message())
            abort();
        return 0;
    }
    if (!t->is_warp) {
        const char *copy = fuzz_file(".mat", "", 0);
        for (int form = 0; form < 2; form++)
            if (clvox_affine_write((const double(*)[4])t->matrix,
                                   form ? CLVOX_AFFINE_RAS : CLVOX_AFFINE_ITK, copy) < 0 ||
                clvox_transform_read(copy, &again) < 0 ||
                memcmp(again->matrix, t->matrix, sizeof t->matrix))
                abort();
            else
                clvox_transform_destroy(&again);
    }
    clvox_transform_destroy(&t);
    return 0;
}
