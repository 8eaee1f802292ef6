/* SPDX-License-Identifier: Apache-2.0 */
/* Bias-field correction as N4 does it: in logarithms, v = u + f. The histogram of
 * the u so far is sharpened, what voxels lie above what it expects of them is
 * fitted by B-splines, and the fit is added to f. */
#include "image/bias.h"
#include "base/status.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "image/distribution.h"
#include "image/spline.h"
#include "io/volume/labels.h"
#include "op/field/warp.h"
#include "op/image/histogram.h"
#include "op/image/pointwise.h"
#include "op/image/reduce.h"
#include "op/image/resample.h"
#include "op/image/sharpen.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "transform/field.h"

#define PI 3.14159265358979323846

/* ---- options ------------------------------------------------------------ */

#define FIELD(field) CLV_FIELD(clvox_bias_options, field)

void clvox_bias_defaults(clvox_bias_options *o)
{
    CLV_GIVEN_OR(, o);
    *o = (clvox_bias_options){.size = sizeof *o, .levels = 4, .iterations = {50, 50, 50, 50},
                              .spline_mm = 200, .shrink = 4, .tolerance = 1e-7, .fwhm = 0.15, .noise = 0.01,
                              .bins = 200};
}

static void defaults(void *values)
{
    clvox_bias_defaults(values);
}

static void resize_iterations(const void *before, void *values)
{
    const clvox_bias_options *was = before;
    clvox_bias_options *o = values;
    for (int i = was->levels; i < o->levels; i++)
        o->iterations[i] = was->iterations[was->levels - 1];
}

static const clv_option rows[] = {
    {.key = "levels", .type = CLVOX_OPTION_INTEGER, FIELD(levels), .least = 1, .most = CLVOX_BIAS_LEVELS},
    {.name = "iterations",
     .type = CLVOX_OPTION_INTEGERS,
     CLV_LEVELS(clvox_bias_options, iterations, levels),
     .most = 1e6,
     .argument = "NxNxNxN",
     .resize = resize_iterations,
     .help = "maximum at each level; as many levels as numbers"},
    {.name = "spline",
     .key = "spline_mm",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(spline_mm),
     .least = 1,
     .most = 1e5,
     .unit = CLVOX_UNIT_MM,
     .help = "spline spacing of the first level, halved at each further one"},
    {.name = "shrink",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(shrink),
     .least = 1,
     .most = 64,
     .help = "shrink factor for estimating the field"},
    {.name = "tolerance",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(tolerance),
     .help = "end a level when an iteration changes the field by less"},
    {.name = "fwhm",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(fwhm),
     .open = CLV_OPTION_ABOVE,
     .most = 10,
     .help = "FWHM of the Gaussian that blurs the log histogram"},
    {.name = "noise",
     .type = CLVOX_OPTION_NUMBER,
     FIELD(noise),
     .open = CLV_OPTION_ABOVE,
     .most = 10,
     .help = "noise of the Wiener filter that sharpens it"},
    {.name = "bins",
     .type = CLVOX_OPTION_INTEGER,
     FIELD(bins),
     .least = 8,
     .most = 1024,
     .help = "bins of that histogram"},
    {.name = "rescale",
     .type = CLVOX_OPTION_FLAG,
     FIELD(rescale),
     .help = "keep IN's range of values inside the mask"},
};

const clv_option_table clv_bias_table = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .size = sizeof(clvox_bias_options),
    .defaults = defaults,
};

const clvox_option_table *clvox_bias_table(void)
{
    return &clv_bias_table;
}

/* ---- the histogram ------------------------------------------------------ */

/* In place, n a power of two; not scaled. */
static void transform(double complex *v, int n, int sign)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex other = v[i];
            v[i] = v[j];
            v[j] = other;
        }
    }
    for (int length = 2; length <= n; length *= 2) {
        double angle = sign * 2 * PI / length;
        double complex root = cos(angle) + sin(angle) * I;
        for (int first = 0; first < n; first += length) {
            double complex w = 1;
            for (int k = first; k < first + length / 2; k++, w *= root) {
                double complex a = v[k], b = v[k + length / 2] * w;
                v[k] = a + b;
                v[k + length / 2] = a - b;
            }
        }
    }
}

/* v = v filtered by the real spectrum. */
static void filter(double complex *v, const double *spectrum, int n)
{
    transform(v, n, -1);
    for (int i = 0; i < n; i++)
        v[i] *= spectrum[i] / n;
    transform(v, n, 1);
}

int clv_bias_expect(const int32_t *counts, double low, double high, int bins, double fwhm, double noise,
                    float *expected)
{
    enum { FINE = CLV_DISTRIBUTION_BINS };
    int n = 2;
    while (n < 2 * bins)
        n *= 2;
    int offset = (n - bins) / 2;
    double slope = (high - low) / (bins - 1), width = fwhm / slope, largest = 0;
    double complex *v = calloc(3 * (size_t)n, sizeof *v), *moment = v + n, *blur = v + 2 * n;
    double *spectrum = calloc(2 * (size_t)n, sizeof *spectrum), *inverse = spectrum + n;
    int status = CLVOX_OK;
    if (!v || !spectrum) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < FINE; i++) {
        double place = (i + 0.5) / FINE * (bins - 1);
        int at = (int)place;
        v[offset + at] += counts[i] * (1 - (place - at));
        v[offset + at + 1] += counts[i] * (place - at);
    }
    for (int i = 0; i < n; i++) {
        double d = i <= n / 2 ? i : n - i;
        blur[i] = 2 * sqrt(log(2) / PI) / width * exp(-4 * log(2) * d * d / (width * width));
    }
    transform(blur, n, -1);
    for (int i = 0; i < n; i++) {
        spectrum[i] = creal(blur[i]);
        inverse[i] = spectrum[i] / (spectrum[i] * spectrum[i] + noise);
    }
    filter(v, inverse, n);
    for (int i = 0; i < n; i++) {
        v[i] = fmax(creal(v[i]), 0);
        moment[i] = v[i] * (low + (i - offset) * slope);
        largest = fmax(largest, creal(v[i]));
    }
    filter(v, spectrum, n);
    filter(moment, spectrum, n);
    for (int i = 0; i < bins; i++) {
        /* A value without tissue nearby stays unchanged. */
        double count = creal(v[offset + i]);
        expected[i] = (float)(count > 1e-9 * largest ? creal(moment[offset + i]) / count : low + i * slope);
    }
end:
    free(v);
    free(spectrum);
    return status;
}

/* ---- the run ------------------------------------------------------------ */

enum { SLOTS = 8 };

typedef struct bias {
    clvox_context *ctx;
    const clvox_bias_options *o;
    const clvox_grid *full;
    clvox_grid grid; /* that the field is found on */
    int n, m;        /* voxels of both */
    float count;     /* of m, those that count */
    clv_lattice lattice;
    clv_buffer *image, *mask;           /* of the full grid */
    clv_buffer *v, *inside, *u, *r, *f; /* of the coarse one */
    clv_buffer *amount;                 /* how much its voxels count; inside where all do alike */
    clv_buffer *tmp[2];
    clv_buffer *points, *step, *weight; /* on the lattice */
    clv_buffer *table, *partial, *state, *counts;
    float *expected; /* on the host */
} bias;

static int sum(bias *b, clv_reduce_kind kind, const clv_buffer *x, const clv_buffer *y, const clv_buffer *weight,
               int n, int slot)
{
    return clv_reduce(b->ctx, kind, &(clv_terms){x, y, weight, 0, n}, b->partial, b->state, slot);
}

static int line(bias *b, clv_buffer *out, const int size[3], const clv_buffer *x, float kx,
                const clv_buffer *y, float ky)
{
    return clv_pointwise(b->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, size), x, y, NULL,
                         (float[4]){kx, ky, 0, 0});
}

static int threshold(bias *b, clv_buffer *out, const int size[3], const clv_buffer *x, float above)
{
    return clv_pointwise(b->ctx, CLV_POINTWISE_THRESHOLD, CLV_VOLUME(out, size), x, NULL, NULL,
                         (float[4]){above, 1, 0, 0});
}

static int multiply(bias *b, clv_buffer *out, const int size[3], const clv_buffer *x, const clv_buffer *y)
{
    return clv_pointwise(b->ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(out, size), x, y, NULL,
                         (float[4]){1, 0, 0, 0});
}

/* A volume's values into image, 0 where they are not finite. */
static int take_finite(bias *b, const clvox_volume *volume)
{
    int status = clv_buffer_write(b->ctx, b->image, 0, volume->data, (size_t)b->n * sizeof(float));
    if (status >= 0)
        status = clv_pointwise(b->ctx, CLV_POINTWISE_FINITE, CLV_VOLUME(b->image, b->full->size), b->image,
                               NULL, NULL, (float[4]){0, 0, 0, 0});
    return status;
}

/* Which voxels count, and the logarithms on the coarse grid. */
static int begin(bias *b, const clvox_volume *volume, const clvox_volume *mask)
{
    int status = CLVOX_OK;
    size_t bytes = (size_t)b->n * sizeof(float);
    clv_distribution d;
    clv_map map;
    CLV_TRY(take_finite(b, volume));
    if (mask) {
        CLV_TRY(clv_buffer_write(b->ctx, b->mask, 0, mask->data, bytes));
        CLV_TRY(threshold(b, b->mask, b->full->size, b->mask, 0));
    } else {
        CLV_TRY(clv_distribution_measure(b->ctx, CLV_VOLUME(b->image, b->full->size), NULL, b->partial,
                                         b->state, 0, &d));
        /* One value everywhere lies above no threshold and is to count. */
        CLV_TRY(threshold(b, b->mask, b->full->size, b->image,
                          d.high > d.low ? (float)clv_distribution_otsu(&d) : 0));
    }
    clv_map_between(&b->grid, b->full, NULL, 0, &map);
    if (b->o->weight) {
        CLV_TRY(take_finite(b, b->o->weight));
        CLV_TRY(clv_warp(b->ctx, CLV_VOLUME(b->image, b->full->size), &map, NULL, CLV_NEAREST, 0,
                         CLV_VOLUME(b->amount, b->grid.size)));
        CLV_TRY(threshold(b, b->image, b->full->size, b->image, 0));
        CLV_TRY(multiply(b, b->mask, b->full->size, b->mask, b->image));
        CLV_TRY(take_finite(b, volume));
    }
    CLV_TRY(clv_warp(b->ctx, CLV_VOLUME(b->mask, b->full->size), &map, NULL, CLV_NEAREST, 0,
                     CLV_VOLUME(b->inside, b->grid.size)));
    CLV_TRY(clv_warp(b->ctx, CLV_VOLUME(b->image, b->full->size), &map, NULL, CLV_NEAREST, 0,
                     CLV_VOLUME(b->u, b->grid.size)));
    CLV_TRY(threshold(b, b->r, b->grid.size, b->u, 0));
    CLV_TRY(multiply(b, b->inside, b->grid.size, b->inside, b->r));
    if (b->o->weight)
        CLV_TRY(multiply(b, b->amount, b->grid.size, b->amount, b->inside));
    CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_LOG, CLV_VOLUME(b->v, b->grid.size), b->u, NULL, NULL,
                          (float[4]){1e-37f, 0, 0, 0}));
    CLV_TRY(multiply(b, b->v, b->grid.size, b->v, b->inside));
    CLV_TRY(sum(b, CLV_REDUCE_SUM, b->inside, NULL, NULL, b->m, 0));
    CLV_TRY(clv_buffer_read(b->ctx, b->state, 0, &b->count, sizeof b->count));
    if (!(b->count > 0)) {
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "no voxel above 0 counts: give a mask of the tissue, on values above 0");
        goto end;
    }
    CLV_TRY(clv_buffer_fill(b->ctx, b->f, 0, 0, (size_t)b->m * sizeof(float)));
end:
    return status;
}

/* r = what u = v - f lies above what is expected of it; false: u has one value. */
static int residual(bias *b, bool *flat)
{
    int status = CLVOX_OK;
    float range[2];
    int32_t counts[CLV_DISTRIBUTION_BINS];
    CLV_TRY(line(b, b->u, b->grid.size, b->v, 1, b->f, -1));
    CLV_TRY(sum(b, CLV_REDUCE_MIN, b->u, NULL, b->inside, b->m, 0));
    CLV_TRY(sum(b, CLV_REDUCE_MAX, b->u, NULL, b->inside, b->m, 1));
    CLV_TRY(clv_buffer_read(b->ctx, b->state, 0, range, sizeof range));
    *flat = !(range[1] - range[0] > 1e-6f * fabsf(range[1]));
    if (*flat)
        goto end;
    CLV_TRY(clv_histogram(b->ctx, CLV_VOLUME(b->u, b->grid.size), b->inside,
                          &(clv_bins){range[0], range[1], CLV_DISTRIBUTION_BINS}, b->counts));
    CLV_TRY(clv_buffer_read(b->ctx, b->counts, 0, counts, sizeof counts));
    CLV_TRY(clv_bias_expect(counts, (double)range[0], (double)range[1], b->o->bins, b->o->fwhm, b->o->noise,
                            b->expected));
    CLV_TRY(clv_buffer_write(b->ctx, b->table, 0, b->expected, (size_t)b->o->bins * sizeof(float)));
    CLV_TRY(clv_sharpen(b->ctx, CLV_VOLUME(b->u, b->grid.size), b->inside,
                        &(clv_bins){range[0], range[1], b->o->bins}, b->table, b->r));
end:
    return status;
}

/* How much the last step changed the field: the standard deviation of r over the mask. */
static int measure_change(bias *b, double *change)
{
    int status = CLVOX_OK;
    float s[2];
    CLV_TRY(sum(b, CLV_REDUCE_SUM, b->r, NULL, b->inside, b->m, 0));
    CLV_TRY(sum(b, CLV_REDUCE_DOT, b->r, b->r, b->inside, b->m, 1));
    CLV_TRY(clv_buffer_read(b->ctx, b->state, 0, s, sizeof s));
    double mean = (double)s[0] / (double)b->count;
    *change = sqrt(fmax(0, (double)s[1] / (double)b->count - mean * mean));
end:
    return status;
}

static int run_level(bias *b, int level, clvox_bias_report *report)
{
    int status = CLVOX_OK, points[3];
    clv_spline values = {.along = {{.rows = 0}}}, numerator = values, denominator = values;
    const float *one = (float[4]){1, 1e-12f, 0, 0};
    bool flat = false;
    clv_lattice_size(&b->lattice, points);
    CLV_TRY(clv_spline_make(b->ctx, &b->lattice, &b->grid, CLV_SPLINE_VALUES, &values));
    CLV_TRY(clv_spline_make(b->ctx, &b->lattice, &b->grid, CLV_SPLINE_NUMERATOR, &numerator));
    CLV_TRY(clv_spline_make(b->ctx, &b->lattice, &b->grid, CLV_SPLINE_DENOMINATOR, &denominator));
    CLV_TRY(clv_spline_apply(b->ctx, &denominator, b->amount, b->grid.size, b->tmp, b->weight, points));
    for (int i = 0; i < b->o->iterations[level]; i++) {
        CLV_TRY(residual(b, &flat));
        if (flat)
            break;
        if (b->o->weight)
            CLV_TRY(multiply(b, b->r, b->grid.size, b->r, b->amount));
        CLV_TRY(clv_spline_apply(b->ctx, &numerator, b->r, b->grid.size, b->tmp, b->step, points));
        CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_DIVIDE, CLV_VOLUME(b->step, points), b->step, b->weight,
                              NULL, one));
        CLV_TRY(line(b, b->points, points, b->points, 1, b->step, 1));
        CLV_TRY(clv_spline_apply(b->ctx, &values, b->step, points, b->tmp, b->r, b->grid.size));
        CLV_TRY(line(b, b->f, b->grid.size, b->f, 1, b->r, 1));
        CLV_TRY(measure_change(b, &report->change[level]));
        report->iterations[level] = i + 1;
        if (report->change[level] < b->o->tolerance)
            break;
    }
end:
    clv_spline_free(&values);
    clv_spline_free(&numerator);
    clv_spline_free(&denominator);
    return status;
}

/* To the lattice of half the spacing. */
static int refine(bias *b)
{
    int status = CLVOX_OK, from[3], to[3];
    clv_spline finer;
    clv_lattice half = clv_lattice_half(&b->lattice);
    clv_lattice_size(&b->lattice, from);
    clv_lattice_size(&half, to);
    CLV_TRY(clv_spline_refine(b->ctx, &b->lattice, &finer));
    CLV_TRY(clv_spline_apply(b->ctx, &finer, b->points, from, b->tmp, b->step, to));
    clv_buffer *was = b->points;
    b->points = b->step;
    b->step = was;
    b->lattice = half;
end:
    clv_spline_free(&finer);
    return status;
}

/* The field on the full grid, of geometric mean 1 where voxels count. */
static int finish(bias *b, const clvox_volume *volume, clvox_volume *out, clvox_volume *field)
{
    int status = CLVOX_OK, points[3];
    size_t bytes = (size_t)b->n * sizeof(float);
    float s[2];
    clv_spline values = {.along = {{.rows = 0}}};
    clv_lattice_size(&b->lattice, points);
    CLV_TRY(clv_spline_make(b->ctx, &b->lattice, b->full, CLV_SPLINE_VALUES, &values));
    /* Values of 0 and below had no logarithm. */
    CLV_TRY(threshold(b, b->image, b->full->size, b->image, 0));
    CLV_TRY(multiply(b, b->mask, b->full->size, b->mask, b->image));
    CLV_TRY(clv_spline_apply(b->ctx, &values, b->points, points, b->tmp, b->image, b->full->size));
    CLV_TRY(sum(b, CLV_REDUCE_SUM, b->image, NULL, b->mask, b->n, 0));
    CLV_TRY(sum(b, CLV_REDUCE_SUM, b->mask, NULL, NULL, b->n, 1));
    CLV_TRY(clv_buffer_read(b->ctx, b->state, 0, s, sizeof s));
    float mean = s[1] > 0 ? s[0] / s[1] : 0;
    if (field) {
        CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_EXP, CLV_VOLUME(b->mask, b->full->size), b->image, NULL,
                              NULL, (float[4]){1, -mean, 0, 0}));
        CLV_TRY(clv_buffer_read(b->ctx, b->mask, 0, field->data, bytes));
    }
    CLV_TRY(clv_pointwise(b->ctx, CLV_POINTWISE_EXP, CLV_VOLUME(b->image, b->full->size), b->image, NULL,
                          NULL, (float[4]){-1, mean, 0, 0}));
    CLV_TRY(clv_buffer_write(b->ctx, b->mask, 0, volume->data, bytes));
    CLV_TRY(multiply(b, b->mask, b->full->size, b->mask, b->image));
    CLV_TRY(clv_buffer_read(b->ctx, b->mask, 0, out->data, bytes));
end:
    clv_spline_free(&values);
    return status;
}

/* Smallest and largest finite value inside the mask. */
static void range_of(const clvox_volume *v, const clvox_volume *mask, float range[2])
{
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        if (isfinite(v->data[i]) && (!mask || mask->data[i] > 0)) {
            range[0] = fminf(range[0], v->data[i]);
            range[1] = fmaxf(range[1], v->data[i]);
        }
}

/* Stretches `out` so that its range inside the mask is that of volume. */
static void rescale(const clvox_volume *volume, const clvox_volume *mask, clvox_volume *out)
{
    float was[2], is[2];
    range_of(volume, mask, was);
    range_of(out, mask, is);
    if (!(is[1] > is[0]))
        return;
    const float slope = (was[1] - was[0]) / (is[1] - is[0]);
    for (size_t i = 0; i < clvox_grid_voxels(&out->grid); i++)
        out->data[i] = was[1] - slope * (is[1] - out->data[i]);
}

static int check(const clvox_volume *volume, const clvox_volume *mask, const clvox_bias_options *o)
{
    int status = CLVOX_OK;
    CLV_TRY(clv_labels_refuse(volume));
    if (volume->frames != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the image has %d volumes; bias-field correction takes one 3-D volume",
                          volume->frames);
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &volume->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the mask lies on another grid than the image; resample it first");
    if (o->weight && (o->weight->frames != 1 || !clvox_grid_equal(&o->weight->grid, &volume->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "the weights lie on another grid than the image; resample them first");
    CLV_TRY(clv_field_check(&volume->grid));
    CLV_TRY(clv_options_check(&clv_bias_table, o));
end:
    return status;
}

/* The grid that the field is found on: no axis to voxels above `shrink` times the smallest edge. */
static void coarse_grid(const clvox_grid *full, double shrink, clvox_grid *out)
{
    double edge[3], factor[3];
    clvox_grid_spacing(full, edge);
    double least = fmin(edge[0], fmin(edge[1], edge[2]));
    for (int a = 0; a < 3; a++)
        factor[a] = fmax(1, shrink * least / edge[a]);
    clv_pyramid_grid(full, factor, out);
}

static size_t most(size_t a, size_t b)
{
    return a > b ? a : b;
}

int clvox_filter_bias(clvox_context *context, const clvox_volume *volume, const clvox_volume *mask,
                      const clvox_bias_options *options, clvox_volume **out, clvox_volume **field,
                      clvox_bias_report *report)
{
    CLV_GIVEN(context, volume, out);
    CLV_HOST_THREADS(context);
    CLV_WATCH(context, "bias field");
    int status = CLVOX_OK, count = 0, finest[3];
    clvox_bias_options standard;
    clvox_bias_report unasked;
    clvox_volume *made = NULL, *made_field = NULL;
    clv_request requests[17];
    clvox_bias_defaults(&standard);
    bias b = {.ctx = context, .o = options ? options : &standard, .full = &volume->grid};
    report = report ? report : &unasked;
    *report = (clvox_bias_report){.voxels = 0};
    *out = NULL;
    if (field)
        *field = NULL;
    CLV_TRY(check(volume, mask, b.o));
    coarse_grid(b.full, b.o->shrink, &b.grid);
    b.n = (int)clvox_grid_voxels(b.full);
    b.m = (int)clvox_grid_voxels(&b.grid);
    clv_lattice_make(b.full, b.o->spline_mm, &b.lattice);
    clv_lattice last = b.lattice;
    for (int level = 1; level < b.o->levels; level++)
        last = clv_lattice_half(&last);
    clv_lattice_size(&last, finest);
    if ((double)finest[0] * finest[1] * finest[2] > 1e8) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "splines %g mm apart on %d levels are more than can be fitted; "
                            "give a wider spacing or fewer levels",
                            b.o->spline_mm, b.o->levels);
        goto end;
    }
    size_t points = (size_t)finest[0] * (size_t)finest[1] * (size_t)finest[2];
    size_t full = sizeof(float) * (size_t)b.n, coarse = sizeof(float) * (size_t)b.m;
    size_t room = most(clv_spline_room(finest, b.full->size), most(clv_spline_room(finest, b.grid.size),
                                                                   clv_spline_room(b.grid.size, finest)));
    room = sizeof(float) * most(room, points);
    points *= sizeof(float);
    const clv_request wanted[] = {
        {&b.image, full, "image"}, {&b.mask, full, "mask"}, {&b.v, coarse, "logarithms"},
        {&b.inside, coarse, "coarse mask"}, {&b.u, coarse, "corrected logarithms"}, {&b.r, coarse, "residual"},
        {&b.f, coarse, "field"}, {&b.tmp[0], room, "spline in part"}, {&b.tmp[1], room, "spline in part"},
        {&b.points, points, "control points"}, {&b.step, points, "step of control points"},
        {&b.weight, points, "weights of control points"}, {&b.table, (size_t)b.o->bins * sizeof(float), "table"},
        {&b.partial, CLV_REDUCE_PARTIALS * sizeof(float), "partial sums"}, {&b.state, SLOTS * sizeof(float), "sums"},
        {&b.counts, CLV_DISTRIBUTION_BINS * sizeof(int32_t), "histogram"},
        {&b.amount, coarse, "weights of voxels"}, /* the last: not always taken */
    };
    const int buffers = b.o->weight ? 17 : 16;
    memcpy(requests, wanted, sizeof requests);
    CLV_TRY(clvox_volume_create(b.full, 1, volume->kind, &made));
    if (field)
        CLV_TRY(clvox_volume_create(b.full, 1, CLVOX_KIND_SCALAR, &made_field));
    b.expected = malloc((size_t)b.o->bins * sizeof *b.expected);
    if (!b.expected) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(clv_pool_take(context, requests, buffers));
    count = buffers;
    if (!b.o->weight)
        b.amount = b.inside;
    CLV_TRY(begin(&b, volume, mask));
    report->voxels = (size_t)b.count;
    CLV_TRY(clv_buffer_fill(context, b.points, 0, 0, points));
    for (int level = 0; level < b.o->levels; level++) {
        if (level > 0)
            CLV_TRY(refine(&b));
        CLV_TRY(run_level(&b, level, report));
        CLV_TRY(clv_watch_told(context, (level + 1.) / b.o->levels));
    }
    CLV_TRY(finish(&b, volume, made, made_field));
    if (b.o->rescale)
        rescale(volume, mask, made);
    *out = made;
    made = NULL;
    if (field) {
        *field = made_field;
        made_field = NULL;
    }
end:
    clv_pool_release(requests, count);
    free(b.expected);
    clvox_volume_destroy(&made);
    clvox_volume_destroy(&made_field);
    return status;
}
