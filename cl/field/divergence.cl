/* SPDX-License-Identifier: Apache-2.0 */
/* div v by central differences, 0 outside, and v += weight grad s by the same ones: each is minus the transpose of the
 * other, so that v + weight grad G div v is a symmetric operator for any symmetric G. */
#include "common/field_row.clh"
#include "common/grid.clh"

/* Index of a neighbour (the voxel itself beyond the border), and its weight. */
typedef struct beside {
    int above, below; /* distances in voxels of the volume */
    float up, down;
} beside;

static inline beside beside_of(int i, int n, int stride, float inverse)
{
    beside b;
    b.above = i < n - 1 ? stride : 0;
    b.below = i > 0 ? -stride : 0;
    b.up = i < n - 1 ? 0.5f * inverse : 0.0f;
    b.down = i > 0 ? 0.5f * inverse : 0.0f;
    return b;
}

static inline void divergence_voxel(__global const float *v, int4 size, float4 inverse, __global float *out, int x, int y,
                                    int z)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    beside a = beside_of(x, size.x, 1, inverse.x), b = beside_of(y, size.y, size.x, inverse.y);
    beside c = beside_of(z, size.z, size.x * size.y, inverse.z);
    float sum = a.up * v[VEC_AT(i + a.above, 0, n)] - a.down * v[VEC_AT(i + a.below, 0, n)];
    sum += b.up * v[VEC_AT(i + b.above, 1, n)] - b.down * v[VEC_AT(i + b.below, 1, n)];
    sum += c.up * v[VEC_AT(i + c.above, 2, n)] - c.down * v[VEC_AT(i + c.below, 2, n)];
    out[i] = sum;
}

static inline void gradient_voxel(__global const float *s, int4 size, float4 inverse, float4 weight, __global float *v, int x,
                                  int y, int z)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    beside a = beside_of(x, size.x, 1, inverse.x), b = beside_of(y, size.y, size.x, inverse.y);
    beside c = beside_of(z, size.z, size.x * size.y, inverse.z);
    float3 g = (float3)(a.up * s[i + a.above] - a.down * s[i + a.below], b.up * s[i + b.above] - b.down * s[i + b.below],
                        c.up * s[i + c.above] - c.down * s[i + c.below]);
    store_vec(load_vec(v, i, n) + weight.xyz * g, v, i, n);
}

__kernel void divergence_item(__global const float *v, grid on, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < on.size.x && y < on.size.y && z < on.size.z)
        divergence_voxel(v, on.size, on.inverse, out, x, y, z);
}

__kernel void add_gradient_item(__global const float *s, grid on, float4 weight, __global float *v)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < on.size.x && y < on.size.y && z < on.size.z)
        gradient_voxel(s, on.size, on.inverse, weight, v, x, y, z);
}

__kernel void divergence_row(__global const float *v, grid on, __global float *out)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 1;
    beside b = beside_of(y, size.y, size.x, inverse.y), c = beside_of(z, size.z, size.x * size.y, inverse.z);
    float a = 0.5f * inverse.x;
    divergence_voxel(v, size, inverse, out, 0, y, z);
    for (; x + 8 < size.x; x += 8) {
        int i = row + x;
        float8 sum = difference_vec8(v, i + 1, i - 1, a, n).x;
        sum += b.up * load_vec8(v, i + b.above, n).y - b.down * load_vec8(v, i + b.below, n).y;
        sum += c.up * load_vec8(v, i + c.above, n).z - c.down * load_vec8(v, i + c.below, n).z;
        STORE8(sum, out + i);
    }
    for (; x < size.x; x++)
        divergence_voxel(v, size, inverse, out, x, y, z);
}

__kernel void add_gradient_row(__global const float *s, grid on, float4 weight, __global float *v)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x, x = 1;
    beside b = beside_of(y, size.y, size.x, inverse.y), c = beside_of(z, size.z, size.x * size.y, inverse.z);
    float a = 0.5f * inverse.x;
    gradient_voxel(s, size, inverse, weight, v, 0, y, z);
    for (; x + 8 < size.x; x += 8) {
        int i = row + x;
        vec8 to = load_vec8(v, i, n);
        to.x += weight.x * (a * (LOAD8(s + i + 1) - LOAD8(s + i - 1)));
        to.y += weight.y * (b.up * LOAD8(s + i + b.above) - b.down * LOAD8(s + i + b.below));
        to.z += weight.z * (c.up * LOAD8(s + i + c.above) - c.down * LOAD8(s + i + c.below));
        store_vec8(to, v, i, n);
    }
    for (; x < size.x; x++)
        gradient_voxel(s, size, inverse, weight, v, x, y, z);
}
