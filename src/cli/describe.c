/* SPDX-License-Identifier: Apache-2.0 */
/* The help as JSON: tools/manual makes man pages, completions and descriptors of it while clvox is built. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/help.h"

static int print(cJSON *page)
{
    char *text = cJSON_Print(page);
    cJSON_Delete(page);
    if (!text)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    puts(text);
    free(text);
    return CLI_DONE;
}

static void add_row(cJSON *to, const cli_help_row *o)
{
    const char short_name[2] = {o->letter, 0};
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", o->name);
    cJSON_AddStringToObject(row, "letter", short_name);
    cJSON_AddStringToObject(row, "kind", o->kind);
    cJSON_AddStringToObject(row, "argument", o->argument);
    cJSON_AddStringToObject(row, "help", o->help);
    cJSON_AddStringToObject(row, "default", o->standard);
    cJSON_AddItemToArray(to, row);
}

int cli_describe(const command *cli, const cli_usage *usage, const cli_option *everywhere)
{
    cli_help_row rows[CLI_HELP_ROWS];
    const cli_help *help = cli_help_of(cli->verb);
    cJSON *page = cJSON_CreateObject();
    cJSON_AddStringToObject(page, "verb", cli->verb);
    cJSON_AddStringToObject(page, "usage", help->usage);
    cJSON_AddStringToObject(page, "about", help->about);
    cJSON_AddStringToObject(page, "more", help->more);
    cJSON_AddStringToObject(page, "example", help->example);
    cJSON *words = cJSON_AddArrayToObject(page, "words");
    for (const cli_subcommand *s = usage->words; s && s->name; s++)
        cJSON_AddItemToArray(words, cJSON_CreateString(s->name));
    cJSON *options = cJSON_AddArrayToObject(page, "options");
    cli_usage plain = *usage; /* with the defaults of all models */
    plain.values = plain.more_values = NULL;
    int count = cli_help_rows(&plain, rows);
    for (int i = 0; i < count; i++)
        add_row(options, &rows[i]);
    options = cJSON_AddArrayToObject(page, "everywhere");
    count = cli_help_rows(&(cli_usage){.options = everywhere}, rows);
    for (int i = 0; i < count; i++)
        add_row(options, &rows[i]);
    return print(page);
}

int cli_describe_verbs(const cli_verb *verbs)
{
    cJSON *page = cJSON_CreateObject();
    cJSON_AddStringToObject(page, "version", clvox_version());
    cJSON *list = cJSON_AddArrayToObject(page, "verbs");
    for (int i = 0; verbs[i].name; i++) {
        cJSON *verb = cJSON_CreateObject();
        cJSON_AddStringToObject(verb, "name", verbs[i].name);
        cJSON_AddStringToObject(verb, "help", verbs[i].help);
        cJSON_AddItemToArray(list, verb);
    }
    return print(page);
}
