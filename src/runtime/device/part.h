/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a processor. */
#ifndef CLV_RUNTIME_PART_H
#define CLV_RUNTIME_PART_H

#include "runtime/device/error.h"

/* One of so many parts of a processor, of about as many cores each: kernels of one wait for no core of
 * another. The caller releases it (clReleaseDevice). NULL: the driver divides nothing, or there are fewer
 * cores. */
cl_device_id clv_device_part(cl_device_id device, int part, int parts);

#endif
