/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as operations get them: chosen, built and remembered. */
#ifndef CLV_RUNTIME_KERNEL_H
#define CLV_RUNTIME_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/wisdom.h"

typedef struct clv_kernel {
    void *kernel; /* cl_kernel, only src/runtime touches it */
    struct clv_shared *shared; /* driver.h; NULL: it takes no turns */
    const clv_entry *entry;
    const clv_variant *variant;
    clv_tile tile;
    int item[3], group[3]; /* elements that each covers; 0: the whole axis */
    char label[96]; /* "gaussian_x/tile 32x8x1": for profile and messages */
    int registers;  /* a work-item; -1 unknown */
    int spills;     /* bytes; -1 unknown */
    int local_bytes;
    size_t reserve; /* device memory for the private memory of all work-items, which the
                       driver takes beside the buffers; 0: none, or unknown */
    double occupancy; /* 0..1; negative: unknown */
    clv_occupancy resources; /* what it comes from and what limits it */
    bool wisdom;    /* chosen because it was measured the fastest */
} clv_kernel;

/* Plans (variant and tile) for this device and, where wisdom knows about it, this
 * size, builds on first use and remembers: what depends on the kernel's tile must
 * be asked for with the same size. extra: defines the caller adds (one of entry->builds), NULL for
 * none. local_extra: bytes of local memory that depend on the call (passed as
 * a CLV_LOCAL argument), 0 for none. The kernel is owned by the context. */
int clv_kernel_get(clvox_context *ctx, const clv_entry *entry, const char *extra,
                   const int size[3], size_t local_extra, const clv_kernel **out);

/* From now on the planner takes this variant (and, with tile >= 0, this tile)
 * for the entry, or with tile below 0 the one of those whose names begin with
 * this word that suits the device, even where it would not by itself; NULL ends it. Used by
 * tests, bench and tuning. A tile that the device
 * cannot run is CLVOX_ERROR_DEVICE at clv_kernel_get. */
int clv_force_variant(clvox_context *ctx, const char *entry, const char *variant, int tile);
/* The variant that is forced for it now; NULL: none. For choices that are no kernel's. */
const char *clv_forced_variant(const clvox_context *ctx, const char *entry);

/* From now on kernels are chosen as for volumes of this size, whatever theirs is,
 * and clv_kernels_asked begins anew; NULL ends the former. For checks on small
 * volumes of what will run on large ones. */
void clv_kernels_as(clvox_context *ctx, const int size[3]);

/* A question to clv_kernel_get since the last clv_force_variant or clv_kernels_as. */
typedef struct clv_asked {
    const clv_entry *entry;
    const char *extra; /* lives as long as the context */
    size_t local_extra;
    int size_class; /* clv_wisdom_class of the size */
    const clv_kernel *kernel;
} clv_asked;

/* Each question once, in no order: what a piece of work consists of, for
 * tuning. Returns the number of them, at most room. */
int clv_kernels_asked(const clvox_context *ctx, clv_asked *out, int room);

/* True where a field's components are stored packed (xyzxyz...), false where
 * planar. Kernels see it as FIELD_PACKED and use load_vec and store_vec. */
bool clv_fields_packed(const clvox_context *ctx);

/* The wisdom that the context's planner goes by; NULL with options.no_wisdom. */
const clv_wisdom *clv_context_wisdom(const clvox_context *ctx);
/* How many of the kernels that the context has built were chosen by wisdom. */
int clv_context_wisdom_used(const clvox_context *ctx);

/* Releases built kernels and what clv_kernel_get remembers. */
void clv_kernels_release(clvox_context *ctx);

#endif
