/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_OPTIONS_H
#define CLVOX_OPTIONS_H

#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The options of a function by name, as the command line spells them: for programs that take them as text, and for other
 * languages. Each options struct that the command line reads by a table has a function that returns the table
 * (clvox_register_table, clvox_denoise_table and so on). */
typedef struct clvox_option_table clvox_option_table;

/* One option in words. */
typedef struct clvox_option_text {
    const char *name;      /* "update-sigma"; static */
    const char *help;      /* one line; static */
    int flag;              /* 1: it takes no value */
    char argument[192];    /* the values it takes: "Nvox", "a|b|c"; "" of a flag */
    char standard[192];    /* "default 1.7vox"; "" where that says nothing */
} clvox_option_text;

/* Describes option number `at`, from 0 on. Returns 1, or 0 from the first number on that there is no option for; *out is
 * then untouched. */
CLVOX_API int clvox_option_describe(const clvox_option_table *table, int at, clvox_option_text *out);

/* Sets fields of the table's options struct: names[i] to what texts[i] says ("100x50", "1.7vox", "lncc:4"; passed over
 * for flags, which become 1). Set it to its defaults before. mm: edge of the voxels that a length in the other unit is
 * converted by; where it is 0, such lengths are checked and not set. Lists of one count (levels) are set in one call, so
 * that those left out follow. CLVOX_ERROR_ARGUMENT, and a sentence that names the option, for one that there is not,
 * or a value that it does not take; fields may have been set then. */
CLVOX_API int clvox_options_set(const clvox_option_table *table, const char *const *names, const char *const *texts,
                                int count, double mm, void *options);

#ifdef __cplusplus
}
#endif

#endif
