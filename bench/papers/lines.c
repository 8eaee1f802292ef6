/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/lines.h"

#include <math.h>
#include <string.h>

#include "op/image/gaussian.h"
#include "ref/image/gaussian.h"

typedef struct call {
    const paper_line *line;
    bench_data *data;
} call;

static int call_line(void *what)
{
    const call *c = what;
    return c->line->run(c->data, c->line);
}

static int run_small(bench_data *data, const void *what)
{
    const paper_line *line = what;
    int status = line->prepare ? line->prepare(data, line) : CLVOX_OK;
    return status < 0 ? status : line->run(data, line);
}

static int check_small(bench_check *c, const void *what)
{
    const paper_line *line = what;
    return line->check(c, line);
}

static int measure(bench_run *run, bench_data *data, const paper_line *line, bench_time *time)
{
    int status = CLVOX_OK;
    call c = {line, data};
    CLV_TRY(bench_verify_small(run->ctx, line->name, run_small, check_small, line));
    if (line->prepare)
        CLV_TRY(line->prepare(data, line));
    CLV_TRY(bench_measure(run, call_line, &c, line->entry ? line->entry->name : NULL, time));
end:
    return status;
}

static bool holds(const paper_line *line, const record_samples *seconds, const record_samples *against)
{
    switch (line->expects) {
    case PAPER_FASTER: return bench_slower(against, seconds);
    case PAPER_SLOWER: return bench_slower(seconds, against);
    default: return !bench_slower(seconds, against);
    }
}

/* seconds: of the lines before; without samples: not run here. */
static void report(bench_run *run, const paper_table *t, const paper_line *line, const bench_time *time,
                   record_samples *seconds)
{
    const record_samples *against = line->against == PAPER_ALONE ? NULL : &seconds[line->against];
    double voxels = (double)run->size[0] * run->size[1] * run->size[2];
    char tile[32], kernel[64] = "", factor[32] = "", rate[16] = "", unit[96];
    const char *verdict = "";
    record_paper paper = {.value = line->figure, .unit = unit, .device = t->device,
                          .conclusion = line->conclusion};
    record_row row = {.group = t->group, .name = line->name, .verified = true,
                      .size = {run->size[0], run->size[1], run->size[2]},
                      .bytes = line->bytes * voxels, .operations = line->operations * voxels};
    bench_complete(run, time, &row, tile);
    double median = row.seconds->median;
    if (row.variant)
        snprintf(kernel, sizeof kernel, "%s %s", row.variant, tile);
    if (against && against->count > 0) {
        double faster = against->median / median;
        snprintf(factor, sizeof factor, "%.2f", faster);
        if (line->expects != PAPER_NOTHING) {
            snprintf(unit, sizeof unit, "times as fast as %s", t->lines[line->against].name);
            if (line->figure > 0)
                snprintf(factor, sizeof factor, "%.2f (%.2g)", faster, line->figure);
            paper.here = faster;
            paper.holds = holds(line, row.seconds, against);
            row.paper = &paper;
            verdict = paper.holds ? "  holds: " : "  does not hold: ";
        }
    }
    if (line->operations > 0)
        snprintf(rate, sizeof rate, "%.1f", 1e-9 * row.operations / median);
    fprintf(run->out, "%-35s %-18s %9.3f %5.0f%% %8s %14s  %-14s%s%s\n", line->name, kernel, 1e3 * median,
            100 * row.share, rate, factor, line->said ? line->said : "", verdict,
            row.paper ? line->conclusion : "");
    fflush(run->out);
    record_add(run->log, &row);
    seconds[line - t->lines] = time->seconds;
}

bool paper_passed_over(bench_run *run, const char *name, int *status)
{
    if (*status != CLVOX_ERROR_DEVICE)
        return false;
    fprintf(run->out, "%-35s does not run here: %s\n", name, clvox_message());
    fflush(run->out);
    *status = CLVOX_OK;
    return true;
}

int paper_verify_row(clvox_context *ctx, const bench_row *rows, const char *name)
{
    for (const bench_row *row = rows; row->name; row++)
        if (!strcmp(row->name, name)) {
            int status = bench_force_form(ctx, row, true);
            if (status >= 0)
                status = bench_verify(ctx, row, name);
            if (bench_force_form(ctx, row, false) < 0 && status >= 0)
                status = CLVOX_ERROR_MEMORY;
            return status;
        }
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s is the name of no operation", name);
}

int paper_print(bench_run *run, bench_data *data, const paper_table *t)
{
    int status = CLVOX_OK;
    record_samples seconds[PAPER_LINES] = {{0}};
    bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    fprintf(run->out, "%-35s %-18s %9s %6s %8s %14s  %-14s\n", "form", "kernel", "ms", "share", "GFLOP/s",
            "factor (paper)", t->heading);
    for (int i = 0; i < t->count; i++) {
        const paper_line *line = &t->lines[i];
        bench_time time;
        if (!(line->devices & (cpu ? CLV_ON_CPU : CLV_ON_GPU)))
            continue;
        if (line->variant)
            CLV_TRY(clv_force_variant(run->ctx, line->entry->name, line->variant, line->tile));
        status = measure(run, data, line, &time);
        if (line->variant && clv_force_variant(run->ctx, line->entry->name, NULL, -1) < 0 && status >= 0)
            status = CLVOX_ERROR_MEMORY;
        if (paper_passed_over(run, line->name, &status))
            continue;
        CLV_TRY(status);
        report(run, t, line, &time, seconds);
    }
    fprintf(run->out, "\n");
end:
    return status;
}

/* ---- Gaussians ---- */

static int gaussian(bench_data *d, float sigma, clv_gaussian_method method)
{
    return clv_gaussian(d->ctx, CLV_VOLUME(d->in[0], d->size), (const float[3]){sigma, sigma, sigma}, method,
                        d->out[1], d->out[0]);
}

int paper_run_separable(bench_data *data, const paper_line *line)
{
    return gaussian(data, line->sigma, CLV_GAUSSIAN_SEPARABLE);
}

int paper_run_recursive(bench_data *data, const paper_line *line)
{
    return gaussian(data, line->sigma, CLV_GAUSSIAN_RECURSIVE);
}

static int check(bench_check *c, float along_z, const paper_line *line)
{
    const double sigma[3] = {(double)line->sigma, (double)line->sigma, (double)along_z};
    for (size_t i = 0; i < c->n; i++)
        c->more[i] = (double)c->in[0][i];
    ref_gaussian(c->more, c->data->size, sigma, c->want);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-6, 0);
}

int paper_check_separable(bench_check *c, const paper_line *line)
{
    return check(c, line->sigma, line);
}

int paper_check_plane(bench_check *c, const paper_line *line)
{
    return check(c, 0, line);
}

int paper_check_recursive(bench_check *c, const paper_line *line)
{
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = (double)c->in[0][i];
    check_recursive_lines(c, c->n, (double)line->sigma);
    return check_buffer(c, c->data->out[0], c->want, c->n, 2e-5, 0);
}
