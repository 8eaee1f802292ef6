/* SPDX-License-Identifier: Apache-2.0 */
/* Fourier transforms of vector fields and of what lies in their place: `half`
 * complex numbers (x / 2 + 1) for each row of each component, planar.
 * ROW_FORM: for CPU devices. memory: 4 n pitch lanes. tables: roots of one of each axis, those for n from
 * `root` on, then of each axis 4 sin^2(a / 2) and sin a of its angles a. lists:
 * radices, those for n from `list` on. */
#include "common/border.clh"
#include "common/field_row.clh"
#include "fluid/fourier.clh"

#if ROW_FORM
#define WIDE 8
#else
#define WIDE 1
#endif

#define FFT_ARGUMENTS                                                                             \
    int n, int shift, int pitch, __global const float2 *tables, int root, __global const int *lists, \
        int list, __local lanes *memory
#define TRANSFORM transform(memory, n, shift, pitch, item, tables + root, lists + list)

/* A float of a line: lanes are eight lines each on CPU devices. */
#define AT(p, k, line) ((__local float *)((p) + (k) * pitch))[line]

#if ROW_FORM
/* Rows go through the lines eight by eight: sixteen of a component, two of which are real and imaginary parts
 * of a line, then the same ones of the next component. */

/* Rows become columns. */
INLINE void transpose8(float8 *v)
{
    float8 s[8];
#pragma unroll
    for (int i = 0; i < 8; i += 2) {
        float8 a = v[i], b = v[i + 1];
        s[i] = (float8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5);
        s[i + 1] = (float8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7);
    }
#pragma unroll
    for (int i = 0; i < 8; i += 4)
#pragma unroll
        for (int j = 0; j < 2; j++) {
            float8 a = s[i + j], b = s[i + j + 2];
            v[i + 2 * j] = (float8)(a.s0, a.s1, b.s0, b.s1, a.s4, a.s5, b.s4, b.s5);
            v[i + 2 * j + 1] = (float8)(a.s2, a.s3, b.s2, b.s3, a.s6, a.s7, b.s6, b.s7);
        }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        float8 a = v[i], b = v[i + 4];
        v[i] = (float8)(a.lo, b.lo);
        v[i + 4] = (float8)(a.hi, b.hi);
    }
}

/* A component of the voxels i to i + 7 of a field of n, and where it is put: component 0 before the
 * others. */
INLINE float8 load_part(__global const float *field, int i, int c, int n)
{
#if FIELD_PACKED
    float8 p = LOAD8(field + 3 * i), q = LOAD8(field + 3 * i + 8), r = LOAD8(field + 3 * i + 16);
    switch (c) {
    case 0: return (float8)(p.s0, p.s3, p.s6, q.s1, q.s4, q.s7, r.s2, r.s5);
    case 1: return (float8)(p.s1, p.s4, p.s7, q.s2, q.s5, r.s0, r.s3, r.s6);
    default: return (float8)(p.s2, p.s5, q.s0, q.s3, q.s6, r.s1, r.s4, r.s7);
    }
#else
    return LOAD8(field + c * n + i);
#endif
}

INLINE void store_part(float8 v, __global float *field, int i, int c, int n)
{
#if FIELD_PACKED
    __global float *to = field + 3 * i;
    if (c == 0) {
        STORE8((float8)(v.s0, v.s0, v.s0, v.s1, v.s1, v.s1, v.s2, v.s2), to);
        STORE8((float8)(v.s2, v.s3, v.s3, v.s3, v.s4, v.s4, v.s4, v.s5), to + 8);
        STORE8((float8)(v.s5, v.s5, v.s6, v.s6, v.s6, v.s7, v.s7, v.s7), to + 16);
    } else {
        float8 p = LOAD8(to), q = LOAD8(to + 8), r = LOAD8(to + 16);
        if (c == 1) {
            STORE8((float8)(p.s0, v.s0, p.s2, p.s3, v.s1, p.s5, p.s6, v.s2), to);
            STORE8((float8)(q.s0, q.s1, v.s3, q.s3, q.s4, v.s4, q.s6, q.s7), to + 8);
            STORE8((float8)(v.s5, r.s1, r.s2, v.s6, r.s4, r.s5, v.s7, r.s7), to + 16);
        } else {
            STORE8((float8)(p.s0, p.s1, v.s0, p.s3, p.s4, v.s1, p.s6, p.s7), to);
            STORE8((float8)(v.s2, q.s1, q.s2, v.s3, q.s4, q.s5, v.s4, q.s7), to + 8);
            STORE8((float8)(r.s0, v.s5, r.s2, r.s3, v.s6, r.s5, r.s6, v.s7), to + 16);
        }
    }
#else
    STORE8(v, field + c * n + i);
#endif
}

/* Fewer than eight floats. */
INLINE float8 load_few(__global const float *from, int count)
{
    float v[8];
    for (int i = 0; i < 8; i++)
        v[i] = i < count ? from[i] : 0.0f;
    return GET8(v);
}

INLINE void store_few(float8 v, __global float *to, int count)
{
    float w[8];
    PUT8(v, w);
    for (int i = 0; i < count; i++)
        to[i] = w[i];
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
fft_rows(__global const float *in, __global float2 *out, int rows, FFT_ARGUMENTS)
{
    const int item = 0;
    int first = get_group_id(0) * 2 * WIDE, last = rows - 1, kept = n / 2 + 1, voxels = n * rows;
    for (int c = 0; c < 3; c++) {
        __local lanes *re = memory, *im = memory + n * pitch;
        for (int odd = 0; odd < 2; odd++) {
            __local lanes *part = odd ? im : re;
            for (int x = 0; n >= 8 && x < n; x += 8) {
                float8 v[8];
                x = min(x, n - 8); /* the last one may overlap the one before */
#pragma unroll
                for (int line = 0; line < 8; line++)
                    v[line] = load_part(in, min(first + 2 * line + odd, last) * n + x, c, voxels);
                transpose8(v);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    part[x + j] = v[j];
            }
            for (int x = 0; n < 8 && x < n; x++)
                for (int line = 0; line < 8; line++)
                    AT(part, x, line) = in[VEC_AT(min(first + 2 * line + odd, last) * n + x, c, voxels)];
        }
        int now = TRANSFORM;
        re = memory + now * n * pitch;
        im = re + n * pitch;
        for (int k = 0; k < kept; k += 4) {
            float8 even[8], odd[8];
            k = max(min(k, kept - 4), 0);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int at = min(k + j, kept - 1), mirror = at == 0 ? 0 : n - at;
                float8 p = 0.5f * re[at], q = 0.5f * im[at], s = 0.5f * re[mirror], t = 0.5f * im[mirror];
                even[2 * j] = p + s;
                even[2 * j + 1] = q - t;
                odd[2 * j] = q + t;
                odd[2 * j + 1] = s - p;
            }
            transpose8(even);
            transpose8(odd);
#pragma unroll
            for (int i = 0; i < 2 * WIDE; i++) {
                int row = first + i, there = min(kept, 4);
                float8 v = i & 1 ? odd[i / 2] : even[i / 2];
                __global float *to = (__global float *)(out + (c * rows + row) * kept + k);
                if (row < rows && there == 4)
                    STORE8(v, to);
                else if (row < rows)
                    store_few(v, to, 2 * there);
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
fft_rows_back(__global const float2 *in, __global float *out, int rows, float scale, FFT_ARGUMENTS)
{
    const int item = 0;
    int first = get_group_id(0) * 2 * WIDE, last = rows - 1, kept = n / 2 + 1, voxels = n * rows;
    for (int c = 0; c < 3; c++) {
        __local lanes *im = memory, *re = memory + n * pitch; /* exchanged: the inverse */
        for (int k = 0; k < kept; k += 4) {
            float8 even[8], odd[8];
            k = max(min(k, kept - 4), 0);
#pragma unroll
            for (int line = 0; line < 8; line++) {
                int row = first + 2 * line;
                __global const float *a =
                    (__global const float *)(in + (c * rows + min(row, last)) * kept + k);
                __global const float *b =
                    (__global const float *)(in + (c * rows + min(row + 1, last)) * kept + k);
                even[line] = kept < 4 ? load_few(a, 2 * kept) : LOAD8(a);
                odd[line] = kept < 4 ? load_few(b, 2 * kept) : LOAD8(b);
            }
            transpose8(even);
            transpose8(odd);
#pragma unroll
            for (int j = 0; j < 4; j++) {
                int at = k + j;
                float8 p = even[2 * j], q = even[2 * j + 1], s = odd[2 * j], t = odd[2 * j + 1];
                if (at < kept) {
                    re[at] = p - t;
                    im[at] = q + s;
                }
                if (at > 0 && 2 * at < n) {
                    re[n - at] = p + t;
                    im[n - at] = s - q;
                }
            }
        }
        int now = TRANSFORM;
        im = memory + now * n * pitch;
        re = im + n * pitch;
        for (int odd = 0; odd < 2; odd++) {
            __local const lanes *part = odd ? im : re;
            for (int x = 0; n >= 8 && x < n; x += 8) {
                float8 v[8];
                x = min(x, n - 8);
#pragma unroll
                for (int j = 0; j < 8; j++)
                    v[j] = scale * part[x + j];
                transpose8(v);
#pragma unroll
                for (int line = 0; line < 8; line++) {
                    int row = first + 2 * line + odd;
                    if (row < rows)
                        store_part(v[line], out, row * n + x, c, voxels);
                }
            }
            for (int x = 0; n < 8 && x < n; x++)
                for (int line = 0; line < 8 && first + 2 * line + odd < rows; line++)
                    out[VEC_AT((first + 2 * line + odd) * n + x, c, voxels)] = scale * AT(part, x, line);
        }
    }
}
#else
/* Start of row `row` of all components. */
static inline int row_start(int row, int nx, int rows)
{
#if FIELD_PACKED
    return row % rows * 3 * nx + row / rows;
#else
    return row * nx;
#endif
}
#if FIELD_PACKED
#define STEP 3
#else
#define STEP 1
#endif

/* Rows are taken two at a time, as real and imaginary parts of one line. Work-
 * items take stretches of SPAN along x, of several rows at once. */
#define SPAN (ITEMS % 32 == 0 ? 32 : 1)

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fft_rows(__global const float *in, __global float2 *out, int rows, FFT_ARGUMENTS)
{
    int item = get_local_id(0), lines = WIDE << shift, first = get_group_id(0) * lines, kept = n / 2 + 1;
    __local lanes *re = memory, *im = memory + n * pitch;
    for (int line = item / SPAN; line < lines; line += ITEMS / SPAN) {
        int row = 2 * (first + line), last = 3 * rows - 1;
        __global const float *a = in + row_start(min(row, last), n, rows);
        __global const float *b = in + row_start(min(row + 1, last), n, rows);
        for (int x = item % SPAN; x < n; x += SPAN) {
            AT(re, x, line) = a[x * STEP];
            AT(im, x, line) = b[x * STEP];
        }
    }
    int now = TRANSFORM;
    re = memory + now * n * pitch;
    im = re + n * pitch;
    for (int line = item / SPAN; line < lines; line += ITEMS / SPAN) {
        int row = 2 * (first + line);
        for (int k = item % SPAN; k < kept; k += SPAN) {
            int mirror = k == 0 ? 0 : n - k;
            float p = 0.5f * AT(re, k, line), q = 0.5f * AT(im, k, line);
            float s = 0.5f * AT(re, mirror, line), t = 0.5f * AT(im, mirror, line);
            if (row < 3 * rows)
                out[row * kept + k] = (float2)(p + s, q - t);
            if (row + 1 < 3 * rows)
                out[(row + 1) * kept + k] = (float2)(q + t, s - p);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fft_rows_back(__global const float2 *in, __global float *out, int rows, float scale, FFT_ARGUMENTS)
{
    int item = get_local_id(0), lines = WIDE << shift, first = get_group_id(0) * lines, kept = n / 2 + 1;
    __local lanes *im = memory, *re = memory + n * pitch; /* exchanged: the inverse */
    for (int line = item / SPAN; line < lines; line += ITEMS / SPAN) {
        int row = 2 * (first + line), last = 3 * rows - 1;
        __global const float2 *a = in + min(row, last) * kept, *b = in + min(row + 1, last) * kept;
        for (int k = item % SPAN; k < kept; k += SPAN) {
            float2 p = a[k], q = b[k];
            AT(re, k, line) = p.x - q.y;
            AT(im, k, line) = p.y + q.x;
            if (k > 0 && 2 * k < n) {
                AT(re, n - k, line) = p.x + q.y;
                AT(im, n - k, line) = q.x - p.y;
            }
        }
    }
    int now = TRANSFORM;
    im = memory + now * n * pitch;
    re = im + n * pitch;
    for (int line = item / SPAN; line < lines; line += ITEMS / SPAN) {
        int row = 2 * (first + line), last = 3 * rows - 1;
        __global float *a = out + row_start(min(row, last), n, rows);
        __global float *b = out + row_start(min(row + 1, last), n, rows);
        for (int x = item % SPAN; x < n; x += SPAN) {
            if (row < 3 * rows)
                a[x * STEP] = scale * AT(re, x, line);
            if (row + 1 < 3 * rows)
                b[x * STEP] = scale * AT(im, x, line);
        }
    }
}
#endif

#if ROW_FORM
/* `count` columns of n, `inner` apart, beside one another, from eight or fewer; lanes without one hold 0. */
INLINE void load_columns(__local lanes *re, __local lanes *im, __global const float2 *from, int n, int inner,
                         int count)
{
    for (int k = 0; k < n; k++) {
        __global const float *p = (__global const float *)(from + k * inner);
        float8 a = count < 4 ? load_few(p, 2 * count) : LOAD8(p);
        float8 b = count < 8 ? load_few(p + 8, 2 * count - 8) : LOAD8(p + 8);
        re[k] = (float8)(a.even, b.even);
        im[k] = (float8)(a.odd, b.odd);
    }
}

INLINE void store_columns(__local const lanes *re, __local const lanes *im, __global float2 *to, int n,
                          int inner, int count)
{
    for (int k = 0; k < n; k++) {
        __global float *p = (__global float *)(to + k * inner);
        float8 r = re[k], i = im[k];
        float8 a = (float8)(r.s0, i.s0, r.s1, i.s1, r.s2, i.s2, r.s3, i.s3);
        float8 b = (float8)(r.s4, i.s4, r.s5, i.s5, r.s6, i.s6, r.s7, i.s7);
        if (count < 4) {
            store_few(a, p, 2 * count);
        } else {
            STORE8(a, p);
            if (count < 8)
                store_few(b, p + 8, 2 * count - 8);
            else
                STORE8(b, p + 8);
        }
    }
}
#endif

/* Numbers of columns along z over the operator's eigenvalues. */
INLINE void divide(__local lanes *numbers, int n, int lines, int pitch, int item, int inner, int columns,
                   int first, int4 size, float4 weight, float scale, int twice, __global const float2 *waves)
{
    int kept = size.x / 2 + 1;
#if ROW_FORM
    float flat[8];
    for (int line = 0; line < 8; line++) {
        int c = min(first + line, columns - 1) % inner;
        flat[line] = weight.w + weight.x * waves[c % kept].x + weight.y * waves[size.x + c / kept].x;
    }
    float8 rest = GET8(flat);
    for (int k = 0; k < n; k++) {
        float8 value = rest + weight.z * waves[size.x + size.y + k].x, factor = scale / value;
        factor = twice ? factor / value : factor;
        numbers[k] *= factor;
        numbers[k + n] *= factor;
    }
#else
    for (int i = item; i < n * lines; i += ITEMS) {
        int k = i / lines, line = i - k * lines, c = min(first + line, columns - 1) % inner;
        float value = weight.w + weight.x * waves[c % kept].x + weight.y * waves[size.x + c / kept].x +
                      weight.z * waves[size.x + size.y + k].x;
        float factor = scale / value;
        factor = twice ? factor / value : factor;
        AT(numbers, k, line) *= factor;
        AT(numbers + n * pitch, k, line) *= factor;
    }
#endif
}

/* How columns are transformed. */
#define BACK 1
#define SOLVE 2
#define SOLVE_TWICE 3

/* Columns of n numbers, `inner` apart, of which `inner` lie beside one another.
 * SOLVE: the columns are along z, and what they are transformed to is divided by
 * the operator's eigenvalue (SOLVE_TWICE: by its square), then transformed back. size: of the field. weight:
 * alpha / spacing^2 and gamma. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void fft_columns(__global float2 *data, int inner, int columns, int how, int4 size, float4 weight,
                 float scale, FFT_ARGUMENTS)
{
    int item = get_local_id(0), lines = WIDE << shift, first = get_group_id(0) * lines;
    int swap = how == BACK ? n * pitch : 0;
    __local lanes *re = memory + swap, *im = memory + n * pitch - swap;
#if ROW_FORM
    int at = first / inner * inner * n + first % inner;
    bool together = first % inner + 8 <= inner && first + 8 <= columns;
    if (together)
        load_columns(re, im, data + at, n, inner, 8);
    else
        for (int line = 0; line < 8; line++) {
            int column = min(first + line, columns - 1), base = column / inner * inner * n + column % inner;
            for (int k = 0; k < n; k++) {
                AT(re, k, line) = data[base + k * inner].x;
                AT(im, k, line) = data[base + k * inner].y;
            }
        }
#else
    int line = item & (lines - 1), column = first + line;
    int at = min(column, columns - 1) / inner * inner * n + min(column, columns - 1) % inner;
    for (int k = item >> shift; k < n; k += ITEMS >> shift) {
        float2 v = column < columns ? data[at + k * inner] : (float2)(0.0f);
        AT(re, k, line) = v.x;
        AT(im, k, line) = v.y;
    }
#endif
    int now = 0;
    for (int left = how >= SOLVE ? 2 : 1; left > 0; left--) {
        now = TRANSFORM;
        if (left == 2) {
            divide(memory + now * n * pitch, n, lines, pitch, item, inner, columns, first, size, weight,
                   scale, how == SOLVE_TWICE, tables + size.x + size.y + size.z);
            /* Back: real and imaginary parts change places, each by the item that divided it. */
            __local lanes *p = memory + now * n * pitch, *q = p + n * pitch;
            for (int i = item; i < n << shift; i += ITEMS) {
                int cell = (i >> shift) * pitch + (i & ((1 << shift) - 1));
                lanes a = p[cell], b = q[cell];
                memory[cell] = b;
                memory[n * pitch + cell] = a;
            }
            swap = n * pitch;
        }
    }
    re = memory + now * n * pitch + swap;
    im = memory + (now + 1) * n * pitch - swap;
#if ROW_FORM
    if (together)
        store_columns(re, im, data + at, n, inner, 8);
    else
        for (int line = 0; line < 8 && first + line < columns; line++) {
            int column = first + line, base = column / inner * inner * n + column % inner;
            for (int k = 0; k < n; k++)
                data[base + k * inner] = (float2)(AT(re, k, line), AT(im, k, line));
        }
#else
    if (column < columns)
        for (int k = item >> shift; k < n; k += ITEMS >> shift)
            data[at + k * inner] = (float2)(AT(re, k, line), AT(im, k, line));
#endif
}

/* A wave's matrix of three equations by Cholesky's factors without roots; all pivots are positive. T: of one
 * wave, or of a lane each; NUMBER: what it is solved for. w, s: what `tables` hold of the wave's angles.
 * along: beta / spacing^2, cross: beta / (spacing spacing) of xy, xz, yz. */
#define EQUATIONS(T, NUMBER)                                                                        \
    typedef struct factors {                                                                        \
        T a, pivot, last, l1, l2, l3;                                                               \
    } factors;                                                                                      \
    static inline factors factors_of(T wx, T sx, T wy, T sy, float2 z, float4 weight, float4 along, \
                                     float4 cross)                                                  \
    {                                                                                               \
        T same = weight.w + weight.x * wx + weight.y * wy + weight.z * z.x;                         \
        T a = same + along.x * wx, b = cross.x * sx * sy, c = cross.y * sx * z.y;                   \
        T d = same + along.y * wy, e = cross.z * sy * z.y, f = same + along.z * z.x;                \
        factors by;                                                                                 \
        by.a = a;                                                                                   \
        by.l1 = b / a;                                                                              \
        by.l2 = c / a;                                                                              \
        by.pivot = d - by.l1 * b;                                                                   \
        T rest = e - by.l2 * b;                                                                     \
        by.l3 = rest / by.pivot;                                                                    \
        by.last = f - by.l2 * c - by.l3 * rest;                                                     \
        return by;                                                                                  \
    }                                                                                               \
    static inline void substitute(const factors *f, float scale, NUMBER *x, NUMBER *y, NUMBER *z)   \
    {                                                                                               \
        NUMBER p = scale * *x, q = scale * *y - f->l1 * p;                                          \
        NUMBER r = (scale * *z - f->l2 * p - f->l3 * q) / f->last;                                  \
        q = q / f->pivot - f->l3 * r;                                                               \
        *x = p / f->a - f->l1 * q - f->l2 * r;                                                      \
        *y = q;                                                                                     \
        *z = r;                                                                                     \
    }

#if ROW_FORM
EQUATIONS(float8, float8)

/* Columns along z of all components, transformed, solved for once or twice, and back: eight of each at once,
 * in four rooms of 2 n lanes, one of which is free. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void
fft_coupled(__global float2 *data, int4 size, float4 weight, float4 along, float4 cross, float scale,
            int twice, FFT_ARGUMENTS)
{
    const int item = 0;
    __global const float2 *waves = tables + size.x + size.y + size.z;
    int kept = size.x / 2 + 1, inner = kept * size.y, first = get_group_id(0) * WIDE,
        count = min(inner - first, WIDE);
    int part = n * pitch, place[3] = {0, 2 * part, 4 * part}, room = 6 * part;
    for (int turn = 0; turn < 6; turn++) {
        int c = turn % 3;
        __global float2 *column = data + c * inner * n + first;
        if (turn < 3)
            load_columns(memory + place[c], memory + place[c] + part, column, n, inner, count);
        int apart = room - place[c], now = transform_apart(memory + place[c], apart, n, shift, pitch, item,
                                                           tables + root, lists + list);
        place[c] += now * apart;
        room -= now * apart;
        if (turn >= 3) /* exchanged: the inverse */
            store_columns(memory + place[c] + part, memory + place[c], column, n, inner, count);
        if (turn != 2)
            continue;
        float wx[8], sx[8], wy[8], sy[8];
        for (int line = 0; line < 8; line++) {
            int wave = min(first + line, inner - 1);
            float2 x = waves[wave % kept], y = waves[size.x + wave / kept];
            wx[line] = x.x;
            sx[line] = x.y;
            wy[line] = y.x;
            sy[line] = y.y;
        }
        float8 x = GET8(wx), px = GET8(sx), y = GET8(wy), py = GET8(sy);
        __local lanes *p = memory + place[0], *q = memory + place[1], *r = memory + place[2];
        for (int k = 0; k < n; k++) {
            const factors by = factors_of(x, px, y, py, waves[size.x + size.y + k], weight, along, cross);
            float8 re[3] = {p[k], q[k], r[k]}, im[3] = {p[k + part], q[k + part], r[k + part]};
            substitute(&by, scale, &re[0], &re[1], &re[2]);
            substitute(&by, scale, &im[0], &im[1], &im[2]);
            if (twice) {
                substitute(&by, 1.0f, &re[0], &re[1], &re[2]);
                substitute(&by, 1.0f, &im[0], &im[1], &im[2]);
            }
            p[k] = im[0];
            q[k] = im[1];
            r[k] = im[2];
            p[k + part] = re[0];
            q[k + part] = re[1];
            r[k + part] = re[2];
        }
    }
}
#else
EQUATIONS(float, float2)

/* Coupled components: three equations for each wave, solved once or twice. */
__kernel void fft_solve(__global float2 *data, int4 size, float4 weight, float4 along, float4 cross,
                        float scale, int twice, __global const float2 *tables)
{
    __global const float2 *waves = tables + size.x + size.y + size.z;
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), kept = size.x / 2 + 1;
    if (x >= kept || y >= size.y || z >= size.z)
        return;
    int n = kept * size.y * size.z, i = (z * size.y + y) * kept + x;
    float2 wx = waves[x], wy = waves[size.x + y], wz = waves[size.x + size.y + z];
    const factors by = factors_of(wx.x, wx.y, wy.x, wy.y, wz, weight, along, cross);
    float2 p = data[i], q = data[i + n], r = data[i + 2 * n];
    substitute(&by, scale, &p, &q, &r);
    if (twice)
        substitute(&by, 1.0f, &p, &q, &r);
    data[i] = p;
    data[i + n] = q;
    data[i + 2 * n] = r;
}
#endif

/* From a field to a planar one, or back. */
__kernel void fft_reorder(__global const float *from, __global float *to, int n, int to_field)
{
    int first = get_global_id(0) * MARCH, last = min(first + MARCH, n);
    if (to_field)
        for (int i = first; i < last; i++)
            store_vec((float3)(from[i], from[i + n], from[i + 2 * n]), to, i, n);
    else
        for (int i = first; i < last; i++) {
            float3 v = load_vec(from, i, n);
            to[i] = v.x;
            to[i + n] = v.y;
            to[i + 2 * n] = v.z;
        }
}

/* A field on another grid that begins at the same voxel. */
__kernel void fft_fit_item(__global const float *from, __global float *to, int4 from_size, int4 size)
{
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= size.x || y >= size.y || z >= size.z)
        return;
    bool there = x < from_size.x && y < from_size.y && z < from_size.z;
    int at = (z * from_size.y + y) * from_size.x + x;
    float3 v = there ? load_vec(from, at, from_size.x * from_size.y * from_size.z) : (float3)(0.0f);
    store_vec(v, to, (z * size.y + y) * size.x + x, size.x * size.y * size.z);
}

__kernel void fft_fit_row(__global const float *from, __global float *to, int4 from_size, int4 size)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    int length = size.x * INNER, kept = min(size.x, from_size.x) * INNER;
    if (y >= from_size.y || z >= from_size.z)
        kept = 0;
    for (int c = 0; c < VOLUMES; c++) {
        __global const float *p = from + ((c * from_size.z + z) * from_size.y + y) * from_size.x * INNER;
        __global float *q = to + ((c * size.z + z) * size.y + y) * length;
        for (int i = 0; i < kept; i++)
            q[i] = p[i];
        for (int i = kept; i < length; i++)
            q[i] = 0.0f;
    }
}
