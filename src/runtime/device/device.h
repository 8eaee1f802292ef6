/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_RUNTIME_DEVICE_H
#define CLV_RUNTIME_DEVICE_H


/* "no OpenCL device: ..." with what is wrong and what to install, from the
 * folder of .icd files that the loader reads; returns CLVOX_ERROR_DEVICE. */
int clv_no_device(void);

#endif
