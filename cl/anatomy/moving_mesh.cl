/* SPDX-License-Identifier: Apache-2.0 */
/* A triangle mesh whose vertices a map moves: its vertices' places, its elements (anatomy/currents), and the derivative by
 * its vertices, or by the map, of what has a derivative by its elements. Built with HAS_FIELD where there is a map.
 * tracked: two float4 a vertex: its place in voxels; a vector. topology: the three vertices of each triangle; for each
 * vertex and the one behind the last the first of its corners; the corners (3 triangle + 0, 1 or 2), vertex by vertex. */
#include "anatomy/place.clh"

#ifndef HAS_FIELD
#define HAS_FIELD 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif

__kernel void moving_mesh_place_item(__global const float4 *points, int vertices, __global const float *u, grid g,
                                     __global float4 *tracked)
{
    int k = get_global_id(0);
    if (k >= vertices)
        return;
    float3 at = points[k].xyz;
#if HAS_FIELD
    spot place;
    find_place(u, g, at, &place);
    at = place.at;
#endif
    tracked[2 * k] = (float4)(at, 0.0f);
    tracked[2 * k + 1] = (float4)(0.0f);
}

/* Centroid, 0; unit normal, area. A triangle without area has no normal. */
__kernel void moving_mesh_elements_item(__global const float4 *tracked, __global const int *topology, int triangles,
                                        float4 spacing, __global float4 *element)
{
    int t = get_global_id(0);
    if (t >= triangles)
        return;
    float3 a = spacing.xyz * tracked[2 * topology[3 * t]].xyz;
    float3 b = spacing.xyz * tracked[2 * topology[3 * t + 1]].xyz;
    float3 c = spacing.xyz * tracked[2 * topology[3 * t + 2]].xyz;
    float3 normal = 0.5f * cross(b - a, c - a);
    float area = length(normal);
    element[2 * t] = (float4)((a + b + c) / 3.0f, 0.0f);
    element[2 * t + 1] = (float4)(area > 0.0f ? normal / area : (float3)(0.0f), area);
}

__kernel void moving_mesh_boxes_item(__global const float4 *element, int triangles, __global float4 *box)
{
    int block = get_global_id(0);
    if (block * BLOCK >= triangles)
        return;
    float4 least = element[2 * block * BLOCK], most = least;
    for (int t = block * BLOCK + 1; t < min(triangles, (block + 1) * BLOCK); t++) {
        least = fmin(least, element[2 * t]);
        most = fmax(most, element[2 * t]);
    }
    box[2 * block] = least;
    box[2 * block + 1] = most;
}

/* The vectors: factor times the derivative by each vertex, gathered from its triangles in their order; with a map,
 * state[slot] times what that is by the map, component by component times axes. */
__kernel void moving_mesh_pull_item(int vertices, int triangles, __global const int *topology,
                                    __global const float4 *element, __global const float4 *by_element,
                                    __global const float *u, grid g, float factor, float4 axes,
                                    __global const float *state, int slot, __global float4 *tracked)
{
    int k = get_global_id(0);
    if (k >= vertices)
        return;
    __global const int *first = topology + 3 * triangles, *corners = first + vertices + 1;
    float3 sum = (float3)(0.0f);
    for (int i = first[k]; i < first[k + 1]; i++) {
        int t = corners[i] / 3, c = corners[i] % 3;
        float3 next = tracked[2 * topology[3 * t + (c + 1) % 3]].xyz;
        float3 last = tracked[2 * topology[3 * t + (c + 2) % 3]].xyz;
        float3 n = element[2 * t + 1].xyz;
        float4 by = by_element[2 * t + 1]; /* unit normal over area, area */
        float3 by_normal = by.xyz + (by.w - dot(n, by.xyz)) * n;
        sum += by_element[2 * t].xyz / 3.0f + 0.5f * cross(g.spacing.xyz * (next - last), by_normal);
    }
    sum *= factor;
#if HAS_FIELD
    spot place = {tracked[2 * k].xyz, (float3)(0.0f), (float3)(0.0f), (float3)(0.0f)};
    sample_vec_gradient(u, g.size, place.at, &place.x, &place.y, &place.z);
    place.x = place.x * g.inverse.xyz + (float3)(1, 0, 0);
    place.y = place.y * g.inverse.xyz + (float3)(0, 1, 0);
    place.z = place.z * g.inverse.xyz + (float3)(0, 0, 1);
    sum = state[slot] * axes.xyz * pull_of(&place, g, sum);
#endif
    tracked[2 * k + 1] = (float4)(sum, 0.0f);
}
