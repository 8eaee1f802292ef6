/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations: which row of the design each subject has, or which sign. */
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "op/stats/glm_t.h"
#include "stats/stats.h"

/* Those that differ, of which there are no more than `most`; else 0. */
static int count_all(const clv_stats_model *m, int most)
{
    double count = 1; /* exact below 2^53, of which every step is a whole number */
    if (m->flips)
        return m->subjects < 31 && 1 << m->subjects <= most ? 1 << m->subjects : 0;
    for (int i = 0; i < m->subjects; i++) {
        int same = 1;
        for (int k = 0; k < i; k++)
            same += m->kind[k] == m->kind[i];
        count = count * (i + 1) / same;
        if (count > most)
            return 0;
    }
    return (int)count;
}

static int ascending(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* The arrangement that follows in the order of a dictionary. */
static void arrange_next(int *row, int n)
{
    int pivot = n - 2, other = n - 1;
    while (pivot >= 0 && row[pivot] >= row[pivot + 1])
        pivot--;
    if (pivot < 0)
        return;
    while (row[other] <= row[pivot])
        other--;
    int swapped = row[pivot];
    row[pivot] = row[other];
    row[other] = swapped;
    for (int a = pivot + 1, b = n - 1; a < b; a++, b--) {
        swapped = row[a];
        row[a] = row[b];
        row[b] = swapped;
    }
}

int clv_stats_permuter_make(const clv_stats_model *m, int asked, int seed, clv_stats_permuter *out)
{
    const int all = count_all(m, asked);
    *out = (clv_stats_permuter){
        .model = m, .seed = (uint64_t)seed, .count = all ? all : asked, .exact = all > 0};
    out->row = malloc((size_t)m->subjects * sizeof *out->row);
    if (!out->row)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < m->subjects; i++)
        out->row[i] = m->kind[i];
    if (out->exact && !m->flips)
        qsort(out->row, (size_t)m->subjects, sizeof *out->row, ascending);
    return CLVOX_OK;
}

void clv_stats_permuter_free(clv_stats_permuter *p)
{
    free(p->row);
    p->row = NULL;
}

/* row[i] below 0: that of ~row[i], with the other sign. */
static void put(const clv_stats_model *m, const int *row, int k, float *batch)
{
    const int n = m->subjects, vectors = clv_stats_vectors(m);
    for (int j = 0; j < vectors; j++) {
        const double *v = j ? m->q + (size_t)(m->first + j - 1) * (size_t)n : m->x;
        for (int i = 0; i < n; i++)
            batch[(size_t)(j * n + i) * CLV_GLM_BATCH + (size_t)k] =
                (float)(row[i] < 0 ? -v[~row[i]] : v[row[i]]);
    }
}

static void shuffle(clv_stats_permuter *p, uint64_t first)
{
    const int n = p->model->subjects;
    for (int i = 0; i < n; i++)
        p->row[i] = i;
    for (int i = n - 1; i > 0; i--) { /* Fisher and Yates */
        const int other = clv_random_below(p->seed, first + (uint64_t)i, i + 1), row = p->row[i];
        p->row[i] = p->row[other];
        p->row[other] = row;
    }
}

static void flip(clv_stats_permuter *p, uint64_t first)
{
    for (int i = 0; i < p->model->subjects; i++) {
        const bool turned = p->exact ? p->done >> i & 1 : clv_random_below(p->seed, first + (uint64_t)i, 2);
        p->row[i] = turned ? ~i : i;
    }
}

void clv_stats_permute(clv_stats_permuter *p, int k, float *batch)
{
    const uint64_t first = (uint64_t)p->done * (uint64_t)p->model->subjects;
    if (p->done > 0 && p->model->flips) /* the first is as it was made */
        flip(p, first);
    else if (p->done > 0 && p->exact)
        arrange_next(p->row, p->model->subjects);
    else if (p->done > 0)
        shuffle(p, first);
    put(p->model, p->row, k, batch);
    p->done++;
}

void clv_stats_as_is(const clv_stats_model *m, int k, float *batch)
{
    put(m, m->kind, k, batch);
}
