/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_BUILD_H
#define CLV_RUNTIME_BUILD_H

#include "runtime/cache.h"
#include "runtime/context.h"

/* Everything of the device and its driver that a binary depends on, as one
 * string; the caller frees it. NULL without memory. */
char *clv_build_identity(const clvox_device_limits *limits);

/* Builds one kernel's program, from the cache when it can. counts: what the
 * compiler said about the kernel. On success *out is the caller's to release.
 * CLVOX_ERROR_BUILD: the source does not build on this device. */
int clv_program_build(clvox_context *ctx, const clv_variant *variant, const char *file,
                      const char *options, cl_program *out, clv_counts *counts);

/* Registers and spilled bytes of a kernel from the log of NVIDIA's compiler;
 * what it does not say becomes -1. */
void clv_counts_from_log(const char *log, const char *kernel, clv_counts *counts);

#endif
