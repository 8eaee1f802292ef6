/* SPDX-License-Identifier: Apache-2.0 */
/* Total variation of tensor fields by explicit steps; formulas in
 * src/op/tensor/tv.h. PART says which kernels are built: steps by voxels or by
 * rows, sums by voxels or by rows. */
#define STEP_VOXEL 1
#define STEP_ROW 2
#define SUMS 3
#define SUMS_ROW 4
#ifndef PAPER
#define PAPER 0
#endif
#if PART == STEP_ROW || PART == SUMS_ROW
/* The widest vectors that a processor takes well, and the differences of so many voxels in a
 * row at once. What no link leads to is left out lane by lane, and so may be anything:
 * NaN, or the next row where a row ends. Rows beside the volume are the row itself. */

#include "common/field_row.clh"
#include "tensor/links.clh"

#ifdef __AVX512F__
#define WIDE 16
typedef float16 wide;
typedef int16 wide_int;
typedef uchar16 wide_links;
#define LANES ((int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
/* v moved on by a lane; the last of those before comes first. */
#define MOVED(before, v) ((float16)((before).sf, (v).s0, (v).s12, (v).s3456, (v).s789abcde))
#define TO_INTS(v) convert_int16(v)
/* Else the compiler takes such vectors apart. */
#define INLINED static inline __attribute__((always_inline, __min_vector_width__(512)))
#define WIDEST __attribute__((__min_vector_width__(512)))
#else
#define WIDE 8
typedef float8 wide;
typedef int8 wide_int;
typedef uchar8 wide_links;
#define LANES ((int8)(0, 1, 2, 3, 4, 5, 6, 7))
#define MOVED(before, v) ((float8)((before).s7, (v).s0, (v).s12, (v).s3456))
#define TO_INTS(v) convert_int8(v)
#define INLINED static inline __attribute__((always_inline))
#define WIDEST
#endif
#ifdef __clang__
typedef wide wide_anywhere __attribute__((aligned(4)));
typedef wide_int wide_int_anywhere __attribute__((aligned(4)));
typedef wide_links wide_links_anywhere __attribute__((aligned(1)));
#define LOAD_WIDE(p) (*(__global const wide_anywhere *)(p))
#define STORE_WIDE(v, p) (*(__global wide_anywhere *)(p) = (v))
#define GET_WIDE(p) (*(const wide_anywhere *)(p))
#define PUT_WIDE(v, p) (*(wide_anywhere *)(p) = (v))
#define GET_INTS(p) (*(const wide_int_anywhere *)(p))
#define LINKS_OF(p) (*(__global const wide_links_anywhere *)(p))
#else
#define LOAD_WIDE(p) vload8(0, p)
#define STORE_WIDE(v, p) vstore8(v, 0, p)
#define GET_WIDE(p) vload8(0, p)
#define PUT_WIDE(v, p) vstore8(v, 0, p)
#define GET_INTS(p) vload8(0, p)
#define LINKS_OF(p) vload8(0, p)
#endif

/* Past the cache, to an address that is a multiple of the vector's size: what a step makes is
 * read again a whole field later. */
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define STORE_PAST(v, p) __builtin_nontemporal_store(v, (__global wide *)(p))
#else
#define STORE_PAST(v, p) STORE_WIDE(v, p)
#endif

/* Which lanes have a link, as select takes them. */
#define HAS(here, bit) (((here) & (bit)) != 0)

/* The field's voxels, offsets to the neighbours of a row, 0 where there are none, and up to
 * which voxel on all lanes of it and of its neighbours lie in the field. */
typedef struct rows_beside {
    int n, y_next, z_next, reach;
} rows_beside;

INLINED void find_rows(int y, int z, int4 size, rows_beside *r)
{
    r->n = size.x * size.y * size.z;
    r->y_next = y + 1 < size.y ? size.x : 0;
    r->z_next = z + 1 < size.z ? size.x * size.y : 0;
    r->reach = r->n - WIDE - max(1, max(r->y_next, r->z_next));
}

/* Values of the lanes inside the field; the last voxel stands for the others. */
INLINED wide take_lanes(__global const float *d, int i, int n)
{
    float lane[WIDE];
    for (int j = 0; j < WIDE; j++)
        lane[j] = d[min(i + j, n - 1)];
    return GET_WIDE(lane);
}

/* all: whether i is within reach. */
INLINED wide take(__global const float *d, int i, int n, bool all)
{
    return all ? LOAD_WIDE(d + i) : take_lanes(d, i, n);
}

INLINED wide_int take_links(__global const uchar *links, int i, int n, bool all)
{
    if (all)
        return TO_INTS(LINKS_OF(links + i));
    int lane[WIDE];
    for (int j = 0; j < WIDE; j++)
        lane[j] = i + j < n ? links[min(i + j, n - 1)] : 0;
    return GET_INTS(lane);
}

/* Whether any of so many voxels is inside. */
INLINED bool any_links(__global const uchar *links, int i, bool all)
{
    if (!all)
        return true;
#if WIDE == 16
    ulong2 bits = as_ulong2(LINKS_OF(links + i));
    return (bits.x | bits.y) != 0;
#else
    return as_ulong(LINKS_OF(links + i)) != 0;
#endif
}

/* One entry and its differences ahead. */
INLINED void take_differences(__global const float *d, int i, wide_int here, const rows_beside *r, bool all,
                         wide *v, wide *x, wide *y, wide *z)
{
    *v = take(d, i, r->n, all);
    *x = select((wide)(0.0f), take(d, i + 1, r->n, all) - *v, HAS(here, LINK_X));
    *y = select((wide)(0.0f), take(d, i + r->y_next, r->n, all) - *v, HAS(here, LINK_Y));
    *z = select((wide)(0.0f), take(d, i + r->z_next, r->n, all) - *v, HAS(here, LINK_Z));
}
#endif

#if PART == STEP_VOXEL
/* A step, a voxel or a pair of voxels a work-item. Built with PAPER 0 (one norm
 * for all entries) or 1. */
#include "tensor/tv_voxel.clh"

/* One voxel's tensor after a step. */
static inline void step_voxel(__global const float *from, __global const float *data,
                              __global const uchar *links, __global const float *state, int i, int4 size,
                              float4 w, float lambda, float eps, float rate, float floor,
                              __global float *to)
{
    int n = size.x * size.y * size.z, here = links[i];
    if (!(here & INSIDE)) {
        for (int c = 0; c < 6; c++)
            to[c * n + i] = from[c * n + i];
        return;
    }
    const int step[3] = {1, size.x, size.x * size.y};
    places p;
    places_of(links, i, here, step, &p);
    float d[6], f[6], g[6], weights[6];
    for (int c = 0; c < 6; c++) {
        weights[c] = PAPER ? state[WEIGHTS + c] : 1.0f;
        f[c] = data[c * n + i];
    }
    regulariser(from, n, i, &p, w, eps, weights, d, g);
    for (int c = 0; c < 6; c++)
        g[c] += lambda * (d[c] - f[c]);
    descend1(d, g, rate, floor);
    for (int c = 0; c < 6; c++)
        to[c * n + i] = d[c];
}

__kernel void tensor_tv_item(__global const float *from, __global const float *data,
                             __global const uchar *links, __global const float *state,
                             int4 size, float4 w, float lambda, float eps, float rate, float floor,
                             __global float *to)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    step_voxel(from, data, links, state, (z * size.y + y) * size.x + x, size, w, lambda, eps, rate, floor,
               to);
}

/* ---- pairs --------------------------------------------------------------- */

/* ITEM_X = 2 voxels side by side share loads, and the norm of the first serves the
 * second too. With EVEN 1 all rows have an even length, so that pairs can be read
 * at once. */
#if EVEN
#define PAIR(p) (*(__global const float2 *)(p))
#define STORE_PAIR(v, p) (*(__global float2 *)(p) = (v))
#define TWO_LINKS(p) (*(__global const ushort *)(p))
#else
#define PAIR(p) ((float2)((p)[0], (p)[1]))
#define STORE_PAIR(v, p) ((p)[0] = (v).x, (p)[1] = (v).y)
#define TWO_LINKS(p) ((p)[0] | (p)[1] << 8)
#endif
#define BOTH(bits) ((bits) * 0x101)

/* From a pair to what lies beside it; 0 where nothing does (x_next: to the second voxel). */
typedef struct beside {
    int x_next, x_before, y_next, y_before, z_next, z_before;
} beside;

/* Whether no link lacks that the volume has room for, of the pair at i or of the voxels before
 * it along each axis, so that nothing but the volume's border is to be heeded. */
INLINED bool links_complete(__global const uchar *links, int i, const beside *b)
{
    int x = BOTH(INSIDE) | LINK_X | (b->x_next == 2 ? LINK_X << 8 : 0);
    int y = b->y_next ? BOTH(LINK_Y) : 0, z = b->z_next ? BOTH(LINK_Z) : 0;
    int back_y = b->y_before ? BOTH(LINK_Y) : 0, back_z = b->z_before ? BOTH(LINK_Z) : 0;
    int back = LINK_BACK_X << 8 | (b->x_before ? LINK_BACK_X : 0) | back_y << 4 | back_z << 4;
    return (((x | y | z | back) & ~TWO_LINKS(links + i)) |
            ((INSIDE | LINK_X | (y & LINK_Y) | (z & LINK_Z)) & ~links[i - b->x_before]) |
            ((x | back_y | z) & ~TWO_LINKS(links + i - b->y_before)) |
            ((x | y | back_z) & ~TWO_LINKS(links + i - b->z_before))) == 0;
}

/* The regulariser's part of G of two voxels, and their tensors. */
INLINED void regulariser_pair(__global const float *from, int n, int i, const beside *to, float4 square,
                              float eps, const float weights[6], float2 d[6], float2 g[6])
{
    /* Sums of squares of the pair and of the voxels before it along x, y and z. */
    float2 own = (float2)(eps), before_y = own, before_z = own, out_y[6], out_z[6];
    float before_x = eps, out_x[6], first_x[6];
#pragma unroll
    for (int c = 0; c < 6; c++) {
        __global const float *p = from + c * n + i, *py = p - to->y_before, *pz = p - to->z_before;
        float2 v = PAIR(p), x = (float2)(v.y, p[to->x_next]) - v, y = PAIR(p + to->y_next) - v;
        float2 z = PAIR(p + to->z_next) - v, length = square.x * x * x + square.y * y * y + square.z * z * z;
        float left = p[-to->x_before], back_x = v.x - left, side_y = p[to->y_next - to->x_before] - left;
        float side_z = p[to->z_next - to->x_before] - left;
        float length_x = square.x * back_x * back_x + square.y * side_y * side_y + square.z * side_z * side_z;
        float2 below = PAIR(py), back_y = v - below, over_x = (float2)(below.y, py[to->x_next]) - below;
        float2 over_z = PAIR(py + to->z_next) - below;
        float2 length_y = square.x * over_x * over_x + square.y * back_y * back_y +
                          square.z * over_z * over_z;
        float2 under = PAIR(pz), back_z = v - under, deep_x = (float2)(under.y, pz[to->x_next]) - under;
        float2 deep_y = PAIR(pz + to->y_next) - under;
        float2 length_z = square.x * deep_x * deep_x + square.y * deep_y * deep_y +
                          square.z * back_z * back_z;
        float2 ahead = square.x * x + square.y * y + square.z * z;
        d[c] = v;
#if PAPER
        float2 by = rsqrt(length + eps);
        float2 back = square.x * (float2)(back_x * rsqrt(length_x + eps), x.x * by.x) +
                      square.y * back_y * rsqrt(length_y + eps) + square.z * back_z * rsqrt(length_z + eps);
        g[c] = weights[c] * (back - ahead * by);
#else
        own += COUNT(c) * length;
        before_x += COUNT(c) * length_x;
        before_y += COUNT(c) * length_y;
        before_z += COUNT(c) * length_z;
        g[c] = ahead;
        out_x[c] = square.x * back_x;
        first_x[c] = square.x * x.x;
        out_y[c] = square.y * back_y;
        out_z[c] = square.z * back_z;
#endif
    }
#if !PAPER
    own = rsqrt(own);
    before_x = rsqrt(before_x);
    before_y = rsqrt(before_y);
    before_z = rsqrt(before_z);
#pragma unroll
    for (int c = 0; c < 6; c++)
        g[c] = (float2)(out_x[c] * before_x, first_x[c] * own.x) + out_y[c] * before_y + out_z[c] * before_z -
               g[c] * own;
#endif
}

__kernel void tensor_tv_pair(__global const float *from, __global const float *data,
                             __global const uchar *links, __global const float *state, int4 size, float4 w,
                             float lambda, float eps, float rate, float floor, __global float *to)
{
    int x = ITEM_X * get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x + x;
    beside b;
    b.x_next = x + 2 < size.x ? 2 : 1;
    b.x_before = x > 0 ? 1 : 0;
    b.y_next = y + 1 < size.y ? size.x : 0;
    b.y_before = y > 0 ? size.x : 0;
    b.z_next = z + 1 < size.z ? plane : 0;
    b.z_before = z > 0 ? plane : 0;
    if (x + 1 >= size.x || !links_complete(links, i, &b)) {
        for (int k = 0; k < ITEM_X && x + k < size.x; k++)
            step_voxel(from, data, links, state, i + k, size, w, lambda, eps, rate, floor, to);
        return;
    }
    float2 d[6], f[6], g[6];
    float weights[6], first[6], second[6], gradient[6];
#pragma unroll
    for (int c = 0; c < 6; c++) {
        weights[c] = PAPER ? state[WEIGHTS + c] : 1.0f;
        f[c] = PAIR(data + c * n + i);
    }
    regulariser_pair(from, n, i, &b, w * w, eps, weights, d, g);
#pragma unroll
    for (int c = 0; c < 6; c++) {
        g[c] += lambda * (d[c] - f[c]);
        first[c] = d[c].x;
        second[c] = d[c].y;
        gradient[c] = g[c].x;
    }
    descend1(first, gradient, rate, floor);
#pragma unroll
    for (int c = 0; c < 6; c++)
        gradient[c] = g[c].y;
    descend1(second, gradient, rate, floor);
#pragma unroll
    for (int c = 0; c < 6; c++) {
        float2 both = (float2)(first[c], second[c]);
        STORE_PAIR(both, to + c * n + i);
    }
}

#elif PART == STEP_ROW
/* A step, a work-item ITEM_Y rows of ITEM_Z planes. What flows out of a voxel along an axis, its difference
 * over its norm, flows into the next: flows are found once, from the row and the plane
 * before the block on, and kept until they are needed, along x in a register, along y for a
 * row, along z for a plane. Flows are 0 where no link leads. Long rows are taken in stretches,
 * as long as may be: processors read ahead along rows. */
/* all(), which some compilers take lane by lane. */
#if WIDE == 16
#define ALL(c) ALL16(convert_char16(c))
#define ALL16(c) ((as_ulong((c).lo) & as_ulong((c).hi)) == 0xfffffffffffffffful)
#else
#define ALL(c) (as_ulong(convert_char8(c)) == 0xfffffffffffffffful)
#endif
#define ONE_BY_ROOT(v) (1.0f / sqrt(v))
#define ROOT(v) sqrt(v)
#define REAL wide
#define FN(name) name##_wide
#include "tensor/tv.clh"

#define STRETCH 256
/* Flows of a row, those of the six entries side by side, with room for the voxels before. */
#define KEPT (6 * (STRETCH + WIDE))

typedef wide six[6];

/* Tensors v and G of so many voxels from i on. last: the flows along x of the voxels before,
 * then of these; along_y, along_z: the flows into them, then out of them. */
INLINED void gradient_down(__global const float *from, __global const float *data, int i, wide_int here,
                        const rows_beside *r, bool all, float4 square, float eps, const float weights[6],
                        float lambda, float *last, float *along_y, float *along_z, six v, six g)
{
    six x, y, z;
    wide by = (wide)(eps);
#pragma unroll
    for (int c = 0; c < 6; c++) {
        wide dx, dy, dz;
        take_differences(from + c * r->n, i, here, r, all, &v[c], &dx, &dy, &dz);
        x[c] = square.x * dx;
        y[c] = square.y * dy;
        z[c] = square.z * dz;
        wide length = x[c] * dx + y[c] * dy + z[c] * dz;
#if PAPER
        by = weights[c] * ONE_BY_ROOT(length + eps);
        x[c] *= by;
        y[c] *= by;
        z[c] *= by;
#else
        by += COUNT(c) * length;
#endif
    }
#if !PAPER
    by = ONE_BY_ROOT(by);
#endif
#pragma unroll
    for (int c = 0; c < 6; c++) {
#if !PAPER
        x[c] *= by;
        y[c] *= by;
        z[c] *= by;
#endif
        g[c] = lambda * (v[c] - take(data + c * r->n, i, r->n, all)) +
               (MOVED(GET_WIDE(last + c * WIDE), x[c]) - x[c]) + (GET_WIDE(along_y + c * WIDE) - y[c]) +
               (GET_WIDE(along_z + c * WIDE) - z[c]);
        PUT_WIDE(x[c], last + c * WIDE);
        PUT_WIDE(y[c], along_y + c * WIDE);
        PUT_WIDE(z[c], along_z + c * WIDE);
    }
}

/* The same where no voxel is inside. */
INLINED void pass_by(__global const float *from, int i, int n, float *last, float *along_y, float *along_z,
                     six v)
{
#pragma unroll
    for (int c = 0; c < 6; c++) {
        v[c] = LOAD_WIDE(from + c * n + i);
        PUT_WIDE((wide)(0.0f), last + c * WIDE);
        PUT_WIDE((wide)(0.0f), along_y + c * WIDE);
        PUT_WIDE((wide)(0.0f), along_z + c * WIDE);
    }
}

/* The tensors take a step; those outside stay. */
INLINED void descend_inside(wide_int here, float rate, float floor, const six g, six v)
{
    wide_int inside = HAS(here, INSIDE);
    six d;
#pragma unroll
    for (int c = 0; c < 6; c++) /* outside the unit matrix, which is no work */
        d[c] = select((wide)(COUNT(c) < 1.5f ? 1.0f : 0.0f), v[c], inside);
    descend_wide(d, g, rate, floor);
#pragma unroll
    for (int c = 0; c < 6; c++)
        v[c] = select(v[c], d[c], inside);
}

/* count: how many of the voxels there are; aligned: whether all rows begin where vectors may. */
INLINED void store_six(const six v, int count, int n, bool aligned, __global float *to)
{
#pragma unroll
    for (int c = 0; c < 6; c++) {
        if (aligned) {
            STORE_PAST(v[c], to + c * n);
        } else if (count >= WIDE) {
            STORE_WIDE(v[c], to + c * n);
        } else {
            float lane[WIDE];
            PUT_WIDE(v[c], lane);
            for (int j = 0; j < count; j++)
                to[c * n + j] = lane[j];
        }
    }
}

INLINED void clear(float *row, int count)
{
    for (int k = 0; k < count; k += WIDE)
        PUT_WIDE((wide)(0.0f), row + k);
}

__kernel WIDEST void tensor_tv_row(__global const float *from, __global const float *data,
                                   __global const uchar *links, __global const float *state,
                                   int4 size, float4 w, float lambda, float eps, float rate, float floor,
                                   __global float *to)
{
    int y0 = get_global_id(1) * ITEM_Y, z0 = get_global_id(2) * ITEM_Z;
    int y1 = min(y0 + ITEM_Y, size.y), z1 = min(z0 + ITEM_Z, size.z);
    float4 square = w * w;
    float last[6 * WIDE], along_y[KEPT], along_z[(ITEM_Y + 1) * KEPT], weights[6];
    rows_beside r;
    bool aligned = size.x % WIDE == 0 && (size_t)to % sizeof(wide) == 0;
    for (int c = 0; c < 6; c++)
        weights[c] = PAPER ? state[WEIGHTS + c] : 1.0f;
    for (int x0 = 0; x0 < size.x; x0 += STRETCH) {
        int count = min(STRETCH, size.x - x0);
        if (z0 == 0)
            clear(along_z, (ITEM_Y + 1) * KEPT);
        for (int z = max(z0 - 1, 0); z < z1; z++) {
            if (y0 == 0)
                clear(along_y, KEPT);
            for (int y = max(y0 - 1, 0); y < y1; y++) {
                int start = (z * size.y + y) * size.x + x0;
                float *row_z = along_z + (y - y0 + 1) * KEPT + 6 * WIDE;
                if (z < z0 && y < y0)
                    continue;
                find_rows(y, z, size, &r);
                clear(last, 6 * WIDE);
                for (int k = x0 > 0 ? -WIDE : 0; k < count; k += WIDE) {
                    int i = start + k;
                    bool before = z < z0 || y < y0 || k < 0, all = i <= r.reach;
                    /* Voxels before the block need only flows, no data. */
                    __global const float *f = before ? from : data;
                    float *here_y = along_y + 6 * (WIDE + k), *here_z = row_z + 6 * k;
                    wide_int here = take_links(links, i, r.n, all);
                    six v, g;
                    if (!any_links(links, i, all)) {
                        pass_by(from, i, r.n, last, here_y, here_z, v);
                        if (!before)
                            store_six(v, count - k, r.n, aligned, to + i);
                        continue;
                    }
                    if (all)
                        gradient_down(from, f, i, here, &r, true, square, eps, weights, lambda, last, here_y,
                                   here_z, v, g);
                    else
                        gradient_down(from, f, i, here, &r, false, square, eps, weights, lambda, last, here_y,
                                   here_z, v, g);
                    if (before)
                        continue;
                    descend_inside(here, rate, floor, g, v);
                    store_six(v, count - k, r.n, aligned, to + i);
                }
            }
        }
    }
}

#else
/* Total variations of the six entries of a tensor field, and its energy, in two
 * launches of fixed order. Eight sums: six of TV[d_ij] and, with DATA, the shared
 * norm and |d - f|^2 over all nine entries; PAPER says whose energy is wanted. */
#include "tensor/entries.clh"
#include "tensor/links.clh"
#ifndef DATA
#define DATA 0
#endif

#if PART == SUMS_ROW
INLINED float total_of(wide v)
{
#if WIDE == 16
    float8 eight = v.lo + v.hi;
#else
    float8 eight = v;
#endif
    float4 four = eight.lo + eight.hi;
    float2 two = four.lo + four.hi;
    return two.x + two.y;
}

/* Adds the voxels inside among so many from i on. */
INLINED void add_entries(__global const float *d, __global const float *f, int i, wide_int here,
                         const rows_beside *r, bool all, float4 square, float eps, wide sum[8])
{
    wide_int inside = HAS(here, INSIDE);
#if DATA
    wide shared = (wide)(eps);
#endif
#pragma unroll
    for (int c = 0; c < 6; c++) {
        wide v, x, y, z;
        take_differences(d + c * r->n, i, here, r, all, &v, &x, &y, &z);
        wide length = square.x * x * x + square.y * y * y + square.z * z * z;
        sum[c] += select((wide)(0.0f), sqrt(length + eps), inside);
#if DATA
        shared += COUNT(c) * length;
        wide e = select((wide)(0.0f), v - take(f + c * r->n, i, r->n, all), inside);
        sum[7] += COUNT(c) * e * e;
#endif
    }
#if DATA
    sum[6] += select((wide)(0.0f), sqrt(shared), inside);
#endif
}

/* A work-item a chunk of rows, of GROUP_X voxels at least. */
__kernel WIDEST void tensor_tv_sums_rows(__global const float *d, __global const float *f,
                                         __global const uchar *links, int4 size, float4 w, float eps,
                                         __global float *partial)
{
    int rows = size.y * size.z, groups = get_num_groups(0), chunk = (rows + groups - 1) / groups;
    int first = min((int)get_group_id(0) * chunk, rows), end = first + min(chunk, rows - first);
    float4 square = w * w;
    wide sum[8];
    rows_beside r;
#pragma unroll
    for (int s = 0; s < 8; s++)
        sum[s] = (wide)(0.0f);
    for (int row = first; row < end; row++) {
        int z = row / size.y;
        find_rows(row - z * size.y, z, size, &r);
        for (int x = 0; x < size.x; x += WIDE) {
            int i = row * size.x + x;
            bool all = i <= r.reach;
            if (!any_links(links, i, all))
                continue;
            wide_int here = select((wide_int)(0), take_links(links, i, r.n, all), LANES < size.x - x);
            if (all)
                add_entries(d, f, i, here, &r, true, square, eps, sum);
            else
                add_entries(d, f, i, here, &r, false, square, eps, sum);
        }
    }
#pragma unroll
    for (int s = 0; s < 8; s++)
        partial[8 * get_group_id(0) + s] = total_of(sum[s]);
}
#else
#include "common/field_row.clh"
#include "common/group_reduce.clh"

#define INLINED static inline __attribute__((always_inline))

static inline void add_voxel(__global const float *d, __global const float *f, int here, int i, int4 size,
                             float4 w, float eps, float sum[8])
{
    int n = size.x * size.y * size.z;
    int x = i + (here & LINK_X ? 1 : 0), y = i + (here & LINK_Y ? size.x : 0);
    int z = i + (here & LINK_Z ? size.x * size.y : 0);
#if DATA
    float shared = eps;
#endif
    if (!(here & INSIDE))
        return;
#pragma unroll
    for (int c = 0; c < 6; c++, d += n) {
        float v = d[i], gx = w.x * (d[x] - v), gy = w.y * (d[y] - v), gz = w.z * (d[z] - v);
        float square = gx * gx + gy * gy + gz * gz;
        sum[c] += sqrt(square + eps);
#if DATA
        shared += COUNT(c) * square;
        float e = v - f[c * n + i];
        sum[7] += COUNT(c) * e * e;
#endif
    }
#if DATA
    sum[6] += sqrt(shared);
#endif
}

#define ONLY(v, bit) select((float4)(0.0f), v, (here & (bit)) != 0)

/* All links of four voxels ahead but the last one's along x, which an index does without. */
#define ALL_OF_FOUR 0x0e0f0f0fu

/* Four voxels of a row. square: the differences' weights, squared; x, y, z: where the last
 * one's next and the rows ahead begin; full: that no link lacks but for the last one's along x. */
INLINED void add_entries(__global const float *d, __global const float *f, int i, int x, int y, int z, int n,
                         int4 here, bool full, float4 square, float eps, float sum[8])
{
    float4 one = full ? (float4)(1.0f) : ONLY((float4)(1.0f), INSIDE);
#if DATA
    float4 shared = (float4)(eps);
#endif
#pragma unroll
    for (int c = 0; c < 6; c++, d += n) {
        float4 v = *(__global const float4 *)(d + i);
        float4 gx = (float4)(v.yzw, d[x]) - v;
        float4 gy = *(__global const float4 *)(d + y) - v;
        float4 gz = *(__global const float4 *)(d + z) - v;
        if (!full) {
            gx = ONLY(gx, LINK_X);
            gy = ONLY(gy, LINK_Y);
            gz = ONLY(gz, LINK_Z);
        }
        float4 length = square.x * gx * gx + square.y * gy * gy + square.z * gz * gz, more = length + eps;
        sum[c] += dot(more * rsqrt(more), one);
#if DATA
        shared += COUNT(c) * length;
        float4 e = v - *(__global const float4 *)(f + c * n + i);
        if (!full)
            e = ONLY(e, INSIDE);
        sum[7] += COUNT(c) * dot(e, e);
#endif
    }
#if DATA
    sum[6] += dot(sqrt(shared), one);
#endif
}

/* The same where the row begins at a multiple of four, as all then do. */
static inline void add_four(__global const float *d, __global const float *f, __global const uchar *links,
                            int i, int4 size, float4 square, float eps, float sum[8])
{
    int n = size.x * size.y * size.z;
    uint bits = *(__global const uint *)(links + i);
    int4 here = convert_int4(as_uchar4(bits));
    int all = here.x | here.y | here.z | here.w;
    int x = i + (here.w & LINK_X ? 4 : 3), y = i + (all & LINK_Y ? size.x : 0);
    int z = i + (all & LINK_Z ? size.x * size.y : 0);
    if ((bits & ALL_OF_FOUR) == ALL_OF_FOUR)
        add_entries(d, f, i, x, y, z, n, here, true, square, eps, sum);
    else if (all & INSIDE)
        add_entries(d, f, i, x, y, z, n, here, false, square, eps, sum);
}

/* A work-group a chunk of voxels, of GROUP_X at least and a multiple of four, which
 * are read at once. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
tensor_tv_sums_groups(__global const float *d, __global const float *f, __global const uchar *links,
                      int4 size, float4 w, float eps, __global float *partial)
{
    __local float shared[8 * TILE_X];
    int lane = get_local_id(0), n = size.x * size.y * size.z;
    int groups = get_num_groups(0), chunk = max(((n + groups - 1) / groups + 3) / 4 * 4, GROUP_X);
    int first = min((int)get_group_id(0) * chunk, n), end = first + min(chunk, n - first);
    float sum[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    if (size.x % 4 == 0)
        for (int i = first + 4 * lane; i < end; i += 4 * TILE_X)
            add_four(d, f, links, i, size, w * w, eps, sum);
    else
        for (int i = first + lane; i < end; i += TILE_X)
            add_voxel(d, f, links[i], i, size, w, eps, sum);
    group_sums(sum, 8, lane, TILE_X, shared);
    if (lane < 8)
        partial[8 * get_group_id(0) + lane] = shared[lane * TILE_X];
}

/* From the eight sums to their places in the state. */
static inline void finish(__global float *state, const float *sum, float lambda)
{
    float square = 0.0f;
    for (int c = 0; c < 6; c++)
        square += COUNT(c) * sum[c] * sum[c];
    float total = sqrt(square), data = 0.5f * lambda * sum[7];
    for (int c = 0; c < 6; c++) {
        state[SUM + c] = sum[c];
        state[WEIGHTS + c] = total > 0.0f ? sum[c] / total : 0.0f;
    }
    state[TOTAL] = total;
    state[SHARED] = sum[6];
    state[FIT] = data;
    state[ENERGY] = (PAPER ? total : sum[6]) + data;
}

/* Eight lanes a strip of the partial sums. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
tensor_tv_last_group(__global const float *partial, int count, float lambda, __global float *state)
{
    __local float shared[TILE_X];
    int lane = get_local_id(0);
    float sum = 0.0f;
    for (int i = lane; i < 8 * count; i += TILE_X)
        sum += partial[i];
    shared[lane] = sum;
    group_fold(shared, 1, lane, TILE_X, 8);
    if (lane == 0) {
        float all[8];
        for (int s = 0; s < 8; s++)
            all[s] = shared[s];
        finish(state, all, lambda);
    }
}

__kernel void tensor_tv_last_item(__global const float *partial, int count, float lambda,
                                  __global float *state)
{
    float8 sum = 0.0f;
    float all[8];
    for (int i = 0; i < count; i++)
        sum += LOAD8(partial + 8 * i);
    PUT8(sum, all);
    finish(state, all, lambda);
}
#endif

#endif
