/* SPDX-License-Identifier: Apache-2.0 */
/* Names of labels: a table with the columns label (or index) and name. Of several rows for a label the first
 * counts. */
#ifndef CLVOX_COMMAND_LABEL_NAMES_H
#define CLVOX_COMMAND_LABEL_NAMES_H

#include "clvox/compare.h"
#include "clvox/report.h"

/* Reads it to see whether it can be. CLVOX_ERROR_FORMAT, CLVOX_ERROR_FILE. */
CLVOX_API int clvox_label_names_check(const char *table);

/* The names of these rows, NULL for those that have none. *out is the caller's, for clvox_label_names_free,
 * on failure too. */
CLVOX_API int clvox_label_names_read(const char *table, const clvox_label_measure *row, int count,
                                     char ***out);
/* Frees them and sets *names to NULL. NULL is legal. */
CLVOX_API void clvox_label_names_free(char ***names, int count);

/* Gives a page all names of the table. */
CLVOX_API int clvox_label_names_show(const char *table, clvox_report *page);

#endif
