/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLV_OP_FIELD_VELOCITY_SUM_H
#define CLV_OP_FIELD_VELOCITY_SUM_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "op/image.h"

/* Velocities are added up as whole numbers of 32 bits, so many of them a mm that `count` velocities of up
 * to 256 mm have a sum; longer ones are cut. A mean of them is off by 1e-7 mm times the root of count /
 * 12. */
static inline float clv_velocity_unit(int count)
{
    float unit = 0x1p22f;
    for (; count > 1; count -= count / 2)
        unit /= 2;
    return unit;
}

/* weight (u - back) / 2 as such a number, weight at most 1: the logarithm of a map u with the inverse
 * back to the second order; 0 where it is not finite. What the device adds up. Without branch or call: a
 * double that is added to 1.5 2^52 has its nearest integer in its last bits. */
static inline int32_t clv_velocity_whole(float u, float back, float weight, float unit)
{
    static const double whole = 0x1.8p52;
    float v = weight * (.5f * (u - back));
    v = fabsf(v) <= FLT_MAX ? v : 0;
    v = v < 256 ? v : 256;
    v = v > -256 ? v : -256;
    const double units = (double)(v * unit) + whole;
    int64_t bits, base;
    memcpy(&bits, &units, sizeof bits);
    memcpy(&base, &whole, sizeof base);
    return (int32_t)(bits - base);
}

/* sum += clv_velocity_whole of each component: u and back are fields like v, sum has an int32_t for each
 * component. The same bits on every device. */
int clv_velocity_sum(clvox_context *ctx, const clv_image *u, const clv_buffer *back, float weight, float unit,
                     clv_buffer *sum);

extern const clv_entry clv_entry_velocity_sum;

#endif
