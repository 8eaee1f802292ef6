/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/matrix.h"
#include "base/parallel.h"
#include "cli/register_report.h"
#include "io/png.h"
#include "pipeline/figure.h"

/* The options as typed, before they are checked. */
typedef struct request {
    cli_texts fixed, moving;
    const char *prefix, *init, *metric, *deform;
    cli_texts weights;
    const char *fixed_mask, *moving_mask, *labels;
    int linear, kernel;
    cli_numbers shrink, iterations, smooth, update_sigma, step;
    double lambda, tolerance;
    bool inverse, no_picture;
} request;

/* ---- options ------------------------------------------------------------ */

static int read_init(command *cli, const char *text, clvox_register_options *o)
{
    static const char *const words[] = {"auto", "identity", "header", "centers", "moments"};
    static const clvox_init values[] = {CLVOX_INIT_AUTO, CLVOX_INIT_IDENTITY, CLVOX_INIT_HEADER,
                                        CLVOX_INIT_CENTERS, CLVOX_INIT_MOMENTS};
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, words[i])) {
            o->init = values[i];
            return CLVOX_OK;
        }
    if (access(text, F_OK) != 0)
        return cli_misuse("--init %s: neither a file nor one of auto, identity, header, centers and moments",
                          text);
    clvox_transform *transform = NULL;
    int status = cli_read_transform(cli, text, &transform);
    if (status < 0)
        return status;
    if (transform->is_warp)
        status = clv_fail(CLVOX_ERROR_ARGUMENT, "%s: is a warp; --init takes an affine", text);
    else
        clv_matrix_copy(CLV_MATRIX(transform->matrix), o->matrix);
    o->init = CLVOX_INIT_MATRIX;
    clvox_transform_destroy(&transform);
    return status;
}

static int read_models(const request *r, clvox_register_options *o)
{
    if (!strcmp(r->deform, "none"))
        o->deform = CLVOX_DEFORM_NONE;
    else if (!strcmp(r->deform, "unbiased"))
        o->deform = CLVOX_DEFORM_UNBIASED;
    else
        return cli_misuse("--deform %s: not in this version; the choices are none and unbiased", r->deform);
    if (!strcmp(r->metric, "ssd"))
        o->metric = CLVOX_METRIC_SSD;
    else if (!strcmp(r->metric, "ncc"))
        o->metric = CLVOX_METRIC_NCC;
    else if (strchr(r->metric, ','))
        return cli_misuse("--metric %s: only the deformation has a metric to choose; give ssd or ncc",
                          r->metric);
    else
        return cli_misuse("--metric %s: not in this version; the choices are ssd and ncc", r->metric);
    return CLVOX_OK;
}

/* One length in voxels; mm would differ from level to level. */
static int read_voxels(const cli_numbers *numbers, const char *name, double *out)
{
    if (!numbers->count)
        return CLVOX_OK;
    if (numbers->count != 1 || numbers->unit == CLI_UNIT_MM || numbers->value[0] < 0)
        return cli_misuse("--%s: one length in voxels of the level, as 1.7vox", name);
    *out = numbers->value[0];
    return CLVOX_OK;
}

static int read_levels(const request *r, clvox_register_options *o)
{
    if (r->shrink.count || r->iterations.count || r->smooth.count) {
        int levels = r->shrink.count       ? r->shrink.count
                     : r->iterations.count ? r->iterations.count
                                           : r->smooth.count;
        if (levels > CLVOX_MAX_LEVELS)
            return cli_misuse("%d levels; at most %d are possible", levels, CLVOX_MAX_LEVELS);
        if ((r->iterations.count && r->iterations.count != levels) ||
            (r->smooth.count && r->smooth.count != levels))
            return cli_misuse("--shrink, --iterations and --smooth differ in their number of levels");
        o->levels = levels;
        /* What is not given follows the defaults, counted from the finest. */
        for (int i = 0; i < levels; i++) {
            o->shrink[i] = ldexp(1, levels - 1 - i);
            o->iterations[i] = i + 1 < levels ? 100 : 50;
        }
    }
    if (r->shrink.unit != CLI_UNIT_NONE || r->iterations.unit != CLI_UNIT_NONE)
        return cli_misuse("--shrink and --iterations are plain numbers, as 4x2x1 and 100x50x25");
    for (int i = 0; i < r->shrink.count; i++) {
        o->shrink[i] = r->shrink.value[i];
        if (!(o->shrink[i] >= 1))
            return cli_misuse("--shrink: %g is below 1", o->shrink[i]);
    }
    for (int i = 0; i < r->iterations.count; i++) {
        double n = r->iterations.value[i];
        if (!(n >= 0 && n <= 1e6) || n != floor(n))
            return cli_misuse("--iterations: %g is not a whole number from 0 to 1000000", n);
        o->iterations[i] = (int)n;
    }
    return CLVOX_OK;
}

/* As many fixed as moving images, and a weight for each or none. */
static int check_channels(const request *r)
{
    double sum = 0;
    if (r->fixed.count != r->moving.count)
        return cli_misuse("%d fixed and %d moving images; a channel is one of each", r->fixed.count,
                          r->moving.count);
    if (r->fixed.count > CLVOX_MAX_CHANNELS)
        return cli_misuse("%d channels; at most %d are possible", r->fixed.count, CLVOX_MAX_CHANNELS);
    if (r->weights.count && r->weights.count != r->fixed.count)
        return cli_misuse("%d weights for %d channels; give --weight once for each or not at all",
                          r->weights.count, r->fixed.count);
    for (int i = 0; i < r->weights.count; i++) {
        char *end;
        double w = strtod(r->weights.item[i], &end);
        if (*end || !(w >= 0) || !isfinite(w))
            return cli_misuse("--weight %s: not a number of at least 0", r->weights.item[i]);
        sum += w;
    }
    if (r->weights.count && !(sum > 0))
        return cli_misuse("--weight: at least one must be above 0");
    return CLVOX_OK;
}

static int read_options(command *cli, const request *r, clvox_register_options *o)
{
    static const clvox_force forces[] = {CLVOX_FORCE_AUTO, CLVOX_FORCE_RECOMPUTE, CLVOX_FORCE_REUSE,
                                         CLVOX_FORCE_CAPPED, CLVOX_FORCE_TWOPASS};
    int status = CLVOX_OK;
    CLV_TRY(read_models(r, o));
    CLV_TRY(read_levels(r, o));
    CLV_TRY(read_voxels(&r->update_sigma, "update-sigma", &o->update_sigma));
    CLV_TRY(read_voxels(&r->step, "step", &o->step));
    o->linear = (clvox_linear)r->linear;
    o->force = forces[r->kernel];
    o->lambda = r->lambda;
    o->tolerance = r->tolerance;
    o->inverse = r->inverse;
    if (!(o->step > 0))
        return cli_misuse("--step: must be above 0");
    if (!(o->lambda >= 0))
        return cli_misuse("--lambda %g: must not be negative", o->lambda);
    if (!(o->tolerance >= 0))
        return cli_misuse("--tolerance %g: must not be negative", o->tolerance);
    status = read_init(cli, r->init, o);
end:
    return status;
}

/* Widths in mm become voxels of the fixed grid, as the library counts them. */
static int read_smoothing(const request *r, const clvox_grid *fixed, clvox_register_options *o)
{
    double edge[3];
    clvox_grid_spacing(fixed, edge);
    for (int i = 0; i < r->smooth.count; i++) {
        if (!(r->smooth.value[i] >= 0))
            return cli_misuse("--smooth: %g is negative", r->smooth.value[i]);
        o->smooth_voxels[i] = r->smooth.value[i];
        if (r->smooth.unit == CLI_UNIT_MM)
            o->smooth_voxels[i] /= cbrt(edge[0] * edge[1] * edge[2]);
    }
    return CLVOX_OK;
}

/* Says which options have no effect beside the others. */
static void remark_unused(const command *cli, const request *r, const clvox_register_options *o)
{
    const bool by_moments = o->init == CLVOX_INIT_AUTO || o->init == CLVOX_INIT_MOMENTS;
    if (!by_moments && o->linear != CLVOX_LINEAR_AFFINE && o->linear != CLVOX_LINEAR_NONE)
        cli_remark(cli, 0, "--linear has no effect with --init %s, which is used as it is\n", r->init);
    if (o->deform == CLVOX_DEFORM_NONE &&
        (r->inverse || r->kernel || r->shrink.count || r->iterations.count || r->smooth.count ||
         r->update_sigma.count || r->step.count || o->metric != CLVOX_METRIC_SSD))
        cli_remark(cli, 0, "the options of the deformation have no effect with --deform none\n");
}

static void log_options(command *cli, const clvox_register_options *o)
{
    static const char *const inits[] = {"auto", "identity", "header", "centers", "moments", "matrix"};
    static const char *const linears[] = {"none", "translation", "rigid", "similarity", "affine"};
    static const char *const forces[] = {"auto", "recompute", "reuse", "capped", "twopass"};
    cJSON *to = cJSON_AddObjectToObject(cli->log, "options");
    cJSON_AddStringToObject(to, "init", inits[o->init]);
    cJSON_AddStringToObject(to, "linear", linears[o->linear]);
    cJSON_AddStringToObject(to, "deform", o->deform == CLVOX_DEFORM_NONE ? "none" : "unbiased");
    cJSON_AddStringToObject(to, "metric", o->metric == CLVOX_METRIC_SSD ? "ssd" : "ncc");
    cJSON_AddStringToObject(to, "kernel", forces[o->force]);
    cJSON_AddItemToObject(to, "shrink", cJSON_CreateDoubleArray(o->shrink, o->levels));
    cJSON_AddItemToObject(to, "iterations", cJSON_CreateIntArray(o->iterations, o->levels));
    cJSON_AddItemToObject(to, "smooth_voxels", cJSON_CreateDoubleArray(o->smooth_voxels, o->levels));
    cJSON_AddNumberToObject(to, "update_sigma", o->update_sigma);
    cJSON_AddNumberToObject(to, "lambda", o->lambda);
    cJSON_AddNumberToObject(to, "step", o->step);
    cJSON_AddNumberToObject(to, "tolerance", o->tolerance);
}

/* ---- files -------------------------------------------------------------- */

/* A long run must not end at a folder that cannot be written. */
static int check_folder(const char *prefix)
{
    const char *slash = strrchr(prefix, '/');
    char *folder = slash ? strndup(prefix, (size_t)(slash - prefix) + 1) : strdup(".");
    int status = CLVOX_OK;
    if (!folder)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (access(folder, W_OK | X_OK) != 0)
        status = clv_fail(CLVOX_ERROR_FILE, "%s: the folder of the results cannot be written (%s)", folder,
                          strerror(errno));
    free(folder);
    return status;
}

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

static int write_results(command *cli, const request *r, const clvox_volume *fixed, const clvox_volume *mask,
                         const clvox_volume *labels, const clvox_register_result *result)
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
    if (result->inverse_warp && r->inverse)
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

static int run(command *cli, const request *r, clvox_register_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    clvox_volume *fixed[CLVOX_MAX_CHANNELS] = {0}, *moving[CLVOX_MAX_CHANNELS] = {0};
    clvox_volume *fixed_mask = NULL, *moving_mask = NULL, *labels = NULL;
    clvox_register_images images = {.channels = r->fixed.count};
    clvox_register_result result = {.warp = NULL};
    cli_progress progress = {.open = false};
    cli_stages stages = {0};
    cli_input inputs[2 * CLVOX_MAX_CHANNELS + 3];
    int count = 0;
    double mark = cli_seconds();
    CLV_TRY(check_folder(r->prefix));
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
        images.weight[i] = r->weights.count ? atof(r->weights.item[i]) : 1;
    }
    images.fixed_mask = fixed_mask;
    images.moving_mask = moving_mask;
    CLV_TRY(read_smoothing(r, &fixed[0]->grid, o));
    log_options(cli, o);
    remark_unused(cli, r, o);
    stages.read = cli_seconds() - mark;
    cli_register_plan(cli, &images, o);
    cli_progress_begin(&progress, cli, o);
    o->progress = cli_register_progress;
    o->user = &progress;
    status = clvox_register(cli->ctx, &images, o, &result);
    cli_progress_end(&progress);
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
    clvox_register_options o;
    clvox_register_defaults(&o);
    /* The help states the library's defaults, whatever they are. */
    char sigma[80], step[80], lambda[80], tolerance[80];
    snprintf(sigma, sizeof sigma, "of the fluid regulariser (default %gvox)", o.update_sigma);
    snprintf(step, sizeof step, "longest displacement of an iteration (default %gvox)", o.step);
    snprintf(lambda, sizeof lambda, "weight of the unbiased penalty (default %g)", o.lambda);
    snprintf(tolerance, sizeof tolerance, "end a level when an iteration gains less than this share (%g)",
             o.tolerance);
    request r = {.init = "auto", .metric = "ssd", .deform = "unbiased", .linear = o.linear,
                 .lambda = o.lambda, .tolerance = o.tolerance};
    const cli_option options[] = {
        {"fixed", 'f', CLI_REPEAT, &r.fixed, "FILE",
         "the fixed image: its grid carries the warp; repeat for channels"},
        {"moving", 'm', CLI_REPEAT, &r.moving, "FILE", "the moving image; as many as -f"},
        {"weight", 0, CLI_REPEAT, &r.weights, "N", "of each channel, in their order (default: equal)"},
        {"output", 'o', CLI_TEXT, &r.prefix, "PREFIX", "beginning of the names of the results"},
        {"init", 0, CLI_TEXT, &r.init, "auto|identity|header|centers|moments|FILE",
         "where to start; auto: header or moments, whichever correlates better"},
        {"linear", 0, CLI_CHOICE, &r.linear, "none|translation|rigid|similarity|affine",
         "what the linear part may do where it comes from moments (default affine)"},
        {"deform", 0, CLI_TEXT, &r.deform, "none|unbiased", "the deformation model (default unbiased)"},
        {"metric", 0, CLI_TEXT, &r.metric, "ssd|ncc",
         "of the deformation (default ssd, after an intensity match)"},
        {"shrink", 0, CLI_NUMBERS, &r.shrink, "4x2x1", "how much coarser each level is (default 4x2x1)"},
        {"iterations", 0, CLI_NUMBERS, &r.iterations, "100x100x50",
         "at most, at each level (default 100x100x50)"},
        {"smooth", 0, CLI_NUMBERS, &r.smooth, "2x1x0vox",
         "sigma before each level, mm or vox of FIXED (default: by --shrink)"},
        {"update-sigma", 0, CLI_NUMBERS, &r.update_sigma, "Nvox", sigma},
        {"step", 0, CLI_NUMBERS, &r.step, "Nvox", step},
        {"lambda", 0, CLI_NUMBER, &r.lambda, "N", lambda},
        {"kernel", 0, CLI_CHOICE, &r.kernel, "auto|recompute|reuse|capped|twopass",
         "how the unbiased force is computed"},
        {"fixed-mask", 0, CLI_TEXT, &r.fixed_mask, "FILE", "where the fixed image counts (above 0)"},
        {"moving-mask", 0, CLI_TEXT, &r.moving_mask, "FILE", "where the moving image counts"},
        {"labels", 0, CLI_TEXT, &r.labels, "FILE",
         "a label map of the moving image to carry to the fixed grid"},
        {"tolerance", 0, CLI_NUMBER, &r.tolerance, "N", tolerance},
        {"inverse", 0, CLI_FLAG, &r.inverse, NULL, "also write the inverse warp"},
        {"no-picture", 0, CLI_FLAG, &r.no_picture, NULL, "do not draw PREFIX.png"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-f FIXED -m MOVING -o PREFIX [options]",
        .about =
            "Registers MOVING to FIXED: a linear part from the headers or the shapes, then an unbiased\n"
            "fluid deformation (Lee et al. 2012) from coarse to fine that never folds. Writes\n"
            "  PREFIX_affine.txt            ITK affine\n"
            "  PREFIX_warp.nii.gz           ITK displacement, applied as\n"
            "                               `-t PREFIX_warp.nii.gz -t PREFIX_affine.txt`\n"
            "  PREFIX_inverse_warp.nii.gz   with --inverse; from MOVING's side applied as\n"
            "                               `-t PREFIX_affine.txt,-1 -t PREFIX_inverse_warp.nii.gz`\n"
            "  PREFIX_warped.nii.gz         MOVING on the grid of FIXED\n"
            "  PREFIX_labels.nii.gz         with --labels\n"
            "  PREFIX.png                   three planes: fixed, warped, labels or edges, log-Jacobian\n"
            "  PREFIX.json                  versions, options, inputs, timings, metric by iteration",
        .example = "  clvox register -f subject.nii.gz -m atlas.nii.gz -o result \\\n"
                   "      --fixed-mask subject_brain.nii.gz --moving-mask atlas_brain.nii.gz \\\n"
                   "      --labels atlas_labels.nii.gz",
        .options = options,
    };
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!r.fixed.count)
        return cli_misuse("-f FIXED is missing");
    if (!r.moving.count)
        return cli_misuse("-m MOVING is missing");
    CLV_TRY(check_channels(&r));
    if (!r.prefix)
        return cli_misuse("-o PREFIX is missing");
    CLV_TRY(read_options(cli, &r, &o));
    status = run(cli, &r, &o);
end:
    return status;
}
