/* SPDX-License-Identifier: Apache-2.0 */
/* Images of one head whose phase encoding shifts it along the same axis of the grid, by c voxels for each
 * unit of the field f: image k is looked up at p = M x + c f e and multiplied by the Jacobian 1 + c Df. D is
 * the central difference along e, over which the border's value goes on.
 *
 * Five terms a voxel describe the squared differences of the modulated images from their mean up to the
 * second order (Gauss and Newton): with a = dI/df, b = dI/d(Df) and sums of products about the means over the
 * images, (Ia, Ib, aa, ab, bb). A voxel whose place M x lies beside an image across e has none.
 *
 * Bending is the sum over the three axes of the squared second differences, in mm, of voxels with both
 * neighbours: it leaves linear fields alone up to the border, as shims and motion make them.
 *
 * Built with WIDE, voxels of a row that are worked on at once: 1 or, on CPU devices, 8, of which those beyond
 * the row come to nothing. Work-groups share the rows and leave their sums in partial, whose first number is
 * how many groups there are: whoever needs the total adds them up in order. */
#include "common/grid.clh"
#include "common/group_reduce.clh"
#include "common/sample_row.clh"

#ifndef WIDE
#define WIDE 1
#endif

/* Of functions that are given constants, or local memory, whose result a driver may lose otherwise. */
#define INLINED __attribute__((always_inline)) static inline

#if WIDE == 8
typedef float8 real;
typedef int8 whole;
#define REAL(w) convert_float8(w)
/* Columns from x on. */
#define COLUMNS(x) ((x) + (int8)(0, 1, 2, 3, 4, 5, 6, 7))
#define CELLS 1

/* The group's rows: i is voxel (x, y, z), the first of WIDE. */
#define EACH_OF_ROWS(size, first, last)                                                             \
    for (int row = (first), y, z; row < (last) && (z = row / (size).y, y = row - z * (size).y, 1);  \
         row++)                                                                                     \
        for (int x = 0, i = row * (size).x; x < (size).x; x += 8, i += 8)
#define EACH(first, last) for (int i = (first); i < (last); i += 8)
/* Whether all voxels within two planes are there. */
#define INNER(i, size) ((i) >= 2 * (size).x * (size).y && (i) + 8 + 2 * (size).x * (size).y <= (size).w)
#else
typedef float real;
typedef int whole;
#define REAL(w) ((float)(w))
#define COLUMNS(x) (x)
#define CELLS TILE_X

#define EACH_OF_ROWS(size, first, last)                                                                 \
    for (int i = (first) * (size).x + (int)get_local_id(0), row, x, y, z;                               \
         i < (last) * (size).x && (row = i / (size).x, x = i - row * (size).x, z = row / (size).y,      \
                                   y = row - z * (size).y, 1);                                          \
         i += TILE_X)
#define EACH(first, last) for (int i = (first) + (int)get_local_id(0); i < (last); i += TILE_X)
#define INNER(i, size) 0
#endif

/* A group's equal part of `count`, in whole `each`. */
static inline int2 share(int count, int each)
{
    const int groups = get_num_groups(0), part = ((count + groups - 1) / groups + each - 1) / each * each;
    const int first = min((int)get_group_id(0) * part, count);
    return (int2)(first, first + min(part, count - first));
}

/* v[i] to v[i + WIDE - 1]. Nothing is read beyond the n there are: what stands for that has no weight. inner:
 * they are known to be there. */
INLINED real look(__global const float *v, int i, int n, const int inner)
{
#if WIDE == 8
    if (inner || (i >= 0 && i + 8 <= n))
        return LOAD8(v + i);
    float lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = i + k >= 0 && i + k < n ? v[i + k] : 0.0f;
    return GET8(lane);
#else
    return v[clamp(i, 0, n - 1)];
#endif
}

INLINED real get(__global const float *v, int i, int n)
{
    return look(v, i, n, 0);
}

/* The first `count` of them. */
static inline void put(real value, __global float *v, int count)
{
#if WIDE == 8
    if (count >= 8) {
        STORE8(value, v);
        return;
    }
    float lane[8];
    PUT8(value, lane);
    for (int k = 0; k < count; k++)
        v[k] = lane[k];
#else
    *v = value;
#endif
}

/* ---- sums ---------------------------------------------------------------- */

static inline float joined(real v)
{
#if WIDE == 8
    const float4 a = v.lo + v.hi;
    return (a.x + a.z) + (a.y + a.w);
#else
    return v;
#endif
}

/* Keeps the group's `count` sums. cell: room for CELLS of each. */
INLINED void keep_sums(const real *sum, int count, __local float *cell, __global float *partial)
{
    const int lane = get_local_id(0), group = get_group_id(0);
#if WIDE == 1
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    for (int s = 0; s < count; s++)
        cell[s * CELLS + lane] = joined(sum[s]);
#if WIDE == 1
    group_fold(cell, count, lane, CELLS, 1);
#endif
    if (lane)
        return;
    if (group == 0)
        partial[0] = get_num_groups(0);
    for (int s = 0; s < count; s++)
        partial[1 + count * group + s] = cell[s * CELLS];
}

/* The total of sums that were kept one a group. */
INLINED float total(__global const float *partial, __local float *cell)
{
    const int lane = get_local_id(0), groups = (int)partial[0];
    float sum = 0.0f;
#if WIDE == 8
    float8 sum8 = 0.0f;
    int g = 0;
    for (; g + 8 <= groups; g += 8)
        sum8 += LOAD8(partial + 1 + g);
    sum = joined(sum8);
    for (; g < groups; g++)
        sum += partial[1 + g];
    return sum;
#else
    for (int g = lane; g < groups; g += TILE_X)
        sum += partial[1 + g];
    barrier(CLK_LOCAL_MEM_FENCE);
    cell[lane] = sum;
    group_fold(cell, 1, lane, TILE_X, 1);
    return cell[0];
#endif
}

/* ---- differences --------------------------------------------------------- */

/* Voxels on a line along an axis of the grid: which, of how many, how far apart. */
typedef struct line {
    whole at;
    int length, step;
} line;

static inline line line_along(int axis, int x, int y, int z, int4 size)
{
    line l;
    l.at = axis == 0 ? COLUMNS(x) : (whole)(axis == 1 ? y : z);
    l.length = axis == 0 ? size.x : axis == 1 ? size.y : size.z;
    l.step = axis == 0 ? 1 : axis == 1 ? size.x : size.x * size.y;
    return l;
}

/* Whether there is a voxel so far before and after. */
#define BEFORE(l, by) ((l).at >= (whole)(by))
#define AFTER(l, by) ((l).at < (whole)((l).length - (by)))
#if WIDE == 8
#define ONLY(when, value) as_float8(as_int8(value) & (when))
#else
#define ONLY(when, value) ((when) ? (value) : 0.0f)
#endif

/* D v at a voxel, from v before, at and after it. */
static inline real slope_of(real before, real here, real after, line l)
{
    return 0.5f * (select(here, after, AFTER(l, 1)) - select(here, before, BEFORE(l, 1)));
}

static inline real slope_at(__global const float *v, int i, line l, int n)
{
    return slope_of(get(v, i - l.step, n), get(v, i, n), get(v, i + l.step, n), l);
}

/* D' t at the voxel, from t before, at and after it. */
static inline real spread(real before, real here, real after, line l)
{
    return 0.5f * (select(-here, before, BEFORE(l, 1)) - select(-here, after, AFTER(l, 1)));
}

/* The squared second difference along a line, or half the derivative of all of them. */
INLINED real bend_along(__global const float *v, int i, line l, int n, const int squared, const int inner)
{
    const real low = look(v, i - l.step, n, inner), here = look(v, i, n, inner),
               high = look(v, i + l.step, n, inner), second = (low - here) + (high - here);
    const whole both = BEFORE(l, 1) & AFTER(l, 1);
    if (squared)
        return ONLY(both, second * second);
    const real low2 = look(v, i - 2 * l.step, n, inner), high2 = look(v, i + 2 * l.step, n, inner);
    return ONLY(BEFORE(l, 2), (low2 - low) + (here - low)) - ONLY(both, 2.0f * second) +
           ONLY(AFTER(l, 2), (high2 - high) + (here - high));
}

/* The same over the three axes, in mm. */
INLINED real bend_at(__global const float *v, int i, int x, int y, int z, grid g, const int squared,
                     const int inner)
{
    const float4 h = g.inverse * g.inverse * g.inverse * g.inverse;
    return h.x * bend_along(v, i, line_along(0, x, y, z, g.size), g.size.w, squared, inner) +
           h.y * bend_along(v, i, line_along(1, x, y, z, g.size), g.size.w, squared, inner) +
           h.z * bend_along(v, i, line_along(2, x, y, z, g.size), g.size.w, squared, inner);
}

/* By how much of a voxel's own value that is. */
static inline real own_bending(line l)
{
    return ONLY(BEFORE(l, 2), (real)(1.0f)) + ONLY(BEFORE(l, 1) & AFTER(l, 1), (real)(4.0f)) +
           ONLY(AFTER(l, 2), (real)(1.0f));
}

/* ---- the images ---------------------------------------------------------- */

/* The value of an image for voxel (x, y, z), its derivative along e, and whether M x lies in it across e.
 * map: three rows of M, then c. */
static inline real blip_sample(__global const float *image, __global const float *map, int4 size, int axis,
                               int x, int y, int z, real f, real *slope, whole *inside)
{
    const float4 mx = vload4(0, map), my = vload4(1, map), mz = vload4(2, map);
    const real column = REAL(COLUMNS(x)), shift = map[12] * f;
#if WIDE == 8
    vec8 p = {muladd((real)(mx.x), column, (real)(map_row(mx, y, z))),
              muladd((real)(my.x), column, (real)(map_row(my, y, z))),
              muladd((real)(mz.x), column, (real)(map_row(mz, y, z)))};
    const real none = 0.0f;
    const vec8 across = {axis == 0 ? none : p.x, axis == 1 ? none : p.y, axis == 2 ? none : p.z};
    vec8 g;
    *inside = inside8(across, size);
    p.x += axis == 0 ? shift : none;
    p.y += axis == 1 ? shift : none;
    p.z += axis == 2 ? shift : none;
    const vec8 q = clamp8(p, size);
    int base[8];
    const int8 cx = max(min(convert_int8(q.x), (int8)(size.x - 2)), (int8)(0));
    const int8 cy = max(min(convert_int8(q.y), (int8)(size.y - 2)), (int8)(0));
    const int8 cz = max(min(convert_int8(q.z), (int8)(size.z - 2)), (int8)(0));
    const vec8 fraction = {q.x - convert_float8(cx), q.y - convert_float8(cy), q.z - convert_float8(cz)};
    PUT_INT8((cz * size.y + cy) * size.x + cx, base);
    const real value = cell_gradient8(image, size, base, fraction, &g);
    *slope = axis == 0   ? ONLY(p.x == q.x, g.x)
             : axis == 1 ? ONLY(p.y == q.y, g.y)
                         : ONLY(p.z == q.z, g.z);
    return value;
#else
    float3 p = (float3)(muladd(mx.x, column, map_row(mx, y, z)), muladd(my.x, column, map_row(my, y, z)),
                        muladd(mz.x, column, map_row(mz, y, z)));
    const float3 across = (float3)(axis == 0 ? 0.0f : p.x, axis == 1 ? 0.0f : p.y, axis == 2 ? 0.0f : p.z);
    *inside = position_inside(across, size);
    p += (float3)(axis == 0 ? shift : 0.0f, axis == 1 ? shift : 0.0f, axis == 2 ? shift : 0.0f);
    const float3 q = position_clamp(p, size);
    const cell c = whole_cell(q, size);
    __global const float *in = image;
    const float v[8] = CORNERS(READ_VALUE, c);
    float gx, gy, gz;
    const float value = trilinear(v, c.fx, c.fy, c.fz, &gx, &gy, &gz);
    const float along = axis == 0 ? gx : axis == 1 ? gy : gz;
    const int kept = axis == 0 ? q.x == p.x : axis == 1 ? q.y == p.y : q.z == p.z;
    *slope = kept ? along : 0.0f;
    return value;
#endif
}

/* maps: 13 floats an image. terms: five volumes. Sums: of the squared differences from the mean, and the
 * bending of f. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_terms(__global const float *images, __global const float *maps, int count, int axis, grid g,
                __global const float *f, __global float *terms, __global float *partial)
{
    __local float cell[2 * CELLS];
    const int4 size = g.size;
    const int n = size.w;
    const int2 rows = share(size.y * size.z, 1);
    real apart = 0.0f, bending = 0.0f;
    EACH_OF_ROWS(size, rows.x, rows.y)
    {
        const real here = get(f, i, n), rise = slope_at(f, i, line_along(axis, x, y, z, size), n);
        real I = 0.0f, a = 0.0f, b = 0.0f, II = 0.0f, Ia = 0.0f, Ib = 0.0f, aa = 0.0f, ab = 0.0f, bb = 0.0f;
        whole all = COLUMNS(x) < (whole)(size.x);
        for (int k = 0; k < count; k++) {
            real slope;
            whole inside;
            __global const float *map = maps + 13 * k;
            const real value =
                blip_sample(images + (size_t)k * n, map, size, axis, x, y, z, here, &slope, &inside);
            const real c = map[12], jacobian = muladd(c, rise, (real)(1.0f)), weight = 1.0f / (k + 1);
            const real dI = value * jacobian - I, da = c * slope * jacobian - a, db = c * value - b;
            all &= inside;
            I = muladd(weight, dI, I);
            a = muladd(weight, da, a);
            b = muladd(weight, db, b);
            /* Each image adds the product of its distances from the means, k / (k + 1) of it. */
            const real part = (float)k * weight;
            II = muladd(part * dI, dI, II);
            Ia = muladd(part * dI, da, Ia);
            Ib = muladd(part * dI, db, Ib);
            aa = muladd(part * da, da, aa);
            ab = muladd(part * da, db, ab);
            bb = muladd(part * db, db, bb);
        }
        const int left = size.x - x;
        put(ONLY(all, Ia), terms + i, left);
        put(ONLY(all, Ib), terms + i + n, left);
        put(ONLY(all, aa), terms + i + 2 * n, left);
        put(ONLY(all, ab), terms + i + 3 * n, left);
        put(ONLY(all, bb), terms + i + 4 * n, left);
        apart += ONLY(all, II);
        const real bend =
            INNER(i, size) ? bend_at(f, i, x, y, z, g, 1, 1) : bend_at(f, i, x, y, z, g, 1, 0);
        bending += ONLY(COLUMNS(x) < (whole)(size.x), bend);
    }
    const real sum[2] = {apart, bending};
    keep_sums(sum, 2, cell, partial);
}

/* Image k, modulated; NaN where M x lies beside it. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_image(__global const float *images, __global const float *maps, int k, int axis, int4 size,
                __global const float *f, __global float *out)
{
    const int n = size.x * size.y * size.z;
    const int2 rows = share(size.y * size.z, 1);
    __global const float *map = maps + 13 * k;
    EACH_OF_ROWS(size, rows.x, rows.y)
    {
        real slope;
        whole inside;
        const real value = blip_sample(images + (size_t)k * n, map, size, axis, x, y, z, get(f, i, n), &slope,
                                       &inside);
        const real rise = slope_at(f, i, line_along(axis, x, y, z, size), n);
        put(select((real)(NAN), value * muladd((real)(map[12]), rise, (real)(1.0f)), inside), out + i,
            size.x - x);
    }
}

/* f += tilt (x, y, z, 1). */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_tilt(float4 tilt, int4 size, __global float *f)
{
    const int2 rows = share(size.y * size.z, 1);
    EACH_OF_ROWS(size, rows.x, rows.y)
    {
        const real by = muladd((real)(tilt.x), REAL(COLUMNS(x)), (real)(map_row(tilt, y, z)));
        put(get(f, i, size.x * size.y * size.z) + by, f + i, size.x - x);
    }
}

/* ---- a step's linear equations ------------------------------------------- */

/* v, and what is done to it: five terms, bending by lambda. */
typedef struct equations {
    __global const float *terms, *v;
    float lambda;
    int axis;
    grid g;
} equations;

/* The operator times v: aa v + ab Dv + D'(ab v + bb Dv) + lambda B v, B v half the derivative of the bending.
 */
INLINED real operator_at(const equations *on, int i, int x, int y, int z, const int inner)
{
    const int n = on->g.size.w;
    __global const float *aa = on->terms + 2 * n, *ab = aa + n, *bb = ab + n;
    const line l = line_along(on->axis, x, y, z, on->g.size);
    const real v0 = look(on->v, i, n, inner), mixed = look(ab, i, n, inner);
    const real v1 = look(on->v, i - l.step, n, inner), v2 = look(on->v, i - 2 * l.step, n, inner);
    const real w1 = look(on->v, i + l.step, n, inner), w2 = look(on->v, i + 2 * l.step, n, inner);
    const real rise = slope_of(v1, v0, w1, l);
    const real low = muladd(look(bb, i - l.step, n, inner), 0.5f * (v0 - select(v1, v2, BEFORE(l, 2))),
                            look(ab, i - l.step, n, inner) * v1);
    const real high = muladd(look(bb, i + l.step, n, inner), 0.5f * (select(w1, w2, AFTER(l, 2)) - v0),
                             look(ab, i + l.step, n, inner) * w1);
    const real here = muladd(look(bb, i, n, inner), rise, mixed * v0);
    return muladd(look(aa, i, n, inner), v0, mixed * rise) + spread(low, here, high, l) +
           on->lambda * bend_at(on->v, i, x, y, z, on->g, 0, inner);
}

/* Sum: of v out. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_operator(__global const float *terms, int axis, __global const float *v, float lambda, grid g,
                   __global float *out, __global float *partial)
{
    __local float cell[CELLS];
    const equations on = {terms, v, lambda, axis, g};
    const int2 rows = share(g.size.y * g.size.z, 1);
    real sum = 0.0f;
    EACH_OF_ROWS(g.size, rows.x, rows.y)
    {
        const real made =
            INNER(i, g.size) ? operator_at(&on, i, x, y, z, 1) : operator_at(&on, i, x, y, z, 0);
        put(made, out + i, g.size.x - x);
        sum += ONLY(COLUMNS(x) < (whole)(g.size.x), get(v, i, g.size.w) * made);
    }
    keep_sums(&sum, 1, cell, partial);
}

/* The gradient of the energy at v: Ia + D'Ib + lambda B v. */
INLINED real gradient_at(const equations *on, int i, int x, int y, int z, const int inner)
{
    const int n = on->g.size.w;
    __global const float *Ib = on->terms + n;
    const line l = line_along(on->axis, x, y, z, on->g.size);
    return look(on->terms, i, n, inner) +
           spread(look(Ib, i - l.step, n, inner), look(Ib, i, n, inner), look(Ib, i + l.step, n, inner), l) +
           on->lambda * bend_at(on->v, i, x, y, z, on->g, 0, inner);
}

/* The diagonal of the operator. */
INLINED real diagonal_at(const equations *on, int i, int x, int y, int z, const int inner)
{
    const int n = on->g.size.w;
    __global const float *aa = on->terms + 2 * n, *ab = aa + n, *bb = ab + n;
    const float4 h = on->g.inverse * on->g.inverse * on->g.inverse * on->g.inverse;
    const line l = line_along(on->axis, x, y, z, on->g.size);
    /* The diagonals of D, D'bb D and B. */
    const real one = 1.0f, own = 0.5f * (ONLY(BEFORE(l, 1), one) - ONLY(AFTER(l, 1), one));
    const real steep = 0.25f * (ONLY(BEFORE(l, 1), look(bb, i - l.step, n, inner)) +
                                ONLY(AFTER(l, 1), look(bb, i + l.step, n, inner))) +
                       own * own * look(bb, i, n, inner);
    const real stiff = h.x * own_bending(line_along(0, x, y, z, on->g.size)) +
                       h.y * own_bending(line_along(1, x, y, z, on->g.size)) +
                       h.z * own_bending(line_along(2, x, y, z, on->g.size));
    return look(aa, i, n, inner) + 2.0f * own * look(ab, i, n, inner) + steep + on->lambda * stiff;
}

/* Where conjugate gradients begin: residual, the negative gradient at f, one over the diagonal, their
 * product, and a step and its directions of 0. Sum: of residual times scaled. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_descent(__global const float *terms, int axis, __global const float *f, float lambda, grid g,
                  __global float *residual, __global float *inverse, __global float *scaled,
                  __global float *direction, __global float *along, __global float *step,
                  __global float *partial)
{
    __local float cell[CELLS];
    const equations on = {terms, f, lambda, axis, g};
    const int2 rows = share(g.size.y * g.size.z, 1);
    real sum = 0.0f;
    EACH_OF_ROWS(g.size, rows.x, rows.y)
    {
        const int left = g.size.x - x, inner = INNER(i, g.size);
        const real down = inner ? gradient_at(&on, i, x, y, z, 1) : gradient_at(&on, i, x, y, z, 0);
        const real diagonal = inner ? diagonal_at(&on, i, x, y, z, 1) : diagonal_at(&on, i, x, y, z, 0);
        const real over = select((real)(1.0f), 1.0f / diagonal, diagonal > (real)(1e-20f));
        put(-down, residual + i, left);
        put(over, inverse + i, left);
        put(-down * over, scaled + i, left);
        put((real)(0.0f), direction + i, left);
        put((real)(0.0f), along + i, left);
        put((real)(0.0f), step + i, left);
        sum += ONLY(COLUMNS(x) < (whole)(g.size.x), down * down * over);
    }
    keep_sums(&sum, 1, cell, partial);
}

/* A step of conjugate gradients in the form of Chronopoulos and Gear (1989), which needs both products at
 * once: rz of residual and scaled, zw of scaled and product, the operator times scaled. With b = rz over the
 * last one, w = rz / (zw - b rz / last w): direction = scaled + b direction, along = product + b along, step
 * += w direction, residual -= w along, scaled = residual inverse. state: rz and w of every turn. Sum: of
 * residual times scaled. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1)))
void blip_advance(__global float *state, int turn, __global const float *rz, __global const float *zw,
                  __global const float *product, __global const float *inverse, __global float *scaled,
                  __global float *direction, __global float *along, __global float *step,
                  __global float *residual, int n, __global float *partial)
{
    __local float cell[CELLS];
    const int2 part = share(n, GROUP_X);
    const float now = total(rz, cell), product_now = total(zw, cell);
    const float last = turn ? state[2 * turn - 2] : 0.0f, last_w = turn ? state[2 * turn - 1] : 0.0f;
    const float b = last > 0.0f && last_w > 0.0f ? now / last : 0.0f;
    const float under = b > 0.0f ? product_now - b * now / last_w : product_now;
    const float w = under > 0.0f ? now / under : 0.0f;
    real sum = 0.0f;
    if (get_group_id(0) == 0 && get_local_id(0) == 0) {
        state[2 * turn] = now;
        state[2 * turn + 1] = w;
    }
    EACH(part.x, part.y)
    {
        const int left = n - i;
        const real p = muladd((real)(b), get(direction, i, n), get(scaled, i, n));
        const real q = muladd((real)(b), get(along, i, n), get(product, i, n));
        const real r = muladd((real)(-w), q, get(residual, i, n)), z = r * get(inverse, i, n);
        put(p, direction + i, left);
        put(q, along + i, left);
        put(muladd((real)(w), p, get(step, i, n)), step + i, left);
        put(r, residual + i, left);
        put(z, scaled + i, left);
        sum += r * z;
    }
    keep_sums(&sum, 1, cell, partial);
}
