/* SPDX-License-Identifier: Apache-2.0 */
/* One-sided registration by compositive steps. */
#include "register/compositive.h"
#include "register/contrast/synthesis.h"
#include "register/pyramid.h"
#include "register/thresholds.h"

static int requests(clv_registration *run, clv_request *list)
{
    return clv_compositive_requests(run, false, list);
}

static int run_greedy(clv_registration *run, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clvox_grid at;
    CLV_TRY(clv_compositive_levels(run, result, &at));
    if (clv_contrast_begins_again(run))
        goto end;
    CLV_TRY(clv_pyramid_end(run, &at, SMALLEST_WHOLE));
    clv_compositive_lend(run);
end:
    return status;
}

static const char *const takes[] = {CLV_COMPOSITIVE_TAKES, "operator", NULL};

#define COMMON                                                                               \
    .metric = CLVOX_METRIC_LNCC, .radius = 2, .bins = 32, CLV_SMOOTH_BY_SHRINK, .levels = 3, \
    .shrink = {4, 2, 1}, .update_sigma = 1.25

const clv_model clv_model_greedy = {
    .deform = CLVOX_DEFORM_GREEDY,
    .name = "greedy",
    .requests = requests,
    .run = run_greedy,
    .metrics = ~0u,
    .by_contrast = true,
    .border_stays = true,
    .starts_from_warp = true,
    .takes = takes,
    .presets =
        {
            [CLVOX_PRESET_QUICK] = {COMMON, .iterations = {25, 25, 6}, .update_damping = 0.9,
                                    .finer_damping = 0.4, .total_sigma = 0.7, .step = 1.25,
                                    .finest_step = 3, .momentum = 0.6, .tolerance = 1e-4},
            [CLVOX_PRESET_DEFAULT] = {COMMON, .iterations = {40, 40, 20}, .update_damping = 0.9,
                                      .total_sigma = 0.7, .step = 1, .finest_step = 2, .momentum = 0.8,
                                      .tolerance = 1e-5},
            [CLVOX_PRESET_REGULAR] = {COMMON, .iterations = {60, 60, 30}, .update_damping = 0.9,
                                      .total_sigma = 1, .step = 1, .finest_step = 2, .momentum = 0.8,
                                      .tolerance = 1e-5},
            [CLVOX_PRESET_BEST] = {COMMON, .iterations = {100, 100, 60}, .update_damping = 0.9,
                                   .total_sigma = 0.75, .step = 1, .finest_step = 2, .momentum = 0.8,
                                   .tolerance = 1e-6},
        },
};
