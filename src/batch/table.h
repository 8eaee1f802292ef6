/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BATCH_TABLE_H
#define CLV_BATCH_TABLE_H

#include "clvox/command/table.h"

/* The names in a table's first line; the caller's, for clv_table_names_destroy. */
int clv_table_names(const char *path, char ***names, int *count);
/* Frees these names. NULL is legal. */
void clv_table_names_destroy(char **names, int count);

/* The files of a field with ; between, against the table's folder; a bracket before one, as in [FILE,1],
 * stays. Up to `room` of them, the caller's to free, on failure too. None: an empty field, n/a or NULL. */
int clv_table_files(const char *table, const char *field, char **out, int room, int *count);

#endif
