/* SPDX-License-Identifier: Apache-2.0 */
/* Stages with the same images and masks become one run of clvox_register; each run starts where the one
 * before has ended. */
#include <stdio.h>
#include <string.h>

#include "cli/ants/stages.h"
#include "cli/cmd_register/pair.h"
#include "cli/matrix.h"
#include "clvox/files.h"

enum { FILES = CLI_MAX_TEXTS };

typedef struct solver {
    command *cli;
    ants_line *line;
    ants_job *job;
    cli_input file[FILES];
    clvox_volume *volume[FILES];
    int files;
    cli_chain chain;
    bool started;                          /* matrix holds the start */
    clvox_transform affine, warp, inverse; /* fixed to moving is affine after warp */
    clvox_transform part[ANTS_STAGES + 1]; /* of single stages, after that of the start */
    clvox_results results;
    clvox_volume *warped, *inverse_warped;
} solver;

/* ---- inputs ------------------------------------------------------------- */

static clvox_volume *volume_of(const solver *s, const char *path, int as)
{
    for (int i = 0; path && i < s->files; i++)
        if (s->file[i].as == as && !strcmp(s->file[i].path, path))
            return s->volume[i];
    return NULL;
}

static int want(solver *s, const char *path, int as)
{
    for (int i = 0; path && i < s->files; i++)
        if (s->file[i].as == as && !strcmp(s->file[i].path, path))
            return CLVOX_OK;
    if (path && s->files == FILES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "more than %d images and masks", FILES);
    if (path) {
        s->file[s->files] = (cli_input){path, &s->volume[s->files], as};
        s->files++;
    }
    return CLVOX_OK;
}

static int load(solver *s)
{
    int status = CLVOX_OK;
    const ants_job *job = s->job;
    const ants_metric *first = &job->stage[0].metric[0];
    for (int i = 0; i < job->stages; i++) {
        const ants_stage *stage = &job->stage[i];
        for (int k = 0; k < stage->metrics; k++) {
            CLI_TRY(want(s, stage->metric[k].fixed, 0));
            CLI_TRY(want(s, stage->metric[k].moving, 0));
        }
        CLI_TRY(want(s, stage->fixed_mask, CLI_AS_MASK));
        CLI_TRY(want(s, stage->moving_mask, CLI_AS_MASK));
    }
    s->chain.fixed = first->fixed;
    s->chain.moving = first->moving;
    CLI_TRY(cli_load(s->cli, s->file, s->files, job->start == ANTS_FROM_FILES ? &job->initial : NULL,
                     &s->chain, true));
    for (int i = 0; i < s->files; i++) {
        if (!s->file[i].as && s->volume[i]->kind == CLVOX_KIND_LABEL)
            s->volume[i]->kind = CLVOX_KIND_SCALAR; /* ANTs registers label maps as images */
        if (!s->file[i].as && s->volume[i]->frames != 1) {
            status = clvox_fail(CLVOX_ERROR_DATA, "%s: has %d volumes, and one is registered",
                                s->file[i].path, s->volume[i]->frames);
            goto end;
        }
    }
end:
    return status;
}

/* ---- one run ------------------------------------------------------------ */

static int gather(solver *s, const ants_stage *stage, clvox_register_images *images)
{
    ants_channels c;
    const int status = ants_find_channels(stage, &c);
    *images = (clvox_register_images){.channels = status < 0 ? 0 : c.count};
    for (int i = 0; i < images->channels; i++) {
        images->fixed[i] = volume_of(s, c.metric[i]->fixed, 0);
        images->moving[i] = volume_of(s, c.metric[i]->moving, 0);
        images->weight[i] = c.metric[i]->weight;
    }
    images->fixed_mask = volume_of(s, stage->fixed_mask, CLI_AS_MASK);
    images->moving_mask = volume_of(s, stage->moving_mask, CLI_AS_MASK);
    images->initial_warp = s->warp.warp;
    return status;
}

/* On an empty cache of kernels children begin to build what the first stages will ask for. */
static void warm(solver *s)
{
    const ants_stage *linear = NULL, *deformation = NULL;
    clvox_linear freedom = CLVOX_LINEAR_NONE;
    clvox_register_options o;
    const ants_start start = s->job->start;
    cli_register_request r = {.prefix = "warm", .no_picture = true};
    ants_channels c;
    for (int i = 0; i < s->job->stages; i++) {
        const ants_stage *stage = &s->job->stage[i];
        if (stage->idle)
            continue;
        if (stage->linear == CLVOX_LINEAR_NONE)
            deformation = deformation ? deformation : stage;
        else
            linear = linear ? linear : stage;
        freedom = stage->linear > freedom ? stage->linear : freedom;
    }
    const ants_stage *images = deformation ? deformation : linear;
    if (!images || ants_find_channels(images, &c) < 0 ||
        ants_choose(s->line, s->job, linear, deformation, &o) < 0)
        return;
    o.linear = freedom;
    o.init = s->job->search               ? CLVOX_INIT_AUTO
             : start == ANTS_FROM_MOMENTS ? CLVOX_INIT_MOMENTS
                                          : CLVOX_INIT_CENTERS;
    r.fixed.count = r.moving.count = c.count;
    for (int i = 0; i < c.count; i++) {
        r.fixed.item[i] = c.metric[i]->fixed;
        r.moving.item[i] = c.metric[i]->moving;
        r.weight[i] = c.metric[i]->weight;
    }
    r.fixed_mask = images->fixed_mask;
    r.moving_mask = images->moving_mask;
    cli_pair_warm(s->cli, &r, &o);
}

/* The map after a run, or after the start alone. */
static void take(solver *s, clvox_register_result *result)
{
    memcpy(s->affine.matrix, result->matrix, sizeof s->affine.matrix);
    s->started = true;
    if (!result->warp)
        return;
    clvox_volume_destroy(&s->warp.warp);
    clvox_volume_destroy(&s->inverse.warp);
    s->warp.warp = result->warp;
    s->inverse.warp = result->inverse_warp;
    result->warp = result->inverse_warp = NULL;
}

/* linear and deformation: the stages that the run is made of, or NULL; both NULL: the start alone. */
static int run(solver *s, const ants_stage *linear, clvox_linear freedom, const ants_stage *deformation)
{
    static const clvox_init inits[] = {CLVOX_INIT_HEADER, CLVOX_INIT_CENTERS, CLVOX_INIT_MOMENTS,
                                       CLVOX_INIT_MATRIX, CLVOX_INIT_MATRIX};
    int status = CLVOX_OK;
    const ants_stage *stage = linear ? linear : deformation ? deformation : &s->job->stage[0];
    clvox_register_options o;
    clvox_register_images images;
    clvox_register_result result = {.warp = NULL};
    cli_progress progress = {.name = NULL};
    CLI_TRY(ants_choose(s->line, s->job, linear, deformation, &o));
    o.linear = freedom;
    o.init = s->started ? CLVOX_INIT_MATRIX : s->job->search ? CLVOX_INIT_AUTO : inits[s->job->start];
    memcpy(o.matrix, s->affine.matrix, sizeof o.matrix);
    CLI_TRY(gather(s, stage, &images));
    cli_progress_begin(&progress, s->cli, &o, &images);
    o.progress = cli_register_progress;
    o.user = &progress;
    status = clvox_register(s->cli->ctx, &images, &o, &result);
    cli_bar_end(&progress.bar);
    if (status >= 0 && cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    CLI_TRY(status);
    if (linear || deformation)
        CLI_TRY(cli_register_doubts(s->cli, &result, false));
    take(s, &result);
end:
    clvox_register_result_destroy(&result);
    return status;
}

/* ---- the start ---------------------------------------------------------- */

/* The chain of files: its affines, and where it has warps what they add to these. */
static int start_from_files(solver *s)
{
    const char *warped = NULL;
    const int status =
        clvox_chain_start(s->cli->ctx, &volume_of(s, s->job->stage[0].metric[0].fixed, 0)->grid,
                          s->chain.link, s->chain.count, s->affine.matrix, &s->warp.warp);
    s->started = true;
    if (status < 0 || !s->warp.warp)
        return status;
    for (int i = 0; i < s->chain.count; i++)
        warped = s->chain.transform[i]->is_warp ? s->chain.word[i] : warped;
    for (int i = 0; i < s->job->stages; i++)
        if (s->job->stage[i].linear != CLVOX_LINEAR_NONE && !s->job->stage[i].idle)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "--initial-moving-transform %s: a warp is refused before a linear stage",
                              warped);
    if (s->job->separate)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "--initial-moving-transform %s: a warp is refused with "
                          "--collapse-output-transforms 0",
                          warped);
    return CLVOX_OK;
}

static int start(solver *s)
{
    const ants_metric *first = &s->job->stage[0].metric[0];
    bool none = true;
    for (int i = 0; i < 4; i++)
        s->affine.matrix[i][i] = 1;
    for (int i = 0; i < s->job->stages; i++)
        none = none && s->job->stage[i].idle;
    if (s->job->start == ANTS_FROM_FILES)
        return start_from_files(s);
    if (s->job->start == ANTS_FROM_ORIGINS)
        for (int k = 0; k < 3; k++)
            s->affine.matrix[k][3] = volume_of(s, first->moving, 0)->grid.to_ras[k][3] -
                                     volume_of(s, first->fixed, 0)->grid.to_ras[k][3];
    s->started = s->job->start == ANTS_FROM_ORIGINS;
    const bool alone = s->job->start == ANTS_FROM_CENTERS || s->job->start == ANTS_FROM_MOMENTS;
    return alone && (s->job->separate || none) ? run(s, NULL, CLVOX_LINEAR_NONE, NULL) : CLVOX_OK;
}

/* ---- all stages --------------------------------------------------------- */

/* The map of one stage, which follows `before` in space: affine = before * part. */
static int keep_part(solver *s, int at, const double before[4][4])
{
    clvox_transform was = {.is_warp = 0};
    int status = clvox_affine_invert(before, was.matrix);
    const clvox_link links[] = {{&s->affine, 0}, {&was, 0}};
    return status < 0 ? status : clvox_compose_affine(links, 2, s->part[at].matrix);
}

static int check_stages(const ants_job *job)
{
    bool deformed = false;
    for (int i = 0; i < job->stages; i++) {
        const ants_stage *stage = &job->stage[i];
        if (stage->linear != CLVOX_LINEAR_NONE && deformed && !stage->idle)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "stage %d, %s: a linear stage after a deformation is refused", i + 1,
                              stage->transform);
        if (stage->deform != CLVOX_DEFORM_NONE && deformed && job->separate)
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "--collapse-output-transforms 0: is refused with several deformations");
        deformed = deformed || stage->deform != CLVOX_DEFORM_NONE;
    }
    return CLVOX_OK;
}

static int run_all(solver *s)
{
    int status = CLVOX_OK;
    const ants_job *job = s->job;
    s->part[0] = s->affine;
    for (int i = 0, next; i < job->stages; i = next) {
        const ants_stage *stage = &job->stage[i], *linear = NULL, *deformation = NULL;
        clvox_linear freedom = CLVOX_LINEAR_NONE;
        const clvox_transform before = s->affine;
        for (next = i; next < job->stages; next++) {
            const ants_stage *one = &job->stage[next];
            if (one->idle)
                break;
            if (next > i && (job->separate || !ants_same_inputs(stage, one)))
                break;
            if (deformation && memcmp(deformation->axes, one->axes, sizeof one->axes) != 0)
                break;
            if (one->linear == CLVOX_LINEAR_NONE)
                deformation = deformation ? deformation : one;
            else
                linear = linear ? linear : one;
            freedom = one->linear > freedom ? one->linear : freedom;
        }
        if (linear || deformation)
            CLI_TRY(run(s, linear, freedom, deformation));
        next = next > i ? next : i + 1;
        const clvox_transform *was = &before;
        CLI_TRY(keep_part(s, i + 1, CLI_MATRIX(was->matrix)));
    }
end:
    return status;
}

/* ---- outputs ------------------------------------------------------------ */

static int write_affine(const void *what, int how, const char *path)
{
    const clvox_transform *t = what;
    (void)how;
    return clvox_affine_write(t->matrix, CLVOX_AFFINE_ITK, path);
}

/* what: two transforms. */
static int write_composite(const void *what, int how, const char *path)
{
    (void)how;
    return clvox_transforms_write(what, 2, path);
}

static int add_affine(solver *s, const clvox_transform *t, int number, const char *name)
{
    const char *end = ants_print(s->line, "%d%s.mat", number, name);
    return end ? clvox_results_add(&s->results, write_affine, t, 0, s->job->prefix, end) : CLVOX_ERROR_MEMORY;
}

static int add_warps(solver *s, int number)
{
    int status = CLVOX_OK;
    const char *forth = ants_print(s->line, "%dWarp.nii.gz", number);
    const char *back = forth ? ants_print(s->line, "%dInverseWarp.nii.gz", number) : NULL;
    if (!back)
        return CLVOX_ERROR_MEMORY;
    CLI_TRY(clvox_results_warp(&s->results, s->warp.warp, s->job->prefix, forth));
    CLI_TRY(clvox_results_warp(&s->results, s->inverse.warp, s->job->prefix, back));
end:
    return status;
}

/* A file for each stage, numbered after the initial transforms. */
static int add_stages(solver *s)
{
    int status = CLVOX_OK;
    const ants_job *job = s->job;
    int number = job->start == ANTS_FROM_FILES ? job->initial.count : job->start != ANTS_FROM_HEADER;
    if (number && job->start != ANTS_FROM_FILES)
        CLI_TRY(add_affine(s, &s->part[0], 0, "DerivedInitialMovingTranslation"));
    for (int i = 0; i < job->stages; i++, number++) {
        const char *name = job->stage[i].transform;
        if (job->stage[i].deform != CLVOX_DEFORM_NONE)
            CLI_TRY(add_warps(s, number));
        else
            CLI_TRY(
                add_affine(s, &s->part[i + 1], number, strcmp(name, "CompositeAffine") ? name : "Affine"));
    }
end:
    return status;
}

/* A deformation that has not been computed is none; one that was given has no inverse yet. */
static int complete_warps(solver *s)
{
    int status = CLVOX_OK;
    bool wanted = false;
    const clvox_grid *grid = &volume_of(s, s->job->stage[0].metric[0].fixed, 0)->grid;
    for (int i = 0; i < s->job->stages; i++)
        wanted = wanted || s->job->stage[i].deform != CLVOX_DEFORM_NONE;
    if (wanted && !s->warp.warp)
        CLI_TRY(clvox_volume_create(grid, 3, CLVOX_KIND_DISPLACEMENT, &s->warp.warp));
    if (s->warp.warp && !s->inverse.warp)
        CLI_TRY(clvox_invert(s->cli->ctx, s->warp.warp, &s->inverse.warp, NULL));
end:
    return status;
}

static int make_images(solver *s)
{
    static const char *const words[] = {
        [CLVOX_INTERPOLATE_NEAREST] = "nearest", [CLVOX_INTERPOLATE_LINEAR] = "linear",
        [CLVOX_INTERPOLATE_LABEL] = "label",     [CLVOX_INTERPOLATE_BSPLINE] = "bspline",
        [CLVOX_INTERPOLATE_LANCZOS] = "lanczos", [CLVOX_INTERPOLATE_GAUSSIAN] = "gaussian"};
    int status = CLVOX_OK;
    const ants_job *job = s->job;
    const clvox_volume *fixed = volume_of(s, job->stage[0].metric[0].fixed, 0),
                       *moving = volume_of(s, job->stage[0].metric[0].moving, 0);
    const clvox_link forth[] = {{s->warp.warp ? &s->warp : &s->affine, 0}, {&s->affine, 0}},
                     back[] = {{&s->affine, 1}, {&s->inverse, 0}};
    const int links = s->warp.warp ? 2 : 1;
    clvox_apply_options how;
    clvox_apply_defaults(&how);
    how.output = CLVOX_OUTPUT_FLOAT;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i] && job->interpolation && !strcmp(words[i], job->interpolation))
            how.interpolation = (clvox_interpolation)i;
    if (job->warped) {
        CLI_TRY(clvox_apply_with(s->cli->ctx, moving, &fixed->grid, forth, links, &how, &s->warped));
        CLI_TRY(clvox_results_volume(&s->results, s->warped, job->warped, ""));
    }
    if (job->inverse_warped) {
        CLI_TRY(clvox_apply_with(s->cli->ctx, fixed, &moving->grid, back, links, &how, &s->inverse_warped));
        CLI_TRY(clvox_results_volume(&s->results, s->inverse_warped, job->inverse_warped, ""));
    }
end:
    return status;
}

static int write(solver *s)
{
    int status = CLVOX_OK;
    const ants_job *job = s->job;
    clvox_transform inverse = {.is_warp = 0};
    const clvox_transform *affine = &s->affine;
    bool linear = job->start != ANTS_FROM_HEADER;
    for (int i = 0; i < job->stages; i++)
        linear = linear || job->stage[i].linear != CLVOX_LINEAR_NONE;
    CLI_TRY(complete_warps(s));
    CLI_TRY(clvox_affine_invert(affine->matrix, inverse.matrix));
    const bool warped = s->warp.warp != NULL;
    /* Two parts even where one does nothing: a lone map is no composite, which readers of these want. */
    const clvox_transform none = {.matrix = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    const clvox_transform *const forth[] = {warped ? &s->warp : &none, affine},
                                 *const back[] = {&inverse, warped ? &s->inverse : &none};
    if (job->only) {
        CLI_TRY(clvox_results_add(&s->results, write_affine, affine, 0, job->only, ""));
    } else if (job->composite) {
        CLI_TRY(clvox_results_add(&s->results, write_composite, forth, 0, job->prefix, "Composite.h5"));
        CLI_TRY(clvox_results_add(&s->results, write_composite, back, 0, job->prefix, "InverseComposite.h5"));
    } else if (job->separate) {
        CLI_TRY(add_stages(s));
    } else {
        if (warped)
            CLI_TRY(add_warps(s, linear));
        if (linear || !warped)
            CLI_TRY(add_affine(s, affine, 0, "GenericAffine"));
    }
    CLI_TRY(make_images(s));
    CLI_TRY(clvox_results_write(&s->results));
end:
    return status;
}

/* Before anything is computed: the folders are there. */
static int check_outputs(solver *s)
{
    const ants_job *job = s->job;
    const char *log = job->prefix ? ants_print(s->line, "%s0GenericAffine.mat", job->prefix) : NULL;
    const char *const outputs[] = {log, job->only, job->warped, job->inverse_warped};
    return clvox_outputs_check(NULL, 0, outputs, 4);
}

int ants_solve(command *cli, ants_line *line, ants_job *job)
{
    int status = CLVOX_OK;
    solver s = {.cli = cli, .line = line, .job = job, .warp = {.is_warp = 1}, .inverse = {.is_warp = 1}};
    CLI_TRY(check_stages(job));
    CLI_TRY(check_outputs(&s));
    warm(&s);
    CLI_TRY(load(&s));
    CLI_TRY(start(&s));
    CLI_TRY(run_all(&s));
    ants_say(cli, line);
    CLI_TRY(write(&s));
end:
    clvox_results_free(&s.results);
    cli_chain_free(&s.chain);
    for (int i = 0; i < s.files; i++)
        clvox_volume_destroy(&s.volume[i]);
    clvox_volume_destroy(&s.warp.warp);
    clvox_volume_destroy(&s.inverse.warp);
    clvox_volume_destroy(&s.warped);
    clvox_volume_destroy(&s.inverse_warped);
    return status;
}
