/* SPDX-License-Identifier: Apache-2.0 */
/* The nearest patches of each block of rows. A pair's distance is
 * |a|^2 + |b|^2 - 2 a.b with a and b taken from the block's mean patch, a blocked
 * matrix product. Pairs that this cannot rule out (its rounding error is at
 * most slack (|a|^2 + |b|^2), src/op/nlm_search.c has the proof) are compared
 * directly. Blocks of columns are skipped where their box of features is
 * farther from every row than the row's worst neighbour so far.
 *
 * Arguments: n: positions in use, stride of a patch, unused, blocks. from:
 * patches, panels, features, boxes. with: centres, near blocks, order, lists.
 * state: counts, cursors, unfinished blocks, and the number of neighbours.
 * first: block of group 0. limit: steps of a block in this launch. blur: rounding
 * error of a feature over the norms of both patches. */
#include "nlm_search.clh"
#include "nlm_search_keep.clh"
#include "nlm_search_pairs.clh"
#include "nlm_search_prepare.clh"

#define BLOCK MARCH

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

/* ---- a work-group a block of rows, for GPUs ------------------------------ */

#if BLOCK * BLOCK == 64 * TILE_X
/* Work-items share out a block of rows by a block of columns, 8 by 8 each: rows
 * ROWS_AT + 0..3 and BLOCK / 2 + ROWS_AT + 0..3, columns likewise. 32 neighbours
 * in a work-group take 4 by 8 of them. */
#ifndef WOVEN
#define WOVEN 0
#endif
#ifndef DEPTH
#define DEPTH 8
#endif
#ifndef UNROLL
#ifdef __NV_CL_C_VERSION
#define UNROLL DEPTH
#else /* compilers that would hold all of them in registers */
#define UNROLL 2
#endif
#endif
enum { QUADS = DEPTH / 4, LOADS = BLOCK * QUADS / TILE_X, PITCH = BLOCK + 4 };


/* Slice k of both blocks into registers, less the centre. */
static inline __attribute__((always_inline)) void
fetch(__global const float *rows, __global const float *columns, __local const float *centre, int stride,
      int lane, int k, float4 *a, float4 *b)
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        int q = lane + l * TILE_X, at = k + q % QUADS * 4;
        float4 c = *(__local const float4 *)(centre + at);
        a[l] = *(__global const float4 *)(rows + (q / QUADS) * stride + at) - c;
        b[l] = *(__global const float4 *)(columns + (q / QUADS) * stride + at) - c;
    }
}

static inline __attribute__((always_inline)) void
put(__local float *slice, int lane, const float4 *v, float *square)
{
#pragma unroll
    for (int l = 0; l < LOADS; l++) {
        int q = lane + l * TILE_X;
        __local float *to = slice + q % QUADS * 4 * PITCH + q / QUADS;
        to[0] = v[l].x;
        to[PITCH] = v[l].y;
        to[2 * PITCH] = v[l].z;
        to[3 * PITCH] = v[l].w;
        square[l] += v[l].x * v[l].x;
        square[l] += v[l].y * v[l].y;
        square[l] += v[l].z * v[l].z;
        square[l] += v[l].w * v[l].w;
    }
}

__kernel __attribute__((reqd_work_group_size(TILE_X, 1, 1))) void
nlm_search_tile(__global float *scratch, __global int *neighbours, __global float *distances, int4 n,
                int4 from, int4 with, int4 state, int first, int limit, float slack, float blur)
{
    __local float slices[4 * DEPTH * PITCH] __attribute__((aligned(16)));
    __local float centre[LONGEST] __attribute__((aligned(16)));
    __local float *squares = slices; /* when the product is done */
    __local float half_rows[BLOCK], half_columns[BLOCK], worst[BLOCK];
    __local float own[FEATURES * BLOCK];
    __local int counts[BLOCK], found[TILE_X], step_of[TILE_X], full;
    int lane = get_local_id(0), group = get_group_id(0), R = first + group, stride = n.y, blocks = n.w;
    __global const float *patches = REGION(scratch, from.x);
    __global const float *features = REGION(scratch, from.z), *boxes = REGION(scratch, from.w);
    __global const int *near = INT_REGION(scratch, with.y), *order = INT_REGION(scratch, with.z);
    __global const float *rows = patches + (size_t)R * BLOCK * stride;
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

    int warp = lane / 32, across = BLOCK / 64;
#if WOVEN /* neighbours of a work-item share its rows or its columns: fewer different reads at once */
    int row_in = (lane & 1) + (lane >> 4 & 1) * 2, column_in = lane >> 1 & 7;
#else
    int row_in = lane % 32 / 8, column_in = lane % 8;
#endif
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
        int t = 0;
        for (; t < total && !stopped; t++) {
            int C = found[t];
            __global const float *columns = patches + (size_t)C * BLOCK * stride;
            float acc[64];
            float4 a4[LOADS], b4[LOADS];
            float square_a[LOADS], square_b[LOADS];
#pragma unroll
            for (int i = 0; i < 64; i++)
                acc[i] = 0.0f;
#pragma unroll
            for (int l = 0; l < LOADS; l++)
                square_a[l] = square_b[l] = 0.0f;
            fetch(rows, columns, centre, stride, lane, 0, a4, b4);
            put(slices, lane, a4, square_a);
            put(slices + 2 * DEPTH * PITCH, lane, b4, square_b);
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int k = DEPTH, odd = 0; k < stride + DEPTH; k += DEPTH, odd ^= 1) {
                if (k < stride)
                    fetch(rows, columns, centre, stride, lane, k, a4, b4);
                __local const float *pa = slices + odd * DEPTH * PITCH + row_at;
                __local const float *pb = slices + (2 + odd) * DEPTH * PITCH + column_at;
#pragma unroll UNROLL
                for (int d = 0; d < DEPTH; d++) {
                    float4 a0 = *(__local const float4 *)(pa + d * PITCH);
                    float4 a1 = *(__local const float4 *)(pa + d * PITCH + BLOCK / 2);
                    float4 b0 = *(__local const float4 *)(pb + d * PITCH);
                    float4 b1 = *(__local const float4 *)(pb + d * PITCH + BLOCK / 2);
                    float a[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w};
                    float b[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
                    for (int i = 0; i < 8; i++)
#pragma unroll
                        for (int j = 0; j < 8; j++)
                            acc[8 * i + j] += a[i] * b[j];
                }
                if (k < stride) {
                    put(slices + (odd ^ 1) * DEPTH * PITCH, lane, a4, square_a);
                    put(slices + (2 + (odd ^ 1)) * DEPTH * PITCH, lane, b4, square_b);
                }
                barrier(CLK_LOCAL_MEM_FENCE);
            }
#pragma unroll
            for (int l = 0; l < LOADS; l++) {
                int q = lane + l * TILE_X;
                squares[q % QUADS * BLOCK + q / QUADS] = square_a[l];
                squares[(QUADS + q % QUADS) * BLOCK + q / QUADS] = square_b[l];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int r = lane; r < BLOCK; r += TILE_X) {
                float shrink = 0.5f * (1.0f - slack);
                float row = 0.0f, column = 0.0f;
                for (int q = 0; q < QUADS; q++) {
                    row += squares[q * BLOCK + r];
                    column += squares[(QUADS + q) * BLOCK + r];
                }
                half_rows[r] = r < used ? shrink * row - 0.5f * worst[r] : INFINITY;
                half_columns[r] = shrink * column;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            float half_column[8], half_row[8];
            int any_hit = 0;
#pragma unroll
            for (int i = 0; i < 8; i++) {
                half_row[i] = half_rows[row_at + (i < 4 ? i : BLOCK / 2 + i - 4)];
                half_column[i] = half_columns[column_at + (i < 4 ? i : BLOCK / 2 + i - 4)];
            }
#pragma unroll
            for (int i = 0; i < 64; i++)
                any_hit |= !(acc[i] < half_row[i / 8] + half_column[i % 8]);
            if (any_hit) {
#pragma unroll
                for (int i = 0; i < 64; i++) {
                    int r = row_at + (i < 32 ? i / 8 : BLOCK / 2 + i / 8 - 4);
                    int c = C * BLOCK + column_at + (i % 8 < 4 ? i % 8 : BLOCK / 2 + i % 8 - 4);
                    if (!(acc[i] < half_row[i / 8] + half_column[i % 8]) && r < used && c < n.x &&
                        c != R * BLOCK + r) {
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

enum { SIX = 6, LANES = 16 };

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
nlm_search_rows(__global float *scratch, __global int *neighbours, __global float *distances, int4 n,
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
