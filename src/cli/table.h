/* SPDX-License-Identifier: Apache-2.0 */
/* Tables separated by tabs, with a header: lists of what to do, and summaries of what was done. A tab, a line
 * end and a backslash in a field are written \t, \n, \r and \\, and read back. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

/* Columns by their names, in any order; the others are passed over. */
typedef struct cli_table {
    const char *path;
    const char *const *names; /* ends with NULL; the first `needed` have to be there, at most CLI_TABLE_COLUMNS */
    int needed;
    /* A line's fields in the order of names, NULL: none. Below 0 ends it. */
    int (*row)(void *user, int line, const char *const *field);
    void *user;
} cli_table;
enum { CLI_TABLE_COLUMNS = 64 };

/* Fails, naming file and line, where a column is missing. Lines that are empty are passed over. */
int cli_table_read(const cli_table *table);

/* The names in its first line; the array and each name are the caller's to free, for cli_table_free_names. */
int cli_table_names(const char *path, char ***names, int *count);
void cli_table_free_names(char **names, int count);

/* A path of the table, against its folder; the caller's to free. NULL: an empty field, n/a, or no memory. */
char *cli_table_path(const char *table, const char *field);

/* Writes a table whole: print writes its lines, numbers with a point. */
int cli_table_write(const char *path, void (*print)(FILE *to, const void *what), const void *what);

/* Texts, each so that it is one field, with tabs between them; NULL is an empty one. Whatever may hold the
 * name of a file is written so. */
void cli_table_fields(FILE *to, const char *const *text, int count);

/* Tab and number; what is not known is n/a, as in BIDS. */
void cli_table_number(FILE *to, const char *format, double value);

#endif
