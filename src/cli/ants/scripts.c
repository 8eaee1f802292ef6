/* SPDX-License-Identifier: Apache-2.0 */
/* antsRegistrationSyN.sh and antsRegistrationSyNQuick.sh: stages by a letter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ants/stages.h"
#include "clvox/threads.h"

static const ants_option options[] = {
    {"", 'd', ANTS_HONOURED, "3", "2 is refused"},
    {"", 'f', ANTS_HONOURED, "FIXED",
     "several with as many -m: pairs of the deformation; linear stages take the first"},
    {"", 'm', ANTS_HONOURED, "MOVING", ""},
    {"", 'o', ANTS_HONOURED, "PREFIX",
     "as antsRegistration, with PREFIXWarped.nii.gz and PREFIXInverseWarped.nii.gz"},
    {"", 't', ANTS_HONOURED, "t|r|a|s|sr|so|b|br|bo", "default s; b, br and bo are replaced by s, sr and so"},
    {"", 'n', ANTS_HONOURED, "THREADS", ""},
    {"", 'i', ANTS_HONOURED, "FILE | [FILE,1]", "initial transforms, otherwise the centres of mass"},
    {"", 'x', ANTS_HONOURED, "FIXED | FIXED,MOVING | NULL", "masks: one for all stages or one for each"},
    {"", 'j', ANTS_HONOURED, "0|1", "histogram matching"},
    {"", 'z', ANTS_HONOURED, "1|0", "0: a file for each stage"},
    {"", 'r', ANTS_REPLACED, "4", "radius of CC, bins of MI: by clvox's own"},
    {"", 's', ANTS_REPLACED, "26", "distance of splines"},
    {"", 'g', ANTS_REPLACED, "0.1", "gradient step"},
    {"", 'p', ANTS_IDLE, "f|d", ""},
    {"", 'e', ANTS_IDLE, "SEED", "the same run gives the same result"},
    {"", 'y', ANTS_IDLE, "0|1", "the same run gives the same result"},
    {NULL},
};

/* A stage that compares the first pair, or all of them. */
static int add(ants_line *line, ants_job *job, const char *transform, bool all)
{
    int status = CLVOX_OK;
    const int pairs = all ? ants_count(line, "f") : 1;
    ants_stage *stage = ants_add_stage(line, job, transform);
    if (!stage)
        return CLVOX_ERROR_ARGUMENT;
    for (int i = 0; i < pairs; i++) {
        ants_value metric = {.text = "", .name = all ? "CC" : "MI", .count = 2};
        metric.item[0] = ants_at(line, "f", i)->text;
        metric.item[1] = ants_at(line, "m", i)->text;
        CLI_TRY(ants_add_metric(line, stage, &metric));
    }
    CLI_TRY(ants_flag(line, "j", false, &stage->match));
end:
    return status;
}

static int add_stages(ants_line *line, ants_job *job)
{
    int status = CLVOX_OK;
    const char *kind = ants_text(line, "t", "s");
    static const char *const kinds[] = {"t", "r", "a", "s", "sr", "so", "b", "br", "bo"};
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known = known || !strcmp(kind, kinds[i]);
    if (!known)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "-t %s: is none of t, r, a, s, sr, so, b, br, bo", kind);
    if (strcmp(kind, "so") && strcmp(kind, "bo"))
        CLI_TRY(add(line, job, *kind == 't' ? "Translation" : "Rigid", false));
    if (*kind == 'a' || !strcmp(kind, "s") || !strcmp(kind, "b"))
        CLI_TRY(add(line, job, "Affine", false));
    if (*kind == 's' || *kind == 'b')
        CLI_TRY(add(line, job, *kind == 's' ? "SyN" : "BSplineSyN", true));
end:
    return status;
}

/* -x FIXED,MOVING: as the value that antsRegistration has in brackets. */
static int bracket_masks(ants_line *line)
{
    for (int i = 0; i < line->count; i++) {
        ants_value *v = &line->given[i].value;
        const char *comma = v->text ? strchr(v->text, ',') : NULL;
        if (line->given[i].option->letter != 'x' || v->count || !comma)
            continue;
        v->item[0] = ants_print(line, "%.*s", (int)(comma - v->text), v->text);
        v->item[1] = ants_print(line, "%s", comma + 1);
        v->count = 2;
        if (!v->item[0] || !v->item[1])
            return CLVOX_ERROR_MEMORY;
    }
    return CLVOX_OK;
}

static int read_threads(command *cli, const ants_line *line)
{
    const char *text = ants_text(line, "n", NULL);
    double n = 0;
    const int status = text ? ants_number("n", text, &n) : CLVOX_OK;
    if (status >= 0 && n >= 1 && n <= 4096)
        clvox_threads_set(cli->threads = (int)n);
    return status;
}

static int run(command *cli, ants_line *line)
{
    int status = CLVOX_OK;
    bool collapse;
    ants_job job = {.winsorize = {.005, .995},
                    .start = ANTS_FROM_MOMENTS,
                    .interpolation = "linear",
                    .quick = line->program == &ants_syn_quick_program,
                    .prefix = ants_text(line, "o", "output")};
    const int pairs = ants_count(line, "f");
    if (strcmp(ants_text(line, "d", "3"), "3") != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "-d %s: clvox is for volumes of three dimensions",
                          ants_text(line, "d", ""));
    if (!pairs || pairs != ants_count(line, "m"))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d fixed and %d moving images: give as many -f as -m", pairs,
                          ants_count(line, "m"));
    for (int i = 0; i < line->count; i++)
        if (!line->given[i].value.text)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "-%c has no value", line->given[i].option->letter);
    CLI_TRY(read_threads(cli, line));
    CLI_TRY(add_stages(line, &job));
    CLI_TRY(bracket_masks(line));
    CLI_TRY(ants_read_masks(line, "x", &job));
    CLI_TRY(ants_read_start(line, "i", &job));
    CLI_TRY(ants_flag(line, "z", true, &collapse));
    job.separate = !collapse;
    job.warped = ants_print(line, "%sWarped.nii.gz", job.prefix);
    job.inverse_warped = job.warped ? ants_print(line, "%sInverseWarped.nii.gz", job.prefix) : NULL;
    if (!job.inverse_warped)
        return CLVOX_ERROR_MEMORY;
    for (int i = 0; job.quick && i < job.stages; i++)
        if (job.stage[i].deform == CLVOX_DEFORM_SYN) {
            job.stage[i].deform = CLVOX_DEFORM_GREEDY;
            ants_replaces(line, "SyN by greedy, as --quick does");
        }
    ants_replaces(line, "metrics, iterations, shrink factors and smoothing by its own");
    status = ants_solve(cli, line, &job);
end:
    return status;
}

const ants_program ants_syn_program = {"antsRegistrationSyN.sh", "registers images in the usual stages",
                                       options, .run = run};
const ants_program ants_syn_quick_program = {"antsRegistrationSyNQuick.sh", "the same faster, less accurate",
                                             options, .run = run};
