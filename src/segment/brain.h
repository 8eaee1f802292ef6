/* SPDX-License-Identifier: Apache-2.0 */
/* A brain mask without gaps. */
#ifndef CLV_SEGMENT_BRAIN_H
#define CLV_SEGMENT_BRAIN_H

#include "clvox/volume.h"

/* Closes the mask (0 and 1) by a ball of so many mm, 0: not, and fills what it encloses. */
int clv_brain_fill(clvox_volume *mask, double close_mm);

#endif
