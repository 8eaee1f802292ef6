/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a list: no two of its rows write the same one, and none writes what another reads. */
#ifndef CLV_BATCH_PLACES_H
#define CLV_BATCH_PLACES_H

/* Zeroed: none. For clv_places_free. */
typedef struct clv_places {
    struct stat *input;
    struct clv_place_output *output;
    int inputs, outputs;
} clv_places;

/* What the files of a row begin with: as typed, in the folder unless it begins with /, and without the _ that
 * their ends have; the caller's. Messages begin with where. */
int clv_places_prefix(const char *folder, const char *where, const char *typed, char **out);

/* A file that is read; NULL, or not there: it counts for nothing. */
int clv_places_input(clv_places *p, const char *path);

/* A file that is written; called: as the list names it, which stays the caller's. */
int clv_places_output(clv_places *p, const char *path, const char *called);

/* Fails where a file is written twice, or is an input. list: its table or NULL; noun: "pairs". */
int clv_places_check(clv_places *p, const char *list, const char *noun);

/* Frees what it holds. */
void clv_places_free(clv_places *p);

#endif
