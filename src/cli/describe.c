/* SPDX-License-Identifier: Apache-2.0 */
/* What --help says, as JSON: tools/manual makes man pages and completions of it while clvox is built. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"

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

static void add_row(cJSON *to, char letter, const char *name, const char *argument, const char *help,
                    const char *otherwise)
{
    const char short_name[2] = {letter, 0};
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "name", name);
    cJSON_AddStringToObject(row, "letter", short_name);
    cJSON_AddStringToObject(row, "argument", argument);
    cJSON_AddStringToObject(row, "help", help);
    cJSON_AddStringToObject(row, "default", otherwise);
    cJSON_AddItemToArray(to, row);
}

static void add_rows(cJSON *to, const cli_option *options)
{
    for (const cli_option *o = options; o && o->name; o++)
        add_row(to, o->letter, o->name, o->argument ? o->argument : "", o->help, "");
}

static void add_table(cJSON *to, const clvox_option_table *table, const char *const *without)
{
    clvox_option_text row;
    for (int i = 0; table && clvox_option_describe(table, i, &row); i++)
        if (cli_takes(&row, without))
            add_row(to, row.letter, row.name, row.argument, row.help, row.standard);
}

int cli_describe(const command *cli, const cli_usage *usage, const cli_option *everywhere)
{
    cJSON *page = cJSON_CreateObject();
    cJSON_AddStringToObject(page, "verb", cli->verb);
    cJSON_AddStringToObject(page, "synopsis", usage->synopsis);
    cJSON_AddStringToObject(page, "about", usage->about);
    cJSON_AddStringToObject(page, "example", usage->example);
    cJSON *words = cJSON_AddArrayToObject(page, "words");
    for (const cli_subcommand *s = usage->words; s && s->name; s++)
        cJSON_AddItemToArray(words, cJSON_CreateString(s->name));
    cJSON *options = cJSON_AddArrayToObject(page, "options");
    add_rows(options, usage->options);
    add_table(options, usage->table, NULL);
    add_table(options, usage->more, usage->without);
    add_rows(cJSON_AddArrayToObject(page, "everywhere"), everywhere);
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
