/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLVOX_DEVICE_H
#define CLVOX_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "clvox/progress.h"
#include "clvox/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum clvox_device_type {
    CLVOX_DEVICE_CPU = 0,
    CLVOX_DEVICE_GPU,
    CLVOX_DEVICE_ACCELERATOR
} clvox_device_type;

/* Everything that decisions about a device rest on. Plain data, so that tests
 * can emulate a device by filling one in. 0 or "" means unknown. */
typedef struct clvox_device_limits {
    char name[128];
    char vendor[96];
    char platform[128];
    char driver[96];
    char version[96];       /* CL_DEVICE_VERSION as the driver says it */
    char platform_version[96];
    char architecture[32];  /* "sm_90", "gfx90a"; "" for CPU devices and others */
    char pci[16];           /* "0000:17:00.0" */
    clvox_device_type type;
    int opencl;             /* 12, 20, 21, 22, 30 */
    int compute_units;      /* SMs, CUs or cores */
    int clock_mhz;
    size_t global_bytes;
    size_t free_bytes;      /* of it, at the time of the query; few drivers say */
    size_t max_allocation;
    size_t local_bytes;     /* the most that one work-group may use */
    bool local_dedicated;   /* local memory is real, not ordinary memory */
    size_t constant_bytes;
    size_t max_group;       /* most work-items in a work-group */
    size_t max_items[3];
    int simd;               /* warp, wavefront or preferred multiple */
    int capability_major;   /* compute capability; 0: it has none */
    int capability_minor;
    int amd_simds;          /* SIMDs per compute unit */
    bool fp64;
    bool images;            /* kernels can read images */
    bool shares_host_memory;
} clvox_device_limits;

/* One entry of the list of devices. */
typedef struct clvox_device {
    clvox_device_limits limits;
    bool usable;
    bool is_default;
    char reason[160];       /* why it is passed over, when not usable */
    void *platform_id;      /* cl_platform_id */
    void *device_id;        /* cl_device_id */
} clvox_device;

/* Lists every device of every installed OpenCL driver, best first; a GPU that
 * appears under two platforms is listed once as usable and once as passed
 * over. On success returns the number of entries and sets *out to an array
 * that the caller releases with clvox_devices_destroy; with no driver at all the
 * message names the package to install. */
CLVOX_API int clvox_devices_list(clvox_device **out);

/* Releases the array and sets *devices to NULL. */
CLVOX_API void clvox_devices_destroy(clvox_device **devices);

/* A device in use: OpenCL context, queue, built kernels, timers. One thread at
 * a time may use a context; several contexts may live side by side. */
typedef struct clvox_context clvox_context;

/* Takes what a context has to say: one line without its end. level: 1 or 2, as of verbosity. It may be called
 * in several threads at a time. */
typedef void (*clvox_log)(void *user, int level, const char *line);

/* For clvox_context_options.at_once: as many contexts on a device as pay for many registrations, 4 on a GPU with 16
 * GB or more, as each takes some of its memory, else 1; with _ALL, on a CPU, too, whose cores they divide, one for
 * each core and 4 GB that it has, at most 4. */
enum { CLVOX_AT_ONCE_GPUS = -1, CLVOX_AT_ONCE_ALL = -2 };

typedef struct clvox_context_options {
    size_t size; /* of this struct, as clvox_context_defaults sets it */
    const char *device; /* index of clvox_devices_list, "gpu", "cpu" or part of a name;
                           NULL: the environment's CLVOX_DEVICE, else the best */
    bool profile;       /* keep a timer for every kernel */
    bool no_cache;      /* neither read nor write the cache of built kernels */
    bool no_wisdom;     /* pass over what `clvox tune` measured */
    int verbosity;      /* 0: silent; 1: remarks; 2: what was built and chosen */
    clvox_log log;      /* where that goes; NULL: to standard error */
    void *log_user;
    int threads;        /* host threads of functions that take the context; 0: clvox_threads() */
    int at_once;        /* of clvox_contexts_create: contexts on each device; 0: 1; or CLVOX_AT_ONCE_... */
    int most_at_once;   /* with CLVOX_AT_ONCE_...: no more than these; 0: any number */
    /* For functions that take the context and have no callback of their own, such as filters, resampling and the
     * fit of tensors; NULL: none. It is called before every kernel, in the thread that called the function; its
     * fraction is that of the stage. */
    clvox_progress progress;
    void *progress_user;
    /* NULL: a true run. Else a rehearsal that fills the cache: a kernel that another process is building is
     * not waited for but left out, and counted here. The results of functions then mean nothing. */
    int *left_out;
    /* Provider of the Fourier transforms of flows: "clvox", "vkfft" or "clfft"; NULL: the one that suits the
     * device, or another if that one does not take a volume. */
    const char *fourier;
} clvox_context_options;

/* The size, and 0 for the rest. */
CLVOX_API void clvox_context_defaults(clvox_context_options *options);

/* Opens a device. options may be NULL. On success *out is the caller's, to be
 * released with clvox_context_destroy; on failure *out is NULL. A context on a GPU keeps buffers for its
 * next calls, unless it was adopted; all of a program's together up to 7% of the GPU's memory. */
CLVOX_API int clvox_context_create(const clvox_context_options *options, clvox_context **out);

/* Opens all devices that options->device names: "gpu:all" (or cpu:all, accelerator:all), or up to 64
 * selections with commas between them, such as "0,1"; "0,0" opens one twice. options->at_once opens several
 * on each, first one on every device, then the second on every device, and so on: what their threads do on
 * the host overlaps with what the device does for the others; on a CPU each has a part of the cores to
 * itself, where the driver divides them. Devices are opened, and closed, by a thread
 * each, any of which may call options->log. Registrations on one device wait for each other where its memory
 * does not hold them all. Returns the number of contexts; *out is the caller's, for clvox_contexts_destroy;
 * on failure *out is NULL. */
CLVOX_API int clvox_contexts_create(const clvox_context_options *options, clvox_context ***out);

/* Releases `count` contexts and the array; sets *contexts to NULL. NULL is legal. */
CLVOX_API void clvox_contexts_destroy(clvox_context ***contexts, int count);

/* A context on what a program has opened itself: queue is its cl_command_queue, in order, to which everything is
 * given. The queue, its cl_context and its device are retained and stay the program's too; its buffers go where
 * functions take cl_mem. options may be NULL; its device is passed over, and timers are kept where the queue has
 * them. CLVOX_ERROR_ARGUMENT: no queue, one out of order, or a device that clvox_devices_list passes over. Else
 * as clvox_context_create. */
CLVOX_API int clvox_context_adopt(void *queue, const clvox_context_options *options, clvox_context **out);

/* Releases the context and all it built; sets *context to NULL. */
CLVOX_API void clvox_context_destroy(clvox_context **context);

/* Contexts that clvox_contexts_create opens on a device with these limits. options may be NULL. */
CLVOX_API int clvox_at_once(const clvox_context_options *options, const clvox_device_limits *limits);

/* The limits of the context's device. Owned by the context. */
CLVOX_API const clvox_device_limits *clvox_context_limits(const clvox_context *context);

/* ---- the environment of drivers ----
 * OpenCL drivers read environment variables when they are loaded. The library sets none by itself; these
 * functions do (setenv), for a program that calls them before its first device and before other threads read
 * the environment. What the user has set stays, but for folders in which others could put code. */

/* At the start of a program: as many threads of a CPU's driver as there are processors for this process. And the
 * driver in `folder`, where a package keeps its libraries (NULL: it brings no driver), is taken where no driver of
 * the system finds a device. Returns whether it is. */
CLVOX_API bool clvox_environment_begin(const char *folder);

/* For clvox_environment_settle. */
enum {
    CLVOX_ENVIRONMENT_ALONE = 1,   /* only clvox uses devices here: drivers open no more than it needs */
    CLVOX_ENVIRONMENT_LIST = 2,    /* all devices are to be listed */
    CLVOX_ENVIRONMENT_ONE_GPU = 4, /* this process opens one GPU at most */
    CLVOX_ENVIRONMENT_NO_CACHE = 8 /* libraries of Fourier transforms keep nothing */
};

/* Before a device is opened, or devices are listed: drivers keep what they build, and run what they find, in
 * folders that only this user can write, temporary ones if the home folder cannot be written. device: the one
 * to be opened, as in clvox_context_options. Later calls change nothing, unless they add ALONE. */
CLVOX_API void clvox_environment_settle(const char *device, int flags);

/* A sentence about what the driver of this platform (clvox_device_limits.platform) keeps elsewhere than the
 * environment says; "": nothing. Static storage. */
CLVOX_API const char *clvox_environment_remark(const char *platform);

#ifdef __cplusplus
}
#endif

#endif
