/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of models and metrics, and the plan of a run. */
#include <stdio.h>

#include "clvox/compare.h"

#include "base/options.h"
#include "base/status.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/problem.h"

int clvox_deform_describe(int at, clvox_deform_text *out)
{
    CLV_GIVEN_OR(0, out);
    const clv_model *m = clv_model_find((clvox_deform)at);
    if (at != CLVOX_DEFORM_NONE && !m)
        return 0;
    *out =
        (clvox_deform_text){.name = clv_model_name((clvox_deform)at), .gives_inverse = m && m->gives_inverse};
    for (int preset = 0; preset < CLV_PRESETS; preset++)
        if (!m || clv_model_has(m, (clvox_preset)preset))
            out->presets |= 1u << preset;
    return 1;
}

int clvox_deform_takes(clvox_deform deform, const char *option)
{
    CLV_GIVEN_OR(0, option);
    const clv_model *m = clv_model_find(deform);
    return m && clv_model_takes(m, option);
}

int clvox_metric_says(const clvox_register_options *options, clvox_metric metric, int linear, char out[32])
{
    CLV_GIVEN_OR(0, out);
    clvox_register_options standard;
    clvox_register_defaults(&standard);
    options = options ? options : &standard;
    const clv_metric_row *row = clv_metric_find(metric);
    if (!row) {
        *out = 0;
        return 0;
    }
    clv_metric_says(row, clv_metric_parameter(row, options, linear != 0), out);
    return 1;
}

int clvox_register_predict(const clvox_register_images *images, const clvox_register_options *options,
                             clvox_register_plan *plan)
{
    CLV_GIVEN(images, plan);
    int status = options ? clv_options_sized(options, sizeof *options) : CLVOX_OK;
    if (status < 0)
        return status;
    clv_problem asked = clv_problem_of(NULL, images, options), problem;
    const clvox_register_options *o = &problem.options;
    asked.planned = true;
    CLV_TRY(clv_problem_enter(&clv_step_shape_only, &asked, &problem));
    images = &problem.images;
    *plan = (clvox_register_plan){.bytes = clvox_register_bytes(images, o)};
    if (!plan->bytes) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%d channels and %d levels: 1 to %d and %d are possible",
                            images->channels, o->levels, CLVOX_MAX_CHANNELS, CLVOX_MAX_LEVELS);
        goto end;
    }
    /* Those that stand in have no contents to compare. */
    const bool exchanged =
        images->channels == asked.images.channels && clv_symmetric_plan(images, o, plan);
    plan->levels = o->deform == CLVOX_DEFORM_NONE ? 0 : o->levels;
    for (int i = 0; i < plan->levels; i++) {
        clvox_grid level;
        clv_register_level(&clv_register_first(images, exchanged)->grid, o->shrink[i], &level);
        for (int a = 0; a < 3; a++)
            plan->size[i][a] = level.size[a];
    }
end:
    clv_problem_free(&problem);
    return status;
}
