/* SPDX-License-Identifier: Apache-2.0 */
/* The ending of a file's name, by which formats are told: in letters of either case. */
#ifndef CLV_IO_ENDING_H
#define CLV_IO_ENDING_H

#include <stdbool.h>

/* Whether path ends so, and is longer. */
bool clv_ends_in(const char *path, const char *end);

/* The longest of the endings (up to `most`, NULL behind the last) that path has, itself or before ".gz": where it
 * begins. NULL: none. */
const char *clv_ending(const char *path, const char *const *ends, int most);

/* The longest ending that path has of any row of a table of formats. */
const char *clv_volume_ending(const char *path);
const char *clv_surface_ending(const char *path);
const char *clv_transform_ending(const char *path);

#endif
