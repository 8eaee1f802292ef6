/* SPDX-License-Identifier: Apache-2.0 */
/* The byte of links of every voxel. MASK: there is a mask, which is known when the
 * kernel is built: with tests in it the loads wait for one another. */
#include "tensor/links.clh"

static inline int inside(__global const float *mask, int i)
{
#if MASK
    return mask[i] > 0.0f;
#else
    return 1;
#endif
}

__kernel void tensor_links(__global const float *mask, __global uchar *links, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int row = size.x, plane = size.x * size.y, i = z * plane + y * row + x;
    int bits = 0;
    if (inside(mask, i)) {
        bits = INSIDE;
        if (x + 1 < size.x && inside(mask, i + 1))
            bits |= LINK_X;
        if (y + 1 < size.y && inside(mask, i + row))
            bits |= LINK_Y;
        if (z + 1 < size.z && inside(mask, i + plane))
            bits |= LINK_Z;
        if (x > 0 && inside(mask, i - 1))
            bits |= LINK_BACK_X;
        if (y > 0 && inside(mask, i - row))
            bits |= LINK_BACK_Y;
        if (z > 0 && inside(mask, i - plane))
            bits |= LINK_BACK_Z;
    }
    links[i] = (uchar)bits;
}
