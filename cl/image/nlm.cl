/* SPDX-License-Identifier: Apache-2.0 */
/* Non-local means of a volume: a voxel becomes the mean of the voxels of a ball
 * around it, weighted by how alike they are: by the squared differences of patches of
 * 2 PATCH + 1 voxels a side (Buades et al. 2005), or with GUIDED by those of a
 * volume that has less noise and of its local mean, which do not depend on how a
 * structure is turned (Manjon et al. 2012). The weight of patches is (1 - q/8)^8, 0
 * from q = 8 on, which stands for exp(-q), and of the latter Tukey's (1 - q)^2.
 *
 * Frames that share their weights (SHARED): nlm_distances adds up the squared
 * differences of one frame after the other, over its noise, and makes weights of
 * their sum; nlm_gather averages a frame by them.
 *
 * Images are padded (nlm_pad), so that no read needs a test; neighbours beyond
 * the border have no weight. The row form of GUIDED means reads them FOLDED: a row lies
 * in eight parts of margin.w voxels, one for each lane, and each vector holds a voxel of all
 * of them. Neighbours along a row are whole vectors then, none of which lies across two lines
 * of a cache.
 *
 * An item makes ITEM_Y x ITEM_Z rows: the squares of a column serve all sums along y and z
 * that they belong to, and only sums along x are taken from other items (block) or lanes
 * (row). */
#include "common/field_row.clh"

#ifndef PATCH
#define PATCH 1
#endif
#ifndef GUIDED
#define GUIDED 0
#endif
#ifndef SHARED
#define SHARED 0
#endif
#ifndef FOLDED
#define FOLDED 0
#endif

/* The margin around the volume: margin.xyz before each axis; folded, margin.x around each part. */
typedef struct padded {
    int4 size;   /* w: voxels of a plane */
    int4 margin; /* w: voxels of a part of a folded row */
} padded;

/* The voxels of some planes and some of their neighbours, whose weights are in memory at a time: those of
 * a row of voxels one after the other, row.x floats for each neighbour. */
typedef struct batch {
    int4 begin; /* x: the first plane; neighbours are y planes and z and more rows away; w: how many such
                   rows */
    int4 row;   /* y: whether it is the first frame of the batch (nlm_gather: the first batch of the voxels);
                   z: the last; w: the plane after the last */
} batch;

static inline int weight_index(batch b, int4 size, int4 search, int y, int z)
{
    return ((z - b.begin.x) * size.y + y) * (2 * search.x + 1) * b.begin.w * b.row.x;
}

#define MOST_PATCH 2
#define FAR (-1e30f)
/* The means of what is beyond the ends of a folded row, whose square is finite. */
#define FAR_MEAN 1e18f
/* The root of how much more the difference of local means counts than the voxel's own, by which they are
 * multiplied. */
#define MEANS 1.7320508f

static inline __global const float *voxel_of(__global const float *in, padded p, int x, int y, int z)
{
    return in + (z + p.margin.z) * p.size.w + (y + p.margin.y) * p.size.x + x + p.margin.x;
}

/* How far neighbours may be along an axis, of which `search` reaches `reach`, where they are b and c away
 * along the others; below 0: there are none. */
static inline int span_of(int4 search, int reach, int b, int c)
{
    int left = search.w - b * b - c * c;
    return left < 0 ? -1 : min(reach, (int)sqrt((float)left + 0.5f));
}

static inline int row_of(int4 size, int y, int z)
{
    return (min(max(z, 0), size.z - 1) * size.y + min(max(y, 0), size.y - 1)) * size.x;
}

/* The sum of the nine values at x in the rows around y and z, the edge value repeated. */
static inline float column_of(__global const float *in, int4 size, int x, int y, int z)
{
    float sum = 0.0f;
    for (int c = -1; c <= 1; c++)
        for (int b = -1; b <= 1; b++)
            sum += in[row_of(size, y + b, z + c) + min(max(x, 0), size.x - 1)];
    return sum;
}

#if ROW_FORM
#define PIECE 256

/* Means of the voxels of a row from `first` on, PIECE at most. */
static inline void means_of(__global const float *in, int4 size, int first, int y, int z, float *to)
{
    float column[PIECE + 16];
    int count = min(PIECE, size.x - first);
    __global const float *row[9];
    for (int k = 0; k < 9; k++)
        row[k] = in + row_of(size, y + k % 3 - 1, z + k / 3 - 1) + first;
    column[7] = column_of(in, size, first - 1, y, z);
    for (int x = 0; x < count + 1; x += 8) {
        if (first + x + 8 <= size.x) {
            float8 sum = LOAD8(row[0] + x);
#pragma unroll
            for (int k = 1; k < 9; k++)
                sum += LOAD8(row[k] + x);
            PUT8(sum, column + 8 + x);
        } else
            for (int k = 0; k < 8; k++)
                column[8 + x + k] = column_of(in, size, first + x + k, y, z);
    }
    for (int x = 0; x < count; x += 8)
        PUT8((GET8(column + 7 + x) + GET8(column + 8 + x) + GET8(column + 9 + x)) * (MEANS / 27), to + x);
}
#endif

/* Copies, the edge value repeated; means 1: MEANS times those of 27 voxels. */
__kernel void nlm_pad(__global const float *in, __global float *out, int4 size, padded p, int means)
{
    int y = get_global_id(1), z = get_global_id(2);
    if (y >= p.size.y || z >= p.size.z)
        return;
    int ay = min(max(y - p.margin.y, 0), size.y - 1), az = min(max(z - p.margin.z, 0), size.z - 1);
    __global float *to = out + z * p.size.w + y * p.size.x;
#if ROW_FORM
    __global const float *from = in + row_of(size, ay, az);
    float line[PIECE];
#if FOLDED
    __global float *inner = to + 8 * p.margin.x;
    int part = p.margin.w;
    for (int first = 0; first < size.x; first += PIECE) {
        int end = min(first + PIECE, size.x);
        if (means)
            means_of(in, size, first, ay, az, line);
        for (int x = first; x < end;) {
            int lane = x / part, at = x - lane * part, next = min(end, x + part - at);
            __global float *lanes = inner + 8 * at + lane;
            if (means)
                for (int k = 0; k < next - x; k++)
                    lanes[8 * k] = line[x - first + k];
            else
                for (int k = 0; k < next - x; k++)
                    lanes[8 * k] = from[x + k];
            x = next;
        }
    }
    float before = means ? FAR_MEAN : from[0], after = means ? FAR_MEAN : from[size.x - 1];
    for (int x = size.x; x < 8 * part; x++)
        inner[8 * (x % part) + x / part] = after;
    for (int j = -1; j >= -p.margin.x; j--) {
        float8 v = LOAD8(inner + 8 * (j + part));
        STORE8((float8)(before, v.s0123, v.s45, v.s6), inner + 8 * j);
    }
    for (int j = part; j < part + p.margin.x; j++) {
        float8 v = LOAD8(inner + 8 * (j - part));
        STORE8((float8)(v.s1234, v.s56, v.s7, after), inner + 8 * j);
    }
#else
    __global float *inner = to + p.margin.x;
    for (int first = 0; first < size.x; first += PIECE) {
        int count = min(PIECE, size.x - first);
        if (means)
            means_of(in, size, first, ay, az, line);
        for (int x = 0; x < count; x++)
            inner[first + x] = means ? line[x] : from[first + x];
    }
    for (int x = 0; x < p.margin.x; x++)
        to[x] = inner[0];
    for (int x = p.margin.x + size.x; x < p.size.x; x++)
        to[x] = to[x - 1];
#endif
#else
    int x = get_global_id(0);
    if (x >= p.size.x)
        return;
#if FOLDED
    int voxel = x % 8 * p.margin.w + x / 8 - p.margin.x;
    int ax = min(max(voxel, 0), size.x - 1);
#else
    int ax = min(max(x - p.margin.x, 0), size.x - 1);
#endif
    to[x] = in[row_of(size, ay, az) + ax];
    if (means)
        to[x] = (column_of(in, size, ax - 1, ay, az) + column_of(in, size, ax, ay, az) +
                 column_of(in, size, ax + 1, ay, az)) *
                (MEANS / 27);
#if FOLDED
    if (means && voxel != ax)
        to[x] = FAR_MEAN;
#endif
#endif
}

#define HIGH_Y (ITEM_Y + 2 * PATCH)
#define HIGH_Z (ITEM_Z + 2 * PATCH)
#define ROWS (ITEM_Y * ITEM_Z)

/* Sums of 2 PATCH + 1 neighbours along y at each of an item's four rows: what several share is
 * added up once. */
#if PATCH == 2 && ITEM_Y == 4
#define ALONG_Y(real, s, to)                                     \
    do {                                                         \
        real two = s[3] + s[4], three = s[2] + two;              \
        real four = s[1] + three, next = s[5] + s[6];            \
        to[0] = s[0] + four;                                     \
        to[1] = four + s[5];                                     \
        to[2] = three + next;                                    \
        to[3] = two + next + s[7];                               \
    } while (0)
#elif PATCH == 1 && ITEM_Y == 4
#define ALONG_Y(real, s, to)                                     \
    do {                                                         \
        real low = s[1] + s[2], high = s[3] + s[4];              \
        to[0] = s[0] + low;                                      \
        to[1] = low + s[3];                                      \
        to[2] = s[2] + high;                                     \
        to[3] = high + s[5];                                     \
    } while (0)
#else
#define ALONG_Y(real, s, to)                                     \
    do {                                                         \
        EACH_ROW (j, ITEM_Y) {                                   \
            to[j] = s[j];                                        \
            for (int i = 1; i <= 2 * PATCH; i++)                 \
                to[j] += s[j + i];                               \
        }                                                        \
    } while (0)
#endif

/* Loops over rows, which stay in registers. */
#define EACH_ROW(j, count) _Pragma("unroll") for (int j = 0; j < (count); j++)

/* Plane k of the sums along z: an item's two rows share all but their own end. */
#define ALONG_Z(k, along, sum, shared)                           \
    do {                                                         \
        EACH_ROW (j, ITEM_Y) {                                   \
            if (k == 0)                                          \
                sum[j] = along[j];                               \
            else if (k > 2 * PATCH)                              \
                sum[ITEM_Y + j] = along[j];                      \
            else                                                 \
                shared[j] = k == 1 ? along[j] : shared[j] + along[j]; \
        }                                                        \
    } while (0)
#define JOIN_Z(sum, shared)                                      \
    do {                                                         \
        EACH_ROW (r, PATCH > 0 ? ROWS : 0)                       \
            sum[r] += shared[r % ITEM_Y];                        \
    } while (0)

/* (1 - q/8)^8, or (1 - q)^2; inside: weight.x, or FAR. */
static inline float weight_of(float inside, float distance)
{
    float w = fmin(fmax(inside - distance, 0.0f), 1.0f);
#if !GUIDED
    w *= w;
    w *= w;
#endif
    return w * w;
}

/* weight.x - distance weight.y / sigma^2 is 1 - q/8, or 1 - q. weight.z: 1 for Rician noise:
 * squares are averaged. A sigma of 0: the voxel stays. */
static inline float finished(float num, float den, float own, float sigma, float4 weight)
{
    float mean = num / den;
    if (weight.z > 0.0f)
        mean = sqrt(mean);
    return sigma > 0.0f ? mean : own;
}

#if SHARED
/* weights: sums so far; with the last frame, weights. */
#define KERNEL                                                                                       \
    __kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void                     \
    nlm_distances(__global const float *guide, __global const float *mean,                           \
                  __global const float *sigma, __global float *weights, int4 size,                   \
                  padded p, int4 search, float4 weight, batch part)
#define FIRST_Z part.begin.x
#define END_Z part.row.w
#define FIRST_C part.begin.y
#define LAST_C part.begin.y
#define FIRST_B part.begin.z
#define LAST_B (part.begin.z + part.begin.w - 1)
#else
#define KERNEL                                                                                       \
    __kernel __attribute__((reqd_work_group_size(TILE_X, TILE_Y, TILE_Z))) void                     \
    nlm_means(__global const float *value, __global const float *guide,                              \
              __global const float *mean, __global const float *sigma,                               \
              __global float *out, int4 size, padded p, int4 search, float4 weight)
#define FIRST_Z 0
#define END_Z size.z
#define FIRST_C (-search.z)
#define LAST_C search.z
#define FIRST_B (-search.y)
#define LAST_B search.y
#endif

#if !ROW_FORM
KERNEL
{
    __local float line[2][ROWS][TILE_X];
    int lane = get_local_id(0), x = (int)get_group_id(0) * GROUP_X + lane - MOST_PATCH;
    int y = get_global_id(1) * ITEM_Y, z = FIRST_Z + get_global_id(2) * ITEM_Z;
    bool mine = lane >= MOST_PATCH && lane < TILE_X - MOST_PATCH && x < size.x;
    /* Columns beyond the border are there as far as a patch reaches. */
    int column = min(x, size.x - 1 + MOST_PATCH), turn = 0;
    float own[HIGH_Z][HIGH_Y], scale[ROWS];
#if !SHARED
    float num[ROWS], den[ROWS];
#endif
#if GUIDED
    float own_mean[HIGH_Z][HIGH_Y];
#endif
#pragma unroll
    for (int k = 0; k < HIGH_Z; k++)
#pragma unroll
        for (int j = 0; j < HIGH_Y; j++) {
            own[k][j] = *voxel_of(guide, p, column, y + j - PATCH, z + k - PATCH);
#if GUIDED
            own_mean[k][j] = *voxel_of(mean, p, column, y + j - PATCH, z + k - PATCH);
#endif
        }
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        int ry = y + r % ITEM_Y, rz = z + r / ITEM_Y;
        float s = mine && ry < size.y && rz < END_Z ? sigma[(rz * size.y + ry) * size.x + x] : 0.0f;
#if !SHARED
        float v = *voxel_of(value, p, column, ry, rz);
        num[r] = weight.z > 0.0f ? v * v : v;
        den[r] = 1.0f;
#endif
        scale[r] = s > 0.0f ? weight.y / (s * s) : 0.0f;
    }
    for (int c = FIRST_C; c <= LAST_C; c++)
        for (int a = -search.x; a <= search.x; a++) {
            int span = span_of(search, search.y, a, c), low = max(FIRST_B, -span), high = min(LAST_B, span);
            if (low > high)
                continue;
            /* From one b to the next all rows of the neighbours but one are those that there were. */
            int corner = (z + c - PATCH + p.margin.z) * p.size.w + column + a + p.margin.x +
                         (y + low - PATCH + p.margin.y) * p.size.x;
            float inside = x + a >= 0 && x + a < size.x ? weight.x : FAR;
            float near[HIGH_Z][HIGH_Y];
#if GUIDED
            float near_mean[HIGH_Z][HIGH_Y];
#endif
#pragma unroll
            for (int k = 0; k < HIGH_Z; k++)
#pragma unroll
                for (int j = 1; j < HIGH_Y; j++) {
                    near[k][j] = guide[corner + k * p.size.w + (j - 1) * p.size.x];
#if GUIDED
                    near_mean[k][j] = mean[corner + k * p.size.w + (j - 1) * p.size.x];
#endif
                }
            corner += (HIGH_Y - 1) * p.size.x;
            for (int b = low; b <= high; b++, corner += p.size.x) {
                float sum[ROWS], shared[ITEM_Y];
#pragma unroll
                for (int k = 0; k < HIGH_Z; k++) {
                    float square[HIGH_Y], along[ITEM_Y];
#pragma unroll
                    for (int j = 0; j < HIGH_Y; j++) {
                        near[k][j] = j < HIGH_Y - 1 ? near[k][j + 1] : guide[corner + k * p.size.w];
                        float d = own[k][j] - near[k][j];
                        square[j] = d * d;
#if GUIDED
                        near_mean[k][j] = j < HIGH_Y - 1 ? near_mean[k][j + 1] : mean[corner + k * p.size.w];
                        d = own_mean[k][j] - near_mean[k][j];
                        square[j] += d * d;
#endif
                    }
                    ALONG_Y(float, square, along);
                    ALONG_Z(k, along, sum, shared);
                }
                JOIN_Z(sum, shared);
#if !SHARED
                if (a == 0 && b == 0 && c == 0)
                    continue;
#endif
#if PATCH > 0
                /* Two lines in turn: who writes to one has seen all read from it. */
                for (int r = 0; r < ROWS; r++)
                    line[turn][r][lane] = sum[r];
                barrier(CLK_LOCAL_MEM_FENCE);
#endif
                if (mine) {
#if GUIDED && !SHARED
                    __global const float *centre = voxel_of(value, p, column + a, y + b, z + c);
#endif
#pragma unroll
                    for (int r = 0; r < ROWS; r++) {
                        int ry = r % ITEM_Y, rz = r / ITEM_Y;
                        float d = sum[r];
#if PATCH > 0
                        d = line[turn][r][lane - PATCH];
#pragma unroll
                        for (int i = 1 - PATCH; i <= PATCH; i++)
                            d += line[turn][r][lane + i];
#endif
                        bool there = y + ry + b >= 0 && y + ry + b < size.y &&
                                     z + rz + c >= 0 && z + rz + c < size.z;
#if SHARED
                        if (y + ry >= size.y || z + rz >= END_Z)
                            continue;
                        int s = (b - FIRST_B) * (2 * search.x + 1) + a + search.x;
                        __global float *to =
                            weights + weight_index(part, size, search, y + ry, z + rz) + s * part.row.x + x;
                        d *= scale[r];
                        if (!part.row.y)
                            d += *to;
                        if (part.row.z)
                            d = weight_of(there && (a || b || c) ? inside : FAR, d);
                        *to = d;
#else
                        float w = weight_of(there ? inside : FAR, d * scale[r]);
#if GUIDED
                        float v = centre[rz * p.size.w + ry * p.size.x];
#else
                        float v = near[rz + PATCH][ry + PATCH]; /* value and guide are one */
#endif
                        num[r] += w * (weight.z > 0.0f ? v * v : v);
                        den[r] += w;
#endif
                    }
                }
                turn = 1 - turn;
            }
        }
#if !SHARED
    if (mine)
        for (int r = 0; r < ROWS; r++) {
            int ry = y + r % ITEM_Y, rz = z + r / ITEM_Y;
            if (ry < size.y && rz < size.z) {
                int i = (rz * size.y + ry) * size.x + x;
                out[i] = finished(num[r], den[r], *voxel_of(value, p, x, ry, rz), sigma[i], weight);
            }
        }
#endif
}
#else
static inline float8 weights_of(float8 inside, float8 distance)
{
    float8 w = inside - distance;
    w = w > 0.0f ? w : (float8)(0.0f);
#if !GUIDED /* where it is 1 at most */
    w = w < 1.0f ? w : (float8)(1.0f);
    w *= w;
    w *= w;
#endif
    return w * w;
}

/* weight.x for the neighbours from x on that are inside a row of n. */
static inline float8 inside_row(int x, int n, float4 weight)
{
    int8 at = x + (int8)(0, 1, 2, 3, 4, 5, 6, 7);
    return select((float8)(FAR), (float8)(weight.x), at >= 0 & at < (int8)(n));
}

static inline float8 squares(float8 own, __global const float *other)
{
    float8 d = own - LOAD8(other);
    return d * d;
}

#if GUIDED && !SHARED
/* Vectors of a folded row that are made at a time: an even number, as two side by side keep a processor busy
 * while sums wait for one another. */
#define CHUNK 32

/* The voxels of a row, and those that they are compared with: the images begin at the row's first. */
typedef struct averages {
    float8 num[CHUNK], den[CHUNK], limit[CHUNK];
    __global const float *guide, *mean;
} averages;

typedef struct pair {
    float8 own[2], own_mean[2], limit[2], sum[2], all[2];
} pair;

/* The neighbours of two vectors. A weight is (1 - q)^2 times the square of the limit: the same factor for all
 * of a voxel. */
static inline __attribute__((always_inline)) void
add_pair(pair *to, bool square, __global const float *value, __global const float *guide,
         __global const float *mean)
{
#pragma unroll
    for (int k = 0; k < 2; k++) {
        float8 d = to->own[k] - LOAD8(guide + 8 * k), e = to->own_mean[k] - LOAD8(mean + 8 * k);
        float8 w = to->limit[k] - d * d;
        w -= e * e;
        w = w > 0.0f ? w : (float8)(0.0f);
        w *= w;
        float8 v = LOAD8(value + 8 * k);
        to->sum[k] += w * (square ? v * v : v);
        to->all[k] += w;
    }
}

/* Adds to `count` vectors those of another row that are up to `span` voxels away along it; the images begin
 * there. The voxel itself is as any other. */
static inline __attribute__((always_inline)) void
add_span(averages *to, int span, bool square, __global const float *value, __global const float *guide,
         __global const float *mean, int count)
{
    for (int j = 0; j < count; j += 2, value += 16, guide += 16, mean += 16) {
        pair p;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            p.own[k] = LOAD8(to->guide + 8 * (j + k));
            p.own_mean[k] = LOAD8(to->mean + 8 * (j + k));
            p.limit[k] = to->limit[j + k];
            p.sum[k] = to->num[j + k];
            p.all[k] = to->den[j + k];
        }
        for (int a = -span; a < -3; a++)
            add_pair(&p, square, value + 8 * a, guide + 8 * a, mean + 8 * a);
        /* Compilers do not unroll a loop of these. */
        if (span >= 3)
            add_pair(&p, square, value - 24, guide - 24, mean - 24);
        if (span >= 2)
            add_pair(&p, square, value - 16, guide - 16, mean - 16);
        if (span >= 1)
            add_pair(&p, square, value - 8, guide - 8, mean - 8);
        add_pair(&p, square, value, guide, mean);
        if (span >= 1)
            add_pair(&p, square, value + 8, guide + 8, mean + 8);
        if (span >= 2)
            add_pair(&p, square, value + 16, guide + 16, mean + 16);
        if (span >= 3)
            add_pair(&p, square, value + 24, guide + 24, mean + 24);
        for (int a = 4; a <= span; a++)
            add_pair(&p, square, value + 8 * a, guide + 8 * a, mean + 8 * a);
#pragma unroll
        for (int k = 0; k < 2; k++) {
            to->num[j + k] = p.sum[k];
            to->den[j + k] = p.all[k];
        }
    }
}

/* The usual spans, where nothing is asked within. */
#define ADD_SPAN(square)                                           \
    do {                                                           \
        if (span == 3)                                             \
            add_span(&to, 3, square, from, like, like_mean, count);\
        else if (span == 2)                                        \
            add_span(&to, 2, square, from, like, like_mean, count);\
        else if (span == 1)                                        \
            add_span(&to, 1, square, from, like, like_mean, count);\
        else if (span >= 0)                                        \
            add_span(&to, span, square, from, like, like_mean, count);\
    } while (0)

/* A row of voxels, row by row of the neighbours: few are read at a time, in the order in which they lie. */
static inline void average_row(__global const float *value, __global const float *guide,
                               __global const float *mean, __global const float *sigma,
                               __global float *out, int y, int z, int4 size, padded p, int4 search,
                               float4 weight)
{
    averages to;
    int part = p.margin.w, row = (z * size.y + y) * size.x;
    float strength = 1.0f / weight.y;
    for (int first = 0; first < part; first += CHUNK) {
        int count = min(CHUNK, part - first), corner = z * p.size.w + y * p.size.x + 8 * (first + p.margin.x);
        to.guide = guide + corner;
        to.mean = mean + corner;
        for (int j = 0; j < CHUNK; j++)
            to.num[j] = to.den[j] = to.limit[j] = 0.0f;
        for (int l = 0; l < 8; l++) {
            float *limit = (float *)to.limit + l;
            __global const float *here = sigma + row + l * part + first;
            for (int j = 0; j < min(count, size.x - first - l * part); j++)
                limit[8 * j] = here[j] > 0.0f ? here[j] * here[j] * strength : 0.0f;
        }
        for (int c = max(-search.z, -z); c <= min(search.z, size.z - 1 - z); c++)
            for (int b = max(-search.y, -y); b <= min(search.y, size.y - 1 - y); b++) {
                int span = span_of(search, search.x, b, c), shift = c * p.size.w + b * p.size.x;
                __global const float *from = value + corner + shift, *like = to.guide + shift;
                __global const float *like_mean = to.mean + shift;
                if (weight.z > 0.0f)
                    ADD_SPAN(true);
                else
                    ADD_SPAN(false);
            }
        /* A voxel without noise, or with so little that its weights are 0, stays. */
        for (int j = 0; j < count; j++) {
            float8 m = to.num[j] / to.den[j];
            m = weight.z > 0.0f ? sqrt(m) : m;
            to.num[j] = to.den[j] > 0.0f ? m : LOAD8(value + corner + 8 * j);
        }
        for (int l = 0; l < 8; l++) {
            const float *made = (const float *)to.num + l;
            int i = row + l * part + first;
            for (int j = 0; j < min(count, size.x - first - l * part); j++)
                out[i + j] = made[8 * j];
        }
    }
}

KERNEL
{
    for (int r = 0; r < ROWS; r++) {
        int y = get_global_id(1) * ITEM_Y + r % ITEM_Y, z = get_global_id(2) * ITEM_Z + r / ITEM_Y;
        if (y < size.y && z < size.z)
            average_row(value, guide, mean, sigma, out, y, z, size, p, search, weight);
    }
}
#else
/* Lanes of a chunk; the outermost ones help only. */
#define LANES 64
#if SHARED
#define CHUNK (LANES - 8) /* of weights, eight of which are written at once */
#else
#define CHUNK (LANES - 2 * MOST_PATCH)
#endif

/* State of one chunk: what every row has so far. */
typedef struct chunk {
#if !SHARED
    float num[ROWS][LANES], den[ROWS][LANES];
#endif
    float scale[ROWS][LANES], sum[ROWS][LANES + 8];
} chunk;

/* Sums along y and z of the squared differences of eight columns. */
static inline void columns(chunk *k, int l, __global const float *guide, __global const float *mean, int shift,
                           padded p)
{
    float8 sum[ROWS], shared[ITEM_Y];
#pragma unroll
    for (int c = 0; c < HIGH_Z; c++) {
        float8 square[HIGH_Y], along[ITEM_Y];
#pragma unroll
        for (int j = 0; j < HIGH_Y; j++) {
            int at = c * p.size.w + j * p.size.x + l;
            square[j] = squares(LOAD8(guide + at), guide + at + shift);
#if GUIDED
            square[j] += squares(LOAD8(mean + at), mean + at + shift);
#endif
        }
        ALONG_Y(float8, square, along);
        ALONG_Z(c, along, sum, shared);
    }
    JOIN_Z(sum, shared);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        PUT8(sum[r], &k->sum[r][l + 4]);
}

/* Distances of patches over the noise, from lane l on. */
static inline float8 distances(const chunk *k, int r, int l)
{
    float8 d = GET8(&k->sum[r][l + 4 - PATCH]);
#pragma unroll
    for (int i = 1 - PATCH; i <= PATCH; i++)
        d += GET8(&k->sum[r][l + 4 + i]);
    return d * GET8(&k->scale[r][l]);
}

#if SHARED
/* Adds what is between the voxels of a row, from `first` on, and those `a` voxels on. */
static inline void add_up(const chunk *k, int r, __global float *to, int first, int lanes, int a,
                          bool there, int n, float4 weight, batch part)
{
    for (int l = MOST_PATCH; l < lanes; l += 8) {
        float8 d = distances(k, r, l);
        if (!part.row.y)
            d += LOAD8(to + l - MOST_PATCH);
        if (part.row.z)
            d = weights_of(there ? inside_row(first + l + a, n, weight) : (float8)(FAR), d);
        STORE8(d, to + l - MOST_PATCH);
    }
}
#else
/* Adds eight neighbours by their weights. */
static inline void add(chunk *k, int r, int l, __global const float *centre, float8 w, bool squares)
{
    float8 v = LOAD8(centre + l);
    PUT8(GET8(&k->num[r][l]) + w * (squares ? v * v : v), &k->num[r][l]);
    PUT8(GET8(&k->den[r][l]) + w, &k->den[r][l]);
}

/* Adds the neighbours `a` voxels on along a row; those of a chunk's inner lanes are all inside. */
static inline void gather(chunk *k, int r, __global const float *centre, int first, int lanes, int n,
                          float4 weight, bool squares)
{
    int inner = max(0, min(lanes, n - first) - 7);
    for (int l = 0; l < lanes; l += 8) {
        float8 d = distances(k, r, l), w;
        if (first + l >= 0 && l < inner)
            w = weights_of((float8)(weight.x), d);
        else
            w = weights_of(inside_row(first + l, n, weight), d);
        add(k, r, l, centre, w, squares);
    }
}
#endif

KERNEL
{
    int y = get_global_id(1) * ITEM_Y, z = FIRST_Z + get_global_id(2) * ITEM_Z;
    if (y >= size.y || z >= END_Z)
        return;
    chunk k;
    for (int r = 0; r < ROWS; r++)
        for (int l = 0; l < LANES + 8; l++)
            k.sum[r][l] = 0.0f;
    for (int x = 0; x < size.x; x += CHUNK) {
        int first = x - MOST_PATCH, lanes = min(LANES, size.x - x + 2 * MOST_PATCH);
        for (int r = 0; r < ROWS; r++) {
            int ry = y + r % ITEM_Y, rz = z + r / ITEM_Y;
            for (int l = 0; l < LANES; l++) {
                bool there = first + l >= 0 && first + l < size.x && ry < size.y && rz < END_Z;
                float s = there ? sigma[(rz * size.y + ry) * size.x + first + l] : 0.0f;
                k.scale[r][l] = s > 0.0f ? weight.y / (s * s) : 0.0f;
            }
#if !SHARED
            __global const float *here = voxel_of(value, p, first, ry, rz);
            for (int l = 0; l < LANES; l++) {
                k.num[r][l] = weight.z > 0.0f ? here[l] * here[l] : here[l];
                k.den[r][l] = 1.0f;
            }
#endif
        }
        __global const float *corner = voxel_of(guide, p, first, y - PATCH, z - PATCH);
        __global const float *corner_mean = voxel_of(mean, p, first, y - PATCH, z - PATCH);
        for (int c = FIRST_C; c <= LAST_C; c++)
            for (int b = FIRST_B; b <= LAST_B; b++) {
                int span = span_of(search, search.x, b, c);
                for (int a = -span; a <= span; a++) {
                    bool self = a == 0 && b == 0 && c == 0;
                    if (!SHARED && self)
                        continue;
                    int shift = c * p.size.w + b * p.size.x + a;
                    for (int l = 0; l < lanes; l += 8)
                        columns(&k, l, corner, corner_mean, shift, p);
                    for (int r = 0; r < ROWS; r++) {
                        int ry = y + r % ITEM_Y, rz = z + r / ITEM_Y;
                        bool there = ry + b >= 0 && ry + b < size.y && rz + c >= 0 && rz + c < size.z;
#if SHARED
                        int s = (b - FIRST_B) * (2 * search.x + 1) + a + search.x;
                        if (ry >= size.y || rz >= END_Z)
                            continue;
                        __global float *to =
                            weights + weight_index(part, size, search, ry, rz) + s * part.row.x + x;
                        add_up(&k, r, to, first, min(CHUNK, size.x - x) + MOST_PATCH, a, there && !self,
                               size.x, weight, part);
#else
                        __global const float *centre = voxel_of(value, p, first + a, ry + b, rz + c);
                        if (there && weight.z > 0.0f)
                            gather(&k, r, centre, first + a, lanes, size.x, weight, true);
                        else if (there)
                            gather(&k, r, centre, first + a, lanes, size.x, weight, false);
#endif
                    }
                }
            }
#if !SHARED
        int count = min(CHUNK, size.x - x);
        for (int r = 0; r < ROWS; r++) {
            int ry = y + r % ITEM_Y, rz = z + r / ITEM_Y;
            if (ry >= size.y || rz >= size.z)
                continue;
            int i = (rz * size.y + ry) * size.x + x;
            __global const float *here = voxel_of(value, p, x, ry, rz);
            for (int l = 0; l < count; l++)
                out[i + l] = finished(k.num[r][l + MOST_PATCH], k.den[r][l + MOST_PATCH], here[l],
                                      sigma[i + l], weight);
        }
#endif
    }
}
#endif
#endif

/* Adds the neighbours of a batch to num, by weights and squared where noise is Rician; to den (of all
 * frames, where `own` says so) the weights. After the last batch num is the result. */
__kernel void nlm_gather(__global const float *weights, __global const float *value,
                         __global const float *sigma, __global float *num, __global float *den, int4 size,
                         padded p, int4 search, float4 weight, batch part, int own)
{
    int y = get_global_id(1), z = part.begin.x + get_global_id(2), wide = 2 * search.x + 1;
    if (y >= size.y || z >= part.row.w)
        return;
    __global const float *from = weights + weight_index(part, size, search, y, z) + search.x * part.row.x;
    __global const float *near = voxel_of(value, p, 0, y + part.begin.z, z + part.begin.y);
    __global const float *here = voxel_of(value, p, 0, y, z);
    int row = (z * size.y + y) * size.x;
    bool squares = weight.z > 0.0f;
#if ROW_FORM
    for (int x = 0; x < size.x; x += 8) {
        float8 sum = 0.0f, all = 0.0f;
        for (int b = 0; b < part.begin.w; b++) {
            int span = span_of(search, search.x, b + part.begin.z, part.begin.y);
            for (int a = -span; a <= span; a++) {
                float8 w = LOAD8(from + (b * wide + a) * part.row.x + x);
                float8 v = LOAD8(near + b * p.size.x + a + x);
                sum += w * (squares ? v * v : v);
                all += w;
            }
        }
        float sums[8], alls[8];
        PUT8(sum, sums);
        PUT8(all, alls);
        for (int l = 0; l < min(8, size.x - x); l++) {
            int i = row + x + l;
            float v = here[x + l];
            sums[l] += part.row.y ? (squares ? v * v : v) : num[i];
            if (own)
                den[i] = alls[l] + (part.row.y ? 1.0f : den[i]);
            num[i] = part.row.z ? finished(sums[l], den[i], v, sigma[i], weight) : sums[l];
        }
    }
#else
    int x = get_global_id(0), i = row + x;
    if (x >= size.x)
        return;
    float v = here[x], sum = part.row.y ? (squares ? v * v : v) : num[i];
    float all = own ? (part.row.y ? 1.0f : den[i]) : 0.0f;
    for (int b = 0; b < part.begin.w; b++) {
        int span = span_of(search, search.x, b + part.begin.z, part.begin.y);
        for (int a = -span; a <= span; a++) {
            float w = from[(b * wide + a) * part.row.x + x], u = near[b * p.size.x + a + x];
            sum += w * (squares ? u * u : u);
            all += w;
        }
    }
    if (own)
        den[i] = all;
    else if (part.row.z)
        all = den[i];
    num[i] = part.row.z ? finished(sum, all, v, sigma[i], weight) : sum;
#endif
}
