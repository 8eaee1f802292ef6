/* SPDX-License-Identifier: Apache-2.0 */
/* A registration as ANTs states it, stage by stage: made of a command line, solved by clvox_register. */
#ifndef CLI_ANTS_STAGES_H
#define CLI_ANTS_STAGES_H

#include "cli/ants/ants.h"
#include "clvox/registration.h"

enum { ANTS_STAGES = 12, ANTS_METRICS = 16 };

typedef struct ants_metric {
    const char *fixed, *moving;
    double weight;
    clvox_metric metric;
    int number; /* its radius or bins; -1: not given */
} ants_metric;

typedef struct ants_stage {
    const char *transform;
    clvox_linear linear; /* NONE: of a deformation */
    clvox_deform deform; /* NONE: of a linear map */
    ants_metric metric[ANTS_METRICS];
    int metrics;
    const char *fixed_mask, *moving_mask;
    double axes[3]; /* restriction of a deformation */
    bool match;     /* histograms */
    bool idle;      /* no iterations */
} ants_stage;

/* The map to start from. */
typedef enum ants_start {
    ANTS_FROM_HEADER,
    ANTS_FROM_CENTERS,
    ANTS_FROM_MOMENTS,
    ANTS_FROM_ORIGINS,
    ANTS_FROM_FILES
} ants_start;

typedef struct ants_job {
    ants_stage stage[ANTS_STAGES];
    int stages;
    ants_start start;
    cli_texts initial;                            /* FROM_FILES: links, the last one applied first */
    const char *prefix, *warped, *inverse_warped; /* the images: NULL: not wanted */
    const char *only;          /* one affine under this name instead of all files; else NULL */
    const char *interpolation; /* of the images, in clvox's words */
    double winsorize[2];
    bool composite, separate; /* one file for the whole chain, one for each stage */
    bool quick, search;       /* --quick; more starts than the one given */
} ants_job;

/* The channels of a stage: its first pair by the first metric of that, which its others stand beside, and
 * each metric of a further pair. */
typedef struct ants_channels {
    const ants_metric *metric[CLVOX_MAX_CHANNELS];
    int count;
} ants_channels;

int ants_find_channels(const ants_stage *stage, ants_channels *c);
/* Whether both compare the same images, by the same weights of these, within the same masks. */
bool ants_same_inputs(const ants_stage *a, const ants_stage *b);
/* The options of a run that these stages make, NULL: none of that kind; linear, init and matrix are the
 * caller's. */
int ants_choose(ants_line *line, const ants_job *job, const ants_stage *linear, const ants_stage *deformation,
                clvox_register_options *o);

/* Reads the images, registers, and writes all files or none. */
int ants_solve(command *cli, ants_line *line, ants_job *job);

/* "[0.005,0.995]", "[F,M,1]" of --initial-moving-transform, "[FIXED,MOVING]" of masks; none may be given. */
int ants_read_quantiles(const ants_value *v, ants_job *job);
int ants_read_start(ants_line *line, const char *option, ants_job *job);
int ants_read_masks(const ants_line *line, const char *option, ants_job *job);
/* A stage of that transform; NULL: there are too many, or it is refused. */
ants_stage *ants_add_stage(ants_line *line, ants_job *job, const char *transform);
/* Adds a metric, "Mattes[F,M,1,32]". */
int ants_add_metric(ants_line *line, ants_stage *stage, const ants_value *v);

#endif
