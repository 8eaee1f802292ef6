/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, as the command reads them. */
#ifndef CLVOX_COMMAND_INPUTS_H
#define CLVOX_COMMAND_INPUTS_H

#include <stdbool.h>

#include "clvox/volume.h"

/* A mask: a volume of one frame with at least one voxel above 0. */
CLVOX_API int clvox_mask_read(const char *path, clvox_volume **out);

/* Takes FILE, FILE,-1 and ANTs' [FILE,1] and [FILE,0] apart; *file is the caller's to free. */
CLVOX_API int clvox_link_word(const char *text, char **file, bool *inverse);

#endif
