/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

int cli_run_subcommand(command *cli, const cli_subcommand *rows, int argc, char **argv)
{
    char names[256] = "";
    for (const cli_subcommand *s = rows; s->name; s++) {
        if (argc > 1 && !strcmp(argv[1], s->name)) {
            cli->verb = s->verb;
            return s->run(cli, argc - 1, argv + 1);
        }
        snprintf(names + strlen(names), sizeof names - strlen(names), " %s", s->name);
    }
    if (argc > 1 && *argv[1] != '-')
        return cli_misuse("%s: not known; the word after %s is one of:%s", argv[1], cli->verb, names);
    const cli_usage usage = {.words = rows, .least = 1, .most = 1};
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    return cli_misuse("%s: goes right after %s, before the options", words[0], cli->verb);
}
