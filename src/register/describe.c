/* SPDX-License-Identifier: Apache-2.0 */
/* What a program can know of models, metrics and a run before it starts. */
#include <stdio.h>

#include "clvox/compare.h"

#include "base/status.h"
#include "register/alone.h"
#include "register/metric/metric.h"
#include "register/model.h"

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

int clvox_register_plan_make(const clvox_register_images *images, const clvox_register_options *options,
                             clvox_register_plan *plan)
{
    CLV_GIVEN(images, plan);
    clv_register_alone alone;
    int status = clv_register_alone_make(images, options, false, &alone);
    if (status < 0)
        return status;
    *plan = (clvox_register_plan){.bytes = clvox_register_bytes(images, options)};
    images = &alone.images;
    options = &alone.options;
    if (!plan->bytes)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d channels and %d levels: 1 to %d and %d are possible",
                          images->channels, options->levels, CLVOX_MAX_CHANNELS, CLVOX_MAX_LEVELS);
    plan->exchanged =
        !alone.alone && clv_register_exchanges(images, options) && clv_register_order(images, true) > 0;
    plan->levels = options->deform == CLVOX_DEFORM_NONE ? 0 : options->levels;
    for (int i = 0; i < plan->levels; i++) {
        const clvox_volume *first = clv_register_first(images, plan->exchanged);
        clvox_grid level;
        clv_register_level(&first->grid, options->shrink[i], &level);
        for (int a = 0; a < 3; a++)
            plan->size[i][a] = level.size[a];
    }
    return CLVOX_OK;
}
