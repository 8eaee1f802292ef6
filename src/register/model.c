/* SPDX-License-Identifier: Apache-2.0 */
/* The list of models, and what they take by themselves. */
#include "register/model.h"
#include "base/status.h"

#include <string.h>

#include "register/options.h"

#define MODELS(model) \
    model(UNBIASED, unbiased) \
    model(GREEDY, greedy) \
    model(SYN, syn) \
    model(LDDMM, lddmm) \
    model(SHOOTING, shooting)

#define DECLARE(value, name) extern const clv_model clv_model_##name;
#define LIST(value, name) [CLVOX_DEFORM_##value] = &clv_model_##name,
MODELS(DECLARE)
static const clv_model *const models[] = {MODELS(LIST)};

const clv_model *clv_model_find(clvox_deform deform)
{
    return (unsigned)deform < sizeof models / sizeof *models ? models[deform] : NULL;
}

const char *clv_model_name(clvox_deform deform)
{
    const clv_model *m = clv_model_find(deform);
    return deform == CLVOX_DEFORM_NONE ? "none" : m ? m->name : NULL;
}

bool clv_model_takes(const clv_model *model, const char *option)
{
    for (const char *const *name = model->takes; *name; name++)
        if (!strcmp(*name, option))
            return true;
    return false;
}

bool clv_model_compares(clvox_deform deform, clvox_metric metric)
{
    const clv_model *m = clv_model_find(deform);
    return !m || m->metrics >> metric & 1;
}

bool clv_model_has(const clv_model *m, clvox_preset preset)
{
    return m->presets[preset].levels > 0;
}

void clvox_register_preset(clvox_register_options *o, clvox_preset preset)
{
    CLV_GIVEN_OR(, o);
    const clv_model *m = clv_model_find(o->deform);
    if (m && (unsigned)preset < CLV_PRESETS && !clv_model_has(m, preset))
        preset = CLVOX_PRESET_DEFAULT;
    for (int i = 0; m && (unsigned)preset < CLV_PRESETS && i < clv_register_table.count; i++)
        if (clv_register_table.rows[i].preset)
            clv_option_copy(&clv_register_table.rows[i], &m->presets[preset], o);
}

void clvox_register_defaults(clvox_register_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_register_options){
        .size = sizeof *options,
        .linear = CLVOX_LINEAR_AFFINE,
        .linear_metric = CLVOX_METRIC_MI,
        .linear_radius = 2,
        .linear_bins = 32,
        .sides = 1,
        .deform = CLVOX_DEFORM_SYN,
        .consistency = 1,
        .winsorize_high = 1,
        .surface_weight = 1,
        .curves_weight = 1,
        .curves_kind = CLVOX_SURFACE_VARIFOLD,
        .cloud_weight = 1,
        .surface_widths = 1,
        .currents = CLVOX_CURRENTS_AUTO,
        .posteriors_weight = 10,
        .tissue_weight = {1},
        .tissue_weights = 1,
        .restrict_axes = {1, 1, 1},
    };
    for (int i = 0; i < 4; i++)
        options->matrix[i][i] = 1;
    clvox_register_preset(options, CLVOX_PRESET_DEFAULT);
}
