/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SURFACE_PAGE_H
#define CLI_SURFACE_PAGE_H

#include "cli/cli.h"

/* The page's file: `out` with _report.html for what it ends in; the caller's to free, NULL without memory. */
char *cli_surface_page_path(const char *out);

/* Writes the page of a denoised surface from its signed distance before, the mesh, and its log. */
int cli_surface_page(command *cli, const clvox_volume *before, const clvox_surface *mesh, const char *in,
                     const char *path);

#endif
