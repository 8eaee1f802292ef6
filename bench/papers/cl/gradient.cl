/* SPDX-License-Identifier: Apache-2.0 */
/* Physical gradient by the differences of difference.clh. */
#include "common/difference.clh"
#include "common/field_row.clh"
#include "common/grid.clh"

/* IMAGE: a is an image object, 1-D or 3-D; else a buffer. */
#include "papers/texture.clh"

static inline float3 gradient_at(TEXTURE a, int x, int y, int z, int4 size, float4 inverse)
{
    float3 g;
    g.x = (TEXEL(a, difference_above(x, size.x), y, z, size) - TEXEL(a, difference_below(x), y, z, size)) *
          difference_scale(x, size.x, inverse.x);
    g.y = (TEXEL(a, x, difference_above(y, size.y), z, size) - TEXEL(a, x, difference_below(y), z, size)) *
          difference_scale(y, size.y, inverse.y);
    g.z = (TEXEL(a, x, y, difference_above(z, size.z), size) - TEXEL(a, x, y, difference_below(z), size)) *
          difference_scale(z, size.z, inverse.z);
    return g;
}

__kernel void gradient_item(TEXTURE a, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    store_vec(gradient_at(a, x, y, z, size, inverse), out, (z * size.y + y) * size.x + x,
              size.x * size.y * size.z);
}

#if !IMAGE
__kernel void gradient_row(__global const float *a, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 1;
    __global const float *north = a + (z * size.y + difference_above(y, size.y)) * size.x;
    __global const float *south = a + (z * size.y + difference_below(y)) * size.x;
    __global const float *above = a + (difference_above(z, size.z) * size.y + y) * size.x;
    __global const float *below = a + (difference_below(z) * size.y + y) * size.x;
    float scale_x = 0.5f * inverse.x, scale_y = difference_scale(y, size.y, inverse.y);
    float scale_z = difference_scale(z, size.z, inverse.z);
    store_vec(gradient_at(a, 0, y, z, size, inverse), out, row, n);
    for (; x + 8 < size.x; x += 8) {
        vec8 g;
        g.x = (LOAD8(a + row + x + 1) - LOAD8(a + row + x - 1)) * scale_x;
        g.y = (LOAD8(north + x) - LOAD8(south + x)) * scale_y;
        g.z = (LOAD8(above + x) - LOAD8(below + x)) * scale_z;
        store_vec8(g, out, row + x, n);
    }
    for (; x < size.x; x++)
        store_vec(gradient_at(a, x, y, z, size, inverse), out, row + x, n);
}

#define LOCAL_X (TILE_X + 2)
#define LOCAL_CELLS (LOCAL_X * (TILE_Y + 2))

/* Marches through MARCH planes: the plane with its border in local memory, what
 * lies above and below in registers. Tiles are one plane deep. */
__kernel void gradient_local(__global const float *a, __global float *out, grid on)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float cells[LOCAL_CELLS];
    int lx = get_local_id(0), ly = get_local_id(1), x = get_global_id(0), y = get_global_id(1);
    int x0 = x - lx - 1, y0 = y - ly - 1, z = get_global_id(2) * MARCH;
    int n = size.x * size.y * size.z, plane = size.x * size.y;
    int column = min(y, size.y - 1) * size.x + min(x, size.x - 1);
    float scale_x = difference_scale(x, size.x, inverse.x), scale_y = difference_scale(y, size.y, inverse.y);
    float below = a[difference_below(min(z, size.z - 1)) * plane + column];
    float here = a[min(z, size.z - 1) * plane + column];
    for (int m = 0; m < MARCH; m++, z++) {
        int slice = min(z, size.z - 1) * plane;
        float above = a[min(z + 1, size.z - 1) * plane + column];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = ly * TILE_X + lx; i < LOCAL_CELLS; i += TILE_X * TILE_Y) {
            int at_x = min(max(x0 + i % LOCAL_X, 0), size.x - 1);
            int at_y = min(max(y0 + i / LOCAL_X, 0), size.y - 1);
            cells[i] = a[slice + at_y * size.x + at_x];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (x < size.x && y < size.y && z < size.z) {
            __local const float *at = cells + (ly + 1) * LOCAL_X + lx + 1;
            float3 g;
            g.x = (at[1] - at[-1]) * scale_x;
            g.y = (at[LOCAL_X] - at[-LOCAL_X]) * scale_y;
            g.z = (above - below) * difference_scale(z, size.z, inverse.z);
            store_vec(g, out, slice + column, n);
        }
        below = here;
        here = above;
    }
}
#endif
