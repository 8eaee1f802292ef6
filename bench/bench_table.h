/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_BENCH_TABLE_H
#define CLV_BENCH_TABLE_H

#include <cjson/cJSON.h>

#include "bench.h"

/* Prints one line for each row whose name contains one of names (count 0: all)
 * on a volume of size voxels, `seconds` of samples each, and with variants one
 * for each variant and tile. json (may be NULL) receives the samples. */
int bench_kernels(clvox_context *ctx, const int size[3], double seconds, const char *const *names,
                  int count, bool variants, FILE *out, cJSON *json);

/* Registration of a phantom of size voxels: seconds by stage, and the time of
 * the deformation over its bandwidth floor. */
int bench_pipelines(clvox_context *ctx, const int size[3], FILE *out, cJSON *json);

/* The paper's comparison of the four forms of the force, with every tile's
 * registers, local memory and occupancy beside its time. */
int bench_lee2012(clvox_context *ctx, const int size[3], double seconds, FILE *out, cJSON *json);

/* The paper's comparison of how blocks of a tensor field wait for one another. */
int bench_moazeni2009(clvox_context *ctx, const int size[3], double seconds, FILE *out, cJSON *json);

/* Operations a second of multiply-adds in registers. */
int bench_peak(clvox_context *ctx, double *operations_per_second);

/* Patch searches of several sizes and noises: seconds, and 2 K N^2 operations
 * (what comparing all pairs takes; more than the peak where pairs are skipped)
 * over the measured peak. */
int bench_nlm(clvox_context *ctx, double seconds, bool variants, FILE *out, cJSON *json);

/* The paper's comparison of the memories for the patch search. */
int bench_lee2012_nlm(clvox_context *ctx, double seconds, FILE *out, cJSON *json);

#endif
