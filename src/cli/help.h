/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to --help: the texts of doc/help, and the options by group. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "cli/options.h"

/* The text of a verb, "surface-mesh" for `clvox surface mesh`. */
typedef struct cli_help {
    const char *name, *usage, *about, *more, *example; /* more: for --help all; "": there is none */
} cli_help;

extern const cli_help cli_helps[]; /* ends with name NULL; tools/embed-help writes it */

/* The text of the verb that runs, "surface mesh". */
const cli_help *cli_help_of(const char *verb);

/* One option, of the verb or of a pipeline's table. */
typedef struct cli_help_row {
    char letter;
    bool basic;
    clvox_option_group group;
    const char *name, *help;
    const char *kind; /* of its value: "flag", "text" and so on */
    char argument[192], standard[192]; /* "" for none */
} cli_help_row;

enum { CLI_HELP_ROWS = 40 + 2 * CLVOX_MAX_OPTIONS };
/* All options of a verb but those that every verb has; returns how many. */
int cli_help_rows(const cli_usage *usage, cli_help_row rows[CLI_HELP_ROWS]);

/* all: also the options that are not basic. */
void cli_help_print(const struct command *cli, const cli_usage *usage, const cli_option *everywhere,
                    bool all);

#endif
