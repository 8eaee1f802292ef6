/* SPDX-License-Identifier: Apache-2.0 */
/* Listing devices, in parts that tests can call with made-up lists. */
#ifndef CLV_RUNTIME_DEVICE_H
#define CLV_RUNTIME_DEVICE_H

#include "clvox/device.h"

/* Asks a device (cl_platform_id, cl_device_id) for its limits. What it does
 * not answer stays 0. */
void clv_limits_query(void *platform, void *device, clvox_device_limits *limits);

/* Marks devices that stand in the list a second time (same PCI address under
 * another platform) as not usable and sorts: usable before passed over, GPU
 * before accelerator before CPU, then compute units times clock, then memory. */
void clv_devices_rank(clvox_device *list, int count);

/* The device that a selection means: an index, "gpu", "cpu", "accelerator" or
 * a part of a device's or platform's name in any case; NULL: the environment's
 * CLVOX_DEVICE, else the first usable one. Returns its index. What names
 * nothing, several devices or an unusable one: CLVOX_ERROR_DEVICE with a
 * sentence that lists what there is. */
int clv_device_select(const clvox_device *list, int count, const char *selection);

/* "no OpenCL device: ..." with what is wrong and what to install, from the
 * folder of .icd files that the loader reads; returns CLVOX_ERROR_DEVICE. */
int clv_no_device(void);

/* True where PoCL may not write the folder in which it keeps what it builds
 * (a read-only home), and then gives no device; writes its name. */
bool clv_pocl_folder_refused(char *path, size_t room);

/* Sets POCL_CACHE_DIR to a folder of the user's own in $TMPDIR or /tmp where
 * PoCL's is refused and the environment names none. For programs, before their
 * first OpenCL call and their first thread. True when it was set. */
bool clv_pocl_folder_lend(void);

#endif
