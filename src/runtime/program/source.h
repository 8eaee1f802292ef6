/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a program, and the options to build it with. CLVOX_KERNEL_DIR
 * reads kernel files from disk instead of those that were embedded. */
#ifndef CLV_RUNTIME_SOURCE_H
#define CLV_RUNTIME_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/plan/plan.h"

/* The text of a file below cl ("field/warp.cl"). NULL when the name is unknown;
 * else the caller frees it. */
char *clv_source_text(const char *name);

/* The text of cl/<file>.cl with its includes pasted, ready for one kernel:
 * other kernels are left out, so that no device compiles what it does not run,
 * and the kernel is told its work-group size, (TILE_X, TILE_Y, TILE_Z), which
 * lets compilers give a work-item all the registers there are. On success
 * *text is the caller's to free. A file that is not known: CLVOX_ERROR_BUILD. */
int clv_source_assemble(const char *file, const char *function, char **text);

/* The compiler options of a variant with a tile: "-DTILE_X=32 ...". extra may
 * be NULL. Options that only one vendor understands are not among them. */
int clv_program_options(bool fields_packed, const clv_variant *variant, clv_tile tile,
                        const char *extra, char *options, size_t room);

/* A hash of the library's kernel sources, as records and wisdom tell the builds of one version apart by. */
int clv_sources_version(char version[17]);

#endif
