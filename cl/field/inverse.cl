/* SPDX-License-Identifier: Apache-2.0 */
/* The inverse of x + u(x), voxel by voxel: the root d of d + u(x + d), by
 * Newton's steps with the interpolant's own derivative. A step that does not
 * come nearer is halved. The whole search stays in registers: u is gathered
 * near one place, and a voxel that has arrived stops. */
#include "common/grid.clh"
#include "common/sample_row.clh"

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
static inline float3 search(__global const float *u, float3 at, float3 d, int4 size, float3 per_mm, int most)
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
    return d;
}

/* A search that is not warm, or whose v is not a number, begins at -u. */
static inline void inverse_voxel(__global const float *u, __global float *v, int4 size, float4 per_mm,
                                 int most, int warm, int x, int y, int z)
{
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    float3 at = (float3)((float)x, (float)y, (float)z), d = -load_vec(u, i, n);
    if (warm) {
        float3 old = load_vec(v, i, n);
        d = isfinite(old.x + old.y + old.z) ? old : d;
    }
    store_vec(search(u, at, d, size, per_mm.xyz, most), v, i, n);
}

__kernel void inverse_item(__global const float *u, __global float *v, grid on, int most, int warm)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x < on.size.x && y < on.size.y && z < on.size.z)
        inverse_voxel(u, v, on.size, on.inverse, most, warm, x, y, z);
}

/* ---- for CPU devices: eight voxels of a row at a time ---- */

/* trial, of eight. */
typedef struct trial8 {
    vec8 left, step;
    float8 square;
} trial8;

/* Eight vectors of a field and their derivatives by x, y, z. */
typedef struct eight {
    vec8 value, gx, gy, gz;
} eight;

static inline vec8 mix_vec8(vec8 left, vec8 right, float8 f)
{
    left.x = muladd(f, right.x - left.x, left.x);
    left.y = muladd(f, right.y - left.y, left.y);
    left.z = muladd(f, right.z - left.z, left.z);
    return left;
}

/* sample_vec_gradient() in the cells found, each of two voxels along x at least. */
static inline void gather8(eight *to, __global const float *u, const places *at, int4 n)
{
    int up = n.y > 1 ? n.x : 0, deep = n.z > 1 ? n.x * n.y : 0, voxels = n.x * n.y * n.z;
    float8 f = GET8(at->fx);
    vec8 left, right;
#if FIELD_PACKED
    float8 end[8], across[8], deeper[8];
#define MIX_CELL(LOAD, k)                                                                  \
    {                                                                                      \
        __global const float *p = u + 3 * at->base[k];                                     \
        float8 fy = (float8)(at->fy[k]), fz = (float8)(at->fz[k]);                         \
        float8 a = LOAD(p), b = LOAD(p + 3 * up);                                          \
        float8 rise = LOAD(p + 3 * deep) - a, rise_up = LOAD(p + 3 * (deep + up)) - b;     \
        a = muladd(fz, rise, a);                                                           \
        across[k] = muladd(fz, rise_up, b) - a;                                            \
        end[k] = muladd(fy, across[k], a);                                                 \
        deeper[k] = muladd(fy, rise_up - rise, rise);                                      \
    }
    if (reach_last(GET_INT8(at->base) + up + deep, voxels))
        for (int k = 0; k < 8; k++)
            MIX_CELL(load_last, k)
    else
#pragma unroll
        for (int k = 0; k < 8; k++)
            MIX_CELL(LOAD8, k)
#define PART(values) columns_of(values, &left, &right)
#else
    vec8 end[2], across[2], deeper[2];
    for (int x = 0; x < 2; x++) {
        float v[3][3][8];
        for (int k = 0; k < 8; k++) {
            int i = at->base[k] + x;
            float3 fy = (float3)(at->fy[k]), fz = (float3)(at->fz[k]);
            float3 a = load_vec(u, i, voxels), b = load_vec(u, i + up, voxels);
            float3 rise = load_vec(u, i + deep, voxels) - a, rise_up = load_vec(u, i + deep + up, voxels) - b;
            a = muladd(fz, rise, a);
            float3 on = muladd(fz, rise_up, b) - a, e = muladd(fy, on, a);
            float3 d = muladd(fy, rise_up - rise, rise);
            v[0][0][k] = e.x, v[0][1][k] = e.y, v[0][2][k] = e.z;
            v[1][0][k] = on.x, v[1][1][k] = on.y, v[1][2][k] = on.z;
            v[2][0][k] = d.x, v[2][1][k] = d.y, v[2][2][k] = d.z;
        }
        end[x] = (vec8){GET8(v[0][0]), GET8(v[0][1]), GET8(v[0][2])};
        across[x] = (vec8){GET8(v[1][0]), GET8(v[1][1]), GET8(v[1][2])};
        deeper[x] = (vec8){GET8(v[2][0]), GET8(v[2][1]), GET8(v[2][2])};
    }
#define PART(values) (left = (values)[0], right = (values)[1])
#endif
    PART(across);
    to->gy = mix_vec8(left, right, f);
    PART(deeper);
    to->gz = mix_vec8(left, right, f);
    PART(end);
    to->gx = (vec8){right.x - left.x, right.y - left.y, right.z - left.z};
    to->value = mix_vec8(left, right, f);
}

static inline vec8 column8(vec8 g, int8 moves, float edge, int axis)
{
    g.x = select((float8)(0.0f), g.x, moves) * edge + (axis == 0 ? 1.0f : 0.0f);
    g.y = select((float8)(0.0f), g.y, moves) * edge + (axis == 1 ? 1.0f : 0.0f);
    g.z = select((float8)(0.0f), g.z, moves) * edge + (axis == 2 ? 1.0f : 0.0f);
    return g;
}

static inline vec8 cross8(vec8 a, vec8 b)
{
    vec8 c = {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    return c;
}

static inline float8 dot8(vec8 a, vec8 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline trial8 look8(__global const float *u, int x, int y, int z, vec8 d, int4 size, float4 per_mm)
{
    trial8 t;
    places at;
    eight found;
    vec8 p = {d.x * per_mm.x + ((float)x + (float8)(0, 1, 2, 3, 4, 5, 6, 7)), d.y * per_mm.y + (float)y,
              d.z * per_mm.z + (float)z};
    place8(&at, 0, p, size, true);
    gather8(&found, u, &at, size);
    int8 inside = GET_INT8(at.inside);
    vec8 g0 = column8(found.gx, (inside & ALONG_X) != 0, per_mm.x, 0);
    vec8 g1 = column8(found.gy, (inside & ALONG_Y) != 0, per_mm.y, 1);
    vec8 g2 = column8(found.gz, (inside & ALONG_Z) != 0, per_mm.z, 2);
    t.left.x = d.x + found.value.x;
    t.left.y = d.y + found.value.y;
    t.left.z = d.z + found.value.z;
    float8 a = t.left.x * per_mm.x, b = t.left.y * per_mm.y, c = t.left.z * per_mm.z;
    t.square = a * a + b * b + c * c;
    vec8 across = cross8(g1, g2);
    float8 det = dot8(g0, across), by = -1.0f / det;
    int8 steep = det > FLAT;
    t.step.x = select(-t.left.x, dot8(t.left, across) * by, steep);
    t.step.y = select(-t.left.y, dot8(g0, cross8(t.left, g2)) * by, steep);
    t.step.z = select(-t.left.z, dot8(g0, cross8(g1, t.left)) * by, steep);
    return t;
}

static inline vec8 select_vec8(vec8 a, vec8 b, int8 second)
{
    a.x = select(a.x, b.x, second);
    a.y = select(a.y, b.y, second);
    a.z = select(a.z, b.z, second);
    return a;
}

/* search(), of eight; those that have arrived wait for the others. */
static inline vec8 search8(__global const float *u, int x, int y, int z, vec8 d, int4 size, float4 per_mm,
                           int most)
{
    trial8 now = look8(u, x, y, z, d, size, per_mm);
    float8 part = (float8)(1.0f);
    int8 on = now.square > NEAR;
    for (int i = 1; i < most && any8(on); i++) {
        vec8 next = {d.x + part * now.step.x, d.y + part * now.step.y, d.z + part * now.step.z};
        trial8 then = look8(u, x, y, z, next, size, per_mm);
        int8 nearer = on & (then.square < now.square);
        d = select_vec8(d, next, nearer);
        now.step = select_vec8(now.step, then.step, nearer);
        now.square = select(now.square, then.square, nearer);
        part = select(0.5f * part, 2.0f * part < 1.0f ? 2.0f * part : (float8)(1.0f), nearer);
        on = now.square > NEAR;
    }
    return d;
}

static inline vec8 start8(vec8 d, vec8 otherwise)
{
    float8 sum = d.x + d.y + d.z;
    return select_vec8(otherwise, d, fabs(sum) <= FLT_MAX);
}

__kernel void inverse_row(__global const float *u, __global float *v, grid on, int most, int warm)
{
    const int4 size = on.size;
    const float4 per_mm = on.inverse;
    const int8 lanes = (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, row = (z * size.y + y) * size.x;
    for (int from = 0; from < size.x && size.x >= 8; from += 8) {
        int x = min(from, size.x - 8); /* what the last eight share with those before stays as it is */
        vec8 d = load_vec8(u, row + x, n), before = d;
        d.x = -d.x;
        d.y = -d.y;
        d.z = -d.z;
        if (warm || x < from) {
            before = load_vec8(v, row + x, n);
            if (warm)
                d = start8(before, d);
        }
        d = search8(u, x, y, z, d, size, per_mm, most);
        if (x < from)
            d = select_vec8(before, d, lanes >= from - x);
        store_vec8(d, v, row + x, n);
    }
    for (int x = 0; x < size.x && size.x < 8; x++)
        inverse_voxel(u, v, size, per_mm, most, warm, x, y, z);
}
