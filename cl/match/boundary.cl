/* SPDX-License-Identifier: Apache-2.0 */
/* Boundary-based registration (Greve and Fischl 2009): how an image rises across a surface, and the
 * derivative by the map under which it is looked up. */
#include "common/map.clh"
#include "common/sample.clh"

#ifndef MARCH
#define MARCH 1
#endif

/* points: of each of `count` points the place inside of the boundary, then that outside. sums: SUMS of each
 * item, whose points lie `items` apart, so that items beside one another read side by side. */
#define SUMS 14
__kernel void boundary_item(__global const float *image, int4 n, rows map, __global const float4 *points,
                            int count, float slope, int items, __global float *sums)
{
    const int item = get_global_id(0);
    if (item >= items)
        return;
    float cost = 0.0f, counted = 0.0f;
    float4 dx = (float4)(0.0f), dy = (float4)(0.0f), dz = (float4)(0.0f);
    for (int k = item; k < count; k += items) {
        float4 in = (float4)(points[2 * k].xyz, 1.0f), out = (float4)(points[2 * k + 1].xyz, 1.0f);
        float3 by_in = (float3)(0.0f), by_out = (float3)(0.0f);
        float3 at_in = (float3)(dot(map.x, in), dot(map.y, in), dot(map.z, in));
        float3 at_out = (float3)(dot(map.x, out), dot(map.y, out), dot(map.z, out));
        float w = sample_gradient(image, n, at_in, &by_in), g = sample_gradient(image, n, at_out, &by_out);
        float both = g + w;
        if (!(isfinite(both) && both > 0.0f))
            continue;
        float t = tanh(slope * 200.0f * (g - w) / both);
        float steep = (1.0f - t * t) * slope * 400.0f / (both * both);
        by_in *= -steep * g;
        by_out *= steep * w;
        cost += 1.0f + t;
        counted += 1.0f;
        dx += by_in.x * in + by_out.x * out;
        dy += by_in.y * in + by_out.y * out;
        dz += by_in.z * in + by_out.z * out;
    }
    __global float *to = sums + item * SUMS;
    to[0] = cost;
    to[1] = counted;
    vstore4(dx, 0, to + 2);
    vstore4(dy, 0, to + 6);
    vstore4(dz, 0, to + 10);
}
