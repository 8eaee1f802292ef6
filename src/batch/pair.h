/* SPDX-License-Identifier: Apache-2.0 */
/* A pair of a list from files to files, in three steps: reading needs no device, solving is for the thread of
 * the device, saving needs none again. So pairs overlap. */
#ifndef CLV_BATCH_PAIR_H
#define CLV_BATCH_PAIR_H

#include "clvox/command/pair.h"

enum { CLV_PAIR_PARTS = 32 };

/* The first six, and the options of the work, are set by the caller, the rest zeroed. */
typedef struct clv_pair {
    const clvox_pair *row;
    const clvox_pairs_options *options;
    clvox_context *ctx;
    clvox_progress look; /* as of clvox_register_options */
    void *user;
    cJSON *log;
    double started;
    clvox_pair_work work;
    clvox_transform *start[CLV_PAIR_PARTS]; /* of the initial warp's file */
    int starts;
    clvox_before before;
    cJSON *trace;
} clv_pair;

/* The inputs from which the files of a row are made. */
clvox_pair_inputs clv_pair_inputs(const clvox_pair *row, const clvox_pairs_options *options);
/* Those that are written. */
void clv_pair_ends(const clvox_pair *row, const clvox_pairs_options *options,
                   const clvox_register_options *registration, clvox_end ends[CLVOX_PAIR_ENDS]);

int clv_pair_read(clv_pair *p);
int clv_pair_solve(clv_pair *p);
int clv_pair_save(clv_pair *p);
void clv_pair_free(clv_pair *p);

#endif
