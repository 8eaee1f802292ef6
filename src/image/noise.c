/* SPDX-License-Identifier: Apache-2.0 */
#include "image/noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/select.h"
#include "base/status.h"
#include "io/labels.h"
#include "transform/field.h"

enum { MOST_PLACES = 400000, ROUNDS = 8, LAST = CLV_MAGNITUDES - 1 };
static const double MOST_SIGNAL = 6;

const char *const clv_noise_words[] = {"auto", "gaussian", "rician", NULL};

bool clv_noise_rician(clvox_noise kind, const clvox_volume *volume)
{
    const size_t values = clvox_grid_voxels(&volume->grid) * (size_t)volume->frames;
    for (size_t i = 0; kind == CLVOX_NOISE_AUTO && i < values; i++)
        if (volume->data[i] < 0)
            return false;
    return kind != CLVOX_NOISE_GAUSSIAN;
}

int clv_noise_check(const clvox_volume *volume, const clvox_volume *mask, const clv_option_table *table,
                    const void *options)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_labels_refuse(volume));
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &volume->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the mask is not on the grid of the image; resample it there");
    CLV_TRY(clv_options_check(table, options));
    CLV_TRY(clv_field_check(&volume->grid));
end:
    return status;
}

/* exp(-x) I_n(x) by its integral. */
static double bessel(int n, double x)
{
    enum { STEPS = 64 };
    double sum = 0;
    for (int k = 0; k < STEPS; k++) {
        double t = M_PI * (k + 0.5) / STEPS;
        sum += exp(x * (cos(t) - 1)) * cos(n * t);
    }
    return sum / STEPS;
}

void clv_magnitudes_make(clv_magnitudes *m)
{
    for (int k = 0; k <= LAST; k++) {
        double a = MOST_SIGNAL * k / LAST, x = a * a / 4;
        m->mean[k] = sqrt(M_PI / 2) * ((1 + 2 * x) * bessel(0, x) + 2 * x * bessel(1, x));
        m->deviation[k] = sqrt(2 + a * a - m->mean[k] * m->mean[k]);
    }
}

/* Where the mean lies in the table, of 0 to LAST. */
static double place_of(const clv_magnitudes *m, double mean)
{
    int k = 1;
    while (k < LAST && m->mean[k] < mean)
        k++;
    return k - 1 + fmin(1, fmax(0, (mean - m->mean[k - 1]) / (m->mean[k] - m->mean[k - 1])));
}

double clv_magnitudes_deviation(const clv_magnitudes *m, double mean)
{
    if (!(mean > m->mean[0]))
        return m->deviation[0];
    if (mean >= m->mean[LAST])
        return 1;
    const double at = place_of(m, mean), part = at - floor(at);
    const int k = (int)at;
    return part > 0 ? m->deviation[k] + part * (m->deviation[k + 1] - m->deviation[k]) : m->deviation[k];
}

double clv_magnitudes_signal(const clv_magnitudes *m, double mean)
{
    if (!(mean > m->mean[0]))
        return 0;
    if (mean >= m->mean[LAST])
        return sqrt(mean * mean - 1); /* 6 less than .001 from the truth */
    return MOST_SIGNAL * place_of(m, mean) / LAST;
}

typedef struct places {
    float *difference, *mean, *work;
    size_t count;
} places;

/* The mixed difference of the cube of eight (fewer along axes of one voxel) that begins at i. */
static void look(const float *v, const int n[3], const float *mask, const int x[3], places *p)
{
    double sum = 0, mixed = 0, least = INFINITY, most = -INFINITY;
    int corners = 0;
    for (int k = 0; k < 8; k++) {
        const int d[3] = {k & 1, k >> 1 & 1, k >> 2};
        if ((d[0] && n[0] == 1) || (d[1] && n[1] == 1) || (d[2] && n[2] == 1))
            continue;
        size_t i = ((size_t)(x[2] + d[2]) * (size_t)n[1] + (size_t)(x[1] + d[1])) * (size_t)n[0] + (size_t)(x[0] + d[0]);
        double value = (double)v[i];
        if (!isfinite(value) || (mask && !(mask[i] > 0)))
            return;
        sum += value;
        mixed += (d[0] + d[1] + d[2]) % 2 ? -value : value;
        least = fmin(least, value);
        most = fmax(most, value);
        corners++;
    }
    if (corners < 2 || !(most > least))
        return;
    p->difference[p->count] = (float)(fabs(mixed) / sqrt(corners));
    p->mean[p->count++] = (float)(sum / corners);
}

static void collect(const float *v, const int n[3], const float *mask, places *p)
{
    double cells = 1;
    int x[3];
    for (int a = 0; a < 3; a++)
        cells *= n[a] > 1 ? n[a] - 1 : 1;
    /* An odd stride along the cells as they lie meets all columns. */
    size_t stride = (size_t)(cells / MOST_PLACES) + 1, turn = 0;
    stride |= 1;
    for (x[2] = 0; x[2] < (n[2] > 1 ? n[2] - 1 : 1); x[2]++)
        for (x[1] = 0; x[1] < (n[1] > 1 ? n[1] - 1 : 1); x[1]++)
            for (x[0] = 0; x[0] < (n[0] > 1 ? n[0] - 1 : 1); x[0]++)
                if (turn++ % stride == 0 && p->count < MOST_PLACES)
                    look(v, n, mask, x, p);
}

int clv_image_noise(const float *values, const int size[3], const float *mask, bool rician, double *sigma)
{
    int status = CLVOX_OK;
    float *room = malloc(3 * MOST_PLACES * sizeof *room);
    places p = {room, room + MOST_PLACES, room + 2 * MOST_PLACES, 0};
    clv_magnitudes m;
    if (!room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    collect(values, size, mask, &p);
    if (p.count < 2) {
        status = clvox_fail(CLVOX_ERROR_DATA, "the noise cannot be measured: give its standard deviation");
        goto end;
    }
    for (size_t i = 0; i < p.count; i++)
        p.work[i] = p.difference[i];
    *sigma = clv_median(p.work, p.count) / 0.6745;
    if (rician)
        clv_magnitudes_make(&m);
    for (int round = 0; rician && round < ROUNDS && *sigma > 0; round++) {
        for (size_t i = 0; i < p.count; i++)
            p.work[i] = p.difference[i] / (float)clv_magnitudes_deviation(&m, (double)p.mean[i] / *sigma);
        *sigma = clv_median(p.work, p.count) / 0.6745;
    }
    if (!(*sigma > 0))
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "no noise can be measured: most neighbours are alike; give its standard "
                            "deviation");
end:
    free(room);
    return status;
}
