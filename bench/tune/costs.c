/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of pairs of elements and of particle meshes on the device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/mesh_products.h"
#include "bench/tune/tune.h"
#include "op/anatomy/currents.h"

enum { SAMPLES = 7 };
/* A sample takes at least as long, seconds. */
static const double SHORTEST = 5e-3;

static const bench_row *row_of(const char *name)
{
    for (const bench_row *row = bench_rows_anatomy; row->name; row++)
        if (!strcmp(row->name, name))
            return row;
    return NULL;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of a call, by the host's clock and in a queue that is never empty, as a pipeline's. */
static int time_of(bench_data *d, const tune_options *o, int (*run)(bench_data *), double *seconds)
{
    int status = CLVOX_OK, calls = 1;
    double sample[SAMPLES];
    for (int i = -2; i < SAMPLES;
         i++) { /* two to warm up, of which the second says how many calls a sample takes */
        if (o->stop && o->stop())
            return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
        CLV_TRY(clv_finish(d->ctx));
        const double start = clv_seconds();
        for (int k = 0; k < calls; k++)
            CLV_TRY(run(d));
        CLV_TRY(clv_finish(d->ctx));
        const double took = (clv_seconds() - start) / calls;
        if (i == -1)
            calls = (int)fmin(ceil(SHORTEST / fmax(took, 1e-7)), 1000);
        if (i >= 0)
            sample[i] = took;
    }
    qsort(sample, SAMPLES, sizeof *sample, compare);
    *seconds = sample[SAMPLES / 2];
end:
    return status;
}

static int time_row(bench_data *d, const tune_options *o, const char *name, double *seconds, double *elements)
{
    int status = CLVOX_OK, size[3];
    const bench_row *row = row_of(name);
    CLV_TRY(bench_verify(d->ctx, row, row->name));
    CLV_TRY(row->begin(d));
    CLV_TRY(time_of(d, o, row->run, seconds));
    row->size(d, size);
    *elements = size[0];
end:
    return status;
}

static double nodes_of(const bench_data *d)
{
    const int *n = d->mesh.grid.size;
    return (double)n[0] * n[1] * n[2];
}

/* As samples of a mesh are taken: a group of elements, and a number that comes to the host. */
static int sample(bench_data *d)
{
    int status = CLVOX_OK;
    double product;
    const int count = CLV_MESH_SAMPLES / CLV_MESH_GROUPS;
    const clv_currents_args args = {.target = {d->out[0], d->solver[0], count},
                                    .source = {d->out[1], d->solver[1], count},
                                    .width = 8,
                                    .partial = d->partial};
    CLV_TRY(clv_currents(d->ctx, &args));
    CLV_TRY(clv_currents_product(d->ctx, d->partial, count, &product));
end:
    return status;
}

/* A mesh takes node * nodes + share * 2 elements, which two grids of the same elements tell apart. */
static int measure(bench_data *d, const tune_options *o, clv_mesh_costs *out)
{
    int status = CLVOX_OK;
    double elements = 0, pairs = 0, derived = 0, coarse = 0, fine = 0, launch = 0;
    CLV_TRY(time_row(d, o, "currents", &pairs, &elements));
    CLV_TRY(time_of(d, o, sample, &launch));
    CLV_TRY(time_row(d, o, "currents, gradient", &derived, &elements));
    pairs = fmax(pairs, 1e-9);
    CLV_TRY(time_row(d, o, "particle mesh of 1e-3", &coarse, &elements));
    const double few = nodes_of(d);
    CLV_TRY(time_row(d, o, "particle mesh of 1e-5", &fine, &elements));
    const double many = nodes_of(d), node = fmax((fine - coarse) / (many - few), 1e-3 * fine / many);
    *out = (clv_mesh_costs){.pair = pairs / (elements * elements),
                            .node = node,
                            .share = fmax(coarse - node * few, 1e-3 * coarse) / (2 * elements),
                            .launches = 4 * CLV_MESH_GROUPS * launch,
                            .derivative = fmax(derived / pairs, 1)};
end:
    return status;
}

int bench_tune_costs(clvox_context *ctx, const tune_options *o, FILE *out, cJSON *json)
{
    static const int size[2][3] = {{96, 96, 96}, {40, 40, 40}};
    int status = CLVOX_OK;
    const clvox_device_limits *limits = clvox_context_limits(ctx);
    bench_data data = {.n = 0};
    clv_mesh_costs c;
    clv_wisdom_cost costs[CLV_MESH_COST_KINDS];
    CLV_TRY(bench_data_create(ctx, size[limits->type == CLVOX_DEVICE_CPU], false, &data));
    CLV_TRY(measure(&data, o, &c));
    clv_mesh_costs_record(&c, costs);
    fprintf(out,
            "%-50s a pair %.2e s, %.2f times that with its derivative; of a mesh a node %.2e s, an element "
            "%.2e s, samples %.1e s\n",
            CLV_MESH_COSTS, c.pair, c.derivative, c.node, c.share, c.launches);
    if (json) {
        cJSON *to = cJSON_AddObjectToObject(json, CLV_MESH_COSTS);
        cJSON_AddNumberToObject(to, "pair", c.pair);
        cJSON_AddNumberToObject(to, "derivative", c.derivative);
        cJSON_AddNumberToObject(to, "node", c.node);
        cJSON_AddNumberToObject(to, "share", c.share);
        cJSON_AddNumberToObject(to, "launches", c.launches);
    }
    if (!o->path)
        goto end;
    CLV_TRY(clv_wisdom_store_costs(o->path, limits, costs, CLV_MESH_COST_KINDS, o->remark));
    if (o->kept)
        ++*o->kept;
end:
    bench_data_release(&data);
    return status;
}
