/* SPDX-License-Identifier: Apache-2.0 */
/* Writing of the tables that clvox/batch.h reads. */
#ifndef CLVOX_COMMAND_TABLE_H
#define CLVOX_COMMAND_TABLE_H

#include <stdio.h>

#include "clvox/batch.h"

/* Writes a table whole: print writes its lines, numbers with a point. */
CLVOX_API int clvox_table_write(const char *path, void (*print)(FILE *to, const void *what),
                                const void *what);

/* Texts, each so that it is one field, with tabs between them; NULL is an empty one. Whatever may hold the
 * name of a file is written so. */
CLVOX_API void clvox_table_fields(FILE *to, const char *const *text, int count);

/* Tab and number; what is not known is n/a, as in BIDS. */
CLVOX_API void clvox_table_number(FILE *to, const char *format, double value);

#endif
