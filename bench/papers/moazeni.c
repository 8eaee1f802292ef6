/* SPDX-License-Identifier: Apache-2.0 */
/* Moazeni et al. 2009: descent of tensor total variation by how blocks wait for
 * one another. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench_table.h"
#include "bench/papers/op/tensor_tv_schemes.h"
#include "bench/papers/lines.h"
#include "bench/papers/moazeni.h"
#include "bench/papers/ref/tensor_tv_schemes.h"

enum { STEPS = 100, FEW = 3, ALONE = -1 };

/* Those that are compared with another one. */
enum { BLOCK = 2, THREAD_8 = 4, THREAD_16 = 6 };
static const struct scheme {
    const char *name;
    clv_tensor_scheme scheme;
    const clv_entry *entry;
    const char *variant; /* of entry, forced, with its tile; NULL: the planner's */
    int tile;
    int against;   /* the scheme that the paper compares it with, or ALONE */
    double figure; /* the paper's speed beside that one */
    const char *conclusion;
} schemes[] = {
#define FASTER 134. / 128, "without synchronisation it is faster than with synchronisation within blocks"
#define BLOCKS CLV_TENSOR_BLOCK, &clv_entry_tensor_tv_block
#define NONE CLV_TENSOR_NONE, &clv_entry_tensor_tv_none
    {"exact", CLV_TENSOR_EXACT, &clv_entry_tensor_tv_step, NULL, 0, ALONE, 0, NULL},
    {"overlap", CLV_TENSOR_OVERLAP, &clv_entry_tensor_tv_overlap, NULL, 0, ALONE, 0, NULL},
    [BLOCK] = {"block", BLOCKS, NULL, 0, ALONE, 0, NULL},
    /* Section 7; the figures are those of section 5.2. */
    {"none", NONE, NULL, 0, BLOCK, FASTER},
    [THREAD_8] = {"ThreadSync 8x8", BLOCKS, "global", 0, ALONE, 0, NULL},
    {"UnSync 8x8", NONE, "global", 0, THREAD_8, FASTER},
    [THREAD_16] = {"ThreadSync 16x16", BLOCKS, "global", 1, ALONE, 0, NULL},
    {"UnSync 16x16", NONE, "global", 1, THREAD_16, FASTER},
};
enum { SCHEMES = sizeof schemes / sizeof *schemes };

void bench_tensors_release(bench_tensors *p)
{
    clv_buffer **all[] = {&p->data, &p->links, &p->partial, &p->state, &p->field, &p->other,
                          &p->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    free(p->noisy);
    free(p->exact);
    free(p->got);
    p->noisy = p->exact = p->got = NULL;
}

/* Boxes of three kinds of tissue, in 1e-3 mm^2/s, with noise of 0.1. */
static void fill(bench_tensors *p)
{
    static const float tissue[3][6] = {
        {1.7f, 0, 0, 0.3f, 0, 0.3f}, {0.5f, 0.2f, 0, 1.4f, 0.1f, 0.4f}, {0.8f, 0, 0, 0.8f, 0, 0.8f}};
    const int *size = p->args.data.size;
    uint32_t seed = 1;
    for (size_t c = 0, i = 0; c < 6; c++)
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++, i++) {
                    float noise = 0;
                    for (int k = 0; k < 4; k++) {
                        seed = seed * 1664525u + 1013904223u;
                        noise += (float)(seed >> 8) / 16777216.0f - 0.5f;
                    }
                    p->noisy[i] = tissue[(x / 16 + y / 16 + z / 16) % 3][c] + 0.17f * noise;
                }
}

int bench_tensors_create(clvox_context *ctx, const int size[3], bench_tensors *p)
{
    int status = CLVOX_OK;
    *p = (bench_tensors){.ctx = ctx, .n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2]};
    size_t bytes = 24 * p->n;
    p->noisy = malloc(bytes);
    p->exact = malloc(bytes);
    p->got = malloc(bytes);
    if (!p->noisy || !p->exact || !p->got)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's tensors");
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->data));
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->field));
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->other));
    CLV_TRY(clv_buffer_create(ctx, clv_tensor_links_bytes(size), "bench links", &p->links));
    CLV_TRY(clv_buffer_create(ctx, CLV_TENSOR_TV_PARTIALS * sizeof(float), "bench sums", &p->partial));
    CLV_TRY(clv_buffer_create(ctx, CLV_TENSOR_TV_STATE * sizeof(float), "bench state", &p->state));
    p->args = (clv_tensor_tv_args){
        .data = {p->data, {size[0], size[1], size[2]}, {1, 1, 1}, 6},
        .links = p->links, .lambda = 10, .eps = 1e-4f, .dt = 2e-4f, .floor = 1e-6f, .partial = p->partial,
        .state = p->state,
    };
    const clv_image everywhere = clv_image_on(&p->args.data, NULL, 1);
    CLV_TRY(clv_tensor_links(ctx, &everywhere, p->links));
    fill(p);
    CLV_TRY(clv_buffer_write(ctx, p->data, 0, p->noisy, bytes));
end:
    return status;
}

void bench_tensors_positive(bench_tensors *p)
{
    for (size_t i = 0; i < 6 * p->n; i++) {
        size_t c = i / p->n;
        p->got[i] = .5f * p->noisy[i] + (c == 0 || c == 3 || c == 5 ? .5f : 0);
    }
}

static double distance(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += d * d;
    }
    return sqrt(sum / (double)count);
}

static bool is_paper(const bench_tensors *p)
{
    return p->args.coupling == CLV_TENSOR_PAPER;
}

static int get_kernel(const bench_tensors *p, const struct scheme *s, const clv_kernel **k)
{
    static const char *const builds[2][2] = {{"-DPAPER=0", "-DPAPER=1"},
                                             {"-DPAPER=0 -DEVEN=1", "-DPAPER=1 -DEVEN=1"}};
    bool even = s->scheme == CLV_TENSOR_EXACT && p->args.data.size[0] % 2 == 0;
    return clv_kernel_get(p->ctx, s->entry, builds[even][is_paper(p)], p->args.data.size, 0, k);
}

/* A few steps of a small field as the reference makes them. */
static int verify(clvox_context *ctx, const struct scheme *s, clv_tensor_coupling coupling)
{
    static const int size[3] = {13, 9, 7};
    int status = CLVOX_OK, block[3] = {2, 2, 2};
    bench_tensors p = {0};
    const clv_kernel *k;
    double *want = NULL;
    CLV_TRY(bench_tensors_create(ctx, size, &p));
    p.args.coupling = coupling;
    want = malloc(6 * p.n * sizeof *want);
    if (!want) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's tensors");
        goto end;
    }
    CLV_TRY(get_kernel(&p, s, &k));
    if (s->scheme == CLV_TENSOR_BLOCK)
        memcpy(block, k->group, sizeof block);
    bench_tensors_positive(&p);
    for (size_t i = 0; i < 6 * p.n; i++)
        want[i] = (double)p.got[i];
    CLV_TRY(clv_buffer_write(ctx, p.field, 0, p.got, 24 * p.n));
    CLV_TRY(clv_tensor_tv_schemes(ctx, &p.args, s->scheme, FEW,
                                  &(clv_tensor_fields){p.field, p.other, &p.scratch}));
    CLV_TRY(clv_buffer_read(ctx, p.field, 0, p.got, 24 * p.n));
    const ref_tensor_tv model = {.size = {size[0], size[1], size[2]},
                                 .w = {1, 1, 1},
                                 .data = p.noisy,
                                 .coupling = coupling,
                                 .lambda = (double)p.args.lambda,
                                 .eps = (double)p.args.eps,
                                 .dt = (double)p.args.dt,
                                 .floor = (double)p.args.floor};
    if (s->scheme == CLV_TENSOR_EXACT || s->scheme == CLV_TENSOR_OVERLAP)
        for (int i = 0; i < FEW; i++)
            ref_tensor_step(&model, want);
    else
        ref_tensor_blocks(&model, want, block, s->scheme == CLV_TENSOR_NONE, FEW);
    /* Weights of paper that lag a step or two differ a little. */
    double allowed = s->scheme == CLV_TENSOR_OVERLAP && is_paper(&p) ? 2e-3 : 4e-5;
    for (size_t i = 0; i < 6 * p.n; i++)
        if (!(fabs((double)p.got[i] - want[i]) <= allowed)) {
            status = bench_wrong(ctx, s->name, "%.7g should be %.7g", (double)p.got[i], want[i]);
            goto end;
        }
end:
    free(want);
    bench_tensors_release(&p);
    return status;
}

static int call_scheme(void *what)
{
    void **both = what;
    bench_tensors *p = both[0];
    const struct scheme *s = both[1];
    int status = clv_buffer_copy(p->ctx, p->data, 0, p->field, 0, 24 * p->n);
    return status < 0 ? status
                      : clv_tensor_tv_schemes(p->ctx, &p->args, s->scheme, STEPS,
                                              &(clv_tensor_fields){p->field, p->other, &p->scratch});
}

/* The line of a scheme. times: of all schemes so far; without samples: not run here. */
static void report(bench_run *run, const bench_tensors *p, const struct scheme *s, const bench_time *time,
                   double energy, const record_samples *times)
{
    const clv_kernel *k = time->kernel;
    const record_samples *exact = &times[0];
    char occupancy[16] = "unknown", name[64], tile[32], remark[64] = "", speed[16] = "-", away[16] = "-";
    char unit[64];
    double moved = distance(p->exact, p->noisy, 6 * p->n);
    double far = moved > 0 ? distance(p->got, p->exact, 6 * p->n) / moved : 0;
    record_paper paper = {.value = s->figure, .device = "Quadro FX 5600", .conclusion = s->conclusion,
                          .unit = unit};
    /* Bytes of an exact step: the field, the data and the links in, the field out; for
     * the paper's coupling the field and the links once more. */
    record_row row = {.group = "moazeni2009", .name = name, .verified = true, .remark = remark,
                      .size = {p->args.data.size[0], p->args.data.size[1], p->args.data.size[2]},
                      .bytes = (is_paper(p) ? 98. : 73.) * (double)p->n * STEPS};
    snprintf(unit, sizeof unit, "times as fast as %s", s->against != ALONE ? schemes[s->against].name : "");
    snprintf(name, sizeof name, "tensor tv %s, %s", is_paper(p) ? "paper" : "local", s->name);
    bench_complete(run, time, &row, tile);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    if (exact->count > 0) {
        snprintf(speed, sizeof speed, "%.2f", exact->median / row.seconds->median);
        snprintf(away, sizeof away, "%.2f%%", 100 * far);
        snprintf(remark, sizeof remark, "%d steps; %.3g%% away from the exact result", STEPS, 100 * far);
    }
    fprintf(run->out, "%-8s %-16s %-31s %9s %8d %9s %10.2f %8s %8.1f%% %12.6g %10s\n",
            is_paper(p) ? "paper" : "local", s->name, k->label, occupancy, k->local_bytes,
            k->resources.limit[0] ? k->resources.limit : "unknown", 1e3 * row.seconds->median, speed,
            100 * row.share, energy, away);
    if (s->against != ALONE && times[s->against].count > 0) {
        paper.here = times[s->against].median / row.seconds->median;
        paper.holds = bench_slower(&times[s->against], row.seconds);
        row.paper = &paper;
        fprintf(run->out, "%8s %s is %.2f times as fast as %s (%.2f in the paper): that %s %s\n", "", s->name,
                paper.here, schemes[s->against].name, paper.value, s->conclusion,
                paper.holds ? "holds" : "does not hold");
    }
    fflush(run->out);
    record_add(run->log, &row);
}

static int measure(bench_run *run, bench_tensors *p, const struct scheme *s, record_samples *times)
{
    int status = CLVOX_OK;
    bench_time time;
    float state[CLV_TENSOR_TV_STATE];
    void *both[] = {p, (void *)s};
    CLV_TRY(verify(p->ctx, s, p->args.coupling));
    CLV_TRY(bench_measure(run, call_scheme, both, s->entry->name, &time));
    CLV_TRY(clv_tensor_tv_energy(p->ctx, &p->args, p->field));
    CLV_TRY(clv_buffer_read(p->ctx, p->state, 0, state, sizeof state));
    CLV_TRY(clv_buffer_read(p->ctx, p->field, 0, p->got, 24 * p->n));
    double energy = (double)state[CLV_TENSOR_TV_ENERGY];
    if (!isfinite(energy)) {
        status = bench_wrong(p->ctx, s->name, "an energy of %g", energy);
        goto end;
    }
    CLV_TRY(get_kernel(p, s, &time.kernel));
    if (s->scheme == CLV_TENSOR_EXACT)
        memcpy(p->exact, p->got, 24 * p->n);
    times[s - schemes] = time.seconds;
    report(run, p, s, &time, energy, times);
end:
    return status;
}

int bench_moazeni2009(bench_run *run)
{
    int status = CLVOX_OK;
    bench_tensors p = {0};
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_tensors_create(run->ctx, run->size, &p));
    fprintf(run->out,
            "Moazeni et al. 2009: %d steps of tensor total variation by scheme, %dx%dx%d, on %s.\n"
            "The paper, Quadro FX 5600, 128x128x128, against its CPU (sections 5.1 and 5.2, figures 3 and 5):\n"
            "GlobalSync up to 266 times, ThreadSync up to 128, UnSync up to 134. ThreadSync and UnSync\n"
            "keep all of a block in global memory on purpose, in blocks of 8x8 and 16x16 work-items;\n"
            "'block' and 'none' are the same in local memory. 'exact' waits for all by a launch a step,\n"
            "'overlap' by repeating work over several steps; GlobalSync as printed is below. Approximate\n"
            "are all but these. The paper's equation 1 prints a sum of squares; the root of it, to which\n"
            "its equations 2 and 4 belong, is what descends. A step is fixed, dt = %g. 'away': rms\n"
            "distance from the exact result over the rms distance that the exact one has come; 'of copy':\n"
            "bytes of exact steps over time and copy bandwidth.\n\n",
            STEPS, run->size[0], run->size[1], run->size[2], clvox_context_limits(run->ctx)->name,
            (double)p.args.dt);
    fprintf(run->out, "%-8s %-16s %-31s %9s %8s %9s %10s %8s %9s %12s %10s\n", "coupling", "scheme", "kernel",
            "occupancy", "local B", "limit", "ms", "speed", "of copy", "energy", "away");
    for (int c = 0; c < 2; c++) {
        record_samples times[SCHEMES] = {{0}};
        p.args.coupling = c ? CLV_TENSOR_LOCAL : CLV_TENSOR_PAPER;
        for (int s = 0; s < SCHEMES; s++) {
            if (schemes[s].variant)
                CLV_TRY(
                    clv_force_variant(run->ctx, schemes[s].entry->name, schemes[s].variant, schemes[s].tile));
            status = measure(run, &p, &schemes[s], times);
            if (clv_force_variant(run->ctx, schemes[s].entry->name, NULL, -1) < 0 && status >= 0)
                status = CLVOX_ERROR_MEMORY;
            if (!paper_passed_over(run, schemes[s].name, &status))
                CLV_TRY(status);
        }
    }
end:
    bench_tensors_release(&p);
    return status < 0 ? status : bench_moazeni2009_kernels(run);
}
