/* SPDX-License-Identifier: Apache-2.0 */
/* What cl/meson.build makes of the list of operations: their entries, and the
 * texts of their kernels. */
#ifndef CLV_RUNTIME_REGISTRY_H
#define CLV_RUNTIME_REGISTRY_H

#include "runtime/plan/plan.h"

/* The entry of this number, of all operations, for tests, bench and `devices -v`;
 * NULL beyond the last. */
const clv_entry *clv_entry_at(int index);

/* Kernel sources by file name ("field/warp.cl"), embedded at build time; ends
 * with a NULL name. */
typedef struct clv_source {
    const char *name;
    const char *text;
} clv_source;
extern const clv_source clv_sources[];

#endif
