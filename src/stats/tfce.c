/* SPDX-License-Identifier: Apache-2.0 */
/* Threshold-free cluster enhancement in one pass from the highest voxel down: clusters only grow and join (a forest of
 * sets), and what a voxel gets between two changes of its cluster's extent is a difference of one sum over the
 * levels. */
#include <math.h>
#include <stdlib.h>

#include "stats/stats.h"

/* The sum stops at voxels that are millions of steps high. */
enum { MOST_LEVELS = 1 << 20 };

int clv_tfce_make(const clv_tfce *what, clv_tfce *out)
{
    const size_t voxels = (size_t)what->size[0] * (size_t)what->size[1] * (size_t)what->size[2];
    *out = *what;
    out->at = malloc(voxels * sizeof *out->at);
    if (!out->at)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < voxels; i++)
        out->at[i] = -1;
    for (int i = 0; i < out->count; i++)
        out->at[out->place[i]] = i;
    return CLVOX_OK;
}

void clv_tfce_free(clv_tfce *tfce)
{
    free(tfce->at);
    tfce->at = NULL;
}

typedef struct node {
    int32_t parent; /* itself: a cluster's */
    int32_t extent; /* of a cluster */
    int32_t since;  /* the level down to which it has been given its due */
    int32_t level;  /* of the voxel; 0: below the first step */
    double value;   /* to be added to that of all nodes under it */
} node;

typedef struct forest {
    const clv_tfce *tfce;
    node *n;
    double *sum; /* of h^H dh over levels 1 to k */
} forest;

static int32_t find(forest *f, int32_t i)
{
    node *n = f->n;
    while (n[i].parent != i) {
        const int32_t up = n[i].parent;
        if (n[up].parent != up) { /* the way is halved; what the one between had, goes along */
            n[i].value += n[up].value;
            n[i].parent = n[up].parent;
        }
        i = n[i].parent;
    }
    return i;
}

/* Gives a cluster what it has of the levels above `level`. */
static void settle(forest *f, int32_t root, int32_t level)
{
    node *r = &f->n[root];
    if (r->since > level)
        r->value += pow(r->extent, f->tfce->extent) * (f->sum[r->since] - f->sum[level]);
    r->since = level;
}

static void join(forest *f, int32_t a, int32_t b, int32_t level)
{
    node *n = f->n;
    int32_t large = find(f, a), small = find(f, b);
    if (large == small)
        return;
    if (n[large].extent < n[small].extent) {
        const int32_t other = large;
        large = small;
        small = other;
    }
    settle(f, large, level);
    settle(f, small, level);
    n[small].parent = large;
    n[small].value -= n[large].value;
    n[large].extent += n[small].extent;
}

static void join_neighbours(forest *f, int32_t i)
{
    const clv_tfce *t = f->tfce;
    const int *size = t->size, place = t->place[i];
    const int x = place % size[0], y = place / size[0] % size[1], z = place / size[0] / size[1];
    const int32_t level = f->n[i].level;
    for (int c = z > 0 ? -1 : 0; c <= (z + 1 < size[2]); c++)
        for (int b = y > 0 ? -1 : 0; b <= (y + 1 < size[1]); b++)
            for (int a = x > 0 ? -1 : 0; a <= (x + 1 < size[0]); a++) {
                if (t->connectivity == CLVOX_CONNECTIVITY_6 && abs(a) + abs(b) + abs(c) != 1)
                    continue;
                const int32_t other = t->at[place + (c * size[1] + b) * size[0] + a];
                /* Those of the same level are there once their turn comes, or were. */
                if (other >= 0 && f->n[other].parent >= 0)
                    join(f, i, other, level);
            }
}

static int32_t level_of(double value, double step)
{
    const double level = floor(value / step);
    return level >= 1 ? (int32_t)fmin(level, MOST_LEVELS) : 0;
}

/* The voxels by falling level, those below the first step left out; the number of them. */
static int sort(const forest *f, int32_t levels, int32_t *order)
{
    const int count = f->tfce->count;
    int32_t *start = calloc((size_t)levels + 2, sizeof *start);
    if (!start)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < count; i++)
        start[levels - f->n[i].level + 1]++; /* of the level above: where this one begins */
    for (int32_t k = 1; k <= levels; k++)
        start[k] += start[k - 1];
    const int sorted = start[levels];
    for (int i = 0; i < count; i++)
        if (f->n[i].level)
            order[start[levels - f->n[i].level]++] = i;
    free(start);
    return sorted;
}

static int32_t plant(forest *f, const float *t, int sign)
{
    int32_t levels = 0;
    for (int i = 0; i < f->tfce->count; i++) {
        const int32_t level = level_of(sign * (double)t[i], f->tfce->step);
        f->n[i] = (node){.parent = -1, .extent = 1, .since = level, .level = level};
        levels = level > levels ? level : levels;
    }
    return levels;
}

int clv_tfce_enhance(const clv_tfce *tfce, const float *t, int sign, float *out)
{
    int status = CLVOX_OK;
    const size_t count = (size_t)tfce->count;
    forest f = {tfce, malloc(count * sizeof *f.n), NULL};
    int32_t *order = malloc(count * sizeof *order), levels = f.n ? plant(&f, t, sign) : 0;
    f.sum = calloc((size_t)levels + 1, sizeof *f.sum);
    if (!f.n || !order || !f.sum) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int32_t k = 1; k <= levels; k++)
        f.sum[k] = f.sum[k - 1] + pow(k * tfce->step, tfce->height) * tfce->step;
    CLV_TRY(sort(&f, levels, order));
    for (int k = 0, sorted = status; k < sorted; k++) {
        f.n[order[k]].parent = order[k];
        join_neighbours(&f, order[k]);
    }
    for (int i = 0; i < tfce->count; i++)
        if (f.n[i].parent == i)
            settle(&f, i, 0);
    for (int i = 0; i < tfce->count; i++) {
        double value = 0;
        if (!f.n[i].level)
            continue;
        for (int32_t k = i;; k = f.n[k].parent) {
            value += f.n[k].value;
            if (f.n[k].parent == k)
                break;
        }
        out[i] = (float)value;
    }
    status = CLVOX_OK;
end:
    free(f.n);
    free(f.sum);
    free(order);
    return status;
}
