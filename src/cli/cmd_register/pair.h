/* SPDX-License-Identifier: Apache-2.0 */
/* One registration from files to files, in three steps: reading needs no device, solving is for the thread of the
 * device, saving needs none again. So many pairs can overlap. */
#ifndef CLI_REGISTER_PAIR_H
#define CLI_REGISTER_PAIR_H

#include <limits.h>

#include "cli/cmd_register/options.h"
#include "cli/cmd_register/report.h"
#include "cli/points.h"
#include "clvox/command/pair.h"

/* The inputs that its files are made from and named by; the images are not looked at. */
clvox_pair_inputs cli_pair_inputs(const cli_register_request *request);

/* The first two, and the options of the work, are set by the caller, the rest zeroed. */
typedef struct cli_pair {
    command *cli;
    cli_register_request request;
    clvox_pair_names names;
    clvox_pair_work work;
    cli_chain start; /* of the initial warp's file */
    clvox_volume *fixed_posteriors, *moving_posteriors; /* as read */
    clvox_posteriors posteriors;
    clvox_posteriors_errors posteriors_errors;
    clvox_volume *expected[2]; /* what the picture shows of them, or of shapes, where there is no image */
    clvox_grid grid;           /* of shapes without images */
    cli_points fixed_points, moving_points;
    cli_shape shapes[CLVOX_MAX_SHAPES];
    const clvox_shape *fixed_shapes[CLVOX_MAX_SHAPES], *moving_shapes[CLVOX_MAX_SHAPES]; /* of shapes */
    cli_progress progress;
} cli_pair;

/* Reads the images; device: opens it meanwhile. */
int cli_pair_load(cli_pair *pair, bool device);
/* The same after claiming the files of the prefix. */
int cli_pair_read(cli_pair *pair, bool device);
/* With --dry-run the plan and no more. */
int cli_pair_solve(cli_pair *pair);
/* Writes the results, PREFIX.json last. close: the device is let go meanwhile. */
int cli_pair_save(cli_pair *pair, bool close);
void cli_pair_free(cli_pair *pair);

/* Before the device is opened: on an empty cache, children begin to build what such a pair will ask for. */
void cli_pair_warm(command *cli, const cli_register_request *request, const clvox_register_options *options);

#endif
