/* SPDX-License-Identifier: Apache-2.0 */
/* Moazeni et al. 2009: GlobalSync as the paper composes it, its kernels one by one (table 1), all three
 * schemes by size (figures 3 to 7), and a CPU beside them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/beside.h"
#include "bench/papers/lines.h"
#include "bench/papers/moazeni.h"
#include "bench/papers/op/tensor_tv_listing.h"
#include "bench/papers/op/tensor_tv_schemes.h"
#include "bench/papers/ref/tensor_tv_listing.h"

enum { STEPS = 100, CHECKED = 3, BLOCKS = 2, SCHEMES = 3 };

static const char *const blocks[BLOCKS] = {"8x8", "16x16"};
static const char DEVICE[] = "Quadro FX 5600";

/* A row of table 1, of 100 steps, and the numbers of 4 bytes that all its launches for one voxel read and
 * write. */
static const struct stage {
    const char *name;
    const clv_entry *entry;
    int calls, numbers;
    double ms, share;
} stages[CLV_TENSOR_STAGES] = {
    [CLV_TENSOR_LLT] = {"LLT", &clv_entry_listing_llt, 1, 12, 258.13, 7},
    [CLV_TENSOR_NORM] = {"TVnorm", &clv_entry_listing_norm, 6, 6, 888.21, 21},
    [CLV_TENSOR_REDUCTION] = {"Reduction", &clv_entry_listing_reduction, 1, 0, 178.19, 2.86},
    [CLV_TENSOR_P] = {"P", &clv_entry_listing_p, 6, 12, 1800, 54.14},
    [CLV_TENSOR_SOLVER] = {"Solver", &clv_entry_listing_solver, 6, 62, 557.79, 13.03},
};

typedef struct listing {
    bench_tensors tensors;
    clv_tensor_listing of;
    clv_buffer *d, *p, *partial, *weights;
    clv_tensor_stage stage; /* of the next call */
    clv_tensor_scheme scheme;
} listing;

static void release(listing *l)
{
    clv_buffer **all[] = {&l->d, &l->p, &l->partial, &l->weights};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    bench_tensors_release(&l->tensors);
}

/* The factors of positive tensors in tensors.field. */
static int create(clvox_context *ctx, const int size[3], listing *l)
{
    int status = CLVOX_OK;
    *l = (listing){.stage = CLV_TENSOR_LLT};
    bench_tensors *t = &l->tensors;
    CLV_TRY(bench_tensors_create(ctx, size, t));
    CLV_TRY(clv_buffer_create(ctx, 24 * t->n, "bench tensors", &l->d));
    CLV_TRY(clv_buffer_create(ctx, 24 * t->n, "bench curvature", &l->p));
    CLV_TRY(clv_buffer_create(ctx, 24 * t->n, "bench sums", &l->partial));
    CLV_TRY(clv_buffer_create(ctx, 24, "bench weights", &l->weights));
    bench_tensors_positive(t);
    for (size_t i = 0; i < t->n; i++) {
        double di[6], li[6];
        for (size_t c = 0; c < 6; c++)
            di[c] = (double)t->got[c * t->n + i];
        ref_tensor_factor(di, li);
        for (size_t c = 0; c < 6; c++)
            t->got[c * t->n + i] = (float)li[c];
    }
    t->args.coupling = CLV_TENSOR_PAPER;
    CLV_TRY(clv_buffer_write(ctx, t->field, 0, t->got, 24 * t->n));
    l->of = (clv_tensor_listing){&t->args, t->field, t->other, l->d, l->p, l->partial, l->weights};
end:
    return status;
}

static int force_blocks(clvox_context *ctx, int block)
{
    int status = CLVOX_OK;
    const char *word = block < 0 ? NULL : "block";
    CLV_TRY(clv_force_variant(ctx, clv_entry_listing_norm.name, word, block));
    CLV_TRY(clv_force_variant(ctx, clv_entry_listing_p.name, word, block));
    CLV_TRY(clv_force_variant(ctx, clv_entry_tensor_tv_block.name, block < 0 ? NULL : "global", block));
    CLV_TRY(clv_force_variant(ctx, clv_entry_tensor_tv_none.name, block < 0 ? NULL : "global", block));
end:
    return status;
}

/* A few steps of a small field as the reference makes them. */
static int verify(clvox_context *ctx)
{
    int status = CLVOX_OK;
    listing l;
    double *want = NULL;
    CLV_TRY(create(ctx, (const int[3]){13, 9, 7}, &l));
    bench_tensors *t = &l.tensors;
    want = malloc(6 * t->n * sizeof *want);
    if (!want) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's tensors");
        goto end;
    }
    for (size_t i = 0; i < 6 * t->n; i++)
        want[i] = (double)t->got[i];
    CLV_TRY(clv_tensor_listing_steps(ctx, &l.of, CHECKED));
    CLV_TRY(clv_buffer_read(ctx, t->field, 0, t->got, 24 * t->n));
    const ref_tensor_tv model = {.size = {13, 9, 7}, .w = {1, 1, 1}, .data = t->noisy,
                                 .lambda = (double)t->args.lambda, .eps = (double)t->args.eps,
                                 .dt = (double)t->args.dt};
    for (int k = 0; k < CHECKED; k++)
        ref_tensor_listing(&model, want);
    for (size_t i = 0; i < 6 * t->n; i++)
        if (!(fabs((double)t->got[i] - want[i]) <= 4e-5)) {
            status = bench_wrong(ctx, "GlobalSync", "%.7g should be %.7g", (double)t->got[i], want[i]);
            goto end;
        }
end:
    free(want);
    release(&l);
    return status;
}

static int call_stage(void *what)
{
    const listing *l = what;
    return clv_tensor_listing_stage(l->tensors.ctx, &l->of, l->stage);
}

/* ---- table 1 ---- */

static void or_unknown(char text[16], const char *format, double value)
{
    if (value < 0)
        snprintf(text, 16, "unknown");
    else
        snprintf(text, 16, format, value);
}

static int print_kernels(bench_run *run, listing *l, int block)
{
    int status = CLVOX_OK;
    bench_time times[CLV_TENSOR_STAGES];
    double sum = 0;
    const double n = (double)l->tensors.n;
    for (int s = 0; s < CLV_TENSOR_STAGES; s++) {
        l->stage = (clv_tensor_stage)s;
        CLV_TRY(bench_measure(run, call_stage, l, stages[s].entry->name, &times[s]));
        sum += times[s].seconds.median;
    }
    for (int s = 0; s < CLV_TENSOR_STAGES; s++) {
        const struct stage *of = &stages[s];
        const clv_kernel *k = times[s].kernel;
        char name[64], tile[32], registers[16] = "unknown", occupancy[16] = "unknown";
        record_row row = {
            .group = "moazeni2009", .name = name, .verified = true, .bytes = 4. * of->numbers * n};
        memcpy(row.size, l->tensors.args.data.size, sizeof row.size);
        snprintf(name, sizeof name, "GlobalSync %s, %s", blocks[block], of->name);
        bench_complete(run, &times[s], &row, tile);
        if (k) {
            or_unknown(registers, "%.0f", k->registers);
            or_unknown(occupancy, "%.0f%%", 100 * k->occupancy);
        }
        fprintf(run->out, "%-6s %-10s %5d %9.2f %6.1f%% %9s %8.1f %9s %11.2f %6.2f%%\n", blocks[block],
                of->name, STEPS * of->calls, 1e3 * STEPS * times[s].seconds.median,
                100 * times[s].seconds.median / sum, occupancy, k ? k->local_bytes / 1024. : 0, registers,
                of->ms, of->share);
        record_add(run->log, &row);
    }
    const struct stage *solver = &stages[CLV_TENSOR_SOLVER];
    fprintf(run->out,
            "%-6s Solver: %.1f GFLOPS at the paper's .84 operations a number read or written; copying so\n"
            "many would allow %.1f (16.12 in the paper)\n",
            blocks[block], .84e-9 * solver->numbers * n / times[CLV_TENSOR_SOLVER].seconds.median,
            .84e-9 * run->copy / 4);
    fflush(run->out);
end:
    return status;
}

/* ---- by size ---- */

/* Two, after which the factors lie where they began. */
enum { GLOBAL_STEPS = 2 };

static int call_step(void *what)
{
    const listing *l = what;
    return clv_tensor_listing_steps(l->tensors.ctx, &l->of, GLOBAL_STEPS);
}

static int call_scheme(void *what)
{
    listing *l = what;
    bench_tensors *t = &l->tensors;
    return clv_tensor_tv_schemes(t->ctx, &t->args, l->scheme, CLV_TENSOR_BLOCK_STEPS,
                                 &(clv_tensor_fields){l->d, l->p, &t->scratch});
}

static const struct {
    const char *name;
    clv_tensor_scheme scheme; /* EXACT: GlobalSync */
    double speed_up;          /* the paper's, over its CPU */
} schemes[SCHEMES] = {{"GlobalSync", CLV_TENSOR_EXACT, 266},
                      {"ThreadSync", CLV_TENSOR_BLOCK, 128},
                      {"UnSync", CLV_TENSOR_NONE, 134}};

/* Seconds of a step by each scheme. */
static int time_schemes(bench_run *run, listing *l, record_samples out[SCHEMES])
{
    int status = CLVOX_OK;
    bench_tensors *t = &l->tensors;
    for (int s = 0; s < SCHEMES; s++) {
        bench_time time;
        l->scheme = schemes[s].scheme;
        out[s] = (record_samples){.count = 0};
        CLV_TRY(clv_buffer_copy(t->ctx, t->data, 0, l->d, 0, 24 * t->n));
        status = bench_measure(run, s ? call_scheme : call_step, l, NULL, &time);
        if (paper_passed_over(run, schemes[s].name, &status))
            continue;
        CLV_TRY(status);
        record_add_sample(&out[s], time.seconds.median / (s ? CLV_TENSOR_BLOCK_STEPS : GLOBAL_STEPS));
    }
end:
    return status;
}

static void print_sizes(bench_run *run, const int size[3], int block, const record_samples times[SCHEMES])
{
    fprintf(run->out, "%3dx%dx%-6d %-6s", size[0], size[1], size[2], blocks[block]);
    for (int s = 0; s < SCHEMES; s++) {
        char name[64];
        const record_row row = {.group = "moazeni2009", .name = name, .seconds = &times[s], .verified = true,
                                .size = {size[0], size[1], size[2]}};
        snprintf(name, sizeof name, "%s %s, a step, %dx%dx%d", schemes[s].name, blocks[block], size[0],
                 size[1], size[2]);
        fprintf(run->out, " %12.3f", times[s].count ? 1e3 * times[s].median : NAN);
        if (times[s].count)
            record_add(run->log, &row);
    }
    fprintf(run->out, "\n");
    fflush(run->out);
}

/* UnSync's time beside ThreadSync's on the largest volume, over that on the smallest. */
static void judge_scaling(bench_run *run, int block, const record_samples small[SCHEMES],
                          const record_samples large[SCHEMES])
{
    char name[64];
    if (!small[1].count || !small[2].count || !large[1].count || !large[2].count)
        return;
    record_paper paper = {.unit = "times as long as ThreadSync, over the same of half the edge",
                          .device = DEVICE,
                          .conclusion = "with synchronisation within blocks it scales better with the size"};
    paper.here = large[2].median / large[1].median / (small[2].median / small[1].median);
    paper.holds = paper.here > 1.02;
    snprintf(name, sizeof name, "UnSync %s, by size", blocks[block]);
    record_add(run->log, &(record_row){.group = "moazeni2009",
                                       .name = name,
                                       .seconds = &large[2],
                                       .verified = true,
                                       .size = {run->size[0], run->size[1], run->size[2]},
                                       .paper = &paper});
    fprintf(
        run->out,
        "%s: from the smallest to the largest UnSync's time grows %.2f times as much as ThreadSync's: that\n"
        "%s %s\n",
        blocks[block], paper.here, paper.conclusion, paper.holds ? "holds" : "does not hold");
}

/* ---- a CPU ---- */

enum { EDGE = 16 };

static int plain_step(void *user, size_t index, int worker)
{
    const listing *l = user;
    (void)index;
    (void)worker;
    const bench_tensors *t = &l->tensors;
    const ref_tensor_tv model = {.size = {EDGE, EDGE, EDGE}, .w = {1, 1, 1}, .data = t->noisy,
                                 .lambda = (double)t->args.lambda, .eps = (double)t->args.eps,
                                 .dt = (double)t->args.dt};
    double *want = malloc(6 * t->n * sizeof *want);
    if (!want)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's tensors");
    for (size_t i = 0; i < 6 * t->n; i++)
        want[i] = (double)t->got[i];
    ref_tensor_listing(&model, want);
    free(want);
    return CLVOX_OK;
}

static int speed_up(bench_run *run, const record_samples large[SCHEMES], double voxels)
{
    int status = CLVOX_OK;
    listing l;
    record_samples plain;
    CLV_TRY(create(run->ctx, (const int[3]){EDGE, EDGE, EDGE}, &l));
    CLV_TRY(paper_plain(run, 1, plain_step, &l, 1, &plain));
    for (int s = 0; s < SCHEMES; s++) {
        const paper_speed_up of = {.group = "moazeni2009",
                                   .name = schemes[s].name,
                                   .device = DEVICE,
                                   .threads = 1,
                                   .figure = schemes[s].speed_up,
                                   .plain_elements = EDGE * EDGE * EDGE,
                                   .elements = voxels};
        if (large[s].count)
            paper_report_speed_up(run, &of, &plain, &large[s]);
    }
end:
    release(&l);
    return status;
}

static const char *const not_covered[] = {
    "the MATLAB program and its hours: the CPU here is this project's reference in C",
    "tensors of figures: the paper shows none, and its data are not public",
    NULL,
};

int bench_moazeni2009_kernels(bench_run *run)
{
    int status = CLVOX_OK;
    listing l = {.stage = CLV_TENSOR_LLT};
    record_samples times[BLOCKS][PAPER_SIZES][SCHEMES];
    status = verify(run->ctx);
    if (paper_passed_over(run, "GlobalSync", &status))
        return CLVOX_OK;
    CLV_TRY(status);
    fprintf(run->out,
            "\nTable 1: GlobalSync as printed, a launch for each entry of the tensor, the curvature of\n"
            "Listing 1 in blocks that overlap by a voxel and wait for their work-items; %d steps. The\n"
            "paper's times come to 3.7 s, the whole took 1 minute and 30 seconds.\n\n"
            "%-6s %-10s %5s %9s %7s %9s %8s %9s %11s %7s\n",
            STEPS, "block", "kernel", "calls", "ms", "share", "occupancy", "local KB", "registers",
            "ms (paper)", "share");
    CLV_TRY(create(run->ctx, run->size, &l));
    for (int b = 0; b < BLOCKS; b++) {
        CLV_TRY(force_blocks(run->ctx, b));
        status = print_kernels(run, &l, b);
        if (!paper_passed_over(run, blocks[b], &status))
            CLV_TRY(status);
    }
    release(&l);
    fprintf(run->out,
            "\nFigures 3 to 7: ms of a step by size and block, all in the paper's memories.\n\n%-13s %-6s",
            "size", "block");
    for (int s = 0; s < SCHEMES; s++)
        fprintf(run->out, " %12s", schemes[s].name);
    fprintf(run->out, "\n");
    for (int k = 0; k < PAPER_SIZES; k++) {
        int size[3];
        paper_size(run, k, size);
        CLV_TRY(create(run->ctx, size, &l));
        for (int b = 0; b < BLOCKS; b++) {
            CLV_TRY(force_blocks(run->ctx, b));
            CLV_TRY(time_schemes(run, &l, times[b][k]));
            print_sizes(run, size, b, times[b][k]);
        }
        release(&l);
    }
    for (int b = 0; b < BLOCKS; b++)
        judge_scaling(run, b, times[b][0], times[b][PAPER_SIZES - 1]);
    CLV_TRY(speed_up(run, times[0][PAPER_SIZES - 1], (double)run->size[0] * run->size[1] * run->size[2]));
    paper_not_covered(run, not_covered);
end:
    if (force_blocks(run->ctx, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    release(&l);
    return status;
}
