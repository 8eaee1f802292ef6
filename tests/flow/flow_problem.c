/* SPDX-License-Identifier: Apache-2.0 */
#include "flow_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "op/harness.h"

void flow_problem_make(clvox_context *ctx, flow_problem *p, const int size[3], const double spacing[3],
                       const clvox_register_options *options)
{
    memset(p, 0, sizeof *p);
    pair_make(&p->images, size, spacing, false, (size[0] < 20 ? .4 : 1.2) * spacing[0], 5);
    p->options = *options;
    static const double from[] = {-4, 3, 2, 5, -2.5, 1, .5, 4, -6}, to[] = {-2, 4.5, 1, 4, -4.5, 3, 1.5, 2, -7};
    clvox_volume *tissues[2] = {NULL, NULL};
    for (int side = 0; side < 2 && options->tissue_weights > 1; side++)
        tissues[side] = pair_tissues(side ? p->images.moving : p->images.fixed, 3, 1);
    p->problem.images = (clvox_register_images){.fixed_posteriors = tissues[0],
                                          .moving_posteriors = tissues[1],
                                          .fixed_points = from,
                                          .moving_points = to,
                                          .points = 3,
                                          .fixed = {p->images.fixed},
                                          .moving = {p->images.moving},
                                          .weight = {1},
                                          .channels = 1};
    p->run = (clv_registration){.ctx = ctx, .problem = &p->problem, .options = &p->options};
    clv_register_describe(&p->run, &p->images.fixed->grid, &p->images.moving->grid);
    for (int i = 0; i < 4; i++)
        p->run.matrix[i][i] = 1;
    p->count = clv_register_list(&p->run, p->requests);
    assert_ok(clv_pool_take(ctx, p->requests, p->count));
    assert_ok(clv_register_upload(&p->run));
    assert_ok(clv_register_match(&p->run));
    assert_ok(clv_pyramid_make(&p->run, options->levels - 1, true, &p->level));
    assert_ok(clv_flow_begin(&p->flow, &p->run, &p->level));
    p->n = (size_t)p->level.n;
    clvox_volume_destroy(&tissues[0]);
    clvox_volume_destroy(&tissues[1]);
}

void flow_problem_free(flow_problem *p)
{
    clv_flow_end(&p->flow);
    clv_pool_release(p->requests, p->count);
    pair_free(&p->images);
}

float *flow_problem_field(const flow_problem *p, unsigned seed, double longest)
{
    const int *size = p->level.fixed.size;
    float *out = malloc(3 * p->n * sizeof *out);
    for (size_t i = 0; i < p->n; i++) {
        const int x[3] = {(int)(i % (size_t)size[0]), (int)(i / (size_t)size[0] % (size_t)size[1]),
                          (int)(i / ((size_t)size[0] * (size_t)size[1]))};
        for (int c = 0; c < 3; c++) {
            double value = longest;
            for (int a = 0; a < 3; a++) {
                double t = size[a] > 1 ? x[a] / (size[a] - 1.) : .5, edge = sin(acos(-1) * t);
                value *= edge * edge * (1 + .7 * sin((2 + (seed + (unsigned)(a + c)) % 3) * t + seed + c + 2 * a));
            }
            out[(size_t)c * p->n + i] = (float)(size[c] > 1 ? value : 0);
        }
    }
    return out;
}

void flow_problem_download(const flow_problem *p, const clv_buffer *field, float *out)
{
    clv_buffer *copy = harness_output(p->run.ctx, 3 * p->n * sizeof(float));
    assert_ok(clv_buffer_copy(p->run.ctx, field, 0, copy, 0, 3 * p->n * sizeof(float)));
    harness_download_field(p->run.ctx, copy, out, p->n);
    clv_buffer_destroy(&copy);
}

void flow_problem_upload(const flow_problem *p, const float *values, clv_buffer *field)
{
    clv_buffer *from = harness_upload_field(p->run.ctx, values, p->n);
    assert_ok(clv_buffer_copy(p->run.ctx, from, 0, field, 0, 3 * p->n * sizeof(float)));
    clv_buffer_destroy(&from);
}

double flow_problem_metric(flow_problem *p)
{
    float numbers[CLV_FLOW_NUMBERS];
    double mean, sum;
    assert_ok(clv_flow_compare(&p->flow));
    assert_ok(clv_buffer_read(p->run.ctx, clv_flow_of(&p->run)->numbers, 0, numbers, sizeof numbers));
    assert_ok(clv_flow_metric(&p->flow, numbers + CLV_FLOW_METRIC, &mean, &sum));
    return sum;
}
