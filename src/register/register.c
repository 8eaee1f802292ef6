/* SPDX-License-Identifier: Apache-2.0 */
/* A registration from two volumes to transforms: the steps that lead to a problem for the device, and how
 * that is solved. */
#include "register/register.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/matrix.h"
#include "base/options.h"
#include "base/status.h"
#include "register/model.h"
#include "register/problem.h"
#include "register/contrast/synthesis.h"
#include "register/terms/terms.h"
#include "runtime/device/host.h"

static const clv_step *const steps[] = {
    &clv_step_shape_only,
    &clv_step_checks,
    &clv_step_ras_order,
    &clv_step_memory,
    &clv_step_one_grid,
    &clv_step_preprocessing,
    &clv_step_quality_control,
    &clv_step_symmetric_order,
    &clv_step_coarser_grids,
    NULL,
};

/* A mask of one image alone stands in the other's slot once the pair has been exchanged, and of one
 * stage where another one has failed. */
static void release(clv_registration *run, const clv_request *requests, int count)
{
    clv_terms_release(run);
    clv_contrast_release(run);
    clv_foreground_free(&run->foreground);
    clv_pool_release(requests, count);
    for (int i = 0; i < 2; i++) {
        clv_buffer_destroy(&run->masks.of[i]);
        clv_buffer_destroy(&run->masks.linear[i]);
    }
}

int clv_register_without(clv_registration *run, int status)
{
    if (status != CLVOX_ERROR_MEMORY)
        return status;
    run->suspicions |= CLVOX_SUSPECT_MEMORY;
    return CLVOX_OK;
}

/* Statistics of the deformation, on the grid of the run, and by them whether the images are unlike. */
static int survey(clv_registration *run, double content, bool *unlike, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_field_survey found;
    CLV_TRY(
        clv_register_survey(run, run->u, &run->fixed_grid, run->masks.of[0], NULL, run->scratch_a, &found));
    CLV_TRY(clv_register_state(&found, &run->fixed_grid, &run->moving_grid, result));
    CLV_TRY(clv_quality_unlike(run, content, result, unlike));
end:
    return status;
}

/* How alike the images are before, after the linear part and after the deformation. */
static int compare(clv_registration *run, clvox_register_result *result, double *content)
{
    int status = CLVOX_OK;
    clv_metric_report before, linear, after;
    CLV_TRY(clv_register_measure(run, false, NULL, &before));
    CLV_TRY(clv_register_measure(run, true, NULL, &linear));
    after = linear;
    if (run->u)
        CLV_TRY(clv_register_measure(run, true, run->u, &after));
    result->metric = clv_register_metric(run->options);
    result->metric_before = before.metric;
    result->metric_linear = linear.metric;
    result->metric_after = after.metric;
    result->ncc_before = before.ncc;
    result->ncc_linear = linear.ncc;
    result->ncc_after = after.ncc;
    result->mismatch = linear.mean_square > 0 ? after.mean_square / linear.mean_square : 1;
    *content = after.content;
end:
    return status;
}

/* Takes the buffers of a run, or those that it can do without AUTO's meshes by. */
static int take(clv_registration *run, clv_request *requests, int *count)
{
    *count = clv_register_list(run, requests);
    int status = clv_pool_take(run->ctx, requests, *count);
    if (status != CLVOX_ERROR_MEMORY || run->shapes.room_nodes <= 0 ||
        run->options->currents != CLVOX_CURRENTS_AUTO)
        return status;
    run->options->currents = CLVOX_CURRENTS_EXACT;
    run->shapes.no_room = true;
    *count = clv_register_list(run, requests);
    return clv_pool_take(run->ctx, requests, *count);
}

/* The deformation of images as they contrast: again, where it has found that they do so otherwise. */
static int deform(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const clv_model *model = clv_model_find(run->options->deform);
    do {
        const double mark = clv_seconds();
        CLV_TRY(clv_contrast_enter(run));
        CLV_TRY(clv_register_match(run));
        const double matched = clv_seconds();
        if (model)
            CLV_TRY(model->run(run, result));
        result->seconds_linear += matched - mark;
        result->seconds_deform += clv_seconds() - matched;
    } while (clv_contrast_begins_again(run));
    if (model)
        clv_terms_report(run, result);
end:
    return status;
}

/* Figures of a result, and the evidence by which it is judged. */
static int look(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    const double mark = clv_seconds();
    clv_register_evidence *evidence = run->problem->evidence;
    double content;
    CLV_TRY(compare(run, result, &content));
    if (run->u)
        CLV_TRY(survey(run, content, &evidence->unlike, result));
    evidence->suspicions = run->suspicions;
    result->seconds_deform += clv_seconds() - mark;
end:
    return status;
}

/* The problem on the device. */
static int solve(const clv_problem *p, clvox_register_result *result)
{
    int status = CLVOX_OK, count = 0;
    clvox_register_options own = p->options;
    clv_request requests[CLV_REGISTER_REQUESTS];
    clv_registration run = {
        .ctx = p->ctx, .problem = p, .options = &own, .order = p->order, .suspicions = p->suspicions};
    clv_register_describe(&run, &clv_register_first(&p->images, false)->grid,
                          &clv_register_first(&p->images, true)->grid);
    run.shapes.no_room = p->no_room;
    CLV_TRY(take(&run, requests, &count));
    CLV_TRY(clv_register_crop(&run));
    CLV_TRY(clv_register_upload(&run));
    double mark = clv_seconds();
    result->seconds_prepare = mark - p->since;
    CLV_TRY(clv_symmetric_linear(&run));
    result->seconds_linear = clv_seconds() - mark;
    CLV_TRY(deform(&run, result));
    CLV_TRY(look(&run, result));
    mark = clv_seconds();
    CLV_TRY(clv_register_finish(&run, result));
    result->seconds_finish = clv_seconds() - mark;
end:
    release(&run, requests, count);
    return status;
}

/* Solves a problem by the steps that are left. */
static int walk(const clv_step *const *step, const clv_problem *outer, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_problem p;
    if (!*step)
        return solve(outer, result);
    CLV_TRY(clv_problem_enter(*step, outer, &p));
    CLV_TRY(walk(step + 1, &p, result));
    if ((*step)->leave)
        CLV_TRY((*step)->leave(&p, result));
end:
    if ((*step)->release)
        (*step)->release(&p);
    clv_problem_free(&p);
    return status;
}

static void round_warps(clvox_register_result *result)
{
    clvox_volume *const warps[] = {result->warp, result->inverse_warp};
    for (int i = 0; i < 2; i++)
        if (warps[i])
            result->warp_rounding_mm = fmax(result->warp_rounding_mm, clvox_warp_round(warps[i]));
}

int clv_register_to(clvox_context *context, const clvox_register_images *images,
                    const clvox_register_options *options, const clv_register_fields *fields,
                    clvox_register_result *result)
{
    clv_register_evidence evidence;
    memset(result, 0, sizeof *result);
    int status = options ? clv_options_sized(options, sizeof *options) : CLVOX_OK;
    if (status < 0)
        return status;
    clv_problem asked = clv_problem_of(context, images, options);
    asked.fields = fields;
    asked.evidence = &evidence;
    status = walk(steps, &asked, result);
    if (status >= 0 && options && options->warp_type == CLVOX_WARP_ROUNDED)
        round_warps(result);
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
