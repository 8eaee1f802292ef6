/* SPDX-License-Identifier: Apache-2.0 */
/* The bench: every operation and pipeline against what the same device can do
 * at most, measured in the same run, and only where its result is right. */
#ifndef CLV_BENCH_H
#define CLV_BENCH_H

#include <stdio.h>

#include "base/clock.h"
#include "op/anatomy/particle_mesh.h"
#include "op/fluid/fourier.h"
#include "bench/papers/op/solvers/solvers.h"
#include "op/fluid/force.h"
#include "op/surface/mesh_distance.h"
#include "op/image/nlm.h"
#include "op/image/statistics.h"
#include "op/image/tv.h"
#include "op/tensor/fit.h"
#include "op/tensor/primal_dual.h"
#include "bench/record.h"
#include "runtime/runtime.h"

/* One run of the command. */
typedef struct bench_run {
    clvox_context *ctx;
    int size[3];       /* of the volumes that rows are timed on */
    double seconds;    /* the most that the samples of one row may take */
    bool variants;     /* also every variant and tile */
    bool whole;        /* flows on that size, too, not on half of each side */
    bool timers;       /* the device keeps time */
    FILE *out;         /* tables */
    cJSON *log;        /* the record */
    double copy, peak; /* ceilings: bytes, operations a second */
    double reads;      /* and reads of 4 bytes from a cache, of GPUs; 0: not measured */
    double host_copy;  /* bytes a second, of the host's memory; 0: not measured yet */
} bench_run;

/* ---- time --------------------------------------------------------------- */

typedef struct bench_time {
    record_samples seconds;
    double device;            /* seconds by the device's timers; 0: unknown */
    double moved;             /* bytes that its kernels must move, by what they say; 0: unknown */
    const clv_kernel *kernel; /* of the entry asked for, else the one that takes longest; NULL: unknown */
} bench_time;

/* Times calls after warming up, in batches long enough for the clock, until
 * their spread is small or run->seconds are over. entry (may be NULL) names the
 * kernel that the caller wants to see. */
int bench_measure(bench_run *run, int (*call)(void *what), void *what, const char *entry, bench_time *out);

/* The device's part of bench_measure: time and kernel of some calls, one where
 * a call takes longer than run->seconds. For those who take samples themselves. */
int bench_device_time(bench_run *run, int (*call)(void *what), void *what, const char *entry,
                      bench_time *out);

/* Copy bandwidth, multiply-add rate and, on GPUs, reads from a cache into run and record, as the rows need. */
#define BENCH_READS "reads from cache"
int bench_limits(bench_run *run);
/* The host's copy bandwidth, which bounds what the host does, likewise. */
#define BENCH_HOST_COPY "copy, host"
int bench_host_limit(bench_run *run);
/* Everything that the device can do at most, printed and recorded. */
int bench_ceilings(bench_run *run);

/* CLVOX_ERROR_DATA: the result of `what` is not what it must be, as the format says. */
int bench_wrong(const clvox_context *ctx, const char *what, const char *format, ...) CLVOX_PRINTF(3, 4);

/* ---- rows --------------------------------------------------------------- */

/* Adds to a row what was measured, and its share of the ceiling that bounds it:
 * of copying or of multiply-adds, whichever takes longer for its bytes and
 * operations. tile: room for row->tile. */
void bench_complete(const bench_run *run, const bench_time *time, record_row *row, char tile[32]);
/* The line of a completed row in the common table, and its heading. */
void bench_heading(const bench_run *run, const char *what);
void bench_line(const bench_run *run, const char *label, const record_row *row);

/* Whether a is slower than b by more than timing could be wrong: what a paper's
 * conclusion about the two is held against. */
static inline bool bench_slower(const record_samples *a, const record_samples *b)
{
    return a->median > 1.02 * b->median;
}

/* ---- data --------------------------------------------------------------- */

/* BENCH_LONGEST: the number of the state that holds the longest vector of v. */
enum {
    BENCH_IN = 2,
    BENCH_OUT = 3,
    BENCH_STATE = 64,
    BENCH_TRIANGLES = 256,
    BENCH_LISTED = 64, /* triangles of a cell */
    BENCH_LONGEST = 63,
    BENCH_VOLUMES = 64,
    BENCH_OWN = 8
};

/* Data of the rows: buffers for n voxels. Rows leave the first block as it is. */
typedef struct bench_data {
    clvox_context *ctx;
    int size[3];
    int n;
    clv_buffer *in[BENCH_IN];         /* smooth images in [0, 1] */
    clv_buffer *labels;               /* whole numbers, 0 to 8 */
    clv_buffer *level;                /* smooth, slope about 1, with surfaces of level 0 */
    clv_buffer *u, *v;                /* smooth fields of up to 1.5 mm a component */
    clv_buffer *tensor, *tensor_data; /* 6 n, positive, smooth, about 1 (1e-3 mm^2/s) */
    clv_buffer *links, *half_links;   /* of a volume without a mask, and of half its planes */
    clv_buffer *dwi;                  /* BENCH_VOLUMES frames of bench_scan voxels */
    clv_tensor_design *design;        /* of that scan */
    clv_buffer *map;                  /* the identity, for linear registration */
    clv_buffer *triangles, *cells, *list; /* cells of an eighth of the voxels */

    clv_buffer *out[BENCH_OUT], *field[2], *nine, *partial, *state; /* field, nine: 3 n, 9 n and a little */
    clv_buffer *sums;                 /* of linear registration */
    clv_tensor_pd pd;
    clv_tv tv;
    clv_tv_channel tv_channel;
    clv_nlm_padding padding; /* of non-local means, whose padded images are in the workspace's list */
    clv_buffer *padded[3];
    clv_buffer *solver[2];            /* fields */
    clv_solvers solve;                /* of the row */
    clv_request workspace_list[3];
    int workspace_count;
    clv_fft fft;                      /* once a row has wanted it */
    struct bench_flow *flow;          /* of the row (rows/flow.c); NULL: none */
    clv_particle_mesh mesh;           /* of the row, once it has begun */
    clv_buffer *own[BENCH_OWN];       /* what a row or a paper's line prepares for itself */
    bool whole;                       /* flows do not take half of each side */
    double answer[10];                /* what a row brought to the host */
} bench_data;

/* Cells of eight voxels: an eighth of the volume, about what a band takes. */
static inline int bench_cells(const bench_data *data)
{
    return data->n / 64;
}

/* Voxels of a scan of BENCH_VOLUMES in the room of six components. */
static inline int bench_scan(const bench_data *data)
{
    return data->n * 6 / BENCH_VOLUMES;
}

/* Data of that size; rough: with noise and short waves, as checks want them. */
int bench_data_create(clvox_context *ctx, const int size[3], bool rough, bench_data *data);
void bench_data_release(bench_data *data);
/* The run by flows that a row has begun, if any. */
void bench_flow_release(bench_data *data);
/* Bytes of device memory that the data of n voxels take, and the most in one piece. */
double bench_data_bytes(double n, double *largest);
/* Corners of triangle t of the mesh. */
void bench_triangle(int t, double corners[9]);
/* b and directions of the scan. */
void bench_scheme(double b[BENCH_VOLUMES], double direction[BENCH_VOLUMES][3]);

struct bench_check;

/* One row. bytes: what must cross device memory for each voxel, each input
 * read once and each output written once. operations: what must be computed for
 * each voxel, a multiply-add counted as two; 0 where it depends on the data or is
 * not worth counting. vary: the entry whose variants --variants forces in turn,
 * or "ENTRY/FORM", a form of it that the row is about; NULL: none. */
typedef struct bench_row {
    const char *name;
    const char *vary;
    double bytes, operations;
    int (*run)(bench_data *data);
    int (*check)(struct bench_check *c);               /* the result against the reference's */
    int (*begin)(bench_data *data);                    /* before the first run; NULL: nothing */
    void (*size)(const bench_data *data, int size[3]); /* NULL: the data's */
} bench_row;

/* Reads of 4 bytes that a GPU's work-items make for each voxel of a row: a ceiling of its own where caches hold
 * what neighbours read. 0: not counted. */
double bench_reads_of(const char *row);

/* By field; each ends with a NULL name. bench_fields are all of them. */
extern const bench_row bench_rows_images[], bench_rows_register[], bench_rows_solvers[], bench_rows_surface[],
    bench_rows_tensor[], bench_rows_sort[], bench_rows_anatomy[], bench_rows_flow[], bench_rows_epi[],
    bench_rows_label[];
enum { BENCH_FIELDS = 10 };
extern const bench_row *const bench_fields[BENCH_FIELDS];

/* Runs the row on small volumes, odd and even, with the kernels that are chosen or
 * forced now and compares. CLVOX_ERROR_DATA where the result is wrong. */
int bench_verify(clvox_context *ctx, const bench_row *row, const char *label);

/* Forces the form that a row of "ENTRY/FORM" is about, or ends that. */
int bench_force_form(clvox_context *ctx, const bench_row *row, bool on);

/* The fluid's operator with alpha and gamma of Ha 2011, in voxels. */
clv_fluid_operator bench_operator(const int size[3], bool periodic, float beta);
/* Says that sweeps by blocks in local memory are not for the device. */
int bench_sor_blocks(const clvox_context *ctx);

/* The unbiased force with penalty, without mask, on the bench's data. */
int bench_force(bench_data *data);
/* By the form that is forced of clv_entry_force_forms. */
int bench_unbiased_form(bench_data *data);
int bench_check_force(struct bench_check *c);

#endif
