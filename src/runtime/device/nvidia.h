/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_NVIDIA_H
#define CLV_RUNTIME_NVIDIA_H

#include <stdbool.h>

/* As clvox_nvidia_little, with the folder in which the driver describes its GPUs. */
int clv_nvidia_little(const char *folder, const char *device, bool one);

#endif
