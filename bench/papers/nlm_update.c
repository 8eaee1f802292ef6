/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means with the neighbours that a search has found: weights, whole
 * patches averaged, the paper's step. */
#include <math.h>
#include <stdlib.h>

#include "bench/papers/nlm.h"
#include "op/surface/nlm.h"
#include "op/image/reduce.h"
#include "ref/surface/nlm.h"

static const float UNIT[3] = {1, 1, 1}, WIDTH = .5f * BENCH_SAMPLES;

typedef struct update {
    bench_band *b;
    clv_nlm_graph graph;
    size_t voxels;
    clv_buffer *weights, *sums, *matrix, *estimates, *ends, *places, *index, *out, *partial, *state;
} update;

static void release(update *u)
{
    clv_buffer **all[] = {&u->weights, &u->sums,  &u->matrix, &u->estimates, &u->ends,
                          &u->places,  &u->index, &u->out,    &u->partial,   &u->state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
}

static int create(bench_band *b, update *u)
{
    const int *n = b->patches.phi.size;
    size_t count = (size_t)b->patches.count, voxels = (size_t)n[0] * (size_t)n[1] * (size_t)n[2];
    size_t matrix = count * (size_t)clv_nlm_stride(BENCH_RADIUS);
    int status = CLVOX_OK, found;
    *u = (update){.b = b, .voxels = voxels};
    const struct {
        clv_buffer **buffer;
        size_t words;
    } all[] = {{&u->weights, count * BENCH_MOST},
               {&u->sums, 2 * count},
               {&u->matrix, matrix},
               {&u->estimates, matrix},
               {&u->ends, clv_nlm_parts_bytes(n) / 4},
               {&u->places, count},
               {&u->index, voxels},
               {&u->out, voxels},
               {&u->partial, CLV_REDUCE_PARTIALS},
               {&u->state, 4}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CLV_TRY(clv_buffer_create(b->ctx, all[i].words * 4, "bench data", all[i].buffer));
    CLV_TRY(clv_nlm_band_count(b->ctx, &b->patches.phi, BENCH_HALF_BAND, u->ends, &found));
    if (found != b->patches.count) {
        status = bench_wrong(b->ctx, "band", "%d voxels should be %d", found, b->patches.count);
        goto end;
    }
    CLV_TRY(clv_nlm_band_list(b->ctx, &b->patches.phi, BENCH_HALF_BAND, u->ends, u->places, u->index));
    CLV_TRY(clv_nlm_patches_gather(b->ctx, &b->patches, u->matrix));
    CLV_TRY(clv_buffer_copy(b->ctx, b->phi, 0, u->out, 0, voxels * 4));
    u->graph = (clv_nlm_graph){u->places, b->neighbours, u->weights, b->patches.count, BENCH_MOST};
end:
    if (status < 0)
        release(u);
    return status;
}

/* Every call from the same level set: out is what it makes of it. */
static int call_weights(void *what)
{
    update *u = what;
    return clv_nlm_weights(u->b->ctx, &u->graph, u->b->distances, &u->b->patches.phi, INFINITY, WIDTH, u->sums);
}

static int call_average(void *what)
{
    update *u = what;
    const clv_nlm_average_args args = {
        .graph = u->graph, .matrix = {u->matrix, u->graph.count, BENCH_RADIUS}, .index = u->index,
        .estimates = u->estimates, .sums = u->sums, .phi = clv_image_on(&u->b->patches.phi, u->out, 1)};
    return clv_nlm_average(u->b->ctx, &args);
}

static int call_step(void *what)
{
    update *u = what;
    return clv_nlm_step(u->b->ctx, &u->graph, u->state, 0, u->estimates, u->out);
}

/* The largest sum of weights, which a step's length comes from. */
static int prepare_step(update *u)
{
    return clv_reduce(u->b->ctx, CLV_REDUCE_MAX, &(clv_terms){u->sums, NULL, NULL, 0, u->b->patches.count},
                      u->partial, u->state, 0);
}

static int compare(clvox_context *ctx, const char *name, const clv_buffer *buffer, const double *want,
                   float *got, size_t count)
{
    int status = clv_buffer_read(ctx, buffer, 0, got, count * sizeof *got);
    for (size_t i = 0; i < count && status >= 0; i++)
        if (!(fabs((double)got[i] - want[i]) <= 2e-5 * (1 + fabs(want[i]))))
            status =
                bench_wrong(ctx, name, "value %zu is %.7g and should be %.7g", i, (double)got[i], want[i]);
    return status;
}

/* All three on a small band. */
static int verify(clvox_context *ctx)
{
    int status = CLVOX_OK;
    bench_band b = {.ctx = ctx};
    update u = {.b = NULL};
    int *neighbours = NULL;
    float *distances = NULL, *phi = NULL;
    double *weights = NULL, *values = NULL;
    CLV_TRY(bench_band_create(ctx, BENCH_CHECKED, 0.3f, &b));
    CLV_TRY(bench_band_search(&b));
    CLV_TRY(create(&b, &u));
    const int *n = b.patches.phi.size, count = b.patches.count;
    size_t pairs = (size_t)count * BENCH_MOST, most = pairs > u.voxels ? pairs : u.voxels;
    neighbours = malloc(pairs * sizeof *neighbours);
    distances = malloc(most * sizeof *distances);
    phi = malloc(u.voxels * sizeof *phi);
    weights = malloc(pairs * sizeof *weights);
    values = malloc(most * sizeof *values);
    if (!neighbours || !distances || !phi || !weights || !values) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
        goto end;
    }
    CLV_TRY(clv_buffer_read(ctx, b.neighbours, 0, neighbours, pairs * sizeof *neighbours));
    CLV_TRY(clv_buffer_read(ctx, b.distances, 0, distances, pairs * sizeof *distances));
    for (size_t k = 0; k < pairs; k++)
        weights[k] = ref_nlm_weight(n, UNIT, b.host_band[k / BENCH_MOST], b.host_band[neighbours[k]],
                                    (double)distances[k], INFINITY, (double)WIDTH);
    CLV_TRY(call_weights(&u));
    CLV_TRY(compare(ctx, "patch weights", u.weights, weights, distances, pairs));
    ref_nlm_average(b.host_phi, n, b.host_band, neighbours, weights, count, BENCH_MOST, BENCH_RADIUS, 0,
                    values);
    for (int i = 0; i < count; i++)
        phi[i] = (float)values[i];
    for (size_t i = 0; i < u.voxels; i++)
        values[i] = (double)b.host_phi[i];
    for (int i = 0; i < count; i++)
        values[b.host_band[i]] = (double)phi[i];
    CLV_TRY(call_average(&u));
    CLV_TRY(compare(ctx, "patch average", u.out, values, distances, u.voxels));
    for (size_t i = 0; i < u.voxels; i++)
        phi[i] = b.host_phi[i];
    ref_nlm_step(phi, b.host_band, neighbours, weights, count, BENCH_MOST);
    for (size_t i = 0; i < u.voxels; i++)
        values[i] = (double)phi[i];
    CLV_TRY(clv_buffer_copy(ctx, b.phi, 0, u.out, 0, u.voxels * 4));
    CLV_TRY(call_weights(&u)); /* the average uses their sums' room */
    CLV_TRY(prepare_step(&u));
    CLV_TRY(call_step(&u));
    CLV_TRY(compare(ctx, "patch step", u.out, values, distances, u.voxels));
end:
    free(neighbours);
    free(distances);
    free(phi);
    free(weights);
    free(values);
    release(&u);
    bench_band_release(&b);
    return status;
}

static int measure(bench_run *run, update *u, int (*call)(void *), const char *name, double bytes,
                   double operations)
{
    char tile[32];
    bench_time time;
    record_row row = {.group = "nlm",
                      .name = name,
                      .bytes = bytes,
                      .operations = operations,
                      .verified = true,
                      .size = {u->b->patches.phi.size[0], u->b->patches.phi.size[1], u->b->patches.phi.size[2]}};
    int status = bench_measure(run, call, u, NULL, &time);
    if (status < 0)
        return status;
    bench_complete(run, &time, &row, tile);
    bench_line(run, name, &row);
    record_add(run->log, &row);
    return CLVOX_OK;
}

/* Bytes: of weights, neighbours and distances in, weights and sums out; of the average, neighbours,
 * weights and patches in, means of patches out and in, band and level set; of a step, neighbours, weights
 * and the level set. Operations of the average: a multiply-add for each sample of each neighbour. */
int bench_nlm_updates(bench_run *run, bench_band *b)
{
    int status = CLVOX_OK;
    update u = {.b = NULL};
    double count = b->patches.count, patch = 4. * BENCH_SAMPLES, pair = 4. * BENCH_MOST;
    CLV_TRY(verify(run->ctx));
    CLV_TRY(create(b, &u));
    bench_heading(run, "patches' update");
    CLV_TRY(measure(run, &u, call_weights, "patch weights", count * (3 * pair + 8), 0));
    CLV_TRY(prepare_step(&u));
    CLV_TRY(measure(run, &u, call_step, "patch step", count * (2 * pair + 16), 0));
    CLV_TRY(measure(run, &u, call_average, "patch average", count * (2 * pair + 3 * patch + 16),
                    count * 2 * BENCH_MOST * BENCH_SAMPLES));
end:
    release(&u);
    return status;
}

static int call_all(void *what)
{
    update *u = what;
    int status = bench_band_search(u->b);
    if (status >= 0)
        status = call_weights(u);
    if (status >= 0)
        status = prepare_step(u);
    return status < 0 ? status : call_step(u);
}

int bench_nlm_step(bench_run *run, bench_band *b, bench_time *time)
{
    int status = CLVOX_OK;
    update u = {.b = NULL};
    CLV_TRY(verify(run->ctx));
    CLV_TRY(create(b, &u));
    CLV_TRY(bench_measure(run, call_all, &u, NULL, time));
end:
    release(&u);
    return status;
}
