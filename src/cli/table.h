/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of the tables that clvox/batch.h reads. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include "clvox/batch.h"

/* Writes a table whole: print writes its lines, numbers with a point. */
int cli_table_write(const char *path, void (*print)(FILE *to, const void *what), const void *what);

/* Texts, each so that it is one field, with tabs between them; NULL is an empty one. Whatever may hold the
 * name of a file is written so. */
void cli_table_fields(FILE *to, const char *const *text, int count);

/* Tab and number; what is not known is n/a, as in BIDS. */
void cli_table_number(FILE *to, const char *format, double value);

#endif
