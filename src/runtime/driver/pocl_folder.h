/* SPDX-License-Identifier: Apache-2.0 */
/* The folder in which PoCL keeps what it builds, and runs what it finds; and what else it takes from its
 * environment. */
#ifndef CLV_RUNTIME_POCL_FOLDER_H
#define CLV_RUNTIME_POCL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* The hooks of these names. */
bool clv_pocl_barred(char *why, size_t room);
bool clv_pocl_hindered(char *why, size_t room);
void clv_pocl_own_folder(void);
void clv_pocl_threads(void);
bool clv_pocl_packaged(const char *folder, char *library, size_t room);
const char *clv_pocl_remark(void);

#endif
