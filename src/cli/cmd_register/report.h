/* SPDX-License-Identifier: Apache-2.0 */
/* Output of `clvox register`: the plan, the progress, the report. */
#ifndef CLI_REGISTER_REPORT_H
#define CLI_REGISTER_REPORT_H

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/shapes.h"
#include "clvox/boundary.h"
#include "clvox/command/pair.h"

/* Passed as user to cli_register_progress. */
typedef struct cli_progress {
    cli_bar bar;
    const clvox_register_options *options;
    cJSON *trace; /* of the log: what each look at the metric saw */
    const char *name; /* of the metric; NULL: that of the options */
    char more[48];    /* the terms beside the metric: " and landmarks" */
} cli_progress;

/* Prints a run's device memory beside what is free, and enters it into `plan` of the log. */
void cli_plan_memory(command *cli, size_t bytes, cJSON *plan);
/* The files that it would write, printed and entered into `plan`. */
void cli_plan_file(command *cli, const char *path, cJSON *plan);
void cli_plan_files(command *cli, const char *prefix, const clvox_end *ends, cJSON *plan);

/* Grids, levels and device memory, before it starts. */
int cli_register_plan(command *cli, const clvox_register_images *images,
                      const clvox_register_options *options);

void cli_progress_begin(cli_progress *progress, command *cli, const clvox_register_options *options,
                        const clvox_register_images *images);
/* Stops on Ctrl-C. */
int cli_register_progress(void *user, const clvox_step *step);

/* The report on standard output and the same in the log. */
void cli_register_report(command *cli, const clvox_pair_work *work);

/* How far corresponding points are apart, printed and added to the result in the log. */
/* Says, where one image is a slice and the other one a volume, which slice of that it lies on. */
void cli_register_slice(command *cli, const clvox_grid *fixed, const clvox_grid *moving,
                        const clvox_register_result *result);
void cli_register_landmarks(command *cli, int count, const clvox_landmark_errors *errors,
                            const clvox_register_options *o);
void cli_register_boundary(command *cli, const clvox_boundary_result *boundary);

/* "overlap,turned": the names of CLVOX_SUSPECT_..., in a buffer of at least 128 characters; returns it. */
char *cli_register_suspicions(unsigned suspicions, char *out);
/* A loud remark on standard error for each suspicion, also with -q;
 * CLVOX_ERROR_DATA with a sentence when there is one and strict is set. */
int cli_register_doubts(const command *cli, const clvox_register_result *result, bool strict);

/* Reports before the plan which tissues are compared, and enters them into the log. */
void cli_register_posteriors_plan(command *cli, const clvox_posteriors *posteriors);
/* How unlike they are, likewise. */
void cli_register_posteriors(command *cli, const clvox_posteriors *posteriors,
                             const clvox_posteriors_errors *errors, const clvox_register_options *options);

/* How far surfaces, curves and clouds are apart, likewise. */
void cli_register_shapes(command *cli, const cli_shape *shapes, int count,
                         const clvox_register_options *options, const clvox_register_result *result);

#endif
