/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_NVIDIA_H
#define CLV_RUNTIME_NVIDIA_H

/* As clvox_nvidia_one, with the folder in which the driver describes its GPUs. */
int clv_nvidia_one(const char *folder, const char *device);

#endif
