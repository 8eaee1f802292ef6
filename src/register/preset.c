/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that a model takes by itself, for people in a hurry and for those
 * who measure on the map itself: a row for each model and preset. */
#include <string.h>

#include "register/register.h"

typedef struct numbers {
    clvox_deform deform;
    clvox_preset preset;
    clvox_metric metric;
    int radius, bins, local_gradient;
    int levels;
    double shrink[CLVOX_MAX_LEVELS];
    int iterations[CLVOX_MAX_LEVELS];
    double update_sigma, total_sigma, lambda, step, finest_step, momentum, tolerance;
} numbers;

static const numbers rows[] = {
    {CLVOX_DEFORM_UNBIASED, CLVOX_PRESET_QUICK, CLVOX_METRIC_SSD, 2, 32, 0,
     2, {4, 2}, {100, 60}, 2.5, 0, 0.003, 0.4, 0.4, 0, 1e-4},
    {CLVOX_DEFORM_UNBIASED, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_SSD, 2, 32, 0,
     3, {4, 2, 1}, {100, 100, 50}, 2.5, 0, 0.003, 0.4, 0.4, 0, 1e-5},
    {CLVOX_DEFORM_UNBIASED, CLVOX_PRESET_BEST, CLVOX_METRIC_SSD, 2, 32, 0,
     3, {4, 2, 1}, {200, 200, 150}, 2.5, 0, 0.003, 0.4, 0.4, 0, 1e-6},
    {CLVOX_DEFORM_GREEDY, CLVOX_PRESET_QUICK, CLVOX_METRIC_LNCC, 2, 32, 0,
     3, {4, 2, 1}, {30, 30, 12}, 1.25, 0.91, 0, 1, 1, 0.8, 1e-4},
    {CLVOX_DEFORM_GREEDY, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_LNCC, 2, 32, 0,
     3, {4, 2, 1}, {40, 40, 20}, 1.25, 0.75, 0, 1, 2, 0.8, 1e-5},
    {CLVOX_DEFORM_GREEDY, CLVOX_PRESET_BEST, CLVOX_METRIC_LNCC, 2, 32, 0,
     3, {4, 2, 1}, {100, 100, 60}, 1.25, 0.75, 0, 1, 2, 0.8, 1e-6},
    {CLVOX_DEFORM_SYN, CLVOX_PRESET_QUICK, CLVOX_METRIC_LNCC, 2, 32, 0,
     3, {4, 2, 1}, {20, 20, 5}, 1.25, 0.8, 0, 1, 1, 0.3, 1e-4},
    {CLVOX_DEFORM_SYN, CLVOX_PRESET_DEFAULT, CLVOX_METRIC_LNCC, 2, 32, 0,
     3, {4, 2, 1}, {60, 50, 13}, 1.25, 0.7, 0, 0.7, 2, 0.3, 1e-5},
    /* As calm as the maps of ANTs' CC, and as much overlap; the default overlaps most. */
    {CLVOX_DEFORM_SYN, CLVOX_PRESET_BEST, CLVOX_METRIC_LNCC, 3, 32, 0,
     4, {6, 3, 2, 1}, {100, 100, 100, 60}, 1, 1.18, 0, 1.5, 2, 0.6, 1e-6},
};

void clvox_register_preset(clvox_register_options *o, clvox_preset preset)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const numbers *r = &rows[i];
        if (r->deform != o->deform || r->preset != preset)
            continue;
        o->metric = r->metric;
        o->radius = r->radius;
        o->bins = r->bins;
        o->local_gradient = r->local_gradient;
        o->levels = r->levels;
        memcpy(o->shrink, r->shrink, sizeof o->shrink);
        memcpy(o->iterations, r->iterations, sizeof o->iterations);
        for (int level = 0; level < CLVOX_MAX_LEVELS; level++)
            o->smooth_voxels[level] = -1;
        o->update_sigma = r->update_sigma;
        o->total_sigma = r->total_sigma;
        o->lambda = r->lambda;
        o->step = r->step;
        o->finest_step = r->finest_step;
        o->momentum = r->momentum;
        o->tolerance = r->tolerance;
    }
}

void clvox_register_defaults(clvox_register_options *options)
{
    *options = (clvox_register_options){
        .linear = CLVOX_LINEAR_AFFINE,
        .linear_metric = CLVOX_METRIC_MI,
        .linear_radius = 2,
        .linear_bins = 32,
        .deform = CLVOX_DEFORM_SYN,
        .consistency = 1,
    };
    for (int i = 0; i < 4; i++)
        options->matrix[i][i] = 1;
    clvox_register_preset(options, CLVOX_PRESET_DEFAULT);
}
