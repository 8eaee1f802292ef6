/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a result, whole or none of them, and what an earlier run has left beside them. */
#ifndef CLVOX_COMMAND_RESULTS_H
#define CLVOX_COMMAND_RESULTS_H

#include <limits.h>
#include <stdbool.h>

#include <cjson/cJSON.h>

#include "clvox/tensor.h"

/* A file of a result, PREFIX and this end. */
typedef struct clvox_end {
    const char *end; /* "_warp.nii.gz"; the last row's is NULL */
    bool written;    /* by this run; else only by others of the same prefix */
} clvox_end;

/* A file to write, by write(what, how, path). */
typedef int (*clvox_writer)(const void *what, int how, const char *path);
typedef struct clvox_result_file {
    clvox_writer write;
    const void *what;
    int how; /* as the writer understands it */
    char *path;
    bool written;
} clvox_result_file;

/* The files of a result, named PREFIX and their end. A zeroed one is empty. */
enum { CLVOX_MAX_RESULTS = 80 };
typedef struct clvox_results {
    clvox_result_file item[CLVOX_MAX_RESULTS];
    int count;
} clvox_results;

/* Adds a file; what it holds stays the caller's, until it is written. */
CLVOX_API int clvox_results_add(clvox_results *r, clvox_writer write, const void *what, int how,
                                const char *prefix, const char *end);
/* A volume. */
CLVOX_API int clvox_results_volume(clvox_results *r, const clvox_volume *volume, const char *prefix,
                                   const char *end);
/* A warp, as ITK displacements. */
CLVOX_API int clvox_results_warp(clvox_results *r, const clvox_volume *warp, const char *prefix,
                                 const char *end);
/* A tensor volume in this order of components. */
CLVOX_API int clvox_results_tensor(clvox_results *r, const clvox_volume *tensor, clvox_tensor_order order,
                                   const char *prefix, const char *end);
/* Writes them side by side, those that take long best added first; where one fails, none is left. */
CLVOX_API int clvox_results_write(clvox_results *r);
/* Frees the list, not what it holds. */
CLVOX_API void clvox_results_free(clvox_results *r);

/* The log of an earlier run with the same names, which lists what it wrote; zeroed: there was none. */
typedef struct clvox_before {
    cJSON *log;
    double logged_at; /* seconds: when it was written */
} clvox_before;

/* Reads the log of an earlier run; zeroed if there is none. */
CLVOX_API void clvox_before_read(clvox_before *b, const char *path);
/* Frees the log; a zeroed one is legal. */
CLVOX_API void clvox_before_free(clvox_before *b);

/* The fate of a file that the run does not replace. */
typedef enum clvox_leftover { CLVOX_LEFT_NOTHING, CLVOX_LEFT_REMOVED, CLVOX_LEFT_STRANGE } clvox_leftover;

/* Removes a file that the earlier run wrote and nobody has written since; any other one stays. Both are
 * entered into the log of this run. */
CLVOX_API clvox_leftover clvox_before_settle(const clvox_before *b, const char *path, cJSON *log);

/* Removes what killed processes left unfinished in the folder of `path`, of many files that share folders
 * once if they follow each other; swept is the folder of the one before, "" first. */
CLVOX_API void clvox_sweep_beside(const char *path, char swept[PATH_MAX]);

#endif
