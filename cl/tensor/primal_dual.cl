/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields by the primal-dual algorithm of Chambolle
 * and Pock (2011, algorithm 2). Tensors are six planes xx xy xz yy yz zz, duals
 * 18 planes (component by component, its three differences). The entries beside
 * the diagonal count twice in every norm, so that norms are those of the nine.
 *
 * Voxels are worked on in the order in which they lie, WIDE at a time. links
 * (of cl/tensor/links.cl) says with a bit for each axis which forward
 * differences exist; duals are zero where they do not, so that the adjoint needs
 * no tests; bit 8: inside. */
#include "common/eigen.clh"
#include "common/field_row.clh"
#include "common/group_reduce.clh"
#include "tensor/entries.clh"
#include "tensor/links.clh"

#ifndef WIDE
#define WIDE 1
#endif
#ifndef PAPER
#define PAPER 0
#endif
#ifndef WHOLE
#define WHOLE 0
#endif

#if WIDE == 8
typedef float8 real;
typedef int8 whole;
typedef eigen8 eigen;
#define EIGEN eigen_8
#define EIGEN_COMPOSE_OF eigen_compose_8
#define ANY(w) any(w)
#else
typedef float real;
typedef int whole;
typedef eigen1 eigen;
#define EIGEN eigen_1
#define EIGEN_COMPOSE_OF eigen_compose_1
#define ANY(w) ((w) != 0)
#endif

#ifndef INLINED
#define INLINED static inline __attribute__((always_inline))
#endif

/* p[i] to p[i + WIDE - 1], 0 for those that are not among the first n. */
static inline real get(__global const float *p, int i, int n)
{
#if WIDE == 8
    if (i >= 0 && i + 8 <= n)
        return LOAD8(p + i);
    real v = 0.0f;
    if (i > -8 && i < n) {
        float lane[8];
        for (int k = 0; k < 8; k++)
            lane[k] = i + k >= 0 && i + k < n ? p[i + k] : 0.0f;
        v = GET8(lane);
    }
    return v;
#else
    return i >= 0 && i < n ? p[i] : 0.0f;
#endif
}

static inline void put(real v, __global float *p, int i, int n)
{
#if WIDE == 8
    if (i + 8 <= n) {
        STORE8(v, p + i);
    } else {
        float lane[8];
        PUT8(v, lane);
        for (int k = 0; i + k < n; k++)
            p[i + k] = lane[k];
    }
#else
    p[i] = v;
#endif
}

static inline whole bits_at(__global const uchar *links, int i, int n)
{
#if WIDE == 8
    if (i + 8 <= n)
        return convert_int8(vload8(0, links + i));
    int lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = i + k < n ? links[i + k] : 0;
    return (int8)(lane[0], lane[1], lane[2], lane[3], lane[4], lane[5], lane[6], lane[7]);
#else
    return links[i];
#endif
}

/* The forward difference to the voxel `off` further on, 0 where there is none. */
static inline real forward(__global const float *u, real here, int i, int off, int n, whole link)
{
    return select((real)(0.0f), get(u, i + off, n) - here, link != 0);
}

/* Minus the adjoint of the differences: w_a (p_a - p_a one voxel before), of
 * voxels below n. */
static inline real divergence(__global const float *p, int i, int n, int4 size, float4 w)
{
    return w.x * (get(p, i, n) - get(p, i - 1, n)) +
           w.y * (get(p + size.w, i, n) - get(p + size.w, i - size.x, n)) +
           w.z * (get(p + 2 * size.w, i, n) - get(p + 2 * size.w, i - size.y, n));
}

/* The nearest matrix whose eigenvalues are not below `least`, of what is `inside`. Most are that
 * already, which Sylvester's test tells at little cost. */
static inline void project(real d[6], float least, whole inside)
{
    real a = d[0] - least, b = d[1], c = d[2], e = d[3] - least, f = d[4], g = d[5] - least;
    real two = a * e - b * b, three = a * (e * g - f * f) - b * (b * g - c * f) + c * (b * f - c * e);
    whole low = inside & ((a <= 0.0f) | (two <= 0.0f) | (three <= 0.0f));
    if (!ANY(low))
        return;
    eigen v = EIGEN(d[0], d[1], d[2], d[3], d[4], d[5]);
    real raised[6];
    EIGEN_COMPOSE_OF(&v, fmax(v.l1, (real)(least)), fmax(v.l2, (real)(least)), fmax(v.l3, (real)(least)), raised);
#pragma unroll
    for (int k = 0; k < 6; k++)
        d[k] = select(d[k], raised[k], low);
}

/* ---- once --------------------------------------------------------------- */

/* The logarithm (back 0; eigenvalues below `least` count as that) or the
 * exponential (back 1) of each matrix inside; the others stay. */
__kernel void tensor_log(__global float *tensor, __global const uchar *links, int n, float least, int back)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i += WIDE) {
        whole inside = (bits_at(links, i, n) & INSIDE) != 0;
        if (!ANY(inside))
            continue;
        real d[6], made[6], p, q, r;
#pragma unroll
        for (int c = 0; c < 6; c++)
            d[c] = get(tensor + c * n, i, n);
        eigen v = EIGEN(d[0], d[1], d[2], d[3], d[4], d[5]);
        if (back) {
            p = exp(v.l1);
            q = exp(v.l2);
            r = exp(v.l3);
        } else {
            p = log(fmax(v.l1, (real)(least)));
            q = log(fmax(v.l2, (real)(least)));
            r = log(fmax(v.l3, (real)(least)));
        }
        EIGEN_COMPOSE_OF(&v, p, q, r, made);
#pragma unroll
        for (int c = 0; c < 6; c++)
            put(select(d[c], made[c], inside), tensor + c * n, i, n);
    }
}

/* Scales what lies inside by `times`, into another field or the same. */
__kernel void tensor_inside(__global const float *from, __global const uchar *links, int n, float times,
                            __global float *to)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++)
        if (links[i] & INSIDE)
            for (int c = 0; c < 6; c++)
                to[c * n + i] = times * from[c * n + i];
}

/* ---- an iteration ------------------------------------------------------- */

/* p <- projection of p + sigma K ahead: into the unit ball of all 18 (local) or,
 * where voxels have radii of their own, the ball of the voxel's, or of each
 * component's three into a ball of radius state[c], the six radii themselves of
 * length 1. size: voxels of a row, of a plane, of all, and from one plane of the
 * dual to the next. step: sigma w_a. */
INLINED void dual_at(int i, __global const float *ahead, whole bits, int4 size, float4 step,
                     __global const float *state, __global const float *radius, __global float *dual)
{
    int n = size.z;
    real q[18], length = 0.0f;
#pragma unroll
    for (int c = 0; c < 6; c++) {
        __global const float *u = ahead + c * n, *p = dual + 3 * c * size.w;
        real here = get(u, i, n);
        q[3 * c] = get(p, i, n) + step.x * forward(u, here, i, 1, n, bits & LINK_X);
        q[3 * c + 1] = get(p + size.w, i, n) + step.y * forward(u, here, i, size.x, n, bits & LINK_Y);
        q[3 * c + 2] = get(p + 2 * size.w, i, n) + step.z * forward(u, here, i, size.y, n, bits & LINK_Z);
        real square = q[3 * c] * q[3 * c] + q[3 * c + 1] * q[3 * c + 1] + q[3 * c + 2] * q[3 * c + 2];
#if PAPER
        real inside = fmin((real)(1.0f), state[c] * rsqrt(COUNT(c) * square));
        for (int a = 0; a < 3; a++)
            q[3 * c + a] *= inside;
#else
        length += COUNT(c) * square;
#endif
    }
#if !PAPER
    real shorter = rsqrt(length);
    if (radius)
        shorter *= get(radius, i, n);
    shorter = fmin((real)(1.0f), shorter);
#pragma unroll
    for (int k = 0; k < 18; k++)
        q[k] *= shorter;
#endif
#pragma unroll
    for (int k = 0; k < 18; k++)
        put(q[k], dual + k * size.w, i, n);
}

/* u <- projection of (u - tau K^T p + tau lambda data) / (1 + tau lambda), and
 * ahead = u + theta (u - u before), where bits are not 0. step: tau w_a; rest: tau lambda / (1 + tau
 * lambda), theta, and the least eigenvalue, below 0 for no projection. */
INLINED void primal_at(int i, whole bits, __global const float *dual, __global const float *data,
                       int4 size, float4 step, float4 rest, __global float *u, __global float *ahead)
{
    int n = size.z;
    real old[6], d[6];
#pragma unroll
    for (int c = 0; c < 6; c++) {
        old[c] = get(u + c * n, i, n);
        d[c] = old[c] + divergence(dual + 3 * c * size.w, i, n, size, step);
        d[c] += rest.x * (get(data + c * n, i, n) - d[c]);
    }
    if (rest.z >= 0.0f)
        project(d, rest.z, bits != 0);
#pragma unroll
    for (int c = 0; c < 6; c++) {
        d[c] = select(old[c], d[c], bits != 0);
        put(d[c], u + c * n, i, n);
        put(d[c] + rest.y * (d[c] - old[c]), ahead + c * n, i, n);
    }
}

__kernel void tensor_pd_dual(__global const float *ahead, __global const uchar *links, int4 size, float4 step,
                             __global const float *state, __global const float *radius,
                             __global float *dual)
{
    int n = size.z, first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i += WIDE) {
        whole bits = bits_at(links, i, n);
        if (ANY((bits & LINKS_AHEAD) != 0))
            dual_at(i, ahead, bits, size, step, state, radius, dual);
    }
}

__kernel void tensor_pd_primal(__global const float *dual, __global const float *data,
                               __global const uchar *links, int4 size, float4 step, float4 rest,
                               __global float *u, __global float *ahead)
{
    int n = size.z, first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i += WIDE) {
        whole bits = bits_at(links, i, n);
        if (ANY(bits != 0))
            primal_at(i, bits, dual, data, size, step, rest, u, ahead);
    }
}

/* ---- edges, and energies ------------------------------------------------ */

/* contrast / (contrast + |grad u|_F): the radius of a voxel's dual is its share of
 * the total variation. */
__kernel void tensor_pd_radius(__global const float *u, __global const uchar *links, int4 size, float4 w,
                               float contrast, __global float *radius)
{
    int n = size.z, first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i += WIDE) {
        whole bits = bits_at(links, i, n);
        real all = 0.0f;
        for (int c = 0; c < 6; c++) {
            __global const float *v = u + c * n;
            real here = get(v, i, n);
            real x = w.x * forward(v, here, i, 1, n, bits & LINK_X);
            real y = w.y * forward(v, here, i, size.x, n, bits & LINK_Y);
            real z = w.z * forward(v, here, i, size.y, n, bits & LINK_Z);
            all += COUNT(c) * (x * x + y * y + z * z);
        }
        put(contrast / (contrast + sqrt(all)), radius, i, n);
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

/* For each work-group: the total variation of each component (the square root
 * of 2 times that of those that count twice), and, with WHOLE, that of all
 * together (times the voxels' radii, where they have some), 1/2 |u - data|^2, and what the
 * voxels add to the dual energy. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void tensor_pd_sums(__global const float *u, __global const float *data, __global const float *dual,
                    __global const float *radius, __global const uchar *links, int4 size, float4 w,
                    float lambda, float least, __global float *partial)
{
    int n = size.z, item = get_local_id(0), group = get_group_id(0), groups = get_num_groups(0);
    int runs = (n + WIDE - 1) / WIDE, each = (runs + groups - 1) / groups * WIDE;
    int first = min(group * each, n), last = min(first + each, n);
    real sum[SUMS], lost[SUMS];
    for (int k = 0; k < SUMS; k++)
        sum[k] = lost[k] = 0.0f;
    for (int i = first + item * WIDE; i < last; i += TILE_X * WIDE) {
        whole bits = bits_at(links, i, n);
        if (!ANY(bits != 0))
            continue;
        real all = 0.0f;
#pragma unroll
        for (int c = 0; c < 6; c++) {
            __global const float *v = u + c * n;
            real here = get(v, i, n);
            real x = w.x * forward(v, here, i, 1, n, bits & LINK_X);
            real y = w.y * forward(v, here, i, size.x, n, bits & LINK_Y);
            real z = w.z * forward(v, here, i, size.y, n, bits & LINK_Z);
            real square = COUNT(c) * (x * x + y * y + z * z);
            add(&sum[c], &lost[c], sqrt(square));
            all += square;
        }
#if WHOLE
        real best[6], fit = 0.0f, bound = 0.0f;
        all = sqrt(all);
        if (radius)
            all *= get(radius, i, n);
        add(&sum[6], &lost[6], all);
#pragma unroll
        for (int c = 0; c < 6; c++) {
            real f = get(data + c * n, i, n), r = get(u + c * n, i, n) - f;
            fit += 0.5f * COUNT(c) * r * r;
            best[c] = f + divergence(dual + 3 * c * size.w, i, n, size, w) / lambda;
        }
        whole in = bits != 0;
        if (least >= 0.0f)
            project(best, least, in);
#pragma unroll
        for (int c = 0; c < 6; c++) {
            real r = best[c] - get(data + c * n, i, n);
            real flux = divergence(dual + 3 * c * size.w, i, n, size, w);
            bound += COUNT(c) * (0.5f * lambda * r * r - best[c] * flux);
        }
        add(&sum[7], &lost[7], select((real)(0.0f), fit, in));
        add(&sum[8], &lost[8], select((real)(0.0f), bound, in));
#endif
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

/* Adds the groups into state[6...]; state[0...5] becomes the unit vector of the
 * first six, and stays as it is where they are all 0. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void tensor_pd_total(__global const float *partial, int groups, __global float *state)
{
    __local float cell[SUMS * TILE_X];
    int item = get_local_id(0);
    float sum[SUMS];
    for (int k = 0; k < SUMS; k++)
        sum[k] = 0.0f;
    for (int g = item; g < groups; g += TILE_X)
        for (int k = 0; k < SUMS; k++)
            sum[k] += partial[g * SUMS + k];
    group_sums(sum, SUMS, item, TILE_X, cell);
    if (item == 0) {
        float square = 0.0f;
        for (int k = 0; k < SUMS; k++) {
            sum[k] = cell[k * TILE_X];
            state[6 + k] = sum[k];
            square += k < 6 ? sum[k] * sum[k] : 0.0f;
        }
        for (int k = 0; k < 6 && square > 0.0f; k++)
            state[k] = sum[k] / sqrt(square);
    }
}
