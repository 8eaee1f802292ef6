/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_TENSOR_PAGE_H
#define CLI_TENSOR_PAGE_H

#include "cli/cli.h"

/* Writes PREFIX_report.html from maps of a tensor, of which FA, MD and V1 are needed; mask may be NULL. The
 * figures are those of the objects of the log that are named, up to NULL. */
int cli_tensor_page(command *cli, const char *prefix, clvox_volume *const maps[CLVOX_MEASURES],
                    const clvox_volume *mask, const char *const *figures);

#endif
