/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a list of subjects from a table or a folder. */
#ifndef CLV_BATCH_SUBJECTS_H
#define CLV_BATCH_SUBJECTS_H

#include "clvox/batch.h"

/* Takes the strings of a subject over, also where it fails, and names it. */
int clv_list_add(clvox_list *l, const clvox_listed *subject);
/* The columns of a table that a list keeps: all but `own`, which ends with NULL. */
int clv_list_columns(clvox_list *l, const char *path, const char *const *own);
/* Copies what a row says in these. */
int clv_list_fields(const clvox_list *l, const char *const *text, char ***out);
int clv_list_bids(clvox_list *l, const char *folder, const char *suffix, const char *covariate);

#endif
