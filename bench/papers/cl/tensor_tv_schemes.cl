/* SPDX-License-Identifier: Apache-2.0 */
/* Several steps of tensors' total variation in a launch, block by block: what
 * waiting for neighbours costs, and what not waiting does. Built with PAPER; the
 * blocks' kernel with HALO and OVERLAP 1 (the block shrinks as its surroundings
 * age) or 0 (they stay as they were). A group's fields lie in local memory, or
 * with SPACE __global in its part of scratch, where the paper has ThreadSync and
 * UnSync. */
#ifndef PAPER
#define PAPER 0
#endif
#include "common/group_reduce.clh"
#ifndef SPACE
#define SPACE __local
#define ROOM(name, floats, cells)      \
    __local float name[floats];        \
    __local uchar bits[cells]
#define WAIT barrier(CLK_LOCAL_MEM_FENCE)
#else
#define ROOM(name, floats, cells)                                                                      \
    int group =                                                                                        \
        (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0); \
    __global float *name = scratch + (size_t)group * ((floats) + ((cells) + 3) / 4);                   \
    __global uchar *bits = (__global uchar *)(name + (floats))
#define WAIT barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#endif
#include "papers/tensor_tv_voxel.clh"

#ifndef HALO
#define HALO 1
#endif
#ifndef OVERLAP
#define OVERLAP 0
#endif

#define ITEMS (TILE_X * TILE_Y * TILE_Z)
#define BOX_X (TILE_X + 2 * HALO)
#define BOX_Y (TILE_Y + 2 * HALO)
#define BOX_Z (TILE_Z + 2 * HALO)
#define CELLS (BOX_X * BOX_Y * BOX_Z)

/* The total variations of a voxel's entries. */
INLINED void add_variations(SPACE const float *d, int apart, int i, int here, const int step[3], float4 w,
                            float eps, float sum[6])
{
    int x = i + (here & LINK_X ? step[0] : 0), y = i + (here & LINK_Y ? step[1] : 0);
    int z = i + (here & LINK_Z ? step[2] : 0);
    for (int c = 0; c < 6 && here & INSIDE; c++, d += apart) {
        float v = d[i], gx = w.x * (d[x] - v), gy = w.y * (d[y] - v), gz = w.z * (d[z] - v);
        sum[c] += sqrt(gx * gx + gy * gy + gz * gz + eps);
    }
}

INLINED void to_weights(float sum[6])
{
    float square = 0.0f;
    for (int c = 0; c < 6; c++)
        square += COUNT(c) * sum[c] * sum[c];
    float by = square > 0.0f ? rsqrt(square) : 0.0f;
    for (int c = 0; c < 6; c++)
        sum[c] *= by;
}

/* A work-group a block, a work-item a voxel of it; the box is the block and what
 * surrounds it. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
tensor_tv_blocks(__global const float *from, __global const float *data, __global const uchar *links,
                 __global const float *state, int4 size, float4 w, float lambda, float eps, float rate,
                 float floor, int steps, __global float *to, __global float *scratch)
{
    ROOM(field, 2 * 6 * CELLS, CELLS);
    const int step[3] = {1, BOX_X, BOX_X * BOX_Y};
    int lane = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    int n = size.x * size.y * size.z;
    int x0 = get_group_id(0) * TILE_X - HALO, y0 = get_group_id(1) * TILE_Y - HALO;
    int z0 = get_group_id(2) * TILE_Z - HALO;
    for (int q = lane; q < CELLS; q += ITEMS) {
        int x = x0 + q % BOX_X, y = y0 + q / BOX_X % BOX_Y, z = z0 + q / (BOX_X * BOX_Y);
        bool within = x >= 0 && y >= 0 && z >= 0 && x < size.x && y < size.y && z < size.z;
        int i = (z * size.y + y) * size.x + x;
        bits[q] = within ? links[i] : (uchar)0;
        for (int c = 0; c < 6; c++)
            field[c * CELLS + q] = field[(6 + c) * CELLS + q] = within ? from[c * n + i] : 0.0f;
    }
    WAIT;
#if PAPER && !OVERLAP
    __local float shared[6 * ITEMS];
#endif
    int own = ((get_local_id(2) + HALO) * BOX_Y + get_local_id(1) + HALO) * BOX_X + get_local_id(0) + HALO;
    for (int k = 0; k < steps; k++) {
        SPACE const float *old = field + (k & 1) * 6 * CELLS;
        SPACE float *new = field + (1 - (k & 1)) * 6 * CELLS;
        float weights[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#if PAPER && OVERLAP
        for (int c = 0; c < 6; c++)
            weights[c] = state[WEIGHTS + c];
#elif PAPER
        add_variations(old, CELLS, own, bits[own], step, w, eps, weights);
        group_sums(weights, 6, lane, ITEMS, shared);
        for (int c = 0; c < 6; c++)
            weights[c] = shared[c * ITEMS];
        to_weights(weights);
#endif
        /* How far from the box's border voxels still know all that they need. */
        int away = OVERLAP ? k + 1 : HALO;
        int wide = BOX_X - 2 * away, high = BOX_Y - 2 * away, deep = BOX_Z - 2 * away;
        for (int q = lane; q < wide * high * deep; q += ITEMS) {
            int bx = away + q % wide, by = away + q / wide % high, bz = away + q / (wide * high);
            int i = (bz * BOX_Y + by) * BOX_X + bx, here = bits[i];
            if (here & INSIDE) {
                places p;
                places_of(bits, i, here, step, &p);
                int at = ((z0 + bz) * size.y + y0 + by) * size.x + x0 + bx;
                float d[6], f[6], g[6];
                for (int c = 0; c < 6; c++)
                    f[c] = data[c * n + at];
                regulariser(old, CELLS, i, &p, w, eps, weights, d, g);
                for (int c = 0; c < 6; c++)
                    g[c] += lambda * (d[c] - f[c]);
                descend1(d, g, rate, floor);
                for (int c = 0; c < 6; c++)
                    new[c * CELLS + i] = d[c];
            }
        }
        WAIT;
    }
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    SPACE const float *last = field + (steps & 1) * 6 * CELLS;
    if (x < size.x && y < size.y && z < size.z)
        for (int c = 0; c < 6; c++)
            to[c * n + (z * size.y + y) * size.x + x] = last[c * CELLS + own];
}

/* A work-item ITEM_X x ITEM_Y x ITEM_Z = 2 x 2 x 2 voxels, which it keeps in memory that no other
 * touches: no barrier, no neighbour. Lanes lie side by side. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
tensor_tv_none(__global const float *from, __global const float *data, __global const uchar *links,
               __global const float *state, int4 size, float4 w, float lambda, float eps, float rate,
               float floor, int steps, __global float *to, __global float *scratch)
{
    ROOM(field, 2 * 48 * ITEMS, 8 * ITEMS);
    const int step[3] = {ITEMS, 2 * ITEMS, 4 * ITEMS}, apart = 8 * ITEMS;
    int lane = (get_local_id(2) * TILE_Y + get_local_id(1)) * TILE_X + get_local_id(0);
    int n = size.x * size.y * size.z;
    int x0 = ITEM_X * get_global_id(0), y0 = ITEM_Y * get_global_id(1), z0 = ITEM_Z * get_global_id(2);
    for (int v = 0; v < 8; v++) {
        int x = x0 + (v & 1), y = y0 + (v >> 1 & 1), z = z0 + (v >> 2), q = v * ITEMS + lane;
        bool within = x < size.x && y < size.y && z < size.z;
        int i = (z * size.y + y) * size.x + x;
        /* No links out of the block: forward from its first voxels, back from its last. */
        int keep = INSIDE | (v & 1 ? LINK_BACK_X : LINK_X) | (v & 2 ? LINK_BACK_Y : LINK_Y) |
                   (v & 4 ? LINK_BACK_Z : LINK_Z);
        bits[q] = within ? (uchar)(links[i] & keep) : (uchar)0;
        for (int c = 0; c < 6; c++)
            field[c * apart + q] = field[48 * ITEMS + c * apart + q] = within ? from[c * n + i] : 0.0f;
    }
    for (int k = 0; k < steps; k++) {
        SPACE const float *old = field + (k & 1) * 48 * ITEMS;
        SPACE float *new = field + (1 - (k & 1)) * 48 * ITEMS;
        float weights[6] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
#if PAPER
        for (int v = 0; v < 8; v++)
            add_variations(old, apart, v * ITEMS + lane, bits[v * ITEMS + lane], step, w, eps, weights);
        to_weights(weights);
#endif
        for (int v = 0; v < 8; v++) {
            int i = v * ITEMS + lane, here = bits[i];
            if (!(here & INSIDE))
                continue;
            places p;
            places_of(bits, i, here, step, &p);
            int at = ((z0 + (v >> 2)) * size.y + y0 + (v >> 1 & 1)) * size.x + x0 + (v & 1);
            float d[6], f[6], g[6];
            for (int c = 0; c < 6; c++)
                f[c] = data[c * n + at];
            regulariser(old, apart, i, &p, w, eps, weights, d, g);
            for (int c = 0; c < 6; c++)
                g[c] += lambda * (d[c] - f[c]);
            descend1(d, g, rate, floor);
            for (int c = 0; c < 6; c++)
                new[c * apart + i] = d[c];
        }
    }
    SPACE const float *last = field + (steps & 1) * 48 * ITEMS;
    for (int v = 0; v < 8; v++) {
        int x = x0 + (v & 1), y = y0 + (v >> 1 & 1), z = z0 + (v >> 2);
        if (x < size.x && y < size.y && z < size.z)
            for (int c = 0; c < 6; c++)
                to[c * n + (z * size.y + y) * size.x + x] = last[c * apart + v * ITEMS + lane];
    }
}
