/* SPDX-License-Identifier: Apache-2.0 */
/* From a kernel's text to a built program: by a compiler, here or in another
 * process, or from the disk cache. A program holds one kernel. */
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

/* What a compiler makes of a request: what the cache keeps and other processes send. */
typedef struct clv_code {
    unsigned char *data; /* NULL: nothing */
    size_t bytes;
    bool to_link; /* of the first of two steps */
    char *log;
} clv_code;

/* extra may be NULL. clv_program_request_free releases what the request holds,
 * and is legal on a zeroed one. */
int clv_program_request_make(const clvox_context *ctx, const clv_entry *entry, const clv_variant *variant,
                             clv_tile tile, const char *extra, clv_program_request *request);
void clv_program_request_free(clv_program_request *request);

/* Compiles for others. clv_code_free releases what code holds, also after a failure. */
int clv_code_compile(clvox_context *ctx, const char *text, const char *options, clv_code *code);
void clv_code_free(clv_code *code);

/* PoCL's second compiler makes a kernel a function of work-groups when it is first launched, and keeps that
 * on disk for all processes: launches what was compiled, so that others need not wait for it. */
void clv_code_launch(clvox_context *ctx, const char *options, const clv_code *code);

/* The text that a compiler gets for a request; the caller frees it. NULL without memory. */
char *clv_program_text(const clvox_context *ctx, const clv_program_request *request);

/* From code that another process compiled from clv_program_text; goes to the
 * cache, too. False where the driver does not take it. */
bool clv_program_from_code(clvox_context *ctx, const clv_program_request *request, const clv_code *code,
                           clv_program *out);
/* From the disk cache; false where it is not there. */
bool clv_program_in_cache(const clvox_context *ctx, const clv_program_request *request);
bool clv_program_from_cache(clvox_context *ctx, const clv_program_request *request, clv_program *out);
/* The same in two steps: what the cache holds, which clv_code_free releases, and a program of it. */
bool clv_program_read(const clvox_context *ctx, const clv_program_request *request, clv_code *code,
                      clv_counts *counts);
bool clv_program_load(clvox_context *ctx, const char *options, const clv_code *code, const clv_counts *counts,
                      clv_program *out);
/* From its text, here, and to the cache. CLVOX_ERROR_BUILD: it does not build on this device. */
int clv_program_from_text(clvox_context *ctx, const clv_program_request *request, clv_program *out);
/* From the cache when it can, else from its text. Waits while another process builds the same. */
int clv_program_build(clvox_context *ctx, const clv_program_request *request, clv_program *out);

/* What the driver gives of a program; the caller frees it. NULL: nothing. */
unsigned char *clv_program_binary(cl_program program, size_t *bytes);

#endif
