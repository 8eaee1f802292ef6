/* SPDX-License-Identifier: Apache-2.0 */
/* File names of BIDS: read, and made for derivatives. */
#ifndef CLVOX_BIDS_H
#define CLVOX_BIDS_H

#include <limits.h>
#include <stdbool.h>

#include "clvox/status.h"

/* A part of a name, which stays where it is. */
typedef struct clvox_bids_word {
    const char *at;
    int length;
} clvox_bids_word;

enum { CLVOX_BIDS_ENTITIES = 24, CLVOX_BIDS_ROOM = NAME_MAX + 1 };

/* sub-01_run-1_T1w.nii.gz: its entities in their order, and T1w. */
typedef struct clvox_bids_name {
    clvox_bids_word key[CLVOX_BIDS_ENTITIES], label[CLVOX_BIDS_ENTITIES], suffix;
    int count;
} clvox_bids_name;

/* Reads the last part of a path. false: it is no such name. */
CLVOX_API bool clvox_bids_read(const char *path, clvox_bids_name *out);

/* The label of an entity; NULL: the name has none. */
CLVOX_API const clvox_bids_word *clvox_bids_find(const clvox_bids_name *name, const char *key);

/* Letters and digits. */
CLVOX_API bool clvox_bids_is_label(const char *text);

/* The space that a fixed image stands for: NAME of tpl-NAME_ or space-NAME_; of another subject or session
 * sub02ses1; the suffix where only that is another, as T1w for T2w of the same session; of any other name its
 * letters and digits. false: it has none. */
CLVOX_API bool clvox_bids_space(const char *fixed, const clvox_bids_name *moving, char out[CLVOX_BIDS_ROOM]);

/* The parts of the names of an image's derivatives. */
typedef struct clvox_bids_target {
    char folder[CLVOX_BIDS_ROOM];  /* sub-01/ses-a/anat/ */
    char subject[CLVOX_BIDS_ROOM]; /* sub-01 */
    char stem[CLVOX_BIDS_ROOM];    /* sub-01_ses-a_run-1 */
    char from[CLVOX_BIDS_ROOM], to[CLVOX_BIDS_ROOM];
    char grid[CLVOX_BIDS_ROOM];   /* _space-NAME_res-1 */
    char image[CLVOX_BIDS_ROOM];  /* _desc-brain_T1w */
    char labels[CLVOX_BIDS_ROOM]; /* _space-NAME_seg-x_res-1_desc-y_dseg, or _mask */
} clvox_bids_target;

/* The target of a subject's image in a space; res: of its grid, labels: a label map that goes with it, or
 * NULL. false: its name lacks sub-LABEL or is too long. */
CLVOX_API bool clvox_bids_subject(const char *image, const char *labels, const char *space,
                                  const clvox_bids_word *res, clvox_bids_target *out);
/* The target of a template of these images; cohort: from 1 on, 0: there is one template. */
CLVOX_API bool clvox_bids_template(const char *space, int cohort, const clvox_bids_word *suffix,
                                   clvox_bids_target *out);

/* A pattern with the parts in it: %P folder and stem, %F stem among the figures of the subject, %L stem among
 * the logs, %g %a (from) %b (to) %i %l (labels). false: a name is too long. */
CLVOX_API bool clvox_bids_expand(const char *pattern, const clvox_bids_target *target, char out[PATH_MAX]);

/* A path with another ending: what follows the first point of its last part. */
CLVOX_API bool clvox_bids_ending(const char *path, const char *ending, char out[PATH_MAX]);

#endif
