/* SPDX-License-Identifier: Apache-2.0 */
/* Stages of antsRegistration and of its scripts. */
#include "cli/ants/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts of a stage --------------------------------------------------- */

static const struct {
    const char *theirs;
    clvox_linear linear;
    clvox_deform deform;
    const char *instead;
} transforms[] = {
    {"Translation", CLVOX_LINEAR_TRANSLATION, CLVOX_DEFORM_NONE, NULL},
    {"Rigid", CLVOX_LINEAR_RIGID, CLVOX_DEFORM_NONE, NULL},
    {"Similarity", CLVOX_LINEAR_SIMILARITY, CLVOX_DEFORM_NONE, NULL},
    {"Affine", CLVOX_LINEAR_AFFINE, CLVOX_DEFORM_NONE, NULL},
    {"CompositeAffine", CLVOX_LINEAR_AFFINE, CLVOX_DEFORM_NONE, "affine"},
    {"SyN", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, NULL},
    {"BSplineSyN", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, "syn"},
    {"TimeVaryingVelocityField", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, "syn"},
    {"TimeVaryingBSplineVelocityField", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, "syn"},
    {"Exponential", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, "syn"},
    {"BSplineExponential", CLVOX_LINEAR_NONE, CLVOX_DEFORM_SYN, "syn"},
    {"GaussianDisplacementField", CLVOX_LINEAR_NONE, CLVOX_DEFORM_GREEDY, "greedy"},
    {"BSplineDisplacementField", CLVOX_LINEAR_NONE, CLVOX_DEFORM_GREEDY, "greedy"},
    {"BSpline", CLVOX_LINEAR_NONE, CLVOX_DEFORM_GREEDY, "greedy"},
};

static const struct {
    const char *theirs;
    clvox_metric metric;
    const char *instead;
} metrics[] = {
    {"MI", CLVOX_METRIC_MI, NULL},       {"Mattes", CLVOX_METRIC_MI, NULL},
    {"CC", CLVOX_METRIC_LNCC, NULL},     {"MeanSquares", CLVOX_METRIC_SSD, NULL},
    {"Demons", CLVOX_METRIC_SSD, "ssd"}, {"GC", CLVOX_METRIC_NCC, "ncc"},
};

ants_stage *ants_add_stage(ants_line *line, ants_job *job, const char *transform)
{
    if (job->stages == ANTS_STAGES) {
        clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d stages", ANTS_STAGES);
        return NULL;
    }
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++)
        if (!strcasecmp(transform, transforms[i].theirs)) {
            ants_stage *s = &job->stage[job->stages++];
            *s = (ants_stage){.transform = transforms[i].theirs,
                              .linear = transforms[i].linear,
                              .deform = transforms[i].deform,
                              .axes = {1, 1, 1}};
            if (transforms[i].instead)
                ants_replaces(line, "%s by %s", s->transform, transforms[i].instead);
            return s;
        }
    clvox_fail(CLVOX_ERROR_ARGUMENT, "--transform %s: clvox has no such transform", transform);
    return NULL;
}

int ants_add_metric(ants_line *line, ants_stage *stage, const ants_value *v)
{
    int status = CLVOX_OK;
    if (!v->text || v->count < 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--metric %s: is not METRIC[FIXED,MOVING,WEIGHT,...]",
                          v->text ? v->text : "");
    if (stage->metrics == ANTS_METRICS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d metrics in a stage", ANTS_METRICS);
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (!strcasecmp(v->name, metrics[i].theirs)) {
            double weight = 1, number = -1;
            if (v->count > 2 && *v->item[2])
                CLI_TRY(ants_number("metric", v->item[2], &weight));
            if (v->count > 3 && *v->item[3] && strcasecmp(v->item[3], "NA") != 0)
                CLI_TRY(ants_number("metric", v->item[3], &number));
            if (weight < 0)
                return clvox_fail(CLVOX_ERROR_ARGUMENT, "--metric %s: the weight is below 0", v->text);
            stage->metric[stage->metrics++] =
                (ants_metric){v->item[0], v->item[1], weight, metrics[i].metric, (int)number};
            if (metrics[i].instead)
                ants_replaces(line, "%s by %s", metrics[i].theirs, metrics[i].instead);
            if (v->count > 4 && strcasecmp(v->item[4], "None") != 0)
                ants_replaces(line, "sampling by its own");
            return CLVOX_OK;
        }
    status = clvox_fail(CLVOX_ERROR_ARGUMENT, "--metric %s: clvox has no such metric", v->name);
end:
    return status;
}

int ants_read_quantiles(const ants_value *v, ants_job *job)
{
    int status = CLVOX_OK;
    job->winsorize[1] = 1;
    if (v && v->count != 2)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--winsorize-image-intensities: [LOW,HIGH] is needed");
    for (int i = 0; v && i < 2; i++)
        CLI_TRY(ants_number("winsorize-image-intensities", v->item[i], &job->winsorize[i]));
end:
    return status;
}

int ants_read_start(ants_line *line, const char *option, ants_job *job)
{
    static const ants_start from[] = {ANTS_FROM_CENTERS, ANTS_FROM_MOMENTS, ANTS_FROM_ORIGINS};
    const int count = ants_count(line, option);
    if (count > CLI_MAX_TEXTS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d initial transforms", CLI_MAX_TEXTS);
    for (int i = 0; i < count; i++) {
        const ants_value *v = ants_at(line, option, i);
        const char *word;
        if (v->count == 3) {
            const char *how = v->item[2];
            if (strlen(how) != 1 || *how < '0' || *how > '2' || count > 1)
                return clvox_fail(CLVOX_ERROR_ARGUMENT,
                                  "%s: the last number is 0, 1 or 2, and no other initial transform "
                                  "goes with it",
                                  v->text);
            job->start = from[*how - '0'];
            continue;
        }
        const int status = ants_link(line, option, v, &word);
        if (status < 0)
            return status;
        job->start = ANTS_FROM_FILES;
        job->initial.item[job->initial.count++] = word;
    }
    return CLVOX_OK;
}

static const char *mask_of(const char *text)
{
    return !*text || !strcasecmp(text, "NULL") || !strcasecmp(text, "NA") || !strcasecmp(text, "none") ? NULL
                                                                                                       : text;
}

int ants_read_masks(const ants_line *line, const char *option, ants_job *job)
{
    const int count = ants_count(line, option);
    if (count > 1 && count != job->stages)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d masks for %d stages: give one for all, or one for each",
                          count, job->stages);
    for (int i = 0; count && i < job->stages; i++) {
        const ants_value *v = ants_at(line, option, count > 1 ? i : 0);
        if (!v->text || v->count > 2)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "masks are FIXED or [FIXED,MOVING]");
        job->stage[i].fixed_mask = mask_of(v->count ? v->item[0] : v->name);
        job->stage[i].moving_mask = v->count > 1 ? mask_of(v->item[1]) : NULL;
    }
    return CLVOX_OK;
}

/* ---- antsRegistration --------------------------------------------------- */

static const ants_option options[] = {
    {"dimensionality", 'd', ANTS_HONOURED, "3", "2 and 4 are refused"},
    {"output", 'o', ANTS_HONOURED, "PREFIX | [PREFIX,WARPED,INVERSE_WARPED]",
     "PREFIX0GenericAffine.mat, PREFIX1Warp.nii.gz, PREFIX1InverseWarp.nii.gz; images as float"},
    {"write-composite-transform", 'a', ANTS_HONOURED, "0|1",
     "PREFIXComposite.h5 and PREFIXInverseComposite.h5 instead"},
    {"collapse-output-transforms", 'z', ANTS_HONOURED, "1|0", "0: a file for each stage"},
    {"transform", 't', ANTS_HONOURED, "Translation | Rigid | Similarity | Affine | SyN",
     "other deformations are replaced by syn or greedy, and what stands in brackets by clvox's own steps and "
     "regularisation"},
    {"metric", 'm', ANTS_HONOURED, "MI | Mattes | CC | MeanSquares [FIXED,MOVING,WEIGHT,NUMBER]",
     "each pair by its own metrics and their weights, linear stages by the first metric; Demons and GC are "
     "replaced by ssd and ncc, CC's radius and sampling by clvox's own; metrics of point sets are refused"},
    {"convergence", 'c', ANTS_REPLACED, "[100x70x50x20,1e-6,10]",
     "clvox has its own schedule; a stage without any iteration does nothing, as in ANTs"},
    {"shrink-factors", 'f', ANTS_REPLACED, "8x4x2x1", "by clvox's own schedule"},
    {"smoothing-sigmas", 's', ANTS_REPLACED, "3x2x1x0vox", "by clvox's own schedule"},
    {"masks", 'x', ANTS_HONOURED, "FIXED | [FIXED,MOVING] | NULL", "one for all stages or one for each"},
    {"initial-moving-transform", 'r', ANTS_HONOURED, "FILE | [FILE,1] | [FIXED,MOVING,0|1|2]",
     "also several, and composites; a warp only before deformations"},
    {"initial-fixed-transform", 'q', ANTS_REFUSED, "FILE", "the fixed image stays where it is"},
    {"restrict-deformation", 'g', ANTS_HONOURED, "1x1x0", "one for each stage; of linear stages ones alone"},
    {"use-histogram-matching", 'u', ANTS_HONOURED, "0|1", ""},
    {"winsorize-image-intensities", 'w', ANTS_HONOURED, "[0.005,0.995]", ""},
    {"interpolation", 'n', ANTS_HONOURED, "as of antsApplyTransforms", "of the images written"},
    {"initialize-transforms-per-stage", 'i', ANTS_IDLE, "0|1", ""},
    {"use-estimate-learning-rate-once", 'l', ANTS_IDLE, "0|1", ""},
    {"print-similarity-measure-interval", 'p', ANTS_IDLE, "N", ""},
    {"random-seed", 0, ANTS_IDLE, "N", "the same run gives the same result"},
    {"float", 0, ANTS_IDLE, "0|1", ""},
    {"minc", 0, ANTS_REFUSED, "0|1", "clvox writes no MINC"},
    {"verbose", 'v', ANTS_IDLE, "0|1", ""},
    {"collapse-linear-transforms-to-fixed-image-header", 'b', ANTS_REFUSED, "0|1", "the affine is a file"},
    {"write-interval-volumes", 'V', ANTS_REFUSED, "N", "no images on the way are written"},
    {"save-state", 'j', ANTS_REFUSED, "FILE", "there is no state to save"},
    {"restore-state", 'k', ANTS_REFUSED, "FILE", "there is no state to restore"},
    {NULL},
};

/* Metrics belong to the transform before them; the first ones may stand before any. */
static int read_stages(ants_line *line, ants_job *job)
{
    int at = 0;
    for (int i = 0; i < line->count; i++)
        if (!strcmp(line->given[i].option->name, "transform")) {
            const ants_value *v = &line->given[i].value;
            if (!v->text || !ants_add_stage(line, job, v->name))
                return v->text ? CLVOX_ERROR_ARGUMENT
                               : clvox_fail(CLVOX_ERROR_ARGUMENT, "--transform has no value");
        }
    if (!job->stages)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--transform is missing");
    for (int i = 0, seen = 0; i < line->count; i++) {
        const ants_given *g = &line->given[i];
        seen += !strcmp(g->option->name, "transform");
        at = seen ? seen - 1 : 0;
        const int status =
            strcmp(g->option->name, "metric") ? CLVOX_OK : ants_add_metric(line, &job->stage[at], &g->value);
        if (status < 0)
            return status;
    }
    for (int i = 0; i < job->stages; i++)
        if (!job->stage[i].metrics)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "stage %d, %s, has no --metric", i + 1,
                              job->stage[i].transform);
    return CLVOX_OK;
}

/* Whether no level has iterations. */
static bool is_idle(const ants_value *v)
{
    const char *at = v ? v->count ? v->item[0] : v->name : "1";
    return at && *at && !at[strspn(at, "0x")];
}

static int read_axes(const ants_line *line, ants_job *job)
{
    const int count = ants_count(line, "restrict-deformation");
    if (count > 0 && count != job->stages)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "--restrict-deformation is given %d times for %d stages; give it once for each, "
                          "ones for linear stages",
                          count, job->stages);
    for (int i = 0; i < count; i++) {
        ants_stage *s = &job->stage[i];
        const ants_value *v = ants_at(line, "restrict-deformation", i);
        clvox_numbers n;
        bool all = true;
        if (!v->text || !clvox_numbers_read(v->name, &n) || n.unit != CLVOX_UNIT_NONE)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "--restrict-deformation %s: not of the form 1x1x0",
                              v->text ? v->text : "");
        for (int k = 0; k < n.count; k++)
            all = all && n.value[k] >= 1 && n.value[k] <= 1;
        if (all)
            continue;
        if (s->deform == CLVOX_DEFORM_NONE || n.count != 3)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "--restrict-deformation %s: is refused for stage %d, %s; clvox restricts "
                              "deformations, by three numbers",
                              v->text, i + 1, s->transform);
        for (int k = 0; k < 3; k++) {
            s->axes[k] = n.value[k];
            if (!(n.value[k] >= 0 && n.value[k] <= 1))
                return clvox_fail(CLVOX_ERROR_ARGUMENT, "--restrict-deformation %s: factors are 0 to 1",
                                  v->text);
        }
    }
    return CLVOX_OK;
}

static int read_output(const ants_line *line, ants_job *job)
{
    const ants_value *v = ants_find(line, "output");
    if (!v || !v->text || v->count > 3 || (v->count && *v->name))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "--output is PREFIX or [PREFIX,WARPED,INVERSE_WARPED]");
    job->prefix = v->count ? v->item[0] : v->name;
    job->warped = v->count > 1 && *v->item[1] ? v->item[1] : NULL;
    job->inverse_warped = v->count > 2 && *v->item[2] ? v->item[2] : NULL;
    return CLVOX_OK;
}

static int run(command *cli, ants_line *line)
{
    int status = CLVOX_OK;
    bool collapse, match;
    ants_job job = {.stages = 0};
    CLI_TRY(read_stages(line, &job));
    CLI_TRY(read_output(line, &job));
    CLI_TRY(ants_flag(line, "write-composite-transform", false, &job.composite));
    CLI_TRY(ants_flag(line, "collapse-output-transforms", true, &collapse));
    job.separate = !collapse && !job.composite;
    CLI_TRY(ants_read_quantiles(ants_find(line, "winsorize-image-intensities"), &job));
    CLI_TRY(ants_read_start(line, "initial-moving-transform", &job));
    CLI_TRY(ants_read_masks(line, "masks", &job));
    CLI_TRY(read_axes(line, &job));
    CLI_TRY(ants_interpolation(line, ants_find(line, "interpolation"), &job.interpolation));
    for (int i = 0; i < job.stages; i++) {
        const int histograms = ants_count(line, "use-histogram-matching");
        const ants_value *h = ants_at(line, "use-histogram-matching", histograms > i ? i : histograms - 1);
        match = histograms && h && (!h->text || (strcmp(h->text, "0") && strcasecmp(h->text, "false")));
        job.stage[i].match = match;
        job.stage[i].idle = is_idle(ants_at(line, "convergence", i));
    }
    if (ants_count(line, "convergence") + ants_count(line, "shrink-factors") +
        ants_count(line, "smoothing-sigmas"))
        ants_replaces(line, "iterations, shrink factors and smoothing by its own schedule");
    status = ants_solve(cli, line, &job);
end:
    return status;
}

const ants_program ants_registration_program = {"antsRegistration", "registers images, stage by stage",
                                                options, .run = run};
