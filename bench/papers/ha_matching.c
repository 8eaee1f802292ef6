/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, section 2.2.1: its greedy matching and its LDDMM of eight steps, and those of `clvox register`, on
 * one pair. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/papers/op/lddmm.h"
#include "bench/rows/check.h"
#include "op/image/reduce.h"

enum { STEPS = 8, GREEDY_ITERATIONS = 75, LDDMM_ITERATIONS = 60 };
static const float FIRST_STEP = .1f; /* voxels */

/* Images in [0, 1], and the map between them. */
typedef struct match {
    clvox_context *ctx;
    int size[3], n;
    clvox_volume *fixed, *moving;
    clv_phantom_warp warp;
    clv_buffer *i0, *i1, *u[2], *image; /* i0: moving */
} match;

static void release(match *m)
{
    clv_buffer **all[] = {&m->i0, &m->i1, &m->u[0], &m->u[1], &m->image};
    for (int i = 0; i < 5; i++)
        clv_buffer_destroy(all[i]);
    clvox_volume_destroy(&m->fixed);
    clvox_volume_destroy(&m->moving);
}

static int send(clvox_context *ctx, clvox_volume *v, clv_buffer **out)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, v->data[i]);
    for (size_t i = 0; i < n; i++)
        v->data[i] /= most;
    const int status = clv_buffer_create(ctx, 4 * n, "bench data", out);
    return status < 0 ? status : clv_buffer_write(ctx, *out, 0, v->data, 4 * n);
}

static int create(bench_run *run, match *m)
{
    int status = CLVOX_OK;
    const double spacing[3] = {1, 1, 1};
    clvox_grid grid;
    clv_phantom phantom = {0};
    double amplitude; /* that does not fold */
    const bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    *m = (match){.ctx = run->ctx};
    for (int a = 0; a < 3; a++) {
        m->size[a] = cpu ? (run->size[a] + 1) / 2 : run->size[a];
        m->size[a] = m->size[a] < 16 ? 16 : m->size[a];
    }
    m->n = m->size[0] * m->size[1] * m->size[2];
    clvox_phantom_grid(m->size, spacing, false, &grid);
    CLV_TRY(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &grid, 1, 0, &phantom));
    CLV_TRY(clvox_phantom_amplitude(&grid, 1, &amplitude));
    CLV_TRY(clv_phantom_warp_make(&grid, fmin(amplitude, .06 * m->size[0]), 1, &m->warp));
    CLV_TRY(clv_phantom_image(&phantom, &grid, NULL, &m->warp, 1, &m->fixed));
    CLV_TRY(clv_phantom_image(&phantom, &grid, NULL, NULL, 2, &m->moving));
    CLV_TRY(send(run->ctx, m->moving, &m->i0));
    CLV_TRY(send(run->ctx, m->fixed, &m->i1));
    for (int i = 0; i < 2; i++)
        CLV_TRY(clv_buffer_create(run->ctx, 12 * (size_t)m->n, "bench data", &m->u[i]));
    CLV_TRY(clv_buffer_create(run->ctx, 4 * (size_t)m->n, "bench data", &m->image));
end:
    clv_phantom_free(&phantom);
    return status;
}

/* Mean squared difference of the moving image at x + u and the fixed one, and the mean distance from the true
 * map in voxels within the head. */
static int judge(const match *m, clv_greedy *g, const clv_buffer *u, double found[2])
{
    int status = CLVOX_OK;
    float sum;
    const size_t n = (size_t)m->n;
    const bool packed = clv_fields_packed(m->ctx);
    float *got = malloc(12 * n);
    size_t counted = 0;
    if (!got)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's result");
    CLV_TRY(clv_greedy_deform(m->ctx, g, m->i0, u, m->image));
    CLV_TRY(clv_reduce(m->ctx, CLV_REDUCE_SQUARE_DIFFERENCE, &(clv_terms){m->image, m->i1, NULL, 0, m->n},
                       g->partial, g->state, 0));
    CLV_TRY(clv_buffer_read(m->ctx, g->state, 0, &sum, sizeof sum));
    CLV_TRY(clv_buffer_read(m->ctx, u, 0, got, 12 * n));
    found[0] = (double)sum / m->n;
    found[1] = 0;
    for (size_t i = 0; i < n; i++) {
        double x[3], want[3], square = 0;
        const int at[3] = {(int)(i % (size_t)m->size[0]), (int)(i / (size_t)m->size[0] % (size_t)m->size[1]),
                           (int)(i / (size_t)m->size[0] / (size_t)m->size[1])};
        if (!(m->fixed->data[i] > 0))
            continue;
        for (int a = 0; a < 3; a++)
            x[a] = m->fixed->grid.to_ras[a][0] * at[0] + m->fixed->grid.to_ras[a][1] * at[1] +
                   m->fixed->grid.to_ras[a][2] * at[2] + m->fixed->grid.to_ras[a][3];
        clv_phantom_warp_at(&m->warp, x, want);
        for (int a = 0; a < 3; a++)
            square += pow((double)got[packed ? 3 * i + (size_t)a : (size_t)a * n + i] - want[a], 2);
        found[1] += sqrt(square);
        counted++;
    }
    found[1] /= counted ? (double)counted : 1;
end:
    free(got);
    return status;
}

static void report(bench_run *run, const match *m, const char *name, const record_samples *seconds,
                   const double found[2])
{
    char remark[96];
    snprintf(remark, sizeof remark, "mean squared difference %.3g, %.3g voxels from the true map", found[0],
             found[1]);
    const record_row row = {.group = "ha2011",
                            .name = name,
                            .verified = true,
                            .seconds = seconds,
                            .remark = remark,
                            .size = {m->size[0], m->size[1], m->size[2]}};
    record_add(run->log, &row);
    fprintf(run->out, "%-46s %10.4f %12.4g %10.3f\n", name, seconds->median, found[0], found[1]);
    fflush(run->out);
}

static int greedy(bench_run *run, match *m, const double before[2])
{
    int status = CLVOX_OK, at = 0;
    const clv_fluid_operator op = bench_operator(m->size, true, .01f);
    clv_greedy g = {.requests = 0};
    record_samples seconds = {0};
    float longest;
    double found[2];
    CLV_TRY(clv_greedy_create(run->ctx, &op, &g));
    for (int again = 0; again < 2; again++) { /* the first builds the kernels */
        const double start = clv_seconds();
        float step = 0;
        CLV_TRY(clv_buffer_fill(run->ctx, m->u[at], 0, 0, 12 * (size_t)m->n));
        for (int k = 0; k < GREEDY_ITERATIONS; k++, at = !at) {
            CLV_TRY(clv_greedy_deform(run->ctx, &g, m->i0, m->u[at], m->image));
            CLV_TRY(clv_greedy_velocity(run->ctx, &g, m->image, m->i1, NULL));
            if (k == 0) {
                CLV_TRY(clv_greedy_longest(run->ctx, &g, &longest));
                step = longest > 0 ? FIRST_STEP / longest : 0;
            }
            CLV_TRY(clv_greedy_move(run->ctx, &g, step, m->u[at], m->u[!at]));
        }
        CLV_TRY(clv_finish(run->ctx));
        if (again)
            record_add_sample(&seconds, clv_seconds() - start);
    }
    CLV_TRY(judge(m, &g, m->u[at], found));
    if (!(found[0] < .75 * before[0]))
        status = bench_wrong(run->ctx, "greedy of the thesis", "mean squared difference %.3g, before %.3g",
                             found[0], before[0]);
    CLV_TRY(status);
    report(run, m, "greedy, algorithm 2, 75 iterations", &seconds, found);
end:
    clv_greedy_destroy(&g);
    return status;
}

static int lddmm(bench_run *run, match *m, const double before[2])
{
    int status = CLVOX_OK;
    const clv_fluid_operator op = bench_operator(m->size, true, 0);
    clv_lddmm l = {.requests = 0};
    record_samples seconds = {0};
    double found[2];
    for (int again = 0; again < 2; again++) {
        clv_lddmm_destroy(&l);
        CLV_TRY(clv_lddmm_create(run->ctx, &op, STEPS, &l));
        l.sigma = .03f;
        l.first = FIRST_STEP / STEPS;
        const double start = clv_seconds();
        for (int k = 0; k < (again ? LDDMM_ITERATIONS : 1); k++)
            CLV_TRY(clv_lddmm_iterate(run->ctx, &l, m->i0, m->i1));
        CLV_TRY(clv_finish(run->ctx));
        if (again)
            record_add_sample(&seconds, clv_seconds() - start);
    }
    CLV_TRY(clv_lddmm_map(run->ctx, &l, m->u[0]));
    CLV_TRY(judge(m, &l.greedy, m->u[0], found));
    if (!(found[0] < .75 * before[0]))
        status = bench_wrong(run->ctx, "LDDMM of the thesis", "mean squared difference %.3g, before %.3g",
                             found[0], before[0]);
    CLV_TRY(status);
    report(run, m, "LDDMM of eight steps, 60 iterations", &seconds, found);
end:
    clv_lddmm_destroy(&l);
    return status;
}

/* One scale, and as many iterations. */
static int own(bench_run *run, match *m, clvox_deform deform, int iterations, const char *name)
{
    int status = CLVOX_OK;
    const clv_fluid_operator op = bench_operator(m->size, true, 0);
    const size_t n = (size_t)m->n;
    clv_greedy g = {.requests = 0};
    record_samples seconds = {0};
    clvox_register_options o;
    clvox_register_result r;
    const clvox_register_images images = {.fixed = {m->fixed}, .moving = {m->moving}, .channels = 1};
    double found[2];
    float *u = malloc(12 * n);
    if (!u)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's result");
    clvox_register_defaults(&o);
    o.deform = deform;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.linear = CLVOX_LINEAR_NONE;
    o.metric = CLVOX_METRIC_SSD;
    o.tolerance = 0;
    o.levels = 1;
    o.shrink[0] = 1;
    o.smooth_voxels[0] = 0;
    o.iterations[0] = iterations;
    o.timesteps = deform == CLVOX_DEFORM_LDDMM ? STEPS : o.timesteps;
    CLV_TRY(clv_greedy_create(run->ctx, &op, &g));
    for (int again = 0; again < 2; again++) {
        CLV_TRY(clvox_register(run->ctx, &images, &o, &r));
        if (again) {
            record_add_sample(&seconds, r.seconds_deform);
            const bool packed = clv_fields_packed(run->ctx);
            for (size_t i = 0; i < 3 * n; i++)
                u[packed ? i % n * 3 + i / n : i] = r.warp->data[i];
        }
        clvox_register_result_destroy(&r);
    }
    CLV_TRY(clv_buffer_write(run->ctx, m->u[0], 0, u, 12 * n));
    CLV_TRY(judge(m, &g, m->u[0], found));
    report(run, m, name, &seconds, found);
end:
    free(u);
    clv_greedy_destroy(&g);
    return status;
}

int bench_ha2011_matching(bench_run *run)
{
    int status = CLVOX_OK;
    match m = {0};
    clv_greedy g = {.requests = 0};
    double before[2];
    CLV_TRY(create(run, &m));
    const clv_fluid_operator op = bench_operator(m.size, true, 0);
    CLV_TRY(clv_greedy_create(run->ctx, &op, &g));
    CLV_TRY(clv_buffer_fill(run->ctx, m.u[0], 0, 0, 12 * (size_t)m.n));
    CLV_TRY(judge(&m, &g, m.u[0], before));
    clv_greedy_destroy(&g);
    fprintf(run->out,
            "Section 2.2.1: greedy matching (algorithm 2) and LDDMM as the thesis has them, alpha .01, beta "
            ".01 and 0, gamma .001,\n"
            "beside those of `clvox register` by SSD, on a phantom of %dx%dx%d and one scale; s, mean "
            "squared difference and\n"
            "mean distance from the true map in voxels. The thesis prints step 6 of LDDMM with the force's "
            "sign turned, by which\n"
            "the images would be driven apart. The first iteration moves a tenth of a voxel at most, later "
            "ones by its factor.\n"
            "%-46s %10s %12s %10s\n%-46s %10s %12.4g %10.3f\n",
            m.size[0], m.size[1], m.size[2], "", "s", "difference", "voxels", "before", "", before[0],
            before[1]);
    CLV_TRY(greedy(run, &m, before));
    CLV_TRY(lddmm(run, &m, before));
    CLV_TRY(own(run, &m, CLVOX_DEFORM_GREEDY, GREEDY_ITERATIONS,
                "clvox register --deform greedy, 75 iterations"));
    CLV_TRY(
        own(run, &m, CLVOX_DEFORM_LDDMM, LDDMM_ITERATIONS, "clvox register --deform lddmm, 60 iterations"));
    fprintf(run->out, "\n");
end:
    clv_greedy_destroy(&g);
    release(&m);
    return status;
}
