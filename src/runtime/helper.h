/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that compile for this one. NVIDIA's compiler works on one program
 * at a time in a process, however many threads ask it. */
#ifndef CLV_RUNTIME_HELPER_H
#define CLV_RUNTIME_HELPER_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/device.h"

enum { CLV_MOST_HELPERS = 4 };

/* From now on up to `most` helpers may be started, by running `program` with
 * the two arguments CLV_HELPER_VERB and a device's number; it then has to call
 * clv_helper_serve. They end with the context or with clv_helpers_end. */
#define CLV_HELPER_VERB "compile-for-parent"
int clv_helpers_allow(clvox_context *ctx, const char *program, int most);
void clv_helpers_end(clvox_context *ctx); /* they may be started again */
void clv_helpers_free(clvox_context *ctx);

/* Starts those that are allowed and not there yet; returns how many there are. */
int clv_helpers_start(clvox_context *ctx);

/* Whether the helper has opened its device, which takes half a second: waits
 * for it 10 ms at most. One that has ended is as good as ready. */
bool clv_helper_ready(clvox_context *ctx, int helper);

/* Lets a helper compile. True: *binary and *log are the caller's to free.
 * Different helpers may be asked from different threads. */
bool clv_helper_compile(clvox_context *ctx, int helper, const char *options, const char *text,
                        unsigned char **binary, size_t *bytes, char **log);

/* The helper's side: compiles for whoever is at the other end of standard input, until it ends. */
int clv_helper_serve(const char *device);

#endif
