/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/place.h"
#include "cli/points.h"
#include "cli/register_options.h"
#include "cli/register_report.h"
#include "io/png.h"
#include "register/register.h"
#include "report/figure.h"

/* What the picture shows. */
typedef struct picture {
    const clvox_volume *fixed, *warped, *labels, *log_jacobian, *mask;
} picture;

static int write_picture(const void *what, int how, const char *path)
{
    int status = CLVOX_OK;
    const picture *p = what;
    const clvox_volume *shown[5] = {p->fixed, p->warped, p->labels, p->log_jacobian, p->mask};
    clvox_volume *own[5] = {NULL};
    clv_raster raster = {.rgb = NULL};
    (void)how;
    /* It shows the world: what it cuts at does not hang on the storage either. */
    for (int i = 0; i < 5; i++) {
        clv_orientation o;
        if (!shown[i])
            continue;
        clv_orientation_of(&shown[i]->grid, &o);
        if (clv_orientation_same(&o))
            continue;
        CLV_TRY(clv_orientation_volume(shown[i], &o, NULL, &own[i]));
        shown[i] = own[i];
    }
    CLV_TRY(clv_figure_registration(shown[0], shown[1], shown[2], shown[3], shown[4], &raster));
    CLV_TRY(clv_png_write(path, raster.width, raster.height, raster.rgb));
end:
    clv_raster_free(&raster);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&own[i]);
    return status;
}

static int write_affine(const void *what, int how, const char *path)
{
    const clvox_register_result *result = what;
    return clvox_affine_write(CLV_MATRIX(result->matrix), (clvox_affine_form)how, path);
}

static int write_results(command *cli, const cli_register_request *r, const clvox_volume *fixed,
                         const clvox_volume *mask, const clvox_volume *labels,
                         const clvox_register_result *result)
{
    int status = CLVOX_OK;
    clvox_volume *carried = NULL, *log_jacobian = NULL;
    cli_outputs outputs = {.count = 0};
    picture shown = {.fixed = fixed, .warped = result->warped, .mask = mask};
    if (labels)
        CLV_TRY(clv_register_carry_labels(cli->ctx, labels, &fixed->grid, result, &carried));
    if (result->warp && !r->no_picture)
        CLV_TRY(clvox_jacobian(cli->ctx, result->warp, NULL, 1, &log_jacobian, NULL));
    shown.labels = carried;
    shown.log_jacobian = log_jacobian;
    if (!r->no_picture)
        CLV_TRY(cli_outputs_add(&outputs, write_picture, &shown, 0, r->prefix, ".png"));
    if (result->warp)
        CLV_TRY(cli_outputs_warp(&outputs, result->warp, r->prefix, "_warp.nii.gz"));
    if (result->inverse_warp)
        CLV_TRY(cli_outputs_warp(&outputs, result->inverse_warp, r->prefix, "_inverse_warp.nii.gz"));
    if (result->momentum)
        CLV_TRY(cli_outputs_warp(&outputs, result->momentum, r->prefix, "_momentum.nii.gz"));
    CLV_TRY(cli_outputs_volume(&outputs, result->warped, r->prefix, "_warped.nii.gz"));
    if (carried)
        CLV_TRY(cli_outputs_volume(&outputs, carried, r->prefix, "_labels.nii.gz"));
    CLV_TRY(cli_outputs_add(&outputs, write_affine, result, CLVOX_AFFINE_ITK, r->prefix, "_affine.txt"));
    CLV_TRY(cli_outputs_write(cli, &outputs, true));
end:
    cli_outputs_free(&outputs);
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&log_jacobian);
    return status;
}

static int read_initial_warp(command *cli, const char *path, clvox_transform **out)
{
    int status = path ? cli_read_link(cli, path, out) : CLVOX_OK;
    if (status >= 0 && *out && !(*out)->is_warp)
        status = clv_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine; --init takes it", path);
    return status;
}

/* Corresponding points, all of them inside of their images. */
static int read_landmarks(const cli_register_request *r, const clvox_register_images *images, cli_points *fixed,
                          cli_points *moving)
{
    int status = CLVOX_OK;
    CLV_TRY(cli_points_read(r->fixed_points, r->frames == 1, fixed));
    CLV_TRY(cli_points_read(r->moving_points, r->frames == 1, moving));
    if (fixed->count != moving->count || !fixed->count) {
        status = clv_fail(CLVOX_ERROR_DATA, "%s has %d points and %s %d; landmarks correspond row by row",
                          r->fixed_points, fixed->count, r->moving_points, moving->count);
        goto end;
    }
    CLV_TRY(cli_points_inside(r->fixed_points, fixed, &images->fixed[0]->grid, r->fixed.item[0]));
    CLV_TRY(cli_points_inside(r->moving_points, moving, &images->moving[0]->grid, r->moving.item[0]));
end:
    return status;
}

/* NULL for no mask by its word. */
static const char *file_of(const char *mask)
{
    return mask && !strcmp(mask, "none") ? NULL : mask;
}

static int run(command *cli, cli_register_request *r, clvox_register_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const bool deforms = o->deform != CLVOX_DEFORM_NONE;
    const cli_end ends[] = {{"_affine.txt", true},
                            {"_warp.nii.gz", deforms},
                            {"_inverse_warp.nii.gz", deforms && o->inverse},
                            {"_momentum.nii.gz", o->deform == CLVOX_DEFORM_SHOOTING},
                            {"_warped.nii.gz", true},
                            {"_labels.nii.gz", r->labels != NULL},
                            {".png", !r->no_picture},
                            {".json", true},
                            {0}};
    clvox_volume *fixed[CLVOX_MAX_CHANNELS] = {0}, *moving[CLVOX_MAX_CHANNELS] = {0};
    clvox_volume *fixed_mask = NULL, *moving_mask = NULL, *labels = NULL;
    clvox_volume *linear_fixed_mask = NULL, *linear_moving_mask = NULL;
    clvox_register_images images = {.channels = r->fixed.count};
    clvox_register_result result = {.warp = NULL};
    cli_points fixed_points = {.count = 0}, moving_points = {.count = 0};
    clvox_landmark_errors errors;
    cli_progress progress;
    cli_stages stages = {0};
    clvox_transform *initial = NULL;
    cli_input inputs[2 * CLVOX_MAX_CHANNELS + 5];
    int count = 0;
    double mark = clv_seconds();
    CLV_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    snprintf(path, sizeof path, "%s.json", r->prefix);
    for (int i = 0; i < images.channels; i++) {
        inputs[count++] = (cli_input){r->fixed.item[i], &fixed[i], 0};
        inputs[count++] = (cli_input){r->moving.item[i], &moving[i], 0};
    }
    inputs[count++] = (cli_input){r->fixed_mask, &fixed_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){r->moving_mask, &moving_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){file_of(r->linear_fixed_mask), &linear_fixed_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){file_of(r->linear_moving_mask), &linear_moving_mask, CLI_AS_MASK};
    inputs[count++] = (cli_input){r->labels, &labels, CLI_AS_LABELS};
    CLV_TRY(cli_load(cli, inputs, count, NULL, NULL, true));
    for (int i = 0; i < images.channels; i++) {
        images.fixed[i] = fixed[i];
        images.moving[i] = moving[i];
        images.weight[i] = r->weight[i];
    }
    images.fixed_mask = fixed_mask;
    images.moving_mask = moving_mask;
    images.linear_masks = r->linear_fixed_mask || r->linear_moving_mask;
    if (images.linear_masks) {
        images.linear_fixed_mask = r->linear_fixed_mask ? linear_fixed_mask : fixed_mask;
        images.linear_moving_mask = r->linear_moving_mask ? linear_moving_mask : moving_mask;
    }
    if (r->points)
        CLV_TRY(read_landmarks(r, &images, &fixed_points, &moving_points));
    images.fixed_points = fixed_points.points;
    images.moving_points = moving_points.points;
    images.points = fixed_points.count;
    if (r->init_points)
        CLV_TRY(clvox_landmarks_fit(fixed_points.points, moving_points.points, fixed_points.count, o->linear,
                                    o->matrix));
    CLV_TRY(read_initial_warp(cli, r->initial_warp, &initial));
    images.initial_warp = initial ? initial->warp : NULL;
    CLV_TRY(cli_register_smoothing(r, &fixed[0]->grid, o));
    cli_register_log_options(cli, r, o);
    cli_register_remarks(cli, r, o);
    stages.read = clv_seconds() - mark;
    cli_register_plan(cli, &images, o);
    if (r->dry_run) {
        cli_plan_files(cli, r->prefix, ends, cJSON_GetObjectItem(cli->log, "plan"));
        goto end;
    }
    cli_progress_begin(&progress, cli, o);
    o->progress = cli_register_progress;
    o->user = &progress;
    status = clvox_register(cli->ctx, &images, o, &result);
    cli_bar_end(&progress.bar);
    if (status >= 0 && cli_interrupted())
        status = clv_fail(CLVOX_ERROR_STOPPED, "interrupted");
    if (status < 0)
        goto end;

    mark = clv_seconds();
    CLV_TRY(write_results(cli, r, fixed[0], fixed_mask, labels, &result));
    stages.write = clv_seconds() - mark;
    cli_register_report(cli, o, &result, &stages);
    if (r->points) {
        CLV_TRY(clvox_register_landmarks(&result, fixed_points.points, moving_points.points, fixed_points.count, &errors));
        cli_register_landmarks(cli, fixed_points.count, &errors, o);
    }
    CLV_TRY(cli_profile(cli));
    CLV_TRY(cli_write_log(cli, path));
    status = cli_register_doubts(cli, &result, r->strict);
end:
    if (r->dry_run)
        clv_place_remove_folders();
    cli_points_free(&fixed_points);
    cli_points_free(&moving_points);
    clvox_register_result_free(&result);
    clvox_transform_destroy(&initial);
    for (int i = 0; i < images.channels; i++) {
        clvox_volume_destroy(&fixed[i]);
        clvox_volume_destroy(&moving[i]);
    }
    clvox_volume_destroy(&fixed_mask);
    clvox_volume_destroy(&moving_mask);
    clvox_volume_destroy(&linear_fixed_mask);
    clvox_volume_destroy(&linear_moving_mask);
    clvox_volume_destroy(&labels);
    return status;
}

int cmd_register(command *cli, int argc, char **argv)
{
    cli_register_request r;
    clvox_register_options o;
    if (cli_is_series(argc, argv))
        return cmd_register_series(cli, argc, argv);
    int status = cli_register_parse(cli, argc, argv, &r, &o);
    status = status ? status : run(cli, &r, &o);
    free(r.fixed_points);
    free(r.moving_points);
    return status;
}
