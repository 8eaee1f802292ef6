/* SPDX-License-Identifier: Apache-2.0 */
/* Denoises by the discrete cosine transform of sliding cubes of 4^3 voxels: coefficients within `threshold`
 * times the noise are left out, and a voxel becomes the mean of the 64 cubes that hold it (Yaroslavsky 1996;
 * of volumes: Manjon et al. 2012). The edge value is repeated beyond the border.
 *
 * A plane's block of 4x4 is transformed once for the four cubes of a march that hold it, then each cube
 * along the third axis: the row form (eight cubes side by side) marches along y, the block form along z. As
 * the inverse is linear, what four cubes give a plane is added up before it is transformed back. */
#include "common/field_row.clh"

#if ROW_FORM
typedef float8 real;
/* v where it is farther from 0 than `least`. */
static inline float8 beyond(float8 v, float8 least)
{
    return as_float8(as_int8(v) & (fabs(v) > least));
}
#define COLUMNS
#else
typedef float real;
static inline float beyond(float v, float least)
{
    return fabs(v) > least ? v : 0.0f;
}
/* Arrays stay in registers. */
#define COLUMNS _Pragma("unroll")
#endif

/* The orthonormal transform of four values is half the even ones of what forward4 makes and ODD times the odd
 * ones: 2 ODD is the root of 2 times the cosine of pi/8. TAN is the tangent of pi/8. */
#define ODD 0.65328148f
#define TAN 0.41421356f
#define ODD_SQUARED_BY_QUARTER 1.70710678f

static inline void forward4(real *a, real *b, real *c, real *d)
{
    real outer = *a + *d, inner = *b + *c, wide = *a - *d, narrow = *b - *c;
    *a = outer + inner;
    *b = wide + TAN * narrow;
    *c = outer - inner;
    *d = TAN * wide - narrow;
}

/* Four times the inverse of forward4. */
static inline void inverse4(real *a, real *b, real *c, real *d)
{
    real even = *a + *c, odd = *a - *c, outer = *b + TAN * *d, inner = TAN * *b - *d;
    *a = even + ODD_SQUARED_BY_QUARTER * outer;
    *b = odd + ODD_SQUARED_BY_QUARTER * inner;
    *c = odd - ODD_SQUARED_BY_QUARTER * inner;
    *d = even - ODD_SQUARED_BY_QUARTER * outer;
}

/* Along both axes of a plane's block. */
static inline void forward16(real *p)
{
    COLUMNS
    for (int i = 0; i < 4; i++)
        forward4(p + 4 * i, p + 4 * i + 1, p + 4 * i + 2, p + 4 * i + 3);
    COLUMNS
    for (int i = 0; i < 4; i++)
        forward4(p + i, p + 4 + i, p + 8 + i, p + 12 + i);
}

static inline void inverse16(real *p)
{
    COLUMNS
    for (int i = 0; i < 4; i++)
        inverse4(p + i, p + 4 + i, p + 8 + i, p + 12 + i);
    COLUMNS
    for (int i = 0; i < 4; i++)
        inverse4(p + 4 * i, p + 4 * i + 1, p + 4 * i + 2, p + 4 * i + 3);
}

/* By the inverse (4^3) and the number of cubes (4^3). */
#define SHARE (1.0f / 4096)

/* The cube of four planes: adds what is left of it to `sum`, the later three of its planes, and gives the
 * first, of which it is the last cube. `noise` is the threshold times it. */
static inline void cube(const real *p0, const real *p1, const real *p2, const real *p3, real noise,
                        real sum[3][16], real *complete)
{
    /* By how many of the three indices are odd. */
    const real least[4] = {8.0f * noise, 4.0f / ODD * noise, 2.0f / (ODD * ODD) * noise,
                           1.0f / (ODD * ODD * ODD) * noise};
    COLUMNS
    for (int i = 0; i < 16; i++) {
        int odd = (i & 1) + (i >> 2 & 1);
        real a = p0[i], b = p1[i], c = p2[i], d = p3[i];
        forward4(&a, &b, &c, &d);
        a = i ? beyond(a, least[odd]) : a; /* the mean stays */
        b = beyond(b, least[odd + 1]);
        c = beyond(c, least[odd]);
        d = beyond(d, least[odd + 1]);
        inverse4(&a, &b, &c, &d);
        complete[i] = sum[0][i] + a;
        sum[0][i] = sum[1][i] + b;
        sum[1][i] = sum[2][i] + c;
        sum[2][i] = d;
    }
}

static inline __global const float *row_at(__global const float *in, int y, int z, int4 size)
{
    return in + (clamp(z, 0, size.z - 1) * size.y + clamp(y, 0, size.y - 1)) * size.x;
}

#if ROW_FORM
/* Eight values of a row of n from x on, any of which may lie beyond its ends. */
static inline float8 eight_at(__global const float *row, int x, int n)
{
    if (x >= 0 && x + 8 <= n)
        return LOAD8(row + x);
    float lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = row[clamp(x + k, 0, n - 1)];
    return GET8(lane);
}

static inline void add_eight(float8 v, __global float *row, int x, int n)
{
    if (x >= 0 && x + 8 <= n) {
        STORE8(LOAD8(row + x) + v, row + x);
        return;
    }
    float lane[8];
    PUT8(v, lane);
    for (int k = max(0, -x); k < min(8, n - x); k++)
        row[x + k] += lane[k];
}

/* The block of plane y that begins at x and z, and the seven beside it. */
static inline void block_at(__global const float *in, int4 size, int x, int y, int z, float8 *p)
{
    bool inside = x >= 0 && x + 11 <= size.x;
    for (int c = 0; c < 4; c++) {
        __global const float *row = row_at(in, y, z + c, size);
        FETCH_SOON(row + x + 24);
        if (inside)
            for (int a = 0; a < 4; a++)
                p[4 * c + a] = LOAD8(row + x + a);
        else {
            float lane[11];
            for (int k = 0; k < 11; k++)
                lane[k] = row[clamp(x + k, 0, size.x - 1)];
            for (int a = 0; a < 4; a++)
                p[4 * c + a] = GET8(lane + a);
        }
    }
    forward16(p);
}

/* Adds values of eight blocks, each one voxel further on than the one before; `v` is a row of theirs. */
static inline void add_row(const float8 *v, __global float *row, int x, int n)
{
    const float8 a = v[0], b = v[1], c = v[2], d = v[3];
    float8 low = a + (float8)(0.0f, b.s0, b.s1, b.s2, b.s3, b.s4, b.s5, b.s6) +
                 (float8)(0.0f, 0.0f, c.s0, c.s1, c.s2, c.s3, c.s4, c.s5) +
                 (float8)(0.0f, 0.0f, 0.0f, d.s0, d.s1, d.s2, d.s3, d.s4);
    float8 high = (float8)(b.s7, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f) +
                  (float8)(c.s6, c.s7, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f) +
                  (float8)(d.s5, d.s6, d.s7, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f);
    FETCH_SOON(row + x + 24);
    add_eight(low * SHARE, row, x, n);
    add_eight(high * SHARE, row, x + 8, n);
}

/* An item makes its rows alone, so that cubes at its edges are transformed by two. */
__kernel void dct_denoise(__global const float *in, __global const float *sigma, __global float *out,
                          int4 size, float threshold)
{
    int y0 = get_global_id(1) * ITEM_Y, z0 = get_global_id(2) * ITEM_Z;
    int y1 = min(y0 + ITEM_Y, size.y), z1 = min(z0 + ITEM_Z, size.z);
    if (y0 >= size.y || z0 >= size.z)
        return;
    for (int z = z0; z < z1; z++)
        for (int i = (z * size.y + y0) * size.x; i < (z * size.y + y1) * size.x; i++)
            out[i] = 0.0f;
    for (int z = z0 - 3; z < z1; z++)
        for (int x = -3; x < size.x; x += 8) {
            float8 plane[4][16], sum[3][16], complete[16];
            for (int k = 0; k < 3; k++)
                for (int i = 0; i < 16; i++)
                    sum[k][i] = 0.0f;
            for (int y = y0 - 6; y < y1; y++) {
                int turn = y - y0 + 8;
                block_at(in, size, x, y + 3, z, plane[(turn + 3) & 3]);
                if (y < y0 - 3)
                    continue;
                FETCH_SOON(row_at(sigma, y + 1, z + 1, size) + x + 24);
                float8 noise = threshold * eight_at(row_at(sigma, y + 1, z + 1, size), x + 1, size.x);
                cube(plane[turn & 3], plane[(turn + 1) & 3], plane[(turn + 2) & 3], plane[(turn + 3) & 3],
                     noise, sum, complete);
                if (y < y0)
                    continue;
                inverse16(complete);
                for (int c = max(0, z0 - z); c < min(4, z1 - z); c++)
                    add_row(complete + 4 * c, out + ((z + c) * size.y + y) * size.x, x, size.x);
            }
        }
}
#else
/* The block of plane z that begins at x and y. */
static inline void block_at(__global const float *in, int4 size, int x, int y, int z, float *p)
{
    COLUMNS
    for (int b = 0; b < 4; b++) {
        __global const float *row = row_at(in, y + b, z, size);
        COLUMNS
        for (int a = 0; a < 4; a++)
            p[4 * b + a] = row[clamp(x + a, 0, size.x - 1)];
    }
    forward16(p);
}

/* Items add to the voxels of their block through local memory. The outermost items of the tile help only. */
__kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z)))
void dct_denoise(__global const float *in, __global const float *sigma, __global float *out, int4 size,
                 float threshold)
{
    __local float part[16][TILE_Y][TILE_X];
    int lx = get_local_id(0), ly = get_local_id(1);
    int x = (int)get_group_id(0) * GROUP_X + lx - 3, y = (int)get_group_id(1) * GROUP_Y + ly - 3;
    int z0 = get_group_id(2) * MARCH, z1 = min(z0 + MARCH, size.z);
    bool mine = lx >= 3 && lx < 3 + GROUP_X && x < size.x && ly >= 3 && ly < 3 + GROUP_Y && y < size.y;
    float p0[16], p1[16], p2[16], p3[16], sum[3][16], complete[16];
    block_at(in, size, x, y, z0 - 3, p0);
    block_at(in, size, x, y, z0 - 2, p1);
    block_at(in, size, x, y, z0 - 1, p2);
    COLUMNS
    for (int i = 0; i < 16; i++)
        sum[0][i] = sum[1][i] = sum[2][i] = 0.0f;
    for (int z = z0 - 3; z < z1; z++) {
        block_at(in, size, x, y, z + 3, p3);
        float noise = threshold * row_at(sigma, y + 1, z + 1, size)[clamp(x + 1, 0, size.x - 1)];
        cube(p0, p1, p2, p3, noise, sum, complete);
        inverse16(complete);
        barrier(CLK_LOCAL_MEM_FENCE);
        COLUMNS
        for (int i = 0; i < 16; i++) {
            part[i][ly][lx] = complete[i];
            p0[i] = p1[i];
            p1[i] = p2[i];
            p2[i] = p3[i];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine && z >= z0) {
            float all = 0.0f;
            COLUMNS
            for (int i = 0; i < 16; i++)
                all += part[i][ly - i / 4][lx - i % 4];
            out[(z * size.y + y) * size.x + x] = all * SHARE;
        }
    }
}
#endif
