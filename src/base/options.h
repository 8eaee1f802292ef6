/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a pipeline as a table: a row says how a field of its options
 * struct is named, read, checked, logged and explained. The library checks by
 * it what a program asks for; the command takes from it what it reads, its
 * --help, its log and the remark that an option has no effect. An option is then
 * a field, a row and its use. */
#ifndef CLV_BASE_OPTIONS_H
#define CLV_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/options.h"

/* Ends of a range that do not belong to it. */
enum { CLV_OPTION_ABOVE = 1, CLV_OPTION_BELOW = 2 };

typedef struct clv_option clv_option;
struct clv_option {
    const char *name; /* --name; NULL: a field that the command sets by other options */
    const char *key;  /* in the log and in the library's messages; NULL: the name, with _ for - */
    char letter;      /* 0: none */
    clvox_option_group group;
    bool basic;        /* in the short --help */
    const char *needs; /* "surface|curves": the command's options it belongs to, one of them; NULL: none */
    clvox_option_type type;
    size_t offset; /* of the field */
    /* For INTEGERS and NUMBERS: the offset of the int that says how many there are (levels), which options with the
     * same one share, and how many there can be. */
    size_t count;
    int room;
    bool none; /* there may be none */
    double least, most; /* the range; most 0: without an end, least -INFINITY: without a beginning */
    unsigned open;      /* CLV_OPTION_ABOVE: above least; CLV_OPTION_BELOW: below most */
    bool preset;        /* a preset decides it: clv_option_copy takes it over from one */
    bool unset;         /* a negative field is not set: the library decides. It cannot be typed */
    clvox_unit unit;    /* of the field; it may be typed */
    bool either;        /* a length may come in the other unit */
    const char *automatic;        /* a word that leaves the field as it is, "auto"; NULL: none */
    const char *const *words;     /* of a choice, ends with NULL; or */
    const char *(*word)(int at);  /* the same as a function: NULL from the first one that there is not */
    const char *brackets;         /* of a choice: the answer to ANTs' WORD[...]; NULL: the choices */
    const char *argument; /* as --help shows it; NULL: by type, words and unit, or as */
    char *(*explain)(char *out, size_t room); /* writes it */
    const char *help;
    /* Writes the value as it would be typed, "" for none, where the type does not say how. */
    void (*show)(const void *values, char *out, size_t room);
    /* Reads what the type does not say (NULL: by the type): a negative code with a message without the
     * option's name, or CLVOX_OK. */
    int (*read)(const clv_option *row, const char *text, void *values);
    /* Resizes this field after another row has changed the number of levels. */
    void (*resize)(const void *before, void *values);
    /* Why the option has no effect beside the others, "with --deform none"; NULL: it has one. text: as
     * given. row->idle NULL: it always has. */
    const char *(*idle)(const clv_option *row, const void *values, const char *text);
};

typedef struct clvox_option_table {
    const clv_option *rows;
    int count;   /* at most CLVOX_MAX_OPTIONS */
    size_t size; /* of the options struct */
    void (*defaults)(void *values);
    /* Says a default that is not the field's own of defaults, "1.25 greedy, 1.25 syn", in room bytes;
     * false, or NULL: it is. */
    bool (*varies)(const clv_option *row, char *out, size_t room);
    /* All that clvox_options_check checks; NULL: clv_options_check does. */
    int (*check)(const void *values);
} clv_option_table;

/* NULL: there is none of that name. */
const clv_option *clv_option_named(const clv_option_table *table, const char *name);
/* Reads one row, as clvox_options_read does all. given, there: what was typed for the row at that place, or NULL.
 * mm: the edge of the voxels that lengths are counted in, 0: not known yet (then lengths in the other unit are
 * checked and not set: read again once it is). */
int clv_option_read(const clv_option *row, const char *text, double mm, void *values);

/* Whether a struct of options, whose first member is its size, is this library's: CLVOX_ERROR_ARGUMENT and a
 * message where it is not set, or is that of a program built against another version. */
int clv_options_sized(const void *values, size_t size);
/* That, and whether all values are in the range of their row. */
int clv_options_check(const clv_option_table *table, const void *values);

/* The word of a choice; NULL: there is none. */
const char *clv_option_word(const clv_option *row, int at);
/* How many numbers a row has, and one of them. */
int clv_option_count(const clv_option *row, const void *values);
double clv_option_value(const clv_option *row, const void *values, int at);

/* The field of a row, all of a list. */
void clv_option_copy(const clv_option *row, const void *from, void *to);

/* In buffers of room bytes, returned: the name in logs; "N", "Nvox", "a|b|c" as
 * --help shows it; and "default 0.5vox" of these values, NULL: the table's ("" where that says nothing). */
char *clv_option_key(const clv_option *row, char *out, size_t room);
char *clv_option_argument(const clv_option *row, char *out, size_t room);
char *clv_option_default(const clv_option_table *table, const clv_option *row, const void *values, char *out,
                         size_t room);

/* A field of an options struct, for a row. */
#define CLV_FIELD(type, field) .offset = offsetof(type, field)
#define CLV_LEVELS(type, field, levels) \
    .offset = offsetof(type, field), .count = offsetof(type, levels), \
    .room = (int)(sizeof ((type *)0)->field / sizeof *((type *)0)->field)

#endif
