/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_IO_VOLUME_H
#define CLV_IO_VOLUME_H

#include "clvox/volume.h"

/* As clvox_volume_create, for one whose values are all written before any is read: until then they are
 * undefined. */
int clv_volume_room(const clvox_grid *grid, int frames, clvox_kind kind, clvox_volume **out);

#endif
