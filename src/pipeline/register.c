/* SPDX-License-Identifier: Apache-2.0 */
/* A registration from two volumes to transforms: check, upload, linear start,
 * intensities, deformation, results. */
#include "pipeline/register.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/matrix.h"
#include "op/pointwise.h"
#include "op/reduce.h"
#include "op/resample.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A deformation model: the function that runs its levels, and the buffers that
 * it holds beside those of every run. Adding one adds its file and a row. */
typedef struct model {
    clvox_deform deform;
    const char *name;
    int (*run)(clv_registration *run, clvox_register_result *result);
    int (*requests)(clv_registration *run, clv_request *list);
    bool one_channel;
    unsigned metrics; /* a bit each */
} model;

static const model models[] = {
    {CLVOX_DEFORM_UNBIASED, "unbiased", clv_register_unbiased, clv_register_unbiased_requests, true,
     1u << CLVOX_METRIC_SSD | 1u << CLVOX_METRIC_NCC},
};

static const model *find_model(clvox_deform deform)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (models[i].deform == deform)
            return &models[i];
    return NULL;
}

const char *clv_register_deform_name(clvox_deform deform)
{
    const model *m = find_model(deform);
    return deform == CLVOX_DEFORM_NONE ? "none" : m ? m->name : NULL;
}

bool clv_register_takes(clvox_deform deform, clvox_metric metric)
{
    const model *m = find_model(deform);
    return !m || m->metrics >> metric & 1;
}

static int check_volume(const clvox_volume *volume, const char *which)
{
    if (!volume || !volume->data)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "there is no %s", which);
    if (volume->frames != 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT,
                        "the %s has %d volumes; registration takes one 3-D volume: extract one first",
                        which, volume->frames);
    const int *size = volume->grid.size;
    if (size[0] < 1 || size[1] < 1 || size[2] < 1 || !clv_matrix_regular(volume->grid.to_ras))
        return clv_fail(CLVOX_ERROR_ARGUMENT,
                        "the %s has no usable grid: its sizes must be at least 1 and its matrix regular",
                        which);
    if (clvox_grid_voxels(&volume->grid) > INT32_MAX / 3)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the %s has more voxels than fit 32-bit indices; "
                                              "resample it to a coarser grid",
                        which);
    return CLVOX_OK;
}

static int check_images(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = CLVOX_OK;
    const model *m = find_model(o->deform);
    double sum = 0;
    if (images->channels < 1 || images->channels > CLVOX_MAX_CHANNELS)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%d channels; 1 to %d are possible", images->channels,
                        CLVOX_MAX_CHANNELS);
    for (int i = 0; i < images->channels; i++) {
        char which[48];
        snprintf(which, sizeof which, images->channels > 1 ? "fixed image %d" : "fixed image", i + 1);
        CLV_TRY(check_volume(images->fixed[i], which));
        snprintf(which, sizeof which, images->channels > 1 ? "moving image %d" : "moving image", i + 1);
        CLV_TRY(check_volume(images->moving[i], which));
        if (!(images->weight[i] >= 0) || !isfinite(images->weight[i]))
            return clv_fail(CLVOX_ERROR_ARGUMENT, "channel %d: a weight is a number of at least 0", i + 1);
        sum += images->weight[i];
    }
    if (!(sum > 0) && images->weight[0] != 0)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the weights of the channels add up to nothing");
    if (m && m->one_channel && images->channels > 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the %s model takes one channel, not %d; choose another model "
                                              "or one image of each side",
                        m->name, images->channels);
    if (images->fixed_mask)
        CLV_TRY(check_volume(images->fixed_mask, "fixed mask"));
    if (images->moving_mask)
        CLV_TRY(check_volume(images->moving_mask, "moving mask"));
end:
    return status;
}

static int check(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = check_images(images, o);
    if (status < 0)
        return status;
    if (o->deform != CLVOX_DEFORM_NONE && !find_model(o->deform))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "this version does not have the deformation model asked for");
    if (!clv_register_takes(o->deform, o->metric))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the %s model cannot compare by the metric asked for",
                        clv_register_deform_name(o->deform));
    if (o->radius < 1 || o->radius > 64 || o->linear_radius < 1 || o->linear_radius > 64)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the radius of a window is 1 to 64 voxels");
    if (o->bins < 8 || o->bins > 128 || o->linear_bins < 8 || o->linear_bins > 128)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a histogram has 8 to 128 bins");
    if (o->init == CLVOX_INIT_MATRIX && !clv_matrix_regular(o->matrix))
        return clv_fail(CLVOX_ERROR_ARGUMENT,
                        "the initial matrix is singular or not finite; give one that can be inverted");
    if (o->levels < 1 || o->levels > CLVOX_MAX_LEVELS)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "%d levels; 1 to %d are possible", o->levels, CLVOX_MAX_LEVELS);
    for (int i = 0; i < o->levels; i++)
        if (!(o->shrink[i] >= 1) || o->iterations[i] < 0)
            return clv_fail(CLVOX_ERROR_ARGUMENT,
                            "level %d: the shrink factor is at least 1 and iterations are not negative",
                            i + 1);
    if (!(o->update_sigma >= 0) || !(o->total_sigma >= 0) || !(o->lambda >= 0) || !(o->step > 0) || !(o->tolerance >= 0))
        return clv_fail(CLVOX_ERROR_ARGUMENT,
                        "sigma, lambda and tolerance cannot be negative, and the step must be above 0");
    return CLVOX_OK;
}

enum { MAX_REQUESTS = 8 + CLV_FINISH_FIELDS + 4 * CLVOX_MAX_CHANNELS + CLV_MODEL_REQUESTS, SMALL_BYTES = 1 << 16 };

/* The buffers of a run, in one place for taking them and for predicting their
 * size. Slots are NULL when only sizes are wanted. */
static int list_requests(clv_registration *run, bool fixed_mask, bool moving_mask, clv_request *list)
{
    const model *m = find_model(run->options->deform);
    size_t fixed = (size_t)run->n * sizeof(float), moving = (size_t)run->m * sizeof(float);
    size_t larger = fixed > moving ? fixed : moving;
    int count = 0;
    for (int i = 0; i < run->channel_count; i++) {
        clv_channel *c = &run->channels[i];
        list[count++] = (clv_request){&c->fixed, fixed, "fixed image"};
        list[count++] = (clv_request){&c->moving, moving, "moving image"};
        list[count++] = (clv_request){&c->level_fixed, fixed, "a level of the fixed image"};
        list[count++] = (clv_request){&c->level_moving, moving, "a level of the moving image"};
    }
    list[count++] = (clv_request){&run->scratch_a, larger, "scratch for smoothing"};
    list[count++] = (clv_request){&run->scratch_b, larger, "scratch for smoothing"};
    if (fixed_mask) {
        list[count++] = (clv_request){&run->fixed_mask, fixed, "fixed mask"};
        list[count++] = (clv_request){&run->level_mask, fixed, "a level of the fixed mask"};
    }
    if (moving_mask)
        list[count++] = (clv_request){&run->moving_mask, moving, "moving mask"};
    list[count++] = (clv_request){&run->partial, CLV_REGISTER_PARTIALS * sizeof(float), "partial sums"};
    list[count++] = (clv_request){&run->state, CLV_STATE_SLOTS * sizeof(float), "state"};
    if (m) {
        int first = count, fields = 0;
        bool given = false;
        count += m->requests(run, list + count);
        for (int i = first; i < count; i++) {
            given = given || list[i].slot == &run->inverse;
            fields += list[i].slot != &run->u && list[i].slot != &run->inverse && list[i].bytes >= 3 * fixed;
        }
        for (int i = 0; fields < clv_register_finish_fields(run->options, given); i++, fields++)
            list[count++] = (clv_request){&run->spare[i], 3 * fixed, "scratch for the inverse"};
    }
    return count;
}

/* Grids and weights of a run, from images that have been checked. */
static void describe(clv_registration *run, const clvox_register_images *images)
{
    double sum = 0;
    run->channel_count = images->channels;
    for (int i = 0; i < images->channels; i++)
        sum += images->weight[i];
    for (int i = 0; i < images->channels; i++)
        run->channels[i].weight = sum > 0 ? images->weight[i] / sum : 1. / images->channels;
    run->fixed_grid = images->fixed[0]->grid;
    run->moving_grid = images->moving[0]->grid;
    run->n = (int)clvox_grid_voxels(&run->fixed_grid);
    run->m = (int)clvox_grid_voxels(&run->moving_grid);
}

size_t clvox_register_bytes(const clvox_register_images *images, const clvox_register_options *options)
{
    clv_registration run = {.options = options};
    clv_request list[MAX_REQUESTS];
    describe(&run, images);
    const int *fixed = run.fixed_grid.size, *moving = run.moving_grid.size;
    int count = list_requests(&run, images->fixed_mask, images->moving_mask, list);
    /* What operations take for themselves while the pool is held: sums by row
     * and plane of clv_moments, histograms and tables. */
    size_t rows = (size_t)(fixed[1] + 2) * (size_t)fixed[2];
    size_t moving_rows = (size_t)(moving[1] + 2) * (size_t)moving[2];
    return clv_pool_bytes(list, count) + 3 * sizeof(float) * (rows > moving_rows ? rows : moving_rows) +
           SMALL_BYTES;
}

/* Adds to a refusal for want of memory the size of images that would fit. */
static int refuse(const clv_registration *run, const clv_request *requests, int count,
                  const clvox_device_limits *limits)
{
    char why[1024];
    size_t largest = 0;
    for (int i = 0; i < count; i++)
        largest = requests[i].bytes > largest ? requests[i].bytes : largest;
    double shrink = cbrt((double)limits->global_bytes / (double)clv_pool_bytes(requests, count));
    if (limits->max_allocation)
        shrink = fmin(shrink, cbrt((double)limits->max_allocation / (double)largest));
    const int *size = run->fixed_grid.size;
    snprintf(why, sizeof why, "%s", clvox_message());
    if (!(shrink < 1))
        return clv_fail(CLVOX_ERROR_MEMORY, "%s", why);
    return clv_fail(CLVOX_ERROR_MEMORY, "%s; images resampled to about %d x %d x %d voxels would fit", why,
                    (int)fmax(1, shrink * size[0]), (int)fmax(1, shrink * size[1]),
                    (int)fmax(1, shrink * size[2]));
}

/* Sends an image; what is not a number counts as its darkest value. */
static int upload(clv_registration *run, const clvox_volume *volume, clv_buffer *to, int n)
{
    int status = CLVOX_OK;
    float darkest;
    CLV_TRY(clv_buffer_write(run->ctx, to, 0, volume->data, (size_t)n * sizeof(float)));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, to, n, to, NULL, NULL, (float[4]){NAN, 0, 0, 0}));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_MIN, to, NULL, NULL, 0, n, run->partial, run->state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), &darkest, sizeof darkest));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_FINITE, to, n, to, NULL, NULL,
                          (float[4]){isfinite(darkest) ? darkest : 0, 0, 0, 0}));
end:
    return status;
}

/* Copies of what lay on another grid than the first image of its side. */
typedef struct placed {
    clvox_volume *own[2 * CLVOX_MAX_CHANNELS + 2];
    int count;
} placed;

static int place(clvox_context *ctx, const clvox_grid *grid, clvox_interpolation interpolation, float outside,
                 const clvox_volume **volume, placed *all)
{
    if (!*volume || clvox_grid_equal(&(*volume)->grid, grid))
        return CLVOX_OK;
    clvox_volume **own = &all->own[all->count++];
    int status = clvox_apply(ctx, *volume, grid, NULL, 0, interpolation, outside, own);
    *volume = *own;
    return status;
}

/* Brings further channels and the masks onto the grids of the first images,
 * before the run takes its memory. What a channel does not cover is NaN, which
 * the upload takes as its darkest value. */
static int place_all(clvox_context *ctx, clvox_register_images *images, placed *all)
{
    int status = CLVOX_OK;
    const clvox_grid *fixed = &images->fixed[0]->grid, *moving = &images->moving[0]->grid;
    for (int i = 1; i < images->channels; i++) {
        CLV_TRY(place(ctx, fixed, CLVOX_INTERPOLATE_AUTO, NAN, &images->fixed[i], all));
        CLV_TRY(place(ctx, moving, CLVOX_INTERPOLATE_AUTO, NAN, &images->moving[i], all));
    }
    CLV_TRY(place(ctx, fixed, CLVOX_INTERPOLATE_NEAREST, 0, &images->fixed_mask, all));
    CLV_TRY(place(ctx, moving, CLVOX_INTERPOLATE_NEAREST, 0, &images->moving_mask, all));
end:
    return status;
}

/* Sends a mask on its image's grid as 0 and 1. */
static int upload_mask(clv_registration *run, const clvox_volume *mask, const char *which, clv_buffer *to)
{
    int status = CLVOX_OK;
    int n = (int)clvox_grid_voxels(&mask->grid);
    float sum;
    CLV_TRY(clv_buffer_write(run->ctx, to, 0, mask->data, (size_t)n * sizeof(float)));
    CLV_TRY(clv_pointwise(run->ctx, CLV_POINTWISE_THRESHOLD, to, n, to, NULL, NULL, (float[4]){0, 1, 0, 0}));
    CLV_TRY(clv_reduce(run->ctx, CLV_REDUCE_SUM, to, NULL, NULL, 0, n, run->partial, run->state,
                       CLV_STATE_SUMS));
    CLV_TRY(clv_buffer_read(run->ctx, run->state, CLV_STATE_SUMS * sizeof(float), &sum, sizeof sum));
    if (!(sum > 0))
        status = clv_fail(CLVOX_ERROR_DATA,
                          "the %s mask has no voxel above 0 on its image's grid; check that it belongs to it",
                          which);
end:
    return status;
}

static void state_likeness(const clv_likeness_report *before, const clv_likeness_report *linear,
                           const clv_likeness_report *after, clvox_register_result *result)
{
    result->metric_before = before->metric;
    result->metric_linear = linear->metric;
    result->metric_after = after->metric;
    result->ncc_before = before->ncc;
    result->ncc_linear = linear->ncc;
    result->ncc_after = after->ncc;
    result->mismatch = linear->mean_square > 0 ? after->mean_square / linear->mean_square : 1;
}

int clvox_register(clvox_context *context, const clvox_register_images *given,
                   const clvox_register_options *options, clvox_register_result *result)
{
    static const double identity[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    int status = CLVOX_OK, count = 0;
    clvox_register_images images = *given;
    clv_registration run = {.ctx = context, .options = options};
    clv_request requests[MAX_REQUESTS];
    placed all = {.count = 0};
    clv_likeness_report before, linear, after;
    double mark = now();
    size_t held = clv_peak_start(context);
    memset(result, 0, sizeof *result);
    CLV_TRY(check(&images, options));
    CLV_TRY(place_all(context, &images, &all));
    describe(&run, &images);
    const model *deform = find_model(options->deform);
    count = list_requests(&run, images.fixed_mask, images.moving_mask, requests);
    status = clv_pool_take(context, requests, count);
    if (status == CLVOX_ERROR_MEMORY)
        status = refuse(&run, requests, count, clvox_context_limits(context));
    if (status < 0)
        goto end;
    for (int i = 0; i < images.channels; i++) {
        CLV_TRY(upload(&run, images.fixed[i], run.channels[i].fixed, run.n));
        CLV_TRY(upload(&run, images.moving[i], run.channels[i].moving, run.m));
    }
    if (images.fixed_mask)
        CLV_TRY(upload_mask(&run, images.fixed_mask, "fixed", run.fixed_mask));
    if (images.moving_mask)
        CLV_TRY(upload_mask(&run, images.moving_mask, "moving", run.moving_mask));
    result->seconds_prepare = now() - mark;

    mark = now();
    CLV_TRY(clv_register_linear(&run, images.fixed[0], images.moving[0]));
    CLV_TRY(clv_register_match(&run));
    CLV_TRY(clv_register_measure(&run, identity, NULL, &before));
    CLV_TRY(clv_register_measure(&run, CLV_MATRIX(run.matrix), NULL, &linear));
    after = linear;
    result->seconds_linear = now() - mark;

    mark = now();
    if (deform) {
        CLV_TRY(deform->run(&run, result));
        CLV_TRY(clv_register_measure(&run, CLV_MATRIX(run.matrix), run.u, &after));
    }
    state_likeness(&before, &linear, &after, result);
    result->seconds_deform = now() - mark;

    mark = now();
    CLV_TRY(clv_register_finish(&run, requests, count, images.moving[0], result));
    clv_register_judge(&run, result);
    result->device_bytes = clv_peak_bytes(context) - held;
    result->seconds_finish = now() - mark;
end:
    clv_pool_release(requests, count);
    for (int i = 0; i < all.count; i++)
        clvox_volume_destroy(&all.own[i]);
    if (status < 0)
        clvox_register_result_free(result);
    return status;
}

void clvox_register_result_free(clvox_register_result *result)
{
    if (!result)
        return;
    clvox_volume_destroy(&result->warp);
    clvox_volume_destroy(&result->inverse_warp);
    clvox_volume_destroy(&result->warped);
}
