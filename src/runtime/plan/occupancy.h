/* SPDX-License-Identifier: Apache-2.0 */
/* How many work-groups of a kernel live on a compute unit at once: equations
 * 1-6 of Lee et al. (2012), with the allocation rules of later devices. */
#ifndef CLV_RUNTIME_OCCUPANCY_H
#define CLV_RUNTIME_OCCUPANCY_H

#include <stddef.h>

#include "clvox/device.h"

/* Resources of one work-group. -1: unknown. */
typedef struct clv_footprint {
    int items;           /* work-items in the group */
    int registers;       /* a work-item; AMD: vector registers */
    int scalars;         /* AMD: scalar registers of a wavefront */
    size_t local_bytes;
} clv_footprint;

/* Work-groups that each resource of a compute unit has room for. -1: unknown,
 * or no limit. Where the device is not in the tables all is unknown; where
 * only the registers are, fraction is unknown and most is the bound that the
 * other resources set. A CPU device has no such limits: all unknown. */
typedef struct clv_occupancy {
    int by_waves;        /* room for warps or wavefronts */
    int by_registers;
    int by_local;
    int by_groups;       /* the most groups that hardware keeps apart */
    int groups;          /* the least of them; -1 when one is unknown */
    double fraction;     /* waves of these groups over the most there can be; -1 unknown */
    double most;         /* the same without registers; -1 unknown */
    const char *limit;   /* "warps" (AMD: "wavefronts"), "registers", "local memory", "work-groups",
                            of equals the first; "" unknown. Static. */
} clv_occupancy;

void clv_occupancy_of(const clvox_device_limits *limits, const clv_footprint *footprint,
                      clv_occupancy *out);

/* Bytes of device memory that a driver sets aside at the first launch of a kernel
 * that keeps private_bytes a work-item beside its registers. NVIDIA's: enough for all
 * work-items that fit on the device at once, however few are launched, for as
 * long as the context lives (290 KiB an item are 77 GB on an H200). 0: as much
 * as is launched, or unknown. */
size_t clv_private_reserve(const clvox_device_limits *limits, size_t private_bytes);

#endif
