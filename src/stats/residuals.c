/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a test: the voxels that have values to test, and their residuals against the nuisances. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "op/stats/glm_t.h"
#include "stats/stats.h"
#include "transform/field.h"

enum { BLOCK = CLV_GLM_BLOCK, TESTED = 1, NOT_FINITE, CONSTANT, PERFECT };

/* The share of the sum of squares that rounding leaves of a perfect fit: eight roundings of float32. */
#define ROUNDING 2.5e-13

/* At most BLOCK voxels. */
typedef struct block {
    double *e;                    /* their residuals of unit length: subject s of voxel l at s * BLOCK + l */
    double r[BLOCK], rest[BLOCK]; /* their product with the tested column, and the variance it leaves */
    double least[BLOCK];          /* what rounding alone may leave */
    char found[BLOCK];
} block;

/* Takes what q explains out of all residuals. */
static void take_out(const clv_stats_model *m, const double *q, int voxels, double *e, double dot[BLOCK])
{
    memset(dot, 0, BLOCK * sizeof *dot);
    for (int s = 0; s < m->subjects; s++)
        for (int l = 0; l < voxels; l++)
            dot[l] += q[s] * e[s * BLOCK + l];
    for (int s = 0; s < m->subjects; s++)
        for (int l = 0; l < voxels; l++)
            e[s * BLOCK + l] -= q[s] * dot[l];
}

static void add_squares(const clv_stats_model *m, int voxels, const double *e, double sum[BLOCK])
{
    memset(sum, 0, BLOCK * sizeof *sum);
    for (int s = 0; s < m->subjects; s++)
        for (int l = 0; l < voxels; l++)
            sum[l] += e[s * BLOCK + l] * e[s * BLOCK + l];
}

/* Values of the voxels and, at tested ones, their residuals. */
static void residuals(const clv_stats_data *d, const int32_t *place, int voxels, block *b)
{
    const clv_stats_model *m = d->model;
    double total[BLOCK], left[BLOCK], dot[BLOCK];
    for (int s = 0; s < m->subjects; s++)
        for (int l = 0; l < voxels; l++)
            b->e[s * BLOCK + l] = (double)d->map[s][place[l]];
    add_squares(m, voxels, b->e, total);
    for (int j = 0; j < m->nuisances; j++)
        take_out(m, m->q + (size_t)j * (size_t)m->subjects, voxels, b->e, dot);
    add_squares(m, voxels, b->e, left);
    take_out(m, m->x, voxels, b->e, b->r);
    add_squares(m, voxels, b->e, b->rest);
    for (int l = 0; l < voxels; l++) {
        const double least = ROUNDING * total[l], unit = sqrt(left[l]);
        /* In a test of the mean what the model fits are constants. */
        b->found[l] = !isfinite(total[l])                                     ? NOT_FINITE
                      : left[l] <= least || (m->flips && b->rest[l] <= least) ? CONSTANT
                      : b->rest[l] <= least                                   ? PERFECT
                                                                              : TESTED;
        if (b->found[l] != TESTED)
            continue;
        b->r[l] /= unit;
        b->rest[l] /= left[l];
        b->least[l] = least / left[l];
        for (int s = 0; s < m->subjects; s++)
            b->e[s * BLOCK + l] = b->e[s * BLOCK + l] / unit + b->r[l] * m->x[s];
    }
}

typedef struct work {
    const clv_stats_data *d;
    double *e;   /* a block for each worker */
    size_t each; /* of its doubles */
    char *found; /* of every voxel of the grid: 0, or what it is */
    size_t voxels;
    int first, count;
    float *out, *least, *t;
} work;

static int run(work *w, size_t count, clvox_task task)
{
    w->each = (size_t)w->d->model->subjects * BLOCK;
    w->e = malloc((size_t)clvox_threads() * w->each * sizeof *w->e);
    int status = w->e ? clvox_parallel((count + BLOCK - 1) / BLOCK, task, w)
                      : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    free(w->e);
    return status;
}

static int find_block(void *user, size_t index, int worker)
{
    const work *w = user;
    const size_t first = index * BLOCK, end = first + BLOCK < w->voxels ? first + BLOCK : w->voxels;
    int32_t place[BLOCK] = {0};
    block b = {.e = w->e + (size_t)worker * w->each};
    int count = 0;
    for (size_t i = first; i < end; i++)
        if (!w->d->mask || w->d->mask[i] > 0)
            place[count++] = (int32_t)i;
    residuals(w->d, place, count, &b);
    for (int l = 0; l < count; l++)
        w->found[place[l]] = b.found[l];
    return CLVOX_OK;
}

static int fill_block(void *user, size_t index, int worker)
{
    const work *w = user;
    const int first = (int)index * BLOCK, count = w->count - first < BLOCK ? w->count - first : BLOCK;
    const int subjects = w->d->model->subjects;
    float *out = w->out + index * w->each;
    block b = {.e = w->e + (size_t)worker * w->each};
    residuals(w->d, w->d->place + w->first + first, count, &b);
    for (int s = 0; s < subjects; s++)
        for (int l = 0; l < BLOCK; l++)
            out[s * BLOCK + l] = l < count ? (float)b.e[s * BLOCK + l] : 0;
    for (int l = 0; l < count; l++) {
        /* Half of it: what is tested has more than that in float32, too. */
        w->least[first + l] = (float)(b.least[l] / 2);
        if (w->t)
            w->t[first + l] = (float)(b.r[l] * sqrt(w->d->model->dof / b.rest[l]));
    }
    return CLVOX_OK;
}

int clv_stats_residuals(const clv_stats_data *d, int first, int count, float *out, float *least, float *t)
{
    return run(&(work){.d = d, .first = first, .count = count, .out = out, .least = least, .t = t},
               (size_t)count, fill_block);
}

static int check(const clvox_volume *const *maps, int count, int subjects, const clvox_volume *mask)
{
    if (count != 1 && count != subjects)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d maps for %d subjects; one for each is needed", count,
                          subjects);
    const int frames = count == 1 ? subjects : 1;
    for (int i = 0; i < count; i++) {
        if (maps[i]->frames != frames)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "map %d has %d volumes, not %d", i + 1, maps[i]->frames,
                              frames);
        if (!clvox_grid_equal(&maps[i]->grid, &maps[0]->grid))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "map %d is on another grid than the first; resample it there", i + 1);
    }
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &maps[0]->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the mask is not on the grid of the maps; resample it there");
    return clv_field_check(&maps[0]->grid);
}

/* Lists the voxels that are tested and counts the others. */
static int list(const work *w, clv_stats_data *d)
{
    for (size_t i = 0; i < w->voxels; i++) {
        d->asked += w->found[i] > 0;
        d->tested += w->found[i] == TESTED;
        d->not_finite += w->found[i] == NOT_FINITE;
        d->constant += w->found[i] == CONSTANT;
        d->perfect += w->found[i] == PERFECT;
    }
    if (!d->tested)
        return clvox_fail(CLVOX_ERROR_DATA,
                          "no voxel is left to test: of %zu%s, %zu have values that are not finite, %zu do "
                          "not vary and %zu vary with the design alone",
                          d->asked, d->mask ? " in the mask" : "", d->not_finite, d->constant, d->perfect);
    d->place = malloc((size_t)d->tested * sizeof *d->place);
    if (!d->place)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    int count = 0;
    for (size_t i = 0; i < w->voxels; i++)
        if (w->found[i] == TESTED)
            d->place[count++] = (int32_t)i;
    return CLVOX_OK;
}

int clv_stats_data_make(const clvox_volume *const *maps, int count, const clv_stats_model *model,
                        const clvox_volume *mask, clv_stats_data *out)
{
    int status = CLVOX_OK;
    clv_stats_data d = {.model = model, .mask = mask ? mask->data : NULL};
    work w = {.d = &d};
    *out = (clv_stats_data){.model = NULL};
    CLV_TRY(check(maps, count, model->subjects, mask));
    memcpy(d.size, maps[0]->grid.size, sizeof d.size);
    w.voxels = clvox_grid_voxels(&maps[0]->grid);
    w.found = calloc(w.voxels, 1);
    d.map = malloc((size_t)model->subjects * sizeof *d.map);
    if (!w.found || !d.map) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int s = 0; s < model->subjects; s++)
        d.map[s] = count == 1 ? maps[0]->data + (size_t)s * w.voxels : maps[s]->data;
    CLV_TRY(run(&w, w.voxels, find_block));
    CLV_TRY(list(&w, &d));
    *out = d;
end:
    free(w.found);
    if (status < 0)
        clv_stats_data_free(&d);
    return status;
}

void clv_stats_data_free(clv_stats_data *d)
{
    free(d->map);
    free(d->place);
    *d = (clv_stats_data){.model = NULL};
}
