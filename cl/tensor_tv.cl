/* SPDX-License-Identifier: Apache-2.0 */
/* Explicit steps of the total variation of tensor fields; formulas in
 * src/op/tensor_tv.h. Built with PAPER 0 (one norm for all entries) or 1. */
#include "tensor_tv8.clh"

#include "tensor_tv_voxel.clh"
#undef REAL
#undef FN
#define REAL float8
#define FN(name) name##8
#include "tensor_tv.clh"

#define SPACE __global
#define AT(name) name##_global
#include "tensor_tv_places.clh"

/* One voxel's tensor after a step. */
static inline void step_voxel(__global const float *from, __global const float *data,
                              __global const uchar *links, __global const float *state, int i, int4 size,
                              float4 w, float lambda, float eps, float rate, float floor,
                              __global float *to)
{
    int n = size.x * size.y * size.z, here = links[i];
    if (!(here & 8)) {
        for (int c = 0; c < 6; c++)
            to[c * n + i] = from[c * n + i];
        return;
    }
    const int step[3] = {1, size.x, size.x * size.y};
    places p;
    places_of_global(links, i, here, step, &p);
    float d[6], f[6], g[6], weights[6];
    for (int c = 0; c < 6; c++) {
        weights[c] = PAPER ? state[8 + c] : 1.0f;
        f[c] = data[c * n + i];
    }
    regulariser_global(from, n, i, &p, w, eps, weights, d, g);
    descend1(d, f, g, lambda, rate, floor);
    for (int c = 0; c < 6; c++)
        to[c * n + i] = d[c];
}

__kernel void tensor_tv_item(__global const float *from, __global const float *data,
                             __global const uchar *links, __global const float *state, int4 size, float4 w,
                             float lambda, float eps, float rate, float floor, __global float *to)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    step_voxel(from, data, links, state, (z * size.y + y) * size.x + x, size, w, lambda, eps, rate, floor,
               to);
}

#ifdef MARCHING
#include "tensor_tv_march.clh"
#endif

typedef struct masks8 {
    int8 ahead[3], behind[3], side[3][2];
} masks8;

/* Offsets of the rows beside, 0 where there is none. */
typedef struct rows8 {
    int y_next, y_before, z_next, z_before;
} rows8;

static inline void slopes_row(__global const float *d, const rows8 *r, const masks8 *m, float4 w,
                              slopes8 *s)
{
    float8 here = LOAD8(d), g, e, f, there;
    g = CUT(LOAD8(d + 1) - here, m->ahead[0]) * w.x;
    s->ahead = g * w.x;
    s->square[0] = g * g;
    g = CUT(LOAD8(d + r->y_next) - here, m->ahead[1]) * w.y;
    s->ahead += g * w.y;
    s->square[0] += g * g;
    g = CUT(LOAD8(d + r->z_next) - here, m->ahead[2]) * w.z;
    s->ahead += g * w.z;
    s->square[0] += g * g;
    there = LOAD8(d - 1);
    e = CUT(here - there, m->behind[0]) * w.x;
    f = CUT(LOAD8(d + r->y_next - 1) - there, m->side[0][0]) * w.y;
    g = CUT(LOAD8(d + r->z_next - 1) - there, m->side[0][1]) * w.z;
    s->behind[0] = e * w.x;
    s->square[1] = e * e + f * f + g * g;
    there = LOAD8(d + r->y_before);
    e = CUT(here - there, m->behind[1]) * w.y;
    f = CUT(LOAD8(d + r->y_before + 1) - there, m->side[1][0]) * w.x;
    g = CUT(LOAD8(d + r->y_before + r->z_next) - there, m->side[1][1]) * w.z;
    s->behind[1] = e * w.y;
    s->square[2] = e * e + f * f + g * g;
    there = LOAD8(d + r->z_before);
    e = CUT(here - there, m->behind[2]) * w.z;
    f = CUT(LOAD8(d + r->z_before + 1) - there, m->side[2][0]) * w.x;
    g = CUT(LOAD8(d + r->z_before + r->y_next) - there, m->side[2][1]) * w.y;
    s->behind[2] = e * w.z;
    s->square[3] = e * e + f * f + g * g;
}

/* Eighteen streams of memory are more than a processor follows by itself: each
 * line is asked for a little before it is needed. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define FETCH_SOON(p) __builtin_prefetch((const void *)(size_t)(p))
#else
#define FETCH_SOON(p)
#endif
#define AHEAD 96

__kernel void tensor_tv_row(__global const float *from, __global const float *data,
                            __global const uchar *links, __global const float *state, int4 size, float4 w,
                            float lambda, float eps, float rate, float floor, __global float *to)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, plane = size.x * size.y, row = z * plane + y * size.x;
    if (size.x < 8) {
        for (int x = 0; x < size.x; x++)
            step_voxel(from, data, links, state, row + x, size, w, lambda, eps, rate, floor, to);
        return;
    }
    rows8 r;
    r.y_next = y + 1 < size.y ? size.x : 0;
    r.y_before = y > 0 ? -size.x : 0;
    r.z_next = z + 1 < size.z ? plane : 0;
    r.z_before = z > 0 ? -plane : 0;
    for (int begin = 0; begin < size.x; begin += 8) {
        int x = min(begin, size.x - 8), i = row + x; /* the last may overlap the one before */
        if (i == 0 || i + 8 == n) { /* what lies before and behind the field is not there */
            for (int k = 0; k < 8; k++)
                step_voxel(from, data, links, state, i + k, size, w, lambda, eps, rate, floor, to);
            continue;
        }
        for (int c = 0; c < 6 && (x & 8); c++) {
            FETCH_SOON(from + c * n + min(i + AHEAD + r.z_next, n - 1));
            FETCH_SOON(data + c * n + min(i + AHEAD, n - 1));
            FETCH_SOON(to + c * n + min(i + AHEAD, n - 1));
        }
        int8 here = links8(links + i), there;
        masks8 m;
        m.ahead[0] = BIT(here, 1);
        m.ahead[1] = BIT(here, 2);
        m.ahead[2] = BIT(here, 4);
        m.behind[0] = BIT(here, 16);
        m.behind[1] = BIT(here, 32);
        m.behind[2] = BIT(here, 64);
        there = links8(links + i - 1);
        m.side[0][0] = BIT(there, 2);
        m.side[0][1] = BIT(there, 4);
        there = links8(links + i + r.y_before);
        m.side[1][0] = BIT(there, 1);
        m.side[1][1] = BIT(there, 4);
        there = links8(links + i + r.z_before);
        m.side[2][0] = BIT(there, 1);
        m.side[2][1] = BIT(there, 2);
        float8 d[6], f[6], g[6], by[4];
#if PAPER
        for (int c = 0; c < 6; c++) {
            slopes8 s;
            slopes_row(from + c * n + i, &r, &m, w, &s);
            for (int k = 0; k < 4; k++)
                by[k] = 1.0f / sqrt(s.square[k] + eps);
            g[c] = state[8 + c] * curvature8(s.ahead, s.behind, by);
        }
#else
        float8 ahead[6], behind[6][3];
        for (int k = 0; k < 4; k++)
            by[k] = (float8)(eps);
        for (int c = 0; c < 6; c++) {
            slopes8 s;
            slopes_row(from + c * n + i, &r, &m, w, &s);
            for (int k = 0; k < 4; k++)
                by[k] += COUNT(c) * s.square[k];
            ahead[c] = s.ahead;
            for (int a = 0; a < 3; a++)
                behind[c][a] = s.behind[a];
        }
        for (int k = 0; k < 4; k++)
            by[k] = 1.0f / sqrt(by[k]);
        for (int c = 0; c < 6; c++)
            g[c] = curvature8(ahead[c], behind[c], by);
#endif
        for (int c = 0; c < 6; c++) {
            d[c] = LOAD8(from + c * n + i);
            f[c] = LOAD8(data + c * n + i);
        }
        descend8(d, f, g, lambda, rate, floor);
        for (int c = 0; c < 6; c++)
            STORE8(select(LOAD8(from + c * n + i), d[c], BIT(here, 8)), to + c * n + i);
    }
}
