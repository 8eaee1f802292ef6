/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of x + u(x), voxel by voxel: the root d of d + u(x + d), by
 * Newton's steps with the interpolant's own derivative. A step that does not
 * come nearer is halved. The whole search stays in registers: u is gathered
 * near one place, and a voxel that has arrived stops. */
#include "common/grid.clh"
#include "common/sample.clh"

/* Squared distance in voxels at which a voxel has arrived. */
#define NEAR 1e-6f
/* Below this determinant Newton's step is not trusted. */
#define FLAT 0.05f

/* A displacement on trial: what is left of d + u(x + d), and Newton's step. */
typedef struct trial {
    float3 left, step;
    float square; /* of left, in voxels */
} trial;

/* u at x + d, trilinear; beyond the border its vectors go on. */
static inline trial look(__global const float *u, float3 at, float3 d, int4 size, float3 per_mm)
{
    trial t;
    float3 g0, g1, g2;
    t.left = d + sample_vec_gradient(u, size, at + d * per_mm, &g0, &g1, &g2);
    float3 vox = t.left * per_mm;
    t.square = dot(vox, vox);
    /* Columns of the derivative by x, y, z in mm. */
    g0 *= per_mm.x;
    g1 *= per_mm.y;
    g2 *= per_mm.z;
    g0.x += 1.0f;
    g1.y += 1.0f;
    g2.z += 1.0f;
    float3 across = cross(g1, g2);
    float det = dot(g0, across);
    t.step = -t.left;
    if (det > FLAT)
        t.step = (float3)(dot(t.left, across), dot(g0, cross(t.left, g2)), dot(g0, cross(g1, t.left))) / -det;
    return t;
}

/* From a start to the root, or as near as `most` looks bring it. */
static inline float3 search(__global const float *u, float3 at, float3 d, int4 size, float3 per_mm, int most,
                            float *left)
{
    trial now = look(u, at, d, size, per_mm);
    float part = 1.0f;
    for (int i = 1; i < most && now.square > NEAR; i++) {
        float3 next = d + part * now.step;
        trial then = look(u, at, next, size, per_mm);
        if (then.square < now.square) {
            d = next;
            now = then;
            part = min(1.0f, 2.0f * part);
        } else {
            part *= 0.5f;
        }
    }
    *left = now.square;
    return d;
}

/* Where a search that is not warm, or whose v is not a number, begins otherwise. */
static inline float3 start(__global const float *v, int i, int n, int warm, float3 otherwise)
{
    float3 d = warm ? load_vec(v, i, n) : otherwise;
    return isfinite(d.x + d.y + d.z) ? d : otherwise;
}

__kernel void inverse_item(__global const float *u, __global float *v, grid on, int most, int warm)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float left;
    float3 at = (float3)((float)x, (float)y, (float)z);
    float3 d = start(v, i, n, warm, -load_vec(u, i, n));
    store_vec(search(u, at, d, size, per_mm.xyz, most, &left), v, i, n);
}

/* A row: each voxel begins where its neighbour arrived, unless warm. */
__kernel void inverse_row(__global const float *u, __global float *v, grid on, int most, int warm)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    float left = INFINITY;
    float3 d = (float3)(0.0f);
    for (int x = 0; x < size.x; x++) {
        float3 at = (float3)((float)x, (float)y, (float)z);
        d = start(v, row + x, n, warm, left <= NEAR ? d : -load_vec(u, row + x, n));
        d = search(u, at, d, size, per_mm.xyz, most, &left);
        store_vec(d, v, row + x, n);
    }
}
