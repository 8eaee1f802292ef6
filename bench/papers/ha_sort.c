/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, appendix A: radix sorting of pairs. */
#include <string.h>

#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/sort_forms.h"
#include "runtime/queue/timing.h"

static int prepare(bench_data *d, const paper_line *line)
{
    (void)line;
    return bench_begin_sort(d);
}

static int run_pairs(bench_data *d, const paper_line *line)
{
    (void)line;
    return bench_sort(d, true, false);
}

static int run_narrow(bench_data *d, const paper_line *line)
{
    (void)line;
    return bench_sort(d, true, true);
}

static int run_form(bench_data *d, clv_sort_form form, bool narrow)
{
    clv_sort_args args;
    const int status = bench_unsorted(d, true, narrow, &args);
    return status < 0 ? status : clv_sort_in_form(d->ctx, form, &args);
}

static int run_implicit(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_SORT_IMPLICIT, false);
}

/* In two fields, of 3 n words each. */
static int run_by_pairs(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_SORT_PAIRS, false);
}

static int run_limited(bench_data *d, const paper_line *line)
{
    (void)line;
    return run_form(d, CLV_SORT_LIMITED, true);
}

static int check_pairs(bench_check *c, const paper_line *line)
{
    (void)line;
    return bench_check_sort(c, true, false);
}

static int check_narrow(bench_check *c, const paper_line *line)
{
    (void)line;
    return bench_check_sort(c, true, true);
}

/* Bytes as in the rows of the bench; a limited range leaves out a digit and reads the keys once more. */
#define SORT .prepare = prepare, .bytes = 96
static const paper_line lines[] = {
    {.name = "implicit counts, 2 bits at a time",
     .run = run_implicit,
     .check = check_pairs,
     SORT,
     .devices = CLV_ON_GPU,
     .entry = &clv_entry_sort_implicit,
     .variant = "implicit",
     .tile = -1,
     .against = PAPER_ALONE},
    {.name = "counts in half-bytes, 4 bits",
     .run = run_pairs,
     .check = check_pairs,
     SORT,
     .devices = CLV_ON_GPU,
     .entry = &clv_entry_sort_scatter,
     .variant = "group",
     .tile = -1,
     .against = 0,
     .expects = PAPER_SLOWER,
     .figure = 17.55 / 12.05,
     .conclusion = "implicit counts sort faster than those of four bits"},
    {.name = "the planner's choice",
     .run = run_pairs,
     .check = check_pairs,
     SORT,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_sort_scatter,
     .tile = -1,
     .against = PAPER_ALONE},
    {.name = "pairs side by side between passes",
     .run = run_by_pairs,
     .check = check_pairs,
     SORT,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_sort_pairs,
     .tile = -1,
     .against = 2,
     .expects = PAPER_FASTER,
     .conclusion = "pairs side by side sort faster than two arrays"},
    {.name = "keys of 24 bits, all digits",
     .run = run_narrow,
     .check = check_narrow,
     SORT,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_sort_scatter,
     .tile = -1,
     .against = PAPER_ALONE},
    {.name = "keys of 24 bits, range limited",
     .run = run_limited,
     .check = check_narrow,
     .prepare = prepare,
     .bytes = 80,
     .devices = CLV_ON_ANY,
     .entry = &clv_entry_sort_pairs,
     .tile = -1,
     .against = 4,
     .expects = PAPER_FASTER,
     .figure = 1.3,
     .conclusion = "a limited range saves its digits' passes"},
};

/* ---- table A.1 by component, and figure A.6 ---- */

/* The work of a pass's kernels; the sort within a block and the shuffle are one kernel here. */
enum { COUNTING, RANKING, SHUFFLE, COMPONENTS };

static int component_of(const char *entry)
{
    if (strstr(entry, "count"))
        return COUNTING;
    return strstr(entry, "columns") || strstr(entry, "scan") ? RANKING : SHUFFLE;
}

static int call_copy(void *what)
{
    bench_data *d = what;
    return clv_buffer_copy(d->ctx, d->nine, 0, d->tensor_data, 0, 8 * (size_t)d->n);
}

static int line_of(bench_run *run, bench_data *d, const char *name,
                   int (*sort)(bench_data *d, const paper_line *line))
{
    int status = CLVOX_OK;
    double seconds[COMPONENTS] = {0}, all = 0;
    const clv_timing *rows;
    const double passes = 32. / CLV_SORT_DIGIT_BITS;
    CLV_TRY(bench_begin_sort(d));
    CLV_TRY(sort(d, NULL)); /* builds the kernels */
    CLV_TRY(clv_timings_switch(run->ctx, true));
    CLV_TRY(bench_begin_sort(d));
    clv_timings_reset(run->ctx);
    CLV_TRY(sort(d, NULL));
    const int count = clv_timings(run->ctx, &rows);
    for (int i = 0; i < count; i++)
        if (rows[i].kernel) {
            seconds[component_of(rows[i].kernel->entry->name)] += rows[i].seconds;
            all += rows[i].seconds;
        }
    fprintf(run->out, "%-35s %10.3f %10.3f %10.3f %10.3f\n", name, 1e3 * seconds[COUNTING] / passes,
            1e3 * seconds[RANKING] / passes, 1e3 * seconds[SHUFFLE] / passes, 1e3 * all / passes);
end:
    if (clv_timings_switch(run->ctx, false) < 0 && status >= 0)
        status = CLVOX_ERROR_DEVICE;
    return status;
}

static int components(bench_run *run, bench_data *d)
{
    int status = CLVOX_OK;
    bench_time time;
    if (!run->timers) {
        fprintf(run->out, "Table A.1 by component is not printed: the device keeps no time.\n\n");
        return CLVOX_OK;
    }
    fprintf(run->out,
            "Table A.1 by component, ms of one of the passes over %d pairs (the thesis, 16 million: presort "
            "8.15, ranks .15, shuffle\n"
            "3.75, copy 2.78; CUDPP 12.25, .15, 5.15): the presort and the shuffle are one kernel here, "
            "after a count\n"
            "%-35s %10s %10s %10s %10s\n",
            d->n, "", "count", "ranks", "shuffle", "pass");
    const bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    status = cpu ? CLVOX_OK : line_of(run, d, "implicit counts", run_implicit);
    if (!paper_passed_over(run, "implicit counts", &status))
        CLV_TRY(status);
    CLV_TRY(line_of(run, d, "the planner's choice", run_pairs));
    CLV_TRY(bench_measure(run, call_copy, d, NULL, &time));
    fprintf(run->out, "%-35s %43.3f\n\n", "copy of the pairs", 1e3 * time.seconds.median);
end:
    return status;
}

typedef struct sized_sort {
    bench_data *data;
    clv_sort_args args;
} sized_sort;

static int call_sized(void *what)
{
    int status = CLVOX_OK;
    const sized_sort *s = what;
    const bench_data *d = s->data;
    const size_t bytes = 4 * (size_t)s->args.n;
    CLV_TRY(clv_buffer_copy(d->ctx, d->nine, 0, s->args.keys, 0, bytes));
    CLV_TRY(clv_buffer_copy(d->ctx, d->nine, 4 * (size_t)d->n, s->args.values, 0, bytes));
    CLV_TRY(clv_sort(d->ctx, &s->args));
end:
    return status;
}

static int sizes(bench_run *run, bench_data *d)
{
    enum { LEAST = 1 << 16 };
    int status = CLVOX_OK;
    sized_sort s = {.data = d};
    fprintf(run->out,
            "Figure A.6: million pairs of 32 bits a second by size (the thesis, GTX 260: about 180)\n");
    CLV_TRY(bench_begin_sort(d));
    CLV_TRY(bench_unsorted(d, true, false, &s.args));
    const int all = s.args.n;
    for (int n = all < LEAST ? all : LEAST, last = 0; n > last; last = n, n = n > all / 4 ? all : 4 * n) {
        bench_time time;
        char name[64], tile[32];
        s.args.n = n;
        CLV_TRY(bench_measure(run, call_sized, &s, clv_entry_sort_scatter.name, &time));
        snprintf(name, sizeof name, "sort, %d pairs", n);
        record_row row = {
            .group = "ha2011", .name = name, .verified = true, .size = {n, 1, 1}, .bytes = 96. * n};
        bench_complete(run, &time, &row, tile);
        record_add(run->log, &row);
        fprintf(run->out, "%12d pairs %10.1f\n", n, 1e-6 * n / time.seconds.median);
    }
    fprintf(run->out, "\n");
end:
    return status;
}

int bench_ha2011_sort(bench_run *run, bench_data *data)
{
    const paper_table table = {"ha2011", "GTX 260", "the thesis", lines, (int)(sizeof lines / sizeof *lines)};
    fprintf(run->out, "Table A.1 and section A.3.3.1, GTX 260: 16 million pairs, one of eight passes 12.05 ms with\n"
                      "implicit counts and 17.55 ms with CUDPP's; a range of 24 bits is 30%% faster\n");
    int status = paper_print(run, data, &table);
    if (status >= 0)
        status = components(run, data);
    return status < 0 ? status : sizes(run, data);
}
