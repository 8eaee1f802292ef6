/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/beside.h"

int paper_plain(bench_run *run, size_t pieces, clvox_task task, void *user, int threads,
                record_samples *samples)
{
    enum { SAMPLES = 5 };
    int status = CLVOX_OK;
    const int own = clvox_threads_own(threads);
    const double end = clv_seconds() + run->seconds;
    *samples = (record_samples){.count = 0};
    do {
        double start = clv_seconds();
        status = clvox_parallel(pieces, task, user);
        record_add_sample(samples, clv_seconds() - start);
    } while (status >= 0 && samples->count < SAMPLES && clv_seconds() < end);
    clvox_threads_own(own);
    return status;
}

void paper_report_speed_up(bench_run *run, const paper_speed_up *of, const record_samples *plain,
                           const record_samples *device)
{
    char name[96];
    record_samples each = {.count = 0}, each_here = {.count = 0};
    record_add_sample(&each, plain->median / of->plain_elements);
    record_add_sample(&each_here, device->median / of->elements);
    const record_paper paper = {.value = of->figure, .here = each.median / each_here.median,
                                .unit = "times as long as on the device", .device = of->device,
                                .holds = bench_slower(&each, &each_here),
                                .conclusion = "a CPU takes many times as long"};
    snprintf(name, sizeof name, "%s, plain C by %d thread%s of the host", of->name, of->threads,
             of->threads == 1 ? "" : "s");
    const record_row row = {.group = of->group,
                            .name = name,
                            .seconds = plain,
                            .verified = true,
                            .paper = &paper,
                            .size = {run->size[0], run->size[1], run->size[2]},
                            .remark = "the reference, in double precision, on a smaller problem"};
    record_add(run->log, &row);
    fprintf(run->out, "%s: %.1f times as long as on the device", name, paper.here);
    if (of->figure > 0)
        fprintf(run->out, " (%g in the paper)", of->figure);
    fprintf(run->out, "\n");
    fflush(run->out);
}

void paper_not_covered(bench_run *run, const char *const *lines)
{
    fprintf(run->out, "\nNot covered:\n");
    for (; *lines; lines++)
        fprintf(run->out, "- %s\n", *lines);
}

void paper_size(const bench_run *run, int which, int size[3])
{
    for (int a = 0; a < 3; a++)
        size[a] = (run->size[a] * (which + 2) + 3) / 4;
}
