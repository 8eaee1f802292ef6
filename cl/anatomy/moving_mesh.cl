/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles, segments of curves or points whose vertices a map moves: the vertices' places, the elements
 * (anatomy/currents), and the derivative by the vertices, or by the map, of what has a derivative by the
 * elements. Built with ELEMENT_CORNERS, of an element (3, 2 or 1), and with HAS_FIELD where there is a
 * map. tracked: two float4 a vertex: its place in voxels, its weight; a vector. topology: the vertices of
 * each element; for each vertex and the one behind the last the first of its corners; the corners
 * (ELEMENT_CORNERS element + 0, 1 or 2), vertex by vertex. */
#include "anatomy/place.clh"

#ifndef HAS_FIELD
#define HAS_FIELD 0
#endif
#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ELEMENT_CORNERS
#define ELEMENT_CORNERS 3
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
    tracked[2 * k] = (float4)(at, points[k].w);
    tracked[2 * k + 1] = (float4)(0.0f);
}

/* Centre, 0; a unit vector and the size: of a triangle its normal and area, of a segment its direction and
 * length, of a point any vector and its weight. What has no size has no direction. */
__kernel void moving_mesh_elements_item(__global const float4 *tracked, __global const int *topology,
                                        int elements, float4 spacing, __global float4 *element)
{
    int t = get_global_id(0);
    if (t >= elements)
        return;
    float3 a = tracked[2 * topology[ELEMENT_CORNERS * t]].xyz;
#if ELEMENT_CORNERS == 1
    element[2 * t] = (float4)(spacing.xyz * a, 0.0f);
    element[2 * t + 1] = (float4)(1.0f, 0.0f, 0.0f, tracked[2 * topology[t]].w);
#else
    /* Differences first: of two vertices in one place it is 0, also where products and sums are fused. */
    float3 b = tracked[2 * topology[ELEMENT_CORNERS * t + 1]].xyz, to_b = spacing.xyz * (b - a);
#if ELEMENT_CORNERS == 3
    float3 c = tracked[2 * topology[3 * t + 2]].xyz, to_c = spacing.xyz * (c - a);
    float3 along = 0.5f * cross(to_b, to_c), centre = spacing.xyz * (a + b + c) / 3.0f;
#else
    float3 along = to_b, centre = 0.5f * spacing.xyz * (a + b);
#endif
    float size = length(along);
    element[2 * t] = (float4)(centre, 0.0f);
    element[2 * t + 1] = (float4)(size > 0.0f ? along / size : (float3)(0.0f), size);
#endif
}

__kernel void moving_mesh_boxes_item(__global const float4 *element, int elements, __global float4 *box)
{
    int block = get_global_id(0);
    if (block * BLOCK >= elements)
        return;
    float4 least = element[2 * block * BLOCK], most = least;
    for (int t = block * BLOCK + 1; t < min(elements, (block + 1) * BLOCK); t++) {
        least = fmin(least, element[2 * t]);
        most = fmax(most, element[2 * t]);
    }
    box[2 * block] = least;
    box[2 * block + 1] = most;
}

/* The vectors: factor times the derivative by each vertex, gathered from its elements in their order; with
 * a map, state[slot] times what that is by the map, component by component times axes. */
__kernel void moving_mesh_pull_item(int vertices, int elements, __global const int *topology,
                                    __global const float4 *element, __global const float4 *by_element,
                                    __global const float *u, grid g, float factor, float4 axes,
                                    __global const float *state, int slot, __global float4 *tracked)
{
    int k = get_global_id(0);
    if (k >= vertices)
        return;
    __global const int *first = topology + ELEMENT_CORNERS * elements, *corners = first + vertices + 1;
    float3 sum = (float3)(0.0f);
    for (int i = first[k]; i < first[k + 1]; i++) {
        int t = corners[i] / ELEMENT_CORNERS, c = corners[i] % ELEMENT_CORNERS;
#if ELEMENT_CORNERS == 1
        sum += by_element[2 * t].xyz;
#else
        float3 n = element[2 * t + 1].xyz;
        float4 by = by_element[2 * t + 1]; /* unit vector over size, size */
        float3 by_vector = by.xyz + (by.w - dot(n, by.xyz)) * n;
#if ELEMENT_CORNERS == 3
        float3 next = tracked[2 * topology[3 * t + (c + 1) % 3]].xyz;
        float3 last = tracked[2 * topology[3 * t + (c + 2) % 3]].xyz;
        sum += by_element[2 * t].xyz / 3.0f + 0.5f * cross(g.spacing.xyz * (next - last), by_vector);
#else
        sum += 0.5f * by_element[2 * t].xyz + (c == 0 ? -by_vector : by_vector);
#endif
#endif
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
