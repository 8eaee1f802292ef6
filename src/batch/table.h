/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BATCH_TABLE_H
#define CLV_BATCH_TABLE_H

#include "clvox/command/table.h"

/* The names in a table's first line; the caller's, for clv_table_names_destroy. */
int clv_table_names(const char *path, char ***names, int *count);
/* Frees these names. NULL is legal. */
void clv_table_names_destroy(char **names, int count);

#endif
