/* SPDX-License-Identifier: Apache-2.0 */
/* Options as tables: one row says how an option is spelt, read and explained. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stdbool.h>

#include "clvox/options.h"

enum { CLI_MAX_TEXTS = 64 };

/* Returned beside clvox_status codes: the command is misused (exit code 2, the
 * sentence is clvox_message), or --help or --version has been answered. */
enum { CLI_USAGE = -100, CLI_DONE = 1 };

/* An option that may be given more than once. */
typedef struct cli_texts {
    const char *item[CLI_MAX_TEXTS];
    int count;
} cli_texts;

typedef enum cli_option_kind {
    CLI_FLAG,    /* bool */
    CLI_COUNT,   /* int, one more each time */
    CLI_TEXT,    /* const char * */
    CLI_OUT,     /* const char *: a file that is written */
    CLI_FOLDER,  /* const char *: where files are written, which the verb claims */
    CLI_PREFIX,  /* const char *: what the names of the files begin with; the verb calls cli_claim_prefix */
    CLI_REPEAT,  /* cli_texts */
    CLI_INTEGER, /* int, not negative */
    CLI_NUMBER,  /* double */
    CLI_NUMBERS, /* clvox_numbers */
    CLI_CHOICE,  /* int: index into argument, "a|b|c" */
    CLI_MARK     /* const char *: "" where it is given */
} cli_option_kind;

typedef struct cli_option {
    const char *name;
    char letter; /* 0: none */
    cli_option_kind kind;
    void *target;
    const char *argument; /* as the help shows it; the words of a choice */
    const char *help;
    clvox_option_group group;
    bool basic;        /* in the short --help; where no option of a verb is, all are */
    const char *needs; /* the options, "points|surface", one of which it belongs to; NULL: it stands alone */
    const char *kinds; /* "images|pair": the kinds of the first argument that it belongs to; NULL: all */
} cli_option;

/* The options of a verb and its arguments; doc/help says what it does. */
typedef struct cli_usage {
    const cli_option *options; /* of the verb alone; ends with name NULL */
    /* Those of a pipeline of the library, and of one that it is built on, or NULL, and where what is typed for each row goes: zeroed,
     * CLVOX_MAX_OPTIONS long. The verb sets the fields by cli_read_fields. */
    const clvox_option_table *table, *more;
    const char **given, **more_given;
    const char *const *without; /* rows of `more` that the verb does not take, ends with NULL; NULL: it takes all */
    const struct cli_subcommand *words; /* with options of their own, or NULL; ends with name NULL */
    int least, most;      /* arguments that are not options */
    /* The kind of the first of them (NULL: there is none), for the column `kinds`; NULL: not known. */
    const char *(*kind)(const char *argument);
    bool devices;         /* --device may name several */
    /* The options structs whose values --help shows as defaults (NULL: those of the tables), and a call that
     * sets them by what was typed beside --help. */
    const void *values, *more_values;
    int (*settle)(void *user);
    void *user;
} cli_usage;

struct command;

/* Reads the options of a verb and those that every verb has. argv[0] is the
 * verb; afterwards the *count remaining arguments start at *rest. Returns
 * CLVOX_OK, CLI_DONE, CLI_USAGE, or CLVOX_ERROR_FILE where the file of --json
 * cannot be written. */
int cli_parse(struct command *cli, const cli_usage *usage, int argc, char **argv, char ***rest, int *count);

/* Whether an option, "--entropy", stands among what was typed, with or without a value. */
bool cli_has_word(int argc, char **argv, const char *option);

/* Whether a verb takes a row of a pipeline: it has a name, and is not among `without`. */
bool cli_takes(const clvox_option_text *row, const char *const *without);

/* Hidden, and the last word: instead of anything else, print as JSON what --help says. */
#define CLI_DESCRIBE "--describe-options"
int cli_describe(const struct command *cli, const cli_usage *usage, const cli_option *everywhere);

/* Remarks on the options that are given and have no effect beside the others. */
void cli_remark_idle(const struct command *cli, const clvox_option_table *table, const char *const *given,
                     const void *values);

/* Stores the sentence and returns CLI_USAGE. */
int cli_misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A number above 0; "auto" and NULL leave *out as it is. 0, or a misuse that
 * names the option. */
int cli_auto_or_number(const char *option, const char *text, double *out);

/* "3/8": part 3 of 8; NULL leaves both as they are. 0 or a misuse. */
int cli_read_shard(const char *text, int *shard, int *shards);

/* clvox_options_read, where what is typed wrongly is a misuse. */
int cli_read_fields(const clvox_option_table *table, const char *const *given, double mm, void *values);

/* A misuse where an option that is given has no effect. */
int cli_refuse_idle(const clvox_option_table *table, const char *const *given, const void *values);

/* Both, and misuses too are what clvox_options_check refuses. */
int cli_settle_fields(const clvox_option_table *table, const char *const *given, void *values);

/* Word number `which` of the choice of this name; NULL: there is none. */
const char *cli_option_word(const clvox_option_table *table, const char *name, int which);

/* Voxels along each axis of "N" or "NxNxN"; false where they are not whole numbers
 * from least to most, or have a unit. */
bool cli_whole_size(const clvox_numbers *numbers, int least, int most, int size[3]);

/* The word of the list nearest to what was typed, NULL when none is near.
 * list[i] is at (const char *)base + i * stride. */
const char *cli_nearest(const char *typed, const void *base, int count, unsigned long stride);

#endif
