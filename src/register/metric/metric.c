/* SPDX-License-Identifier: Apache-2.0 */
/* The list of metrics. */
#include "register/metric/metric.h"

#include <stdio.h>

#define METRICS(metric) \
    metric(SSD, ssd) \
    metric(NCC, ncc) \
    metric(LNCC, lncc) \
    metric(MI, mi) \
    metric(MIND, mind)

#define DECLARE(value, name) extern const clv_metric_row clv_metric_##name;
#define LIST(value, name) [CLVOX_METRIC_##value] = &clv_metric_##name,
METRICS(DECLARE)
static const clv_metric_row *const metrics[] = {METRICS(LIST)};

const clv_metric_row *clv_metric_find(clvox_metric metric)
{
    return (unsigned)metric < sizeof metrics / sizeof *metrics ? metrics[metric] : NULL;
}

const char *clv_metric_name(int at)
{
    const clv_metric_row *row = at < 0 ? NULL : clv_metric_find((clvox_metric)at);
    return row ? row->name : NULL;
}

int clv_metric_parameter(const clv_metric_row *row, const clvox_register_options *options, bool linear)
{
    size_t field = linear ? row->linear_field : row->field;
    return row->parameter ? *(const int *)(const void *)((const char *)options + field) : 0;
}

char *clv_metric_says(const clv_metric_row *row, int parameter, char *out)
{
    if (row->parameter)
        snprintf(out, 32, "%s (%s%d%s)", row->name, row->says[0], parameter, row->says[1]);
    else
        snprintf(out, 32, "%s", row->name);
    return out;
}
