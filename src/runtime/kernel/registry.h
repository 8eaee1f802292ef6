/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that there are: entries, and texts. cl/meson.build makes those of the
 * library; a program may bring more. */
#ifndef CLV_RUNTIME_REGISTRY_H
#define CLV_RUNTIME_REGISTRY_H

#include "runtime/plan/plan.h"

/* Kernel sources by file name ("field/warp.cl"), embedded at build time. */
typedef struct clv_source {
    const char *name;
    const char *text;
} clv_source;

typedef struct clv_collection {
    const clv_entry *const *const *operations; /* lists that end with NULL; so does theirs */
    const clv_source *sources;                 /* ends with a NULL name */
} clv_collection;
extern const clv_collection clv_library_kernels;

/* Adds a program's own, once, before it opens a context. */
void clv_registry_add(const clv_collection *more);

/* The entry of this number, of all operations, for tests, bench and `devices -v`;
 * NULL beyond the last. */
const clv_entry *clv_entry_at(int index);

/* The embedded text; NULL: there is none of that name. */
const char *clv_source_embedded(const char *name);

#endif
