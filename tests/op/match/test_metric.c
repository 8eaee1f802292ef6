/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/match/metric.h"
#include "ref/match/metric.h"

static const char *const names[] = {"SSD", "NCC", "MI"};

/* One pair of images with its results of the device and of the reference. */
typedef struct pair {
    int size[3];
    size_t n, valid;
    float *fixed, *moving, *derivative_moving, *derivative_fixed, out[4];
    double *f, *m, *want_moving, *want_fixed, want;
} pair;

static void pair_make(pair *p, const int size[3])
{
    memcpy(p->size, size, sizeof p->size);
    p->n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float **floats[] = {&p->fixed, &p->moving, &p->derivative_moving, &p->derivative_fixed};
    double **doubles[] = {&p->f, &p->m, &p->want_moving, &p->want_fixed};
    for (int i = 0; i < 4; i++) {
        *floats[i] = malloc(p->n * sizeof(float));
        *doubles[i] = malloc(p->n * sizeof(double));
    }
}

static void pair_free(pair *p)
{
    float *floats[] = {p->fixed, p->moving, p->derivative_moving, p->derivative_fixed};
    double *doubles[] = {p->f, p->m, p->want_moving, p->want_fixed};
    for (int i = 0; i < 4; i++) {
        free(floats[i]);
        free(doubles[i]);
    }
}

/* Related images with values beyond [0, 1], a background of one value and,
 * with holes, voxels without a value. */
static void pair_fill(pair *p, bool holes)
{
    harness_random(p->fixed, p->n, 5, -0.05f, 1.05f);
    harness_random(p->moving, p->n, 9, 0, 1);
    for (size_t i = 0; i < p->n; i++) {
        float f = p->fixed[i];
        p->moving[i] = 0.9f - 0.7f * f * f + 0.2f * (p->moving[i] - 0.3f);
        if (i % 61 > 40 && p->n > 8)
            p->fixed[i] = p->moving[i] = 0;
        if (holes && i % 17 == 3)
            p->fixed[i] = NAN;
        if (holes && i % 19 == 4)
            p->moving[i] = i % 2 ? INFINITY : NAN;
    }
}

static void pair_run(clvox_context *ctx, pair *p, clv_metric_kind kind, int bins, bool both, bool value)
{
    size_t bytes = p->n * sizeof(float);
    clv_buffer *fixed = harness_upload(ctx, p->fixed, bytes), *moving = harness_upload(ctx, p->moving, bytes);
    clv_buffer *derivative_m = harness_output(ctx, bytes), *derivative_f = harness_output(ctx, bytes);
    clv_buffer *scratch = harness_output(ctx, CLV_METRIC_SCRATCH * sizeof(float));
    clv_buffer *out = harness_output(ctx, sizeof p->out);
    const clv_metric_args args = {
        .fixed = clv_image_of(fixed, p->size, NULL, 1), .moving = moving, .parameter = bins,
        .derivative_moving = derivative_m, .derivative_fixed = both ? derivative_f : NULL, .scratch = scratch,
        .out = value ? out : NULL, .slot = 1,
    };
    assert_that(clv_metric(ctx, kind, &args) == CLVOX_OK, "%s", clvox_message());
    harness_download(ctx, derivative_m, p->derivative_moving, bytes);
    harness_download(ctx, derivative_f, p->derivative_fixed, bytes);
    harness_download(ctx, out, p->out, sizeof p->out);
    float last;
    harness_download(ctx, scratch, &last, sizeof last);
    clv_buffer *all[] = {fixed, moving, derivative_m, derivative_f, scratch, out};
    for (int i = 0; i < 6; i++)
        clv_buffer_destroy(&all[i]);
}

static void pair_refer(pair *p, clv_metric_kind kind, int bins)
{
    for (size_t i = 0; i < p->n; i++) {
        p->f[i] = (double)p->fixed[i];
        p->m[i] = (double)p->moving[i];
    }
    p->want = ref_metric(kind, p->f, p->m, p->n, bins, &p->valid);
    ref_metric_derivative(kind, p->f, p->m, p->n, bins, p->want_moving);
    ref_metric_derivative(kind, p->m, p->f, p->n, bins, p->want_fixed);
}

static double largest(const double *values, size_t n)
{
    double most = 1e-30;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

/* tolerance: of S over N and of derivatives over the largest one. */
static void pair_compare(const pair *p, const char *what, int bins, double tolerance)
{
    double n = fmax((double)p->valid, 1), value = fabs((double)p->out[1] - p->want) / n / tolerance;
    double derivative_m = harness_error(p->derivative_moving, p->want_moving, p->n,
                                   tolerance * largest(p->want_moving, p->n), 0);
    double derivative_f = harness_error(p->derivative_fixed, p->want_fixed, p->n,
                                   tolerance * largest(p->want_fixed, p->n), 0);
    if (getenv("CLVOX_TEST_SHOW"))
        printf("# %s %d bins, %dx%dx%d: S %g (%.2g), derivatives %.2g %.2g of what is allowed\n", what, bins,
               p->size[0], p->size[1], p->size[2], p->want, value, derivative_m, derivative_f);
    assert_that(value <= 1, "%s %d bins %dx%dx%d: %.9g, not %.9g", what, bins, p->size[0], p->size[1],
                p->size[2], (double)p->out[1], p->want);
    assert_that(p->out[2] == (float)p->valid, "%g voxels, not %zu", (double)p->out[2], p->valid);
    assert_that(derivative_m <= 1 && derivative_f <= 1, "%s %d bins %dx%dx%d: %g %g", what, bins, p->size[0],
                p->size[1], p->size[2], derivative_m, derivative_f);
    assert_true(isnan(p->out[0]) && isnan(p->out[3]));
}

static double tolerance_of(clv_metric_kind kind)
{
    return kind == CLV_METRIC_SSD ? 1e-6 : kind == CLV_METRIC_NCC ? 1e-5 : 5e-4;
}

static const int sizes[][3] = {{13, 7, 5}, {1, 1, 1}, {1, 9, 4}, {67, 1, 3}, {31, 29, 17}, {131, 67, 41}};

typedef struct variants_given {
    clv_metric_kind kind;
} variants_given;

static void entry_test_variants(void **state)
{
    const variants_given *given = *state;
    clv_metric_kind kind = given->kind;
    clvox_context *ctx = harness_context();
    int count = harness_problems(4, kind == CLV_METRIC_MI ? 5 : 6);
    for (int s = 0; s < count; s++)
        for (int holes = 0; holes < 2; holes++) {
            int bins = harness_simulated() ? 8 + 3 * holes : holes ? 32 : s == 4 ? 128 : s == 3 ? 8 : 61;
            pair p;
            pair_make(&p, sizes[s]);
            pair_fill(&p, holes != 0);
            pair_refer(&p, kind, bins);
            pair_run(ctx, &p, kind, bins, true, true);
            pair_compare(&p, names[kind], bins, tolerance_of(kind));
            pair_free(&p);
        }
}

static void test_variants(const clv_entry *entry, clv_metric_kind kind)
{
    harness_cases(entry, entry_test_variants, TEST_OF(((variants_given){kind})), names[kind]);
}

/* The reference's derivatives are those of its S. */
static void test_reference(void **state)
{
    (void)state;
    pair p;
    pair_make(&p, (const int[3]){11, 7, 3});
    pair_fill(&p, true);
    for (clv_metric_kind kind = CLV_METRIC_SSD; kind <= CLV_METRIC_MI; kind++) {
        const int bins = 16;
        const double h = 2e-6;
        size_t valid;
        pair_refer(&p, kind, bins);
        double most = largest(p.want_moving, p.n);
        for (size_t i = 0; i < p.n; i += 3) {
            double keep = p.m[i];
            /* At the ends of [0, 1] the derivative is one-sided. */
            if (kind == CLV_METRIC_MI && (fabs(keep) < h || fabs(keep - 1) < h))
                continue;
            p.m[i] = keep + h;
            double above = ref_metric(kind, p.f, p.m, p.n, bins, &valid);
            p.m[i] = keep - h;
            double below = ref_metric(kind, p.f, p.m, p.n, bins, &valid);
            p.m[i] = keep;
            double derivative = (above - below) / (2 * h);
            assert_that(fabs(derivative - p.want_moving[i]) <= 1e-6 * most, "%s voxel %zu: %.9g, not %.9g",
                        names[kind], i, p.want_moving[i], derivative);
        }
    }
    pair_free(&p);
}

static void test_constant(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int which = 0; which < 3; which++)
        for (int kind = CLV_METRIC_NCC; kind <= CLV_METRIC_MI; kind++) {
            pair p;
            pair_make(&p, getenv("CLVOX_TEST_TINY") ? (const int[3]){7, 5, 3} : (const int[3]){19, 11, 9});
            pair_fill(&p, which == 1);
            for (size_t i = 0; i < p.n; i++) {
                if (which == 0)
                    p.moving[i] = 0.3f;
                else if (which == 1 && isfinite(p.fixed[i]))
                    p.fixed[i] = 0.7f;
                else if (which == 2)
                    *(i % 2 ? &p.fixed[i] : &p.moving[i]) = NAN;
            }
            pair_run(ctx, &p, (clv_metric_kind)kind, 32, true, true);
            assert_that(p.out[1] == 0, "%s: %g", names[kind], (double)p.out[1]);
            assert_true(which < 2 || p.out[2] == 0);
            for (size_t i = 0; i < p.n; i++)
                assert_true(p.derivative_moving[i] == 0 && p.derivative_fixed[i] == 0);
            pair_free(&p);
        }
}

static void test_contrast(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    pair p;
    pair_make(&p, getenv("CLVOX_TEST_TINY") ? (const int[3]){11, 9, 7} : (const int[3]){41, 37, 29});
    const double n = (double)p.n;
    harness_random(p.fixed, p.n, 21, 0, 1);
    for (size_t i = 0; i < p.n; i++)
        p.moving[i] = p.fixed[i] = rintf(p.fixed[i] * 64) / 64;
    pair_run(ctx, &p, CLV_METRIC_MI, 32, true, true);
    double same = (double)p.out[1];
    float *derivative = malloc(p.n * sizeof *derivative);
    memcpy(derivative, p.derivative_moving, p.n * sizeof *derivative);
    for (size_t i = 0; i < p.n; i++)
        assert_true(fabsf(p.derivative_moving[i] - p.derivative_fixed[i]) < 1e-2f);
    for (size_t i = 0; i < p.n; i++)
        p.moving[i] = 1 - p.fixed[i];
    pair_run(ctx, &p, CLV_METRIC_MI, 32, true, true);
    assert_that(same > 1.5 * n && fabs((double)p.out[1] - same) < 1e-5 * same, "%g and %g", same,
                (double)p.out[1]);
    for (size_t i = 0; i < p.n; i++)
        assert_true(fabsf(p.derivative_moving[i] + derivative[i]) < 1e-2f);
    harness_random(p.moving, p.n, 22, 0, 1);
    pair_run(ctx, &p, CLV_METRIC_MI, 32, true, true);
    assert_that((double)p.out[1] >= 0 && (double)p.out[1] < 0.1 * same, "%g", (double)p.out[1]);
    free(derivative);
    pair_free(&p);
}

static struct {
    pair small, p;
} shared;

/* Chunks as large as they get, nearly all of which falls into one bin. */
static int test_full_set_up(void **state)
{
    (void)state;
    const int bins = 33, most = getenv("CLVOX_TEST_TINY") ? 2 : 64;
    const float low = 0.1f, high = 0.7f; /* both in the middle of a bin */
    pair_make(&shared.small, (const int[3]){8, 8, 1});
    pair_make(&shared.p, (const int[3]){2 * most, 2 * most, 2 * most});
    for (size_t i = 0; i < shared.p.n; i++)
        shared.p.fixed[i] = shared.p.moving[i] = i % 64 == 7 ? high : low;
    memcpy(shared.small.fixed, shared.p.fixed, 64 * sizeof(float));
    memcpy(shared.small.moving, shared.p.moving, 64 * sizeof(float));
    pair_refer(&shared.small, CLV_METRIC_MI, bins);
    return 0;
}

static void metric_counts_a_full_bin(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int bins = 33;
    pair_run(ctx, &shared.p, CLV_METRIC_MI, bins, true, true);
    double want = shared.small.want / 64 * (double)shared.p.n;
    assert_that(fabs((double)shared.p.out[1] - want) <= 1e-5 * want, "%.9g, not %.9g",
                (double)shared.p.out[1], want);
    for (size_t i = 0; i < shared.p.n; i += 1 + shared.p.n / 999)
        assert_true(fabs((double)shared.p.derivative_moving[i] - shared.small.want_moving[i % 64]) < 1e-3);
}

static int test_full_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.small);
    pair_free(&shared.p);
    return 0;
}

static void test_full(void)
{
    test_set_up(test_full_set_up);
    harness_cases(&clv_entry_metric_counts, metric_counts_a_full_bin, NULL, 0, "a full bin");
    test_tear_down(test_full_tear_down);
}

static void test_repeats(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int kind = CLV_METRIC_SSD; kind <= CLV_METRIC_MI; kind++) {
        pair p, again;
        const int size[3] = {29, 23, 11};
        pair_make(&p, size);
        pair_make(&again, size);
        pair_fill(&p, true);
        pair_fill(&again, true);
        pair_run(ctx, &p, (clv_metric_kind)kind, 32, true, true);
        for (int run = 0; run < 3; run++) {
            pair_run(ctx, &again, (clv_metric_kind)kind, 32, run != 1, run != 2);
            assert_true(memcmp(p.derivative_moving, again.derivative_moving, p.n * sizeof(float)) == 0);
            assert_true(run == 1 ||
                        memcmp(p.derivative_fixed, again.derivative_fixed, p.n * sizeof(float)) == 0);
            assert_true(run != 1 || isnan(again.derivative_fixed[0]));
            assert_true(run == 2 ? isnan(again.out[1]) : memcmp(&p.out[1], &again.out[1], 8) == 0);
        }
        pair_free(&p);
        pair_free(&again);
    }
}

static void test_misuse(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_buffer *b = harness_output(ctx, 64);
    clv_buffer *scratch = harness_output(ctx, CLV_METRIC_SCRATCH * sizeof(float));
    const clv_metric_args good = {.fixed = {b, {2, 2, 1}, {1, 1, 1}, 1}, .moving = b, .parameter = 32,
                                  .derivative_moving = b, .scratch = scratch, .out = b};
    clv_metric_args bad = good;
    bad.parameter = 7;
    assert_int_equal(clv_metric(ctx, CLV_METRIC_MI, &bad), CLVOX_ERROR_ARGUMENT);
    bad.parameter = 129;
    assert_int_equal(clv_metric(ctx, CLV_METRIC_MI, &bad), CLVOX_ERROR_ARGUMENT);
    bad = good;
    bad.scratch = b;
    assert_int_equal(clv_metric(ctx, CLV_METRIC_MI, &bad), CLVOX_ERROR_ARGUMENT);
    bad = good;
    bad.fixed.size[1] = 0;
    assert_int_equal(clv_metric(ctx, CLV_METRIC_MI, &bad), CLVOX_ERROR_ARGUMENT);
    clv_buffer_destroy(&b);
    clv_buffer_destroy(&scratch);
}

int main(void)
{
    harness_open();
    test_case(test_reference, "the reference's derivatives against finite differences");
    test_variants(&clv_entry_metric_ssd, CLV_METRIC_SSD);
    test_variants(&clv_entry_metric_ncc, CLV_METRIC_NCC);
    test_variants(&clv_entry_metric_total, CLV_METRIC_NCC);
    test_variants(&clv_entry_metric_line, CLV_METRIC_NCC);
    test_variants(&clv_entry_metric_counts, CLV_METRIC_MI);
    test_variants(&clv_entry_metric_table, CLV_METRIC_MI);
    test_variants(&clv_entry_metric_table_derivatives, CLV_METRIC_MI);
    test_case(test_constant,
              "a constant image, and images without a common voxel, have neither value nor derivative");
    test_case(test_contrast, "mutual information of identical, inverted and independent images");
    test_full();
    test_case(test_repeats,
              "the same bits in every run, with and without the fixed image's derivative and the value");
    test_case(test_misuse, "arguments that cannot be");
    return test_run("metric", harness_close);
}
