/* SPDX-License-Identifier: Apache-2.0 */
/* Filters that make intensities comparable, on the host in double: the same on every device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/select.h"
#include "base/status.h"
#include "clvox/filter.h"
#include "io/volume/labels.h"

static int check(const clvox_volume *volume, const char *what)
{
    int status = clv_labels_refuse(volume);
    if (status < 0)
        return status;
    if (volume->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the image has %d volumes; %s takes one 3-D volume",
                          volume->frames, what);
    return CLVOX_OK;
}

static int copy_of(const clvox_volume *volume, clvox_volume **out)
{
    int status = clvox_volume_create(&volume->grid, 1, volume->kind, out);
    if (status >= 0)
        (*out)->type = volume->type;
    return status;
}

/* ---- quantiles ---------------------------------------------------------- */

static int check_quantiles(double low, double high)
{
    if (!(low >= 0 && low < high && high <= 1))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "quantiles of %g and %g; they ascend from 0 to 1, as 0.005,0.995", low, high);
    return CLVOX_OK;
}

int clvox_quantiles_read(const char *text, double *low, double *high)
{
    CLV_GIVEN(text, low, high);
    char *end = NULL;
    const char *at = text + (*text == '[');
    *low = strtod(at, &end);
    if (end != at && *end == ',') {
        at = end + 1;
        *high = strtod(at, &end);
        if (end != at && !strcmp(end, *text == '[' ? "]" : ""))
            return check_quantiles(*low, *high);
    }
    return clvox_fail(CLVOX_ERROR_ARGUMENT, "not two quantiles, as 0.005,0.995");
}

int clvox_filter_winsorize(const clvox_volume *volume, const clvox_volume *mask, double low, double high,
                           clvox_volume **out)
{
    CLV_GIVEN(volume, out);
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(&volume->grid), count = 0;
    clvox_volume *made = NULL;
    float *values = NULL;
    *out = NULL;
    CLV_TRY(check_quantiles(low, high));
    CLV_TRY(check(volume, "winsorising"));
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &volume->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the mask lies on another grid than the image; resample it first");
    CLV_TRY(copy_of(volume, &made));
    values = malloc(n * sizeof *values);
    if (!values) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (size_t i = 0; i < n; i++)
        if (isfinite(volume->data[i]) && (!mask || mask->data[i] > 0))
            values[count++] = volume->data[i];
    if (!count) {
        status = clvox_fail(CLVOX_ERROR_DATA, "there is no finite value%s to take quantiles of",
                            mask ? " inside the mask" : "");
        goto end;
    }
    float least = (float)clv_select_quantile(values, count, low),
          most = (float)clv_select_quantile(values, count, high);
    for (size_t i = 0; i < n; i++) {
        float v = volume->data[i];
        made->data[i] = v < least ? least : v > most ? most : v;
    }
    *out = made;
    made = NULL;
end:
    free(values);
    clvox_volume_destroy(&made);
    return status;
}

/* ---- histogram matching -------------------------------------------------- */

typedef struct table {
    double low, high; /* of all values */
    double at[CLVOX_MATCH_POINTS + 2];
} table;

/* The least value that counts, `points` quantiles of those that do, and the largest. */
static int tabulate(const clvox_volume *volume, const clvox_match_options *o, const char *which, table *t)
{
    size_t n = clvox_grid_voxels(&volume->grid);
    double sum = 0, finite = 0, total = 0, *counts;
    t->low = INFINITY;
    t->high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        double v = volume->data[i];
        if (!isfinite(v))
            continue;
        sum += v;
        finite++;
        t->low = fmin(t->low, v);
        t->high = fmax(t->high, v);
    }
    if (!(t->high > t->low))
        return clvox_fail(CLVOX_ERROR_DATA, "the %s has one value: there is no histogram to match", which);
    double from = o->whole ? t->low : sum / finite, width = (t->high - from) / o->levels;
    counts = calloc((size_t)o->levels, sizeof *counts);
    if (!counts)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < n; i++) {
        double v = volume->data[i];
        if (isfinite(v) && v >= from) {
            int at = (int)((v - from) / width);
            counts[at < o->levels ? at : o->levels - 1]++;
            total++;
        }
    }
    t->at[0] = from;
    t->at[o->points + 1] = t->high;
    double below = 0;
    for (int i = 0, k = 1; i < o->levels; i++) {
        for (; k <= o->points && below + counts[i] >= total * k / (o->points + 1); k++)
            t->at[k] = from + width * (i + (total * k / (o->points + 1) - below) / counts[i]);
        below += counts[i];
    }
    free(counts);
    return CLVOX_OK;
}

static double map(const table *a, const table *b, int last, double v)
{
    if (v < a->at[0])
        return b->low + (v - a->low) * (b->at[0] - b->low) / (a->at[0] - a->low);
    int low = 0, high = last;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (a->at[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    double run = a->at[high] - a->at[low];
    return b->at[low] + (run > 0 ? (v - a->at[low]) * (b->at[high] - b->at[low]) / run : 0);
}

void clvox_match_defaults(clvox_match_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_match_options){.size = sizeof *o, .levels = 256, .points = 64};
}

int clvox_filter_match(const clvox_volume *volume, const clvox_volume *reference,
                       const clvox_match_options *options, clvox_volume **out)
{
    CLV_GIVEN(volume, reference, out);
    int status = CLVOX_OK;
    clvox_match_options standard;
    clvox_volume *made = NULL;
    table from, to;
    clvox_match_defaults(&standard);
    const clvox_match_options *o = options ? options : &standard;
    *out = NULL;
    CLV_TRY(clv_options_sized(o, sizeof *o));
    if (o->levels < 2 || o->levels > 65536 || o->points < 1 || o->points > CLVOX_MATCH_POINTS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%d levels and %d points; 2 to 65536 and 1 to %d are possible", o->levels,
                          o->points, CLVOX_MATCH_POINTS);
    CLV_TRY(check(volume, "histogram matching"));
    CLV_TRY(check(reference, "histogram matching"));
    CLV_TRY(tabulate(volume, o, "image", &from));
    CLV_TRY(tabulate(reference, o, "reference", &to));
    CLV_TRY(copy_of(volume, &made));
    made->type = CLVOX_TYPE_FLOAT32;
    for (size_t i = 0; i < clvox_grid_voxels(&volume->grid); i++) {
        float v = volume->data[i];
        made->data[i] = isfinite(v) ? (float)map(&from, &to, o->points + 1, (double)v) : v;
    }
    *out = made;
    made = NULL;
end:
    clvox_volume_destroy(&made);
    return status;
}
