/* SPDX-License-Identifier: Apache-2.0 */
/* One registration from files to files, in three steps: reading needs no device, solving is for the thread of the
 * device, saving needs none again. So many pairs can overlap. */
#ifndef CLI_REGISTER_PAIR_H
#define CLI_REGISTER_PAIR_H

#include <limits.h>

#include "cli/cmd_register/options.h"
#include "cli/cmd_register/report.h"
#include "cli/derivative.h"
#include "cli/points.h"

/* What the picture shows. */
typedef struct cli_picture {
    const clvox_volume *fixed, *warped, *labels, *mask;
    const clvox_volume *log_jacobian, *warp; /* without the first what is seen of it comes from the second */
} cli_picture;

typedef enum cli_pair_file {
    CLI_PAIR_AFFINE,
    CLI_PAIR_WARP,
    CLI_PAIR_INVERSE,
    CLI_PAIR_MOMENTUM,
    CLI_PAIR_WARPED,
    CLI_PAIR_POSTERIORS,
    CLI_PAIR_LABELS,
    CLI_PAIR_PICTURE,
    CLI_PAIR_PAGE,
    CLI_PAIR_LOG,
    CLI_PAIR_FILES, /* shapes follow */
    CLI_PAIR_NAMES = CLI_PAIR_FILES + CLVOX_MAX_SHAPES
} cli_pair_file;

/* Files are prefix and end; sidecars are those of BIDS. NULL: there is none. */
typedef struct cli_pair_names {
    char *prefix, *end[CLI_PAIR_NAMES], *sidecar[CLI_PAIR_NAMES];
} cli_pair_names;

/* What -o or --bids-derivatives makes of a request; the images are not looked at. For cli_pair_names_free, on
 * failure too. */
int cli_pair_names_make(const cli_register_request *request, cli_pair_names *out);
void cli_pair_names_free(cli_pair_names *names);
/* The path of one of them. */
const char *cli_pair_path(const cli_pair_names *names, int file, char path[PATH_MAX]);

/* The first three are set by the caller, the rest zeroed. */
typedef struct cli_pair {
    command *cli;
    cli_register_request request;
    clvox_register_options options;
    cli_pair_names names;
    clvox_volume *fixed[CLVOX_MAX_CHANNELS], *moving[CLVOX_MAX_CHANNELS];
    clvox_volume *fixed_mask, *moving_mask, *linear_fixed_mask, *linear_moving_mask, *labels;
    clvox_volume *level_mask[2][CLVOX_MAX_LEVELS]; /* fixed and moving */
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
    cJSON *sidecar[CLI_PAIR_NAMES];
    cli_picture shown;
    cli_progress progress;
    cli_stages stages;
} cli_pair;

/* The files of a prefix. */
enum { CLI_PAIR_ENDS = 2 * CLI_PAIR_NAMES + 1 };
void cli_pair_ends(const cli_pair_names *names, const cli_register_request *request,
                   const clvox_register_options *options, cli_end ends[CLI_PAIR_ENDS]);

/* The sidecars of the files that are written. */
int cli_pair_sidecars(cli_pair *pair);

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
