/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a list, from files to files: while a device solves one, its next is read and its last ones are
 * written. Processes that have the same list at a time share its rows. */
#ifndef CLV_BATCH_ROWS_H
#define CLV_BATCH_ROWS_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "clvox/batch.h"
#include "clvox/device.h"

enum { CLV_ROWS_JOBS = 64 }; /* at most so many are written at once */

typedef struct clv_run clv_run;

/* A list as this file sees it. The three steps return a clvox_status, whose sentence comes along to `end`. */
typedef struct clv_rows {
    const char *noun; /* "pair" */
    void *list;       /* for begin */
    int count, waiting;
    int jobs; /* rows that are written at once beside each device; 0: the threads, at most 4 */
    clvox_pair_state *(*state)(void *list, int row); /* rows that wait are made */
    /* Writes the path of a row's log, for the claim on it, and says whether another process has made the row
     * by now. NULL, both: the list is this process's alone. One thread at a time, as begin. */
    void (*claimed)(void *list, int row, char log[PATH_MAX]);
    bool (*present)(void *list, int row);
    /* Makes what the steps of a row take; NULL: there is no memory. */
    void *(*begin)(void *list, int row, clvox_context *context, clv_run *run);
    int (*read)(void *job);  /* by a thread of its own */
    int (*solve)(void *job); /* by the thread of the device */
    int (*save)(void *job);  /* by a thread of its own */
    /* Takes over how it ended (CLVOX_ERROR_STOPPED: it still waits), and frees the job. By the thread of the
     * device. */
    void (*end)(void *job, int status, const char *message);
    clvox_log log; /* NULL: nobody listens */
    clvox_progress progress;
    void *user;
} clv_rows;

/* CLVOX_ERROR_DEVICE where contexts are not of one model and driver, by which a later run knows what is
 * complete. */
int clv_rows_check(clvox_context *const *contexts, int count);

/* Makes the rows that wait on all contexts. What another process makes still waits afterwards, or is present.
 * CLVOX_OK also where rows failed or a disk is full, CLVOX_ERROR_STOPPED where progress said so. */
int clv_rows_make(const clv_rows *rows, clvox_context *const *contexts, int count);

/* A clvox_progress for solving: user is the run. Hears whether it goes on. */
int clv_rows_look(void *user, const clvox_step *step);

/* Says a line to the log. */
void clv_rows_say(const clv_rows *rows, int level, const char *format, ...) CLVOX_PRINTF(3, 4);

/* Ends a run with this status: writes the table of its outcome (path NULL: none), *written says whether, and
 * says how to go on where the run was stopped or a disk is full. */
int clv_rows_close(const clv_rows *rows, int status, const char *path,
                   void (*print)(FILE *to, const void *what), int *written);

#endif
