/* SPDX-License-Identifier: Apache-2.0 */
/* summary.html of a list: what to look at first. */
#ifndef CLI_REGISTER_LIST_PAGE_H
#define CLI_REGISTER_LIST_PAGE_H

#include "cli/cli.h"

/* What is known of a pair; numbers that are not are NaN, text may be NULL. */
typedef struct cli_list_entry {
    const char *name;
    char *page, *address; /* its page, and the same from the folder of the summary; the caller's to free */
    const char *state, *doubts, *message;
    bool failed, there; /* there: it has a page */
    double before, after, ncc, folded, seconds;
} cli_list_entry;

/* Writes FOLDER/summary.html: failed pairs, then those with the most suspicions, then the least similar. */
int cli_list_page(command *cli, const char *folder, cli_list_entry *entries, int count);

#endif
