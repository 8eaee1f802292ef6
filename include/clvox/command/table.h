/* SPDX-License-Identifier: Apache-2.0 */
/* Tables with a header, read and written: lists of what to do, and summaries of what was done. clvox/batch.h
 * has their form. */
#ifndef CLVOX_COMMAND_TABLE_H
#define CLVOX_COMMAND_TABLE_H

#include <stdio.h>

#include "clvox/status.h"

enum { CLVOX_TABLE_COLUMNS = 64 };

/* A line's fields in the order of the names, NULL: none. Below 0 ends the reading, which returns it. */
typedef int (*clvox_table_row)(void *user, int line, const char *const *field);

/* Columns by their names, in any order; the others are passed over. */
typedef struct clvox_table {
    const char *path;
    const char *const
        *names; /* at most CLVOX_TABLE_COLUMNS, then NULL; the first `needed` have to be there */
    int needed;
    clvox_table_row row;
    void *user;
} clvox_table;

/* Fails, naming file and line, where a column is missing. Lines that are empty are passed over. */
CLVOX_API int clvox_table_read(const clvox_table *table);

/* A path of the table, against its folder; the caller's, for clvox_text_destroy. NULL: an empty field,
 * n/a, or no memory. */
CLVOX_API char *clvox_table_path(const char *table, const char *field);

/* Writes a table whole: print writes its lines, numbers with a point. */
CLVOX_API int clvox_table_write(const char *path, void (*print)(FILE *to, const void *what),
                                const void *what);

/* Texts, each so that it is one field, with tabs between them; NULL is an empty one. Whatever may hold the
 * name of a file is written so. */
CLVOX_API void clvox_table_fields(FILE *to, const char *const *text, int count);

/* Tab and number; what is not known is n/a, as in BIDS. */
CLVOX_API void clvox_table_number(FILE *to, const char *format, double value);

#endif
