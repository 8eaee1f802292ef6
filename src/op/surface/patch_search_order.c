/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which the search takes patches: blocks of near features. */
#include <math.h>
#include <stdlib.h>

#include "clvox/threads.h"
#include "op/surface/patch_search_parts.h"

/* Squares of larger norms do not stay finite in all sums. */
static const float largest_norm = 1e15f;

enum { BOUNDED = CLV_PATCH_NORM, PIECES = 64 };

static double polynomial(int degree, double t, double radius)
{
    double square = radius * (radius + 1) / 3; /* the mean of t^2 over -radius .. radius */
    return degree == 0 ? 1 : degree == 1 ? t : t * t - square;
}

void clv_patch_basis(int radius, float *basis)
{
    static const int degrees[CLV_PATCH_POLYNOMIALS][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {2, 0, 0},
                                                    {0, 2, 0}, {0, 0, 2}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}};
    double norm[3] = {0};
    for (int d = 0; d < 3; d++)
        for (int t = -radius; t <= radius; t++)
            norm[d] += polynomial(d, t, radius) * polynomial(d, t, radius);
    int side = 2 * radius + 1, at = 0;
    for (int k = 0; k < side * side * side; k++) {
        const int x[3] = {k % side - radius, k / side % side - radius, k / (side * side) - radius};
        for (int p = 0; p < CLV_PATCH_POLYNOMIALS; p++) {
            double value = 1;
            for (int axis = 0; axis < 3; axis++)
                value *= polynomial(degrees[p][axis], x[axis], radius) / sqrt(norm[degrees[p][axis]]);
            basis[at++] = (float)value;
        }
    }
}

typedef struct range {
    int from, to;
} range;

typedef struct tree {
    const float *features;
    int32_t *order;
    int block, count;
    range pieces[PIECES];
} tree;

static float value(const tree *t, int at, int feature)
{
    return t->features[(size_t)t->order[at] * CLV_PATCH_FEATURES + (size_t)feature];
}

/* By the feature, of equals by index: one order, whatever came before. */
static bool before(float a, int32_t index_a, float b, int32_t index_b)
{
    return a < b || (a == b && index_a < index_b);
}

/* Brings the `middle - from` least of a range to its front. */
static void split(const tree *t, range r, int middle, int feature)
{
    while (r.to - r.from > 1) {
        int32_t pivot_index = t->order[r.from + (r.to - r.from) / 2];
        float pivot = t->features[(size_t)pivot_index * CLV_PATCH_FEATURES + (size_t)feature];
        int low = r.from, high = r.to - 1;
        while (low <= high) {
            while (before(value(t, low, feature), t->order[low], pivot, pivot_index))
                low++;
            while (before(pivot, pivot_index, value(t, high, feature), t->order[high]))
                high--;
            if (low <= high) {
                int32_t moved = t->order[low];
                t->order[low++] = t->order[high];
                t->order[high--] = moved;
            }
        }
        if (middle <= high)
            r.to = high + 1;
        else if (middle >= low)
            r.from = low;
        else
            return;
    }
}

/* The feature that spreads most, by a sample of the range. */
static int widest(const tree *t, range r)
{
    float low[BOUNDED], high[BOUNDED];
    int best = 0, step = (r.to - r.from) / 2048 + 1;
    for (int f = 0; f < BOUNDED; f++)
        low[f] = high[f] = value(t, r.from, f);
    for (int i = r.from + step; i < r.to; i += step)
        for (int f = 0; f < BOUNDED; f++) {
            float v = value(t, i, f);
            low[f] = v < low[f] ? v : low[f];
            high[f] = v > high[f] ? v : high[f];
        }
    for (int f = 1; f < BOUNDED; f++)
        if (high[f] - low[f] > high[best] - low[best])
            best = f;
    return best;
}

/* Cuts a range in two at a multiple of `unit`; false where it is one already. */
static bool cut(const tree *t, range r, int unit, range half[2])
{
    int units = (r.to - r.from + unit - 1) / unit;
    if (units < 2)
        return false;
    int middle = r.from + (units + 1) / 2 * unit;
    split(t, r, middle, widest(t, r));
    half[0] = (range){r.from, middle};
    half[1] = (range){middle, r.to};
    return true;
}

/* Below a block halves go on, so that rows side by side are near as well. */
static void arrange(const tree *t, range r)
{
    range half[2];
    int unit = r.to - r.from > t->block ? t->block : r.to - r.from > 16 ? 16 : 0;
    if (unit && cut(t, r, unit, half)) {
        arrange(t, half[0]);
        arrange(t, half[1]);
    }
}

static int arrange_piece(void *user, size_t index, int worker)
{
    const tree *t = user;
    (void)worker;
    arrange(t, t->pieces[index]);
    return CLVOX_OK;
}

/* Piece `index` becomes its first half, the second goes `pieces` further on. */
static int cut_piece(void *user, size_t index, int worker)
{
    tree *t = user;
    range half[2];
    (void)worker;
    t->pieces[(size_t)t->count + index] = (range){0, 0};
    if (cut(t, t->pieces[index], t->block, half)) {
        t->pieces[index] = half[0];
        t->pieces[(size_t)t->count + index] = half[1];
    }
    return CLVOX_OK;
}

int clv_patch_order(const float *features, int count, int block, int32_t *order)
{
    tree t = {.features = features, .order = order, .block = block, .count = 1};
    int finite = 0;
    for (int j = 0; j < count; j++)
        if (features[(size_t)j * CLV_PATCH_FEATURES + CLV_PATCH_NORM] < largest_norm)
            order[finite++] = j;
    t.pieces[0] = (range){0, finite};
    for (; t.count < PIECES; t.count *= 2)
        clvox_parallel((size_t)t.count, cut_piece, &t);
    clvox_parallel(PIECES, arrange_piece, &t);
    return finite;
}
