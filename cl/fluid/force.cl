/* SPDX-License-Identifier: Apache-2.0 */
/* The unbiased force. PENALTY: lambda is not 0. MASK: there is a mask, which
 * is known when the kernel is built: a test in it costs 9% on an H200. */
#include "fluid/flux.clh"
#include "fluid/residual_row.clh"

DEFINE_FLUX(global_flux, __global, load_vec1)

/* No local memory: for devices that have none to speak of. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_direct(FORCE_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x + x;
    vec1 f = IMAGE_FORCE(load_vec1(u, i, n), x, y, z, i);
#if PENALTY
    f = plus1(f, global_flux_divergence(u, i, n, x, y, z, size.x, size.x * size.y, size, inverse,
                                     lambda), 1.0f);
#endif
    store_vec(f, force, i, n);
}

/* Reuse (Lee et al. 2012, 3.1.1): each work-item walks up a column of MARCH
 * planes and computes the fluxes of each of its voxels once; those along x and
 * y go to local memory for the neighbours, those along z stay in registers.
 * The outermost work-items of the tile compute fluxes only: the tile gives
 * GROUP_X GROUP_Y values a plane. Two buffers of local memory: one barrier a
 * plane suffices. */
#define PLANE (TILE_X * TILE_Y)

/* A flux times its difference's weight goes to the voxel after and, subtracted,
 * to the voxel before; beyond a border counts minus the border's. u above the
 * plane takes the place of u below it, and the next plane is the other buffer's. */
#define CLIMB(BUFFER, BELOW, HERE)                                                                        \
    {                                                                                                     \
        vec1 low = BELOW, high = load_vec1(u, k < size.z - 1 ? i + plane : i, n);                         \
        BELOW = high;                                                                                     \
        vec1 ax = difference1(load_vec1(u, i + ex.low, n), load_vec1(u, i + ex.high, n), ex.weight);      \
        vec1 ay = difference1(load_vec1(u, i + ey.low, n), load_vec1(u, i + ey.high, n), ey.weight);      \
        float wz = difference_scale(k, size.z, inverse.z);                                                \
        vec1 az = difference1(low, high, wz);                                                             \
        ax.x += 1.0f;                                                                                     \
        ay.y += 1.0f;                                                                                     \
        az.z += 1.0f;                                                                                     \
        vec1 g = cross1(ay, az);                                                                          \
        float rate = -lambda * penalty_derivative1(dot1(ax, g)), rx = rate * sx, ry = rate * sy;          \
        __local float *f = flux + BUFFER * 6 * PLANE + item;                                              \
        f[0] = g.x * rx;                                                                                  \
        f[PLANE] = g.y * rx;                                                                              \
        f[2 * PLANE] = g.z * rx;                                                                          \
        g = cross1(az, ax);                                                                               \
        f[3 * PLANE] = g.x * ry;                                                                          \
        f[4 * PLANE] = g.y * ry;                                                                          \
        f[5 * PLANE] = g.z * ry;                                                                          \
        g = scaled1(cross1(ax, ay), rate * wz);                                                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                     \
        if (k == 0)                                                                                       \
            back = scaled1(g, -1.0f);                                                                     \
        if (inner && k > from)                                                                            \
            store_vec(plus1(sum, g, -1.0f), force, i - plane, n);                                         \
        if (inner && k >= from && k < to) {                                                               \
            vec1 image = IMAGE_FORCE(HERE, x, y, k, i);                                                   \
            sum.x = image.x + back.x +                                                                    \
                    ((f[-1] - f[1]) + (f[3 * PLANE - TILE_X] - f[3 * PLANE + TILE_X]));                   \
            sum.y = image.y + back.y +                                                                    \
                    ((f[PLANE - 1] - f[PLANE + 1]) + (f[4 * PLANE - TILE_X] - f[4 * PLANE + TILE_X]));    \
            sum.z = image.z + back.z + ((f[2 * PLANE - 1] - f[2 * PLANE + 1]) +                           \
                                        (f[5 * PLANE - TILE_X] - f[5 * PLANE + TILE_X]));                 \
        }                                                                                                 \
        back = g;                                                                                         \
        i += plane;                                                                                       \
    }

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_reuse(FORCE_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    __local float flux[2 * 6 * PLANE];
    int lx = get_local_id(0), ly = get_local_id(1), item = ly * TILE_X + lx;
    int own_x = get_group_id(0) * GROUP_X + lx - 1, own_y = get_group_id(1) * GROUP_Y + ly - 1;
    int x = clamp(own_x, 0, size.x - 1), y = clamp(own_y, 0, size.y - 1);
    bool inner = lx > 0 && lx < TILE_X - 1 && own_x < size.x && ly > 0 && ly < TILE_Y - 1 &&
                 own_y < size.y;
    int from = get_group_id(2) * MARCH, to = min(from + MARCH, size.z), last = min(to, size.z - 1);
    int plane = size.x * size.y, n = plane * size.z, start = max(from - 1, 0);
    int i = start * plane + y * size.x + x;
    ends ex = ends_at(x, size.x, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y);
    float sx = own_x == x ? ex.weight : -ex.weight, sy = own_y == y ? ey.weight : -ey.weight;
    vec1 even = load_vec1(u, i - (start > 0 ? plane : 0), n), odd = load_vec1(u, i, n);
    /* back: the flux along z of the plane before; sum: its force but for the flux above. */
    vec1 back = (vec1)(0.0f), sum = back;
    /* Two planes a turn: what is kept moves between no registers. */
    for (int k = start;; k++) {
        CLIMB(0, even, odd)
        if (++k > last)
            break;
        CLIMB(1, odd, even)
        if (k >= last)
            break;
    }
    if (inner && to == size.z)
        store_vec(plus1(sum, back, 1.0f), force, i - plane, n);
}

/* Rolling, for CPU devices: a work-item walks up ITEM_Y rows and MARCH planes,
 * WIDTH voxels along x at a time, and computes the fluxes of each voxel once
 * (and those of a rim around its block). A flux times its difference's weight
 * goes where it is needed: + to the voxel after, - to the voxel before, and at
 * a border, where that is missing, to the border voxel with the other sign.
 * Three planes of sums are open: along z, a plane waits for the next. */
#define WIDTH 64
#define SPAN (WIDTH + 8) /* voxels from - 1 to from + WIDTH of a row, and some room */

/* flux[3 axis + component] at [x - from + 1], weighted. */
typedef struct flux_row {
    float flux[9][SPAN];
} flux_row;

static inline void put_flux1(flux_row *row, int cell, vec1 ax, vec1 ay, vec1 az, float lambda,
                             float wx, float wy, float wz)
{
    vec1 c = cross1(ay, az);
    float rate = -lambda * penalty_derivative1(dot1(ax, c));
    float *f = &row->flux[0][cell];
    c *= rate * wx;
    f[0] = c.x, f[SPAN] = c.y, f[2 * SPAN] = c.z;
    c = cross1(az, ax) * (rate * wy);
    f[3 * SPAN] = c.x, f[4 * SPAN] = c.y, f[5 * SPAN] = c.z;
    c = cross1(ax, ay) * (rate * wz);
    f[6 * SPAN] = c.x, f[7 * SPAN] = c.y, f[8 * SPAN] = c.z;
}

static inline void put3(float *f, vec8 c, float8 k)
{
    PUT8(c.x * k, f);
    PUT8(c.y * k, f + SPAN);
    PUT8(c.z * k, f + 2 * SPAN);
}

/* The fluxes of row (y, z) for voxels from - 1 to to. */
static inline void compute_row(flux_row *row, __global const float *u, int4 size, float4 inverse,
                               float lambda, int from, int to, int y, int z)
{
    int plane = size.x * size.y, n = plane * size.z, i = z * plane + y * size.x;
    ends ey = ends_at(y, size.y, size.x, inverse.y), ez = ends_at(z, size.z, plane, inverse.z);
    ends inner = ends_at(1, 3, 1, inverse.x);
    int first = max(from - 1, 0), last = min(to, size.x - 1);
    int begin = max(first, 1), end = min(last, size.x - 2) + 1;
    bool wide = end - begin >= 8;
    for (int k = begin; wide && k < end; k += 8) {
        int x = min(k, end - 8); /* the last eight may overlap those before them */
        float *f = &row->flux[0][x - from + 1];
        vec8 ax, ay, az;
        columns8(u, i + x, n, inner, ey, ez, &ax, &ay, &az);
        vec8 c = cross8(ay, az);
        float8 rate = -lambda * penalty_derivative8(dot8(ax, c));
        put3(f, c, rate * inner.weight);
        put3(f + 3 * SPAN, cross8(az, ax), rate * ey.weight);
        put3(f + 6 * SPAN, cross8(ax, ay), rate * ez.weight);
    }
    for (int x = first; x <= last; x++) {
        if (wide && x == begin) {
            x = end - 1;
            continue;
        }
        ends ex = ends_at(x, size.x, 1, inverse.x);
        vec1 ax, ay, az;
        columns1(u, i + x, n, ex, ey, ez, &ax, &ay, &az);
        put_flux1(row, x - from + 1, ax, ay, az, lambda, ex.weight, ey.weight, ez.weight);
    }
    for (int c = 0; c < 3; c++) {
        if (from == 0)
            row->flux[c][0] = -row->flux[c][1];
        if (to == size.x)
            row->flux[c][to - from + 1] = -row->flux[c][to - from];
    }
}

/* Sums of a row: [component][x - from]. */
typedef float row_sum[3][WIDTH];

static inline void add_along_x(row_sum sum, const flux_row *row)
{
    for (int c = 0; c < 3; c++)
        for (int x = 0; x < WIDTH; x += 8)
            PUT8(GET8(&sum[c][x]) + (GET8(&row->flux[c][x]) - GET8(&row->flux[c][x + 2])), &sum[c][x]);
}

/* sum = keep sum + k times the fluxes along axis. */
static inline void add_row(row_sum sum, const flux_row *row, int axis, float k)
{
    for (int c = 0; c < 3; c++)
        for (int x = 0; x < WIDTH; x += 8)
            PUT8(GET8(&sum[c][x]) + k * GET8(&row->flux[3 * axis + c][x + 1]), &sum[c][x]);
}

static inline void clear(row_sum sum)
{
    for (int c = 0; c < 3; c++)
        for (int x = 0; x < WIDTH; x += 8)
            PUT8((float8)0.0f, &sum[c][x]);
}

/* Stores row (y, z): image term + sum + k next. */
static inline void finish_row(FORCE_ARGUMENTS, int from, int to, int y, int z, row_sum sum, float k,
                              row_sum next)
{
    const int4 size = on.size;
    int n = size.x * size.y * size.z, i = (z * size.y + y) * size.x;
    int x = from;
    if (to - from >= 8)
        while (x < to) {
            int count = min(CHUNK, to - x);
            if (count < 8) {
                count = 8;
                x = to - 8;
            }
            row_part part;
            read_part(&part, moving, moving_size, u, n, i, x, y, z, count, m);
            for (int e = 0; e < count; e += 8) {
                int c = min(e, count - 8), at = i + x + c, own = x + c - from;
                vec8 gradient, f;
                float8 r = residual8(&part, c, LOAD8(fixed + at), &gradient);
#if MASK
                r *= LOAD8(mask + at);
#endif
                const rows shift = m.shift;
                f.x = -r * (shift.x.x * gradient.x + shift.y.x * gradient.y + shift.z.x * gradient.z);
                f.y = -r * (shift.x.y * gradient.x + shift.y.y * gradient.y + shift.z.y * gradient.z);
                f.z = -r * (shift.x.z * gradient.x + shift.y.z * gradient.y + shift.z.z * gradient.z);
#if PENALTY
                f.x += GET8(&sum[0][own]) + k * GET8(&next[0][own]);
                f.y += GET8(&sum[1][own]) + k * GET8(&next[1][own]);
                f.z += GET8(&sum[2][own]) + k * GET8(&next[2][own]);
#endif
                store_vec8(f, force, at, n);
            }
            x += count;
        }
    for (; x < to; x++) {
        vec1 f = IMAGE_FORCE(load_vec1(u, i + x, n), x, y, z, i + x);
#if PENALTY
        int own = x - from;
        f += (vec1)(sum[0][own] + k * next[0][own], sum[1][own] + k * next[1][own],
                    sum[2][own] + k * next[2][own]);
#endif
        store_vec(f, force, i + x, n);
    }
}

#define FINISH(y, z, sum, k, next)                                                               \
    finish_row(moving, moving_size, fixed, mask, u, on, m, lambda, force, from, to, y, z, sum, k, next)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void force_rolling(FORCE_ARGUMENTS)
{
    const int4 size = on.size;
    const float4 inverse = on.inverse;
    row_sum open[3][ITEM_Y]; /* of plane z in open[z % 3] */
    flux_row row;
    int y0 = get_group_id(1) * ITEM_Y, y1 = min(y0 + ITEM_Y, size.y);
    int z0 = get_group_id(2) * MARCH, z1 = min(z0 + MARCH, size.z);
    int parts = (size.x + WIDTH - 1) / WIDTH, width = ((size.x + parts - 1) / parts + 7) / 8 * 8;
    for (int from = 0; from < size.x; from += width) {
        int to = min(from + width, size.x);
#if PENALTY
        for (int y = 0; y < ITEM_Y; y++)
            clear(open[0][y]); /* where plane 0 begins, the only one that none comes before */
        for (int z = max(z0 - 1, 0); z < min(z1 + 1, size.z); z++) {
            row_sum *before = open[(z + 2) % 3], *here = open[z % 3], *after = open[(z + 1) % 3];
            for (int y = max(y0 - 1, 0); y < min(y1 + 1, size.y); y++) {
                int own = y - y0;
                if ((z < z0 || z == z1) && (own < 0 || y == y1))
                    continue;
                compute_row(&row, u, size, inverse, lambda, from, to, y, z);
                if (own > 0)
                    add_row(here[own - 1], &row, 1, -1.0f);
                if (own < y1 - y0 - 1)
                    add_row(here[own + 1], &row, 1, 1.0f);
                if (own < 0 || y == y1)
                    continue;
                add_along_x(here[own], &row);
                if (y == 0)
                    add_row(here[own], &row, 1, -1.0f);
                if (y == size.y - 1)
                    add_row(here[own], &row, 1, 1.0f);
                if (z == 0)
                    add_row(here[own], &row, 2, -1.0f);
                clear(after[own]);
                add_row(after[own], &row, 2, 1.0f);
            }
            for (int y = y0; y < y1; y++) {
                if (z > z0)
                    FINISH(y, z - 1, before[y - y0], -1.0f, after[y - y0]);
                if (z == size.z - 1 && z < z1)
                    FINISH(y, z, here[y - y0], 1.0f, after[y - y0]);
            }
        }
#else
        for (int z = z0; z < z1; z++)
            for (int y = y0; y < y1; y++)
                FINISH(y, z, open[0][0], 0.0f, open[0][0]);
#endif
    }
}
