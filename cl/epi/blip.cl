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
 * neighbours: it leaves linear fields alone up to the border, as shims and motion make them. */
#include "common/grid.clh"
#include "common/sample.clh"

/* Items walk MARCH voxels of a row. */
#define ROW_OF_ITEM(size)                                                                        \
    const int first = (int)get_global_id(0) * MARCH, y = get_global_id(1), z = get_global_id(2); \
    const int last = first < (size).x ? min(first + MARCH, (size).x) : first;                    \
    if (y >= (size).y || z >= (size).z)                                                          \
        return;                                                                                  \
    const int row = (z * (size).y + y) * (size).x

/* Place of a voxel on its line along e. */
typedef struct place {
    int at, length, step;
} place;

static inline place place_on(int x, int y, int z, int4 size, int axis)
{
    place p;
    p.at = axis == 0 ? x : axis == 1 ? y : z;
    p.length = axis == 0 ? size.x : axis == 1 ? size.y : size.z;
    p.step = axis == 0 ? 1 : axis == 1 ? size.x : size.x * size.y;
    return p;
}

/* D v at `by` voxels (-1, 0, 1) from i along e, which lies on the grid. */
static inline float difference_at(__global const float *v, int i, place p, int by)
{
    const int at = p.at + by, here = i + by * p.step;
    return 0.5f * (v[at + 1 < p.length ? here + p.step : here] - v[at > 0 ? here - p.step : here]);
}

/* D' t at a voxel, from t there, before and after it. */
static inline float spread(float before, float here, float after, place p)
{
    float sum = 0.0f;
    sum += p.at > 0 ? before : -here;
    sum -= p.at + 1 < p.length ? after : -here;
    return 0.5f * sum;
}

/* Half the derivative of the bending along one axis: i is voxel `at` of `length`, voxels lie `step` apart. */
static inline float bending_along(__global const float *v, int i, int at, int length, int step)
{
    const float here = v[i];
    const float low = at > 0 ? v[i - step] : 0.0f, high = at + 1 < length ? v[i + step] : 0.0f;
    float sum = 0.0f;
    if (at > 1)
        sum += (v[i - 2 * step] - low) + (here - low);
    if (at > 0 && at + 1 < length)
        sum -= 2.0f * ((low - here) + (high - here));
    if (at + 2 < length)
        sum += (v[i + 2 * step] - high) + (here - high);
    return sum;
}

static inline float bending_at(__global const float *v, int i, int x, int y, int z, grid g)
{
    const float3 h =
        (float3)(g.inverse.x * g.inverse.x, g.inverse.y * g.inverse.y, g.inverse.z * g.inverse.z);
    return h.x * h.x * bending_along(v, i, x, g.size.x, 1) +
           h.y * h.y * bending_along(v, i, y, g.size.y, g.size.x) +
           h.z * h.z * bending_along(v, i, z, g.size.z, g.size.x * g.size.y);
}

/* By how much of a voxel's own value that is. */
static inline float own_bending(int at, int length)
{
    return (at > 1 ? 1.0f : 0.0f) + (at > 0 && at + 1 < length ? 4.0f : 0.0f) +
           (at + 2 < length ? 1.0f : 0.0f);
}

/* The value of image k for voxel (x, y, z), its derivative along e, and whether M x lies in it across e. map:
 * three rows of M, then c. */
static inline float blip_sample(__global const float *image, __global const float *map, int4 size, int axis,
                                int x, int y, int z, float f, float *slope, int *inside)
{
    const float4 mx = vload4(0, map), my = vload4(1, map), mz = vload4(2, map);
    float3 p = (float3)(muladd(mx.x, x, map_row(mx, y, z)), muladd(my.x, x, map_row(my, y, z)),
                        muladd(mz.x, x, map_row(mz, y, z)));
    const float shift = map[12] * f;
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
}

/* maps: 13 floats an image. terms: five volumes. energy: the squared differences from the mean. */
__kernel void blip_terms(__global const float *images, __global const float *maps, int count, int axis,
                         int4 size, __global const float *f, __global float *terms, __global float *energy)
{
    ROW_OF_ITEM(size);
    const int n = size.x * size.y * size.z;
    for (int x = first; x < last; x++) {
        const int i = row + x;
        const float here = f[i], rise = difference_at(f, i, place_on(x, y, z, size, axis), 0);
        float I = 0.0f, a = 0.0f, b = 0.0f, II = 0.0f, Ia = 0.0f, Ib = 0.0f, aa = 0.0f, ab = 0.0f, bb = 0.0f;
        int all = 1;
        for (int k = 0; k < count; k++) {
            float slope;
            int inside;
            __global const float *map = maps + 13 * k;
            const float value =
                blip_sample(images + (size_t)k * n, map, size, axis, x, y, z, here, &slope, &inside);
            const float c = map[12], jacobian = muladd(c, rise, 1.0f), share = 1.0f / (k + 1);
            const float dI = value * jacobian - I, da = c * slope * jacobian - a, db = c * value - b;
            all &= inside;
            I = muladd(share, dI, I);
            a = muladd(share, da, a);
            b = muladd(share, db, b);
            /* Each image adds the product of its distances from the means, k / (k + 1) of it. */
            const float part = k * share;
            II = muladd(part * dI, dI, II);
            Ia = muladd(part * dI, da, Ia);
            Ib = muladd(part * dI, db, Ib);
            aa = muladd(part * da, da, aa);
            ab = muladd(part * da, db, ab);
            bb = muladd(part * db, db, bb);
        }
        energy[i] = all ? II : 0.0f;
        terms[i] = all ? Ia : 0.0f;
        terms[i + n] = all ? Ib : 0.0f;
        terms[i + 2 * n] = all ? aa : 0.0f;
        terms[i + 3 * n] = all ? ab : 0.0f;
        terms[i + 4 * n] = all ? bb : 0.0f;
    }
}

/* One modulated image, NaN where M x lies beside it. */
__kernel void blip_image(__global const float *image, __global const float *map, int axis, int4 size,
                         __global const float *f, __global float *out)
{
    ROW_OF_ITEM(size);
    for (int x = first; x < last; x++) {
        float slope;
        int inside;
        const int i = row + x;
        const float value = blip_sample(image, map, size, axis, x, y, z, f[i], &slope, &inside);
        const float rise = difference_at(f, i, place_on(x, y, z, size, axis), 0);
        out[i] = inside ? value * muladd(map[12], rise, 1.0f) : NAN;
    }
}

/* Half the derivative of the bending by v. */
__kernel void blip_bending(__global const float *v, grid g, __global float *out)
{
    ROW_OF_ITEM(g.size);
    for (int x = first; x < last; x++)
        out[row + x] = bending_at(v, row + x, x, y, z, g);
}

/* The second derivative of the energy, times v: out = aa v + ab Dv + D'(ab v + bb Dv) + lambda B v, B v of
 * blip_bending. */
__kernel void blip_operator(__global const float *terms, int axis, __global const float *v, float lambda,
                            grid g, __global float *out)
{
    ROW_OF_ITEM(g.size);
    __global const float *aa = terms + 2 * g.size.w, *ab = aa + g.size.w, *bb = ab + g.size.w;
    for (int x = first; x < last; x++) {
        const int i = row + x;
        const place p = place_on(x, y, z, g.size, axis);
        const int before = p.at > 0 ? i - p.step : i, after = p.at + 1 < p.length ? i + p.step : i;
        const float rise = difference_at(v, i, p, 0);
        const float here = muladd(bb[i], rise, ab[i] * v[i]);
        const float low =
            p.at > 0 ? muladd(bb[before], difference_at(v, i, p, -1), ab[before] * v[before]) : 0.0f;
        const float high =
            p.at + 1 < p.length ? muladd(bb[after], difference_at(v, i, p, 1), ab[after] * v[after]) : 0.0f;
        out[i] = muladd(aa[i], v[i], ab[i] * rise) + spread(low, here, high, p) +
                 lambda * bending_at(v, i, x, y, z, g);
    }
}

/* The way down: residual = -(Ia + D'Ib + lambda B f), the diagonal of blip_operator, and residual over it. */
__kernel void blip_descent(__global const float *terms, int axis, __global const float *bending, float lambda,
                           grid g, __global float *residual, __global float *diagonal, __global float *scaled)
{
    ROW_OF_ITEM(g.size);
    const int n = g.size.w;
    __global const float *Ib = terms + n, *aa = Ib + n, *ab = aa + n, *bb = ab + n;
    const float3 h =
        (float3)(g.inverse.x * g.inverse.x, g.inverse.y * g.inverse.y, g.inverse.z * g.inverse.z);
    for (int x = first; x < last; x++) {
        const int i = row + x;
        const place p = place_on(x, y, z, g.size, axis);
        const int low = p.at > 0, high = p.at + 1 < p.length;
        const int before = low ? i - p.step : i, after = high ? i + p.step : i;
        const float down = terms[i] + spread(Ib[before], Ib[i], Ib[after], p) + lambda * bending[i];
        /* The diagonals of D, D'bb D and B. */
        const float own = 0.5f * (low - high);
        const float steep =
            0.25f * ((low ? bb[before] : 0.0f) + (high ? bb[after] : 0.0f)) + own * own * bb[i];
        const float stiff = h.x * h.x * own_bending(x, g.size.x) + h.y * h.y * own_bending(y, g.size.y) +
                            h.z * h.z * own_bending(z, g.size.z);
        const float whole = aa[i] + 2.0f * own * ab[i] + steep + lambda * stiff;
        diagonal[i] = whole > 1e-20f ? whole : 1.0f;
        residual[i] = -down;
        scaled[i] = -down / diagonal[i];
    }
}

/* A step of conjugate gradients, whose products lie in state: rz, and what it was (state[was]), and p q in
 * state[2]: step += w p, residual -= w q, scaled = residual / diagonal, w = rz / p q. */
__kernel void blip_advance(__global const float *state, int was, __global const float *p,
                           __global const float *q, __global const float *diagonal, __global float *step,
                           __global float *residual, __global float *scaled, int n)
{
    const int first = (int)get_global_id(0) * MARCH, last = first + min(MARCH, n - first);
    const float w = state[2] > 0.0f ? state[was] / state[2] : 0.0f;
    for (int i = first; i < last; i++) {
        const float r = muladd(-w, q[i], residual[i]);
        step[i] = muladd(w, p[i], step[i]);
        residual[i] = r;
        scaled[i] = r / diagonal[i];
    }
}

/* p = scaled + w p, w = state[1 - was] / state[was]. */
__kernel void blip_turn(__global const float *state, int was, __global const float *scaled, __global float *p,
                        int n)
{
    const int first = (int)get_global_id(0) * MARCH, last = first + min(MARCH, n - first);
    const float w = state[was] > 0.0f ? state[1 - was] / state[was] : 0.0f;
    for (int i = first; i < last; i++)
        p[i] = muladd(w, p[i], scaled[i]);
}
