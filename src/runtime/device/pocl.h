/* SPDX-License-Identifier: Apache-2.0 */
/* PoCL: the folder in which it keeps what it builds, the copy beside a portable package, and where it is
 * not loaded. */
#ifndef CLV_RUNTIME_POCL_H
#define CLV_RUNTIME_POCL_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/device/error.h"

/* PoCL runs what it finds in the folder in which it keeps what it builds. Where the environment names none,
 * or one that is not the user's own (base/own.h) or cannot be written, it is given another in the
 * environment, before it is asked for devices; false where there is none, and it must not be asked. Settled
 * once for a process. */
bool clv_pocl_folder_settle(void);

/* Why that is not the folder of the environment, as a sentence; "": it is, or that cannot be written. */
const char *clv_pocl_folder_remark(void);

/* True where PoCL may not write the folder in which it keeps what it builds
 * (a read-only home), and then gives no device; writes its name. */
bool clv_pocl_folder_refused(char *path, size_t room);

/* Whether this is the name of PoCL's platform. */
bool clv_is_pocl(const char *platform);

/* Whether this is PoCL's platform and it would end the program when asked for devices: on a Linux whose /sys
 * names no processors. */
bool clv_pocl_would_abort(const char *platform);

/* Whether a device is of a PoCL whose kernels are known to be wrong. */
bool clv_pocl_is_wrong(const char *platform, const char *driver);

/* As the functions of clvox/kernels.h, with the folder of the system's .icd files. */
int clv_pocl_leave_out(const char *vendors, const char *device);
int clv_pocl_lend(const char *vendors, const char *folder);

#endif
