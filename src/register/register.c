/* SPDX-License-Identifier: Apache-2.0 */
/* A registration from two volumes to transforms: check, upload, linear start,
 * intensities, deformation, results. */
#include "register/register.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/status.h"
#include "register/alone.h"
#include "register/model.h"
#include "register/options.h"
#include "register/posteriors.h"
#include "register/recast/recast.h"
#include "register/shapes.h"
#include "register/terms.h"
#include "runtime/device/gate.h"
#include "runtime/device/host.h"
#include "transform/field.h"

int clv_register_check_origin(const clvox_grid *grid, const char *which)
{
    static const double MOST = 1e5; /* beyond it, places in single precision are off by hundredths of mm */
    for (int i = 0; i < 3; i++)
        if (fabs(grid->to_ras[i][3]) > MOST)
            return clvox_fail(
                CLVOX_ERROR_DATA,
                "the %s has its origin at %g mm along %c, far outside of any scanner: correct its header "
                "(NIfTI: srow_%c and qoffset_%c; NRRD: space origin)",
                which, grid->to_ras[i][3], "xyz"[i], "xyz"[i], "xyz"[i]);
    return CLVOX_OK;
}

static int check_grid(const clvox_volume *volume, const char *which)
{
    const int *size = volume->grid.size;
    if (size[0] < 1 || size[1] < 1 || size[2] < 1 || !clv_matrix_regular(volume->grid.to_ras))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s has no usable grid: its sizes must be at least 1 and its matrix regular",
                          which);
    int status = clv_register_check_origin(&volume->grid, which);
    if (status < 0)
        return status;
    if (clvox_grid_voxels(&volume->grid) > INT32_MAX / 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s has more voxels than fit 32-bit indices; "
                          "resample it to a coarser grid",
                          which);
    return CLVOX_OK;
}

static int check_volume(const clvox_volume *volume, const char *which)
{
    if (!volume || !volume->data)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there is no %s", which);
    if (volume->frames != 1)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "the %s has %d volumes; registration takes one 3-D volume: extract one first (motion "
            "between them: `clvox series`)",
            which, volume->frames);
    return check_grid(volume, which);
}

static int check_images(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = CLVOX_OK;
    const clv_model *m = clv_model_find(o->deform);
    double sum = 0;
    if (images->channels < !images->fixed_posteriors || images->channels > CLVOX_MAX_CHANNELS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d channels; 1 to %d are possible", images->channels,
                          CLVOX_MAX_CHANNELS);
    if (images->fixed_posteriors)
        CLV_TRY(check_grid(images->fixed_posteriors, "fixed posteriors"));
    if (images->moving_posteriors)
        CLV_TRY(check_grid(images->moving_posteriors, "moving posteriors"));
    CLV_TRY(clv_posteriors_check(images, o));
    for (int i = 0; i < images->channels; i++) {
        char which[48];
        snprintf(which, sizeof which, images->channels > 1 ? "fixed image %d" : "fixed image", i + 1);
        CLV_TRY(check_volume(images->fixed[i], which));
        snprintf(which, sizeof which, images->channels > 1 ? "moving image %d" : "moving image", i + 1);
        CLV_TRY(check_volume(images->moving[i], which));
        if (!(images->weight[i] >= 0) || !isfinite(images->weight[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "channel %d: a weight is a number of at least 0", i + 1);
        sum += images->weight[i];
    }
    if (images->channels > 0 && !(sum > 0) && images->weight[0] != 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the weights of the channels add up to nothing");
    if (m && m->one_channel && images->channels > 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the %s model takes one channel, not %d; choose another model "
                          "or one image of each side",
                          m->name, images->channels);
    if (images->fixed_mask)
        CLV_TRY(check_volume(images->fixed_mask, "fixed mask"));
    if (images->moving_mask)
        CLV_TRY(check_volume(images->moving_mask, "moving mask"));
    if (images->linear_fixed_mask)
        CLV_TRY(check_volume(images->linear_fixed_mask, "linear fixed mask"));
    if (images->linear_moving_mask)
        CLV_TRY(check_volume(images->linear_moving_mask, "linear moving mask"));
    for (int i = 0; i < CLVOX_MAX_LEVELS && images->level_masks; i++) {
        if (images->level_fixed_mask[i])
            CLV_TRY(check_volume(images->level_fixed_mask[i], "fixed mask of a level"));
        if (images->level_moving_mask[i])
            CLV_TRY(check_volume(images->level_moving_mask[i], "moving mask of a level"));
    }
    if (images->points < 0 || (images->points > 0 && (!images->fixed_points || !images->moving_points)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d landmarks, which are missing in one image or both",
                          images->points);
    for (int i = 0; i < 3 * images->points; i++)
        if (!isfinite(images->fixed_points[i]) || !isfinite(images->moving_points[i]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "landmark %d: its coordinates must be finite", i / 3 + 1);
    CLV_TRY(clv_shapes_check(images));
    if (images->initial_warp && (!m || !m->starts_from_warp))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s%s starts from no warp; unbiased, greedy and syn do",
                          m ? "the model " : "a linear part alone", m ? m->name : "");
    if (images->initial_warp && images->initial_warp->frames != 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the initial warp has %d components; a displacement has 3",
                          images->initial_warp->frames);
    if (images->initial_warp)
        CLV_TRY(clv_field_check(&images->initial_warp->grid));
end:
    return status;
}

static int check(const clvox_register_images *images, const clvox_register_options *o)
{
    int status = check_images(images, o);
    if (status < 0)
        return status;
    const clv_model *model = clv_model_find(o->deform);
    if (o->deform != CLVOX_DEFORM_NONE && !model)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "this version does not have the deformation model asked for");
    status = clv_options_check(&clv_register_table, o);
    if (status < 0)
        return status;
    status = clv_register_check_metrics(o);
    if (status < 0)
        return status;
    if (model && clv_model_takes(model, "operator"))
        status = clv_register_check_operator(o);
    if (status < 0)
        return status;
    if (o->winsorize_low >= o->winsorize_high)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "winsorising takes two quantiles that ascend, as 0.005 and 0.995; "
                          "0 and 1 are none");
    if (o->init == CLVOX_INIT_MATRIX && !clv_matrix_regular(o->matrix))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the initial matrix is singular or not finite; give one that can be inverted");
    return CLVOX_OK;
}

static void state_metric(const clv_metric_report *before, const clv_metric_report *linear,
                         const clv_metric_report *after, clvox_register_result *result)
{
    result->metric_before = before->metric;
    result->metric_linear = linear->metric;
    result->metric_after = after->metric;
    result->ncc_before = before->ncc;
    result->ncc_linear = linear->ncc;
    result->ncc_after = after->ncc;
    result->mismatch = linear->mean_square > 0 ? after->mean_square / linear->mean_square : 1;
}

/* Whether so few voxels are left along an axis that neither a turn nor a deformation shows. */
static bool too_coarse(const clvox_grid *from, const clvox_grid *to)
{
    enum { LEAST = 6 };
    bool few = false;
    for (int i = 0; i < 3; i++)
        few = few || (to->size[i] < LEAST && to->size[i] < from->size[i]);
    return few;
}

/* Whether an image has so few voxels along each axis that nothing can be found. */
static bool too_small(const clvox_grid *grid)
{
    enum { LEAST = 8 };
    return grid->size[0] < LEAST && grid->size[1] < LEAST && grid->size[2] < LEAST;
}

/* A mask of one image alone stands in the other's slot once the pair has been exchanged, and of one
 * stage where another one has failed. */
static void release(clv_registration *run, const clv_request *requests, int count)
{
    clv_terms_release(run);
    clv_recast_release(run);
    clv_content_free(&run->content);
    clv_pool_release(requests, count);
    clv_buffer_destroy(&run->fixed_mask);
    clv_buffer_destroy(&run->moving_mask);
    clv_buffer_destroy(&run->linear_fixed_mask);
    clv_buffer_destroy(&run->linear_moving_mask);
}

/* The masks of the linear part into the place of the others, and back. */
static void exchange_masks(clv_registration *run)
{
    clv_buffer *fixed = run->fixed_mask, *moving = run->moving_mask;
    run->fixed_mask = run->linear_fixed_mask;
    run->moving_mask = run->linear_moving_mask;
    run->linear_fixed_mask = fixed;
    run->linear_moving_mask = moving;
}

/* The linear part, by masks of its own where there are such. */
static int align(clv_registration *run, const clvox_register_images *images)
{
    if (images->linear_masks)
        exchange_masks(run);
    int status = clv_register_linear(run);
    if (images->linear_masks)
        exchange_masks(run);
    return status;
}

int clv_register_without(clv_registration *run, int status)
{
    if (status != CLVOX_ERROR_MEMORY)
        return status;
    run->suspicions |= CLVOX_SUSPECT_MEMORY;
    return CLVOX_OK;
}

/* So many mm around a place tell what a value there means. */
static const double NEARBY = 20;

/* Images of different contrasts are recast, each as the other, so that the linear part finds where
 * they lie, and recast again under that, of what is nearby. suspicions: from before the linear part.
 * Where either is constant or the device has no room they stay as they are. */
static int recast(clv_registration *run, const clvox_register_images *images, unsigned suspicions)
{
    int status = CLVOX_OK;
    const unsigned said = run->suspicions;
    double matrix[4][4];
    bool made;
    clv_matrix_copy(CLV_MATRIX(run->matrix), matrix);
    CLV_TRY(clv_recast_run(run, INFINITY, &made));
    if (!made)
        return CLVOX_OK;
    run->suspicions = suspicions;
    CLV_TRY(align(run, images));
    run->contrasts_differ = true;
    CLV_TRY(clv_recast_run(run, NEARBY, &made));
end:
    if (status == CLVOX_ERROR_MEMORY) {
        run->contrasts_differ = true;
        clv_matrix_copy(CLV_MATRIX(matrix), run->matrix);
        run->suspicions = said;
        clv_register_without(run, status);
        return clv_recast_undo(run);
    }
    return status;
}

/* Recasts the images and goes from LNCC to MIND, if the device has the room that this takes beyond the plan. suspicions: from
 * before the linear part. */
static int go_on_recast(clv_registration *run, clvox_register_options *work, const clvox_register_images *images,
                        unsigned suspicions)
{
    int status = CLVOX_OK;
    clvox_register_options by_mind = *work;
    clv_buffer *larger = NULL;
    by_mind.metric = CLVOX_METRIC_MIND;
    run->contrasts_differ = true;
    size_t here = clv_register_measure_floats(&by_mind, &run->fixed_grid);
    size_t there = clv_register_measure_floats(&by_mind, &run->moving_grid);
    size_t bytes = (run->exchanged && there > here ? there : here) * sizeof(float);
    if (run->metric_scratch->bytes < bytes) {
        const clv_request request = {&larger, bytes, "scratch of the metric"};
        status = clv_pool_take(run->ctx, &request, 1);
        if (status < 0)
            return clv_register_without(run, status);
        clv_buffer_destroy(&run->metric_scratch);
        run->metric_scratch = larger;
    }
    if (run->channel_count == 1)
        CLV_TRY(recast(run, images, suspicions));
    work->metric = CLVOX_METRIC_MIND;
    for (int i = 0; i < run->image_count; i++)
        run->channels[i].metric = CLVOX_METRIC_MIND;
end:
    return status;
}

/* The same where contrasts differ, if the options allow it. */
static int go_by_contrast(clv_registration *run, clvox_register_options *work,
                          const clvox_register_images *images, unsigned suspicions)
{
    int status = CLVOX_OK;
    const clv_model *model = clv_model_find(work->deform);
    if (!work->by_contrast || !model || !model->by_contrast || run->image_count != 1 ||
        work->metric != CLVOX_METRIC_LNCC || work->besides)
        return CLVOX_OK;
    if (clv_recast_looks(run))
        CLV_TRY(clv_register_without(run, clv_recast_differ(run, NEARBY, &run->contrasts_differ)));
    if (run->contrasts_differ)
        CLV_TRY(go_on_recast(run, work, images, suspicions));
end:
    return status;
}

/* The maps of a run on coarser grids, which are volumes of the full ones, as fields. */
static int pass_on(clvox_context *context, const clv_register_fields *to, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clvox_volume **volumes[2] = {&result->warp, &result->inverse_warp};
    for (int i = 0; i < 2; i++) {
        if (to->buffer[i])
            CLV_TRY(clv_field_upload(context, *volumes[i], 1, to->buffer[i]));
        else
            CLV_TRY(clv_field_pack(context, *volumes[i], to->values[i]));
        clvox_volume_destroy(volumes[i]);
    }
    clvox_volume_destroy(&result->warped);
end:
    return status;
}

/* Statistics of the deformation, on the grid of the run. */
static int survey(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_field_survey found;
    CLV_TRY(
        clv_register_survey(run, run->u, &run->fixed_grid, run->fixed_mask, NULL, run->scratch_a, &found));
    CLV_TRY(clv_register_state(&found, &run->fixed_grid, &run->moving_grid, result));
end:
    return status;
}

/* Images that have been checked, in canonical storage. fields: NULL, or where the maps go. shown: the fixed
 * grid as given. */
static int run_canonical(clvox_context *context, const clvox_register_images *given,
                         const clvox_register_options *options, const clv_register_fields *fields,
                         const clvox_grid *shown, double mark, clvox_register_result *result)
{
    int status = CLVOX_OK, count = 0;
    clvox_register_images full = *given, images;
    clvox_register_options first = *options, work;
    clv_registration run = {.ctx = context, .options = &work};
    clv_request requests[CLV_REGISTER_REQUESTS];
    clv_register_copies copies = {.count = 0};
    clv_metric_report before, linear, after;
    clvox_grid fixed_grid, moving_grid;
    size_t held = clv_peak_start(context);
    bool no_room = clv_register_without_mesh(context, &full, &first);
    CLV_TRY(clv_register_refuse(context, &full, &first));
    CLV_TRY(clv_register_place(context, &full, &copies));
    images = full;
    CLV_TRY(clv_register_prepare(context, options, &images, &copies));
    run.moving_first = clv_register_order(&full, true) > 0;
    run.exchanged = run.moving_first && clv_register_exchanges(&full, options);
    if (run.exchanged)
        clv_register_exchange_images(&images, &first);
    bool coarse = clv_register_work(&images, &first, &fixed_grid, &moving_grid, &work);
    const clvox_grid *whole[2] = {&clv_register_first(&images, false)->grid,
                                  &clv_register_first(&images, true)->grid};
    if ((coarse && (too_coarse(whole[0], &fixed_grid) || too_coarse(whole[1], &moving_grid))) ||
        too_small(whole[0]) || too_small(whole[1]))
        run.suspicions |= CLVOX_SUSPECT_COARSE;
    run.fields = coarse ? NULL : fields;
    if (coarse)
        CLV_TRY(clv_register_coarsen(context, &fixed_grid, &moving_grid, &images, &copies));
    clv_register_describe(&run, &images, &fixed_grid, &moving_grid);
    run.shown = !coarse && !clv_terms_beside_images(&run) ? shown : NULL;
    const clv_model *deform = clv_model_find(options->deform);
    count = clv_register_list(&run, &images, requests);
    status = clv_pool_take(context, requests, count);
    if (status == CLVOX_ERROR_MEMORY && run.shapes.room_nodes > 0 && work.currents == CLVOX_CURRENTS_AUTO) {
        work.currents = CLVOX_CURRENTS_EXACT;
        no_room = true;
        count = clv_register_list(&run, &images, requests);
        status = clv_pool_take(context, requests, count);
    }
    run.shapes.no_room = no_room;
    CLV_TRY(status);
    run.initial_warp = images.initial_warp;
    if (deform && deform->border_stays && !run.initial_warp)
        CLV_TRY(clv_register_domain(&run, &images));
    CLV_TRY(clv_register_upload(&run, &images));
    result->seconds_prepare = clv_seconds() - mark;

    mark = clv_seconds();
    const unsigned suspicions = run.suspicions;
    CLV_TRY(align(&run, &images));
    CLV_TRY(go_by_contrast(&run, &work, &images, suspicions));
    result->metric = clv_register_metric(&work);
    CLV_TRY(clv_register_match(&run));
    CLV_TRY(clv_register_measure(&run, false, NULL, &before));
    CLV_TRY(clv_register_measure(&run, true, NULL, &linear));
    after = linear;
    result->seconds_linear = clv_seconds() - mark;

    mark = clv_seconds();
    if (deform) {
        result->exchanged = run.exchanged;
        CLV_TRY(deform->run(&run, result));
        if (run.tissues_differ) {
            CLV_TRY(go_on_recast(&run, &work, &images, suspicions));
            result->metric = clv_register_metric(&work);
            CLV_TRY(clv_register_match(&run));
            CLV_TRY(deform->run(&run, result));
        }
        clv_terms_report(&run, result);
        if (run.recast) { /* as they were recast last */
            CLV_TRY(clv_register_measure(&run, false, NULL, &before));
            CLV_TRY(clv_register_measure(&run, true, NULL, &linear));
        }
        CLV_TRY(clv_register_measure(&run, true, run.u, &after));
    }
    state_metric(&before, &linear, &after, result);
    clv_register_evidence evidence = {.content = after.content, .coarse.linear = NAN, .recast = run.recast};
    if (deform) {
        CLV_TRY(survey(&run, result));
        if (clv_register_coarse_counts(&run, after.content, result))
            CLV_TRY(clv_register_measure_coarse(&run, run.u, &evidence.coarse));
    }
    result->seconds_deform = clv_seconds() - mark;

    mark = clv_seconds();
    CLV_TRY(clv_register_finish(&run, coarse ? NULL : &full, result));
    release(&run, requests, count);
    if (coarse)
        CLV_TRY(clv_register_enlarge(&run, &full, result));
    if (coarse && fields)
        CLV_TRY(pass_on(context, fields, result));
    clv_register_judge(&run, &evidence, result);
    result->device_bytes = clv_peak_bytes(context) - held;
    result->seconds_finish = clv_seconds() - mark;
end:
    release(&run, requests, count);
    for (int i = 0; i < copies.count; i++)
        clvox_volume_destroy(&copies.own[i]);
    return status;
}

/* Whether these options compare by LNCC, but by MIND where contrasts differ. */
static bool chooses(const clvox_register_images *images, const clvox_register_options *options)
{
    const clv_model *model = clv_model_find(options->deform);
    return options->by_contrast && model && model->by_contrast && images->channels == 1 &&
           options->linear != CLVOX_LINEAR_NONE && options->metric == CLVOX_METRIC_LNCC && !options->besides;
}

/* Bytes that a registration may hold, also where contrasts turn out to differ: whether MIND has room is not
 * to depend on what else the device does. */
static size_t most_bytes(const clvox_register_images *images, const clvox_register_options *options)
{
    const size_t planned = clvox_register_bytes(images, options);
    if (!chooses(images, options))
        return planned;
    clvox_register_options by_mind = *options;
    by_mind.metric = CLVOX_METRIC_MIND;
    const size_t other = clvox_register_bytes(images, &by_mind);
    return (other > planned ? other : planned) +
           clv_recast_bytes(&images->fixed[0]->grid, &images->moving[0]->grid);
}

int clv_register_to(clvox_context *context, const clvox_register_images *images,
                    const clvox_register_options *options, const clv_register_fields *fields,
                    clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_register_canonical canonical = {.count = 0};
    clv_register_alone alone;
    size_t bytes = 0;
    double mark = clv_seconds();
    memset(result, 0, sizeof *result);
    CLV_TRY(clv_register_alone_make(images, options, true, &alone));
    images = &alone.images;
    options = &alone.options;
    CLV_TRY(check(images, options));
    CLV_TRY(clv_register_canonical_make(images, true, &canonical));
    const clvox_grid *shown = &clv_register_first(images, false)->grid;
    bytes = most_bytes(images, options);
    const double waits = clv_seconds();
    clv_gate_enter(clv_context_gate(context), bytes);
    mark += clv_seconds() - waits;
    status = run_canonical(context, &canonical.images, options, fields, shown, mark, result);
    clv_gate_leave(clv_context_gate(context), bytes);
    CLV_TRY(status);
    /* The volumes in the axes of the images that were given. */
    result->grid = *shown;
    CLV_TRY(clv_register_canonical_return(&result->grid, result));
    if (result->warped)
        CLV_TRY(clvox_volume_store_as(result->warped, images->moving[0], 0, options->output));
    clv_register_alone_result(&alone, result);
end:
    clv_register_canonical_free(&canonical);
    clv_register_alone_free(&alone);
    if (status < 0)
        clvox_register_result_destroy(result);
    return status;
}

int clvox_register(clvox_context *context, const clvox_register_images *images,
                   const clvox_register_options *options, clvox_register_result *result)
{
    CLV_GIVEN(context, images, result);
    CLV_HOST_THREADS(context);
    return clv_register_to(context, images, options, NULL, result);
}

void clvox_register_result_destroy(clvox_register_result *result)
{
    if (!result)
        return;
    clvox_volume_destroy(&result->warp);
    clvox_volume_destroy(&result->inverse_warp);
    clvox_volume_destroy(&result->momentum);
    clvox_volume_destroy(&result->warped);
}
