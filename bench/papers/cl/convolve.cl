/* SPDX-License-Identifier: Apache-2.0 */
/* A full mask over every plane. Built with RADIUS; ROLLED takes it from size.w
 * instead and keeps the loops. size.xyz: the volume. */
#include "common/field_row.clh"

#ifndef RADIUS
#define RADIUS 2
#endif
#if ROLLED
#define REACH size.w
#define KEEP_LOOP _Pragma("unroll 1")
#else
#define REACH RADIUS
#define KEEP_LOOP
#endif

static inline int inside(int i, int n)
{
    return min(max(i, 0), n - 1);
}

static inline float convolve_at(__global const float *plane, int x, int y, int4 size,
                                __constant float *mask)
{
    float sum = 0.0f;
    KEEP_LOOP
    for (int j = -REACH; j <= REACH; j++) {
        __global const float *row = plane + inside(y + j, size.y) * size.x;
        KEEP_LOOP
        for (int i = -REACH; i <= REACH; i++)
            sum += row[inside(x + i, size.x)] * mask[(j + REACH) * (2 * REACH + 1) + i + REACH];
    }
    return sum;
}

__kernel void convolve_direct(__global const float *in, __global float *out, int4 size,
                              __constant float *mask)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = z * size.x * size.y;
    out[plane + y * size.x + x] = convolve_at(in + plane, x, y, size, mask);
}

#define WIDE (TILE_X + 2 * RADIUS)
#define HIGH (GROUP_Y + 2 * RADIUS)

/* A block with its apron in local memory; each work-item makes MARCH values
 * TILE_Y rows apart. Tiles are one plane deep. */
__kernel void convolve_block(__global const float *in, __global float *out, int4 size,
                             __constant float *mask)
{
    __local float block[WIDE * HIGH];
    int lx = get_local_id(0), ly = get_local_id(1), z = get_global_id(2);
    int x = get_global_id(0), first = get_group_id(1) * GROUP_Y;
    int plane = min(z, size.z - 1) * size.x * size.y;
    for (int i = ly * TILE_X + lx; i < WIDE * HIGH; i += TILE_X * TILE_Y) {
        int at_x = inside((int)get_group_id(0) * TILE_X - RADIUS + i % WIDE, size.x);
        int at_y = inside(first - RADIUS + i / WIDE, size.y);
        block[i] = in[plane + at_y * size.x + at_x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < MARCH; m++) {
        int row = ly + m * TILE_Y, y = first + row;
        float sum = 0.0f;
        if (x >= size.x || y >= size.y || z >= size.z)
            continue;
        for (int j = 0; j <= 2 * RADIUS; j++)
            for (int i = 0; i <= 2 * RADIUS; i++)
                sum += block[(row + j) * WIDE + lx + i] * mask[j * (2 * RADIUS + 1) + i];
        out[plane + y * size.x + x] = sum;
    }
}

/* Eight values from x on; those beyond the row's end mean nothing. */
static inline float8 convolve_eight(__global const float *plane, int x, int y, int4 size,
                                    __constant float *mask)
{
    bool whole = x >= REACH && x + 8 + REACH <= size.x;
    float8 sum = 0.0f;
    float cells[8 + 2 * RADIUS];
    KEEP_LOOP
    for (int j = 0; j <= 2 * REACH; j++) {
        __global const float *row = plane + inside(y + j - REACH, size.y) * size.x;
        __constant float *weight = mask + j * (2 * REACH + 1);
        if (whole) {
            KEEP_LOOP
            for (int i = 0; i <= 2 * REACH; i++)
                sum += LOAD8(row + x - REACH + i) * weight[i];
        } else {
            for (int i = 0; i < 8 + 2 * REACH; i++)
                cells[i] = row[inside(x - REACH + i, size.x)];
            for (int i = 0; i <= 2 * REACH; i++)
                sum += GET8(cells + i) * weight[i];
        }
    }
    return sum;
}

/* The same of SPAN values, all far from the row's ends: four sums that do not
 * wait for one another. */
#define SPAN 32
static inline void convolve_span(__global const float *plane, __global float *to, int x, int y, int4 size,
                                 __constant float *mask)
{
    float8 a = 0.0f, b = 0.0f, c = 0.0f, d = 0.0f;
    KEEP_LOOP
    for (int j = 0; j <= 2 * REACH; j++) {
        __global const float *row = plane + inside(y + j - REACH, size.y) * size.x + x - REACH;
        __constant float *weight = mask + j * (2 * REACH + 1);
        KEEP_LOOP
        for (int i = 0; i <= 2 * REACH; i++) {
            a += LOAD8(row + i) * weight[i];
            b += LOAD8(row + i + 8) * weight[i];
            c += LOAD8(row + i + 16) * weight[i];
            d += LOAD8(row + i + 24) * weight[i];
        }
    }
    STORE8(a, to + x);
    STORE8(b, to + x + 8);
    STORE8(c, to + x + 16);
    STORE8(d, to + x + 24);
}

__kernel void convolve_row(__global const float *in, __global float *out, int4 size,
                           __constant float *mask)
{
    int y = get_global_id(1), z = get_global_id(2), x = 0;
    float last[8];
    if (y >= size.y || z >= size.z)
        return;
    __global const float *plane = in + z * size.x * size.y;
    __global float *to = out + (z * size.y + y) * size.x;
    while (x + 8 <= size.x) {
        bool wide = x >= REACH && x + SPAN + REACH <= size.x;
        if (wide)
            convolve_span(plane, to, x, y, size, mask);
        else
            STORE8(convolve_eight(plane, x, y, size, mask), to + x);
        x += wide ? SPAN : 8;
    }
    if (x == size.x)
        return;
    PUT8(convolve_eight(plane, x, y, size, mask), last);
    for (int i = 0; x + i < size.x; i++)
        to[x + i] = last[i];
}
