/* SPDX-License-Identifier: Apache-2.0 */
/* The parts that the pages of all verbs have. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/cli.h"
#include "clvox/command/page.h"

/* As clvox_page_begin and clvox_page_end, which also enters the page into the log. */
int cli_page_begin(const command *cli, const char *title, clvox_report **out);
int cli_page_end(command *cli, clvox_report **page, int status, const char *path);

/* Claims the page of a result in one file: `out` with _report.html for what it ends in. *page is the caller's to
 * free, on failure too. */
int cli_page_claim(command *cli, const char *out, char **page);

#endif
