/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a context, for src/runtime alone. */
#ifndef CLV_RUNTIME_CONTEXT_H
#define CLV_RUNTIME_CONTEXT_H

#include "clvox/kernels.h"
#include "runtime/program/cache.h"
#include "runtime/device/error.h"
#include "runtime/driver/driver.h"
#include "runtime/fourier/fourier.h"
#include "runtime/device/gate.h"
#include "runtime/queue/timing.h"
#include "runtime/plan/wisdom.h"

typedef struct clv_forced {
    char entry[48];
    char variant[32]; /* "": nothing is forced any more */
    int tile;
} clv_forced;

/* A kernel that was built, found again by what it was built from. */
typedef struct clv_built {
    char *extra;
    cl_program program;
    clv_kernel kernel;
} clv_built;

/* Earlier answers of clv_kernel_get, in an open hash table. */
typedef struct clv_memo {
    const clv_entry *entry; /* NULL: a free place */
    const char *extra;
    size_t local_extra;
    int size_class;
    const clv_kernel *kernel;
} clv_memo;

/* A command whose time is still to be read. The label lives as long as the context. */
typedef struct clv_pending {
    cl_event event;
    cl_event since; /* the time is from the end of this one; NULL: from the event's own start */
    const char *label;
    const clv_kernel *kernel; /* NULL: a transfer */
    double bytes;
} clv_pending;

enum { CLV_MOST_TRUSTED = 4 };

/* Device memory that a pipeline has given back, for the next one: drivers of GPUs take a millisecond for a
 * large buffer. */
enum { CLV_MOST_SPARES = 32 };
typedef struct clv_spare {
    cl_mem mem;
    size_t bytes;
} clv_spare;

struct clvox_context {
    clvox_device_limits limits;
    const clv_driver *driver;
    clvox_context_options options;
    cl_platform_id platform;
    cl_device_id device;
    cl_device_id part; /* of a processor, for this context alone: the device; NULL: it is not divided */
    cl_context context;
    cl_command_queue queue;
    clv_gate *gate; /* NULL: no other context of clvox_contexts_create is on this device */
    bool packed;
    char fourier[16]; /* of the options; "": any */
    int turns;       /* 1 + its place among those that take turns (driver.h); 0: it has none */
    char *cache_dir; /* NULL: no cache */
    char remark[2048]; /* as clvox_context_remark gives it */
    bool two_steps;    /* as the driver's row says */
    int linked;        /* programs that the driver linked, not built from bitcode */
    char *build_identity; /* what, beside source and options, a built program depends on */
    clv_wisdom *wisdom; /* NULL: the planner goes by its own order alone */
    size_t allocated, peak;
    clv_spare spare[CLV_MOST_SPARES]; /* the oldest first */
    int spares;
    size_t spare_bytes, spare_most; /* of device memory */
    char *copies;  /* of what is written in few bytes, for the queue; NULL: nothing has been */
    size_t copied; /* bytes of these that it may not have taken yet */
    struct clv_pinned *staging;     /* as clv_staging gives it; NULL: nobody has asked */
    cl_mem witnessed;               /* of witness.h; NULL: nothing has been read */
    unsigned witness_turns;
    clv_built **built;
    int built_count, built_room;
    clv_memo *memo;
    int memo_count, memo_room; /* room is a power of two */
    int class_as; /* 1 + the class of volumes that kernels are chosen for; 0: that of their size */
    int compiled; /* programs that were built from their text, for tests */
    int held;     /* 1 + the lock of one that was built and not yet launched; 0: none */
    clv_forced *forced;
    int forced_count;
    clv_pending *pending;
    int pending_count, pending_room;
    clv_timing *timings;
    int timing_count, timing_room;
    const clv_fourier_library *trusted[CLV_MOST_TRUSTED]; /* found right on this device */
    int trusted_count;
    const char *stage; /* of the function that clv_watch_begin is for; NULL: none */
    double fraction;   /* of that, done */
};

/* A line to the log of a context whose verbosity is at least level. */
void clv_say(const clvox_context *ctx, int level, const char *format, ...) CLVOX_PRINTF(3, 4);

/* Destination of a queued command's event: NULL unless the context keeps time. */
#define CLV_EVENT(ctx, event) ((ctx)->options.profile ? &(event) : NULL)

#endif
