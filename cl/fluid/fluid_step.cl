/* SPDX-License-Identifier: Apache-2.0 */
/* The viscous fluid's step. The two rates are maxima, which depend on no
 * order: non-negative floats compare as their bits do, with NaN above all, so
 * that a field that is not finite shows. Slots spread the atomics. */
#include "common/grid.clh"
#include "fluid/force.clh"

/* SLOTS: places of the longest rate in partial; as many for the bend follow. */
#define SIZE_VOXELS (size.x * size.y * size.z)

static inline void keep(__global int *slots, int value)
{
    int group = get_group_id(0) + get_num_groups(0) * (get_group_id(1) + get_num_groups(1) * get_group_id(2));
    atomic_max(&slots[group & (SLOTS - 1)], value);
}

/* The largest of a work-group's values, once to global memory. */
INLINED void keep_of_group(__local int *largest, __global int *slots, int value)
{
    bool first = get_local_id(0) == 0 && get_local_id(1) == 0;
    if (first)
        *largest = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_max(largest, value);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (first)
        keep(slots, *largest);
}

/* A step of dt = 0.5 / BEND cannot fold: det(I + D(u + dt p)) = det A det(I + M)
 * with M = dt A^-1 Dp and |M| <= 1/2 in the Frobenius norm. Every eigenvalue of
 * M is at most |M| in size, so those of I + M stay at least 1/2 from 0 for each
 * part of the step, and the determinant keeps its sign and an eighth of its
 * size. The differences are linear in u, so that this holds for the discrete
 * determinant exactly. Where det A is next to nothing no step is safe. */
#define LEAST_DETERMINANT 1e-6f
#define NO_STEP_SQUARED 1e38f

/* REAL: float or float8, INT likewise, N: 1 or 8. A non-negative float's bits,
 * also of a NaN, whose sign is the processor's choice. */
#define DEFINE_RATE(REAL, INT, N)                                                             \
    static inline INT bits##N(REAL v)                                                         \
    {                                                                                         \
        return as_##INT(v) & 0x7fffffff;                                                      \
    }                                                                                         \
                                                                                              \
    /* v + Du v = A v */                                                                      \
    static inline vec##N rate##N(vec##N ax, vec##N ay, vec##N az, vec##N v)                   \
    {                                                                                         \
        vec##N p;                                                                             \
        p.x = ax.x * v.x + ay.x * v.y + az.x * v.z;                                           \
        p.y = ax.y * v.x + ay.y * v.y + az.y * v.z;                                           \
        p.z = ax.z * v.x + ay.z * v.y + az.z * v.z;                                           \
        return p;                                                                             \
    }                                                                                         \
                                                                                              \
    /* The squares of both, whose roots the last kernel takes. */                             \
    static inline INT longest##N(vec##N p, float4 inverse)                                    \
    {                                                                                         \
        p.x *= inverse.x;                                                                     \
        p.y *= inverse.y;                                                                     \
        p.z *= inverse.z;                                                                     \
        return bits##N(dot##N(p, p));                                                         \
    }                                                                                         \
                                                                                              \
    /* |A^-1 Dp| from the columns of A and of Dp (of either sign). */                         \
    static inline INT bend##N(vec##N ax, vec##N ay, vec##N az, vec##N px, vec##N py,          \
                              vec##N pz)                                                      \
    {                                                                                         \
        vec##N r = cross##N(ay, az), s = cross##N(az, ax), t = cross##N(ax, ay);              \
        REAL j = dot##N(ax, r), sum = 0.0f, k;                                                \
        k = dot##N(r, px), sum += k * k;                                                      \
        k = dot##N(r, py), sum += k * k;                                                      \
        k = dot##N(r, pz), sum += k * k;                                                      \
        k = dot##N(s, px), sum += k * k;                                                      \
        k = dot##N(s, py), sum += k * k;                                                      \
        k = dot##N(s, pz), sum += k * k;                                                      \
        k = dot##N(t, px), sum += k * k;                                                      \
        k = dot##N(t, py), sum += k * k;                                                      \
        k = dot##N(t, pz), sum += k * k;                                                      \
        return bits##N(j > LEAST_DETERMINANT ? sum / (j * j) : (REAL)NO_STEP_SQUARED);        \
    }

DEFINE_RATE(float, int, 1)
DEFINE_RATE(float8, int8, 8)

static inline int largest_of8(int8 v)
{
    int4 a = max(v.lo, v.hi);
    return max(max(a.x, a.y), max(a.z, a.w));
}

#define RATE_ARGUMENTS                                                                   \
    __global const float *u, __global const float *v, grid on, __global float *p,        \
        __global int *slots
#define BEND_ARGUMENTS                                                                   \
    __global const float *u, __global const float *p, grid on, __global int *slots

/* A column of MARCH planes; the values along z stay in registers. */
#define MARCH_BEGIN                                                                      \
    const int4 size = on.size;                                                           \
    const float4 inverse = on.inverse;                                                   \
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2) * MARCH;        \
    int plane = size.x * size.y, n = plane * size.z, largest = 0;                        \
    int end = min(z + MARCH, size.z);                                                    \
    bool inside = x < size.x && y < size.y;                                              \
    ends ex = ends_at(x, size.x, 1, inverse.x), ey = ends_at(y, size.y, size.x, inverse.y);

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void rate_march(RATE_ARGUMENTS)
{
    __local int shared;
    MARCH_BEGIN
    if (inside && z < end) {
        int i = z * plane + y * size.x + x;
        vec1 low = load_vec1(u, i + (difference_below(z) - z) * plane, n), here = load_vec1(u, i, n);
        for (; z < end; z++, i += plane) {
            ends ez = ends_at(z, size.z, plane, inverse.z);
            vec1 high = load_vec1(u, i + ez.high, n);
            vec1 ax = difference1(load_vec1(u, i + ex.low, n), load_vec1(u, i + ex.high, n), ex.weight);
            vec1 ay = difference1(load_vec1(u, i + ey.low, n), load_vec1(u, i + ey.high, n), ey.weight);
            vec1 az = difference1(low, high, ez.weight);
            ax.x += 1.0f;
            ay.y += 1.0f;
            az.z += 1.0f;
            vec1 q = rate1(ax, ay, az, load_vec1(v, i, n));
            store_vec(q, p, i, n);
            largest = max(largest, longest1(q, inverse));
            low = here;
            here = high;
        }
    }
    keep_of_group(&shared, slots, largest);
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void bend_march(BEND_ARGUMENTS)
{
    __local int shared;
    MARCH_BEGIN
    if (inside && z < end) {
        int i = z * plane + y * size.x + x, below = (difference_below(z) - z) * plane;
        vec1 low = load_vec1(u, i + below, n), here = load_vec1(u, i, n);
        vec1 p_low = load_vec1(p, i + below, n), p_here = load_vec1(p, i, n);
        for (; z < end; z++, i += plane) {
            ends ez = ends_at(z, size.z, plane, inverse.z);
            vec1 high = load_vec1(u, i + ez.high, n), p_high = load_vec1(p, i + ez.high, n);
            vec1 ax = difference1(load_vec1(u, i + ex.low, n), load_vec1(u, i + ex.high, n), ex.weight);
            vec1 ay = difference1(load_vec1(u, i + ey.low, n), load_vec1(u, i + ey.high, n), ey.weight);
            vec1 az = difference1(low, high, ez.weight);
            ax.x += 1.0f;
            ay.y += 1.0f;
            az.z += 1.0f;
            vec1 px = difference1(load_vec1(p, i + ex.low, n), load_vec1(p, i + ex.high, n), ex.weight);
            vec1 py = difference1(load_vec1(p, i + ey.low, n), load_vec1(p, i + ey.high, n), ey.weight);
            vec1 pz = difference1(p_low, p_high, ez.weight);
            largest = max(largest, bend1(ax, ay, az, px, py, pz));
            low = here;
            here = high;
            p_low = p_here;
            p_here = p_high;
        }
    }
    keep_of_group(&shared, slots + SLOTS, largest);
}

/* A row along x, eight voxels at a time; its borders apart. */
#define ROW_BEGIN                                                                        \
    const int4 size = on.size;                                                           \
    const float4 inverse = on.inverse;                                                   \
    int y = get_global_id(1), z = get_global_id(2);                                      \
    if (y >= size.y || z >= size.z)                                                      \
        return;                                                                          \
    int n = SIZE_VOXELS, row = (z * size.y + y) * size.x, largest = 0;                   \
    int8 largest8 = 0;                                                                   \
    ends ey = ends_at(y, size.y, size.x, inverse.y);                                     \
    ends ez = ends_at(z, size.z, size.x * size.y, inverse.z);                            \
    ends inner = ends_at(1, 3, 1, inverse.x);

#define DIFFERENCES1(f, i, e) difference1(load_vec1(f, (i) + e.low, n), load_vec1(f, (i) + e.high, n), e.weight)
#define DIFFERENCES8(f, i, e) difference_vec8(f, (i) + e.high, (i) + e.low, e.weight, n)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void rate_row(RATE_ARGUMENTS)
{
    ROW_BEGIN
    for (int x = 0; x < size.x;) {
        int i = row + x;
        if (x > 0 && x + 9 <= size.x) {
            vec8 ax, ay, az;
            columns8(u, i, n, inner, ey, ez, &ax, &ay, &az);
            vec8 q = rate8(ax, ay, az, load_vec8(v, i, n));
            store_vec8(q, p, i, n);
            largest8 = max(largest8, longest8(q, inverse));
            x += 8;
        } else {
            vec1 ax, ay, az;
            columns1(u, i, n, ends_at(x, size.x, 1, inverse.x), ey, ez, &ax, &ay, &az);
            vec1 q = rate1(ax, ay, az, load_vec1(v, i, n));
            store_vec(q, p, i, n);
            largest = max(largest, longest1(q, inverse));
            x++;
        }
    }
    keep(slots, max(largest, largest_of8(largest8)));
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void bend_row(BEND_ARGUMENTS)
{
    ROW_BEGIN
    for (int x = 0; x < size.x;) {
        int i = row + x;
        if (x > 0 && x + 9 <= size.x) {
            vec8 ax, ay, az;
            columns8(u, i, n, inner, ey, ez, &ax, &ay, &az);
            largest8 = max(largest8, bend8(ax, ay, az, DIFFERENCES8(p, i, inner), DIFFERENCES8(p, i, ey),
                                           DIFFERENCES8(p, i, ez)));
            x += 8;
        } else {
            vec1 ax, ay, az;
            ends ex = ends_at(x, size.x, 1, inverse.x);
            columns1(u, i, n, ex, ey, ez, &ax, &ay, &az);
            largest = max(largest, bend1(ax, ay, az, DIFFERENCES1(p, i, ex), DIFFERENCES1(p, i, ey),
                                         DIFFERENCES1(p, i, ez)));
            x++;
        }
    }
    keep(slots + SLOTS, max(largest, largest_of8(largest8)));
}

/* state[longest] and state[bend] from the squares in the two halves of the slots. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fluid_largest(__global const int *slots, __global float *state, int longest, int bend)
{
    __local int cell[2];
    int item = get_local_id(0), a = 0, b = 0;
    for (int i = item; i < SLOTS; i += TILE_X) {
        a = max(a, slots[i]);
        b = max(b, slots[SLOTS + i]);
    }
    if (item == 0)
        cell[0] = cell[1] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_max(&cell[0], a);
    atomic_max(&cell[1], b);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) {
        state[longest] = sqrt(as_float(cell[0]));
        state[bend] = sqrt(as_float(cell[1]));
    }
}

/* The longest step that moves no voxel further than largest and folds none. */
static inline float step_of(float longest, float bend, float largest)
{
    if (!(longest > 0.0f) || !isfinite(longest) || !isfinite(bend))
        return 0.0f;
    float dt = largest / longest;
    return dt * bend > 0.5f ? 0.5f / bend : dt;
}

/* Streams of floats: MARCH of them a work-item, in vectors. */
#define UPDATE(REAL, WIDTH)                                                                   \
    int from = get_global_id(0) * MARCH, to = min(from + MARCH, count);                       \
    float longest = state[at.x], dt = step_of(longest, state[at.y], largest);                 \
    if (from == 0) {                                                                          \
        state[at.z] = dt;                                                                     \
        state[at.w] = dt > 0.0f ? dt * longest : 0.0f;                                        \
    }                                                                                         \
    if (dt == 0.0f)                                                                           \
        return;                                                                               \
    int i = from;                                                                             \
    for (; i + WIDTH <= to; i += WIDTH)                                                       \
        *(__global REAL *)(u + i) += dt * *(__global const REAL *)(p + i);                    \
    for (; i < to; i++)                                                                       \
        u[i] += dt * p[i];

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void update_vector(__global float *u, __global const float *p, int count, float largest,
                   __global float *state, int4 at)
{
    UPDATE(float4, 4)
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void update_row(__global float *u, __global const float *p, int count, float largest,
                __global float *state, int4 at)
{
    UPDATE(float8, 8)
}
