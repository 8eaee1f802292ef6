/* SPDX-License-Identifier: Apache-2.0 */
#include "register/recast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/image/pointwise.h"
#include "op/image/resample.h"

enum { BINS = CLV_RECAST_BINS, FINE = 1024, REACH = 4, RADIUS = 2 };

/* Of which ranges are taken, about. */
enum { SAMPLES = 300000 };

/* Of the values at either end, which a few voxels have, this share is put into the last bins. */
static const double TAIL = 1e-3;

/* Voxels that a bin needs, its neighbours' shares counted, to become a knot. */
static const double LEAST = 8;

typedef struct side {
    double low, width;             /* of the bins */
    double count[BINS], sum[BINS]; /* of the samples of a bin, and of the other image over them */
    double total, square;          /* of its own values */
} side;

static bool known(const float *a, const float *b, size_t i)
{
    return a[i] == a[i] && b[i] == b[i] && fabsf(a[i]) <= HUGE_VALF && fabsf(b[i]) <= HUGE_VALF;
}

/* The values between which all but the tails lie; false where there is one value. */
static bool range_of(const float *a, const float *b, size_t n, size_t step, side *s)
{
    double low = INFINITY, high = -INFINITY, all = 0, below = 0;
    double counts[FINE] = {0};
    for (size_t i = 0; i < n; i += step)
        if (known(a, b, i)) {
            low = fmin(low, (double)a[i]);
            high = fmax(high, (double)a[i]);
        }
    if (!(high > low))
        return false;
    for (size_t i = 0; i < n; i += step)
        if (known(a, b, i)) {
            int bin = (int)(((double)a[i] - low) / (high - low) * FINE);
            counts[bin < FINE ? bin : FINE - 1]++;
            all++;
        }
    int first = 0, last = FINE - 1;
    for (; first < FINE - 1 && below + counts[first] < TAIL * all; first++)
        below += counts[first];
    for (below = 0; last > first && below + counts[last] < TAIL * all; last--)
        below += counts[last];
    s->low = low + first * (high - low) / FINE;
    s->width = (last + 1 - first) * (high - low) / FINE / BINS;
    return true;
}

static int bin_of(const side *s, double value)
{
    double at = (value - s->low) / s->width;
    return at < 0 ? 0 : at >= BINS ? BINS - 1 : (int)at;
}

/* Means of the other image by bin, their neighbours by a Gaussian of one bin; NaN where there are too few
 * samples. */
static void means_of(const side *s, double mean[BINS])
{
    for (int b = 0; b < BINS; b++) {
        double count = 0, sum = 0;
        for (int k = -REACH; k <= REACH; k++)
            if (b + k >= 0 && b + k < BINS) {
                double share = exp(-.5 * k * k);
                count += share * s->count[b + k];
                sum += share * s->sum[b + k];
            }
        mean[b] = count > LEAST ? sum / count : NAN;
    }
}

/* The share of the other image's variance that the means explain. */
static double explained(const side *s, const side *other, double n, const double mean[BINS])
{
    double average = other->total / n, variance = other->square / n - average * average, left = other->square;
    for (int b = 0; b < BINS; b++)
        left += mean[b] == mean[b] ? mean[b] * (s->count[b] * mean[b] - 2 * s->sum[b]) : -s->sum[b] * average;
    return variance > 0 ? 1 - left / n / variance : 0;
}

void clv_recast_find(const float *fixed, const float *moving, size_t n, size_t step, clv_recast *out)
{
    const float *values[2] = {fixed, moving};
    side sides[2] = {0};
    double mean[2][BINS], count = 0, share[2];
    memset(out, 0, sizeof *out);
    for (int k = 0; k < 2; k++)
        if (!range_of(values[k], values[!k], n, step, &sides[k]))
            return;
    for (size_t i = 0; i < n; i += step) {
        if (!known(fixed, moving, i))
            continue;
        for (int k = 0; k < 2; k++) {
            double own = (double)values[k][i];
            int bin = bin_of(&sides[k], own);
            sides[k].count[bin]++;
            sides[k].sum[bin] += (double)values[!k][i];
            sides[k].total += own;
            sides[k].square += own * own;
        }
        count++;
    }
    for (int k = 0; k < 2; k++) {
        means_of(&sides[k], mean[k]);
        share[k] = explained(&sides[k], &sides[!k], count, mean[k]);
    }
    /* The image that says less about the other one: a contrast in which tissues share values, or in which
     * borders of two tissues look like a third one, is mapped to the plainer of the two, and not the other
     * way. */
    int which = share[1] <= share[0];
    const side *s = &sides[which];
    for (int b = 0; b < BINS; b++)
        if (mean[which][b] == mean[which][b]) {
            out->from[out->knots] = (float)(s->low + (b + .5) * s->width);
            out->to[out->knots++] = (float)mean[which][b];
        }
    out->moving = which == 1;
}

static float look_up(const clv_recast *r, float x)
{
    int low = 0, high = r->knots;
    while (low < high) {
        int middle = (low + high) / 2;
        if (r->from[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return x == x ? r->to[0] : x;
    if (low == r->knots)
        return r->to[r->knots - 1];
    float share = (x - r->from[low - 1]) / (r->from[low] - r->from[low - 1]);
    return r->to[low - 1] + (r->to[low] - r->to[low - 1]) * share;
}

/* Sums of a window around voxel i: of both, their squares and their product. */
static void add_up(const float *f, const float *m, const int size[3], const clv_recast *table, size_t i,
                   double sums[5])
{
    memset(sums, 0, 5 * sizeof *sums);
    for (int z = -RADIUS; z <= RADIUS; z++)
        for (int y = -RADIUS; y <= RADIUS; y++)
            for (int x = -RADIUS; x <= RADIUS; x++) {
                const ptrdiff_t at = (ptrdiff_t)i + ((ptrdiff_t)z * size[1] + y) * size[0] + x;
                const double a = (double)(table && !table->moving ? look_up(table, f[at]) : f[at]),
                             b = (double)(table && table->moving ? look_up(table, m[at]) : m[at]);
                sums[0] += a;
                sums[1] += b;
                sums[2] += a * a;
                sums[3] += b * b;
                sums[4] += a * b;
            }
}

/* The square of the values' range, by which a variance shows content. */
static double square_range(const side *s, const clv_recast *table, bool recast)
{
    double low = s->low, high = s->low + BINS * s->width;
    if (recast) {
        low = high = (double)table->to[0];
        for (int i = 1; i < table->knots; i++) {
            low = fmin(low, (double)table->to[i]);
            high = fmax(high, (double)table->to[i]);
        }
    }
    return (high - low) * (high - low);
}

double clv_recast_agreement(const float *fixed, const float *moving, const int size[3],
                            const clv_recast *table)
{
    static const double CONTENT = 1e-3, WINDOWS = 6e4,
                        N = (2 * RADIUS + 1) * (2 * RADIUS + 1) * (2 * RADIUS + 1);
    const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const int every = (int)fmax(2, cbrt((double)n / WINDOWS));
    side sides[2] = {0};
    double least[2], sum = 0, all = 0;
    if (!range_of(fixed, moving, n, n / SAMPLES + 1, &sides[0]) ||
        !range_of(moving, fixed, n, n / SAMPLES + 1, &sides[1]))
        return NAN;
    for (int k = 0; k < 2; k++)
        least[k] = CONTENT * square_range(&sides[k], table, table && table->moving == (k == 1));
    for (int z = RADIUS; z < size[2] - RADIUS; z += every)
        for (int y = RADIUS; y < size[1] - RADIUS; y += every)
            for (int x = RADIUS; x < size[0] - RADIUS; x += every) {
                double s[5];
                add_up(fixed, moving, size, table,
                       ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[0] + (size_t)x, s);
                const double va = (s[2] - s[0] * s[0] / N) / N, vb = (s[3] - s[1] * s[1] / N) / N,
                             c = (s[4] - s[0] * s[1] / N) / N;
                if (!(va > least[0] && vb > least[1])) /* NaN among them */
                    continue;
                sum += c * fabs(c) / va / vb;
                all += c * c / va / vb;
            }
    return all > 0 ? sum / all : NAN;
}

/* Leaves out of values, on the fixed grid, what lies outside of a mask there. scratch: a float a voxel, on
 * the device and here. */
static int leave_out(clv_registration *run, const clv_buffer *mask, float *scratch, float *values)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_buffer_read(run->ctx, mask, 0, scratch, (size_t)run->n * sizeof *scratch));
    for (int i = 0; i < run->n; i++)
        if (!(scratch[i] > 0))
            values[i] = NAN;
end:
    return status;
}

int clv_recast_measure(clv_registration *run, clv_recast *out)
{
    int status = CLVOX_OK;
    const size_t n = (size_t)run->n;
    const clv_channel *c = &run->channels[0];
    const clv_image over = clv_image_of(run->scratch_a, run->fixed_grid.size, NULL, 1);
    float *fixed = malloc(3 * n * sizeof *fixed), *moving = fixed + n;
    clv_map map;
    if (!fixed)
        return clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
    clv_map_between(&run->fixed_grid, &run->moving_grid, CLV_MATRIX(run->matrix), 0, &map);
    CLV_TRY(
        clv_warp(run->ctx, CLV_VOLUME(c->moving, run->moving_grid.size), &map, NULL, CLV_LINEAR, NAN, &over));
    CLV_TRY(clv_buffer_read(run->ctx, c->fixed, 0, fixed, n * sizeof *fixed));
    CLV_TRY(clv_buffer_read(run->ctx, run->scratch_a, 0, moving, n * sizeof *moving));
    if (run->fixed_mask)
        CLV_TRY(leave_out(run, run->fixed_mask, moving + n, fixed));
    if (run->moving_mask) {
        CLV_TRY(clv_warp(run->ctx, CLV_VOLUME(run->moving_mask, run->moving_grid.size), &map, NULL,
                         CLV_NEAREST, 0, &over));
        CLV_TRY(leave_out(run, run->scratch_a, moving + n, moving));
    }
    clv_recast_find(fixed, moving, n, 1, out);
end:
    free(fixed);
    return status;
}

int clv_recast_apply(clv_registration *run, const clv_recast *recast)
{
    const clv_channel *c = &run->channels[0];
    clv_buffer *image = recast->moving ? c->moving : c->fixed;
    const clvox_grid *grid = recast->moving ? &run->moving_grid : &run->fixed_grid;
    return clv_pointwise_table(run->ctx, CLV_VOLUME(image, grid->size), image, recast->from, recast->to,
                               recast->knots);
}

int clv_recast_copy(const clv_recast *recast, const clvox_volume *volume, clvox_volume **out)
{
    int status = CLVOX_OK;
    CLV_TRY(clvox_volume_create(&volume->grid, 1, volume->kind, out));
    for (size_t i = 0, n = clvox_grid_voxels(&volume->grid); i < n; i++)
        (*out)->data[i] = look_up(recast, volume->data[i]);
end:
    return status;
}
