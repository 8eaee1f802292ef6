/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/command/inputs.h"

#include <stdlib.h>
#include <string.h>

int clvox_mask_read(const char *path, clvox_volume **out)
{
    int status = clvox_volume_read(path, out);
    if (status < 0)
        return status;
    size_t voxels = clvox_grid_voxels(&(*out)->grid), inside = 0;
    for (size_t i = 0; i < voxels; i++)
        inside += (*out)->data[i] > 0;
    if ((*out)->frames != 1)
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: a mask has one frame, this has %d", path, (*out)->frames);
    else if (!inside)
        status = clvox_fail(CLVOX_ERROR_DATA, "%s: the mask is empty (no voxel is above 0)", path);
    if (status < 0)
        clvox_volume_destroy(out);
    return status;
}

int clvox_input_read(const clvox_input *one)
{
    return !one->path                   ? CLVOX_OK
           : one->as == CLVOX_AS_LABELS ? clvox_labels_read(one->path, one->out)
           : one->as == CLVOX_AS_MASK   ? clvox_mask_read(one->path, one->out)
                                        : clvox_volume_read(one->path, one->out);
}

int clvox_link_word(const char *text, char **file, bool *inverse)
{
    bool brackets = *text == '[' && text[strlen(text) - 1] == ']';
    *file = brackets ? strndup(text + 1, strlen(text) - 2) : strdup(text);
    if (!*file)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    char *comma = strrchr(*file, ',');
    const char *number = comma ? comma + 1 : "";
    *inverse = !strcmp(number, "-1") || (brackets && !strcmp(number, "1"));
    if (*inverse || (brackets && !strcmp(number, "0")))
        *comma = 0;
    return CLVOX_OK;
}
