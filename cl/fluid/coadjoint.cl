/* SPDX-License-Identifier: Apache-2.0 */
/* ad_v w = Dv w - Dw v of vector fields, and its transpose ad*_v m. per_mm.xyz is
 * 1 / spacing; D takes the differences of common/difference.clh. */
#include "common/difference.clh"
#include "common/field.clh"
#include "common/grid.clh"

/* An axis seen from index i: neighbours and what they count for in D, and in D transposed: there the
 * neighbour below adds, the one above subtracts, and the border's own voxel closes the sum. */
typedef struct axis {
    int above, below; /* distances in voxels of the volume */
    float scale, from_below, from_above, own;
} axis;

static inline axis axis_of(int i, int n, int stride, float inverse)
{
    axis a;
    a.above = (difference_above(i, n) - i) * stride;
    a.below = (difference_below(i) - i) * stride;
    a.scale = difference_scale(i, n, inverse);
    a.from_below = i > 0 ? difference_scale(i - 1, n, inverse) : 0.0f;
    a.from_above = i < n - 1 ? difference_scale(i + 1, n, inverse) : 0.0f;
    a.own = i == 0 ? -a.scale : i == n - 1 ? a.scale : 0.0f;
    a.own = n > 1 ? a.own : 0.0f;
    return a;
}

static inline float3 along(__global const float *f, int i, int n, axis a)
{
    return (load_vec(f, i + a.above, n) - load_vec(f, i + a.below, n)) * a.scale;
}

static inline float3 action(__global const float *v, __global const float *w, int i, int n, axis x, axis y, axis z)
{
    float3 here = load_vec(v, i, n), there = load_vec(w, i, n);
    float3 left = there.x * along(v, i, n, x) + there.y * along(v, i, n, y) + there.z * along(v, i, n, z);
    float3 right = here.x * along(w, i, n, x) + here.y * along(w, i, n, y) + here.z * along(w, i, n, z);
    return left - right;
}

/* One axis of sum D^T (v_j m): speed is v_j at a place. */
#define BACK(component, a)                                                                              \
    (a.from_below * load_vec(v, i + a.below, n).component * load_vec(m, i + a.below, n) -                \
     a.from_above * load_vec(v, i + a.above, n).component * load_vec(m, i + a.above, n) +                \
     a.own * here.component * there)

static inline float3 coaction(__global const float *v, __global const float *m, int i, int n, axis x, axis y,
                              axis z)
{
    float3 here = load_vec(v, i, n), there = load_vec(m, i, n);
    float3 turned = (float3)(dot(along(v, i, n, x), there), dot(along(v, i, n, y), there),
                             dot(along(v, i, n, z), there));
    return turned - (BACK(x, x) + BACK(y, y) + BACK(z, z));
}

#if TRANSPOSED
#define ACTION coaction
#else
#define ACTION action
#endif

static inline void coadjoint_voxel(__global const float *v, __global const float *w, int4 size, float4 per_mm,
                                   __global float *out, int x, int y, int z)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    store_vec(ACTION(v, w, i, n, axis_of(x, size.x, 1, per_mm.x), axis_of(y, size.y, size.x, per_mm.y),
                     axis_of(z, size.z, size.x * size.y, per_mm.z)),
              out, i, n);
}

__kernel void coadjoint_item(__global const float *v, __global const float *w, grid on, __global float *out)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < size.x && y < size.y && z < size.z)
        coadjoint_voxel(v, w, size, per_mm, out, x, y, z);
}

__kernel void coadjoint_row(__global const float *v, __global const float *w, grid on, __global float *out)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2);
    if (y < size.y && z < size.z)
        for (int x = 0; x < size.x; x++)
            coadjoint_voxel(v, w, size, per_mm, out, x, y, z);
}
