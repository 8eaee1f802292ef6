/* SPDX-License-Identifier: Apache-2.0 */
/* Building kernels before they are asked for: side by side they take a fraction
 * of the time that they take one after another. cl/ahead.txt lists what
 * pipelines ask for, as tools/ahead saw it; what is not listed is built when it
 * is asked for. */
#ifndef CLV_RUNTIME_AHEAD_H
#define CLV_RUNTIME_AHEAD_H

#include "clvox/kernels.h"
#include "runtime/program/cache.h"
#include "runtime/plan/plan.h"
#include "runtime/program/program.h"

/* One line of a list: what clv_kernel_get is asked for. */
typedef struct clv_ahead_line {
    const clv_entry *entry;
    char extra[192];
    size_t local_extra;
} clv_ahead_line;

/* The lines of a list ("register syn lncc:2") for CPU devices or for others;
 * NULL: of all lists. What this version does not know is left out. Returns
 * their number, at most room. */
int clv_ahead_read(clvox_device_type type, const char *list, clv_ahead_line *out, int room);

/* The code of a kernel, as the cache keeps it: found by what it was planned from, as putting its text
 * together takes as long as loading it. */
typedef struct clv_read_ahead {
    const clv_entry *entry;
    const clv_variant *variant;
    clv_tile tile;
    char options[sizeof((clv_program_request *)0)->options];
    char extra[192];
    clv_code code;
    clv_counts counts;
} clv_read_ahead;

/* Reads what the lists hold, for volumes of such a size, from the cache, and builds
 * what is not there. What cannot be built says so when it is asked for. */
int clv_build_ahead(clvox_context *ctx, const char *const *lists, int count, const int size[3]);

/* Hands over a program that was built ahead; false where there is none. */
bool clv_ahead_take(clvox_context *ctx, clv_cache_key key, clv_program *out);
/* Makes a program of code that was read ahead; false where there is none, or the driver refuses it. */
bool clv_ahead_load(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                    const char *extra, clv_program *out);
void clv_ahead_release(clvox_context *ctx);

#endif
