/* SPDX-License-Identifier: Apache-2.0 */
/* Many images at once: tables that list them, and the folders of BIDS. */
#ifndef CLVOX_BATCH_H
#define CLVOX_BATCH_H

#include <stddef.h>

#include "clvox/atlas.h"
#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tables ---------------------------------------------------------------- */

/* Tables with a header, separated by tabs: lists of what to do, and summaries of what was done. A tab, a
 * line end and a backslash in a field are written \t, \n, \r and \\, and read back. Tables separated by
 * commas (the header has no tab) are read as well, a field with commas in double quotes. */
enum { CLVOX_TABLE_COLUMNS = 64 };

/* A line's fields in the order of the names, NULL: none. Below 0 ends the reading, which returns it. */
typedef int (*clvox_table_row)(void *user, int line, const char *const *field);

/* Columns by their names, in any order; the others are passed over. */
typedef struct clvox_table {
    const char *path;
    const char *const *names; /* at most CLVOX_TABLE_COLUMNS, then NULL; the first `needed` have to be there */
    int needed;
    clvox_table_row row;
    void *user;
} clvox_table;

/* Fails, naming file and line, where a column is missing. Lines that are empty are passed over. */
CLVOX_API int clvox_table_read(const clvox_table *table);

/* The names in its first line; the caller's, for clvox_table_names_destroy. */
CLVOX_API int clvox_table_names(const char *path, char ***names, int *count);
/* Frees these names. NULL is legal. */
CLVOX_API void clvox_table_names_destroy(char **names, int count);

/* A path of the table, against its folder; the caller's, for clvox_text_destroy. NULL: an empty field, n/a, or
 * no memory. */
CLVOX_API char *clvox_table_path(const char *table, const char *field);

/* The letter that stands behind a backslash for a character that would end a field; 0: it stands for itself. */
CLVOX_API char clvox_table_letter(char c);

/* ---- subjects of a template -------------------------------------------------- */

/* The files of a subject, by name; NULL: there is none. */
typedef struct clvox_listed {
    char *name; /* that of the image without folder and ending, with _2 and so on where another has it, too */
    char *image, *mask, *labels;
    char *further[CLVOX_ATLAS_CHANNELS - 1]; /* images of channels 2 and on */
    char **field; /* what the table says in each column of the list; NULL: there is no table */
    double weight, covariate;                /* covariate: NAN where it is not known */
} clvox_listed;

typedef struct clvox_list {
    clvox_listed *subject;
    int count, channels;
    char **column; /* of the table, but for those of the files and what clvox writes itself */
    int columns;
} clvox_list;

/* The subjects that path names. A folder of BIDS: the image of each subject or session whose name ends in
 * _SUFFIX.nii.gz or .nii (suffix "T1w"; "T1w,T2w": one for each channel), with the columns of participants.tsv
 * and `session`. A table: columns image and, if wanted, mask, labels, weight, image2, image3, image4; suffix is
 * not looked at. covariate: the column of a regression, or NULL. On success *out is the caller's, for
 * clvox_list_destroy. CLVOX_ERROR_ARGUMENT: a wrong suffix; CLVOX_ERROR_FILE, CLVOX_ERROR_FORMAT and
 * CLVOX_ERROR_DATA as well. */
CLVOX_API int clvox_list_read(const char *path, const char *suffix, const char *covariate, clvox_list **out);

/* A list of images alone. */
CLVOX_API int clvox_list_images(const char *const *images, int count, clvox_list **out);

/* Releases a list and sets *list to NULL. NULL is legal. */
CLVOX_API void clvox_list_destroy(clvox_list **list);

#ifdef __cplusplus
}
#endif

#endif
