/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/parallel.h"
#include "cli/register_options.h"
#include "cli/register_report.h"
#include "io/png.h"
#include "pipeline/figure.h"

/* The files of a result, written side by side: the picture and the tails of
 * compression keep one thread busy each. */
typedef enum job_kind { JOB_AFFINE, JOB_WARP, JOB_VOLUME, JOB_PICTURE } job_kind;

typedef struct job {
    job_kind kind;
    char path[PATH_MAX];
    const clvox_volume *volume;
} job;

typedef struct output {
    job jobs[6];
    int count;
    const char *prefix;
    const clvox_register_result *result;
    const clvox_volume *fixed, *mask, *labels, *log_jacobian;
} output;

static int add_job(output *o, job_kind kind, const char *end, const clvox_volume *volume)
{
    job *j = &o->jobs[o->count++];
    j->kind = kind;
    j->volume = volume;
    if ((size_t)snprintf(j->path, sizeof j->path, "%s%s", o->prefix, end) >= sizeof j->path)
        return clv_fail(CLVOX_ERROR_FILE, "%s: the name is too long", o->prefix);
    return CLVOX_OK;
}

static int write_job(void *user, size_t index, int worker)
{
    const output *o = user;
    const job *j = &o->jobs[index];
    clv_raster raster = {.rgb = NULL};
    int status = CLVOX_OK;
    (void)worker;
    switch (j->kind) {
    case JOB_AFFINE:
        return clvox_affine_write(CLV_MATRIX(o->result->matrix), CLVOX_AFFINE_ITK, j->path);
    case JOB_WARP:
        return clvox_warp_write(j->volume, j->path);
    case JOB_VOLUME:
        return clvox_volume_write(j->volume, j->path);
    case JOB_PICTURE:
        status = clv_figure_registration(o->fixed, o->result->warped, o->labels, o->log_jacobian, o->mask,
                                         &raster);
        if (status >= 0)
            status = clv_png_write(j->path, raster.width, raster.height, raster.rgb);
        clv_raster_free(&raster);
        break;
    }
    return status;
}

static int carry_labels(command *cli, const clvox_volume *labels, const clvox_grid *grid,
                        const clvox_register_result *result, clvox_volume **out)
{
    clvox_transform affine = {.is_warp = 0}, warp = {.is_warp = 1, .warp = result->warp};
    clvox_link links[2];
    int count = 0;
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    if (result->warp)
        links[count++] = (clvox_link){&warp, 0};
    links[count++] = (clvox_link){&affine, 0};
    return clvox_apply(cli->ctx, labels, grid, links, count, CLVOX_INTERPOLATE_LABEL, 0, out);
}

static int write_results(command *cli, const cli_register_request *r, const clvox_volume *fixed,
                         const clvox_volume *mask, const clvox_volume *labels,
                         const clvox_register_result *result)
{
    int status = CLVOX_OK;
    clvox_volume *carried = NULL, *log_jacobian = NULL;
    output *o = calloc(1, sizeof *o);
    if (!o)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    o->prefix = r->prefix;
    o->result = result;
    o->fixed = fixed;
    o->mask = mask;
    if (labels)
        CLV_TRY(carry_labels(cli, labels, &fixed->grid, result, &carried));
    o->labels = carried;
    if (result->warp && !r->no_picture)
        CLV_TRY(clvox_jacobian(cli->ctx, result->warp, NULL, 1, &log_jacobian, NULL));
    o->log_jacobian = log_jacobian;
    if (!r->no_picture)
        CLV_TRY(add_job(o, JOB_PICTURE, ".png", NULL));
    if (result->warp)
        CLV_TRY(add_job(o, JOB_WARP, "_warp.nii.gz", result->warp));
    if (result->inverse_warp)
        CLV_TRY(add_job(o, JOB_WARP, "_inverse_warp.nii.gz", result->inverse_warp));
    CLV_TRY(add_job(o, JOB_VOLUME, "_warped.nii.gz", result->warped));
    if (carried)
        CLV_TRY(add_job(o, JOB_VOLUME, "_labels.nii.gz", carried));
    CLV_TRY(add_job(o, JOB_AFFINE, "_affine.txt", NULL));
    CLV_TRY(clv_parallel((size_t)o->count, write_job, o));
    for (int i = 0; i < o->count; i++)
        cli_log_output(cli, o->jobs[i].path);
end:
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&log_jacobian);
    free(o);
    return status;
}

static int run(command *cli, const cli_register_request *r, clvox_register_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clvox_volume *fixed[CLVOX_MAX_CHANNELS] = {0}, *moving[CLVOX_MAX_CHANNELS] = {0};
    clvox_volume *fixed_mask = NULL, *moving_mask = NULL, *labels = NULL;
    clvox_register_images images = {.channels = r->fixed.count};
    clvox_register_result result = {.warp = NULL};
    cli_progress progress;
    cli_stages stages = {0};
    cli_input inputs[2 * CLVOX_MAX_CHANNELS + 3];
    int count = 0;
    double mark = cli_seconds();
    CLV_TRY(cli_check_folder(r->prefix));
    if ((size_t)snprintf(path, sizeof path, "%s.json", r->prefix) + 32 >= sizeof path)
        return clv_fail(CLVOX_ERROR_FILE, "%s: the name is too long", r->prefix);
    for (int i = 0; i < images.channels; i++) {
        inputs[count++] = (cli_input){r->fixed.item[i], &fixed[i], false};
        inputs[count++] = (cli_input){r->moving.item[i], &moving[i], false};
    }
    inputs[count++] = (cli_input){r->fixed_mask, &fixed_mask, true};
    inputs[count++] = (cli_input){r->moving_mask, &moving_mask, true};
    inputs[count++] = (cli_input){r->labels, &labels, false};
    CLV_TRY(cli_load(cli, inputs, count, NULL, NULL, true));
    for (int i = 0; i < images.channels; i++) {
        images.fixed[i] = fixed[i];
        images.moving[i] = moving[i];
        images.weight[i] = r->weight[i];
    }
    images.fixed_mask = fixed_mask;
    images.moving_mask = moving_mask;
    CLV_TRY(cli_register_smoothing(r, &fixed[0]->grid, o));
    cli_register_log_options(cli, r, o);
    cli_register_remarks(cli, r, o);
    stages.read = cli_seconds() - mark;
    cli_register_plan(cli, &images, o);
    cli_progress_begin(&progress, cli, o);
    o->progress = cli_register_progress;
    o->user = &progress;
    status = clvox_register(cli->ctx, &images, o, &result);
    cli_bar_end(&progress.bar);
    if (status >= 0 && cli_interrupted())
        status = clv_fail(CLVOX_ERROR_STOPPED, "interrupted");
    if (status < 0)
        goto end;

    mark = cli_seconds();
    CLV_TRY(write_results(cli, r, fixed[0], fixed_mask, labels, &result));
    stages.write = cli_seconds() - mark;
    cli_register_report(cli, o, &result, &stages);
    CLV_TRY(cli_profile(cli));
    CLV_TRY(cli_write_log(cli, path));
    status = cli_register_doubts(cli, &result, r->strict);
end:
    clvox_register_result_free(&result);
    for (int i = 0; i < images.channels; i++) {
        clvox_volume_destroy(&fixed[i]);
        clvox_volume_destroy(&moving[i]);
    }
    clvox_volume_destroy(&fixed_mask);
    clvox_volume_destroy(&moving_mask);
    clvox_volume_destroy(&labels);
    return status;
}

int cmd_register(command *cli, int argc, char **argv)
{
    cli_register_request r;
    clvox_register_options o;
    int status = cli_register_parse(cli, argc, argv, &r, &o);
    return status ? status : run(cli, &r, &o);
}
