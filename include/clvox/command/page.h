/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the pages of all runs have: inputs, options and versions, from the log. */
#ifndef CLVOX_COMMAND_PAGE_H
#define CLVOX_COMMAND_PAGE_H

#include <cjson/cJSON.h>

#include "clvox/report.h"

/* A page with this heading, and the remarks of the log as warnings. On success *out is the caller's. */
CLVOX_API int clvox_page_begin(const cJSON *log, const char *title, clvox_report **out);

/* Everything in an object of the log, as facts: "jacobian, folded". Lists longer than `most` entries are
 * left out. NULL: none. */
CLVOX_API void clvox_page_facts(clvox_report *page, const cJSON *object, int most);

/* The sections that close a page: inputs with their hashes, options, versions, the command. Then writes it
 * and releases it. status: of what was done before; below 0 the page is only released. */
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
