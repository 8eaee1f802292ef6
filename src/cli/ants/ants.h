/* SPDX-License-Identifier: Apache-2.0 */
/* `clvox ants`: ANTs' programs by their own names and options. Each program is a table of options and a
 * function; the table parses, answers --help and makes doc/ants.md. */
#ifndef CLI_ANTS_H
#define CLI_ANTS_H

#include "cli/cli.h"

/* Treatment of an option. */
typedef enum ants_treatment {
    ANTS_HONOURED,
    ANTS_REPLACED, /* accepted; clvox's own way takes its place, which is said once */
    ANTS_IDLE,     /* accepted without a word: it changes no result here */
    ANTS_REFUSED
} ants_treatment;

/* An option, or where the program takes words by their place such a word. */
typedef struct ants_option {
    const char *name; /* without its dashes; NULL ends the table; "": it has a letter alone */
    char letter;      /* 0: none */
    ants_treatment treatment;
    const char *values, *says; /* its forms, and what becomes of it */
} ants_option;

/* "Mattes[F,M,1]": name and items; "4x2x1" is a name alone. Strings belong to the line. */
enum { ANTS_ITEMS = 24 };
typedef struct ants_value {
    const char *text, *name;
    const char *item[ANTS_ITEMS];
    int count;
} ants_value;

typedef struct ants_given {
    const ants_option *option;
    ants_value value;
} ants_given;

typedef struct ants_line ants_line;
typedef struct ants_program {
    const char *name, *does;
    const ants_option *options;
    bool by_place; /* words instead of options */
    int least;     /* of these words */
    int (*run)(command *cli, ants_line *line);
} ants_program;

extern const ants_program ants_apply_program, ants_registration_program, ants_syn_program,
    ants_syn_quick_program, ants_n4_program, ants_denoise_program, ants_jacobian_program,
    ants_initializer_program, ants_ai_program, ants_math_program;

/* The options that were typed, in their order. */
enum { ANTS_GIVEN = 256, ANTS_REMARKS = 12 };
struct ants_line {
    const ants_program *program;
    ants_given given[ANTS_GIVEN];
    int count;
    char *kept[2 * ANTS_GIVEN]; /* memory of the values and of words made of them */
    int keeps;
    char replaced[ANTS_REMARKS][160];
    int replacements;
    bool help, version;
};

/* Reads the words after the program's name. CLVOX_ERROR_ARGUMENT and a sentence for an option that is not
 * known or refused. */
int ants_read(const ants_program *program, int argc, char **argv, ants_line *out);
void ants_free(ants_line *line);

/* The option given last under this name (of the table; the letter where it has no name); NULL: none was. */
const ants_value *ants_find(const ants_line *line, const char *name);
/* The one at place `at` of those of this name, counted from 0. */
const ants_value *ants_at(const ants_line *line, const char *name, int at);
int ants_count(const ants_line *line, const char *name);
/* Its text, or `otherwise` where it was not given. */
const char *ants_text(const ants_line *line, const char *name, const char *otherwise);
/* 0 and 1, false and true; an option without a value is on. */
int ants_flag(const ants_line *line, const char *name, bool standard, bool *out);
/* A number in text; `option` is for the message. */
int ants_number(const char *option, const char *text, double *out);

/* "[FILE,1]" of a value, as clvox writes it: FILE, or [FILE,1] where its inverse is meant. */
int ants_link(ants_line *line, const char *option, const ants_value *value, const char **out);
/* A string that lives as long as the line; NULL without memory, which it reports. */
const char *ants_print(ants_line *line, const char *format, ...) CLVOX_PRINTF(2, 3);
/* Notes what clvox does in its own way, each kind once. */
void ants_replaces(ants_line *line, const char *format, ...) CLVOX_PRINTF(2, 3);
/* One line on standard error with all that was noted. */
void ants_say(const command *cli, const ants_line *line);

/* ANTs' interpolation in clvox's words, and what is replaced in it. */
int ants_interpolation(ants_line *line, const ants_value *value, const char **out);

/* A verb of clvox in the place of a program: its words, and a run. */
enum { ANTS_WORDS = 200 };
typedef struct ants_words {
    const char *item[ANTS_WORDS];
    int count;
} ants_words;
/* value NULL: the option is a flag. */
void ants_add(ants_words *words, const char *option, const char *value);
int ants_run(command *cli, ants_line *line, const cli_verb *verb, ants_words *words);

#endif
