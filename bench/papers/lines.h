/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of papers whose lines are ways of doing one thing on the bench's data. */
#ifndef CLV_BENCH_PAPER_LINES_H
#define CLV_BENCH_PAPER_LINES_H

#include "bench/rows/check.h"

typedef enum paper_expects {
    PAPER_NOTHING,
    PAPER_FASTER, /* than the line it is compared with */
    PAPER_SLOWER,
    PAPER_NO_SLOWER
} paper_expects;

enum { PAPER_ALONE = -1, PAPER_LINES = 24 };

/* One line. run leaves the first block of the data as it is; what it needs is
 * prepared once. bytes and operations: a voxel, as in bench_row. */
typedef struct paper_line {
    const char *name;
    int (*run)(bench_data *data, const struct paper_line *line);
    int (*check)(bench_check *c, const struct paper_line *line);
    int (*prepare)(bench_data *data, const struct paper_line *line); /* NULL: nothing */
    float sigma;
    int inputs;                   /* of a mean */
    int devices;                  /* CLV_ON_...: where the line is worth a time */
    const clv_entry *entry;       /* whose kernel is shown; NULL: the one that takes longest */
    const char *variant;          /* of entry, forced; NULL: the planner's */
    int tile;                     /* of variant; -1: the planner's */
    double bytes, operations;
    const char *said;             /* the paper's own time; NULL: none */
    int against;                  /* line of the same table, or PAPER_ALONE */
    paper_expects expects;
    double figure;                /* the paper's own factor; 0: it gives none */
    const char *conclusion;
} paper_line;

typedef struct paper_table {
    const char *group, *device; /* of the record, and where the paper ran */
    const char *heading;        /* of the column with what the paper says */
    const paper_line *lines;
    int count;
} paper_table;

/* Verifies, times, prints and records the lines that run here. */
int paper_print(bench_run *run, bench_data *data, const paper_table *table);

/* A form that this device cannot run is a fact about the device: says so in a line
 * and makes *status CLVOX_OK. Whether it was so. */
bool paper_passed_over(bench_run *run, const char *name, int *status);
/* Verifies the operation of that name, of one of bench_fields. */
int paper_verify_row(clvox_context *ctx, const bench_row *rows, const char *name);

/* Lines of Gaussians of line->sigma on an image: full along all axes or x and y
 * alone, checked against the reference. */
int paper_run_separable(bench_data *data, const paper_line *line);
int paper_run_recursive(bench_data *data, const paper_line *line);
int paper_check_separable(bench_check *c, const paper_line *line);
int paper_check_recursive(bench_check *c, const paper_line *line);
int paper_check_plane(bench_check *c, const paper_line *line);

#endif
