/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of BIDS derivatives: its dataset_description.json, and the sidecars of its files. */
#ifndef CLVOX_COMMAND_DERIVATIVE_H
#define CLVOX_COMMAND_DERIVATIVE_H

#include <limits.h>
#include <stdbool.h>

#include <cjson/cJSON.h>

#include "clvox/volume.h"

/* Refuses what would get derivatives into a raw data set: a folder that is one, or lies in one elsewhere than
 * below its derivatives/, or has the image itself. */
CLVOX_API int clvox_derivative_check(const char *folder, const char *image);

/* Writes dataset_description.json and .bidsignore, where there is no description. They belong to all
 * runs, and are no outputs of one. */
CLVOX_API int clvox_derivative_describe(const char *folder);

/* A sidecar, for cJSON_Delete; `folder` is that of the derivatives. NULL without memory. */
CLVOX_API cJSON *clvox_sidecar(const char *description);
/* A file that it was made from. */
CLVOX_API void clvox_sidecar_source(cJSON *sidecar, const char *folder, const char *path);
/* The image on whose grid it lies, with res: that of the grid is in its name. */
CLVOX_API void clvox_sidecar_grid(cJSON *sidecar, const char *folder, const char *reference,
                                  const clvox_grid *grid, bool res);
/* Whether an image shows the brain alone: its own sidecar says so, or its name (desc-brain). */
CLVOX_API bool clvox_sidecar_stripped(const char *image);
/* Writes it, for cli_outputs_add. */
CLVOX_API int clvox_sidecar_write(const void *sidecar, int unused, const char *path);

#endif
