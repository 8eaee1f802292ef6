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
    const clvox_volume *fixed = p->posteriors.fixed, *mask = p->fixed_mask;
    if (mask && !clvox_grid_equal(&mask->grid, &fixed->grid))
        mask = NULL;
    CLI_TRY(clvox_register_posteriors(p->cli->ctx, &p->result, &p->options, fixed, p->posteriors.moving, mask,
                                      &p->posteriors_errors));
    if (p->fixed[0] || (p->request.no_picture && !p->request.report))
        goto end;
    CLI_TRY(expect(fixed, &p->expected[0]));
    CLI_TRY(expect(p->posteriors_errors.carried, &p->expected[1]));
    p->shown.fixed = p->expected[0];
    p->shown.warped = p->expected[1];
end:
    return status;
}

/* For the page all of it; for the picture what it shows, once it is written, if its planes are the warp's. */
static int find_log_jacobian(cli_pair *p)
{
    const clvox_volume *warp = p->result.warp, *fixed = p->fixed[0];
    if (p->request.report || p->request.alone || !fixed || !clvox_grid_equal(&warp->grid, &fixed->grid))
        return clvox_jacobian(p->cli->ctx, warp, NULL, 1, &p->log_jacobian, NULL);
    p->shown.warp = warp;
    return CLVOX_OK;
}

/* Writing no longer needs the device. */
static int prepare_outputs(cli_pair *p)
{
    int status = CLVOX_OK;
    command *cli = p->cli;
    const cli_register_request *r = &p->request;
    const clvox_register_result *result = &p->result;
    const clvox_pair_inputs inputs = cli_pair_inputs(r);
    clvox_results *o = &p->outputs;
    const char *prefix = p->names.prefix;
    char *const *end = p->names.end;
    p->shown = (clvox_pair_picture){.fixed = p->fixed[0], .warped = result->warped, .mask = p->fixed_mask};
    if (r->posteriors)
        CLI_TRY(compare_posteriors(p));
    if (p->labels)
        CLI_TRY(clvox_register_labels(cli->ctx, p->labels, &result->grid, result, &p->carried));
    if (result->warp && (!r->no_picture || r->report))
        CLI_TRY(find_log_jacobian(p));
    p->shown.labels = p->carried;
    p->shown.log_jacobian = p->log_jacobian;
    for (int i = 0; i < r->shape_count; i++)
        CLI_TRY(clvox_register_shape(cli->ctx, result, &p->options, p->fixed_shapes[i], p->moving_shapes[i],
                                     &p->shapes[i].errors));
    if (r->alone && (!r->no_picture || r->report))
        CLI_TRY(cli_alone_draw(p));
    CLI_TRY(clvox_pair_results(&p->names, result, r->no_picture ? NULL : &p->shown, p->carried, o));
    if (r->posteriors)
        CLI_TRY(clvox_results_volume(o, p->posteriors_errors.carried, prefix, end[CLVOX_PAIR_POSTERIORS]));
    for (int i = 0; i < r->shape_count; i++)
        CLI_TRY(clvox_results_add(o, cli_shape_write, &p->shapes[i], 0, prefix, end[CLVOX_PAIR_FILES + i]));
    if (r->derivatives)
        CLI_TRY(clvox_pair_sidecars(&p->names, &inputs, result, o, p->sidecar));
end:
    return status;
}

static int read_initial_warp(command *cli, const char *path, clvox_transform **out)
{
    int status = path ? cli_read_link(cli, path, out) : CLVOX_OK;
    if (status >= 0 && *out && !(*out)->is_warp)
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine; --init takes it", path);
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
    if (!p->fixed[0])
        return (first_volumes){p->fixed_posteriors, p->moving_posteriors, r->fixed_posteriors,
                               r->moving_posteriors};
    return (first_volumes){p->fixed[0], p->moving[0], r->fixed.item[0], r->moving.item[0]};
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

/* NULL for no mask by its word. */
static const char *file_of(const char *mask)
{
    return mask && !strcmp(mask, "none") ? NULL : mask;
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
    clvox_pair_ends(&p->names, &p->options, asked, ends);
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
    int status = CLVOX_OK, count = 0;
    const double mark = cli_seconds();
    cli_register_request *r = &p->request;
    cli_input inputs[2 * CLVOX_MAX_CHANNELS + 2 * CLVOX_MAX_LEVELS + 7];
    for (int i = 0; i < r->fixed.count; i++) {
        inputs[count++] = (cli_input){r->fixed.item[i], &p->fixed[i], 0};
        inputs[count++] = (cli_input){r->moving.item[i], &p->moving[i], 0};
    }
    inputs[count++] = (cli_input){r->fixed_mask, &p->fixed_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){r->moving_mask, &p->moving_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){file_of(r->linear_fixed_mask), &p->linear_fixed_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){file_of(r->linear_moving_mask), &p->linear_moving_mask, CLI_AS_MASK};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < r->level_masks[i].count; k++)
            inputs[count++] =
                (cli_input){file_of(r->level_masks[i].item[k]), &p->level_mask[i][k], CLI_AS_MASK};
    inputs[count++] = (cli_input){r->labels, &p->labels, CLI_AS_LABELS};
    inputs[count++] = (cli_input){r->fixed_posteriors, &p->fixed_posteriors, 0};
    inputs[count++] = (cli_input){r->moving_posteriors, &p->moving_posteriors, 0};
    CLI_TRY(cli_load(p->cli, inputs, count, NULL, NULL, device));
    p->stages.read = cli_seconds() - mark;
end:
    return status;
}

int cli_pair_read(cli_pair *p, bool device)
{
    const int status = claim(p);
    if (status < 0)
        return status;
    if (device)
        cli_pair_warm(p->cli, &p->request, &p->options);
    return cli_pair_load(p, device);
}

/* A series is no image: said before there is a plan. */
static int refuse_series(const char *path, const clvox_volume *image)
{
    if (!image || image->frames == 1)
        return CLVOX_OK;
    return clvox_fail(
        CLVOX_ERROR_DATA,
        "%s: has %d volumes, and one is registered: take one by `clvox apply -i %s -r %s --frame 0 -o "
        "ONE.nii.gz`; motion between them is corrected by `clvox series`",
        path, image->frames, path, path);
}

/* Gathers the inputs as the library takes them. */
static int gather(cli_pair *p, clvox_register_images *images)
{
    int status = CLVOX_OK;
    const cli_register_request *r = &p->request;
    clvox_register_options *o = &p->options;
    *images = (clvox_register_images){.channels = r->fixed.count};
    for (int i = 0; i < images->channels; i++) {
        CLI_TRY(refuse_series(r->fixed.item[i], p->fixed[i]));
        CLI_TRY(refuse_series(r->moving.item[i], p->moving[i]));
        images->fixed[i] = p->fixed[i];
        images->moving[i] = p->moving[i];
        images->weight[i] = r->weight[i];
    }
    images->fixed_mask = p->fixed_mask;
    images->moving_mask = p->moving_mask;
    images->linear_masks = r->linear_fixed_mask || r->linear_moving_mask;
    if (images->linear_masks) {
        images->linear_fixed_mask = r->linear_fixed_mask ? p->linear_fixed_mask : p->fixed_mask;
        images->linear_moving_mask = r->linear_moving_mask ? p->linear_moving_mask : p->moving_mask;
    }
    images->level_masks = r->level_masks[0].count || r->level_masks[1].count;
    for (int k = 0; k < o->levels && images->level_masks; k++) {
        images->level_fixed_mask[k] = r->level_masks[0].count ? p->level_mask[0][k] : p->fixed_mask;
        images->level_moving_mask[k] = r->level_masks[1].count ? p->level_mask[1][k] : p->moving_mask;
    }
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
    CLI_TRY(read_initial_warp(p->cli, r->initial_warp, &p->initial));
    images->initial_warp = p->initial ? p->initial->warp : NULL;
    if (r->alone)
        CLI_TRY(cli_alone_place(p, images));
    const clvox_init init = o->init;
    CLI_TRY(cli_register_smoothing(r, r->alone ? &p->grid : &first.fixed->grid, o));
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
    clvox_register_options *o = &p->options;
    clvox_register_images images;
    clvox_end ends[CLVOX_PAIR_ENDS];
    const double mark = cli_seconds();
    CLI_TRY(gather(p, &images));
    cli_register_log_options(cli, r, o);
    cli_register_remarks(cli, r, o);
    p->stages.read += cli_seconds() - mark;
    CLI_TRY(cli_register_plan(cli, &images, o));
    if (r->dry_run) {
        find_ends(p, ends);
        cli_plan_files(cli, p->names.prefix, ends, cJSON_GetObjectItem(cli->log, "plan"));
        goto end;
    }
    cli_progress_begin(&p->progress, cli, o, &images);
    o->progress = cli_register_progress;
    o->user = &p->progress;
    status = clvox_register(cli->ctx, &images, o, &p->result);
    cli_bar_end(&p->progress.bar);
    if (status >= 0 && cli_interrupted())
        status = clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    CLI_TRY(status);
    const double solved = cli_seconds();
    CLI_TRY(prepare_outputs(p));
    p->stages.write = cli_seconds() - solved;
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
        .picture = &p->shown,
        .log_jacobian = p->log_jacobian,
        .options = &p->options,
        .result = &p->result,
        .log = p->cli->log,
        .shapes = r->alone};
    char path[PATH_MAX];
    const int status = clvox_pair_page_write(&page, clvox_pair_path(&p->names, CLVOX_PAIR_PAGE, path));
    if (status >= 0)
        cli_log_output(p->cli, path);
    return status;
}

int cli_pair_save(cli_pair *p, bool close)
{
    int status = CLVOX_OK;
    command *cli = p->cli;
    char path[PATH_MAX];
    clvox_landmark_errors errors;
    const double mark = cli_seconds();
    CLI_TRY(cli_results_write(cli, &p->outputs, close));
    if (p->request.derivatives)
        CLI_TRY(clvox_derivative_describe(p->request.derivatives));
    p->stages.write += cli_seconds() - mark;
    cli_register_report(cli, &p->options, &p->result, &p->stages);
    if (p->fixed[0] && p->moving[0])
        cli_register_slice(cli, &p->fixed[0]->grid, &p->moving[0]->grid, &p->result);
    if (p->request.posteriors)
        cli_register_posteriors(cli, &p->posteriors, &p->posteriors_errors, &p->options);
    if (p->request.points) {
        CLI_TRY(clvox_register_landmarks(&p->result, p->fixed_points.points, p->moving_points.points,
                                         p->fixed_points.count, &errors));
        cli_register_landmarks(cli, p->fixed_points.count, &errors, &p->options);
    }
    cli_register_shapes(cli, p->shapes, p->request.shape_count, &p->options, &p->result);
    if (p->request.report)
        CLI_TRY(write_page(p));
    CLI_TRY(cli_profile(cli));
    CLI_TRY(cli_write_log(cli, clvox_pair_path(&p->names, CLVOX_PAIR_LOG, path)));
    status = cli_register_doubts(cli, &p->result, p->request.strict);
end:
    return status;
}

void cli_pair_free(cli_pair *p)
{
    clvox_results_free(&p->outputs);
    clvox_pair_names_free(&p->names);
    for (int i = 0; i < CLVOX_PAIR_NAMES; i++)
        cJSON_Delete(p->sidecar[i]);
    cli_points_free(&p->fixed_points);
    cli_points_free(&p->moving_points);
    for (int i = 0; i < CLVOX_MAX_SHAPES; i++)
        cli_shape_free(&p->shapes[i]);
    clvox_register_result_destroy(&p->result);
    clvox_transform_destroy(&p->initial);
    for (int i = 0; i < CLVOX_MAX_CHANNELS; i++) {
        clvox_volume_destroy(&p->fixed[i]);
        clvox_volume_destroy(&p->moving[i]);
    }
    clvox_volume_destroy(&p->fixed_mask);
    clvox_volume_destroy(&p->moving_mask);
    clvox_volume_destroy(&p->linear_fixed_mask);
    clvox_volume_destroy(&p->linear_moving_mask);
    for (int i = 0; i < 2 * CLVOX_MAX_LEVELS; i++)
        clvox_volume_destroy(&p->level_mask[i / CLVOX_MAX_LEVELS][i % CLVOX_MAX_LEVELS]);
    clvox_volume_destroy(&p->labels);
    clvox_volume_destroy(&p->carried);
    clvox_volume_destroy(&p->log_jacobian);
    clvox_volume_destroy(&p->fixed_posteriors);
    clvox_volume_destroy(&p->moving_posteriors);
    clvox_posteriors_destroy(&p->posteriors);
    clvox_volume_destroy(&p->posteriors_errors.carried);
    clvox_volume_destroy(&p->expected[0]);
    clvox_volume_destroy(&p->expected[1]);
}
