/* SPDX-License-Identifier: Apache-2.0 */
/* Measures of symmetric tensors, planes in and planes out. Bit number k of
 * wanted asks for the k-th of FA MD AD RD mode cl cp cs l1 l2 l3 V1 V2 V3; the
 * planes asked for follow each other. */
#include "common/eigen.clh"
#include "common/field_row.clh"

#define LOAD1(p) (*(p))
#define STORE1(v, p) (*(p) = (v))

/* One plane, where it is asked for. bad is 0, or NaN where the tensor is. */
#define PUT(T, N, bit, v)                                                   \
    if (wanted >> (bit)&1) {                                                \
        STORE##N(inside > (T)(0.0f) ? (v) + bad : (T)(0.0f), out + to);     \
        to += count;                                                        \
    }
#define PUT_VECTOR(T, N, bit, k) \
    if (wanted >> (bit)&1) {     \
        int keep = wanted;       \
        wanted = 1;              \
        PUT(T, N, 0, e.x##k)     \
        PUT(T, N, 0, e.y##k)     \
        PUT(T, N, 0, e.z##k)     \
        wanted = keep;           \
    }
/* The sign of an eigenvector is free: the largest component is positive. */
#define LARGEST(x, y, z) \
    (fabs(x) >= fabs(y) ? (fabs(x) >= fabs(z) ? x : z) : (fabs(y) >= fabs(z) ? y : z))
#define ORIENT(T, k)                                               \
    {                                                              \
        T largest = LARGEST(e.x##k, e.y##k, e.z##k);               \
        T turn = largest < (T)(0.0f) ? (T)(-1.0f) : (T)(1.0f);     \
        e.x##k *= turn;                                            \
        e.y##k *= turn;                                            \
        e.z##k *= turn;                                            \
    }

/* Voxel `at` of the tensor becomes voxel `to` of the first plane. Entries are
 * brought to 1 first, so that the unit of diffusivity does not matter. */
#define MEASURES(T, N)                                                                              \
    static inline void measures_##N(__global const float *d, __global const float *mask,            \
                                    __global float *out, int voxels, int count, int wanted, int at,  \
                                    int to)                                                         \
    {                                                                                               \
        __global const float *p = d + at;                                                           \
        T inside = (T)(1.0f);                                                                       \
        if (mask)                                                                                   \
            inside = LOAD##N(mask + at);                                                            \
        T xx = LOAD##N(p), xy = LOAD##N(p + voxels), xz = LOAD##N(p + 2 * voxels);                   \
        T yy = LOAD##N(p + 3 * voxels), yz = LOAD##N(p + 4 * voxels), zz = LOAD##N(p + 5 * voxels);  \
        /* Mesa takes 0 times anything for 0. */                                                    \
        T bad = (xx - xx) + (xy - xy) + (xz - xz) + (yy - yy) + (yz - yz) + (zz - zz);               \
        T unit = fmax(fmax(fmax(fabs(xx), fabs(xy)), fmax(fabs(xz), fabs(yy))),                      \
                      fmax(fabs(yz), fabs(zz)));                                                    \
        T scale = unit > (T)(1e-37f) ? (T)(1.0f) / unit : (T)(0.0f);                                \
        T trace = xx * scale + yy * scale + zz * scale, mean = trace / (T)(3.0f);                   \
        eigen##N e =                                                                                \
            eigen_##N(xx * scale, xy * scale, xz * scale, yy * scale, yz * scale, zz * scale);      \
        T a = e.l1 - mean, b = e.l2 - mean, c = e.l3 - mean;                                        \
        T square = e.l1 * e.l1 + e.l2 * e.l2 + e.l3 * e.l3, spread = a * a + b * b + c * c;         \
        T fa = square > (T)(0.0f) ? sqrt((T)(1.5f) * spread / square) : (T)(0.0f);                  \
        /* Smaller values are rounding. */                                                       \
        T mode = spread > (T)(1e-12f) ? (T)(7.3484692f) * a * b * c / (spread * sqrt(spread))       \
                                      : (T)(0.0f);                                                  \
        T over = e.l1 > (T)(0.0f) ? (T)(1.0f) / e.l1 : (T)(0.0f);                                   \
        ORIENT(T, 1)                                                                                \
        ORIENT(T, 2)                                                                                \
        e.x3 = e.y1 * e.z2 - e.z1 * e.y2;                                                           \
        e.y3 = e.z1 * e.x2 - e.x1 * e.z2;                                                           \
        e.z3 = e.x1 * e.y2 - e.y1 * e.x2;                                                           \
        PUT(T, N, 0, fa)                                                                            \
        PUT(T, N, 1, mean * unit)                                                                   \
        PUT(T, N, 2, e.l1 * unit)                                                                   \
        PUT(T, N, 3, (T)(0.5f) * (e.l2 + e.l3) * unit)                                              \
        PUT(T, N, 4, fmin(fmax(mode, (T)(-1.0f)), (T)(1.0f)))                                       \
        PUT(T, N, 5, (e.l1 - e.l2) * over)                                                          \
        PUT(T, N, 6, (e.l2 - e.l3) * over)                                                          \
        PUT(T, N, 7, e.l3 * over)                                                                   \
        PUT(T, N, 8, e.l1 * unit)                                                                   \
        PUT(T, N, 9, e.l2 * unit)                                                                   \
        PUT(T, N, 10, e.l3 * unit)                                                                  \
        PUT_VECTOR(T, N, 11, 1)                                                                     \
        PUT_VECTOR(T, N, 12, 2)                                                                     \
        PUT_VECTOR(T, N, 13, 3)                                                                     \
    }

MEASURES(float, 1)
MEASURES(float8, 8)

/* d: 6 planes of `voxels`, of which voxels first to first + count - 1 are
 * measured; out: planes of `count`. */
__kernel void tensor_measures_item(__global const float *d, __global const float *mask, __global float *out,
                                   int voxels, int first, int count, int wanted)
{
    int i = get_global_id(0);
    if (i < count)
        measures_1(d, mask, out, voxels, count, wanted, first + i, i);
}

__kernel void tensor_measures_run(__global const float *d, __global const float *mask, __global float *out,
                                  int voxels, int first, int count, int wanted)
{
    int i = get_global_id(0) * MARCH, last = i + min(MARCH, count - i);
    const int planes = popcount(wanted & 0x7FF) + 3 * popcount(wanted >> 11); /* numbers, vectors */
    for (; i + 8 <= last; i += 8)
        if (mask && !any(LOAD8(mask + first + i) > 0.0f))
            for (int k = 0; k < planes; k++)
                STORE8((float8)(0.0f), out + k * count + i);
        else
            measures_8(d, mask, out, voxels, count, wanted, first + i, i);
    for (; i < last; i++)
        measures_1(d, mask, out, voxels, count, wanted, first + i, i);
}
