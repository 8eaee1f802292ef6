/* SPDX-License-Identifier: Apache-2.0 */
/* One registration from files to files, in three steps: reading needs no device, solving is for the thread of the
 * device, saving needs none again. So many pairs can overlap. */
#ifndef CLI_REGISTER_PAIR_H
#define CLI_REGISTER_PAIR_H

#include "cli/cmd_register/options.h"
#include "cli/cmd_register/report.h"
#include "cli/points.h"

/* What the picture shows. */
typedef struct cli_picture {
    const clvox_volume *fixed, *warped, *labels, *log_jacobian, *mask;
} cli_picture;

/* The first three are set by the caller, the rest zeroed. */
typedef struct cli_pair {
    command *cli;
    cli_register_request request;
    clvox_register_options options;
    clvox_volume *fixed[CLVOX_MAX_CHANNELS], *moving[CLVOX_MAX_CHANNELS];
    clvox_volume *fixed_mask, *moving_mask, *linear_fixed_mask, *linear_moving_mask, *labels;
    clvox_volume *carried, *log_jacobian;
    clvox_volume *fixed_posteriors, *moving_posteriors; /* as read */
    clvox_posteriors posteriors;
    clvox_posteriors_errors posteriors_errors;
    clvox_volume *expected[2]; /* what the picture shows of them, or of shapes, where there is no image */
    clvox_grid grid;           /* of shapes without images */
    clvox_transform *initial;
    cli_points fixed_points, moving_points;
    cli_shape shapes[CLVOX_MAX_SHAPES];
    const clvox_shape *fixed_shapes[CLVOX_MAX_SHAPES], *moving_shapes[CLVOX_MAX_SHAPES]; /* of shapes */
    clvox_register_result result;
    cli_outputs outputs;
    cli_picture shown;
    cli_progress progress;
    cli_stages stages;
} cli_pair;

/* The files of a prefix. */
enum { CLI_PAIR_ENDS = 11 + CLVOX_MAX_SHAPES };
void cli_pair_ends(const cli_register_request *request, const clvox_register_options *options,
                   cli_end ends[CLI_PAIR_ENDS]);

/* Claims the files of the prefix and reads the images; device: opens it meanwhile. */
int cli_pair_read(cli_pair *pair, bool device);
/* With --dry-run the plan and no more. */
int cli_pair_solve(cli_pair *pair);
/* Writes the results, PREFIX.json last. close: the device is let go meanwhile. */
int cli_pair_save(cli_pair *pair, bool close);
void cli_pair_free(cli_pair *pair);

#endif
