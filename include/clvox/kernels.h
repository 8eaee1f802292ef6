/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a context: their builds, the choice among variants, and their times. */
#ifndef CLVOX_KERNELS_H
#define CLVOX_KERNELS_H

#include <stddef.h>

#include "clvox/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- time ---------------------------------------------------------------- */

/* Totals of one kernel and its tile, or of one kind of transfer. */
typedef struct clvox_timing {
    char label[96]; /* "gaussian_x/tile 32x8x1", "(to the device)" */
    int calls;
    double seconds; /* by the device's own clock */
    double bytes;   /* that had to move: each input read once, each output written once */
} clvox_timing;

/* Times measured so far by a context of options.profile, the longest first; waits for the device. Returns the
 * number of rows, and *out is the caller's, for clvox_timings_destroy; on failure *out is NULL. No rows where
 * nothing is timed. */
CLVOX_API int clvox_timings(clvox_context *context, clvox_timing **out);

/* Releases the rows and sets *rows to NULL. NULL is legal. */
CLVOX_API void clvox_timings_destroy(clvox_timing **rows);

/* 1 where the context times its kernels, 0 without options.profile and where the device times nothing (which
 * clvox_timings may find out). */
CLVOX_API int clvox_context_timed(const clvox_context *context);

/* Bytes a second, read and written, that a plain copy on the device reaches: the best of some, measured
 * now. */
CLVOX_API int clvox_copy_bandwidth(clvox_context *context, double *out);

/* ---- choice -------------------------------------------------------------- */

/* A variant of a kernel on the context's device. All texts are the context's. */
typedef struct clvox_kernel_variant {
    const char *kernel, *variant;
    const char *refused; /* why it does not run here; the rest is then of no use. NULL: it runs */
    int chosen;          /* 1: the planner takes it */
    int wisdom;          /* 1: because `clvox tune` found it the fastest */
    int tile[3], march;  /* work-items of a group, and elements that each walks along */
    int registers;       /* of a work-item; -1: not known */
    int spills;          /* bytes; -1: not known */
    int local_bytes;     /* of a work-group */
    int groups;          /* that live on a compute unit at once; -1: not known */
    double occupancy;    /* from 0 to 1; below 0: not known */
    const char *limit;   /* what limits it: "registers", "local memory", ...; "" where that is not known */
    int by_warps;        /* groups that its warps and its count of groups leave room for; -1: not known */
    int by_registers;    /* the same of registers */
    int by_local;        /* and of local memory; -1 also where the group takes none */
    double waves;        /* how often as many elements as voxels fill the device with such groups (a CPU:
                            each core with one); -1: not known */
    const char *reason;  /* for the tile: "recorded" by `clvox tune`, "fills half" of the lanes, "fills most"
                            where none fills half, "least halo", "item alone", "most items", "table
                            order", "only tile", "made to fit", "next choice" */
} clvox_kernel_variant;

/* Is called for each variant; a result other than 0 stops. */
typedef int (*clvox_kernel_visitor)(void *user, const clvox_kernel_variant *variant);

/* Builds every variant of every kernel with the tile that the planner has for it and volumes of this size,
 * and shows it to visit, the chosen one of a kernel where it stands in the list. CLVOX_ERROR_STOPPED where
 * visit stops. */
CLVOX_API int clvox_kernel_variants(clvox_context *context, const int size[3], clvox_kernel_visitor visit,
                                    void *user);

/* The planner's knowledge beside the device. */
typedef struct clvox_wisdom {
    const char *file;   /* that `clvox tune` wrote; NULL: none is used. The context's */
    const char *hash;   /* of all that it holds for this device; "" where that is nothing */
    const char *remark; /* why the file is passed over; "" where it is not */
    int choices;        /* that it holds for this device */
    int used;           /* kernels that the context has built by it so far */
} clvox_wisdom;

/* The context's knowledge from `clvox tune`. Texts live as long as the context. */
CLVOX_API void clvox_context_wisdom(const clvox_context *context, clvox_wisdom *out);

/* clFFT, one of the libraries of Fourier transforms that flows may use, is no part of clvox: it is opened
 * when it is first needed, libclFFT.so.2 or what CLVOX_CLFFT names. Why it cannot be; "": it is there. Other
 * libraries do what it does. */
CLVOX_API const char *clvox_clfft_missing(void);

/* ---- building ------------------------------------------------------------ */

/* 1 where built kernels are kept and none is yet, as before the first run, with the name of their folder
 * (cut at room, NULL is legal); else 0. Looks at no device. */
CLVOX_API int clvox_cache_empty(char *folder, size_t room);

/* Built kernels are run as they are found. A cache that other users could write, itself or a folder above it,
 * or that belongs to one who is neither this user nor root, is not used: why and what to do, as a sentence;
 * "": all is kept. The context's. A context says it to its log, once for a program. Drivers keep and run what
 * they build, too: where others could write the folder of one, clvox_devices_list passes it or its devices
 * over and says so; the clvox command names another folder in the environment first. */
CLVOX_API const char *clvox_context_remark(const clvox_context *context);

#ifdef __cplusplus
}
#endif

#endif
