/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest patches of each block of rows. A pair's distance is
 * |a|^2 + |b|^2 - 2 a.b with a and b taken from the block's mean patch, a blocked
 * matrix product. Pairs that this cannot rule out (its rounding error is at
 * most slack (|a|^2 + |b|^2), src/op/surface/patch_search.c has the proof) are compared
 * directly. Blocks of columns are skipped where their box of features is
 * farther from every row than the row's worst neighbour so far.
 *
 * Arguments: n: positions in use, stride of a patch, unused, blocks. from:
 * patches, panels, features, boxes. with: centres, near blocks, order, lists.
 * state: counts, cursors, unfinished blocks, and the number of neighbours.
 * first: block of group 0. limit: steps of a block in this launch. blur: rounding
 * error of a feature over the norms of both patches. */
#include "surface/patch_search.clh"

/* Candidates of each row are compared directly and the best of them and of
 * those before kept: ascending by distance, then by index. */

enum { KEYS = 1024 };
/* Work-items that share a candidate, candidates compared at a time. */
enum { SHARERS = 8, AT_ONCE = TILE_X };

/* Rows of blocks first and on. n: positions in use, stride, positions in a
 * block, neighbours. at: patches, order, lists, counts. A work-group a row. */
__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
patch_search_keep_groups(__global float *scratch, __global int *neighbours, __global float *distances,
                         int4 n, int4 at, int first)
{
    __local ulong keys[KEYS];
    __local float own[LONGEST] __attribute__((aligned(16)));
    __local float parts[AT_ONCE * (SHARERS + 1)];
    int lane = get_local_id(0), row = get_group_id(0), s = first * n.z + row, most = n.w, stride = n.y;
    __global const float *patches = REGION(scratch, at.x);
    __global const int *order = INT_REGION(scratch, at.y);
    __global const int *list = INT_REGION(scratch, at.z) + (size_t)row * CAPACITY;
    int count = s < n.x ? min(INT_REGION(scratch, at.w)[row], (int)CAPACITY) : 0, size = 1;
    size_t out = s < n.x ? (size_t)order[s] * most : 0;
    while (size < most + count)
        size *= 2;
    size = count > 0 ? size : 1;
    for (int k = lane; k < stride && count > 0; k += TILE_X)
        own[k] = patches[(size_t)s * stride + k];
    for (int i = lane; i < size && count > 0; i += TILE_X) {
        ulong key = ~0UL;
        if (i < most)
            key = (ulong)as_uint(distances[out + i]) << 32 | as_uint(neighbours[out + i]);
        keys[i] = key;
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* the count is written at the end */
    for (int base = 0; base < count; base += AT_ONCE) {
        for (int i = lane / SHARERS; i < AT_ONCE && base + i < count; i += TILE_X / SHARERS) {
            __global const float *other = patches + (size_t)list[base + i] * stride;
            float4 sum = (float4)(0.0f);
            for (int k = lane % SHARERS * 4; k < stride; k += SHARERS * 4) {
                float4 d = *(__local const float4 *)(own + k) - *(__global const float4 *)(other + k);
                sum += d * d;
            }
            parts[i * (SHARERS + 1) + lane % SHARERS] = (sum.x + sum.z) + (sum.y + sum.w);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = lane; i < AT_ONCE && base + i < count; i += TILE_X) {
            float d = 0.0f;
            for (int k = 0; k < SHARERS; k++)
                d += parts[i * (SHARERS + 1) + k];
            if (d < INFINITY)
                keys[most + base + i] = (ulong)as_uint(d) << 32 | (uint)order[list[base + i]];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int run = 2; run <= size; run *= 2)
        for (int gap = run / 2; gap > 0; gap /= 2) {
            for (int i = lane; i < size / 2; i += TILE_X) {
                int low = i / gap * gap * 2 + i % gap;
                ulong a = keys[low], b = keys[low + gap];
                if ((a > b) == ((low & run) == 0)) {
                    keys[low] = b;
                    keys[low + gap] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    for (int i = lane; i < most && count > 0; i += TILE_X) {
        distances[out + i] = as_float((uint)(keys[i] >> 32));
        neighbours[out + i] = as_int((uint)keys[i]);
    }
    if (lane == 0)
        INT_REGION(scratch, at.w)[row] = 0;
}

/* The same, a work-item a row. */
__kernel void patch_search_keep_rows(__global float *scratch, __global int *neighbours,
                                     __global float *distances, int4 n, int4 at, int first)
{
    int row = get_global_id(0), s = first * n.z + row, most = n.w, stride = n.y;
    __global const float *patches = REGION(scratch, at.x);
    __global const int *order = INT_REGION(scratch, at.y);
    __global const int *list = INT_REGION(scratch, at.z) + (size_t)row * CAPACITY;
    __global int *counts = INT_REGION(scratch, at.w);
    int count = s < n.x ? min(counts[row], (int)CAPACITY) : 0;
    if (count == 0)
        return;
    __global float *distance = distances + (size_t)order[s] * most;
    __global int *neighbour = neighbours + (size_t)order[s] * most;
    for (int i = 0; i < most / 2; i++) { /* descending: the largest is on top of the heap */
        float d = distance[i];
        int j = neighbour[i];
        distance[i] = distance[most - 1 - i];
        neighbour[i] = neighbour[most - 1 - i];
        distance[most - 1 - i] = d;
        neighbour[most - 1 - i] = j;
    }
    for (int i = 0; i < count; i++) {
        int c = list[i];
        float d = direct(patches + (size_t)s * stride, patches + (size_t)c * stride, stride);
        if (d < distance[0] || (d == distance[0] && order[c] < neighbour[0]))
            sink(distance, neighbour, most, d, order[c]);
    }
    unheap(distance, neighbour, most);
    counts[row] = 0;
}

/* Position of the first voxel of the band at or after voxel v. */
static inline int lower_bound(__global const int *band, int n, int v)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        int less = band[middle] < v;
        low = less ? middle + 1 : low;
        high = less ? high : middle;
    }
    return low;
}

/* Appends the band's voxels within reach of each row's voxel to its list, as
 * many as it holds; cursors (line of voxels, 1 + position in the
 * band or 0) say where to go on, line -1 where all is done. Positions are
 * indices here. size: the grid. at: lists,
 * counts, cursors, unfinished rows. A work-item a row. */
__kernel void patch_search_reach(__global float *scratch, __global const int *band, int4 size, int n, int4 at,
                                 int first, int rows, float reach)
{
    int row = get_global_id(0), s = first + row;
    if (row >= rows || s >= n)
        return;
    __global int *list = INT_REGION(scratch, at.x) + (size_t)row * CAPACITY;
    __global int *cursor = INT_REGION(scratch, at.z) + 2 * row;
    int line = cursor[0], next = cursor[1] - 1, count = 0;
    int x = band[s] % size.x, y = band[s] / size.x % size.y, z = band[s] / (size.x * size.y);
    int r = (int)min(reach, 1e6f), y0 = max(y - r, 0), y1 = min(y + r, size.y - 1);
    int z0 = max(z - r, 0), z1 = min(z + r, size.z - 1), wide = y1 - y0 + 1;
    for (; line >= 0 && line < wide * (z1 - z0 + 1) && count < CAPACITY; line++) {
        int ly = y0 + line % wide, lz = z0 + line / wide;
        float left = reach * reach - (float)((ly - y) * (ly - y)) - (float)((lz - z) * (lz - z));
        int span = left < 0.0f ? -1 : (int)min(sqrt(left), 1e6f);
        span += (float)((span + 1) * (span + 1)) <= left && span >= 0 ? 1 : 0;
        span -= (float)(span * span) > left && span >= 0 ? 1 : 0;
        int start = (lz * size.y + ly) * size.x, from = start + max(x - span, 0);
        int last = span < 0 ? -1 : start + min(x + span, size.x - 1);
        int l = span < 0 ? n : next >= 0 ? next : lower_bound(band, n, from);
        next = -1;
        for (; l < n && band[l] <= last && count < CAPACITY; l++)
            if (l != s)
                list[count++] = l;
        if (l < n && band[l] <= last) {
            next = l;
            break;
        }
    }
    int done = line < 0 || line >= wide * (z1 - z0 + 1);
    cursor[0] = done ? -1 : line;
    cursor[1] = next + 1;
    INT_REGION(scratch, at.y)[row] = count;
    if (!done)
        INT_REGION(scratch, at.w)[0] = 1;
}

/* Patches of the band and what bounds their distances: features of each patch,
 * patches in the order of the search, centres and boxes of its blocks, blocks
 * near each block. One work-item an element, or a row of them where a CPU does
 * it; the arguments are those of src/op/surface/patch_search.c. */

#include "surface/extrapolate.clh"

/* Sample k of the patch with this radius (size.w) round voxel i; x fastest. */
static inline float patch_at(__global const float *phi, int4 size, int i, int k)
{
    int side = 2 * size.w + 1;
    int x = i % size.x + k % side - size.w, y = i / size.x % size.y + k / side % side - size.w;
    int z = i / (size.x * size.y) + k / (side * side) - size.w;
    return extrapolated(phi, (int4)(x, y, z, 0), size);
}

/* size: grid and radius. A work-item a voxel of the band. */
__kernel void patch_search_features(__global const float *phi, int4 size, __global const int *band, int count,
                                    __global float *scratch, int basis_at, int features_at)
{
    int j = get_global_id(0);
    if (j >= count)
        return;
    int side = 2 * size.w + 1, i = band[j], samples = side * side * side;
    __global const float *basis = REGION(scratch, basis_at);
    __global float *out = REGION(scratch, features_at) + (size_t)j * FEATURES;
    float f[POLYNOMIALS], norm = 0.0f, rest = 0.0f;
    for (int p = 0; p < POLYNOMIALS; p++)
        f[p] = 0.0f;
    for (int k = 0; k < samples; k++) {
        float v = patch_at(phi, size, i, k);
        for (int p = 0; p < POLYNOMIALS; p++)
            f[p] += basis[k * POLYNOMIALS + p] * v;
        norm += v * v;
    }
    for (int k = 0; k < samples; k++) {
        float v = patch_at(phi, size, i, k);
        for (int p = 0; p < POLYNOMIALS; p++)
            v -= f[p] * basis[k * POLYNOMIALS + p];
        rest += v * v;
    }
    for (int p = 0; p < POLYNOMIALS; p++)
        out[p] = f[p];
    out[POLYNOMIALS] = sqrt(rest);
    out[BOUNDED] = sqrt(norm);
}

/* One element: sample k of the patch at position s, or with k from stride on a
 * feature. Positions from n on and samples beyond the patch are 0. */
static inline void gather(__global const float *phi, int4 size, __global const int *band,
                          __global float *scratch, int4 n, int4 at, int4 to, int s, int k)
{
    int stride = n.y, block = n.z, side = 2 * size.w + 1;
    int j = s < n.x ? INT_REGION(scratch, at.x)[s] : -1;
    float v = 0.0f;
    if (k >= stride) {
        int f = k - stride;
        if (f >= FEATURES || at.y < 0)
            return;
        if (j >= 0)
            v = REGION(scratch, at.y)[(size_t)j * FEATURES + f];
        REGION(scratch, to.z)[((size_t)(s / block) * FEATURES + f) * block + s % block] = v;
        return;
    }
    if (j >= 0 && k < side * side * side)
        v = patch_at(phi, size, band[j], k);
    REGION(scratch, to.x)[(size_t)s * stride + k] = v;
    if (to.y >= 0)
        REGION(scratch, to.y)[((size_t)(s / n.w) * stride + k) * n.w + s % n.w] = v;
}

/* n: positions in use, stride, positions in a block, in a panel. at: order,
 * features by index or -1. to: patches, the same in panels with the sample as
 * the slow index or -1, features by block. */
__kernel void patch_search_gather(__global const float *phi, int4 size, __global const int *band,
                                  __global float *scratch, int4 n, int4 at, int4 to, int rows)
{
    int s = get_global_id(1), each = n.y + 16;
    if (s >= rows)
        return;
#if ITEM_X == 0
    for (int k = 0; k < each; k++)
        gather(phi, size, band, scratch, n, at, to, s, k);
#else
    if (get_global_id(0) < each)
        gather(phi, size, band, scratch, n, at, to, s, get_global_id(0));
#endif
}

/* A work-item for each sample of a block's mean patch and, behind the stride,
 * each feature of its box. n as above; at: patches, features by block; to:
 * centres, boxes. */
__kernel void patch_search_blocks(__global float *scratch, int4 n, int4 at, int blocks)
{
    int k = get_global_id(0), b = get_global_id(1), stride = n.y, block = n.z;
    if (k >= stride + 16 || b >= blocks)
        return;
    int used = min(block, n.x - b * block);
    if (k < stride) {
        __global const float *patch = REGION(scratch, at.x) + (size_t)b * block * stride + k;
        float sum = 0.0f;
        for (int r = 0; r < used; r++)
            sum += patch[(size_t)r * stride];
        REGION(scratch, at.z)[(size_t)b * stride + k] = sum / (float)used;
    } else if (k - stride < FEATURES) {
        int f = k - stride;
        __global const float *feature = REGION(scratch, at.y) + ((size_t)b * FEATURES + f) * block;
        __global float *box = REGION(scratch, at.w) + (size_t)b * BOX;
        float low = feature[0], high = low;
        for (int r = 1; r < used; r++) {
            low = min(low, feature[r]);
            high = max(high, feature[r]);
        }
        if (f < BOUNDED) {
            box[f] = low;
            box[BOX_HIGH + f] = high;
        } else {
            box[BOX_NORM] = high;
        }
    }
}

/* The NEAR blocks whose boxes' middles are nearest, nearest first, of equals
 * the lower number. A work-item a block. */
__kernel void patch_search_near(__global float *scratch, int boxes_at, int near_at, int blocks)
{
    int b = get_global_id(0);
    if (b >= blocks)
        return;
    __global const float *boxes = REGION(scratch, boxes_at), *own = boxes + (size_t)b * BOX;
    float middle[BOUNDED], best[NEAR];
    int which[NEAR];
    for (int f = 0; f < BOUNDED; f++)
        middle[f] = own[f] + own[BOX_HIGH + f];
    for (int i = 0; i < NEAR; i++) {
        best[i] = INFINITY;
        which[i] = 0;
    }
    for (int c = 0; c < blocks; c++) {
        __global const float *box = boxes + (size_t)c * BOX;
        float d = 0.0f;
        for (int f = 0; f < BOUNDED; f++) {
            float gap = middle[f] - box[f] - box[BOX_HIGH + f];
            d += gap * gap;
        }
        d = c == b ? -1.0f : d;
        if (!(d < best[NEAR - 1]))
            continue;
        int moved = c;
        for (int i = 0; i < NEAR; i++) {
            int first = d < best[i];
            float e = best[i];
            int w = which[i];
            best[i] = first ? d : e;
            which[i] = first ? moved : w;
            d = first ? e : d;
            moved = first ? w : moved;
        }
    }
    for (int i = 0; i < NEAR; i++)
        INT_REGION(scratch, near_at)[b * NEAR + i] = which[i];
}

/* Positions of a block of rows, and columns that it meets at a time. */
#define BLOCK GROUP_X

/* The least that the squared distance of a patch with these features (step
 * apart) can be to a patch in the box: features in global or local memory. */
#define BOUND(name, space)                                                                         \
    static inline float name(space const float *feature, int step, __global const float *box, float blur) \
    {                                                                                              \
        float error = blur * (feature[BOUNDED * step] + box[BOX_NORM]), sum = 0.0f;                \
        for (int f = 0; f < BOUNDED; f++) {                                                        \
            float v = feature[f * step];                                                           \
            float gap = max(max(box[f] - v, v - box[BOX_HIGH + f]) - error, 0.0f);                 \
            sum += gap * gap;                                                                      \
        }                                                                                          \
        return SURE * sum;                                                                         \
    }
BOUND(bound, __global)
BOUND(bound_near, __local)

/* The same for any patch of one box to any of another. */
static inline float bound_boxes(__global const float *a, __global const float *b, float blur)
{
    float error = blur * (a[BOX_NORM] + b[BOX_NORM]), sum = 0.0f;
    for (int f = 0; f < BOUNDED; f++) {
        float gap = max(max(b[f] - a[BOX_HIGH + f], a[f] - b[BOX_HIGH + f]) - error, 0.0f);
        sum += gap * gap;
    }
    return SURE * sum;
}

/* A work-group a block of rows, for GPUs. Patches come in panels of a block with
 * the sample as the slow index, so that a slice of some samples lies in memory as
 * it lies in local memory. */

#ifndef HIGH
#define HIGH 8
#endif
#if BLOCK * BLOCK == 8 * HIGH * TILE_X
/* Work-items share out a block of rows by a block of columns, HIGH by 8 each:
 * rows row_at + APART l + 0..3, columns column_at and BLOCK / 2 + column_at + 0..3.
 * 32 neighbours in a work-group take 4 by 8 of them. */
#define DEPTH 8
#ifndef UNROLL
#ifdef UNROLLS_WHOLE
#define UNROLL DEPTH
#else /* compilers that would hold all of them in registers */
#define UNROLL 2
#endif
#endif
enum {
    LINES = HIGH / 4,
    APART = BLOCK / LINES,
    SLICE = BLOCK * DEPTH,
    LOADS = SLICE / 4 / TILE_X,
    QUADS = BLOCK / 4,     /* of a sample of a slice */
    PARTS = TILE_X / QUADS /* samples that are loaded at once */
};

/* A slice of each block into registers. */
static inline __attribute__((always_inline)) void
fetch(__global const float *rows, __global const float *columns, int lane, float4 *a, float4 *b)
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        a[l] = *(__global const float4 *)(rows + 4 * (lane + l * TILE_X));
        b[l] = *(__global const float4 *)(columns + 4 * (lane + l * TILE_X));
    }
}

/* Slices that start at sample k, less the centre, into local memory. */
static inline __attribute__((always_inline)) void
put(__local float *to, __local const float *centre, int lane, int k, const float4 *a, const float4 *b,
    float4 *square)
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        int q = lane + l * TILE_X;
        float4 c = (float4)(centre[k + q / QUADS]), v = b[l] - c;
        *(__local float4 *)(to + 4 * q) = a[l] - c;
        *(__local float4 *)(to + 2 * SLICE + 4 * q) = v;
        *square += v * v;
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
patch_search_tile(__global float *scratch, __global int *neighbours, __global float *distances, int4 n,
                  int4 from, int4 with, int4 state, int first, int limit, float slack, float blur)
{
    __local float slices[4 * SLICE] __attribute__((aligned(16))); /* rows, rows, columns, columns */
    __local float centre[LONGEST];
    __local float squares[4 * TILE_X] __attribute__((aligned(16)));
    __local float half_rows[BLOCK], worst[BLOCK];
    __local float own[FEATURES * BLOCK];
    __local int counts[BLOCK], found[TILE_X], step_of[TILE_X], full;
    int lane = get_local_id(0), group = get_group_id(0), R = first + group, stride = n.y, blocks = n.w;
    __global const float *panels = REGION(scratch, from.y);
    __global const float *features = REGION(scratch, from.z), *boxes = REGION(scratch, from.w);
    __global const int *near = INT_REGION(scratch, with.y), *order = INT_REGION(scratch, with.z);
    __global const float *rows = panels + (size_t)R * BLOCK * stride;
    __global int *lists = INT_REGION(scratch, with.w) + (size_t)group * BLOCK * CAPACITY;
    __global int *cursors = INT_REGION(scratch, state.y);
    int begin = cursors[group], steps = steps_in_all(blocks);
    int end = min(limit < steps - begin ? begin + limit : steps, steps);
    int used = min(n.x - R * BLOCK, BLOCK); /* rows */

    for (int k = lane; k < stride; k += TILE_X)
        centre[k] = REGION(scratch, with.x)[(size_t)R * stride + k];
    for (int i = lane; i < FEATURES * BLOCK; i += TILE_X)
        own[i] = features[(size_t)R * FEATURES * BLOCK + i];
    for (int r = lane; r < BLOCK; r += TILE_X) {
        counts[r] = 0;
        worst[r] = r < used ? distances[(size_t)order[R * BLOCK + r] * state.w + state.w - 1] : -1.0f;
    }
    if (lane == 0)
        full = 0;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); /* the cursor is written at the end */
    float farthest = -1.0f;
    for (int r = 0; r < used; r++)
        farthest = max(farthest, worst[r]);
    for (int r = lane; r < BLOCK; r += TILE_X) {
        float sum = 0.0f;
        for (int k = 0; k < stride; k++) {
            float v = rows[k * BLOCK + r] - centre[k];
            sum += v * v;
        }
        half_rows[r] = r < used ? 0.5f * (1.0f - slack) * sum - 0.5f * worst[r] : INFINITY;
    }

    int warp = lane / 32, across = BLOCK / 64;
    /* Neighbours of a work-item share its rows or its columns: few different reads at once. */
    int row_in = (lane & 1) + (lane >> 4 & 1) * 2, column_in = lane >> 1 & 7;
    int row_at = (warp / across * 4 + row_in) * 4, column_at = (warp % across * 8 + column_in) * 4;
    int stopped = 0, at = begin;
    while (at < end && !stopped) {
        /* Each work-item rules out one block of columns, or not. */
        int step = at + lane, column_block = -1;
        if (step < end) {
            column_block = visited(near, R, step, blocks);
            if (column_block >= 0) {
                __global const float *box = boxes + (size_t)column_block * BOX;
                int on = 0;
                if (!(bound_boxes(boxes + (size_t)R * BOX, box, blur) > farthest))
                    for (int r = 0; r < used && !on; r++)
                        on = !(bound_near(own + r, BLOCK, box, blur) > worst[r]);
                column_block = on ? column_block : -1;
            }
        }
        found[lane] = column_block;
        barrier(CLK_LOCAL_MEM_FENCE);
        int rank = 0, total = 0;
        for (int i = 0; i < TILE_X; i++) {
            int there = found[i] >= 0;
            rank += there && i < lane;
            total += there;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (column_block >= 0) {
            found[rank] = column_block;
            step_of[rank] = step;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        float4 a4[LOADS], b4[LOADS], square = (float4)(0.0f);
        int odd = 0, t = 0;
        if (total > 0) {
            fetch(rows, panels + (size_t)found[0] * BLOCK * stride, lane, a4, b4);
            put(slices, centre, lane, 0, a4, b4, &square);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (; t < total && !stopped; t++) {
            int C = found[t], C_next = found[min(t + 1, total - 1)];
            __global const float *columns = panels + (size_t)C * BLOCK * stride;
            __global const float *columns_next = panels + (size_t)C_next * BLOCK * stride;
            float acc[8 * HIGH];
            float4 whole = (float4)(0.0f);
#pragma unroll
            for (int i = 0; i < 8 * HIGH; i++)
                acc[i] = 0.0f;
            for (int k = DEPTH; k < stride + DEPTH; k += DEPTH, odd ^= 1) {
                /* The next slice, that of the next block at last, is under way during the product of
                 * this one; conditions around it would let compilers move it behind. */
                int last = k == stride, next = last ? 0 : k;
                fetch(rows + next * BLOCK, (last ? columns_next : columns) + next * BLOCK, lane, a4, b4);
                __local const float *pa = slices + odd * SLICE + row_at;
                __local const float *pb = slices + (2 + odd) * SLICE + column_at;
#pragma unroll UNROLL
                for (int d = 0; d < DEPTH; d++) {
                    float a[HIGH], b[8];
#pragma unroll
                    for (int l = 0; l < LINES; l++) {
                        float4 v = *(__local const float4 *)(pa + d * BLOCK + l * APART);
                        a[4 * l] = v.x;
                        a[4 * l + 1] = v.y;
                        a[4 * l + 2] = v.z;
                        a[4 * l + 3] = v.w;
                    }
                    float4 b0 = *(__local const float4 *)(pb + d * BLOCK);
                    float4 b1 = *(__local const float4 *)(pb + d * BLOCK + BLOCK / 2);
                    b[0] = b0.x, b[1] = b0.y, b[2] = b0.z, b[3] = b0.w;
                    b[4] = b1.x, b[5] = b1.y, b[6] = b1.z, b[7] = b1.w;
                    /* There and back: one of the two operands stays from one to the next. */
#pragma unroll
                    for (int i = 0; i < HIGH; i++)
#pragma unroll
                        for (int turn = 0; turn < 8; turn++) {
                            int j = i % 2 ? 7 - turn : turn;
                            acc[8 * i + j] += a[i] * b[j];
                        }
                }
                whole = last ? square : whole;
                square = last ? (float4)(0.0f) : square;
                put(slices + (odd ^ 1) * SLICE, centre, lane, next, a4, b4, &square);
                barrier(CLK_LOCAL_MEM_FENCE);
            }
            *(__local float4 *)(squares + 4 * lane) = whole;
            barrier(CLK_LOCAL_MEM_FENCE);
            float4 left = (float4)(0.0f), right = (float4)(0.0f);
#pragma unroll
            for (int part = 0; part < PARTS; part++) {
                left += *(__local const float4 *)(squares + part * BLOCK + column_at);
                right += *(__local const float4 *)(squares + part * BLOCK + BLOCK / 2 + column_at);
            }
            left *= 0.5f * (1.0f - slack);
            right *= 0.5f * (1.0f - slack);
            float half_column[8] = {left.x, left.y, left.z, left.w, right.x, right.y, right.z, right.w};
#pragma unroll
            for (int l = 0; l < LINES; l++) {
                uint hits = 0;
#pragma unroll
                for (int i = 0; i < 32; i++)
                    hits |= acc[32 * l + i] < half_rows[row_at + APART * l + i / 8] + half_column[i % 8]
                                ? 0u
                                : 1u << i;
                for (; hits; hits &= hits - 1) {
                    int i = 31 - (int)clz(hits & -hits), r = row_at + APART * l + i / 8;
                    int c = C * BLOCK + column_at + (i % 8 < 4 ? i % 8 : BLOCK / 2 + i % 8 - 4);
                    if (r < used && c < n.x && c != R * BLOCK + r) {
                        int slot = atomic_inc(&counts[r]);
                        lists[r * CAPACITY + slot] = c;
                        if (slot >= CAPACITY - BLOCK)
                            full = 1;
                    }
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            stopped = full;
        }
        at = stopped ? step_of[t - 1] + 1 : at + TILE_X;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int r = lane; r < BLOCK; r += TILE_X)
        INT_REGION(scratch, state.x)[group * BLOCK + r] = counts[r];
    if (lane == 0) {
        cursors[group] = min(at, end);
        if (min(at, end) < steps)
            INT_REGION(scratch, state.z)[0] = 1;
    }
}
#endif

/* ---- a work-item a block of rows, for CPUs -------------------------------- */

#if GROUP_Y == 16
enum { SIX = 6, LANES = GROUP_Y };

/* Candidates of one row among eight columns are compared directly and kept in
 * the row's heap. Returns the row's worst neighbour now. */
static inline float take(int8 hit, int row, int column, int n, int stride, int most, float worst,
                         __global const float *patches, __global const int *order, __global int *neighbour,
                         __global float *distance)
{
    int hits[8];
    PUT_INT8(hit, hits);
    for (int lane = 0; lane < 8; lane++) {
        int c = column + lane;
        if (!hits[lane] || c >= n || c == row)
            continue;
        float d = direct(patches + (size_t)row * stride, patches + (size_t)c * stride, stride);
        int i = order[c];
        if (d < worst || (d == worst && i < neighbour[0])) {
            sink(distance, neighbour, most, d, i);
            worst = distance[0];
        }
    }
    return worst;
}

#define ZERO(r) float8 p##r = (float8)(0.0f), q##r = (float8)(0.0f)
#define MULTIPLY(r)                \
    do {                           \
        float8 x = (float8)(a[r]); \
        p##r += x * left8;         \
        q##r += x * right8;        \
    } while (0)
#define SIFT(r)                                                                                       \
    do {                                                                                              \
        int row = r_first + r, s = R * BLOCK + row;                                                   \
        int8 hit_p = ~(p##r < half_rows[row] + left_half), hit_q = ~(q##r < half_rows[row] + right_half); \
        if (s < n.x && (any(hit_p) || any(hit_q))) {                                                  \
            __global int *neighbour = neighbours + (size_t)order[s] * state.w;                        \
            __global float *distance = distances + (size_t)order[s] * state.w;                        \
            float worst = take(hit_p, s, column, n.x, stride, state.w, distance[0], patches, order,   \
                               neighbour, distance);                                                  \
            worst = take(hit_q, s, column + 8, n.x, stride, state.w, worst, patches, order, neighbour, \
                         distance);                                                                   \
            half_rows[row] = 0.5f * ((1.0f - slack) * squares[row] - worst);                          \
        }                                                                                             \
    } while (0)

/* A work-item a block of rows, all steps in one launch, six rows by sixteen
 * columns at a time; its share of the lists is where it packs patches. */
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
patch_search_rows(__global float *scratch, __global int *neighbours, __global float *distances, int4 n,
                  int4 from, int4 with, int4 state, int first, int limit, float slack, float blur)
{
    int group = get_group_id(0), R = first + group, stride = n.y, blocks = n.w;
    __global const float *patches = REGION(scratch, from.x), *panels = REGION(scratch, from.y);
    __global const float *features = REGION(scratch, from.z), *boxes = REGION(scratch, from.w);
    __global const float *centre = REGION(scratch, with.x) + (size_t)R * stride;
    __global const int *near = INT_REGION(scratch, with.y), *order = INT_REGION(scratch, with.z);
    __global const float *own = features + (size_t)R * FEATURES * BLOCK;
    __global float *packed = REGION(scratch, with.w) + (size_t)group * BLOCK * CAPACITY;
    __global float *panel = packed + BLOCK * stride;
    __global float *half_rows = panel + LANES * stride, *squares = half_rows + BLOCK;
    __global int *active = (__global int *)(squares + BLOCK);
    for (int row = 0; row < BLOCK; row++) {
        int s = R * BLOCK + row;
        float sum = 0.0f;
        for (int k = 0; k < stride; k++) {
            float v = patches[(size_t)s * stride + k] - centre[k];
            packed[(row / SIX * stride + k) * SIX + row % SIX] = v;
            sum += v * v;
        }
        squares[row] = sum;
        half_rows[row] = -INFINITY;
    }
    float farthest = INFINITY;
    for (int step = 0; step < steps_in_all(blocks); step++) {
        int C = visited(near, R, step, blocks);
        if (C < 0)
            continue;
        __global const float *box = boxes + (size_t)C * BOX;
        if (bound_boxes(boxes + (size_t)R * BOX, box, blur) > farthest)
            continue;
        int some = 0;
        farthest = 0.0f;
        for (int six = 0; six < BLOCK; six += SIX) {
            int on = 0;
            for (int row = six; row < six + SIX && R * BLOCK + row < n.x; row++) {
                float worst = distances[(size_t)order[R * BLOCK + row] * state.w];
                on |= !(bound(own + row, BLOCK, box, blur) > worst);
                farthest = max(farthest, worst);
            }
            active[six] = on;
            some |= on;
        }
        for (int column = C * BLOCK; column < min((C + 1) * BLOCK, n.x) && some; column += LANES) {
            float8 left_half = (float8)(0.0f), right_half = (float8)(0.0f);
            __global const float *whole = panels + (size_t)column * stride;
            for (int k = 0; k < stride; k++) {
                float8 left8 = LOAD8(whole + k * LANES) - (float8)(centre[k]);
                float8 right8 = LOAD8(whole + k * LANES + 8) - (float8)(centre[k]);
                STORE8(left8, panel + k * LANES);
                STORE8(right8, panel + k * LANES + 8);
                left_half += left8 * left8;
                right_half += right8 * right8;
            }
            left_half *= (float8)(0.5f * (1.0f - slack));
            right_half *= (float8)(0.5f * (1.0f - slack));
            for (int r_first = 0; r_first < BLOCK; r_first += SIX) {
                if (!active[r_first])
                    continue;
                ZERO(0); ZERO(1); ZERO(2); ZERO(3); ZERO(4); ZERO(5);
                __global const float *a = packed + r_first * stride;
                for (int k = 0; k < stride; k++, a += SIX) {
                    float8 left8 = LOAD8(panel + k * LANES), right8 = LOAD8(panel + k * LANES + 8);
                    MULTIPLY(0); MULTIPLY(1); MULTIPLY(2); MULTIPLY(3); MULTIPLY(4); MULTIPLY(5);
                }
                SIFT(0); SIFT(1); SIFT(2); SIFT(3); SIFT(4); SIFT(5);
            }
        }
    }
    for (int row = 0; row < BLOCK && R * BLOCK + row < n.x; row++) {
        size_t at = (size_t)order[R * BLOCK + row] * state.w;
        unheap(distances + at, neighbours + at, state.w);
    }
}
#endif
