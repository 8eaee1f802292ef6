/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of clvox_environment_begin and _settle, with the folders that they look into, for tests. */
#ifndef CLV_RUNTIME_ENVIRONMENT_H
#define CLV_RUNTIME_ENVIRONMENT_H

#include <stdbool.h>

/* vendors: the system's folder of .icd files. folder: of a package's libraries. */
bool clv_environment_lend(const char *vendors, const char *folder);
/* Whether the driver of a GPU is enough, so that the loader loads no other. */
bool clv_environment_spare(const char *vendors, const char *device);
void clv_environment_clfft(bool no_cache);

/* What was asked for: device, or else the environment's CLVOX_DEVICE; "": nothing. */
const char *clv_environment_device(const char *device);

/* folder: where the kernel lists the GPUs. Returns how many variables it has set. */
int clv_nvidia_narrow(const char *folder, const char *device, bool one_gpu);

#endif
