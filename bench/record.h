/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON record of doc/bench-schema.json. */
#ifndef CLV_BENCH_RECORD_H
#define CLV_BENCH_RECORD_H

#include <stdbool.h>

#include <cjson/cJSON.h>

#include "clvox/device.h"

/* Raised when a reader of an older record would misunderstand a new one. */
enum { RECORD_SCHEMA = 1, RECORD_SAMPLES = 64 };

/* Samples of one thing, and what they come to. */
typedef struct record_samples {
    int count;
    double sample[RECORD_SAMPLES];
    double median;
    double spread; /* between the quartiles, over the median */
} record_samples;

/* Adds one sample (none beyond RECORD_SAMPLES) and sets median and spread. */
void record_add_sample(record_samples *samples, double value);

/* The paper's finding beside ours. */
typedef struct record_paper {
    double value;           /* the paper's own figure; 0: it gives none */
    double here;            /* the same figure on this device */
    const char *unit;       /* of both: "times as fast as recompute" */
    const char *device;     /* on which it was found */
    const char *conclusion; /* one sentence */
    bool holds;             /* whether it holds here */
} record_paper;

/* A row. What is 0, negative or NULL is unknown and left out. */
typedef struct record_row {
    const char *group; /* "kernels", "pipelines", "nlm", or a paper's name */
    const char *name;
    int size[3];
    const char *variant, *tile;
    const record_samples *seconds; /* of a call, by the wall clock */
    double device_seconds;         /* of a call, by the device's timers */
    double bytes, operations;      /* that a call must move, or do */
    double reads;                  /* of 4 bytes, that its work-items make */
    const char *ceiling;           /* name of the ceiling that bounds it */
    double share;                  /* of that ceiling */
    int registers;
    double occupancy;
    const char *limit;             /* of the occupancy */
    bool verified;                 /* the result was compared with the reference's */
    const char *remark;
    const record_paper *paper;
} record_row;

/* Turns the log of a command into a record without ceilings and rows. */
void record_begin(cJSON *log, const clvox_device_limits *limits);

/* unit: "B/s", "FLOP/s", "s" or "1/s"; samples are in it too. */
void record_ceiling(cJSON *log, const char *name, const char *unit, const record_samples *samples);

void record_add(cJSON *log, const record_row *row);

#endif
