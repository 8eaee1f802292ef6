/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_OPTIONS_H
#define CLVOX_OPTIONS_H

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options of a function by name, as the command line spells them: for programs that take them as text,
 * and for other languages. Each options struct that the command line reads has a function that returns its
 * table (clvox_register_table, clvox_denoise_table and so on), with one entry, numbered from 0, per field. */
typedef struct clvox_option_table clvox_option_table;

enum { CLVOX_MAX_OPTIONS = 64, CLVOX_MAX_NUMBERS = 40 }; /* of a table, and of one option */

typedef enum clvox_option_type {
    CLVOX_OPTION_FLAG = 0, /* int: 1 where it is given */
    CLVOX_OPTION_INTEGER,  /* int */
    CLVOX_OPTION_NUMBER,   /* double */
    CLVOX_OPTION_CHOICE,   /* int or enum: the place of a word in a list (clvox_option_word) */
    CLVOX_OPTION_INTEGERS, /* int[], and double[]: "4x2x1" */
    CLVOX_OPTION_NUMBERS
} clvox_option_type;

/* Under which heading --help lists an option. */
typedef enum clvox_option_group {
    CLVOX_GROUP_NONE = 0,
    CLVOX_GROUP_IMAGES,
    CLVOX_GROUP_QUALITY,
    CLVOX_GROUP_MASKS,   /* and labels */
    CLVOX_GROUP_ANATOMY, /* landmarks, surfaces, tissues */
    CLVOX_GROUP_RESULT,
    CLVOX_GROUP_MANY, /* images or pairs at once */
    CLVOX_GROUP_EXPERT,
    CLVOX_OPTION_GROUPS /* how many there are */
} clvox_option_group;

/* One option in words. */
typedef struct clvox_option_text {
    const char *name;      /* "update-sigma"; static. NULL: a field without an option, which others set */
    const char *help;      /* one line; static */
    int flag;              /* 1: it takes no value */
    char argument[192];    /* the values it takes: "Nvox", "a|b|c"; "" of a flag */
    char standard[192];    /* "default 1.7vox"; "" where that says nothing */
    char key[64];          /* "update_sigma": the field's name in logs and messages */
    char letter;           /* of the short option; 0: none */
    clvox_option_type type;
    clvox_option_group group;
    int basic;             /* 1: the short --help lists it */
    const char *needs;     /* "surface|curves": the options it belongs to, one of them; static, or NULL */
} clvox_option_text;

/* Describes the option at place `at`. Returns 1, or 0 from the first place on that there is none at; *out is
 * then untouched. */
CLVOX_API int clvox_option_describe(const clvox_option_table *table, int at, clvox_option_text *out);

/* The same as `standard` there, for defaults that are the values of an options struct: of a preset. */
CLVOX_API void clvox_option_standard(const clvox_option_table *table, int at, const void *options,
                                     char out[192]);

/* The place of the option of this name; -1: there is none. */
CLVOX_API int clvox_option_find(const clvox_option_table *table, const char *name);

/* Word number `which` of a choice. Static; NULL: there is none. */
CLVOX_API const char *clvox_option_word(const clvox_option_table *table, int at, int which);

/* The numbers of a field of the options struct: one, or as many as a list has, at most CLVOX_MAX_NUMBERS.
 * Returns how many; 0: there is no such place. */
CLVOX_API int clvox_option_numbers(const clvox_option_table *table, int at, const void *options,
                                   double values[CLVOX_MAX_NUMBERS]);

/* Why an option that is given as this text has no effect beside the others, "with --deform none"; NULL: it
 * has one. Valid until the next call in this thread. */
CLVOX_API const char *clvox_option_idle(const clvox_option_table *table, int at, const void *options,
                                        const char *text);

/* Sets fields of the table's options struct: names[i] to what texts[i] says ("100x50", "1.7vox", "lncc:4"; passed over
 * for flags, which become 1). Set it to its defaults before. mm: edge of the voxels that a length in the other unit is
 * converted by; where it is 0, such lengths are checked and not set. Lists of one count (levels) are set in one call, so
 * that those left out follow. CLVOX_ERROR_ARGUMENT, and a sentence that names the option, for one that there is not,
 * or a value that it does not take; fields may have been set then. */
CLVOX_API int clvox_options_set(const clvox_option_table *table, const char *const *names, const char *const *texts,
                                int count, double mm, void *options);

/* The same by place: texts[at], of as many as the table has options, is what was given for the option at
 * that place, NULL: it was not. */
CLVOX_API int clvox_options_read(const clvox_option_table *table, const char *const *texts, double mm,
                                 void *options);

/* Whether all fields of an options struct are possible, alone and together: CLVOX_ERROR_ARGUMENT and a
 * sentence, or CLVOX_OK. Functions that take the struct check the same. */
CLVOX_API int clvox_options_check(const clvox_option_table *table, const void *options);

/* ---- numbers as text ----------------------------------------------------- */

typedef enum clvox_unit { CLVOX_UNIT_NONE = 0, CLVOX_UNIT_MM, CLVOX_UNIT_VOXELS } clvox_unit;

/* "2", "2mm", "1.5vox", "4x2x1", "2x1x0vox". */
typedef struct clvox_numbers {
    double value[CLVOX_MAX_NUMBERS];
    int count; /* 0: not given */
    clvox_unit unit;
} clvox_numbers;

/* 1, or 0 where text is not of that form; *out is then untouched. */
CLVOX_API int clvox_numbers_read(const char *text, clvox_numbers *out);

#ifdef __cplusplus
}
#endif

#endif
