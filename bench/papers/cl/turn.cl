/* SPDX-License-Identifier: Apache-2.0 */
/* The circular shift of dimensions of Ha 2011, section 2.3.7: out(y, z, x) = in(x, y, z), so that what lay
 * along y lies along the fastest axis. size: of in. */
static inline size_t turned(int x, int y, int z, int4 size)
{
    return ((size_t)x * size.z + z) * size.y + y;
}

#define EDGE TILE_X
/* A square block of a plane through local memory, so that both sides are read and written along rows. */
__kernel void turn_block(__global const float *in, __global float *out, int4 size)
{
    __local float cell[EDGE * (EDGE + 1)];
    int lx = get_local_id(0), ly = get_local_id(1), z = get_global_id(2);
    int x0 = get_group_id(0) * EDGE, y0 = get_group_id(1) * EDGE;
    for (int row = ly; row < EDGE; row += TILE_Y)
        if (x0 + lx < size.x && y0 + row < size.y)
            cell[row * (EDGE + 1) + lx] = in[((size_t)z * size.y + y0 + row) * size.x + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int row = ly; row < EDGE; row += TILE_Y)
        if (y0 + lx < size.y && x0 + row < size.x)
            out[turned(x0 + row, y0 + lx, z, size)] = cell[lx * (EDGE + 1) + row];
}

__kernel void turn_row(__global const float *in, __global float *out, int4 size)
{
    int x = get_global_id(0), z = get_global_id(2);
    if (x >= size.x || z >= size.z)
        return;
    for (int y = 0; y < size.y; y++)
        out[turned(x, y, z, size)] = in[((size_t)z * size.y + y) * size.x + x];
}
