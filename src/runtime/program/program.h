/* SPDX-License-Identifier: Apache-2.0 */
/* From a kernel's text to a built program: by the driver's compiler or from the disk cache. A program holds
 * one kernel. */
#ifndef CLV_RUNTIME_PROGRAM_H
#define CLV_RUNTIME_PROGRAM_H

#include "runtime/program/cache.h"
#include "runtime/device/context.h"
#include "runtime/plan/plan.h"

/* Everything of the device and its driver that a binary depends on, as one
 * string; the caller frees it. NULL without memory. */
char *clv_build_identity(const clvox_device_limits *limits);

/* CLVOX_ERROR_MEMORY where a limit on addresses (ulimit -v) leaves too few for the device's compiler, which would not
 * say so but end the program. */
int clv_compiler_check(const clvox_context *ctx);

/* A kernel to be built, and all that its binary depends on. */
typedef struct clv_program_request {
    const char *file, *function; /* cl/<file>.cl, and the kernel's name there */
    char options[1024];
    char *source;
    clv_cache_key key;
} clv_program_request;

typedef struct clv_program {
    cl_program program; /* NULL: not built; else a reference that the holder releases */
    clv_counts counts;
} clv_program;

/* extra may be NULL. clv_program_request_free releases what the request holds,
 * and is legal on a zeroed one. */
int clv_program_request_make(const clvox_context *ctx, const clv_entry *entry, const clv_variant *variant,
                             clv_tile tile, const char *extra, clv_program_request *request);
void clv_program_request_free(clv_program_request *request);

/* From the cache when it can, else from its text, and to the cache. Waits while another process builds the
 * same; a rehearsal (clvox_context_options.left_out) gets NULL instead. CLVOX_ERROR_BUILD: it does not build
 * on this device. */
int clv_program_build(clvox_context *ctx, const clv_program_request *request, clv_program *out);
/* The kernel that was built last has been launched, or will not be: who waits for it may have it. */
void clv_program_let_go(clvox_context *ctx);

/* Binary of a program from the driver; the caller frees it. NULL: there is none. */
unsigned char *clv_program_binary(cl_program program, size_t *bytes);

#endif
