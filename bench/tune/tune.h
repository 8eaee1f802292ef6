/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning: the planner's candidates measured, the best of them kept as wisdom. */
#ifndef CLV_BENCH_TUNE_H
#define CLV_BENCH_TUNE_H

#include <cjson/cJSON.h>

#include "bench/bench.h"

typedef struct tune_options {
    int size[3];
    double seconds;             /* sampling time per candidate */
    const char *const *kernels; /* names of entries; count 0: all */
    int count;
    bool all;                   /* also variants that the planner would not choose: never kept */
    const char *path;           /* of the wisdom; NULL: nothing is kept */
    char **remark;              /* of clv_wisdom_store; may be NULL */
    int *kept;                  /* counts the choices that were kept; may be NULL */
    bool (*stop)(void);         /* asked between candidates; may be NULL */
    void (*tell)(void *user, double share, const char *what); /* may be NULL */
    void *user;
} tune_options;

/* Measures on a context without wisdom, best with timers (options.profile);
 * without them whole calls are measured. A line for each kernel and build as it
 * is done, at the end how far the planner's own choice is from the best. What each
 * candidate computes on small volumes, the planner's own choice too, is compared
 * with the reference: one that is wrong is CLVOX_ERROR_DATA with a sentence. With
 * stop: CLVOX_ERROR_STOPPED, and what was measured is kept. json may be NULL. */
int bench_tune(clvox_context *ctx, const tune_options *options, FILE *out, cJSON *json);

/* Costs that decide between pairs of elements and particle meshes (anatomy/mesh_costs.h), from rows of the bench on
 * elements of its own number; kept in the wisdom of path, unless that is NULL. */
int bench_tune_costs(clvox_context *ctx, const tune_options *options, FILE *out, cJSON *json);

/* Rows for kernels that no row of the bench runs; ends with a NULL name. */
extern const bench_row tune_rows[];

#endif
