/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of a device beside streaming and multiplying (copy.cl, fma_rate.cl): copies by accesses of WIDTH floats,
 * reads of a cache and of local memory, atomic additions, and nothing at all. */
#if defined(WIDTH) && WIDTH == 1
typedef float moved;
#elif defined(WIDTH) && WIDTH == 2
typedef float2 moved;
#else
typedef float4 moved;
#endif

__kernel void ceiling_copy_item(__global const moved *in, __global moved *out, int n)
{
    int i = (int)get_global_id(0);
    if (i < n)
        out[i] = in[i];
}

/* For CPU devices: each work-item a contiguous run of MARCH. */
__kernel void ceiling_copy_run(__global const moved *in, __global moved *out, int n)
{
    int first = (int)get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++)
        out[i] = in[i];
}

/* The sum of `steps` reads, 16 bytes each, that go round the group's cells: neighbours read
 * neighbouring cells. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
ceiling_local(__global const float4 *in, int steps, __global float4 *out)
{
    __local float4 cells[TILE_X];
    int l = (int)get_local_id(0);
    cells[l] = in[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 a = (float4)(0), b = a, c = a, d = a;
    for (int i = 0; i < steps; i += 4) {
        a += cells[(l + i) & (TILE_X - 1)];
        b += cells[(l + i + 1) & (TILE_X - 1)];
        c += cells[(l + i + 2) & (TILE_X - 1)];
        d += cells[(l + i + 3) & (TILE_X - 1)];
    }
    out[get_global_id(0)] = a + b + c + d;
}

/* The sum of `steps` reads, 4 bytes each, of few cells: neighbours read neighbouring cells, from any on,
 * as they do in a volume. */
__kernel void ceiling_reads(__global const float *in, int steps, __global float *out)
{
    int l = (int)get_local_id(0);
    float a = 0, b = 0, c = 0, d = 0;
    for (int i = 0; i < steps; i += 8) {
        __global const float *p = in + ((l + 37 * i) & (CELLS - 1));
        a += p[0] + p[1];
        b += p[33] + p[34];
        c += p[66] + p[67];
        d += p[99] + p[100];
    }
    out[get_global_id(0)] = (a + b) + (c + d);
}

/* `steps` additions of 1 by each work-item, to one counter after the other; mask + 1 counters. */
__kernel void ceiling_atomics(__global int *counters, int mask, int steps)
{
    int at = (int)get_global_id(0);
    for (int i = 0; i < steps; i++)
        atomic_inc(&counters[(at + i * 31) & mask]);
}

__kernel void ceiling_empty(__global float *unused)
{
}
