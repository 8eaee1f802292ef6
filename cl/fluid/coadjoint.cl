/* SPDX-License-Identifier: Apache-2.0 */
/* ad_v w = Dv w - Dw v of vector fields, and its transpose ad*_v m. per_mm.xyz is
 * 1 / spacing; D takes the differences of common/difference.clh. */
#include "common/difference.clh"
#include "common/field_row.clh"
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

/* Eight voxels of a row, none of them at its ends: the same sums, every neighbour read once. */
static inline vec8 along8(vec8 above, vec8 below, float scale)
{
    vec8 d;
    d.x = (above.x - below.x) * scale;
    d.y = (above.y - below.y) * scale;
    d.z = (above.z - below.z) * scale;
    return d;
}

#define NEIGHBOURS(f, a) load_vec8(f, i + (a).above, n), load_vec8(f, i + (a).below, n)

#if TRANSPOSED
/* of: v's component along the axis. Returns v's derivative along the axis times m, and adds to back what
 * BACK is. */
static inline float8 back8(vec8 v_above, vec8 v_below, float8 of_above, float8 of_below, float8 of_here,
                           vec8 m_above, vec8 m_below, vec8 there, float scale, float8 from_below,
                           float8 from_above, float own, vec8 *back)
{
    vec8 d = along8(v_above, v_below, scale);
    float8 p = from_below * of_below, q = from_above * of_above, r = own * of_here;
    back->x += p * m_below.x - q * m_above.x + r * there.x;
    back->y += p * m_below.y - q * m_above.y + r * there.y;
    back->z += p * m_below.z - q * m_above.z + r * there.z;
    return d.x * there.x + d.y * there.y + d.z * there.z;
}

static inline vec8 action8(__global const float *v, __global const float *m, int i, int n, int at, int end,
                           axis x, axis y, axis z)
{
    vec8 here = load_vec8(v, i, n), there = load_vec8(m, i, n), turned, back = {0.0f, 0.0f, 0.0f};
    /* Next to an end of the row the neighbour's own difference is one-sided. */
    int8 from = (int8)(at) + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    float8 below = select((float8)(x.scale), (float8)(2.0f * x.scale), from == (int8)(1));
    float8 above = select((float8)(x.scale), (float8)(2.0f * x.scale), from == (int8)(end - 1));
    vec8 a = load_vec8(v, i + 1, n), b = load_vec8(v, i - 1, n);
    turned.x = back8(a, b, a.x, b.x, here.x, load_vec8(m, i + 1, n), load_vec8(m, i - 1, n), there, x.scale,
                     below, above, 0.0f, &back);
    a = load_vec8(v, i + y.above, n);
    b = load_vec8(v, i + y.below, n);
    turned.y = back8(a, b, a.y, b.y, here.y, NEIGHBOURS(m, y), there, y.scale, y.from_below, y.from_above,
                     y.own, &back);
    a = load_vec8(v, i + z.above, n);
    b = load_vec8(v, i + z.below, n);
    turned.z = back8(a, b, a.z, b.z, here.z, NEIGHBOURS(m, z), there, z.scale, z.from_below, z.from_above,
                     z.own, &back);
    turned.x -= back.x;
    turned.y -= back.y;
    turned.z -= back.z;
    return turned;
}
#else
static inline void add8(vec8 *sum, float8 by, vec8 d)
{
    sum->x += by * d.x;
    sum->y += by * d.y;
    sum->z += by * d.z;
}

static inline vec8 action8(__global const float *v, __global const float *w, int i, int n, int at, int end,
                           axis x, axis y, axis z)
{
    vec8 here = load_vec8(v, i, n), there = load_vec8(w, i, n), left = {0.0f, 0.0f, 0.0f}, right = left;
    add8(&left, there.x, difference_vec8(v, i + 1, i - 1, x.scale, n));
    add8(&left, there.y, difference_vec8(v, i + y.above, i + y.below, y.scale, n));
    add8(&left, there.z, difference_vec8(v, i + z.above, i + z.below, z.scale, n));
    add8(&right, here.x, difference_vec8(w, i + 1, i - 1, x.scale, n));
    add8(&right, here.y, difference_vec8(w, i + y.above, i + y.below, y.scale, n));
    add8(&right, here.z, difference_vec8(w, i + z.above, i + z.below, z.scale, n));
    left.x -= right.x;
    left.y -= right.y;
    left.z -= right.z;
    return left;
}
#endif

/* The last eight may overlap those before; ends, and short rows, one voxel after another. */
__kernel void coadjoint_row(__global const float *v, __global const float *w, grid on, __global float *out)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    int y = get_global_id(1), z = get_global_id(2), end = size.x - 1, x = 0;
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    axis along_x = axis_of(1, size.x, 1, per_mm.x), along_y = axis_of(y, size.y, size.x, per_mm.y);
    axis along_z = axis_of(z, size.z, size.x * size.y, per_mm.z);
    if (end >= 9) {
        coadjoint_voxel(v, w, size, per_mm, out, 0, y, z);
        for (x = 1; x < end; x += 8) {
            x = min(x, end - 8);
            store_vec8(action8(v, w, row + x, n, x, end, along_x, along_y, along_z), out, row + x, n);
        }
        x = end;
    }
    for (; x < size.x; x++)
        coadjoint_voxel(v, w, size, per_mm, out, x, y, z);
}
