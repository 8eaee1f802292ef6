/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of a volume by the primal-dual algorithm of Chambolle and Pock
 * (2011, algorithm 2), dual and primal step in one pass: each voxel makes the dual
 * anew for itself and takes that of the voxels before it from where it has just been
 * made (along the march) or makes it once more (across), so that an iteration reads
 * and writes every number once. Three planes hold the dual, x, y, z. Links
 * (cl/tensor/links.cl) say which forward differences exist; the dual is 0 where they
 * do not. */
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "tensor/links.clh"

#ifndef COUPLED
#define COUPLED 0
#endif
#ifndef NORMS
#define NORMS 0
#endif
#ifndef WIDE
#define WIDE 1
#endif

#if WIDE == 8
typedef float8 real;
typedef int8 whole;
#else
typedef float real;
typedef int whole;
#endif

/* Constants of an iteration. up: sigma w_a of each axis, and theta; down: w_a, and tau. */
typedef struct tv_step {
    float4 up, down;
    int4 size; /* w: voxels */
    float radius;
    int apart; /* floats from one plane of the dual to the next */
} tv_step;

/* p[i] to p[i + WIDE - 1]. Of eights, 0 for those that are not among the n; a single one is among them. */
static inline real get(__global const float *p, int i, int n)
{
#if WIDE == 8
    if (i >= 0 && i + 8 <= n)
        return LOAD8(p + i);
    float lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = i + k >= 0 && i + k < n ? p[i + k] : 0.0f;
    return GET8(lane);
#else
    return p[i];
#endif
}

/* How far the voxel at the end of a link is. It is read whether the link is there or not: an address
 * that follows from links would wait for them. */
#if WIDE == 8
#define AHEAD(by) (by)
#define BEHIND(by) (by)
#else
#define AHEAD(by) min(by, n - 1 - i)
#define BEHIND(by) min(by, i)
#endif

static inline whole bits_at(__global const uchar *links, int i, int n)
{
#if WIDE == 8
    if (i + 8 <= n)
        return convert_int8(vload8(0, links + i));
    int lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = i + k < n ? links[i + k] : 0;
    return GET_INT8(lane);
#else
    return links[i];
#endif
}

/* The first `count` of WIDE values. */
static inline void put(real v, __global float *p, int count)
{
#if WIDE == 8
    if (count >= 8) {
        STORE8(v, p);
        return;
    }
    float lane[8];
    PUT8(v, lane);
    for (int k = 0; k < count; k++)
        p[k] = lane[k];
#else
    *p = v;
#endif
}

/* u extrapolated by what the last iteration changed. */
static inline real ahead_of(__global const float *u, __global const float *before, int i, int n, float theta)
{
    real here = get(u, i, n);
    return here + theta * (here - get(before, i, n));
}

typedef struct flux {
    real x, y, z;
} flux;

/* p + sigma grad ahead, not yet shortened. */
static inline flux raised(__global const float *u, __global const float *before, __global const float *dual,
                          whole bits, int i, const tv_step *s)
{
    int n = s->size.w, row = s->size.x, plane = s->size.x * s->size.y;
    float theta = s->up.w;
    real here = ahead_of(u, before, i, n, theta);
    flux q;
    q.x = s->up.x * (ahead_of(u, before, i + AHEAD(1), n, theta) - here);
    q.y = s->up.y * (ahead_of(u, before, i + AHEAD(row), n, theta) - here);
    q.z = s->up.z * (ahead_of(u, before, i + AHEAD(plane), n, theta) - here);
    q.x = get(dual, i, n) + select((real)(0.0f), q.x, (bits & LINK_X) != 0);
    q.y = get(dual + s->apart, i, n) + select((real)(0.0f), q.y, (bits & LINK_Y) != 0);
    q.z = get(dual + 2 * s->apart, i, n) + select((real)(0.0f), q.z, (bits & LINK_Z) != 0);
    return q;
}

/* w grad u. */
static inline flux slopes(__global const float *u, whole bits, int i, const tv_step *s)
{
    int n = s->size.w, row = s->size.x, plane = s->size.x * s->size.y;
    real here = get(u, i, n);
    flux g;
    flux next = {get(u, i + AHEAD(1), n), get(u, i + AHEAD(row), n), get(u, i + AHEAD(plane), n)};
    g.x = select((real)(0.0f), s->down.x * (next.x - here), (bits & LINK_X) != 0);
    g.y = select((real)(0.0f), s->down.y * (next.y - here), (bits & LINK_Y) != 0);
    g.z = select((real)(0.0f), s->down.z * (next.z - here), (bits & LINK_Z) != 0);
    return g;
}

/* ---- an iteration ------------------------------------------------------- */

/* The dual of voxel i and those after it: into the ball of its radius, alone or, with
 * COUPLED, together with the duals of other channels, whose squares norm has. */
static inline flux dual_at(__global const float *u, __global const float *before, __global const float *dual,
                           __global const uchar *links, __global const float *norm, int i, const tv_step *s)
{
    int n = s->size.w;
    flux q = raised(u, before, dual, bits_at(links, i, n), i, s);
#if COUPLED
    real square = get(norm, i, n);
#else
    real square = q.x * q.x + q.y * q.y + q.z * q.z;
#endif
    real shorter = fmin((real)(1.0f), s->radius * rsqrt(square));
    q.x *= shorter;
    q.y *= shorter;
    q.z *= shorter;
    return q;
}

/* `back` is the dual just before each voxel along each axis. */
static inline real primal_at(__global const float *u, __global const float *data, whole bits, flux q,
                             flux back, int i, const tv_step *s)
{
    int n = s->size.w;
    real old = get(u, i, n), f = get(data, i, n);
    real divergence = s->down.x * (q.x - back.x) + s->down.y * (q.y - back.y) + s->down.z * (q.z - back.z);
    real made = (old + s->down.w * (f + divergence)) * (1.0f / (1.0f + s->down.w));
    return select(old, made, bits != 0);
}

static inline void keep(flux q, __global float *dual, int i, int count, int apart)
{
    put(q.x, dual + i, count);
    put(q.y, dual + apart + i, count);
    put(q.z, dual + 2 * apart + i, count);
}

#if WIDE == 1
/* An item marches along z. */
__kernel void tv_step_item(__global const float *u, __global const float *before, __global const float *data,
                           __global const float *dual, __global const uchar *links,
                           __global const float *norm, __global float *u_next, __global float *dual_next,
                           tv_step s)
{
    int x = get_global_id(0), y = get_global_id(1), first = get_global_id(2) * MARCH;
    int row = s.size.x, plane = s.size.x * s.size.y;
    if (x >= s.size.x || y >= s.size.y)
        return;
    int i = first * plane + y * row + x;
    flux back;
    back.z = first > 0 && first < s.size.z ? dual_at(u, before, dual, links, norm, i - plane, &s).z : 0.0f;
    for (int z = first; z < min(first + MARCH, s.size.z); z++, i += plane) {
        flux q = dual_at(u, before, dual, links, norm, i, &s);
        back.x = x > 0 ? dual_at(u, before, dual, links, norm, i - 1, &s).x : 0.0f;
        back.y = y > 0 ? dual_at(u, before, dual, links, norm, i - row, &s).y : 0.0f;
        u_next[i] = primal_at(u, data, links[i], q, back, i, &s);
        keep(q, dual_next, i, 1, s.apart);
        back.z = q.z;
    }
}
#else
/* Voxels of a row that are worked on before the item goes on to the next row; whole eights. */
#define CHUNK 256

/* An item marches along z with ITEM_Y rows. */
__kernel void tv_step_row(__global const float *u, __global const float *before, __global const float *data,
                          __global const float *dual, __global const uchar *links, __global const float *norm,
                          __global float *u_next, __global float *dual_next, tv_step s)
{
    int top = get_global_id(1) * ITEM_Y, first = get_global_id(2) * MARCH;
    int row = s.size.x, plane = s.size.x * s.size.y;
    int bottom = min(top + ITEM_Y, s.size.y), last = min(first + MARCH, s.size.z);
    float below[ITEM_Y][CHUNK], above[CHUNK];
    if (top >= bottom || first >= last)
        return;
    for (int x0 = 0; x0 < row; x0 += CHUNK) {
        int x1 = min(x0 + CHUNK, row);
        for (int y = top; y < bottom; y++)
            for (int x = x0; x < x1; x += 8) {
                real z = 0.0f;
                if (first > 0)
                    z = dual_at(u, before, dual, links, norm, (first - 1) * plane + y * row + x, &s).z;
                PUT8(z, &below[y - top][x - x0]);
            }
        for (int z = first; z < last; z++) {
            for (int x = x0; x < x1; x += 8) {
                real y = 0.0f;
                if (top > 0)
                    y = dual_at(u, before, dual, links, norm, z * plane + (top - 1) * row + x, &s).y;
                PUT8(y, &above[x - x0]);
            }
            for (int y = top; y < bottom; y++) {
                int at = z * plane + y * row;
                float before_x = 0.0f;
                if (x0 > 0)
                    before_x = dual_at(u, before, dual, links, norm, at + x0 - 1, &s).x.s0;
                for (int x = x0; x < x1; x += 8) {
                    int i = at + x;
                    flux q = dual_at(u, before, dual, links, norm, i, &s), back;
                    back.x = (float8)(before_x, q.x.s0123, q.x.s456);
                    back.y = GET8(&above[x - x0]);
                    back.z = GET8(&below[y - top][x - x0]);
                    put(primal_at(u, data, bits_at(links, i, s.size.w), q, back, i, &s), u_next + i, x1 - x);
                    keep(q, dual_next, i, x1 - x, s.apart);
                    PUT8(q.y, &above[x - x0]);
                    PUT8(q.z, &below[y - top][x - x0]);
                    before_x = q.x.s7;
                }
            }
        }
    }
}
#endif

/* ---- sums --------------------------------------------------------------- */

/* For channels that share their edges: norm (more 0: anew) += |v|^2 of each voxel, v what the step
 * makes of this channel's dual before it is shortened (NORMS 0), or w grad u (NORMS 1). */
__kernel void tv_norm(__global const float *u, __global const float *before, __global const float *dual,
                      __global const uchar *links, __global float *norm, tv_step s, int more)
{
    int n = s.size.w, first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i += WIDE) {
#if NORMS
        flux q = slopes(u, bits_at(links, i, n), i, &s);
#else
        flux q = raised(u, before, dual, bits_at(links, i, n), i, &s);
#endif
        real square = q.x * q.x + q.y * q.y + q.z * q.z;
        put(more ? square + get(norm, i, n) : square, norm + i, n - i);
    }
}

/* A running sum that keeps what each addition lost. */
static inline void add(real *sum, real *lost, real term)
{
    real y = term - *lost, t = *sum + y;
    *lost = (t - *sum) - y;
    *sum = t;
}

static inline float joined(real v)
{
#if WIDE == 8
    float4 a = v.lo + v.hi;
    return (a.x + a.z) + (a.y + a.w);
#else
    return v;
#endif
}

/* For each work-group, of the voxels inside: radius |w grad u| - <w grad u, p> and 1/2 |u - f -
 * div p|^2, neither of which is below 0 and which together are the gap between the energy and
 * that of the dual; |w grad u|; 1/2 |u - f|^2. COUPLED: |w grad u|^2 of all channels is in norm,
 * and counts where `share` is 1. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void tv_sums(__global const float *u, __global const float *data, __global const float *dual,
             __global const uchar *links, __global const float *norm, tv_step s, float share,
             __global float *partial)
{
    int n = s.size.w, row = s.size.x, plane = s.size.x * s.size.y;
    int item = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    int runs = (n + WIDE - 1) / WIDE, each = (runs + groups - 1) / groups * WIDE;
    int first = min(group * each, n), last = min(first + each, n);
    __global const float *py = dual + s.apart, *pz = dual + 2 * s.apart;
    real sum[SUMS], lost[SUMS];
    for (int k = 0; k < SUMS; k++)
        sum[k] = lost[k] = 0.0f;
    for (int i = first + item * WIDE; i < last; i += TILE_X * WIDE) {
        whole bits = bits_at(links, i, n);
        flux g = slopes(u, bits, i, &s);
        real x = get(dual, i, n), y = get(py, i, n), z = get(pz, i, n);
#if COUPLED
        real length = share * sqrt(get(norm, i, n));
#else
        real length = sqrt(g.x * g.x + g.y * g.y + g.z * g.z);
#endif
        real slack = s.radius * length - (g.x * x + g.y * y + g.z * z);
        flux before = {get(dual, i - BEHIND(1), n), get(py, i - BEHIND(row), n),
                       get(pz, i - BEHIND(plane), n)};
        real back = s.down.x * (x - select((real)(0.0f), before.x, (bits & LINK_BACK_X) != 0)) +
                    s.down.y * (y - select((real)(0.0f), before.y, (bits & LINK_BACK_Y) != 0)) +
                    s.down.z * (z - select((real)(0.0f), before.z, (bits & LINK_BACK_Z) != 0));
        real away = get(u, i, n) - get(data, i, n), rest = away - back;
        whole in = bits != 0;
        add(&sum[0], &lost[0], slack);
        add(&sum[1], &lost[1], select((real)(0.0f), 0.5f * rest * rest, in));
        add(&sum[2], &lost[2], length);
        add(&sum[3], &lost[3], select((real)(0.0f), 0.5f * away * away, in));
    }
    float all[SUMS];
    for (int k = 0; k < SUMS; k++)
        all[k] = joined(sum[k]);
#if TILE_X > 1
    __local float cell[SUMS * TILE_X];
    group_sums(all, SUMS, item, TILE_X, cell);
    for (int k = 0; k < SUMS; k++)
        all[k] = cell[k * TILE_X];
#endif
    for (int k = 0; k < SUMS && item == 0; k++)
        partial[group * SUMS + k] = all[k];
}
