/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CMD_SERIES_PAGE_H
#define CLI_CMD_SERIES_PAGE_H

#include "cli/cli.h"
#include "clvox/series.h"

/* PREFIX_report.html of a scan; mask may be NULL. */
int cli_series_page(command *cli, const char *prefix, const clvox_volume *series, const clvox_volume *mask,
                    const clvox_series_options *options, const clvox_series_result *result);

#endif
