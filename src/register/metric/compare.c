/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of images by all metrics that the host computes, and the metrics in words. */
#include "base/options.h"
#include "clvox/compare.h"

#include <math.h>

#include "base/status.h"
#include "register/metric/metric.h"

int clvox_metric_describe(int at, clvox_metric_text *out)
{
    CLV_GIVEN_OR(0, out);
    const clv_metric_row *row = at < 0 ? NULL : clv_metric_find((clvox_metric)at);
    if (!row)
        return 0;
    *out = (clvox_metric_text){.name = row->name,
                               .also = row->also,
                               .title = row->title,
                               .unit = row->unit,
                               .parameter = row->parameter,
                               .meaning = row->meaning,
                               .compared = row->compare != NULL,
                               .compares_values = row->compares_values};
    if (row->compare && row->parameter) {
        out->least = row->compared[0];
        out->standard = row->compared[1];
        out->most = row->compared[2];
    }
    return 1;
}

void clvox_compare_defaults(clvox_compare_options *options)
{
    CLV_GIVEN_OR(, options);
    *options = (clvox_compare_options){.size = sizeof *options};
    for (int i = 0; i < CLVOX_MAX_METRICS && clv_metric_name(i); i++)
        options->parameter[i] = clv_metric_find((clvox_metric)i)->compared[1];
}

int clvox_compare_images(const clvox_volume *a, const clvox_volume *b, const clvox_volume *mask,
                         const clvox_compare_options *options, clvox_image_comparison *out)
{
    CLV_GIVEN(a, b, out);
    int status = CLVOX_OK;
    clv_comparison c;
    clvox_compare_options standard;
    clvox_compare_defaults(&standard);
    if (!options)
        options = &standard;
    if ((status = clv_options_sized(options, sizeof *options)) < 0)
        return status;
    *out = (clvox_image_comparison){0};
    for (int i = 0; i < CLVOX_MAX_METRICS; i++)
        out->metric[i] = NAN;
    CLV_TRY(clv_compare_begin(a, b, mask, &c));
    for (int i = 0; i < CLVOX_MAX_METRICS && clv_metric_name(i); i++) {
        const clv_metric_row *row = clv_metric_find((clvox_metric)i);
        if (row->compare)
            CLV_TRY(row->compare(&c, options->parameter[i], &out->metric[i]));
    }
    CLV_TRY(clv_compare_nmi(&c, options->parameter[CLVOX_METRIC_MI], &out->nmi));
    out->values = c.values;
    out->differing = c.differing;
    out->largest = c.largest;
    out->rms = sqrt(c.ssd / (double)c.values);
end:
    return status;
}
