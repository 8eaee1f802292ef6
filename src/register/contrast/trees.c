/* SPDX-License-Identifier: Apache-2.0 */
#include "register/contrast/trees.h"

#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "clvox/threads.h"

enum { DEPTH = 6, NODES = (1 << DEPTH) - 1, LEAVES = 1 << DEPTH, PIECE = 65536 };

/* A leaf has at least so many samples; its mean is drawn to 0 as by so many samples of 0. */
static const double FEWEST = 50, DRAWN = 20;

/* Node k leads to 2 k + 1 where the feature's bin is at most `most`, else to 2 k + 2. */
typedef struct tree {
    uint8_t feature[NODES], most[NODES];
    float leaf[LEAVES];
} tree;

typedef struct split {
    double gain;
    int feature, most;
} split;

typedef struct cell {
    double sum;
    int count;
} cell;

typedef struct work {
    const clv_trees *l;
    float *out;
    uint8_t *columns; /* of the samples, [feature][sample] */
    uint32_t *part;   /* the samples that this tree is fitted to */
    size_t parts;
    uint8_t *node; /* of those, on this level of the tree */
    float *rest;
    int round, level;
    split best[CLV_TREE_FEATURES][LEAVES]; /* by feature and node of this level */
    tree *trees;
} work;

/* Half of the samples, by a hash of their number and the round. */
static int takes_part(size_t i, int round)
{
    uint32_t h = (uint32_t)i * 2654435761u ^ (uint32_t)round * 2246822519u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    return h & 1;
}

static double worth(double sum, double count)
{
    return sum * sum / (count + DRAWN);
}

/* The best split of every node of a level by a feature. */
static int look(void *user, size_t feature, int worker)
{
    work *w = user;
    const int nodes = 1 << w->level;
    const uint8_t *column = w->columns + feature * w->l->samples;
    cell cells[LEAVES / 2][CLV_TREE_BINS];
    (void)worker;
    memset(cells, 0, sizeof cells);
    for (size_t i = 0; i < w->parts; i++) {
        const uint32_t sample = w->part[i];
        cell *c = &cells[w->node[i]][column[sample]];
        c->sum += (double)w->rest[sample];
        c->count++;
    }
    for (int k = 0; k < nodes; k++) {
        split *best = &w->best[feature][k];
        double sum = 0, count = 0, low = 0, below = 0;
        *best = (split){0, (int)feature, UINT8_MAX}; /* all are below */
        for (int b = 0; b < CLV_TREE_BINS; b++)
            sum += cells[k][b].sum, count += cells[k][b].count;
        for (int b = 0; b + 1 < CLV_TREE_BINS; b++) {
            low += cells[k][b].sum;
            below += cells[k][b].count;
            if (below < FEWEST || count - below < FEWEST)
                continue;
            double gain = worth(low, below) + worth(sum - low, count - below) - worth(sum, count);
            if (gain > best->gain)
                *best = (split){gain, (int)feature, b};
        }
    }
    return 0;
}

static int leaf_of(const tree *t, const uint8_t *row)
{
    int k = 0;
    while (k < NODES)
        k = 2 * k + 1 + (row[t->feature[k]] > t->most[k]);
    return k - NODES;
}

/* A tree fitted to what is left, of which it then takes its share. */
static int grow(work *w, tree *t)
{
    int status = CLVOX_OK;
    const clv_trees *l = w->l;
    double sum[LEAVES] = {0}, count[LEAVES] = {0};
    w->parts = 0;
    for (size_t i = 0; i < l->samples; i++)
        if (takes_part(i, w->round)) {
            w->node[w->parts] = 0;
            w->part[w->parts++] = (uint32_t)i;
        }
    for (w->level = 0; w->level < DEPTH; w->level++) {
        const int nodes = 1 << w->level, first = nodes - 1;
        CLV_TRY(clvox_parallel(CLV_TREE_FEATURES, look, w));
        for (int k = 0; k < nodes; k++) {
            split best = w->best[0][k];
            for (int f = 1; f < CLV_TREE_FEATURES; f++)
                if (w->best[f][k].gain > best.gain)
                    best = w->best[f][k];
            t->feature[first + k] = (uint8_t)best.feature;
            t->most[first + k] = (uint8_t)best.most;
        }
        for (size_t i = 0; i < w->parts; i++) {
            const int k = first + w->node[i];
            w->node[i] = (uint8_t)(2 * w->node[i] +
                                   (w->columns[t->feature[k] * l->samples + w->part[i]] > t->most[k]));
        }
    }
    for (size_t i = 0; i < w->parts; i++) {
        sum[w->node[i]] += (double)w->rest[w->part[i]];
        count[w->node[i]]++;
    }
    for (int k = 0; k < LEAVES; k++)
        t->leaf[k] = (float)(l->rate * sum[k] / (count[k] + DRAWN));
    for (size_t i = 0; i < l->samples; i++)
        w->rest[i] -= t->leaf[leaf_of(t, l->bins + CLV_TREE_FEATURES * (size_t)l->at[i])];
end:
    return status;
}

static int say(void *user, size_t piece, int worker)
{
    const work *w = user;
    size_t end = (piece + 1) * PIECE < w->l->rows ? (piece + 1) * PIECE : w->l->rows;
    (void)worker;
    for (size_t i = piece * PIECE; i < end; i++) {
        float sum = 0;
        for (int r = 0; r < w->l->count; r++)
            sum += w->trees[r].leaf[leaf_of(&w->trees[r], w->l->bins + CLV_TREE_FEATURES * i)];
        w->out[i] = sum;
    }
    return 0;
}

int clv_trees_say(const clv_trees *l, float *out)
{
    int status = CLVOX_OK;
    const size_t n = l->samples;
    work *w = calloc(1, sizeof *w);
    if (!w)
        return clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
    *w = (work){.l = l,
                .out = out,
                .columns = malloc(CLV_TREE_FEATURES * n + 1),
                .part = malloc((n + 1) * sizeof(uint32_t)),
                .node = malloc(n + 1),
                .rest = malloc((n + 1) * sizeof(float)),
                .trees = calloc((size_t)l->count + 1, sizeof(tree))};
    if (!w->columns || !w->part || !w->node || !w->rest || !w->trees) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
        goto end;
    }
    for (size_t i = 0; i < n; i++)
        for (int f = 0; f < CLV_TREE_FEATURES; f++)
            w->columns[(size_t)f * n + i] = l->bins[CLV_TREE_FEATURES * (size_t)l->at[i] + (size_t)f];
    memcpy(w->rest, l->value, n * sizeof(float));
    for (w->round = 0; w->round < l->count; w->round++)
        CLV_TRY(grow(w, &w->trees[w->round]));
    CLV_TRY(clvox_parallel((l->rows + PIECE - 1) / PIECE, say, w));
end:
    free(w->columns);
    free(w->part);
    free(w->node);
    free(w->rest);
    free(w->trees);
    free(w);
    return status;
}
