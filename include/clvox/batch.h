/* SPDX-License-Identifier: Apache-2.0 */
/* Many images at once: tables that list them, the folders of BIDS, lists of pairs, of images to resample, and
 * of heads to label.
 *
 * Tables have a header and columns separated by tabs. A tab, a line end and a backslash in a field are
 * written \t, \n, \r and \\, and read back. Tables separated by commas (the header has no tab) are read as
 * well, a field with commas in double quotes. Paths in a table are relative to its folder. */
#ifndef CLVOX_BATCH_H
#define CLVOX_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "clvox/apply.h"
#include "clvox/atlas.h"
#include "clvox/boundary.h"
#include "clvox/registration.h"
#include "clvox/segment.h"
#include "clvox/status.h"
#include "clvox/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* ---- lists of pairs ---------------------------------------------------------- */

typedef enum clvox_pair_state {
    CLVOX_PAIR_WAITING, /* neither done nor failed: the run was stopped, or only planned */
    CLVOX_PAIR_DONE,
    CLVOX_PAIR_PRESENT, /* an earlier run has made all its files, from the same inputs by the same options */
    CLVOX_PAIR_FAILED
} clvox_pair_state;

/* "waiting", "done", "present", "failed". Static. */
CLVOX_API const char *clvox_pair_state_name(clvox_pair_state state);

typedef struct clvox_pair_names clvox_pair_names;

enum { CLVOX_PAIR_BOUNDARIES = 8 };

/* A pair, and what became of it. */
typedef struct clvox_pair {
    char *fixed, *moving, *fixed_mask, *moving_mask, *labels; /* files; the last three NULL: none */
    char **boundary; /* the fixed image's white matter: surfaces, masks or label maps, as clvox_boundary_fit
                        has them; NULL: none */
    int boundaries;  /* up to CLVOX_PAIR_BOUNDARIES */
    char *output; /* what its files begin with; of derivatives the warped image without its ending */
    char **file;  /* those that it writes */
    int files;
    clvox_pair_state state;
    char *message;     /* why it failed; NULL: it did not */
    char *suspicions;  /* "overlap,turned"; NULL: not known */
    double metric_before, metric_after, ncc, folded, seconds; /* NAN: not known */
    clvox_pair_names *names;                                  /* the library's */
} clvox_pair;

typedef struct clvox_pairs {
    clvox_pair *pair;
    int count;
    char *list;              /* the table they come from; NULL: none */
    char *summary, *page;    /* the tables of the outcome; page NULL: not asked for */
    int summary_written, page_written;
} clvox_pairs;

/* How pairs are registered, and where their files go. Zero is a default of all but the folder. */
typedef struct clvox_pairs_options {
    size_t size; /* of this struct, as clvox_pairs_defaults sets it */
    const clvox_register_options *registration; /* without progress; NULL: the defaults, by_contrast 1 */
    /* Texts by the places of clvox_register_table, from which registration was set (clvox_options_read):
     * lengths are read again by each pair's voxels, and an earlier result is known by them. NULL: none. */
    const char *const *given;
    const char *preset;      /* its name; NULL: "default" */
    const char *folder;      /* of the outputs; or */
    const char *derivatives; /* a folder of BIDS derivatives, with names made from the moving images' */
    const char *space;       /* with it, the name of the fixed images' space; NULL: from their names */
    const char *summary;     /* a file; NULL: summary.tsv in the folder (of derivatives, in its logs) */
    const char *fixed_mask, *moving_mask, *labels; /* of pairs that have none */
    const char *linear_fixed_mask, *linear_moving_mask; /* of the linear part of all; "none": no mask */
    /* For single levels of the deformation of all: a file or "none" for each level; NULL: as for the others.
     * */
    const char *level_fixed_mask[CLVOX_MAX_LEVELS], *level_moving_mask[CLVOX_MAX_LEVELS];
    const char *initial_warp; /* of all; WARP or [WARP,1], its inverse */
    int no_picture;
    int report;     /* 1: a page for each pair, and one of all */
    int strict;     /* 1: a suspicious result is a failure, with its files */
    int no_clobber; /* 1: a pair of which a file is there fails */
    int jobs;       /* pairs that are written at once beside each registration; 0: the threads, at most 4 */
    int dry_run;    /* 1: find what is there already, write nothing */
    const char *head; /* the JSON object that logs begin with; NULL: program, version, date, device */
    /* Gives the logs the remarks of contexts: line number `at`; NULL: no more. May be NULL. */
    const char *(*heard)(void *user, int at);
    /* Lines for the user: level 0 what matters in any case, 1 remarks. NULL: none. */
    clvox_log log;
    /* Before each pair and at each look at the metric, one thread at a time. Not 0: nothing more is begun. */
    clvox_progress progress;
    void *user;
    /* Part `shard` (from 1) of `shards` parts of the pairs, for jobs of a cluster; summary and page have it
     * in their names. 0: all pairs. */
    int shard, shards;
    int any_device; /* 1: a result of another device or driver counts as present, too */
    const char *names; /* table of the labels' names (label or index, and name) for the pages; NULL: none */
    /* Of pairs that have none, as theirs. A pair with a boundary is registered rigidly and not deformed,
     * unless `given` has linear and deform, or registration stands without it. */
    const char *const *boundary;
    int boundaries;
    const int *boundary_label; /* those of label maps that count */
    int boundary_labels;       /* 0: maps are masks */
    clvox_boundary_contrast boundary_contrast;
    int boundary_lps; /* 1: surfaces whose files state no frame are in LPS, not RAS */
} clvox_pairs_options;

/* The size, and 0 for the rest. */
CLVOX_API void clvox_pairs_defaults(clvox_pairs_options *options);

/* The pairs of a table: columns fixed, moving and, unless options name derivatives, output; if wanted
 * fixed_mask, moving_mask, labels and boundary, with ; between its files. Images are not opened. Fails where
 * two pairs would write the same file, or one what another reads. A shard has every shards-th pair, or none.
 * On success *out is the caller's, for clvox_pairs_destroy. CLVOX_ERROR_FILE, CLVOX_ERROR_FORMAT,
 * CLVOX_ERROR_DATA, and CLVOX_ERROR_ARGUMENT for a boundary without a rigid or affine part to refine. */
CLVOX_API int clvox_pairs_read(const char *table, const clvox_pairs_options *options, clvox_pairs **out);

/* The same of pairs whose fixed, moving, output and, if wanted, masks, labels and boundary are set. */
CLVOX_API int clvox_pairs_make(const clvox_pair *pairs, int count, const clvox_pairs_options *options,
                               clvox_pairs **out);

/* Registers the pairs that are not complete, and writes for each what `clvox register` writes, its log last.
 * Each context solves one while its next is read and its last ones are written; contexts have to be of one
 * model and driver. Processes that are given the same list at a time share its pairs: what another one makes
 * stays waiting, or is present by the end. The outcome is in the pairs and in the table pairs->summary.
 * CLVOX_ERROR_DATA where some failed, CLVOX_ERROR_STOPPED, CLVOX_ERROR_FILE where a disk is full; the same
 * call then goes on. */
CLVOX_API int clvox_register_list(clvox_pairs *pairs, const clvox_pairs_options *options,
                                  clvox_context *const *contexts, int count);

/* Releases pairs and sets *pairs to NULL. NULL is legal. */
CLVOX_API void clvox_pairs_destroy(clvox_pairs **pairs);

/* ---- lists of images --------------------------------------------------------- */

/* An image to resample, and what became of it. */
typedef struct clvox_apply_row {
    char *input, *output, *reference; /* files */
    char **transform; /* FILE, or FILE,-1 or [FILE,1] for its inverse; the last one is applied first */
    int transforms;
    clvox_pair_state state;
    char *message; /* why it failed; NULL: it did not */
    uint64_t key;  /* the library's: of all that the result depends on */
} clvox_apply_row;

typedef struct clvox_apply_rows {
    clvox_apply_row *row;
    int count;
    char *list; /* the table they come from; NULL: none */
    int summary_written;
} clvox_apply_rows;

/* How images are resampled. */
typedef struct clvox_apply_list_options {
    size_t size; /* of this struct, as clvox_apply_list_defaults sets it */
    const clvox_apply_options *apply; /* NULL: the defaults */
    int forward;                      /* 1: they are carried by clvox_forward instead, with this */
    clvox_landing landing;
    clvox_tensor_order order; /* of tensors whose files do not say it, read and written; AUTO: they do */
    int frame;                /* only this volume of a series; -1: all */
    const char *reference;    /* of rows that have none */
    const char *const *transform; /* of rows that have none, as theirs */
    int transforms;
    /* A table of the outcome, by which a later run knows what is complete; NULL: none, and all are made. */
    const char *summary;
    int jobs; /* images that are written at once while the next are resampled; 0: the threads, at most 4 */
    /* Lines for the user: level 0 warnings, 1 remarks. NULL: none. */
    clvox_log log;
    clvox_progress progress; /* before each image. Not 0: nothing more is begun. */
    void *user;
} clvox_apply_list_options;

/* The size, frame -1, and 0 for the rest. */
CLVOX_API void clvox_apply_list_defaults(clvox_apply_list_options *options);

/* The images of a table: columns input, output and, if wanted, reference and transforms, with ; between
 * these. Images are not opened. Fails where two images have one output, or it is a file that one of them
 * reads. On success *out is the caller's, for clvox_apply_rows_destroy. CLVOX_ERROR_FILE, CLVOX_ERROR_FORMAT
 * and CLVOX_ERROR_DATA. */
CLVOX_API int clvox_apply_rows_read(const char *table, const clvox_apply_list_options *options,
                                    clvox_apply_rows **out);

/* The same of rows whose files and transforms are set. */
CLVOX_API int clvox_apply_rows_make(const clvox_apply_row *rows, int count,
                                    const clvox_apply_list_options *options, clvox_apply_rows **out);

/* Resamples the images that are not complete. While the device has one, the next is read and the last ones
 * are written. The outcome is in the rows and in options->summary. CLVOX_ERROR_DATA where some failed,
 * CLVOX_ERROR_STOPPED, CLVOX_ERROR_FILE where a disk is full; the same call then goes on. */
CLVOX_API int clvox_apply_list(clvox_apply_rows *rows, const clvox_apply_list_options *options,
                               clvox_context *context);

/* Releases rows and sets *rows to NULL. NULL is legal. */
CLVOX_API void clvox_apply_rows_destroy(clvox_apply_rows **rows);

/* ---- lists of heads ---------------------------------------------------------- */

typedef struct clvox_labelled_list clvox_labelled_list;

/* A head to label, and what became of it. */
typedef struct clvox_segment_row {
    char *image;  /* a file */
    char *output; /* what its files begin with; of derivatives what its volumes' do */
    char **file;  /* those that it writes, the log last */
    int files;
    clvox_pair_state state;
    char *message;            /* why it failed; NULL: it did not */
    int atlases, labels;      /* that were used, and found; 0: not known */
    double brain_ml, seconds; /* NAN: not known */
} clvox_segment_row;

typedef struct clvox_segment_rows {
    clvox_segment_row *row;
    int count;
    char *list;    /* the table they come from; NULL: none */
    char *summary; /* the table of the outcome */
    int summary_written;
    clvox_labelled_list *atlases; /* the library's */
} clvox_segment_rows;

/* How heads are labelled, and where their files go. Zero is a default of all but atlases and folder. */
typedef struct clvox_segment_list_options {
    size_t size; /* of this struct, as clvox_segment_list_defaults sets it */
    const clvox_segment_options *segment; /* without progress; NULL: the defaults */
    const char *atlases;     /* a table of at most CLVOX_SEGMENT_ATLASES: columns image, labels, mask */
    const char *names;       /* a table of the labels' names for volumes and pages: columns label (or index),
                                name; NULL: none */
    const char *folder;      /* of the outputs; or */
    const char *derivatives; /* a folder of BIDS derivatives, with names made from the heads' */
    const char *summary;     /* a file; NULL: summary.tsv in the folder (of derivatives, in its logs) */
    int no_clobber;          /* 1: a head of which a file is there fails */
    int jobs;                /* heads that are written at once beside each; 0: the threads, at most 4 */
    const char *head; /* the JSON object that logs begin with; NULL: program, version, date, device */
    /* Lines for the user: level 0 what matters in any case, 1 remarks. NULL: none. */
    clvox_log log;
    /* Before each head and at each look at a metric, one thread at a time. Not 0: nothing more is begun. */
    clvox_progress progress;
    void *user;
    int shard, shards; /* as of clvox_pairs_options; the summary has the shard in its name */
} clvox_segment_list_options;

/* The size, and 0 for the rest. */
CLVOX_API void clvox_segment_list_defaults(clvox_segment_list_options *options);

/* The heads of a table: columns image and, unless options name derivatives, output. Images are not opened,
 * the table of the atlases is read. Fails where two heads would write the same file, or one what another or
 * an atlas is read from. A shard has every shards-th head, or none. On success *out is the caller's, for
 * clvox_segment_rows_destroy. CLVOX_ERROR_FILE, CLVOX_ERROR_FORMAT and CLVOX_ERROR_DATA. */
CLVOX_API int clvox_segment_rows_read(const char *table, const clvox_segment_list_options *options,
                                      clvox_segment_rows **out);

/* The same of rows whose image and output are set. */
CLVOX_API int clvox_segment_rows_make(const clvox_segment_row *rows, int count,
                                      const clvox_segment_list_options *options, clvox_segment_rows **out);

/* Labels the heads that are not complete, and writes for each what `clvox segment` writes, its log last. The
 * atlases are read once and stay in memory. Each context solves one head while its next is read and its last
 * ones are written; contexts have to be of one model and driver. Processes that are given the same list share
 * its heads as those of clvox_register_list do pairs. The outcome is in the rows and in the table
 * rows->summary. CLVOX_ERROR_DATA where some failed or no atlas can be read, CLVOX_ERROR_STOPPED,
 * CLVOX_ERROR_FILE where a disk is full; the same call then goes on. */
CLVOX_API int clvox_segment_list(clvox_segment_rows *rows, const clvox_segment_list_options *options,
                                 clvox_context *const *contexts, int count);

/* Releases rows and sets *rows to NULL. NULL is legal. */
CLVOX_API void clvox_segment_rows_destroy(clvox_segment_rows **rows);

#ifdef __cplusplus
}
#endif

#endif
