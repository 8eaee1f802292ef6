/* SPDX-License-Identifier: Apache-2.0 */
/* What the pages of all verbs have: a run's inputs, options and versions, from its log. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "cli/cli.h"
#include "clvox/report.h"

/* A page with this heading, and the remarks of the log as warnings. On success *out is the caller's. */
int cli_page_begin(const command *cli, const char *title, clvox_report **out);

/* Everything in an object of the log, as facts: "jacobian, folded". Lists longer than `most` entries are
 * left out. NULL: none. */
void cli_page_facts(clvox_report *page, const cJSON *object, int most);

/* The sections that close a page: inputs with their hashes, options, versions, the command. Then writes it,
 * enters it into the log and releases it. status: of what was done before; below 0 the page is only
 * released. */
int cli_page_end(command *cli, clvox_report **page, int status, const char *path);

/* A path as an address relative to the page, with %20 for a blank and so on; the caller's to free, NULL
 * without memory. */
char *cli_page_address(const char *path);

/* Claims the page of a result in one file: `out` with _report.html for what it ends in. *page is the caller's to
 * free, on failure too. */
int cli_page_claim(command *cli, const char *out, char **page);

/* The last part of a path. */
const char *cli_page_name(const char *path);

#endif
