/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, chapter 3: the error of a particle mesh by its spacing (figure 3.4), and currents by a Cauchy
 * kernel. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/cauchy.h"
#include "bench/papers/ref/cauchy.h"
#include "ref/anatomy/currents.h"

enum { POINTS = 5000, CHECKED = 400 };
static const double EDGE = 60, WIDTH = 8;
static const double FINE = .6; /* widths: meshes of that spacing have to be right to a percent */

/* Points in a box with directions, as random as their place in a fixed sequence. */
typedef struct points {
    clvox_context *ctx;
    float *host;
    clv_buffer *element, *box, *partial, *out;
    clv_particle_mesh mesh;
    int count;
} points;

static void release(points *p)
{
    clv_buffer **all[] = {&p->element, &p->box, &p->partial, &p->out};
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(all[i]);
    clv_particle_mesh_destroy(&p->mesh);
    free(p->host);
    p->host = NULL;
}

static double next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 40) / (1 << 24);
}

static int create(clvox_context *ctx, int count, points *p)
{
    int status = CLVOX_OK;
    uint64_t state = 2011;
    const size_t blocks = CLV_CURRENTS_BLOCKS((size_t)count);
    float *box = malloc(32 * blocks);
    *p = (points){.ctx = ctx, .count = count, .host = malloc(32 * (size_t)count)};
    if (!p->host || !box) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    for (int i = 0; i < count; i++) {
        float *e = p->host + 8 * (size_t)i;
        const double z = 2 * next(&state) - 1, angle = 6.283185307179586 * next(&state), r = sqrt(1 - z * z);
        for (int k = 0; k < 3; k++)
            e[k] = (float)(EDGE * next(&state));
        e[3] = 0;
        e[4] = (float)(r * cos(angle));
        e[5] = (float)(r * sin(angle));
        e[6] = (float)z;
        e[7] = 1;
    }
    for (size_t i = 0; i < 8 * blocks; i++)
        box[i] = i % 8 < 4 ? 0 : (float)EDGE; /* no pair is passed over */
    CLV_TRY(clv_buffer_create(ctx, 32 * (size_t)count, "bench data", &p->element));
    CLV_TRY(clv_buffer_create(ctx, 32 * blocks, "bench data", &p->box));
    CLV_TRY(clv_buffer_create(ctx, 4 * blocks, "bench data", &p->partial));
    CLV_TRY(clv_buffer_create(ctx, 32 * (size_t)count, "bench data", &p->out));
    CLV_TRY(clv_buffer_write(ctx, p->element, 0, p->host, 32 * (size_t)count));
    CLV_TRY(clv_buffer_write(ctx, p->box, 0, box, 32 * blocks));
end:
    free(box);
    return status;
}

static clv_elements view(const points *p)
{
    return (clv_elements){p->element, p->box, p->count};
}

static int call_exact(void *what)
{
    const points *p = what;
    return clv_currents(
        p->ctx, &(clv_currents_args){
                    .target = view(p), .source = view(p), .width = (float)WIDTH, .partial = p->partial});
}

static int call_mesh(void *what)
{
    int status = CLVOX_OK;
    points *p = what;
    const clv_elements all = view(p);
    CLV_TRY(clv_particle_mesh_splat(p->ctx, &p->mesh, &all, 1));
    CLV_TRY(clv_particle_mesh_convolve(p->ctx, &p->mesh));
    CLV_TRY(
        clv_particle_mesh_read(p->ctx, &p->mesh, &(clv_currents_args){.target = all, .partial = p->partial}));
end:
    return status;
}

static int call_cauchy(void *what)
{
    const points *p = what;
    const clv_elements all = view(p);
    return clv_cauchy(p->ctx, &all, &all, (float)WIDTH, p->out);
}

static int cauchy_product(const points *p, double *product)
{
    float *out = malloc(32 * (size_t)p->count);
    if (!out)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    const int status = clv_buffer_read(p->ctx, p->out, 0, out, 32 * (size_t)p->count);
    *product = 0;
    for (int i = 0; i < p->count && status >= 0; i++)
        *product += (double)out[8 * (size_t)i + 3];
    free(out);
    return status;
}

/* A few points against the references. */
static int verify(clvox_context *ctx)
{
    int status = CLVOX_OK;
    points p = {0};
    double got;
    CLV_TRY(create(ctx, CHECKED, &p));
    CLV_TRY(call_exact(&p));
    CLV_TRY(clv_currents_product(ctx, p.partial, p.count, &got));
    const double exact = ref_currents(p.host, p.count, p.host, p.count, WIDTH, false, NULL);
    if (!(fabs(got - exact) <= 1e-5 * CHECKED))
        status = bench_wrong(ctx, "currents", "%.7g, not %.7g", got, exact);
    CLV_TRY(status);
    CLV_TRY(call_cauchy(&p));
    CLV_TRY(cauchy_product(&p, &got));
    const double cauchy = ref_cauchy(p.host, p.count, p.host, p.count, WIDTH, NULL);
    if (!(fabs(got - cauchy) <= 1e-5 * CHECKED))
        status = bench_wrong(ctx, "currents, Cauchy", "%.7g, not %.7g", got, cauchy);
end:
    release(&p);
    return status;
}

static void add(bench_run *run, const char *name, const points *p, const bench_time *time, const char *remark)
{
    char tile[32];
    record_row row = {
        .group = "ha2011", .name = name, .verified = true, .size = {p->count, 1, 1}, .remark = remark};
    bench_complete(run, time, &row, tile);
    record_add(run->log, &row);
}

static int by_mesh(bench_run *run, points *p, double ratio, double exact)
{
    int status = CLVOX_OK;
    bench_time time;
    clv_mesh_grid grid;
    double product;
    char name[64], remark[64];
    const double corner[2][3] = {{0, 0, 0}, {EDGE, EDGE, EDGE}};
    const clv_particle_mesh_options o = {.width = WIDTH, .count = p->count, .most = 1};
    CLV_TRY(clv_mesh_grid_make(corner[0], corner[1], WIDTH, ratio * WIDTH, &grid));
    CLV_TRY(clv_particle_mesh_create(run->ctx, &grid, &o, &p->mesh));
    CLV_TRY(bench_measure(run, call_mesh, p, NULL, &time));
    CLV_TRY(clv_currents_product(run->ctx, p->partial, p->count, &product));
    const double error = 100 * fabs(product - exact) / exact;
    snprintf(name, sizeof name, "currents by a mesh of %g widths", ratio);
    snprintf(remark, sizeof remark, "%.2g%% from all pairs", error);
    fprintf(run->out, "%-35s %4d x %3d x %3d %11.3f %11.2g%%\n", name, grid.size[0], grid.size[1],
            grid.size[2], 1e3 * time.seconds.median, error);
    fflush(run->out);
    if (ratio <= FINE && !(error < 1))
        status = bench_wrong(run->ctx, name, "%.2g%% from the sum over all pairs", error);
    CLV_TRY(status);
    add(run, name, p, &time, remark);
end:
    clv_particle_mesh_destroy(&p->mesh);
    return status;
}

int bench_ha2011_currents(bench_run *run)
{
    static const double ratios[] = {1.2, 1, .8, .6, .5, .4, .3, .2};
    int status = CLVOX_OK;
    points p = {0};
    bench_time time, cauchy;
    double exact, other;
    const double voxels = (double)run->size[0] * run->size[1] * run->size[2];
    CLV_TRY(verify(run->ctx));
    CLV_TRY(create(run->ctx, voxels < POINTS ? CHECKED : POINTS, &p));
    CLV_TRY(bench_measure(run, call_exact, &p, clv_entry_currents.name, &time));
    CLV_TRY(clv_currents_product(run->ctx, p.partial, p.count, &exact));
    fprintf(run->out,
            "Figure 3.4: percent error of a particle mesh for %d random points by its spacing over the "
            "kernel's width (the\n"
            "thesis: it breaks down below one width; its numbers are not in the text; its weights are "
            "trilinear, ours cubic)\n"
            "%-35s %16s %11s %12s\n%-35s %16s %11.3f\n",
            p.count, "", "nodes", "ms", "error", "currents, all pairs", "", 1e3 * time.seconds.median);
    add(run, "currents, all pairs", &p, &time, NULL);
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        CLV_TRY(by_mesh(run, &p, ratios[i], exact));
    CLV_TRY(bench_measure(run, call_cauchy, &p, clv_entry_cauchy.name, &cauchy));
    CLV_TRY(cauchy_product(&p, &other));
    add(run, "currents, Cauchy kernel, all pairs", &p, &cauchy, NULL);
    fprintf(run->out,
            "%-35s %16s %11.3f   its gradient with it; |S|^2 is %.4g by this kernel, %.4g by a Gaussian\n\n",
            "currents, Cauchy kernel, all pairs", "", 1e3 * cauchy.seconds.median, other, exact);
end:
    release(&p);
    return status;
}
