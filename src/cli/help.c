/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { WIDTH = 80, COLUMN = 24 };

const cli_help *cli_help_of(const char *verb)
{
    char name[64];
    snprintf(name, sizeof name, "%s", verb);
    for (char *c = name; *c; c++)
        if (*c == ' ') {
            *c = '-';
            memmove(c + 1, c + 1 + strspn(c + 1, "-"), strlen(c + 1 + strspn(c + 1, "-")) + 1);
        }
    const cli_help *help = cli_helps;
    while (help->name && strcmp(help->name, name) != 0)
        help++;
    if (help->name)
        return help;
    fprintf(stderr, "clvox: doc/help/%s.txt is missing\n", name);
    abort();
}

static int add(cli_help_row *row, const cli_option *o)
{
    static const char *const kinds[] = {
        [CLI_FLAG] = "flag",      [CLI_COUNT] = "flag",    [CLI_TEXT] = "text",     [CLI_OUT] = "out",
        [CLI_FOLDER] = "folder",  [CLI_PREFIX] = "prefix", [CLI_REPEAT] = "repeat",
        [CLI_INTEGER] = "integer", [CLI_NUMBER] = "number", [CLI_NUMBERS] = "numbers",
        [CLI_CHOICE] = "choice",  [CLI_MARK] = "flag"};
    *row = (cli_help_row){.letter = o->letter,
                          .name = o->name,
                          .help = o->help,
                          .kind = kinds[o->kind],
                          .group = o->group,
                          .basic = o->basic};
    snprintf(row->argument, sizeof row->argument, "%s", o->argument ? o->argument : "");
    return 1;
}

static int add_table(cli_help_row *rows, const clvox_option_table *table, const char *const *without,
                     const void *values)
{
    clvox_option_text text;
    int count = 0;
    for (int i = 0; table && clvox_option_describe(table, i, &text); i++) {
        if (!cli_takes(&text, without))
            continue;
        cli_help_row *row = &rows[count++];
        *row = (cli_help_row){.letter = text.letter,
                              .name = text.name,
                              .help = text.help,
                              .kind = text.flag ? "flag" : "text",
                              .group = text.group,
                              .basic = text.basic};
        snprintf(row->argument, sizeof row->argument, "%s", text.argument);
        if (values)
            clvox_option_standard(table, i, values, text.standard);
        snprintf(row->standard, sizeof row->standard, "%s", text.standard);
    }
    return count;
}

int cli_help_rows(const cli_usage *usage, cli_help_row rows[CLI_HELP_ROWS])
{
    int count = 0;
    for (const cli_option *o = usage->options; o && o->name; o++)
        count += add(&rows[count], o);
    count += add_table(rows + count, usage->table, NULL, usage->values);
    return count + add_table(rows + count, usage->more, usage->without, usage->more_values);
}

/* Words from a column on, into lines that end before the width of a terminal. */
static void print_words(const char *text, int from, int column)
{
    int at = from;
    for (const char *word = text; *word;) {
        const int length = (int)strcspn(word, " \n");
        if (at > column && at + 1 + length > WIDTH) {
            printf("\n%*s", column, "");
            at = column;
        }
        at += printf("%s%.*s", at > column ? " " : "", length, word);
        word += length + (int)strspn(word + length, " \n");
    }
    printf("\n");
}

static void print_row(const cli_help_row *row)
{
    char left[256], text[1024], letter[8] = "";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    const int used = snprintf(left, sizeof left, "  %s--%s%s%s", letter, row->name, *row->argument ? " " : "",
                              row->argument);
    snprintf(text, sizeof text, *row->standard ? "%s (%s)" : "%s", row->help, row->standard);
    if (used > COLUMN - 2) {
        /* Alternatives are one word, which may be broken behind a bar. */
        for (const char *part = left; *part;) {
            int length = (int)strlen(part);
            if (length > WIDTH)
                for (length = WIDTH; length > 1 && part[length - 1] != '|';)
                    length--;
            printf("%s%.*s\n", part == left ? "" : "      ", length, part);
            part += length;
        }
        printf("%*s", COLUMN, "");
    } else {
        printf("%-*s", COLUMN, left);
    }
    print_words(text, COLUMN, COLUMN);
}

static void print_group(const cli_help_row *rows, int count, clvox_option_group group, bool all,
                        const char *title)
{
    bool begun = false;
    for (int i = 0; i < count; i++) {
        if (rows[i].group != group || !(all || rows[i].basic))
            continue;
        if (!begun)
            printf("%s%s:\n", all ? "\n" : "", title);
        begun = true;
        print_row(&rows[i]);
    }
}

void cli_help_print(const command *cli, const cli_usage *usage, const cli_option *everywhere, bool all)
{
    static const char *const titles[] = {
        [CLVOX_GROUP_NONE] = "Options",
        [CLVOX_GROUP_IMAGES] = "Images",
        [CLVOX_GROUP_QUALITY] = "Quality",
        [CLVOX_GROUP_MASKS] = "Masks and labels",
        [CLVOX_GROUP_ANATOMY] = "Landmarks, surfaces and tissues",
        [CLVOX_GROUP_RESULT] = "Result",
        [CLVOX_GROUP_MANY] = "Many at once",
        [CLVOX_GROUP_EXPERT] = "Expert",
    };
    const cli_help *help = cli_help_of(cli->verb);
    cli_help_row rows[CLI_HELP_ROWS], every[32];
    int count = cli_help_rows(usage, rows), general = 0, basic = 0;
    for (const cli_option *o = everywhere; o->name; o++)
        general += add(&every[general], o);
    for (int i = 0; i < count; i++)
        basic += rows[i].basic;
    for (int i = 0; i < count && !basic; i++)
        rows[i].basic = true;
    int lines = 0;
    for (const char *line = help->usage, *end; *line && (all || lines < 2); line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        printf("%s%.*s\n", lines++ ? "       " : "Usage: ", (int)(end - line), line);
    }
    printf("\n%s\n", help->about);
    if (all && *help->more)
        printf("\n%s\n", help->more);
    if (!all)
        printf("\n");
    for (int g = 0; g < CLVOX_OPTION_GROUPS; g++)
        print_group(rows, count, (clvox_option_group)g, all, titles[g]);
    print_group(every, general, CLVOX_GROUP_NONE, all, "Every verb");
    if (!all)
        printf("`clvox %s --help all` explains all %d options.\n", cli->verb, count + general);
    printf("\nExample:\n%s\n", help->example);
}
