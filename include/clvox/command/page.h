/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the pages of all runs have: inputs, options and versions, from the log. */
#ifndef CLVOX_COMMAND_PAGE_H
#define CLVOX_COMMAND_PAGE_H

#include <cjson/cJSON.h>

#include "clvox/options.h"
#include "clvox/report.h"

/* A page with this heading, and the remarks of the log as warnings. On success *out is the caller's. */
CLVOX_API int clvox_page_begin(const cJSON *log, const char *title, clvox_report **out);

/* What the run came to, in a sentence that stands before everything else: add it first. */
CLVOX_API void clvox_page_verdict(clvox_report *page, const char *sentence);

/* Everything in an object of the log, as facts: numbers of three digits, with the unit that a key ends in
 * (_mm, _degrees, _bytes, _seconds); a 4 x 4 matrix as a table; objects in it as groups with a heading.
 * Lists longer than `most` entries are left out. NULL: none. */
CLVOX_API void clvox_page_facts(clvox_report *page, const cJSON *object, int most);

/* Options of a table: what was used, and the defaults. key: the object in the log's options that has them;
 * NULL: these themselves. */
typedef struct clvox_page_set {
    const char *key;
    const clvox_option_table *table;
    const void *used, *defaults;
} clvox_page_set;
/* The section of options: the preset, and those of the log that differ from the defaults. */
CLVOX_API void clvox_page_options(clvox_report *page, const cJSON *log, const clvox_page_set *sets,
                                  int count);

/* A number as pages show it: three digits, all those of a whole one. */
CLVOX_API void clvox_page_number(double value, char *out, int room);

/* Where the content of an image is, for figures that the air round it would dilute: a mask on its grid, 1
 * between the outermost voxels above a fifth of its mean along all three axes. On success *out is the
 * caller's. CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_page_content(const clvox_volume *image, clvox_volume **out);

/* The frames of a scan over time as a picture beside the plots before it: a column for each frame, a row for
 * each of up to 240 voxels inside the mask (on its grid), grey by how far the value is from the voxel's mean.
 * CLVOX_ERROR_MEMORY. */
CLVOX_API int clvox_page_carpet(clvox_report *page, const char *title, const clvox_volume *series,
                                const clvox_volume *mask);

/* The sections that close a page: options where clvox_page_options gave none, inputs with their hashes,
 * versions, the command. Then writes it and releases it. status: of what was done before; below 0 the page is
 * only released. */
CLVOX_API int clvox_page_end(const cJSON *log, clvox_report **page, int status, const char *path);

/* A registration as an SVG file in the form of NiReports: mosaics of both images, which lie on one grid or on
 * any two, the warped one over the fixed one; it fades while the mouse is on it. */
CLVOX_API int clvox_page_flicker(const clvox_volume *fixed, const clvox_volume *warped, const char *path);

/* A path as an address relative to the page, with %20 for a blank and so on; the caller's to free, NULL
 * without memory. */
CLVOX_API char *clvox_page_address(const char *path);

/* The last part of a path. */
CLVOX_API const char *clvox_page_name(const char *path);

#endif
