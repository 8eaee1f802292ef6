/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive Gaussian after Deriche (4th order), as two complex poles side by
 * side: with s[i] = p s[i - 1] + x[i] the causal half is the sum over both of
 * Re(c s). Side by side rounding grows with sigma, in the direct form with
 * its fourth power. The anticausal half leaves out the sample itself. Both
 * start from the steady state of the border value, which is therefore
 * repeated without end.
 * An array is seen as in gaussian.cl: [outer][n][inner]. */

typedef struct poles {
    float p[4];     /* re, im of either pole */
    float c[4];     /* weights of re, im of either state */
    float start[4]; /* 1 / (1 - p): the steady state for x = 1 */
} poles;

#define BEGIN(s, x)                                     \
    s[0] = g.start[0] * (x);                            \
    s[1] = g.start[1] * (x);                            \
    s[2] = g.start[2] * (x);                            \
    s[3] = g.start[3] * (x);

/* s := p s */
#define RECURSE(type, s)                                \
    {                                                   \
        type a = s[0], b = s[2];                        \
        s[0] = g.p[0] * a - g.p[1] * s[1];              \
        s[1] = g.p[1] * a + g.p[0] * s[1];              \
        s[2] = g.p[2] * b - g.p[3] * s[3];              \
        s[3] = g.p[3] * b + g.p[2] * s[3];              \
    }

#define ADD(s, x)                                       \
    s[0] += x;                                          \
    s[2] += x;

#define SUM(s) (g.c[0] * s[0] + g.c[1] * s[1] + g.c[2] * s[2] + g.c[3] * s[3])

#if ROWS
/* ---- for CPU devices ----------------------------------------------------- */

/* Eight floats at any float's address. Some compilers take vload8 apart into
 * four loads; this stays one. */
typedef struct __attribute__((packed)) lanes {
    float8 v;
} lanes;
#define LOAD(p) (((__global const lanes *)(p))->v)
#define STORE(p, value) (((__global lanes *)(p))->v = (value))

#define CHUNK ITEM_X /* floats side by side that a work-item walks along y or z */

/* count (1 to 8) floats, zero behind them. */
static inline float8 load_some(__global const float *from, int count)
{
    float part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    if (count >= 8)
        return LOAD(from);
    for (int e = 0; e < count; e++)
        part[e] = from[e];
    return vload8(0, part);
}

static inline void store_some(float8 v, __global float *to, int count)
{
    float part[8];
    if (count >= 8) {
        STORE(to, v);
        return;
    }
    vstore8(v, 0, part);
    for (int e = 0; e < count; e++)
        to[e] = part[e];
}

/* shape = (inner, n, outer, 0) */
__kernel void recursive_axis_row(__global const float *in, __global float *out, const int4 shape,
                                 const poles g)
{
    int inner = shape.x, n = shape.y;
    int first = get_global_id(0) * CHUNK, o = get_global_id(1);
    if (first >= inner || o >= shape.z)
        return;
    int base = o * n * inner + first, count = min(CHUNK, inner - first);
    float8 state[CHUNK / 8][4];
    for (int v = 0; 8 * v < count; v++) {
        float8 x = load_some(in + base + 8 * v, count - 8 * v);
        BEGIN(state[v], x)
    }
    for (int i = 0; i < n; i++) {
        int line = base + i * inner;
        for (int v = 0; 8 * v < count; v++) {
            float8 x = load_some(in + line + 8 * v, count - 8 * v);
            RECURSE(float8, state[v])
            ADD(state[v], x)
            store_some(SUM(state[v]), out + line + 8 * v, count - 8 * v);
        }
    }
    for (int v = 0; 8 * v < count; v++) {
        float8 x = load_some(in + base + (n - 1) * inner + 8 * v, count - 8 * v);
        BEGIN(state[v], x)
    }
    for (int i = n - 1; i >= 0; i--) {
        int line = base + i * inner;
        for (int v = 0; 8 * v < count; v++) {
            float8 x = load_some(in + line + 8 * v, count - 8 * v);
            float8 causal = load_some(out + line + 8 * v, count - 8 * v);
            RECURSE(float8, state[v])
            store_some(causal + SUM(state[v]), out + line + 8 * v, count - 8 * v);
            ADD(state[v], x)
        }
    }
}

#define PAIR(a, b) \
    t = (float8)(a.s0, b.s0, a.s1, b.s1, a.s4, b.s4, a.s5, b.s5);   \
    b = (float8)(a.s2, b.s2, a.s3, b.s3, a.s6, b.s6, a.s7, b.s7);   \
    a = t;
#define QUAD(a, b) \
    t = (float8)(a.s01, b.s01, a.s45, b.s45);   \
    b = (float8)(a.s23, b.s23, a.s67, b.s67);   \
    a = t;

/* Transposes 8 x 8 floats. */
static inline void transpose8(float8 r[8])
{
    float8 t, q[8];
    for (int i = 0; i < 8; i += 2) {
        PAIR(r[i], r[i + 1])
    }
    for (int i = 0; i < 8; i += 4) {
        QUAD(r[i], r[i + 2])
        QUAD(r[i + 1], r[i + 3])
    }
    q[0] = (float8)(r[0].lo, r[4].lo);
    q[1] = (float8)(r[2].lo, r[6].lo);
    q[2] = (float8)(r[1].lo, r[5].lo);
    q[3] = (float8)(r[3].lo, r[7].lo);
    q[4] = (float8)(r[0].hi, r[4].hi);
    q[5] = (float8)(r[2].hi, r[6].hi);
    q[6] = (float8)(r[1].hi, r[5].hi);
    q[7] = (float8)(r[3].hi, r[7].hi);
    for (int i = 0; i < 8; i++)
        r[i] = q[i];
}

/* Eight rows of `length` floats, of which element e of all becomes r[e]. Rows
 * that do not exist are the last one again. */
#define ROW_OF(l) (min(first + (l), rows - 1) * length)
#define LOAD_BLOCK(r, from, e, count)                                      \
    for (int l = 0; l < 8; l++)                                            \
        (r)[l] = load_some((from) + ROW_OF(l) + (e), count);               \
    transpose8(r);
#define STORE_BLOCK(r, to, e, count)                                       \
    transpose8(r);                                                         \
    for (int l = 0; l < 8 && first + l < rows; l++)                        \
        store_some((r)[l], (to) + ROW_OF(l) + (e), count);

/* A block of 8 voxels of eight rows: inner vectors a voxel. */
#define BLOCKS(r, action, buffer, i)                                       \
    for (int b = 0; b < inner; b++)                                        \
        if ((i) * inner + 8 * b < length) {                                \
            action((r) + 8 * b, buffer, (i) * inner + 8 * b, length - (i) * inner - 8 * b) \
        }

/* shape = (inner, n, rows, 0): a work-item filters eight rows. */
__kernel void recursive_x_row(__global const float *in, __global float *out, const int4 shape,
                              const poles g)
{
    int inner = shape.x, n = shape.y, length = inner * n, rows = shape.z;
    int first = get_global_id(0) * ITEM_X;
    if (first >= rows)
        return;
    float8 x[24], made[24], state[3][4];
    BLOCKS(x, LOAD_BLOCK, in, 0)
    for (int c = 0; c < inner; c++) {
        BEGIN(state[c], x[c])
    }
    for (int i = 0; i < n; i += 8) {
        BLOCKS(x, LOAD_BLOCK, in, i)
        for (int m = 0; m < min(8, n - i); m++)
            for (int c = 0; c < inner; c++) {
                RECURSE(float8, state[c])
                ADD(state[c], x[m * inner + c])
                made[m * inner + c] = SUM(state[c]);
            }
        BLOCKS(made, STORE_BLOCK, out, i)
    }
    for (int c = 0; c < inner; c++) {
        BEGIN(state[c], x[(n - 1) % 8 * inner + c])
    }
    for (int i = (n - 1) / 8 * 8; i >= 0; i -= 8) {
        BLOCKS(x, LOAD_BLOCK, in, i)
        BLOCKS(made, LOAD_BLOCK, out, i)
        for (int m = min(8, n - i) - 1; m >= 0; m--)
            for (int c = 0; c < inner; c++) {
                RECURSE(float8, state[c])
                made[m * inner + c] += SUM(state[c]);
                ADD(state[c], x[m * inner + c])
            }
        BLOCKS(made, STORE_BLOCK, out, i)
    }
}

#else
/* ---- one line a work-item: shape = (inner, n, outer, axis) ------------------ */

#define AHEAD 8 /* loads under way before the recursion needs them */

__kernel void recursive_lines(__global const float *in, __global float *out, const int4 shape,
                              const poles g)
{
    int inner = shape.x, n = shape.y;
    int within = get_global_id(shape.w ? 0 : 1), beyond = get_global_id(shape.w ? 1 : 0);
    if (within >= inner || beyond >= shape.z)
        return;
    int base = beyond * n * inner + within;
    float s[4], x[AHEAD], causal[AHEAD];
    BEGIN(s, in[base])
    for (int i = 0; i < n; i += AHEAD) {
#pragma unroll
        for (int m = 0; m < AHEAD; m++)
            x[m] = in[base + min(i + m, n - 1) * inner];
#pragma unroll
        for (int m = 0; m < AHEAD; m++) {
            RECURSE(float, s)
            ADD(s, x[m])
            if (i + m < n)
                out[base + (i + m) * inner] = SUM(s);
        }
    }
    BEGIN(s, in[base + (n - 1) * inner])
    for (int i = n - 1; i >= 0; i -= AHEAD) {
#pragma unroll
        for (int m = 0; m < AHEAD; m++) {
            x[m] = in[base + max(i - m, 0) * inner];
            causal[m] = out[base + max(i - m, 0) * inner];
        }
#pragma unroll
        for (int m = 0; m < AHEAD; m++) {
            RECURSE(float, s)
            if (i - m >= 0)
                out[base + (i - m) * inner] = causal[m] + SUM(s);
            ADD(s, x[m])
        }
    }
}

/* As above for lines along x: TILE_X lines at once, through a local tile of
 * SPAN samples of each, so that rows are read and written along x. */
#define SPAN 32

__kernel void recursive_tile(__global const float *in, __global float *out, const int4 shape,
                             const poles g)
{
    __local float x[TILE_X][SPAN + 1], made[TILE_X][SPAN + 1];
    int lid = get_local_id(0), inner = shape.x, n = shape.y, lines = shape.z, c = get_group_id(1);
    int first = get_group_id(0) * TILE_X;
    int own = min(first + lid, lines - 1);
    int base = own * n * inner + c;
    float s[4];
    BEGIN(s, in[base])
    for (int i = 0; i < n; i += SPAN) {
        for (int e = lid; e < TILE_X * SPAN; e += TILE_X) {
            int l = min(first + e / SPAN, lines - 1), at = min(i + e % SPAN, n - 1);
            x[e / SPAN][e % SPAN] = in[(l * n + at) * inner + c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int m = 0; m < SPAN; m++) {
            RECURSE(float, s)
            ADD(s, x[lid][m])
            made[lid][m] = SUM(s);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = lid; e < TILE_X * SPAN; e += TILE_X) {
            int l = first + e / SPAN, at = i + e % SPAN;
            if (l < lines && at < n)
                out[(l * n + at) * inner + c] = made[e / SPAN][e % SPAN];
        }
    }
    BEGIN(s, in[base + (n - 1) * inner])
    for (int i = (n - 1) / SPAN * SPAN; i >= 0; i -= SPAN) {
        for (int e = lid; e < TILE_X * SPAN; e += TILE_X) {
            int l = first + e / SPAN, at = i + e % SPAN;
            int from = (l * n + at) * inner + c;
            /* The causal half at e was written, is read and will be replaced
             * by this work-item. */
            if (l < lines && at < n) {
                x[e / SPAN][e % SPAN] = in[from];
                made[e / SPAN][e % SPAN] = out[from];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int m = min(SPAN, n - i) - 1; m >= 0; m--) {
            RECURSE(float, s)
            made[lid][m] += SUM(s);
            ADD(s, x[lid][m])
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = lid; e < TILE_X * SPAN; e += TILE_X) {
            int l = first + e / SPAN, at = i + e % SPAN;
            if (l < lines && at < n)
                out[(l * n + at) * inner + c] = made[e / SPAN][e % SPAN];
        }
    }
}

#endif
