/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving names of files: links followed, folders made. */
#ifndef CLV_BASE_PLACE_H
#define CLV_BASE_PLACE_H

#include "clvox/files.h"

/* The name that writing `path` gives a file, with every link followed, also one to a file that is not there
 * yet. The caller's to free; NULL with a message. */
char *clv_place_target(const char *path);

/* The folder of path, "." without one. The caller's to free; NULL without memory. */
char *clv_place_folder(const char *path);

/* The one spelling of all that a path has: absolute, links followed, though its folders may not be there yet.
 * The caller's to free; NULL without memory. */
char *clv_place(const char *path);

/* Whether path can be written, as clvox_outputs_check has it. */
int clv_place_check(const char *path);

#endif
