/* SPDX-License-Identifier: Apache-2.0 */
/* Median of the box of 2 radius + 1 voxels along each axis around every voxel,
 * the edge value repeated beyond the border, so that the count is always odd.
 * Values are compared as integers in the same order, NaN above all others. */
#include "common/field_row.clh"

#if WIDE == 8
typedef int8 whole;
typedef float8 real;
#define AS_WHOLE as_int8
#define AS_REAL as_float8
#define ANY(w) any(w)
#define TRUE(w) (w)
#else
#define WIDE 1
typedef int whole;
typedef float real;
#define AS_WHOLE as_int
#define AS_REAL as_float
#define ANY(w) ((w) != 0)
#define TRUE(w) (-(w))
#endif
/* A compiler that goes by SPIR falls over the unrolled network of single values. */
#if WIDE == 1 && (defined(__SPIR__) || defined(__SPIR64__))
#define UNROLL
#else
#define UNROLL _Pragma("unroll")
#endif
#define LEAST ((int)0x80000000)
#define MOST 0x7fffffff

static inline whole key_of(real v)
{
    whole k = AS_WHOLE(v);
    k ^= (k >> 31) & 0x7fffffff;
    return select(k, (whole)(MOST), TRUE(isnan(v)));
}

static inline real value_of(whole k)
{
    return AS_REAL(k ^ ((k >> 31) & 0x7fffffff));
}

/* The keys of voxels x to x + WIDE - 1 of a row of n, any of which may lie beyond its ends. */
static inline whole keys_at(__global const float *row, int x, int n)
{
#if WIDE == 8
    if (x >= 0 && x + 8 <= n)
        return key_of(LOAD8(row + x));
    float lane[8];
    for (int k = 0; k < 8; k++)
        lane[k] = row[min(max(x + k, 0), n - 1)];
    return key_of(GET8(lane));
#else
    return key_of(row[min(max(x, 0), n - 1)]);
#endif
}

static inline void put(real v, __global float *row, int x, int n)
{
#if WIDE == 8
    if (x + 8 <= n) {
        STORE8(v, row + x);
        return;
    }
    float lane[8];
    PUT8(v, lane);
    for (int k = 0; x + k < n; k++)
        row[x + k] = lane[k];
#else
    row[x] = v;
#endif
}

static inline __global const float *row_at(__global const float *in, int y, int z, int4 size)
{
    return in + (min(max(z, 0), size.z - 1) * size.y + min(max(y, 0), size.y - 1)) * size.x;
}

#define ORDER(a, b)            \
    do {                       \
        whole low = min(a, b); \
        b = max(a, b);         \
        a = low;               \
    } while (0)

/* Median of 27: the smallest and the largest of 15 cannot be the median, nor can those of the rest and the next
 * one, until all have been seen and three are left. */
static inline real median_of_27(__global const float *in, int x, int y, int z, int4 size)
{
    whole k[27];
    UNROLL
    for (int i = 0; i < 9; i++) {
        __global const float *row = row_at(in, y + i % 3 - 1, z + i / 3 - 1, size);
    UNROLL
        for (int j = 0; j < 3; j++)
            k[3 * i + j] = keys_at(row, x + j - 1, size.x);
    }
    UNROLL
    for (int left = 15; left >= 3; left--) {
        /* Those in play are the last of the first 15. */
        int first = 15 - left;
    UNROLL
        for (int i = 0; i < left / 2; i++)
            ORDER(k[first + i], k[14 - i]);
    UNROLL
        for (int i = 1; i < (left + 1) / 2; i++) {
            ORDER(k[first], k[first + i]);
            ORDER(k[14 - i], k[14]);
        }
        /* The smallest is left out with its place, the largest is replaced. */
        if (left > 3)
            k[14] = k[30 - left];
    }
    return value_of(k[13]);
}

/* The middle one of any odd number: bisection between keys that occur. */
static inline real median_of_box(__global const float *in, int x, int y, int z, int4 size, int4 radius)
{
    int half_of = ((2 * radius.x + 1) * (2 * radius.y + 1) * (2 * radius.z + 1) - 1) / 2;
    whole low = MOST, high = LEAST;
    for (int c = -radius.z; c <= radius.z; c++)
        for (int b = -radius.y; b <= radius.y; b++) {
            __global const float *row = row_at(in, y + b, z + c, size);
            for (int a = -radius.x; a <= radius.x; a++) {
                whole k = keys_at(row, x + a, size.x);
                low = min(low, k);
                high = max(high, k);
            }
        }
    while (ANY(low < high)) {
        /* Rounds down without overflow. */
        whole middle = (low & high) + ((low ^ high) >> 1), count = 0;
        whole below = LEAST, above = MOST;
        for (int c = -radius.z; c <= radius.z; c++)
            for (int b = -radius.y; b <= radius.y; b++) {
                __global const float *row = row_at(in, y + b, z + c, size);
                for (int a = -radius.x; a <= radius.x; a++) {
                    whole k = keys_at(row, x + a, size.x);
                    whole under = TRUE(k <= middle);
                    count -= under;
                    below = max(below, select((whole)(LEAST), k, under));
                    above = min(above, select(k, (whole)(MOST), under));
                }
            }
        whole lower = TRUE(count > half_of), open = TRUE(low < high);
        high = select(high, below, open & lower);
        low = select(low, above, open & ~lower);
    }
    return value_of(low);
}

__kernel void median(__global const float *in, __global float *out, int4 size, int4 radius)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= size.y || z >= size.z)
        return;
    __global float *to = out + (z * size.y + y) * size.x;
#if WIDE == 8
    for (int x = 0; x < size.x; x += 8)
#else
    int x = get_global_id(0);
    if (x < size.x)
#endif
#if NEXT
        put(median_of_27(in, x, y, z, size), to, x, size.x);
#else
        put(median_of_box(in, x, y, z, size, radius), to, x, size.x);
#endif
}
