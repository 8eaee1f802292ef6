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
    float value[3][8], gx[3][8], gy[3][8], gz[3][8];
} ALIGNED eight;

#define PUT_VECTOR(to, c, v) (to)[0][c] = (v).x, (to)[1][c] = (v).y, (to)[2][c] = (v).z

/* sample_vec_gradient() in the cells found, each of two voxels along x at least. */
static inline void gather8(eight *to, __global const float *u, const places *at, int4 n)
{
    int up = n.y > 1 ? n.x : 0, deep = n.z > 1 ? n.x * n.y : 0, voxels = n.x * n.y * n.z;
    for (int c = 0; c < 8; c++) {
        int i = at->base[c];
        float fx = at->fx[c];
        float4 fy = (float4)(at->fy[c]), fz = (float4)(at->fz[c]);
#if FIELD_PACKED
        /* Both x corners are six floats in a row: x y z and the next x, the first z and the next x y z. */
#define LEFT(i) vload4(0, u + 3 * (i))
#define RIGHT(i) vload4(0, u + 3 * (i) + 2).yzwx
#else
#define LEFT(i) (float4)(load_vec(u, i, voxels), 0.0f)
#define RIGHT(i) (float4)(load_vec(u, (i) + 1, voxels), 0.0f)
#endif
#define END(READ, end, across, deeper)                                                            \
    float4 end, across, deeper;                                                                   \
    {                                                                                             \
        float4 a = READ(i), b = READ(i + up), p = READ(i + deep) - a, q = READ(i + deep + up) - b; \
        a = muladd(fz, p, a);                                                                     \
        across = muladd(fz, q, b) - a;                                                            \
        end = muladd(fy, across, a);                                                              \
        deeper = muladd(fy, q - p, p);                                                            \
    }
        END(LEFT, left, left_y, left_z)
        END(RIGHT, right, right_y, right_z)
        float4 gx = right - left, gy = muladd((float4)(fx), right_y - left_y, left_y);
        float4 gz = muladd((float4)(fx), right_z - left_z, left_z), v = muladd((float4)(fx), gx, left);
        PUT_VECTOR(to->value, c, v);
        PUT_VECTOR(to->gx, c, gx);
        PUT_VECTOR(to->gy, c, gy);
        PUT_VECTOR(to->gz, c, gz);
    }
}

static inline vec8 column8(float (*g)[8], int8 moves, float edge, int axis)
{
    vec8 v;
    v.x = select((float8)(0.0f), GET8(g[0]), moves) * edge + (axis == 0 ? 1.0f : 0.0f);
    v.y = select((float8)(0.0f), GET8(g[1]), moves) * edge + (axis == 1 ? 1.0f : 0.0f);
    v.z = select((float8)(0.0f), GET8(g[2]), moves) * edge + (axis == 2 ? 1.0f : 0.0f);
    return v;
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
    t.left.x = d.x + GET8(found.value[0]);
    t.left.y = d.y + GET8(found.value[1]);
    t.left.z = d.z + GET8(found.value[2]);
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
    for (int i = 1; i < most && any(on); i++) {
        vec8 next = {d.x + part * now.step.x, d.y + part * now.step.y, d.z + part * now.step.z};
        trial8 then = look8(u, x, y, z, next, size, per_mm);
        int8 nearer = on & (then.square < now.square);
        d = select_vec8(d, next, nearer);
        now.step = select_vec8(now.step, then.step, nearer);
        now.square = select(now.square, then.square, nearer);
        part = select(0.5f * part, fmin((float8)(1.0f), 2.0f * part), nearer);
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
