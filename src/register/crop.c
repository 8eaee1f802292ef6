/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the fixed grid that a deformation works on: what the fixed
 * images or their mask and posteriors hold and where landmarks and shapes pull, and some room around it.
 * Skull-stripped brains fill a third of the grids that they come on. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "clvox/threads.h"
#include "register/model.h"
#include "register/terms/posteriors.h"
#include "register/problem.h"
#include "register/thresholds.h"

typedef struct slice {
    float low, high;
    double sum; /* of what is above the threshold */
    int count;
} slice;

typedef struct search {
    const clvox_volume *volume;
    float threshold;
    slice *slices;
    int *columns; /* of each slice, how much content each x has, then each y */
} search;

/* Minima of so many voxels side by side: compilers may not change the order of comparisons. */
enum { LANES = 8 };

static inline void extend(float v, float *low, float *high)
{
    const float up = v >= -FLT_MAX ? v : INFINITY, down = v <= FLT_MAX ? v : -INFINITY;
    *low = up < *low ? up : *low;
    *high = down > *high ? down : *high;
}

static int find_range(void *user, size_t z, int worker)
{
    const search *s = user;
    const size_t n = (size_t)s->volume->grid.size[0] * (size_t)s->volume->grid.size[1];
    const float *value = s->volume->data + z * n;
    float low[LANES], high[LANES];
    slice *to = &s->slices[z];
    (void)worker;
    for (int k = 0; k < LANES; k++) {
        low[k] = INFINITY;
        high[k] = -INFINITY;
    }
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            extend(value[i + (size_t)k], &low[k], &high[k]);
    for (; i < n; i++)
        extend(value[i], &low[0], &high[0]);
    to->low = INFINITY;
    to->high = -INFINITY;
    for (int k = 0; k < LANES; k++) {
        to->low = fminf(to->low, low[k]);
        to->high = fmaxf(to->high, high[k]);
    }
    return CLVOX_OK;
}

static bool is_content(const search *s, float value)
{
    return value > s->threshold && value <= FLT_MAX;
}

/* One sum after the other, without a branch. */
static int add_content(void *user, size_t z, int worker)
{
    const search *s = user;
    const size_t n = (size_t)s->volume->grid.size[0] * (size_t)s->volume->grid.size[1];
    const float *value = s->volume->data + z * n;
    double sum = 0;
    int count = 0;
    (void)worker;
    for (size_t i = 0; i < n; i++) {
        const bool content = is_content(s, value[i]);
        sum += content ? (double)value[i] : 0;
        count += content;
    }
    s->slices[z].sum = sum;
    s->slices[z].count = count;
    return CLVOX_OK;
}

static int count_content(void *user, size_t z, int worker)
{
    const search *s = user;
    const int *size = s->volume->grid.size;
    const float *value = s->volume->data + z * (size_t)size[0] * (size_t)size[1];
    int *along_x = s->columns + z * (size_t)(size[0] + size[1]), *along_y = along_x + size[0], all = 0;
    (void)worker;
    memset(along_x, 0, (size_t)size[0] * sizeof *along_x);
    for (int y = 0; y < size[1]; y++, value += size[0]) {
        int count = 0;
        for (int x = 0; x < size[0]; x++) {
            const int content = is_content(s, value[x]);
            along_x[x] += content;
            count += content;
        }
        along_y[y] = count;
        all += count;
    }
    s->slices[z].count = all;
    return CLVOX_OK;
}

/* The threshold of an image's content: its values are all of a range, and few may be far above the others. */
static int find_threshold(search *s)
{
    int status = CLVOX_OK;
    const int planes = s->volume->grid.size[2];
    float low = INFINITY, high = -INFINITY;
    double sum = 0, count = 0;
    CLV_TRY(clvox_parallel((size_t)planes, find_range, s));
    for (int z = 0; z < planes; z++) {
        low = fminf(low, s->slices[z].low);
        high = fmaxf(high, s->slices[z].high);
    }
    s->threshold = low + (float)CROP_CONTENT * (high - low);
    CLV_TRY(clvox_parallel((size_t)planes, add_content, s));
    for (int z = 0; z < planes; z++) {
        sum += s->slices[z].sum;
        count += s->slices[z].count;
    }
    if (count > 0)
        s->threshold = fmaxf(s->threshold, low + (float)(CROP_OF_MEAN * (sum / count - (double)low)));
end:
    return status;
}

/* Widens first and last of an axis by the slices that have more than a share of what the fullest one has. */
static void widen_axis(const int *counts, int n, double share, int *first, int *last)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    for (int i = 0; i < n; i++)
        if (counts[i] > 0 && counts[i] > share * most) {
            *first = i < *first ? i : *first;
            *last = i > *last ? i : *last;
        }
}

/* Widens first and last by the content of a volume on the fixed grid, and adds it to the cells; of a
 * mask, what is above 0. */
static int widen(clv_foreground *content, const clvox_volume *volume, bool mask, int first[3], int last[3])
{
    int status = CLVOX_OK;
    const int *size = volume->grid.size;
    const size_t row = (size_t)size[0] + (size_t)size[1];
    search s = {.volume = volume, .slices = calloc((size_t)size[2], sizeof(slice))};
    int *counts = calloc((size_t)size[2] * (row + 1) + row, sizeof *counts); /* by x, y and z, then columns */
    if (!s.slices || !counts) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    s.columns = counts + row + (size_t)size[2];
    if (!mask)
        CLV_TRY(find_threshold(&s));
    CLV_TRY(clvox_parallel((size_t)size[2], count_content, &s));
    for (int z = 0; z < size[2]; z++) {
        counts[row + (size_t)z] = s.slices[z].count;
        for (size_t i = 0; i < row; i++)
            counts[i] += s.columns[(size_t)z * row + i];
    }
    const int *of_axis = counts;
    for (int a = 0; a < 3; of_axis += size[a++])
        widen_axis(of_axis, size[a], mask ? 0 : CROP_FULL, &first[a], &last[a]);
    CLV_TRY(clv_foreground_mark(content, volume, s.threshold, mask ? 0 : CROP_OF_CELL));
end:
    free(s.slices);
    free(counts);
    return status;
}

/* By n places, RAS mm, inside of the grid. */
static int widen_to_places(const clv_registration *run, const double *places, size_t n, int first[3],
                           int last[3])
{
    int status = CLVOX_OK;
    const int *size = run->fixed_grid.size;
    double to_voxels[4][4];
    CLV_TRY(clv_matrix_invert(CLV_MATRIX(run->fixed_grid.to_ras), to_voxels));
    for (size_t k = 0; k < 3 * n; k++) {
        const double *p = places + k / 3 * 3, *row = to_voxels[k % 3];
        double at = fmin(fmax(row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3], 0), size[k % 3] - 1);
        first[k % 3] = (int)fmin(first[k % 3], floor(at));
        last[k % 3] = (int)fmax(last[k % 3], ceil(at));
    }
end:
    return status;
}

int clv_register_crop(clv_registration *run)
{
    int status = CLVOX_OK;
    const clvox_register_images *images = &run->problem->images;
    const clv_model *model = clv_model_find(run->options->deform);
    const clvox_grid *grid = &run->fixed_grid;
    int first[3], last[3];
    double edge[3], share = 1;
    clvox_grid domain = *grid;
    /* Masks of single levels may leave in what the other one leaves out. */
    const bool masked = images->fixed_mask && !images->level_masks;
    if (!model || !model->border_stays || images->initial_warp)
        return CLVOX_OK;
    run->domain = *grid;
    CLV_TRY(clv_foreground_begin(grid, &run->foreground));
    for (int i = 0; i < 3; i++) {
        first[i] = grid->size[i];
        last[i] = -1;
    }
    if (masked)
        CLV_TRY(widen(&run->foreground, images->fixed_mask, true, first, last));
    for (int i = 0; i < images->channels && !masked; i++)
        if (run->channels[i].weight > 0)
            CLV_TRY(widen(&run->foreground, images->fixed[i], false, first, last));
    for (int c = run->image_count; c < run->channel_count && !masked; c++)
        if (run->channels[c].tissue != CLV_REST) {
            const clvox_volume frame =
                clv_posteriors_frame(images->fixed_posteriors, run->channels[c].tissue);
            CLV_TRY(widen(&run->foreground, &frame, false, first, last));
        }
    if (last[0] < 0)
        goto end;
    CLV_TRY(widen_to_places(run, run->points.fixed, (size_t)run->points.count, first, last));
    for (int i = 0; i < run->shapes.count; i++) {
        const clvox_shape *s = run->shapes.term[i].side[1].shape;
        CLV_TRY(widen_to_places(run, s->points, s->vertices, first, last));
    }
    clvox_grid_spacing(grid, edge);
    for (int i = 0; i < 3; i++) {
        int room = (int)fmax(CROP_ROOM_VOXELS, ceil(CROP_ROOM_MM / edge[i]));
        first[i] = first[i] > room ? first[i] - room : 0;
        last[i] = last[i] + room < grid->size[i] ? last[i] + room : grid->size[i] - 1;
        domain.size[i] = last[i] - first[i] + 1;
        share *= (double)domain.size[i] / grid->size[i];
        for (int r = 0; r < 3; r++)
            domain.to_ras[r][3] += first[i] * grid->to_ras[r][i];
    }
    if (share < CLV_FOREGROUND_WORTH)
        run->domain = domain;
end:
    return status;
}
