/* SPDX-License-Identifier: Apache-2.0 */
/* Symmetric registration (after Avants et al. 2008): both images move towards a
 * middle that lies on the fixed grid, by compositive steps. phi1 = x + u1 leads
 * from the middle to the fixed image, phi2 = x + u2 to the moving one, and what
 * the run leaves is h = phi2 o phi1^-1 with its inverse phi1 o phi2^-1. */
#include "register/compositive.h"
#include "register/contrast/synthesis.h"
#include "register/thresholds.h"

static int requests(clv_registration *run, clv_request *list)
{
    return clv_compositive_requests(run, true, list);
}

static int run_syn(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_compositive *c = clv_compositive_of(run);
    clvox_grid at;
    CLV_TRY(clv_compositive_levels(run, result, &at));
    if (clv_contrast_begins_again(run))
        goto end;
    const clv_halves halves = {c->u_fixed, &c->force, &c->force_fixed, c->velocity, run->metric_scratch};
    CLV_TRY(clv_symmetric_join(run, &at, SMALLEST_WHOLE, &halves));
    clv_compositive_lend(run);
end:
    return status;
}

#define COMMON                                                                               \
    .metric = CLVOX_METRIC_LNCC, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, .levels = 3, \
    .shrink = {4, 2, 1}

const clv_model clv_model_syn = {
    .deform = CLVOX_DEFORM_SYN,
    .name = "syn",
    .requests = requests,
    .run = run_syn,
    .metrics = ~0u,
    .by_contrast = true,
    .border_stays = true,
    .exchangeable = true,
    .gives_inverse = true,
    .starts_from_warp = true,
    .takes = clv_compositive_takes,
    .presets =
        {
            [CLVOX_PRESET_QUICK] = {COMMON, .iterations = {20, 20, 5}, .update_sigma = 1.25,
                                    .update_damping = 0.9, .total_sigma = 0.7, .step = 1, .finest_step = 1,
                                    .momentum = 0.3, .tolerance = 1e-4},
            [CLVOX_PRESET_DEFAULT] = {COMMON, .iterations = {60, 50, 11}, .update_sigma = 1.25,
                                      .update_damping = 0.96, .total_sigma = 0.7, .step = 0.7,
                                      .finest_step = 2, .momentum = 0.5, .tolerance = 1e-5},
            /* About the overlap of ANTs' CC or more, at nine tenths of its sd of log J or less. */
            [CLVOX_PRESET_REGULAR] = {COMMON, .iterations = {100, 80, 40}, .update_sigma = 1.25,
                                      .update_damping = 0.98, .total_sigma = 1.05, .step = 0.7,
                                      .finest_step = 2, .momentum = 0.6, .tolerance = 1e-5},
            [CLVOX_PRESET_BEST] = {COMMON, .iterations = {120, 100, 55}, .update_sigma = 1.35,
                                   .update_damping = 0.9, .finer_damping = 0.55, .total_sigma = 0.8,
                                   .step = 0.7, .finest_step = 4, .momentum = 0.5, .mind_weight = 27,
                                   .tolerance = 5e-5},
        },
};
