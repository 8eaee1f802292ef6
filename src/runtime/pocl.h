/* SPDX-License-Identifier: Apache-2.0 */
/* The folder in which PoCL keeps what it builds. */
#ifndef CLV_RUNTIME_POCL_H
#define CLV_RUNTIME_POCL_H

#include <stdbool.h>
#include <stddef.h>

/* True where PoCL may not write the folder in which it keeps what it builds
 * (a read-only home), and then gives no device; writes its name. */
bool clv_pocl_folder_refused(char *path, size_t room);

#endif
