/* SPDX-License-Identifier: Apache-2.0 */
/* Whether candidates leave the same bits: rows on a small odd volume, every
 * buffer before and after. Whether they are right is their rows' own check. */
#ifndef CLV_BENCH_TUNE_CHECK_H
#define CLV_BENCH_TUNE_CHECK_H

#include "bench/bench.h"

typedef struct tune_check tune_check;

int tune_check_create(clvox_context *ctx, tune_check **out);
void tune_check_destroy(tune_check **check); /* NULL is legal */

/* Runs the row as the planner stands and remembers what it left. */
int tune_check_expect(tune_check *check, const bench_row *row);

/* Runs it again from the same data. same: whether it left the same bits, partial
 * sums and other scratch apart. */
int tune_check_run(tune_check *check, const bench_row *row, bool *same);

#endif
