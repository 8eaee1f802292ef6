/* SPDX-License-Identifier: Apache-2.0 */
/* Squared distance of the eight voxels of a cell to the nearest of the
 * triangles listed for it. A triangle is RECORD floats
 * (src/op/surface/mesh_distance.h): corner a, unit normal, the two vectors whose
 * products with p - a are the weights of b and c at the foot of p, then ab,
 * 1 / ab^2, ac, 1 / ac^2, 1 / bc^2, unused. */
#include "common/map.clh"

/* Positions of the voxels of a cell, x fastest. */
static inline float3 voxel_at(rows to_mm, int4 cell, int lane)
{
    float4 i = (float4)((float)(cell.x + (lane & 1)), (float)(cell.y + ((lane >> 1) & 1)),
                        (float)(cell.z + (lane >> 2)), 1.0f);
    return (float3)(dot(to_mm.x, i), dot(to_mm.y, i), dot(to_mm.z, i));
}

static inline float along(float3 q, float3 e, float inverse)
{
    float t = fmin(fmax(dot(q, e) * inverse, 0.0f), 1.0f);
    float3 r = q - t * e;
    return dot(r, r);
}

/* Records begin on boundaries of 16 bytes, and GPUs turn a cast into wide loads. */
static inline float triangle_squared(__global const float *record, float3 p)
{
    __global const float4 *r = (__global const float4 *)record;
    float4 first = r[0], second = r[1], third = r[2], fourth = r[3], fifth = r[4];
    float3 q = p - first.xyz, n = (float3)(first.w, second.xy), u3 = (float3)(second.zw, third.x);
    float3 v3 = third.yzw, ab = fourth.xyz, ac = fifth.xyz;
    float u = dot(q, u3), v = dot(q, v3), height = dot(q, n);
    if (u > 0.0f && v > 0.0f && u + v < 1.0f)
        return height * height;
    return fmin(fmin(along(q, ab, fourth.w), along(q, ac, fifth.w)), along(q - ab, ac - ab, record[20]));
}

/* A work-item a voxel: eight neighbours share a list. */
__kernel void mesh_distance_item(__global const float *triangles, __global const int4 *cells,
                                 __global const int *list, rows to_mm, int count,
                                 __global float *squared, __global int *nearest)
{
    int i = get_global_id(0), cell = i >> 3;
    if (cell >= count)
        return;
    int4 here = cells[cell];
    float3 p = voxel_at(to_mm, here, i & 7);
    float best = INFINITY;
    int found = -1, end = cells[cell + 1].w;
    for (int k = here.w; k < end; k++) {
        int t = list[k];
        float d = triangle_squared(triangles + RECORD * t, p);
        if (d < best || (d == best && t < found)) {
            best = d;
            found = t;
        }
    }
    squared[i] = best;
    nearest[i] = found;
}

typedef struct point8 {
    float8 x, y, z;
} point8;

static inline float8 dot8(point8 q, float3 e)
{
    return q.x * e.x + q.y * e.y + q.z * e.z;
}

static inline float8 along8(point8 q, float3 e, float inverse)
{
    float8 t = fmin(fmax(dot8(q, e) * inverse, (float8)(0.0f)), (float8)(1.0f));
    float8 x = q.x - t * e.x, y = q.y - t * e.y, z = q.z - t * e.z;
    return x * x + y * y + z * z;
}

/* A work-item a cell: one triangle against eight voxels at once. */
__kernel void mesh_distance_cell(__global const float *triangles, __global const int4 *cells,
                                 __global const int *list, rows to_mm, int count,
                                 __global float *squared, __global int *nearest)
{
    int cell = get_global_id(0);
    if (cell >= count)
        return;
    int4 here = cells[cell];
    const float8 dx = (float8)(0, 1, 0, 1, 0, 1, 0, 1), dy = (float8)(0, 0, 1, 1, 0, 0, 1, 1);
    const float8 dz = (float8)(0, 0, 0, 0, 1, 1, 1, 1);
    float8 x = (float)here.x + dx, y = (float)here.y + dy, z = (float)here.z + dz;
    point8 p = {to_mm.x.x * x + to_mm.x.y * y + to_mm.x.z * z + to_mm.x.w,
                to_mm.y.x * x + to_mm.y.y * y + to_mm.y.z * z + to_mm.y.w,
                to_mm.z.x * x + to_mm.z.y * y + to_mm.z.z * z + to_mm.z.w};
    float8 best = INFINITY;
    int8 found = -1;
    int end = cells[cell + 1].w;
    for (int k = here.w; k < end; k++) {
        int t = list[k];
        __global const float *r = triangles + RECORD * t;
        point8 q = {p.x - r[0], p.y - r[1], p.z - r[2]};
        float3 ab = (float3)(r[12], r[13], r[14]), ac = (float3)(r[16], r[17], r[18]);
        float8 height = dot8(q, (float3)(r[3], r[4], r[5]));
        float8 u = dot8(q, (float3)(r[6], r[7], r[8])), v = dot8(q, (float3)(r[9], r[10], r[11]));
        point8 s = {q.x - ab.x, q.y - ab.y, q.z - ab.z};
        float8 d = fmin(fmin(along8(q, ab, r[15]), along8(q, ac, r[19])), along8(s, ac - ab, r[20]));
        d = ((u > 0.0f) & (v > 0.0f) & (u + v < 1.0f)) ? height * height : d;
        int8 better = (d < best) | ((d == best) & ((int8)(t) < found));
        best = better ? d : best;
        found = better ? (int8)(t) : found;
    }
    vstore8(best, cell, squared);
    vstore8(found, cell, nearest);
}
