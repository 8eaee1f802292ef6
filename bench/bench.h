/* SPDX-License-Identifier: Apache-2.0 */
/* The bench: every operation and pipeline against the same device's measured
 * copy bandwidth. */
#ifndef CLV_BENCH_H
#define CLV_BENCH_H

#include <stdio.h>

#include "op/force.h"
#include "op/likeness.h"
#include "op/mesh_distance.h"
#include "op/tensor_fit.h"
#include "runtime/runtime.h"

/* BENCH_LONGEST: the number of the state that holds the longest vector of field[0]. */
enum {
    BENCH_FIELDS = 4,
    BENCH_SCALARS = 6,
    BENCH_REPEATS = 15,
    BENCH_PARTIALS = CLV_LIKENESS_SCRATCH, /* the most that any operation wants */
    BENCH_STATE = 64,
    BENCH_TRIANGLES = 256,
    BENCH_LISTED = 64, /* triangles of a cell */
    BENCH_LONGEST = 63,
    BENCH_VOLUMES = 64
};

/* What a row runs on: buffers of random data for size voxels. */
typedef struct bench_data {
    clvox_context *ctx;
    int size[3];
    int n;
    clv_buffer *scalar[BENCH_SCALARS];
    clv_buffer *field[BENCH_FIELDS];
    clv_buffer *nine;
    clv_buffer *tensor, *tensor_data; /* 6 n, positive, smooth, about 1 (1e-3 mm^2/s) */
    clv_buffer *links;                /* of a volume without a mask */
    clv_tensor_design *design;        /* of a scan of BENCH_VOLUMES */
    clv_buffer *level; /* smooth, slope about 1, with surfaces of level 0 */
    clv_buffer *partial, *state;
    clv_buffer *triangles, *cells, *list; /* cells of an eighth of the voxels */
} bench_data;

/* Cells of eight voxels: an eighth of the volume, about what a band takes. */
static inline int bench_cells(const bench_data *data)
{
    return data->n / 64;
}

/* One row. bytes: what must cross device memory for each voxel, each input
 * read once and each output written once. file: the kernel file whose entries
 * the row exercises; with variants asked for, each variant of entry `vary` is
 * forced in turn. */
typedef struct bench_row {
    const char *name;
    const char *vary;
    double bytes;
    int (*run)(bench_data *data);
} bench_row;

extern const bench_row bench_rows[]; /* ends with a NULL name */

/* The unbiased force with penalty, without mask, on the bench's data. */
int bench_force(bench_data *data, clv_force_form form);

typedef struct bench_time {
    double median, low, high; /* seconds a call */
    int samples;
    double sample[BENCH_REPEATS];
} bench_time;

/* Times calls of run, warmed up, in batches long enough for the clock. */
int bench_measure(bench_data *data, int (*run)(bench_data *), double seconds, bench_time *out);

int bench_data_create(clvox_context *ctx, const int size[3], bench_data *data);
void bench_data_release(bench_data *data);

/* Median copy bandwidth in bytes a second, 16-byte accesses, n floats. */
int bench_ceiling(bench_data *data, double seconds, double *bytes_per_second);

#endif
