/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a volume to which operations can be limited, such as the neighbourhood of what an image shows:
 * of each row (y, z) of voxels two ints at z size[1] + y, the first column and the one after the last,
 * 0 <= first <= end <= size[0]. */
#ifndef CLV_OP_WITHIN_H
#define CLV_OP_WITHIN_H

#include <stddef.h>
#include <stdint.h>

#include "op/image.h"

typedef struct clv_within {
    const clv_buffer *rows; /* on the device; NULL: all of the volume */
    double voxels;          /* of the part, for the bytes that launches report */
} clv_within;

static inline size_t clv_within_bytes(const int size[3])
{
    return (size_t)size[1] * (size_t)size[2] * 2 * sizeof(int32_t);
}

static inline double clv_within_voxels(clv_within part, const int size[3])
{
    return part.rows ? part.voxels : (double)size[0] * size[1] * size[2];
}

#endif
