/* SPDX-License-Identifier: Apache-2.0 */
/* Marchenko-Pastur PCA of windows of a diffusion-weighted scan (Veraart et al.
 * 2016): covariance of the volumes over a window's samples, its reduction to
 * tridiagonal form, as many eigenvalues as tell noise from signal, and the
 * eigenvectors of the signal alone.
 *
 * packed: voxel after voxel, `stride` floats each: K values, then zeros. A
 * window is known by its lowest corner; windows box .. box + count - 1 run here.
 * shape: K, stride, samples N, number of the least eigenvalue that is not 0 by
 * counting.
 * Of each window: vectors[column][stride], coefficients[sample][stride],
 * means[stride], and facts: weight, variance, rank, 0. */
#include "common/field_row.clh"
/* Eigenvalues and eigenvectors of a symmetric tridiagonal matrix of trace K:
 * diagonal d[0..K-1], e[i] beside it between i - 1 and i; eight at a time. */

typedef float8 real;
typedef int8 whole;
/* 1 where true; a comparison's -1 is 255 to oclgrind once it is negated. */
#define TRUTH(c) select((whole)(0), (whole)(1), c)
/* Row i of the factors: three diagonals, then the vector. */
#define FACTOR(lu, c, i) ((lu)[4 * (i) + (c)])

#define TINY 1e-20f
#define BISECTIONS 28
#define ROUNDS 3 /* of inverse iteration; two would do but for starts that lie badly */

/* How many eigenvalues lie below x (Sturm). */
static inline whole below(__global const float *d, __global const float *e, int n, real x)
{
    real q = (real)(d[0]) - x;
    whole count = TRUTH(q < (real)(0.0f));
    for (int i = 1; i < n; i++) {
        q = select(q, (real)(-TINY), fabs(q) < (real)(TINY));
        q = (real)(d[i]) - x - (real)(e[i] * e[i]) / q;
        count += TRUTH(q < (real)(0.0f));
    }
    return count;
}

/* No eigenvalue is larger in size. */
static inline float bound_of(__global const float *d, __global const float *e, int n)
{
    float bound = 0.0f;
    for (int i = 0; i < n; i++)
        bound = fmax(bound, fabs(d[i]) + (i > 0 ? fabs(e[i]) : 0.0f) + (i + 1 < n ? fabs(e[i + 1]) : 0.0f));
    return bound;
}

/* Eigenvalue number j, 0 the smallest, of a matrix that is not negative. */
static inline real eigenvalue(__global const float *d, __global const float *e, int n, float bound, whole j)
{
    real low = (real)(-1e-5f * bound), high = (real)(1.00001f * bound);
    for (int i = 0; i < BISECTIONS; i++) {
        real middle = 0.5f * (low + high);
        whole count = below(d, e, n, middle);
        low = select(low, middle, count <= j);
        high = select(high, middle, count > j);
    }
    return 0.5f * (low + high);
}

/* Solves (T - shift) x = z in place of z by elimination with exchanges of rows;
 * a pivot smaller than `least` becomes that. */
static inline void solve(__global const float *d, __global const float *e, int n, real shift, float least,
                         __global real *lu)
{
    real a = (real)(d[0]) - shift, b = (real)(n > 1 ? e[1] : 0.0f), y = FACTOR(lu, 3, 0);
    for (int i = 0; i + 1 < n; i++) {
        real under = (real)(e[i + 1]), diagonal = (real)(d[i + 1]) - shift;
        real over = (real)(i + 2 < n ? e[i + 2] : 0.0f), z = FACTOR(lu, 3, i + 1);
        whole swap = fabs(under) > fabs(a);
        real pivot = select(a, under, swap);
        pivot = select(pivot, (real)(least), fabs(pivot) < (real)(least));
        real m = select(under, a, swap) / pivot;
        real u2 = select(b, diagonal, swap), u3 = select((real)(0.0f), over, swap);
        real top = select(y, z, swap), rest = select(z, y, swap);
        FACTOR(lu, 0, i) = pivot;
        FACTOR(lu, 1, i) = u2;
        FACTOR(lu, 2, i) = u3;
        FACTOR(lu, 3, i) = top;
        a = select(diagonal, b, swap) - m * u2;
        b = select(over, (real)(0.0f), swap) - m * u3;
        y = rest - m * top;
    }
    a = select(a, (real)(least), fabs(a) < (real)(least));
    real next = y / a, after = (real)(0.0f);
    FACTOR(lu, 3, n - 1) = next;
    for (int i = n - 2; i >= 0; i--) {
        real x = (FACTOR(lu, 3, i) - FACTOR(lu, 1, i) * next -
                  FACTOR(lu, 2, i) * after) / FACTOR(lu, 0, i);
        FACTOR(lu, 3, i) = x;
        after = next;
        next = x;
    }
}

/* Start of an eigenvector's iteration: between -1/2 and 1/2, without order. */
static inline float start_of(int i, int column)
{
    uint h = (uint)(i * 7919 + column * 104729 + 12345) * 2654435761u;
    h = (h ^ (h >> 15)) * 2246822519u;
    return (float)(h >> 9) * (1.0f / 8388608.0f) - 0.5f;
}

/* How far sample s of a window lies behind its first, in voxels. */
static inline int sample_offset(int s, int4 size, int4 radius)
{
    int wide = 2 * radius.x + 1, high = 2 * radius.y + 1, line = s / wide;
    return (s - line * wide) + size.x * ((line - line / high * high) + size.y * (line / high));
}

/* The larger of a window's two counts, over which Marchenko and Pastur's law takes the mean: its samples, or
 * its volumes where only as many eigenvalues as there are samples are not 0. */
static inline float larger_count(int4 shape)
{
    return (float)(shape.w > 0 ? shape.x : shape.z);
}

#if GROUP
#include "tensor/mppca_group.clh"
#else

/* ---- windows ------------------------------------------------------------ */

static inline float sum8(float8 v)
{
    float4 a = v.lo + v.hi;
    float2 b = a.lo + a.hi;
    return b.x + b.y;
}

static inline float dot8(__global const float *a, __global const float *b, int n8)
{
    float8 sum = (float8)(0.0f);
    for (int j = 0; j < n8; j++)
        sum += LOAD8(a + 8 * j) * LOAD8(b + 8 * j);
    return sum8(sum);
}

/* Centred samples x[s][stride] and their mean. */
static inline void centre(__global const float *packed, int corner, int4 size, int4 radius, int4 shape,
                          __global float *x, __global float *mean)
{
    int stride = shape.y, samples = shape.z;
    for (int j = 0; j < stride; j += 8) {
        float8 sum = (float8)(0.0f);
        for (int s = 0; s < samples; s++)
            sum += LOAD8(packed + (corner + sample_offset(s, size, radius)) * stride + j);
        STORE8(sum / (float8)((float)samples), mean + j);
    }
    for (int s = 0; s < samples; s++) {
        __global const float *from = packed + (corner + sample_offset(s, size, radius)) * stride;
        for (int j = 0; j < stride; j += 8)
            STORE8(LOAD8(from + j) - LOAD8(mean + j), x + s * stride + j);
    }
}

/* a = sum of x x^T, in blocks of four rows by eight columns. Returns the trace. */
static inline float covariance(__global const float *x, int4 shape, __global float *a)
{
    int n = shape.x, stride = shape.y, samples = shape.z;
    float trace = 0.0f;
    for (int i = 0; i < n; i += 4)
        for (int j = 0; j <= i; j += 8) {
            float8 s0 = (float8)(0.0f), s1 = s0, s2 = s0, s3 = s0;
            for (int s = 0; s < samples; s++) {
                __global const float *row = x + s * stride;
                float8 v = LOAD8(row + j);
                s0 += row[i] * v;
                s1 += row[i + 1] * v;
                s2 += row[i + 2] * v;
                s3 += row[i + 3] * v;
            }
            STORE8(s0, a + i * stride + j);
            STORE8(s1, a + (i + 1) * stride + j);
            STORE8(s2, a + (i + 2) * stride + j);
            STORE8(s3, a + (i + 3) * stride + j);
        }
    for (int i = 0; i < n; i++) {
        trace += a[i * stride + i];
        for (int j = 0; j < i; j++)
            a[j * stride + i] = a[i * stride + j];
        for (int j = n; j < stride; j++)
            a[i * stride + j] = 0.0f;
    }
    return trace;
}

/* Householder's reduction from the last row on. Row i of a is left with the
 * reflection's vector u, zero from i on, and inverse[i] with 2 over u u. */
static inline void tridiagonal(__global float *a, int n, int stride, __global float *d, __global float *e,
                               __global float *inverse, __global float *p)
{
    for (int i = n - 1; i > 0; i--) {
        __global float *u = a + i * stride;
        int m8 = (i + 7) / 8;
        d[i] = u[i];
        for (int j = i; j < 8 * m8; j++)
            u[j] = 0.0f;
        float x = u[i - 1];
        u[i - 1] = 0.0f;
        float others = dot8(u, u, m8);
        int any = others > TINY;
        float length = sqrt(others + x * x), to = any ? (x > 0.0f ? -length : length) : x;
        float half_square = others + x * x - to * x, over = any ? 1.0f / half_square : 0.0f;
        u[i - 1] = x - to;
        e[i] = to;
        inverse[i] = over;
        if (!any)
            continue;
        for (int j = 0; j < m8; j++)
            STORE8((float8)(0.0f), p + 8 * j);
        int r = 0;
        for (; r + 4 <= i; r += 4) {
            __global const float *row = a + r * stride;
            float u0 = u[r], u1 = u[r + 1], u2 = u[r + 2], u3 = u[r + 3];
            for (int j = 0; j < 8 * m8; j += 8)
                STORE8(LOAD8(p + j) + ((u0 * LOAD8(row + j) + u1 * LOAD8(row + stride + j)) +
                                       (u2 * LOAD8(row + 2 * stride + j) + u3 * LOAD8(row + 3 * stride + j))),
                       p + j);
        }
        for (; r < i; r++)
            for (int j = 0; j < 8 * m8; j += 8)
                STORE8(LOAD8(p + j) + u[r] * LOAD8(a + r * stride + j), p + j);
        float k = 0.5f * over * over * dot8(u, p, m8);
        for (int j = 0; j < 8 * m8; j += 8)
            STORE8(over * LOAD8(p + j) - k * LOAD8(u + j), p + j);
        for (int j = i; j < 8 * m8; j++)
            p[j] = 0.0f;
        for (r = 0; r < i; r++) {
            __global float *row = a + r * stride;
            float ur = u[r], pr = p[r];
            for (int j = 0; j < 8 * m8; j += 8)
                STORE8(LOAD8(row + j) - (pr * LOAD8(u + j) + ur * LOAD8(p + j)), row + j);
        }
    }
    d[0] = a[0];
    e[0] = 0.0f;
}

/* Eigenvalues in the order in which they are asked for: the least, then from the
 * largest down. known: how many there are, a multiple of eight. */
static inline int more_values(__global const float *d, __global const float *e, int n, int least, float bound,
                              int known, __global float *value)
{
    int8 at = (int8)(n - known) - (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    if (known == 0)
        at.s0 = least;
    STORE8(eigenvalue(d, e, n, bound, select(at, (int8)(0), at < 0)), value + known);
    return known + 8;
}

static inline void orthonormalise(__global float *vectors, int rank, int stride)
{
    for (int p = 0; p < rank; p++) {
        __global float *v = vectors + p * stride;
        for (int again = 0; again < 2; again++) {
            for (int q = 0; q < p; q++) {
                __global const float *w = vectors + q * stride;
                float s = dot8(v, w, stride / 8);
                for (int j = 0; j < stride; j += 8)
                    STORE8(LOAD8(v + j) - s * LOAD8(w + j), v + j);
            }
            float scale = rsqrt(fmax(dot8(v, v, stride / 8), 1e-30f));
            for (int j = 0; j < stride; j += 8)
                STORE8(LOAD8(v + j) * scale, v + j);
        }
    }
}

/* Eigenvectors by inverse iteration, eight at a time, then through the
 * reflections to those of the covariance. */
static inline void eigenvectors(__global const float *a, int n, int stride, __global const float *d,
                                __global const float *e, __global const float *inverse,
                                __global const float *value, float bound, int rank, __global float8 *lu,
                                __global float *vectors)
{
    for (int p = 0; p < (rank + 7) / 8 * 8; p++)
        for (int i = 0; i < stride; i++)
            vectors[p * stride + i] = i < n ? start_of(i, p) : 0.0f;
    for (int round = 0; round < ROUNDS; round++) {
        for (int p = 0; p < rank; p += 8) {
            __global float *v = vectors + p * stride;
            for (int i = 0; i < n; i++)
                lu[4 * i + 3] = (float8)(v[i], v[i + stride], v[i + 2 * stride], v[i + 3 * stride],
                                         v[i + 4 * stride], v[i + 5 * stride], v[i + 6 * stride],
                                         v[i + 7 * stride]);
            solve(d, e, n, LOAD8(value + 1 + p), 1e-7f * bound, lu);
            for (int i = 0; i < n; i++) {
                float8 z = lu[4 * i + 3];
                v[i] = z.s0, v[i + stride] = z.s1, v[i + 2 * stride] = z.s2, v[i + 3 * stride] = z.s3;
                v[i + 4 * stride] = z.s4, v[i + 5 * stride] = z.s5, v[i + 6 * stride] = z.s6;
                v[i + 7 * stride] = z.s7;
            }
        }
        orthonormalise(vectors, rank, stride);
    }
    for (int p = 0; p < rank; p++)
        for (int i = 1; i < n; i++) {
            __global const float *u = a + i * stride;
            __global float *v = vectors + p * stride;
            float s = inverse[i] * dot8(u, v, (i + 7) / 8);
            for (int j = 0; j < i; j += 8)
                STORE8(LOAD8(v + j) - s * LOAD8(u + j), v + j);
        }
}

/* A work-item ITEM_X windows of a row, 0: all. scratch, a work-item: x, a, lu, and vectors. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
mppca_window(__global const float *packed, __global const float *mask, int4 size, int4 radius, int4 box,
             int4 count, int4 shape, float factor, __global float *scratch, int slot,
             __global float *vectors, __global float *coefficients, __global float *means,
             __global float4 *facts)
{
    int wy = (int)get_global_id(1), wz = (int)get_global_id(2);
    int n = shape.x, stride = shape.y, samples = shape.z, row = wz * count.y + wy;
#if ITEM_X
    int items = (count.x + ITEM_X - 1) / ITEM_X, item = (int)get_global_id(0), own = row * items + item;
    int first = item * ITEM_X, end = min(first + ITEM_X, count.x);
#else
    int first = 0, end = count.x, own = row;
#endif
    if (first >= end)
        return;
    __global float *x = scratch + own * slot, *a = x + samples * stride;
    __global float8 *lu = (__global float8 *)(a + stride * stride);
    __global float *d = a + stride * stride + 32 * stride, *e = d + stride, *inverse = e + stride;
    __global float *p = inverse + stride, *value = p + stride;
    for (int wx = first; wx < end; wx++) {
        int w = row * count.x + wx;
        int corner = ((box.z + wz) * size.y + box.y + wy) * size.x + box.x + wx;
        int middle = corner + (radius.z * size.y + radius.y) * size.x + radius.x;
        if (mask && !(mask[middle] > 0.0f)) {
            facts[w] = (float4)(0.0f);
            continue;
        }
        centre(packed, corner, size, radius, shape, x, means + w * stride);
        float trace = covariance(x, shape, a);
        if (!(trace > 0.0f)) {
            facts[w] = (float4)(1.0f / (1.0f + n), 0.0f, 0.0f, 0.0f);
            continue;
        }
        float scale = n / trace;
        for (int j = 0; j < n * stride; j += 8)
            STORE8(LOAD8(a + j) * scale, a + j);
        tridiagonal(a, n, stride, d, e, inverse, p);
        float bound = bound_of(d, e, n), rest = 0.0f;
        for (int i = 0; i < n; i++)
            rest += d[i];
        int left = n - shape.w, at = 1, known = more_values(d, e, n, shape.w, bound, 0, value);
        float var = rest / left;
        while (left > 1 && value[at] - value[0] > 4.0f * sqrt(left / larger_count(shape)) * var) {
            rest -= value[at];
            left--;
            var = fmax(rest, 0.0f) / left;
            at++;
            if (at >= known)
                known = more_values(d, e, n, shape.w, bound, known, value);
        }
        int rank = min(n - below(d, e, n, (float8)(factor * var)).s0, n - shape.w);
        while (known < (rank + 7) / 8 * 8 + 8)
            known = more_values(d, e, n, shape.w, bound, known, value);
        for (int i = 2; i <= rank; i++)
            value[i] = fmin(value[i], value[i - 1] - 5e-7f * bound);
        __global float *v = vectors + w * stride * stride, *c = coefficients + w * samples * stride;
        eigenvectors(a, n, stride, d, e, inverse, value, bound, rank, lu, v);
        for (int s = 0; s < samples; s++)
            for (int i = 0; i < rank; i++)
                c[s * stride + i] = dot8(x + s * stride, v + i * stride, stride / 8);
        facts[w] = (float4)(1.0f / (1.0f + rank), var * (trace / n) / larger_count(shape), (float)rank, 0.0f);
    }
}

/* ---- before and after --------------------------------------------------- */

/* Volumes after one another become voxels after one another, `stride` floats
 * each, zeros behind the last; what is not finite counts as 0. */
__kernel void mppca_pack(__global const float *dwi, int n, int volumes, int stride, __global float *packed,
                         __global float *sums, __global float *weights)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++) {
        for (int k = 0; k < stride; k++) {
            float v = k < volumes ? dwi[k * n + i] : 0.0f;
            packed[i * stride + k] = isfinite(v) ? v : 0.0f;
            sums[i * stride + k] = 0.0f;
        }
        weights[2 * i] = weights[2 * i + 1] = 0.0f;
    }
}

/* The windows of a box that reach a voxel: from first to last along an axis. */
static inline int first_window(int at, int radius, int from)
{
    return max(at - 2 * radius, from);
}

static inline int last_window(int at, int from, int count)
{
    return min(at, from + count - 1);
}

/* Adds to voxels of rows and planes from the box's first on what its windows
 * say of them, weighted, in the windows' order. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
mppca_gather_group(__global const float *vectors, __global const float *coefficients,
                   __global const float *means, __global const float4 *facts, __global const float *mask,
                   int4 size, int4 radius, int4 box, int4 count, int4 shape, __global float *sums,
                   __global float *weights)
{
    int x = (int)get_group_id(0) + box.x, y = (int)get_group_id(1) + box.y, z = (int)get_group_id(2) + box.z;
    int stride = shape.y, samples = shape.z, i = (z * size.y + y) * size.x + x;
    int wide = 2 * radius.x + 1, high = 2 * radius.y + 1;
    if (mask && !(mask[i] > 0.0f))
        return;
    for (int k = (int)get_local_id(0); k < stride; k += TILE_X) {
        int keeps = k == stride - 1; /* one of them keeps the weights */
        float sum = sums[i * stride + k], weight = 0.0f, var = 0.0f;
        if (keeps) {
            weight = weights[2 * i];
            var = weights[2 * i + 1];
        }
        for (int wz = first_window(z, radius.z, box.z); wz <= last_window(z, box.z, count.z); wz++)
            for (int wy = first_window(y, radius.y, box.y); wy <= last_window(y, box.y, count.y); wy++)
                for (int wx = first_window(x, radius.x, box.x); wx <= last_window(x, box.x, count.x); wx++) {
                    int w = ((wz - box.z) * count.y + wy - box.y) * count.x + wx - box.x;
                    int s = ((z - wz) * high + y - wy) * wide + x - wx;
                    float4 f = facts[w];
                    int rank = (int)f.z;
                    __global const float *c = coefficients + (w * samples + s) * stride;
                    __global const float *v = vectors + w * stride * stride + k;
                    float value = f.x > 0.0f ? means[w * stride + k] : 0.0f;
                    for (int r = 0; r < rank; r++)
                        value += c[r] * v[r * stride];
                    sum += f.x * value;
                    weight += f.x;
                    var += f.x * f.y;
                }
        sums[i * stride + k] = sum;
        if (keeps) {
            weights[2 * i] = weight;
            weights[2 * i + 1] = var;
        }
    }
}

/* The same, a work-item a row of voxels. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
mppca_gather_row(__global const float *vectors, __global const float *coefficients,
                 __global const float *means, __global const float4 *facts, __global const float *mask,
                 int4 size, int4 radius, int4 box, int4 count, int4 shape, __global float *sums,
                 __global float *weights)
{
    int y = (int)get_global_id(1) + box.y, z = (int)get_global_id(2) + box.z;
    int stride = shape.y, samples = shape.z, wide = 2 * radius.x + 1, high = 2 * radius.y + 1;
    for (int x = box.x; x < box.x + count.x + 2 * radius.x; x++) {
        int i = (z * size.y + y) * size.x + x;
        if (mask && !(mask[i] > 0.0f))
            continue;
        float weight = weights[2 * i], var = weights[2 * i + 1];
        for (int wz = first_window(z, radius.z, box.z); wz <= last_window(z, box.z, count.z); wz++)
            for (int wy = first_window(y, radius.y, box.y); wy <= last_window(y, box.y, count.y); wy++)
                for (int wx = first_window(x, radius.x, box.x); wx <= last_window(x, box.x, count.x); wx++) {
                    int w = ((wz - box.z) * count.y + wy - box.y) * count.x + wx - box.x;
                    int s = ((z - wz) * high + y - wy) * wide + x - wx;
                    float4 f = facts[w];
                    int rank = (int)f.z;
                    __global const float *c = coefficients + (w * samples + s) * stride;
                    __global const float *v = vectors + w * stride * stride;
                    if (!(f.x > 0.0f))
                        continue;
                    for (int k = 0; k < stride; k += 8) {
                        float8 value = LOAD8(means + w * stride + k);
                        for (int r = 0; r < rank; r++)
                            value += c[r] * LOAD8(v + r * stride + k);
                        STORE8(LOAD8(sums + i * stride + k) + f.x * value, sums + i * stride + k);
                    }
                    weight += f.x;
                    var += f.x * f.y;
                }
        weights[2 * i] = weight;
        weights[2 * i + 1] = var;
    }
}

/* The weighted mean, not below least, and 0 outside the mask. What was not finite
 * stays, and so does what no window reached. out may be dwi. */
__kernel void mppca_finish(__global const float *dwi, __global const float *mask, int n, int volumes,
                           int stride, float least, __global const float *sums, __global const float *weights,
                           __global float *out, __global float *sigma)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    for (int i = first; i < last; i++) {
        int in = !mask || mask[i] > 0.0f;
        float weight = weights[2 * i];
        for (int k = 0; k < volumes; k++) {
            float was = dwi[k * n + i];
            float value = weight > 0.0f && isfinite(was) ? fmax(sums[i * stride + k] / weight, least) : was;
            out[k * n + i] = in ? value : 0.0f;
        }
        sigma[i] = in && weight > 0.0f ? sqrt(weights[2 * i + 1] / weight) : 0.0f;
    }
}
#endif
