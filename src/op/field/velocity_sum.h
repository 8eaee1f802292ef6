/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_VELOCITY_SUM_H
#define CLV_OP_FIELD_VELOCITY_SUM_H

#include <math.h>
#include <stdint.h>

#include "op/image.h"

/* Velocities of up to 4 m in sums of integers, in units of 6e-11 mm. */
#define CLV_VELOCITY_UNIT 0x1p34f

/* weight (u - back) / 2 in these units, the logarithm of a map u with the inverse back to the second order; 0 where it is
 * not finite. Up to 65536 of them have a sum. What the device adds up. */
static inline int64_t clv_velocity_whole(float u, float back, float weight)
{
    const float v = weight * (.5f * (u - back));
    return isfinite(v) ? llrintf(fminf(fmaxf(v, -4096), 4096) * CLV_VELOCITY_UNIT) : 0;
}

/* sum += clv_velocity_whole of each component: u and back are fields like v, sum has an int64_t for each component. The
 * same bits on every device. */
int clv_velocity_sum(clvox_context *ctx, const clv_image *u, const clv_buffer *back, float weight,
                     clv_buffer *sum);

extern const clv_entry clv_entry_velocity_sum;

#endif
