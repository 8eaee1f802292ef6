/* SPDX-License-Identifier: Apache-2.0 */
/* Entropy of a template's intensity against the number of its subjects. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/progress.h"
#include "base/status.h"
#include "clvox/threads.h"
#include "stats/options.h"

enum { RESAMPLES = 1000 };

/* Values as whole numbers: sums of them do not depend on their order. */
static const double one = 1 << 30;

typedef struct run {
    const clvox_entropy_options *o;
    int subjects;
    size_t voxels;   /* that are counted */
    size_t *place;   /* of them, in the maps */
    uint32_t *value; /* of subject s at s * voxels */
    double *entropy; /* of the template of k + 1 subjects in draw d at k * draws + d */
    int64_t *sum;    /* of each thread */
    size_t *histogram;
    int first; /* draw of the block */
} run;

static const float *values_of(const clvox_volume *const *maps, int count, int s)
{
    return count > 1 ? maps[s]->data : maps[0]->data + (size_t)s * clvox_grid_voxels(&maps[0]->grid);
}

static int check(const clvox_volume *const *maps, int count, const clvox_volume *mask)
{
    if (count < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "there are no maps");
    for (int s = 0; s < count; s++) {
        if (count > 1 && maps[s]->frames != 1)
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "map %d has %d frames; one for each subject is needed",
                              s + 1, maps[s]->frames);
        if (!clvox_grid_equal(&maps[s]->grid, &maps[0]->grid))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "map %d lies on another grid than the first", s + 1);
    }
    if (mask && !clvox_grid_equal(&mask->grid, &maps[0]->grid))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the mask lies on another grid than the maps");
    return CLVOX_OK;
}

/* Which voxels count, and the values there as whole numbers from the smallest to the largest. */
static int gather(run *r, const clvox_volume *const *maps, int count, const clvox_volume *mask,
                  clvox_entropy_result *out)
{
    const size_t all = clvox_grid_voxels(&maps[0]->grid);
    double low = INFINITY, high = -INFINITY;
    r->place = malloc(all * sizeof *r->place);
    if (!r->place)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < all; i++) {
        bool finite = true;
        if (mask && !(mask->data[i] > 0))
            continue;
        out->asked++;
        for (int s = 0; s < r->subjects && finite; s++)
            finite = isfinite(values_of(maps, count, s)[i]);
        if (!finite)
            continue;
        r->place[r->voxels++] = i;
        for (int s = 0; s < r->subjects; s++) {
            low = fmin(low, values_of(maps, count, s)[i]);
            high = fmax(high, values_of(maps, count, s)[i]);
        }
    }
    if (!r->voxels)
        return clvox_fail(CLVOX_ERROR_DATA, "there is no voxel where all subjects are finite%s",
                          mask ? " in the mask" : "");
    out->counted = r->voxels;
    out->lowest = low;
    out->highest = high;
    r->value = malloc(r->voxels * (size_t)r->subjects * sizeof *r->value);
    if (!r->value)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int s = 0; s < r->subjects; s++) {
        const float *from = values_of(maps, count, s);
        uint32_t *to = r->value + (size_t)s * r->voxels;
        for (size_t i = 0; i < r->voxels; i++)
            to[i] = high > low ? (uint32_t)llrint(((double)from[r->place[i]] - low) / (high - low) * one) : 0;
    }
    return CLVOX_OK;
}

/* Fisher and Yates. */
static void shuffle(const run *r, int draw, int *order)
{
    for (int s = 0; s < r->subjects; s++)
        order[s] = s;
    for (int s = r->subjects - 1; s > 0; s--) {
        const int other = clv_random_below((uint64_t)r->o->seed, (uint64_t)draw << 32 | (uint64_t)s, s + 1);
        const int kept = order[s];
        order[s] = order[other];
        order[other] = kept;
    }
}

static double entropy_of(const size_t *histogram, int bins, size_t count)
{
    double sum = 0;
    for (int b = 0; b < bins; b++)
        if (histogram[b]) {
            const double p = (double)histogram[b] / (double)count;
            sum -= p * log2(p);
        }
    return sum;
}

static int draw_one(void *user, size_t index, int worker)
{
    run *r = user;
    const int draw = r->first + (int)index, bins = r->o->bins;
    int64_t *sum = r->sum + (size_t)worker * r->voxels;
    size_t *histogram = r->histogram + (size_t)worker * (size_t)bins;
    int *order = malloc((size_t)r->subjects * sizeof *order);
    if (!order)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    shuffle(r, draw, order);
    memset(sum, 0, r->voxels * sizeof *sum);
    for (int k = 0; k < r->subjects; k++) {
        const uint32_t *value = r->value + (size_t)order[k] * r->voxels;
        const int64_t whole = (int64_t)one * (k + 1);
        memset(histogram, 0, (size_t)bins * sizeof *histogram);
        for (size_t i = 0; i < r->voxels; i++) {
            sum[i] += value[i];
            const int64_t b = sum[i] * bins / whole;
            histogram[b < bins ? b : bins - 1]++;
        }
        r->entropy[(size_t)k * (size_t)r->o->draws + (size_t)draw] = entropy_of(histogram, bins, r->voxels);
    }
    free(order);
    return CLVOX_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Mean and spread of the draws, and the mean's interval by resampling them. */
static void summarise(const run *r, int k, clvox_entropy_row *out)
{
    const int draws = r->o->draws;
    const double *entropy = r->entropy + (size_t)k * (size_t)draws;
    double sum = 0, squares = 0, mean[RESAMPLES];
    for (int d = 0; d < draws; d++)
        sum += entropy[d] - entropy[0];
    *out = (clvox_entropy_row){.subjects = k + 1, .mean = entropy[0] + sum / draws};
    for (int d = 0; d < draws; d++)
        squares += (entropy[d] - out->mean) * (entropy[d] - out->mean);
    out->sd = draws > 1 ? sqrt(squares / (draws - 1)) : 0;
    for (int i = 0; i < RESAMPLES; i++) {
        sum = 0;
        for (int d = 0; d < draws; d++)
            sum += entropy[clv_random_below(~(uint64_t)r->o->seed, (uint64_t)i << 32 | (uint64_t)d, draws)] -
                   entropy[0];
        mean[i] = entropy[0] + sum / draws;
    }
    qsort(mean, RESAMPLES, sizeof *mean, by_value);
    out->low = mean[(int)(0.025 * (RESAMPLES - 1))];
    out->high = mean[(int)(0.975 * (RESAMPLES - 1) + 0.5)];
}

int clvox_entropy(const clvox_volume *const *maps, int count, const clvox_volume *mask,
                  const clvox_entropy_options *options, clvox_entropy_result *result)
{
    CLV_GIVEN(maps, result);
    int status = CLVOX_OK;
    clvox_entropy_options standard;
    clvox_entropy_defaults(&standard);
    run r = {.o = options ? options : &standard};
    *result = (clvox_entropy_result){.row = NULL};
    CLV_TRY(clvox_options_check(clvox_entropy_table(), r.o));
    CLV_TRY(check(maps, count, mask));
    r.subjects = count > 1 ? count : maps[0]->frames;
    CLV_TRY(gather(&r, maps, count, mask, result));
    const size_t threads = (size_t)clvox_threads();
    r.entropy = malloc((size_t)r.subjects * (size_t)r.o->draws * sizeof *r.entropy);
    r.sum = malloc(threads * r.voxels * sizeof *r.sum);
    r.histogram = malloc(threads * (size_t)r.o->bins * sizeof *r.histogram);
    result->row = malloc((size_t)r.subjects * sizeof *result->row);
    if (!r.entropy || !r.sum || !r.histogram || !result->row)
        CLV_TRY(clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory"));
    for (int block = (int)threads; r.first < r.o->draws; r.first += block) {
        if (clv_progress_stage(r.o->progress, r.o->user, "draws", (double)r.first / r.o->draws))
            CLV_TRY(clvox_fail(CLVOX_ERROR_STOPPED, "stopped by the user"));
        const int left = r.o->draws - r.first;
        CLV_TRY(clvox_parallel((size_t)(left < block ? left : block), draw_one, &r));
    }
    result->rows = r.subjects;
    for (int k = 0; k < r.subjects; k++)
        summarise(&r, k, &result->row[k]);
end:
    free(r.place);
    free(r.value);
    free(r.entropy);
    free(r.sum);
    free(r.histogram);
    if (status < 0)
        clvox_entropy_result_destroy(result);
    return status;
}

void clvox_entropy_result_destroy(clvox_entropy_result *result)
{
    if (!result)
        return;
    free(result->row);
    result->row = NULL;
    result->rows = 0;
}
