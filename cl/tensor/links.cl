/* SPDX-License-Identifier: Apache-2.0 */
/* The byte of links of every voxel, as src/op/tensor/links.h says. */

static inline int inside(__global const float *mask, int i)
{
    return !mask || mask[i] > 0.0f;
}

__kernel void tensor_links(__global const float *mask, __global uchar *links, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int row = size.x, plane = size.x * size.y, i = z * plane + y * row + x;
    int bits = 0;
    if (inside(mask, i)) {
        bits = 8;
        if (x + 1 < size.x && inside(mask, i + 1))
            bits |= 1;
        if (y + 1 < size.y && inside(mask, i + row))
            bits |= 2;
        if (z + 1 < size.z && inside(mask, i + plane))
            bits |= 4;
        if (x > 0 && inside(mask, i - 1))
            bits |= 16;
        if (y > 0 && inside(mask, i - row))
            bits |= 32;
        if (z > 0 && inside(mask, i - plane))
            bits |= 64;
    }
    links[i] = (uchar)bits;
}
