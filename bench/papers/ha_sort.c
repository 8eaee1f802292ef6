/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, appendix A: radix sorting of pairs. */
#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/sort_forms.h"

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

int bench_ha2011_sort(bench_run *run, bench_data *data)
{
    const paper_table table = {"ha2011", "GTX 260", "the thesis", lines, (int)(sizeof lines / sizeof *lines)};
    fprintf(run->out, "Table A.1 and section A.3.3.1, GTX 260: 16 million pairs, one of eight passes 12.05 ms with\n"
                      "implicit counts and 17.55 ms with CUDPP's; a range of 24 bits is 30%% faster\n");
    return paper_print(run, data, &table);
}
