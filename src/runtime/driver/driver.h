/* SPDX-License-Identifier: Apache-2.0 */
/* Knowledge of OpenCL drivers beyond the standard. A driver is a file of this folder and a word in the list of
 * its meson.build. One that nobody has listed gets a row of zeros: nothing special. */
#ifndef CLV_RUNTIME_DRIVER_H
#define CLV_RUNTIME_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device/error.h"

#include "clvox/device.h"

struct clv_cache_key;
struct clv_counts;
struct clv_kernel;
struct clv_shared;

/* A launch that the driver has to be helped with. */
typedef struct clv_turn {
    struct clv_shared *program; /* NULL: it needs none */
    bool alone;                 /* no other context runs this kernel meanwhile */
} clv_turn;

/* Hooks that write into `why` give a reason as a sentence without its end, and are true where there is one.
 * Any hook may be NULL. */
typedef struct clv_driver {
    const char *platforms[3]; /* parts of the names of its platforms */
    bool of_others; /* it drives devices whose vendors may have a driver of their own, which is preferred */

    /* A device with this extension (NULL: any of its own) answers more, or is to be seen in another way;
     * limits writes that. */
    const char *extension;
    void (*limits)(cl_device_id device, clvox_device_limits *limits);

    /* The environment that it reads when it is loaded, prepared by driver/environment.c. */
    const char *spared;       /* part of its library's name, where a GPU's driver does without it; NULL: loaded always */
    void (*own_folder)(void); /* what it runs lies where nobody else can write */
    /* In a process that is clvox's alone, before a device: as of clvox_environment_settle. */
    void (*narrow)(const char *device, bool one_gpu);
    void (*threads)(void); /* no more than this process has processors */
    /* Its copy in a package's folder of libraries. */
    bool (*packaged)(const char *folder, char *library, size_t room);
    const char *(*remark)(void); /* as of clvox_environment_remark */

    /* Why it must not be asked for devices. */
    bool (*barred)(char *why, size_t room);
    /* Why it may have found no device. */
    bool (*hindered)(char *why, size_t room);
    /* Why a device of it cannot be used. */
    bool (*faulty)(const clvox_device_limits *limits, char *why, size_t room);

    /* Whether a device of it is used only by one who asks for it. */
    bool (*only_asked)(const clvox_device_limits *limits);

    /* Build options besides those of the kernel, abilities by name among them; NULL: none. */
    const char *(*options)(const clvox_device_limits *limits);
    /* The option, for versions that are known, that leaves the driver's declarations of OpenCL C out, so that
     * those of cl/common/declared.clh can take their place; NULL: none. */
    const char *(*undeclared)(const clvox_device_limits *limits);
    const char *register_cap; /* the option that caps registers, before its number */
    /* Why its compiler gets this function of the kernels wrong, so that another variant has to take its place. */
    bool (*miscompiles)(const clvox_device_limits *limits, const char *function, char *why, size_t room);
    /* Whether a device of it says twice the local memory that a kernel needs. */
    bool (*local_twice)(const clvox_device_limits *limits);
    /* Whether programs are compiled and linked in two steps, and the cache keeps what the first one made. */
    bool (*two_steps)(void);
    /* The part of a compiled program's binary that builds faster alone; NULL: the whole. */
    const unsigned char *(*bitcode)(const clvox_device_limits *limits, const unsigned char *data,
                                    size_t bytes, size_t *length);
    /* Bytes of addresses without which its compiler ends the program: to begin with, and for all kernels of a
     * registration. */
    size_t least_addresses, addresses;
    /* Registers and spilled bytes of a kernel, from the compiler's log or from the code. */
    void (*counts_of_log)(const char *log, const char *kernel, struct clv_counts *counts);
    void (*counts_of_code)(const unsigned char *data, size_t bytes, const char *kernel,
                           struct clv_counts *counts);

    /* Contexts that run kernels at a time: one begins and ends (ctx->turns is its place, 0: it needs no
     * help); what contexts that build the same program share (NULL: no memory); before and after a kernel is
     * queued, with the launch's event, NULL where that failed. All or none. */
    int (*join)(clvox_context *ctx);
    void (*leave)(clvox_context *ctx);
    struct clv_shared *(*share)(const clvox_context *ctx, const struct clv_cache_key *key);
    clv_turn (*before)(clvox_context *ctx, const struct clv_kernel *kernel, const size_t global[3]);
    void (*after)(clvox_context *ctx, clv_turn turn, cl_event event);
    /* Whether several contexts are known to gain by that; NULL: they do. */
    bool (*side_by_side)(const clvox_device_limits *limits);
} clv_driver;

/* The driver of a platform of this name; the row of zeros where it is not listed. */
const clv_driver *clv_driver_of(const char *platform);

/* The listed ones in turn: of place i, NULL after the last. */
const clv_driver *clv_driver_at(size_t i);

/* Which packages have drivers, as words after "install". */
extern const char clv_driver_packages[];

#endif
