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

static inline uchar links_of(__global const float *mask, int x, int y, int z, int4 size)
{
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
    return (uchar)bits;
}

/* Which of the bits of a row's voxels have a neighbour along y and z. */
static inline int around(int y, int z, int4 size)
{
    return (y + 1 < size.y ? LINK_Y : 0) | (z + 1 < size.z ? LINK_Z : 0) | (y > 0 ? LINK_BACK_Y : 0) |
           (z > 0 ? LINK_BACK_Z : 0);
}

/* Four voxels a work-item; rows of whole fours lie at addresses of four. */
__kernel void tensor_links_quads(__global const float *mask, __global uchar *links, int4 size)
{
    int x = 4 * get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    const int row = size.x, plane = size.x * size.y, i = z * plane + y * row + x;
    if (size.x & 3) {
        for (int k = 0; k < min(4, size.x - x); k++)
            links[i + k] = links_of(mask, x + k, y, z, size);
        return;
    }
    const int4 to_x = (int4)(LINK_X, LINK_X, LINK_X, x + 4 < size.x ? LINK_X : 0);
    const int4 back_x = (int4)(x > 0 ? LINK_BACK_X : 0, LINK_BACK_X, LINK_BACK_X, LINK_BACK_X);
    const int there = around(y, z, size);
    int4 bits = to_x | back_x | (int4)(INSIDE | there);
#if MASK
#define QUAD_INSIDE(at) (*(__global const float4 *)(mask + (at)) > 0.0f)
#define QUAD_LINKED(bit, at) (QUAD_INSIDE(there & (bit) ? (at) : i) & (int4)(there & (bit)))
    const int4 here = QUAD_INSIDE(i);
    const int before = mask[max(i - 1, 0)] > 0.0f ? -1 : 0;
    const int after = mask[i + (x + 4 < size.x ? 4 : 3)] > 0.0f ? -1 : 0;
    bits = here & ((to_x & (int4)(here.yzw, after)) | (back_x & (int4)(before, here.xyz)) | (int4)(INSIDE) |
                   QUAD_LINKED(LINK_Y, i + row) | QUAD_LINKED(LINK_Z, i + plane) |
                   QUAD_LINKED(LINK_BACK_Y, i - row) | QUAD_LINKED(LINK_BACK_Z, i - plane));
#endif
    *(__global uchar4 *)(links + i) = convert_uchar4(bits);
}

/* A row a work-item: between its ends nothing is to be asked about borders. */
__kernel void tensor_links_row(__global const float *restrict mask, __global uchar *restrict links, int4 size)
{
    const int y = get_global_id(1), z = get_global_id(2), row = size.x, plane = size.x * size.y;
    if (y >= size.y || z >= size.z)
        return;
    const int there = around(y, z, size), first = z * plane + y * row;
    const int on_y = there & LINK_Y, back_y = there & LINK_BACK_Y;
    const int to_y = on_y ? row : 0, from_y = back_y ? row : 0;
    const int on_z = there & LINK_Z, back_z = there & LINK_BACK_Z;
    const int to_z = on_z ? plane : 0, from_z = back_z ? plane : 0;
    for (int i = first + 1; i < first + row - 1; i++) {
        int bits = INSIDE | (inside(mask, i + 1) ? LINK_X : 0) | (inside(mask, i - 1) ? LINK_BACK_X : 0) |
                   (inside(mask, i + to_y) ? on_y : 0) | (inside(mask, i + to_z) ? on_z : 0) |
                   (inside(mask, i - from_y) ? back_y : 0) | (inside(mask, i - from_z) ? back_z : 0);
        links[i] = (uchar)(inside(mask, i) ? bits : 0);
    }
    links[first] = links_of(mask, 0, y, z, size);
    links[first + row - 1] = links_of(mask, row - 1, y, z, size);
}
