/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_NVIDIA_H
#define CLV_RUNTIME_NVIDIA_H

#include <stdbool.h>

/* As clvox_nvidia_little, with the folder in which the driver describes its GPUs. */
int clv_nvidia_little(const char *folder, const char *device, bool one);

/* The driver runs what it finds in its cache: where that is not the user's own (base/own.h), it goes without
 * (CUDA_CACHE_DISABLE=1). clvox keeps what the driver builds itself. */
void clv_nvidia_cache_settle(void);

#endif
