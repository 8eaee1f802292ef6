/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_SURFACE_PAGE_H
#define CLI_SURFACE_PAGE_H

#include "cli/cli.h"

/* Writes the page of a denoised surface from its signed distance before, the result, and its log. */
int cli_surface_page(command *cli, const clvox_volume *before, const clvox_denoise_result *result,
                     const clvox_denoise_options *options, const char *in, const char *path);

#endif
