/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_BUILD_H
#define CLV_RUNTIME_BUILD_H

#include <stdio.h>

#include "runtime/cache.h"
#include "runtime/context.h"

/* Everything of the device and its driver that a binary depends on, as one
 * string; the caller frees it. NULL without memory. */
char *clv_build_identity(const clvox_device_limits *limits);

/* Whether the driver keeps by itself what it has compiled, and better than we can. */
bool clv_driver_keeps(const clvox_device_limits *limits);

/* A kernel to be built, and all that its binary depends on. */
typedef struct clv_unit {
    const char *file, *function; /* cl/<file>.cl, and the kernel's name there */
    char options[960];
    char *source;
    clv_cache_key key;
} clv_unit;

/* A built kernel's program and the kernel's name in it, which is another one
 * where it was built together with others. */
typedef struct clv_program {
    cl_program program; /* NULL: not built; else a reference that the holder releases */
    char function[CLV_CACHE_NAME];
    clv_counts counts;
} clv_program;

/* options: as clv_program_options makes them. clv_unit_free releases what the
 * unit holds, and is legal on a zeroed one. */
int clv_unit_make(const clvox_context *ctx, const clv_variant *variant, const char *file, const char *options,
                  clv_unit *unit);
void clv_unit_free(clv_unit *unit);

/* From the disk cache; false where it is not there. */
bool clv_unit_load(clvox_context *ctx, const clv_unit *unit, clv_program *out);
/* From the cache when it can, else from source, by itself. CLVOX_ERROR_BUILD:
 * the source does not build on this device. */
int clv_unit_build(clvox_context *ctx, const clv_unit *unit, clv_program *out);
/* All units in as few compilations as pay, side by side; what is in the cache
 * comes from there. What does not build so is left as NULL, for
 * clv_unit_build to say why. CLVOX_ERROR_MEMORY (together.c). */
int clv_units_build(clvox_context *ctx, const clv_unit *units, int count, clv_program *out);

/* Makes a kernel of the context from its program, whose reference stays the
 * caller's. CLVOX_ERROR_DEVICE: it does not run with its tile (kernel.c). */
int clv_kernel_adopt(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                     const char *extra, const clv_program *program, const clv_kernel **out);

/* Keeps a program under its key: takes over the reference when it succeeds. */
int clv_shared_keep(clvox_context *ctx, clv_cache_key key, cl_program program);

/* The parts that both have in common. Compiles source with options; *log is
 * the caller's to free, also after a failure. */
int clv_program_compile(clvox_context *ctx, const char *file, const char *source, const char *options,
                        cl_program *out, char **log);
/* NVIDIA's compiler says its counts only when it really compiles, and not when
 * the driver's own cache answers. Once per cache entry it is worth a build
 * that the driver has not seen: with a kernel of a name that is new, since the
 * driver looks at the code and not at the source. */
void clv_write_unseen(FILE *to);
/* What the disk cache keeps of a program. text_of: its source, of which the
 * text will do where the driver keeps the rest; NULL: the binary. */
unsigned char *clv_program_binary(const clvox_context *ctx, cl_program program, const char *text_of,
                                  size_t *bytes);
cl_program clv_program_load(clvox_context *ctx, const char *options, const unsigned char *data, size_t bytes);
/* What is known of a kernel's registers from the compiler's log or the binary. */
void clv_program_counts(const clvox_context *ctx, const char *function, const char *log,
                        const unsigned char *binary, size_t bytes, clv_counts *counts);

/* Registers and spilled bytes of a kernel from the log of NVIDIA's compiler;
 * what it does not say becomes -1. */
void clv_counts_from_log(const char *log, const char *kernel, clv_counts *counts);

#endif
