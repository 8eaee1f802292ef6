/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the devices that were found, in parts that tests can call with made-up lists. */
#ifndef CLV_RUNTIME_SELECT_H
#define CLV_RUNTIME_SELECT_H

#include "clvox/device.h"

/* Marks devices that stand in the list a second time (same PCI address under
 * another platform) as not usable and sorts: usable before passed over, GPU
 * before accelerator before CPU, then compute units times clock, then memory. */
void clv_devices_rank(clvox_device *list, int count);

/* The device that a selection means: an index, "gpu", "cpu", "accelerator" or
 * a part of a device's or platform's name in any case; NULL: the environment's
 * CLVOX_DEVICE, else the first usable one. Returns its index. What names
 * nothing, several devices or an unusable one: CLVOX_ERROR_DEVICE with a
 * sentence that lists what there is. */
int clv_device_select(const clvox_device *list, int count, const char *selection);

/* The devices that a list of selections with commas means, one more than once where it stands there so, or
 * "gpu:all" and the like: the usable ones of a type. Returns their number. */
enum { CLV_MOST_SELECTED = 64 };
int clv_devices_select(const clvox_device *list, int count, const char *selection,
                       int chosen[CLV_MOST_SELECTED]);

#endif
