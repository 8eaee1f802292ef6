/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs of the surface verbs, and the remark on how they were interpreted. */
#ifndef CLI_SURFACE_INPUT_H
#define CLI_SURFACE_INPUT_H

#include "cli/cli.h"
#include "clvox/surface.h"

/* Reads a mesh or a volume and makes a level set of it; source says how, but for what is read.
 * Opens the device. On success the level set is the caller's. */
int cli_level_set(command *cli, const char *path, clvox_level_set_source *source, clvox_level_set *out);

/* "mask", "label", "probability", "level" or "signed distance". */
const char *cli_inside_word(const clvox_inside *inside);

/* "meshes" or "volumes", as cli_usage has the kinds of an argument. */
const char *cli_surface_kind(const char *file);

/* The number that --label gives; text NULL leaves it as it is. 0, or what a
 * misuse returns. */
int cli_surface_label(const char *text, int *label);

#endif
