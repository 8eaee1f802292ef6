/* SPDX-License-Identifier: Apache-2.0 */
/* Deformation models. A model is a file with a row of this kind, clv_model_NAME,
 * and a line in the list of model.c. */
#ifndef CLV_REGISTER_MODEL_H
#define CLV_REGISTER_MODEL_H

#include "register/register.h"

enum { CLV_PRESETS = CLVOX_PRESET_BEST + 1 };

/* In a preset: every level is smoothed as its shrink factor asks for. */
#define CLV_SMOOTH_BY_SHRINK .smooth_voxels = {-1, -1, -1, -1, -1, -1, -1, -1}

/* Options of the terms of anatomy, which models take all or none of; of a model's `takes`. */
#define CLV_ANATOMY_TAKES                                                                              \
    "points-weight", "surface-weight", "surface-kind", "curves-weight", "curves-kind", "cloud-weight", \
        "width", "currents", "posteriors-weight", "posteriors-weights"

typedef struct clv_model {
    clvox_deform deform;
    const char *name;
    /* The buffers that it holds beside those of every run, run->u among them (and run->inverse, where it
     * gives one), from run->n, run->m, run->channel_count and the options alone; returns their number, at
     * most CLV_MODEL_REQUESTS. Their slots lie in the run or in clv_model_state. */
    int (*requests)(clv_registration *run, clv_request *list);
    /* Runs all levels, leaves run->u (and run->inverse) on the full fixed grid, h = x + u, and fills
     * result->iterations. */
    int (*run)(clv_registration *run, clvox_register_result *result);
    unsigned metrics;        /* that it compares by, a bit each: 1u << CLVOX_METRIC_... */
    bool one_channel;
    bool compares_values;    /* images are matched in intensity whatever the metric */
    bool border_stays;       /* the border of its grid does not move: it may work on a part of the fixed one */
    bool exchangeable; /* of two comparable images it may take either as the fixed one (symmetric_order.c) */
    bool by_contrast;        /* compares by MIND where contrasts differ, if asked to (options) */
    bool gives_inverse;      /* as part of the model, where it is asked for: the command always asks */
    bool starts_from_warp;   /* of clvox_register_images */
    const char *const *takes; /* options that are of some models alone, of which it takes these; ends with NULL */
    /* The fields of the table's rows with `preset`, by clvox_preset; not all models have a REGULAR. */
    clvox_register_options presets[CLV_PRESETS];
} clv_model;

/* NULL: none, or not in this version. */
const clv_model *clv_model_find(clvox_deform deform);
/* Name of a model or "none"; NULL: not in this version. */
const char *clv_model_name(clvox_deform deform);
bool clv_model_takes(const clv_model *model, const char *option);
bool clv_model_has(const clv_model *model, clvox_preset preset);
/* Also where there is no model. */
bool clv_model_compares(clvox_deform deform, clvox_metric metric);

/* A model's private state, a struct of its own of at most CLV_MODEL_BYTES: zeroed
 * where a run begins. */
#define CLV_MODEL_STATE(type, run) ((type *)(void *)(run)->model)

#endif
