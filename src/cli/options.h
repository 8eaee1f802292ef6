/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: one row says how an option is spelt, read and explained. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

enum { CLI_MAX_TEXTS = 64, CLI_MAX_NUMBERS = 16 };

/* Returned beside clvox_status codes: the command is misused (exit code 2, the
 * sentence is clvox_message), or --help or --version has been answered. */
enum { CLI_USAGE = -100, CLI_DONE = 1 };

/* An option that may be given more than once. */
typedef struct cli_texts {
    const char *item[CLI_MAX_TEXTS];
    int count;
} cli_texts;

typedef enum cli_unit { CLI_UNIT_NONE, CLI_UNIT_MM, CLI_UNIT_VOXELS } cli_unit;

/* "2", "2mm", "1.5vox", "4x2x1", "2x1x0vox". */
typedef struct cli_numbers {
    double value[CLI_MAX_NUMBERS];
    int count; /* 0: not given */
    cli_unit unit;
} cli_numbers;

typedef enum cli_option_kind {
    CLI_FLAG,    /* bool */
    CLI_COUNT,   /* int, one more each time */
    CLI_TEXT,    /* const char * */
    CLI_REPEAT,  /* cli_texts */
    CLI_INTEGER, /* int, not negative */
    CLI_NUMBER,  /* double */
    CLI_NUMBERS, /* cli_numbers */
    CLI_CHOICE   /* int: index into argument, "a|b|c" */
} cli_option_kind;

typedef struct cli_option {
    const char *name;
    char letter; /* 0: none */
    cli_option_kind kind;
    void *target;
    const char *argument; /* as the help shows it; the words of a choice */
    const char *help;
} cli_option;

/* What a verb takes. */
typedef struct cli_usage {
    const char *synopsis; /* "-f FIXED -m MOVING -o PREFIX [options]" */
    const char *about;    /* sentences, lines broken by hand */
    const char *example;  /* complete commands */
    const cli_option *options; /* ends with name NULL */
    int least, most;      /* arguments that are not options */
} cli_usage;

struct command;

/* Reads the options of a verb and those that every verb has. argv[0] is the
 * verb; afterwards the *count remaining arguments start at *rest. Returns
 * CLVOX_OK, CLI_DONE, CLI_USAGE, or CLVOX_ERROR_FILE where the file of --json
 * cannot be written. */
int cli_parse(struct command *cli, const cli_usage *usage, int argc, char **argv, char ***rest, int *count);

/* Stores the sentence and returns CLI_USAGE. */
int cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number above 0; "auto" and NULL leave *out as it is. 0, or a misuse that
 * names the option. */
int cli_auto_or_number(const char *option, const char *text, double *out);

/* Reads "4x2x1" with an optional unit at the end; false when text is not that. */
bool cli_read_numbers(const char *text, cli_numbers *out);

/* Voxels along each axis of "N" or "NxNxN"; false where they are not whole numbers
 * from least to most, or have a unit. */
bool cli_whole_size(const cli_numbers *numbers, int least, int most, int size[3]);

/* The word of the list nearest to what was typed, NULL when none is near.
 * list[i] is at (const char *)base + i * stride. */
const char *cli_nearest(const char *typed, const void *base, int count, unsigned long stride);

#endif
