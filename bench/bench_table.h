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

#endif
