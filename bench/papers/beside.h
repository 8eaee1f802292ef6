/* SPDX-License-Identifier: Apache-2.0 */
/* Beside a paper's tables: plain C on a CPU, and the lines that say what is not covered. */
#ifndef CLV_BENCH_PAPER_BESIDE_H
#define CLV_BENCH_PAPER_BESIDE_H

#include "bench/bench.h"
#include "clvox/threads.h"

/* Times a plain C reference, cut into pieces for so many host threads, while run->seconds last. */
int paper_plain(bench_run *run, size_t pieces, clvox_task task, void *user, int threads,
                record_samples *samples);

/* A device's speed-up over it, both by the seconds for one element (a voxel, a pair). */
typedef struct paper_speed_up {
    const char *group, *name, *device; /* of the record, and where the paper ran */
    int threads;
    double figure; /* the paper's */
    double plain_elements, elements;
} paper_speed_up;

/* Prints and records it. */
void paper_report_speed_up(bench_run *run, const paper_speed_up *of, const record_samples *plain,
                           const record_samples *device);

/* A line for each of what a paper has and the tables have not, with the reason; ends with NULL. */
void paper_not_covered(bench_run *run, const char *const *lines);

/* Every size of a table by size: the run's, and a half and three quarters of it, rounded up. */
enum { PAPER_SIZES = 3 };
void paper_size(const bench_run *run, int which, int size[3]);

#endif
