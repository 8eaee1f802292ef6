/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL: the folder in which it keeps what it builds, the copy beside a portable package, and where it is
 * not loaded. */
#ifndef CLV_RUNTIME_POCL_H
#define CLV_RUNTIME_POCL_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device/error.h"

/* True where PoCL may not write the folder in which it keeps what it builds
 * (a read-only home), and then gives no device; writes its name. */
bool clv_pocl_folder_refused(char *path, size_t room);

/* Whether this is the name of PoCL's platform. */
bool clv_is_pocl(const char *platform);

/* Whether it is PoCL's platform and would end the program when asked for devices: on a Linux whose /sys names
 * no processors. */
bool clv_pocl_would_abort(cl_platform_id platform);

/* Whether a device is of a PoCL whose kernels are known to be wrong. */
bool clv_pocl_is_wrong(const char *platform, const char *driver);

/* As the functions of clvox/kernels.h, with the folder of the system's .icd files. */
int clv_pocl_leave_out(const char *vendors, const char *device);
int clv_pocl_lend(const char *vendors, const char *folder);

#endif
