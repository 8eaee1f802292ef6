/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "register/compositive.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/register.h"
#include "runtime/program/ahead.h"

/* "lncc:2", as the lists of kernels (cl/ahead.txt) say it. */
static void name_metric(clvox_metric metric, const clvox_register_options *o, bool linear, char out[32])
{
    const clv_metric_row *row = clv_metric_find(metric);
    int parameter = clv_metric_parameter(row, o, linear);
    if (parameter)
        snprintf(out, 32, "%s:%d", row->name, parameter);
    else
        snprintf(out, 32, "%s", row->name);
}

int clv_register_build_ahead(const clv_registration *run, bool masks)
{
    const clvox_register_options *o = run->options;
    char linear[64], deform[64], metric[32];
    const char *lists[6] = {linear, deform};
    int count = 2;
    name_metric(o->linear_metric, o, true, metric);
    snprintf(linear, sizeof linear, "register linear %s", metric);
    name_metric(o->metric, o, false, metric);
    snprintf(deform, sizeof deform, "register %s %s", clv_model_name(o->deform), metric);
    if (clv_compositive_with_mind(o))
        lists[count++] = "register mind";
    if (masks)
        lists[count++] = "register masks";
    if (run->shapes.count > 0)
        lists[count++] = "register shapes";
    if (run->channel_count > run->image_count)
        lists[count++] = "register posteriors";
    return clv_build_ahead(run->ctx, lists, count, run->fixed_grid.size);
}
