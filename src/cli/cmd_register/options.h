/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `clvox register`: what was typed, and what it means. */
#ifndef CLI_REGISTER_OPTIONS_H
#define CLI_REGISTER_OPTIONS_H

#include "cli/shapes.h"
#include "clvox/batch.h"
#include "clvox/registration.h"

/* --quick, --regular and --best. */
typedef struct cli_presets {
    bool quick, regular, best;
} cli_presets;

#define CLI_PRESET_OPTIONS(p) \
    {"quick", 0, CLI_FLAG, &(p)->quick, NULL, "faster: greedy, unless --deform says otherwise", \
     CLVOX_GROUP_QUALITY, .basic = true}, \
    {"regular", 0, CLI_FLAG, &(p)->regular, NULL, "more regular Jacobians, less overlap (greedy, syn)", \
     CLVOX_GROUP_QUALITY, .basic = true}, \
    {"best", 0, CLI_FLAG, &(p)->best, NULL, "highest overlap; several times as long as default", \
     CLVOX_GROUP_QUALITY, .basic = true}

/* Rows of clvox_register_table that are for anatomy beside the images of one pair. */
#define CLI_ANATOMY_ROWS \
    "points-weight", "points-width", "surface-weight", "surface-kind", "curves-weight", "curves-kind", \
    "cloud-weight", "width", "currents", "posteriors-weight", "posteriors-weights"

enum { CLI_BOUNDARY_LABELS = 32 };

/* As typed. */
typedef struct cli_register_request {
    cli_texts fixed, moving, weights, shapes[CLI_SHAPE_KINDS];
    cli_texts level_masks[2]; /* fixed and moving: none, or one for each level */
    double weight[CLVOX_MAX_CHANNELS];
    const char *prefix, *fixed_mask, *moving_mask, *linear_fixed_mask, *linear_moving_mask, *labels, *names,
        *initial_warp, *points, *posteriors;
    const char *derivatives, *space; /* instead of prefix: names as in BIDS */
    const char *list, *summary; /* many pairs: prefix is the folder of their outputs */
    int at_once;                /* of these, registered at once on each GPU; 0: as many as pay */
    int jobs;                   /* of these, written at once by each device; 0: the threads, at most 4 */
    const char *part;           /* --shard, */
    int shard, shards;          /* and what it says; 0: all */
    bool any_device;            /* as of clvox_pairs_options */
    const char *given[CLVOX_MAX_OPTIONS]; /* of the rows of clvox_register_table */
    char *fixed_points, *moving_points; /* the two files of points, the caller's to free; NULL: none */
    char *fixed_posteriors, *moving_posteriors;                                   /* likewise */
    cli_texts boundary;         /* files of the fixed image's white matter; none: it is not asked for */
    int boundary_labels[CLI_BOUNDARY_LABELS], boundary_label_count; /* of label maps; 0: masks */
    int boundary_contrast;      /* clvox_boundary_contrast */
    cli_shape_files shape[CLVOX_MAX_SHAPES];                                      /* the caller's to free */
    int shape_count;
    cli_frames frames;
    int affine_mat; /* 1: PREFIX_affine.mat instead of .txt */
    int dof; /* -1: not given */
    bool init_points; /* --init points */
    cli_presets presets;
    clvox_numbers spacing; /* of shapes without images; count 0: not given */
    bool alone;            /* shapes or landmarks, without images and posteriors */
    bool strict, no_picture, report, dry_run;
} cli_register_request;

/* Parses and checks everything that needs no image. CLVOX_OK, CLI_DONE,
 * CLI_USAGE or an error of the file behind --init. */
int cli_register_parse(command *cli, int argc, char **argv, cli_register_request *request,
                       clvox_register_options *options);

/* Registers the pairs of request->list, or these rows, one after another, reading and writing meanwhile. out:
 * gets them, also where some failed, for clvox_pairs_destroy; NULL: nobody needs them. */
int cli_register_list(command *cli, const cli_register_request *request,
                      const clvox_register_options *options, const clvox_pair *rows, int count,
                      clvox_pairs **out);

/* The model that is typed for the rows of clvox_register_table, and what a preset makes of it; the other rows
 * are read after it. */
int cli_register_preset(const cli_presets *presets, const char *const *typed, clvox_register_options *options);

/* "quick", "regular", "best" or "default". */
const char *cli_preset_name(const cli_presets *presets);

/* Widths in mm become voxels of the fixed grid, as the library counts them. */
int cli_register_smoothing(const cli_register_request *request, const clvox_grid *fixed,
                           clvox_register_options *options);

/* Says which options have no effect beside the others, each in a line. */
void cli_register_remarks(const command *cli, const cli_register_request *request,
                          const clvox_register_options *options);

/* The options as they are used, into the log. */
void cli_register_log_options(command *cli, const cli_register_request *request,
                              const clvox_register_options *options);

#endif
