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
#include "surface/patch_search_keep.clh"
#include "surface/patch_search_prepare.clh"

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

#include "surface/patch_search_tile.clh"

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
