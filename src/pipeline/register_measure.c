/* SPDX-License-Identifier: Apache-2.0 */
/* The report's numbers: how alike the images are before, between and after. */
#include <math.h>

#include "op/resample.h"
#include "pipeline/register.h"

clvox_metric clv_register_metric(const clvox_register_options *o)
{
    return o->deform == CLVOX_DEFORM_NONE ? o->linear_metric : o->metric;
}

int clv_register_measure(clv_registration *run, const double matrix[4][4], const clv_buffer *u,
                         clv_likeness_report *report)
{
    int status = CLVOX_OK;
    clvox_metric metric = clv_register_metric(run->options);
    clv_map map;
    *report = (clv_likeness_report){0};
    clv_map_between(&run->fixed_grid, &run->moving_grid, matrix, 1, &map);
    for (int i = 0; i < run->channel_count; i++) {
        const clv_channel *c = &run->channels[i];
        double square, ncc;
        CLV_TRY(clv_warp(run->ctx, c->moving, run->moving_grid.size, &map, u, CLV_LINEAR, 0, run->scratch_a,
                         run->fixed_grid.size));
        CLV_TRY(clv_similarity(run, run->scratch_a, c->fixed, run->fixed_mask, run->n, &square, &ncc));
        report->mean_square += c->weight * square;
        report->ncc += c->weight * ncc;
        report->metric += c->weight * (metric == CLVOX_METRIC_SSD ? square : ncc * ncc);
    }
end:
    return status;
}
