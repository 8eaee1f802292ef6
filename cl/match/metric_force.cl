/* SPDX-License-Identifier: Apache-2.0 */
/* force(i) = keep force(i) + weight derivative(i) shift^T dT/dp (p(i)),
 * p(i) = linear (i, 1) + shift u(i). HAS_FIELD: whether there is a u. HAS_AXES: each
 * component of what is added is multiplied by its number of axes.
 * Background, where derivative is 0, is neither placed nor looked up. Outside of `within` force stays, and
 * derivative does not count. */
#include "common/position.clh"
#include "common/within.clh"

#if HAS_AXES
#define ALONG(c, f) (axes.c * (f))
#else
#define ALONG(c, f) (f)
#endif

static inline void metric_force_voxel(__global const float *moving, int4 moving_size, map m,
                                      __global const float *u, float k, float4 axes, float keep,
                                      __global float *force, int x, int y, int z, int4 size)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 f = (float3)(0.0f);
    if (k != 0.0f) {
        float3 at = (float3)(0.0f), g;
#if HAS_FIELD
        at = load_vec(u, i, n);
#endif
        if (isfinite(sample_gradient(moving, moving_size, position_of(m, x, y, z, at), &g)))
            f = ALONG(xyz, k * (m.shift.x.xyz * g.x + m.shift.y.xyz * g.y + m.shift.z.xyz * g.z));
    }
    if (keep != 0.0f)
        f = muladd((float3)(keep), load_vec(force, i, n), f);
    store_vec(f, force, i, n);
}

#define METRIC_FORCE_ARGUMENTS                                                                               \
    __global const float *moving, int4 moving_size, map m, __global const float *u,                          \
        __global const float *derivative, float weight, float4 axes, float keep,                             \
        __global const int2 *within, __global float *force, int4 size

__kernel void metric_force_item(METRIC_FORCE_ARGUMENTS)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int2 columns = columns_within(within, y, z, size);
    if (x < columns.x || x >= columns.y)
        return;
    float k = weight * derivative[(z * size.y + y) * size.x + x];
    metric_force_voxel(moving, moving_size, m, u, k, axes, keep, force, x, y, z, size);
}

/* Stores only those of eight vectors from first up to end. */
static inline void store_some(vec8 v, __global float *field, int i, int n, int first, int end)
{
    float x[8], y[8], z[8];
    PUT8(v.x, x);
    PUT8(v.y, y);
    PUT8(v.z, z);
    for (int k = first; k < end; k++)
        store_vec((float3)(x[k], y[k], z[k]), field, i + k, n);
}

/* A row in parts; eight voxels of background in a row are passed over. The
 * last eight may overlap those before them or what is not within, which keep what they have got. */
__kernel void metric_force_row(METRIC_FORCE_ARGUMENTS)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    const int2 columns = columns_within(within, y, z, size);
    const rows shift = m.shift;
    int x = columns.x;
    int start = (z * size.y + y) * size.x, n = size.x * size.y * size.z;
    vec8 row = row_positions(m, y, z);
    for (; size.x >= 8 && x < columns.y; x = min(x + CHUNK, columns.y)) {
        int count = min(CHUNK, columns.y - x), counts[CHUNK / 8];
        places at;
        for (int c = 0; c < count; c += 8) {
            int i = start + min(x + c, size.x - 8);
            /* Two rows on: parts of rows are too short for memory to follow by itself. */
            FETCH_SOON(derivative + i + 2 * size.x);
            fetch_vec8_soon(force, i + 2 * size.x, n);
            counts[c / 8] = any8(weight * LOAD8(derivative + i) != 0.0f);
            if (counts[c / 8]) {
                vec8 v = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)};
#if HAS_FIELD
                v = load_vec8(u, i, n);
                fetch_vec8_soon(u, i + 2 * size.x, n);
#endif
                place8(&at, c, positions_of8(m, row, i - start, v), moving_size, true);
            }
        }
        for (int c = 0; c < count; c += 8)
            if (counts[c / 8])
                FETCH_SOON(moving + at.base[c] + 3 * moving_size.x + moving_size.x * moving_size.y);
        for (int c = 0; c < count; c += 8) {
            int i = start + min(x + c, size.x - 8), first = start + x + c - i;
            int end = min(8, start + columns.y - i);
            vec8 f = {(float8)(0.0f), (float8)(0.0f), (float8)(0.0f)}, g;
            if (counts[c / 8]) {
                float8 k = weight * LOAD8(derivative + i);
                float8 value = sample_gradient8(moving, moving_size, &at, c, &g);
                int8 whole = (fabs(value) < INFINITY) & (k != 0.0f);
                f.x = select(f.x, ALONG(x, k * (shift.x.x * g.x + shift.y.x * g.y + shift.z.x * g.z)), whole);
                f.y = select(f.y, ALONG(y, k * (shift.x.y * g.x + shift.y.y * g.y + shift.z.y * g.z)), whole);
                f.z = select(f.z, ALONG(z, k * (shift.x.z * g.x + shift.y.z * g.y + shift.z.z * g.z)), whole);
            }
            if (keep != 0.0f) {
                vec8 before = load_vec8(force, i, n);
                f.x = muladd((float8)(keep), before.x, f.x);
                f.y = muladd((float8)(keep), before.y, f.y);
                f.z = muladd((float8)(keep), before.z, f.z);
            }
            if (end - first == 8)
                store_vec8(f, force, i, n);
            else
                store_some(f, force, i, n, first, end);
        }
    }
    for (; x < columns.y; x++)
        metric_force_voxel(moving, moving_size, m, u, weight * derivative[start + x], axes, keep, force, x, y,
                           z, size);
}
