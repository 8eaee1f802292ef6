/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of transforms from files, and images that are resampled through them, as far as `clvox apply` and
 * lists share that. */
#ifndef CLVOX_COMMAND_CHAIN_H
#define CLVOX_COMMAND_CHAIN_H

#include <cjson/cJSON.h>

#include "clvox/batch.h"
#include "clvox/command/inputs.h"

/* Hears remarks: level 0 warnings, 1 what is worth knowing. log NULL: nobody listens. */
typedef struct clvox_hearer {
    clvox_log log;
    void *user;
} clvox_hearer;

/* clvox_record_input, with its remarks said, too. */
CLVOX_API void clvox_input_note(cJSON *log, const char *path, const clvox_hearer *hearer);

/* Transforms named as FILE, FILE,-1 or, as in ANTs, [FILE,1]; a composite is as many links as it has parts,
 * the word identity none. A zeroed chain is empty. */
enum { CLVOX_MAX_LINKS = 128, CLVOX_MAX_WORDS = 64 };
typedef struct clvox_chain {
    /* Set before it is read: the images between which it leads, NULL: not known. */
    const char *fixed, *moving;
    clvox_transform *transform[CLVOX_MAX_LINKS];
    clvox_link link[CLVOX_MAX_LINKS];
    const char *word[CLVOX_MAX_LINKS]; /* the file of each */
    int count;
    char *file[CLVOX_MAX_WORDS]; /* of each word; NULL: identity */
    int files;
} clvox_chain;

/* Reads volumes and the chain of these words (none: chain may be NULL) side by side. On failure what was read
 * is released. */
CLVOX_API int clvox_chain_load(const clvox_input *inputs, int count, const char *const *words, int word_count,
                               clvox_chain *chain);
/* Puts the inverses in the place of the warps that are to be inverted. */
CLVOX_API int clvox_chain_invert(clvox_context *context, clvox_chain *chain, const clvox_hearer *hearer);
/* Frees what it holds. */
CLVOX_API void clvox_chain_free(clvox_chain *chain);

/* The inverse of a warp, numerically, on the device. Warns where the warp folds and where the inverse is off
 * by more than a voxel; fails, naming path, where it is off on average. error: as of clvox_invert. */
CLVOX_API int clvox_warp_invert(clvox_context *context, const char *path, const clvox_volume *warp,
                                clvox_volume **out, double error[2], clvox_jacobian_summary *summary,
                                const clvox_hearer *hearer);

/* An image between its files: what was read, and what is written. A zeroed one is empty. */
typedef struct clvox_apply_work {
    clvox_volume *image, *reference, *out;
    clvox_chain chain;
} clvox_apply_work;

enum { CLVOX_APPLY_INPUTS = 2 };
/* The volumes to read with the chain of the row's transforms. */
CLVOX_API void clvox_apply_inputs(const clvox_apply_row *row, const clvox_apply_list_options *options,
                                  clvox_apply_work *work, clvox_input inputs[CLVOX_APPLY_INPUTS]);
/* Resamples; remarks go into the log, too. */
CLVOX_API int clvox_apply_solve(clvox_context *context, const clvox_apply_row *row,
                                const clvox_apply_list_options *options, clvox_apply_work *work, cJSON *log,
                                const clvox_hearer *hearer);
/* Writes the result and nothing else: for any thread. */
CLVOX_API int clvox_apply_write(const clvox_apply_row *row, const clvox_apply_list_options *options,
                                const clvox_apply_work *work);
/* Frees what it holds. */
CLVOX_API void clvox_apply_work_free(clvox_apply_work *work);

/* clvox_apply_list with the inputs and the remarks of all rows in a log. */
CLVOX_API int clvox_apply_list_logged(clvox_apply_rows *rows, const clvox_apply_list_options *options,
                                      clvox_context *context, cJSON *log);

#endif
