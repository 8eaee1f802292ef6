/* SPDX-License-Identifier: Apache-2.0 */
/* antsAffineInitializer and antsAI: an affine to start from. */
#include <string.h>

#include "cli/ants/stages.h"

/* ---- antsAffineInitializer ---------------------------------------------- */

static const ants_option initializer_options[] = {
    {"ImageDimension", 0, ANTS_HONOURED, "3", "2 is refused"},
    {"fixedImage", 0, ANTS_HONOURED, "FIXED", ""},
    {"movingImage", 0, ANTS_HONOURED, "MOVING", ""},
    {"outputTransform", 0, ANTS_HONOURED, "FILE.mat | FILE.txt", "an affine"},
    {"searchFactor", 0, ANTS_REPLACED, "15", "clvox searches the starts in its own way"},
    {"radianFraction", 0, ANTS_REPLACED, "0.1", "likewise"},
    {"usePrincipalAxes", 0, ANTS_REPLACED, "0|1", "likewise"},
    {"localSearchIterations", 0, ANTS_REPLACED, "10", "likewise"},
    {"fixedMask", 0, ANTS_HONOURED, "MASK", ""},
    {NULL},
};

static int run_initializer(command *cli, ants_line *line)
{
    ants_job job = {.winsorize = {0, 1}, .search = true, .only = ants_text(line, "outputTransform", NULL)};
    ants_stage *stage = ants_add_stage(line, &job, "Affine");
    stage->metric[0] = (ants_metric){.fixed = ants_text(line, "fixedImage", ""),
                                     .moving = ants_text(line, "movingImage", ""),
                                     .weight = 1,
                                     .metric = CLVOX_METRIC_MI,
                                     .number = 32};
    stage->metrics = 1;
    stage->fixed_mask = ants_text(line, "fixedMask", NULL);
    if (ants_find(line, "searchFactor"))
        ants_replaces(line, "the search by its own");
    return ants_solve(cli, line, &job);
}

const ants_program ants_initializer_program = {"antsAffineInitializer",
                                               "finds an affine to start from",
                                               initializer_options,
                                               .by_place = true,
                                               .least = 4,
                                               .run = run_initializer};

/* ---- antsAI ------------------------------------------------------------- */

static const ants_option ai_options[] = {
    {"dimensionality", 'd', ANTS_HONOURED, "3", "2 is refused"},
    {"metric", 'm', ANTS_HONOURED, "MI | Mattes | GC [FIXED,MOVING,NUMBER]", "sampling is replaced"},
    {"transform", 't', ANTS_HONOURED,
     "Translation | Rigid | Similarity | Affine | AlignGeometricCenters | AlignCentersOfMass",
     "what stands in brackets is replaced"},
    {"output", 'o', ANTS_HONOURED, "FILE.mat", ""},
    {"masks", 'x', ANTS_HONOURED, "FIXED | [FIXED,MOVING]", ""},
    {"align-principal-axes", 'p', ANTS_REPLACED, "0|1", "clvox searches the starts in its own way"},
    {"align-blobs", 'b', ANTS_REPLACED, "N", "likewise"},
    {"search-factor", 's', ANTS_REPLACED, "[20,0.12]", "likewise"},
    {"translation-search-grid", 'g', ANTS_REPLACED, "[40,0x40x40]", "likewise"},
    {"convergence", 'c', ANTS_REPLACED, "[10,1e-6,10]", "likewise"},
    {"random-seed", 0, ANTS_IDLE, "N", "the same run gives the same result"},
    {"verbose", 'v', ANTS_IDLE, "0|1", ""},
    {NULL},
};

static int run_ai(command *cli, ants_line *line)
{
    int status = CLVOX_OK;
    const ants_value *transform = ants_find(line, "transform"), *metric = ants_find(line, "metric");
    ants_job job = {.winsorize = {0, 1}, .search = true, .only = ants_text(line, "output", NULL)};
    const char *name = transform && transform->text ? transform->name : "Affine";
    const bool centers = !strcasecmp(name, "AlignGeometricCenters"),
               masses = !strcasecmp(name, "AlignCentersOfMass");
    if (!metric || !job.only)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--%s is missing", metric ? "output" : "metric");
    ants_stage *stage = ants_add_stage(line, &job, centers || masses ? "Translation" : name);
    if (!stage || stage->linear == CLVOX_LINEAR_NONE)
        return stage ? clvox_fail(CLVOX_ERROR_ARGUMENT, "--transform %s: is not linear", name)
                     : CLVOX_ERROR_ARGUMENT;
    /* Behind the images antsAI has the number of bins, where antsRegistration has the weight. */
    ants_value only = *metric;
    only.count = only.count > 2 ? 2 : only.count;
    CLI_TRY(ants_add_metric(line, stage, &only));
    CLI_TRY(ants_read_masks(line, "masks", &job));
    if (centers || masses) {
        stage->idle = true;
        job.search = false;
        job.start = centers ? ANTS_FROM_CENTERS : ANTS_FROM_MOMENTS;
    } else {
        ants_replaces(line, "the search by its own");
    }
    status = ants_solve(cli, line, &job);
end:
    return status;
}

const ants_program ants_ai_program = {"antsAI", "finds a linear map to start from", ai_options,
                                      .run = run_ai};
