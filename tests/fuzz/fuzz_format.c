/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile files of one format (EXTENSION): read as a volume and as a transform, whatever they hold they do no harm,
 * and what was read can be written. */
#include <stdlib.h>

#include "clvox/threads.h"
#include "clvox/transform.h"
#include "clvox/volume.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(EXTENSION, data, size);
    clvox_volume *v = NULL;
    clvox_transform *t = NULL;
    clvox_threads_set(1);
    if (clvox_volume_read(path, &v) >= 0 ? clvox_volume_write(v, "/dev/null") < 0 : v || !*clvox_message())
        abort();
    clvox_volume_destroy(&v);
    if (clvox_transform_read(path, &t) < 0 && (t || !*clvox_message()))
        abort();
    clvox_transform_destroy(&t);
    /* As several, between images. */
    const clvox_grid fixed = {{5, 4, 3}, {{-2, 0, 0, 1}, {0, 2, 0, 2}, {0, 0, 2, 3}, {0, 0, 0, 1}}},
                     moving = {{3, 4, 5}, {{1, 0, 0, 1}, {0, 0, 1, 2}, {0, -1, 0, 3}, {0, 0, 0, 1}}};
    clvox_transform *part[8];
    int count = 0;
    if (clvox_transforms_read(path, &fixed, &moving, part, 8, &count) < 0 && (count || !*clvox_message()))
        abort();
    while (count)
        clvox_transform_destroy(&part[--count]);
    return 0;
}
