/* SPDX-License-Identifier: Apache-2.0 */
#include "register/contrast/image.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "base/matrix.h"
#include "base/spares.h"
#include "clvox/threads.h"

enum { FINE = 1024, REACH = 3, LONGEST = 24 };

/* Cells as shares of a sigma; sampled voxels, at most about one a so many mm; bins. */
static const double CELL = .4, SAMPLE = 2, SPREAD = 1;
/* This share of the extreme values at either end goes into the last bins. */
static const double TAIL = 1e-3;
/* So many voxels of the whole image's mean are among those nearby. */
static const float PRIOR = 6;

/* Consecutive numbers taken side by side: the compiler vectorises them. */
enum { LANES = 8 };

/* The smallest and the largest number of either image where both are known, and how many these are. */
typedef struct extent {
    float low[2][LANES], high[2][LANES];
    int count[LANES];
} extent;

/* Widens lanes by samples that are `step` apart. */
static void widen(extent *e, const float *image, const float *other, int step, int lanes)
{
    for (int k = 0; k < lanes; k++) {
        const float here = image[k * step], there = other[k * step];
        const bool both = (fabsf(here) <= FLT_MAX) & (fabsf(there) <= FLT_MAX);
        e->low[0][k] = (both & (here < e->low[0][k])) ? here : e->low[0][k];
        e->high[0][k] = (both & (here > e->high[0][k])) ? here : e->high[0][k];
        e->low[1][k] = (both & (there < e->low[1][k])) ? there : e->low[1][k];
        e->high[1][k] = (both & (there > e->high[1][k])) ? there : e->high[1][k];
        e->count[k] += both;
    }
}

static void extent_of(const clv_synthesis *r, double low[2], double high[2], double *count)
{
    extent e;
    *count = 0;
    for (int k = 0; k < LANES; k++) {
        e.low[0][k] = e.low[1][k] = INFINITY;
        e.high[0][k] = e.high[1][k] = -INFINITY;
    }
    const int *size = r->samples->size, step = r->step[0], row = (size[0] - 1) / step + 1;
    for (int z = 0; z < size[2]; z += r->step[2]) {
        memset(e.count, 0, sizeof e.count); /* of a slice: an int holds so many */
        for (int y = 0; y < size[1]; y += r->step[1]) {
            const size_t first = clv_contrast_at(r->samples, 0, y, z);
            const float *image = r->image + first, *other = r->other + first;
            int x = 0;
            for (; step == 1 && x + LANES <= row; x += LANES)
                widen(&e, image + x, other + x, 1, LANES);
            for (; x < row; x++)
                widen(&e, image + (size_t)x * (size_t)step, other + (size_t)x * (size_t)step, step, 1);
        }
        for (int k = 0; k < LANES; k++)
            *count += e.count[k];
    }
    for (int i = 0; i < 2; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
        for (int k = 0; k < LANES; k++) {
            low[i] = (double)e.low[i][k] < low[i] ? (double)e.low[i][k] : low[i];
            high[i] = (double)e.high[i][k] > high[i] ? (double)e.high[i][k] : high[i];
        }
    }
}

/* The values between which all but the tails lie; false where either image has one value. */
bool clv_contrast_range(clv_synthesis *r)
{
    double lows[2], highs[2], all, below = 0, counts[FINE] = {0};
    extent_of(r, lows, highs, &all);
    if (!(highs[0] > lows[0] && highs[1] > lows[1]))
        return false;
    const double low = lows[0], high = highs[0];
    CLV_EACH_SAMPLE(r, x, y, z)
    {
        size_t i = clv_contrast_at(r->samples, x, y, z);
        if (clv_contrast_known(r, i)) {
            const double at = ((double)r->image[i] - low) / (high - low) * FINE;
            counts[(int)(at < FINE - 1 ? at : FINE - 1)]++;
        }
    }
    int first = 0, last = FINE - 1;
    for (; first < FINE - 1 && below + counts[first] < TAIL * all; first++)
        below += counts[first];
    for (below = 0; last > first && below + counts[last] < TAIL * all; last--)
        below += counts[last];
    r->low = low + first * (high - low) / FINE;
    r->per_bin = (CLV_CONTRAST_BINS - 1) / ((last + 1 - first) * (high - low) / FINE);
    return true;
}

static double bin_of(const clv_synthesis *r, float value)
{
    const double bin = ((double)value - r->low) * r->per_bin, least = bin > 0 ? bin : 0;
    return least < CLV_CONTRAST_BINS - 1 ? least : CLV_CONTRAST_BINS - 1;
}

/* A Gaussian's weights, 1 in the middle; returns how far it reaches. */
static int weights_of(double sigma, float weight[LONGEST + 1])
{
    int reach = (int)fmin(LONGEST, ceil(REACH * sigma));
    for (int k = 0; k <= reach; k++)
        weight[k] = (float)exp(-.5 * k * k / (sigma * sigma));
    return reach;
}

/* Bins by a Gaussian of SPREAD, its weights and how far they reach, of an item. */
static void spread(float *item, const float *weight, int reach)
{
    float out[CLV_CONTRAST_WIDE] = {0};
    for (int half = 0; half < CLV_CONTRAST_WIDE; half += CLV_CONTRAST_BINS)
        for (int k = -reach; k <= reach; k++) {
            const int first = k < 0 ? -k : 0, last = k > 0 ? CLV_CONTRAST_BINS - k : CLV_CONTRAST_BINS;
            const float *from = item + half + k, w = weight[abs(k)];
            float *to = out + half;
            for (int b = first; b < last; b++)
                to[b] += w * from[b];
        }
    memcpy(item, out, sizeof out);
}

/* A plane of cells, across z or, along z, across y, blurred along the axis: what is summed lies near. */
static int blur_plane(void *user, size_t index, int worker)
{
    enum { PART = 16 }; /* sums that stay in registers */
    const clv_synthesis *r = user;
    float weight[LONGEST + 1];
    const int reach = weights_of(r->sigma, weight), *n = r->cells, axis = r->axis, rows = n[axis > 1 ? 2 : 1];
    const size_t row = CLV_CONTRAST_WIDE * (size_t)n[0], plane = row * (size_t)n[1],
                 down = axis > 1 ? plane : row, first = index * (axis > 1 ? row : plane);
    const ptrdiff_t step = axis > 0 ? (ptrdiff_t)down : CLV_CONTRAST_WIDE;
    (void)worker;
    for (int y = 0; y < rows; y++)
        for (int x = 0; x < n[0]; x++) {
            const int at = axis > 0 ? y : x;
            const int low = at < reach ? -at : -reach, high = at + reach < n[axis] ? reach : n[axis] - 1 - at;
            const size_t item = first + (size_t)y * down + (size_t)x * CLV_CONTRAST_WIDE;
            for (size_t i = item; i < item + CLV_CONTRAST_WIDE; i += PART) {
                float sum[PART] = {0};
                for (int k = low; k <= high; k++) {
                    const float *from = r->sums + (ptrdiff_t)i + k * step, w = weight[abs(k)];
                    for (int p = 0; p < PART; p++)
                        sum[p] += w * from[p];
                }
                memcpy(r->next + i, sum, sizeof sum);
            }
        }
    return 0;
}

/* Sums along an axis of cells, into r->next, which changes places with r->sums. */
static int blur(clv_synthesis *r, int axis, double sigma)
{
    r->axis = axis;
    r->sigma = sigma;
    int status = clvox_parallel((size_t)r->cells[axis > 1 ? 1 : 2], blur_plane, r);
    float *swap = r->sums;
    r->sums = r->next;
    r->next = swap;
    return status;
}

/* Means of the whole image by bin; where it has none, those of the nearest bin that has. */
static void whole(clv_synthesis *r)
{
    float item[CLV_CONTRAST_WIDE], weight[LONGEST + 1];
    for (int b = 0; b < CLV_CONTRAST_WIDE; b++)
        item[b] = (float)r->all[b];
    spread(item, weight, weights_of(SPREAD, weight));
    for (int b = 0; b < CLV_CONTRAST_BINS; b++) {
        int k = 0;
        while (k < CLV_CONTRAST_BINS && !(b - k >= 0 && item[b - k] > 0) &&
               !(b + k < CLV_CONTRAST_BINS && item[b + k] > 0))
            k++;
        int from = b - k >= 0 && item[b - k] > 0 ? b - k : b + k;
        r->mean[b] = item[CLV_CONTRAST_BINS + from] / item[from];
    }
}

/* The means of a plane of cells, where their sums were. */
static int means(void *user, size_t index, int worker)
{
    const clv_synthesis *r = user;
    const size_t items = (size_t)r->cells[0] * (size_t)r->cells[1];
    float weight[LONGEST + 1];
    const int reach = weights_of(SPREAD, weight);
    (void)worker;
    for (size_t i = index * items; i < (index + 1) * items; i++) {
        float *item = r->sums + i * CLV_CONTRAST_WIDE;
        spread(item, weight, reach);
        for (int b = 0; b < CLV_CONTRAST_BINS; b++)
            item[b] = (item[CLV_CONTRAST_BINS + b] + PRIOR * r->mean[b]) / (item[b] + PRIOR);
    }
    return 0;
}

/* The two cells that a place along an axis lies between, and their parts in it. */
typedef struct between {
    int cell[2];
    float part[2];
} between;

static between between_of(const clv_synthesis *r, int axis, int at)
{
    const double place = at * r->per_cell[axis];
    const int low = (int)place, last = r->cells[axis] - 1;
    const float up = (float)(place - low);
    return (between){{low < last ? low : last, low + 1 < last ? low + 1 : last}, {1 - up, up}};
}

/* A plane of the result: the cells' means, linearly between cells and between bins. */
static int plane(void *user, size_t index, int worker)
{
    const clv_synthesis *r = user;
    const int *size = r->grid->size, *n = r->cells;
    const int corners = n[0] == 1 && n[1] == 1 && n[2] == 1 ? 1 : 8;
    const between of_z = between_of(r, 2, (int)index);
    (void)worker;
    for (int y = 0; y < size[1]; y++) {
        const between of_y = between_of(r, 1, y);
        const float *row[4], *values = r->values + clv_contrast_at(r->grid, 0, y, (int)index);
        float *out = r->out + clv_contrast_at(r->grid, 0, y, (int)index);
        for (int k = 0; k < 4; k++)
            row[k] = r->sums + ((size_t)of_z.cell[k >> 1] * (size_t)n[1] + (size_t)of_y.cell[k & 1]) *
                                   (size_t)n[0] * CLV_CONTRAST_WIDE;
        for (int x = 0; x < size[0]; x++) {
            const float value = values[x];
            if (!isfinite(value)) {
                out[x] = value;
                continue;
            }
            const between of_x = between_of(r, 0, x);
            const double bin = bin_of(r, value);
            const int b = bin < CLV_CONTRAST_BINS - 2 ? (int)bin : CLV_CONTRAST_BINS - 2;
            const float up = (float)(bin - b);
            float mean = 0;
            for (int k = 0; k < corners; k++) {
                const float w = of_x.part[k & 1] * of_y.part[k >> 1 & 1] * of_z.part[k >> 2];
                if (w == 0)
                    continue;
                const float *m = row[k >> 1] + of_x.cell[k & 1] * CLV_CONTRAST_WIDE + b;
                mean += w * (m[0] + up * (m[1] - m[0]));
            }
            out[x] = mean;
        }
    }
    return 0;
}

/* Position of a sample on the grid, voxels; false beyond it. */
bool clv_contrast_place(const clv_synthesis *r, int x, int y, int z, size_t i, double at[3])
{
    const double from[4] = {x, y, z, 1};
    for (int a = 0; a < 3; a++)
        at[a] = from[a];
    for (int a = 0; a < 3 && r->map; a++) {
        at[a] = 0;
        for (int k = 0; k < 4; k++)
            at[a] += (double)r->map->linear[a][k] * from[k];
        for (int k = 0; k < 3 && r->field; k++)
            at[a] +=
                (double)r->map->shift[a][k] * (double)r->field[i * r->strides[0] + (size_t)k * r->strides[1]];
        if (!(at[a] >= 0 && at[a] <= r->grid->size[a] - 1))
            return false;
    }
    return true;
}

/* Which cell that is in. */
static bool cell_of(const clv_synthesis *r, int x, int y, int z, size_t i, size_t *item)
{
    double at[3];
    if (!clv_contrast_place(r, x, y, z, i, at))
        return false;
    *item = ((size_t)(at[2] * r->per_cell[2] + .5) * (size_t)r->cells[1] +
             (size_t)(at[1] * r->per_cell[1] + .5)) *
                (size_t)r->cells[0] +
            (size_t)(at[0] * r->per_cell[0] + .5);
    return true;
}

int clv_contrast_make(clv_synthesis *r, double sigma, bool *made)
{
    int status = CLVOX_OK;
    double edge[3], cell = CELL * sigma, reach[3];
    size_t items = 1;
    *made = false;
    clvox_grid_spacing(r->samples, edge);
    for (int a = 0; a < 3; a++)
        r->step[a] = (int)fmax(1, fmin(8, SAMPLE / edge[a] + .01));
    clvox_grid_spacing(r->grid, edge);
    for (int a = 0; a < 3; a++) {
        r->per_cell[a] = isfinite(sigma) ? edge[a] / fmax(cell, edge[a]) : 0;
        reach[a] = isfinite(sigma) ? sigma / edge[a] * r->per_cell[a] : 0;
        r->cells[a] = (int)((r->grid->size[a] - 1) * r->per_cell[a] + .5) + 1;
        items *= (size_t)r->cells[a];
    }
    if (!clv_contrast_range(r))
        return CLVOX_OK;
    r->sums = clv_large_zeros(items * CLV_CONTRAST_WIDE * sizeof *r->sums);
    r->next = clv_large(items * CLV_CONTRAST_WIDE * sizeof *r->next);
    if (!r->sums || !r->next) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
        goto end;
    }
    CLV_EACH_SAMPLE(r, x, y, z)
    {
        size_t item, i = clv_contrast_at(r->samples, x, y, z);
        if (!clv_contrast_known(r, i) || !cell_of(r, x, y, z, i, &item))
            continue;
        const int bin = (int)(bin_of(r, r->image[i]) + .5);
        float *to = r->sums + item * CLV_CONTRAST_WIDE + bin;
        to[0]++;
        to[CLV_CONTRAST_BINS] += r->other[i];
        r->all[bin]++;
        r->all[CLV_CONTRAST_BINS + bin] += (double)r->other[i];
    }
    for (int b = 0; b < CLV_CONTRAST_WIDE && items == 1; b++)
        r->sums[b] = (float)r->all[b];
    whole(r);
    for (int a = 0; a < 3 && isfinite(sigma); a++)
        if (reach[a] > 0 && r->cells[a] > 1)
            CLV_TRY(blur(r, a, reach[a]));
    CLV_TRY(clvox_parallel((size_t)r->cells[2], means, r));
    CLV_TRY(clvox_parallel((size_t)r->grid->size[2], plane, r));
    *made = true;
end:
    clv_large_free(r->sums);
    clv_large_free(r->next);
    return status;
}

int clv_contrast_image(const clvox_grid *grid, const float *image, const float *other, double sigma,
                       float *out, bool *made)
{
    clv_synthesis r = {
        .grid = grid, .samples = grid, .image = image, .other = other, .values = image, .out = out};
    return clv_contrast_make(&r, sigma, made);
}
