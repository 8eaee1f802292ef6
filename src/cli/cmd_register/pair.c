/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_register/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd_register/alone.h"
#include "clvox/command/derivative.h"
#include "clvox/files.h"

/* The mean number of a voxel's tissue, the rest being 0: a picture of all. */
static int expect(const clvox_volume *posteriors, clvox_volume **out)
{
    const size_t n = clvox_grid_voxels(&posteriors->grid);
    int status = clvox_volume_create(&posteriors->grid, 1, CLVOX_KIND_SCALAR, out);
    for (size_t i = 0; status >= 0 && i < n * (size_t)posteriors->frames; i++)
        (*out)->data[i % n] += (float)(i / n + 1) * posteriors->data[i];
    return status;
}

/* Carries the tissues, and compares them where the mask says so and lies on their grid. */
static int compare_posteriors(cli_pair *p)
{
    int status = CLVOX_OK;
    const clvox_volume *fixed = p->posteriors.fixed, *mask = p->work.mask[0];
    if (mask && !clvox_grid_equal(&mask->grid, &fixed->grid))
        mask = NULL;
    CLI_TRY(clvox_register_posteriors(p->cli->ctx, &p->work.result, &p->work.options, fixed,
                                      p->posteriors.moving, mask, &p->posteriors_errors));
    if (p->work.fixed[0] || (p->request.no_picture && !p->request.report))
        goto end;
    CLI_TRY(expect(fixed, &p->expected[0]));
    CLI_TRY(expect(p->posteriors_errors.carried, &p->expected[1]));
    p->work.shown.fixed = p->expected[0];
    p->work.shown.warped = p->expected[1];
end:
    return status;
}

/* Writing no longer needs the device. */
static int prepare_outputs(cli_pair *p)
{
    int status = CLVOX_OK;
    command *cli = p->cli;
    const cli_register_request *r = &p->request;
    clvox_pair_work *w = &p->work;
    const clvox_pair_inputs inputs = cli_pair_inputs(r);
    const char *prefix = p->names.prefix;
    char *const *end = p->names.end;
    CLI_TRY(clvox_pair_prepare(w, cli->ctx, &p->names, !r->no_picture, r->report));
    if (r->posteriors) {
        CLI_TRY(compare_posteriors(p));
        CLI_TRY(clvox_results_volume(&w->outputs, p->posteriors_errors.carried, prefix,
                                     end[CLVOX_PAIR_POSTERIORS]));
    }
    for (int i = 0; i < r->shape_count; i++) {
        CLI_TRY(clvox_register_shape(cli->ctx, &w->result, &w->options, p->fixed_shapes[i],
                                     p->moving_shapes[i], &p->shapes[i].errors));
        CLI_TRY(clvox_results_add(&w->outputs, cli_shape_write, &p->shapes[i], 0, prefix,
                                  end[CLVOX_PAIR_FILES + i]));
    }
    if (r->alone && (!r->no_picture || r->report))
        CLI_TRY(cli_alone_draw(p));
    if (r->derivatives)
        CLI_TRY(clvox_pair_sidecars(&p->names, &inputs, &w->result, &w->outputs, w->sidecar));
end:
    return status;
}

/* Volume that gives the grid of either side, and its file. */
typedef struct first_volumes {
    const clvox_volume *fixed, *moving;
    const char *of_fixed, *of_moving;
} first_volumes;

static first_volumes first_of(const cli_pair *p)
{
    const cli_register_request *r = &p->request;
    if (!p->work.fixed[0])
        return (first_volumes){p->fixed_posteriors, p->moving_posteriors, r->fixed_posteriors,
                               r->moving_posteriors};
    return (first_volumes){p->work.fixed[0], p->work.moving[0], r->fixed.item[0], r->moving.item[0]};
}

/* Corresponding points, all of them inside of their images, if any. */
static int read_landmarks(const cli_register_request *r, const first_volumes *first, cli_points *fixed,
                          cli_points *moving)
{
    int status = CLVOX_OK;
    CLI_TRY(cli_points_read(r->fixed_points, r->frames == CLI_FRAME_RAS, fixed));
    CLI_TRY(cli_points_read(r->moving_points, r->frames == CLI_FRAME_RAS, moving));
    if (fixed->count != moving->count || !fixed->count) {
        status = clvox_fail(CLVOX_ERROR_DATA, "%s has %d points and %s %d; landmarks correspond row by row",
                          r->fixed_points, fixed->count, r->moving_points, moving->count);
        goto end;
    }
    if (r->alone)
        goto end;
    CLI_TRY(cli_points_inside(r->fixed_points, fixed, &first->fixed->grid, first->of_fixed));
    CLI_TRY(cli_points_inside(r->moving_points, moving, &first->moving->grid, first->of_moving));
end:
    return status;
}

static clvox_pair_sources sources_of(const cli_register_request *r)
{
    const cli_texts *levels = r->level_masks;
    return (clvox_pair_sources){
        .fixed = r->fixed.item,
        .moving = r->moving.item,
        .weight = r->weight,
        .channels = r->fixed.count,
        .mask = {r->fixed_mask, r->moving_mask},
        .linear_mask = {r->linear_fixed_mask, r->linear_moving_mask},
        .level_mask = {levels[0].count ? levels[0].item : NULL, levels[1].count ? levels[1].item : NULL},
        .levels = levels[0].count ? levels[0].count : levels[1].count,
        .labels = r->labels};
}

clvox_pair_inputs cli_pair_inputs(const cli_register_request *r)
{
    clvox_pair_inputs in = {.prefix = r->prefix,
                            .derivatives = r->derivatives,
                            .space = r->space,
                            .fixed = r->fixed.item[0],
                            .moving = r->moving.item[0],
                            .labels = r->labels,
                            .posteriors = r->moving_posteriors,
                            .shapes = r->shape_count,
                            .mat = r->affine_mat != 0};
    for (int i = 0; i < in.shapes; i++)
        in.shape[i] = (clvox_pair_shape){cli_shape_kinds[r->shape[i].kind].option, r->shape[i].end,
                                         r->shape[i].moving, r->shape[i].number};
    return in;
}

static void find_ends(const cli_pair *p, clvox_end ends[CLVOX_PAIR_ENDS])
{
    const cli_register_request *r = &p->request;
    const bool asked[CLVOX_PAIR_FILES] = {[CLVOX_PAIR_WARPED] = r->fixed.count,
                                          [CLVOX_PAIR_POSTERIORS] = r->posteriors != NULL,
                                          [CLVOX_PAIR_LABELS] = r->labels != NULL,
                                          [CLVOX_PAIR_PICTURE] = !r->no_picture,
                                          [CLVOX_PAIR_PAGE] = r->report};
    clvox_pair_ends(&p->names, &p->work.options, asked, ends);
}

/* The files that will be written. */
static int claim(cli_pair *p)
{
    int status = CLVOX_OK;
    cli_register_request *r = &p->request;
    clvox_pair_names *n = &p->names;
    clvox_end ends[CLVOX_PAIR_ENDS];
    const clvox_pair_inputs inputs = cli_pair_inputs(r);
    CLI_TRY(clvox_pair_names_make(&inputs, n));
    if (r->derivatives)
        CLI_TRY(clvox_derivative_check(r->derivatives, r->moving.item[0]));
    find_ends(p, ends);
    if (r->derivatives) {
        CLI_TRY(cli_claim_files(p->cli, n->prefix, ends, n->end[CLVOX_PAIR_LOG]));
        status = cli_claim_folder(p->cli, r->derivatives, NULL, true); /* labels may have had another name */
        goto end;
    }
    CLI_TRY(cli_claim_prefix(p->cli, &r->prefix, ends));
    free(n->prefix); /* as it is meant */
    n->prefix = strdup(r->prefix);
    status = n->prefix ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
end:
    return status;
}

int cli_pair_load(cli_pair *p, bool device)
{
    const double mark = cli_seconds();
    const cli_register_request *r = &p->request;
    const clvox_pair_sources sources = sources_of(r);
    cli_input inputs[CLVOX_PAIR_INPUTS + 2];
    int count = clvox_pair_list(&p->work, &sources, inputs);
    inputs[count++] = (cli_input){r->fixed_posteriors, &p->fixed_posteriors, 0};
    inputs[count++] = (cli_input){r->moving_posteriors, &p->moving_posteriors, 0};
    const int status = cli_load(p->cli, inputs, count, NULL, NULL, device);
    p->work.read = cli_seconds() - mark;
    return status;
}

int cli_pair_read(cli_pair *p, bool device)
{
    const int status = claim(p);
    if (status < 0)
        return status;
    if (device)
        cli_pair_warm(p->cli, &p->request, &p->work.options);
    return cli_pair_load(p, device);
}

static clvox_pair_boundary boundary_of(const cli_register_request *r)
{
    return (clvox_pair_boundary){.file = r->boundary.item,
                                 .files = r->boundary.count,
                                 .label = r->boundary_labels,
                                 .labels = r->boundary_label_count,
                                 .contrast = (clvox_boundary_contrast)r->boundary_contrast,
                                 .lps = r->frames == CLI_FRAME_LPS};
}

/* Gathers the inputs as the library takes them. */
static int gather(cli_pair *p, clvox_register_images *images)
{
    int status = CLVOX_OK;
    const cli_register_request *r = &p->request;
    clvox_register_options *o = &p->work.options;
    const clvox_pair_sources sources = sources_of(r);
    const clvox_pair_boundary boundary = boundary_of(r);
    CLI_TRY(clvox_pair_gather(&p->work, &sources, images));
    CLI_TRY(clvox_pair_boundary_read(&p->work, &boundary));
    for (int i = 0; i < boundary.files; i++)
        clvox_input_note(p->cli->log, boundary.file[i], &(clvox_hearer){cli_hear, p->cli});
    const first_volumes first = first_of(p);
    if (r->posteriors) {
        status = clvox_posteriors_create(p->fixed_posteriors, p->moving_posteriors, &p->posteriors);
        CLI_TRY(status < 0 ? clvox_fail_in(status, r->posteriors) : status);
        cli_register_posteriors_plan(p->cli, &p->posteriors);
    }
    images->fixed_posteriors = p->posteriors.fixed;
    images->moving_posteriors = p->posteriors.moving;
    if (r->points)
        CLI_TRY(read_landmarks(r, &first, &p->fixed_points, &p->moving_points));
    images->fixed_points = p->fixed_points.points;
    images->moving_points = p->moving_points.points;
    images->points = p->fixed_points.count;
    for (int i = 0; i < r->shape_count; i++) {
        cli_shape *shape = &p->shapes[i];
        CLI_TRY(cli_shape_read(p->cli, &r->shape[i], r->frames, shape));
        p->fixed_shapes[i] = shape->side[0].shape;
        p->moving_shapes[i] = shape->side[1].shape;
        if (r->alone)
            continue;
        CLI_TRY(cli_shape_inside(p->cli, r->shape[i].fixed, p->fixed_shapes[i], &first.fixed->grid,
                                 first.of_fixed));
        CLI_TRY(cli_shape_inside(p->cli, r->shape[i].moving, p->moving_shapes[i], &first.moving->grid,
                                 first.of_moving));
    }
    images->fixed_shapes = p->fixed_shapes;
    images->moving_shapes = p->moving_shapes;
    images->shapes = r->shape_count;
    if (r->init_points)
        CLI_TRY(clvox_landmarks_fit(p->fixed_points.points, p->moving_points.points, p->fixed_points.count,
                                    o->linear, o->matrix));
    if (r->alone)
        CLI_TRY(cli_alone_place(p, images));
    const clvox_grid *grid = r->alone ? &p->grid : &first.fixed->grid;
    if (r->initial_warp) {
        CLI_TRY(cli_load(p->cli, NULL, 0, &(cli_texts){{r->initial_warp}, 1}, &p->start, true));
        CLI_TRY(
            clvox_pair_start(&p->work, p->cli->ctx, grid, p->start.link, p->start.count, r->initial_warp));
        images->initial_warp = p->work.initial;
    }
    const clvox_init init = o->init;
    CLI_TRY(cli_register_smoothing(r, grid, o));
    if (r->alone) { /* what was typed has been seen to */
        o->init = init;
        o->linear = CLVOX_LINEAR_NONE;
    }
end:
    return status;
}

int cli_pair_solve(cli_pair *p)
{
    int status = CLVOX_OK;
    command *cli = p->cli;
    cli_register_request *r = &p->request;
    clvox_register_options *o = &p->work.options;
    clvox_register_images images;
    clvox_end ends[CLVOX_PAIR_ENDS];
    const clvox_pair_boundary boundary = boundary_of(r);
    const double mark = cli_seconds();
    CLI_TRY(gather(p, &images));
    cli_register_log_options(cli, r, o);
    cli_register_remarks(cli, r, o);
    p->work.read += cli_seconds() - mark;
    CLI_TRY(cli_register_plan(cli, &images, o));
    if (r->dry_run) {
        find_ends(p, ends);
        cli_plan_files(cli, p->names.prefix, ends, cJSON_GetObjectItem(cli->log, "plan"));
        goto end;
    }
    cli_progress_begin(&p->progress, cli, o, &images);
    o->progress = cli_register_progress;
    o->user = &p->progress;
    status = clvox_pair_register(&p->work, cli->ctx, &images, &boundary);
    cli_bar_end(&p->progress.bar);
    if (status >= 0 && cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    CLI_TRY(status);
    const double solved = cli_seconds();
    CLI_TRY(prepare_outputs(p));
    p->work.write = cli_seconds() - solved;
end:
    return status;
}

static const char *first_name(const char *image, const char *posteriors, const char *shape,
                              const char *points)
{
    return image ? image : posteriors ? posteriors : shape ? shape : points;
}

static int write_page(cli_pair *p)
{
    const cli_register_request *r = &p->request;
    const clvox_pair_page page = {
        .fixed = first_name(r->fixed.item[0], r->fixed_posteriors, r->shape[0].fixed, r->fixed_points),
        .moving = first_name(r->moving.item[0], r->moving_posteriors, r->shape[0].moving, r->moving_points),
        .log = p->cli->log,
        .shapes = r->alone,
        .names = r->names};
    char path[PATH_MAX];
    const int status =
        clvox_pair_page_write(&p->work, &page, clvox_pair_path(&p->names, CLVOX_PAIR_PAGE, path));
    if (status >= 0)
        cli_log_output(p->cli, path);
    return status;
}

int cli_pair_save(cli_pair *p, bool close)
{
    int status = CLVOX_OK;
    command *cli = p->cli;
    clvox_pair_work *w = &p->work;
    char path[PATH_MAX];
    clvox_landmark_errors errors;
    const double mark = cli_seconds();
    CLI_TRY(cli_results_write(cli, &w->outputs, close));
    if (p->request.derivatives)
        CLI_TRY(clvox_derivative_describe(p->request.derivatives));
    w->write += cli_seconds() - mark;
    cli_register_report(cli, w);
    if (w->fixed[0] && w->moving[0])
        cli_register_slice(cli, &w->fixed[0]->grid, &w->moving[0]->grid, &w->result);
    if (p->request.posteriors)
        cli_register_posteriors(cli, &p->posteriors, &p->posteriors_errors, &w->options);
    if (p->request.points) {
        CLI_TRY(clvox_register_landmarks(&w->result, p->fixed_points.points, p->moving_points.points,
                                         p->fixed_points.count, &errors));
        cli_register_landmarks(cli, p->fixed_points.count, &errors, &w->options);
    }
    if (p->request.boundary.count)
        cli_register_boundary(cli, &w->boundary);
    cli_register_shapes(cli, p->shapes, p->request.shape_count, &w->options, &w->result);
    if (p->request.report)
        CLI_TRY(write_page(p));
    CLI_TRY(cli_profile(cli));
    CLI_TRY(cli_write_log(cli, clvox_pair_path(&p->names, CLVOX_PAIR_LOG, path)));
    status = cli_register_doubts(cli, &w->result, p->request.strict);
end:
    return status;
}

void cli_pair_free(cli_pair *p)
{
    clvox_pair_work_free(&p->work);
    cli_chain_free(&p->start);
    clvox_pair_names_free(&p->names);
    cli_points_free(&p->fixed_points);
    cli_points_free(&p->moving_points);
    for (int i = 0; i < CLVOX_MAX_SHAPES; i++)
        cli_shape_free(&p->shapes[i]);
    clvox_volume_destroy(&p->fixed_posteriors);
    clvox_volume_destroy(&p->moving_posteriors);
    clvox_posteriors_destroy(&p->posteriors);
    clvox_volume_destroy(&p->posteriors_errors.carried);
    clvox_volume_destroy(&p->expected[0]);
    clvox_volume_destroy(&p->expected[1]);
}
