/* SPDX-License-Identifier: Apache-2.0 */
/* A head labelled by atlases, from files to files, as far as `clvox segment` and lists of heads share it. */
#ifndef CLVOX_COMMAND_SEGMENT_H
#define CLVOX_COMMAND_SEGMENT_H

#include <limits.h>

#include "clvox/batch.h"
#include "clvox/command/chain.h"
#include "clvox/command/results.h"
#include "clvox/compare.h"

/* ---- atlases ----------------------------------------------------------------- */

enum { CLVOX_LABELLED_IMAGE, CLVOX_LABELLED_LABELS, CLVOX_LABELLED_MASK, CLVOX_LABELLED_FILES };

/* An atlas; NULL: it has no such file. Volumes are there between clvox_labelled_load and _unload. */
typedef struct clvox_labelled {
    char *file[CLVOX_LABELLED_FILES];
    clvox_volume *volume[CLVOX_LABELLED_FILES];
    char *message; /* why it could not be read; NULL: it could, or nobody has tried */
} clvox_labelled;

struct clvox_labelled_list {
    char *path; /* of the table */
    clvox_labelled *atlas;
    int count;
    bool kept; /* volumes stay for further heads; else each atlas is read when it is its turn */
};

/* The atlases of a table: columns image, labels and mask, one of the last two or both, the same of all. On
 * success *out is the caller's, for clvox_labelled_destroy. */
CLVOX_API int clvox_labelled_read(const char *table, clvox_labelled_list **out);
/* Reads all of them and keeps them. What was read, and why others could not be, goes into the log; fails
 * where none could be read. */
CLVOX_API int clvox_labelled_keep(clvox_labelled_list *list, cJSON *log, const clvox_hearer *hearer);
/* Releases a list and sets *list to NULL. NULL is legal. */
CLVOX_API void clvox_labelled_destroy(clvox_labelled_list **list);

/* ---- names ------------------------------------------------------------------- */

/* Those that have a BIDS sidecar come first. */
typedef enum clvox_segment_file {
    CLVOX_SEGMENT_LABELS,
    CLVOX_SEGMENT_MASK,
    CLVOX_SEGMENT_CONFIDENCE,
    CLVOX_SEGMENT_VOLUMES,
    CLVOX_SEGMENT_PAGE,
    CLVOX_SEGMENT_LOG,
    CLVOX_SEGMENT_FILES,
    CLVOX_SEGMENT_SIDECARS = CLVOX_SEGMENT_VOLUMES
} clvox_segment_file;

enum { CLVOX_SEGMENT_ENDS = CLVOX_SEGMENT_FILES + CLVOX_SEGMENT_SIDECARS + 1 };

/* Files are prefix and end. */
typedef struct clvox_segment_names {
    const char *derivatives; /* NULL: the files have a prefix, and no sidecars */
    char prefix[PATH_MAX], end[CLVOX_SEGMENT_FILES][PATH_MAX], sidecar[CLVOX_SEGMENT_SIDECARS][PATH_MAX];
    char stem[PATH_MAX]; /* what the names of the volumes begin with */
    clvox_end ends[CLVOX_SEGMENT_ENDS];
} clvox_segment_names;

/* The files of a head by a prefix, or in a folder of BIDS derivatives (prefix NULL); labelled: whether
 * atlases have labels. */
CLVOX_API int clvox_segment_names_make(const char *head, const char *prefix, const char *derivatives,
                                       bool labelled, clvox_segment_names *out);

/* ---- a head ------------------------------------------------------------------ */

/* A head between its files. A zeroed one is empty. */
typedef struct clvox_segment_work {
    clvox_volume *head;
    clvox_segment_result result;
    clvox_label_measure *measure; /* of each label */
    double *confidence;           /* its mean in each label */
    const char *names;            /* a table of the labels' names, set before; NULL: none */
    char **name;                  /* of each label, by that table */
    int labels;
    double brain_ml;
    clvox_results outputs;
    cJSON *sidecar[CLVOX_SEGMENT_SIDECARS];
} clvox_segment_work;

/* Labels work->head, whose file is named. An atlas that fails is named in the log and to the hearer, and left
 * out; fails where none is left. The result goes into the log. */
CLVOX_API int clvox_segment_solve(clvox_context *context, const clvox_segment_options *options,
                                  clvox_labelled_list *atlases, const char *head, clvox_segment_work *work,
                                  cJSON *log, const clvox_hearer *hearer);
/* Gathers work->outputs: all files but page and log. */
CLVOX_API int clvox_segment_gather(clvox_segment_work *work, const clvox_segment_names *names,
                                   const char *head);
/* Writes the page, from the log; below 0: a clvox_status. */
CLVOX_API int clvox_segment_page(const clvox_segment_work *work, const clvox_segment_options *options,
                                 const char *head, const cJSON *log, const char *path);
/* Frees what it holds. */
CLVOX_API void clvox_segment_work_free(clvox_segment_work *work);

#endif
