/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/match/lncc.h"
#include "ref/match/lncc.h"

/* The images: moving = curved fixed + noise, values from offset to offset + contrast, every `hole`-th voxel of
 * either not a number. */
typedef struct setup {
    int size[3], radius;
    float epsilon, offset, contrast;
    int hole;
    double tolerance; /* of the derivatives, in parts of the largest */
} setup;

typedef struct problem {
    const setup *is;
    size_t n;
    float *fixed, *moving;
    double *want[2][2]; /* [local][fixed]: derivatives */
    double sum, count;
    int *part; /* outside of which fixed is not a number; NULL: there is none */
} problem;

static double *doubles(size_t n)
{
    return malloc(n * sizeof(double) + 1);
}

static void make(problem *p, const setup *s, bool in_part)
{
    size_t n = (size_t)s->size[0] * (size_t)s->size[1] * (size_t)s->size[2];
    *p = (problem){.is = s, .n = n, .fixed = malloc(n * 4), .moving = malloc(n * 4)};
    double *f = doubles(n), *m = doubles(n);
    p->part = in_part ? harness_within(s->size, 31) : NULL;
    harness_random(p->fixed, n, 3 + (unsigned)n, 0, 1);
    harness_random(p->moving, n, 5 + (unsigned)n, 0, 1);
    for (size_t i = 0; i < n; i++) {
        float smooth = 0.5f + 0.5f * sinf(0.37f * (float)i);
        float a = 0.6f * p->fixed[i] + 0.4f * smooth;
        float b = 0.7f * (a - 0.5f * a * a) + 0.3f * p->moving[i];
        if (i % 97 > 60) /* constant stretches */
            a = 0.25f;
        p->fixed[i] = s->offset + s->contrast * a;
        p->moving[i] = s->offset + s->contrast * b;
        if (s->hole && i % (size_t)s->hole == 2)
            p->fixed[i] = NAN;
        if (s->hole && i % (size_t)(2 * s->hole) == 5)
            p->moving[i] = i % 3 ? INFINITY : NAN;
        if (p->part && !harness_is_within(p->part, s->size, i))
            p->fixed[i] = NAN;
        f[i] = (double)p->fixed[i];
        m[i] = (double)p->moving[i];
    }
    for (int local = 0; local < 2; local++) {
        p->want[local][0] = doubles(n);
        p->want[local][1] = doubles(n);
        ref_lncc(f, m, s->size, s->radius, (double)s->epsilon, local, p->want[local][0], p->want[local][1],
                 &p->sum, &p->count);
    }
    free(f);
    free(m);
}

static void drop(problem *p)
{
    free(p->fixed);
    free(p->moving);
    free(p->part);
    for (int i = 0; i < 4; i++)
        free(p->want[i / 2][i % 2]);
}

static void compare(clvox_context *ctx, const problem *p, bool local, int which, const clv_buffer *derivative)
{
    const double *want = p->want[local][which];
    float *got = malloc(p->n * sizeof *got + 1);
    double largest = 1e-6;
    harness_download(ctx, derivative, got, p->n * sizeof(float));
    for (size_t i = 0; i < p->n; i++) {
        largest = fmax(largest, fabs(want[i]));
        if (p->part && !harness_is_within(p->part, p->is->size, i))
            got[i] = 0;
    }
    double error = harness_error(got, want, p->n, p->is->tolerance * largest, 0);
    const int *s = p->is->size;
    assert_that(error <= 1, "%s derivative%s of %dx%dx%d, radius %d, epsilon %g, offset %g: %g of %g of %g",
                which ? "fixed" : "moving", local ? ", local" : "", s[0], s[1], s[2], p->is->radius,
                (double)p->is->epsilon, (double)p->is->offset, error, p->is->tolerance, largest);
    if (getenv("CLVOX_TEST_ERRORS"))
        printf("# %d %dx%dx%d r %d eps %g off %g hole %d: %.2e of the largest\n", local, s[0], s[1], s[2],
               p->is->radius, (double)p->is->epsilon, (double)p->is->offset, p->is->hole,
               error * p->is->tolerance);
    free(got);
}

static void run(clvox_context *ctx, const problem *p, bool local, bool both)
{
    const setup *s = p->is;
    size_t bytes = p->n * sizeof(float);
    clv_buffer *fixed = harness_upload(ctx, p->fixed, bytes), *moving = harness_upload(ctx, p->moving, bytes);
    clv_buffer *within = p->part ? harness_upload(ctx, p->part, clv_within_bytes(s->size)) : NULL;
    clv_metric_args args = {
        .within = {within, 0},
        .fixed = clv_image_of(fixed, s->size, NULL, 1),
        .moving = moving,
        .parameter = s->radius,
        .epsilon = s->epsilon,
        .local = local,
        .derivative_moving = harness_output(ctx, bytes),
        .derivative_fixed = both ? harness_output(ctx, bytes) : NULL,
        .scratch = harness_output(ctx, clv_lncc_scratch(s->size, s->radius, local, both) * sizeof(float)),
        .partial = harness_output(ctx, CLV_LNCC_PARTIALS * sizeof(float)),
        .out = harness_output(ctx, 16),
        .slot = 1,
    };
    float out[2][4];
    assert_that(clv_lncc(ctx, &args) == CLVOX_OK, "%s", clvox_message());
    compare(ctx, p, local, 0, args.derivative_moving);
    if (both)
        compare(ctx, p, local, 1, args.derivative_fixed);
    harness_download(ctx, args.out, out[0], 16);
    assert_that(fabs((double)out[0][1] - p->sum) <= p->is->tolerance * fmax(p->sum, 1), "sum %g, not %g",
                (double)out[0][1], p->sum);
    assert_that((double)out[0][2] == p->count, "%g voxels, not %g", (double)out[0][2], p->count);
    assert_true(isnan(out[0][0]) && isnan(out[0][3]));
    if (p->n < 5000 && !harness_simulated()) {
        /* The same bits again. */
        assert_int_equal(clv_lncc(ctx, &args), CLVOX_OK);
        harness_download(ctx, args.out, out[1], 16);
        assert_memory_equal(out[0], out[1], 16);
    }
    clv_buffer *all[] = {
        fixed,    moving, args.derivative_moving, args.derivative_fixed, args.scratch, args.partial,
        args.out, within};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
}

static const setup small[] = {
    {{1, 1, 1}, 2, 1e-5f, 0, 1, 0, 1e-5},     {{3, 1, 1}, 1, 1e-3f, 0, 1, 0, 1e-5},
    {{1, 7, 3}, 3, 1e-4f, 0, 1, 0, 1e-5},     {{9, 8, 1}, 2, 1e-5f, 0, 1, 7, 1e-5},
    {{6, 4, 5}, 4, 1e-5f, 0, 1, 0, 1e-5},     {{13, 11, 9}, 1, 1e-4f, 0, 1, 11, 1e-5},
    {{11, 12, 10}, 2, 1e-4f, 0, 1, 0, 1e-5},  {{17, 9, 13}, 3, 1e-4f, 0, 1, 13, 1e-5},
    {{14, 9, 11}, 4, 1e-3f, 0, 1, 5, 1e-5},
};
/* More tiles along z than there are partial sums. */
enum { MANY = 65600 };
/* Across the borders of tiles; little contrast on a large offset. */
static const setup large[] = {
    {{137, 13, 19}, 1, 1e-4f, 0, 1, 17, 3e-5}, {{37, 71, 19}, 2, 1e-5f, 0, 1, 0, 1e-5},
    {{67, 17, 35}, 2, 1e-3f, 0, 1, 23, 1e-5},  {{29, 23, 19}, 2, 1e-5f, 0.9f, 0.01f, 0, 1e-4},
    {{131, 10, 18}, 3, 1e-3f, 0, 1, 0, 1e-5},  {{37, 19, 21}, 4, 1e-4f, 0, 1, 31, 1e-5},
    {{1, 1, MANY}, 1, 1e-3f, 0, 1, 0, 1e-4},
};
/* Radii 3 to 7, across the borders of tiles. */
static const setup wide[] = {
    {{1, 7, 3}, 3, 1e-4f, 0, 1, 0, 1e-5},     {{7, 9, 5}, 5, 1e-4f, 0, 1, 9, 1e-5},
    {{17, 9, 13}, 3, 1e-4f, 0, 1, 13, 1e-5},  {{14, 9, 11}, 4, 1e-3f, 0, 1, 5, 1e-5},
    {{5, 70, 3}, 7, 1e-4f, 0, 1, 11, 1e-5},   {{71, 17, 19}, 7, 1e-5f, 0, 1, 0, 1e-5},
    {{19, 23, 75}, 5, 1e-3f, 0, 1, 17, 1e-5}, {{263, 9, 10}, 7, 1e-4f, 0, 1, 19, 1e-5},
    {{9, 70, 34}, 7, 1e-5f, 0, 1, 0, 1e-5},   {{21, 22, 23}, 6, 1e-5f, 0.9f, 0.01f, 0, 2e-4},
};
/* Any radius. */
static const setup any[] = {
    {{1, 1, 1}, 64, 1e-5f, 0, 1, 0, 1e-5},    {{7, 9, 5}, 8, 1e-4f, 0, 1, 9, 1e-5},
    {{8, 1, 12}, 40, 1e-4f, 0, 1, 0, 1e-5},   {{5, 70, 3}, 11, 1e-4f, 0, 1, 11, 1e-5},
    {{71, 17, 19}, 10, 1e-5f, 0, 1, 0, 1e-5}, {{19, 23, 75}, 9, 1e-3f, 0, 1, 17, 1e-5},
    {{263, 5, 6}, 9, 1e-4f, 0, 1, 19, 1e-5},  {{21, 22, 23}, 9, 1e-5f, 0.9f, 0.01f, 0, 2e-4},
};
/* Within a part, by radius. */
static const setup parts[] = {
    {{19, 12, 10}, 2, 1e-4f, 0, 1, 0, 1e-5},
    {{67, 71, 19}, 2, 1e-4f, 0, 1, 23, 1e-5},
    {{263, 9, 10}, 1, 1e-3f, 0, 1, 0, 1e-4},
};
static const setup tiny_part = {{7, 6, 5}, 2, 1e-4f, 0, 1, 0, 1e-5};
static const setup wide_part = {{37, 50, 21}, 4, 1e-4f, 0, 1, 31, 1e-5};
static const setup any_part = {{21, 22, 23}, 9, 1e-4f, 0, 1, 0, 1e-5};

/* An image and itself: derivatives are 0 to the last bit on every device, also where
 * all contrast is rounding. The simulator sees the same addresses as of other images. */
static void equal(clvox_context *ctx, const problem *p, bool local)
{
    const setup *s = p->is;
    size_t bytes = p->n * sizeof(float), nonzero = 0;
    clv_buffer *image[2] = {harness_upload(ctx, p->fixed, bytes), harness_upload(ctx, p->fixed, bytes)};
    clv_buffer *terms =
        harness_output(ctx, clv_lncc_scratch(s->size, s->radius, local, true) * sizeof(float));
    clv_buffer *derivative[2] = {harness_output(ctx, bytes), harness_output(ctx, bytes)};
    const clv_metric_args args = {
        .fixed = clv_image_of(image[0], s->size, NULL, 1), .moving = image[1], .parameter = s->radius,
        .epsilon = s->epsilon, .local = local, .derivative_moving = derivative[0],
        .derivative_fixed = derivative[1], .scratch = terms,
    };
    float *got = malloc(bytes);
    assert_that(clv_lncc(ctx, &args) == CLVOX_OK, "%s", clvox_message());
    for (int k = 0; k < 2; k++) {
        harness_download(ctx, derivative[k], got, bytes);
        for (size_t i = 0; i < p->n; i++)
            nonzero += got[i] != 0;
    }
    assert_that(nonzero == 0, "radius %d, offset %g: %zu derivatives of equal images are not 0", s->radius,
                (double)s->offset, nonzero);
    free(got);
    clv_buffer *all[] = {image[0], image[1], terms, derivative[0], derivative[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
}

static struct {
    int count, wide_count, any_count;
    problem problems[32], wide[16], any[16];
} shared;

typedef struct all_given {
    bool local_counts, derivative;
    problem *problems;
    int count;
} all_given;

static void entry_random(void **state)
{
    const all_given *given = *state;
    bool local_counts = given->local_counts, derivative = given->derivative;
    problem *problems = given->problems;
    int count = given->count;
    clvox_context *ctx = harness_context();
    bool fresh = harness_first() && !harness_variant()->optional;
    for (int i = 0; i < count; i++) {
        /* Other tiles of a variant differ in borders alone. */
        int radius = problems[i].is->radius;
        /* Rows leave terms outside of a part unwritten, which other forms read: these go with one another. */
        const bool rows = harness_variant()->devices & CLV_ON_CPU;
        const bool others = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU ? derivative && !rows
                                                                               : !derivative && rows;
        if (problems[i].part && others)
            continue;
        if (problems[i].n == MANY) {
            if (fresh)
                run(ctx, &problems[i], false, false);
            continue;
        }
        if (fresh || radius == 2)
            run(ctx, &problems[i], false, fresh && radius != 3);
        if (fresh && radius == 2)
            run(ctx, &problems[i], false, false);
        if (fresh && local_counts)
            run(ctx, &problems[i], true, radius != 4);
        if (fresh && local_counts && radius == 2)
            run(ctx, &problems[i], true, false);
        if (fresh && radius != 3 && !harness_simulated())
            equal(ctx, &problems[i], false);
        if (fresh && local_counts && radius != 4 && !harness_simulated())
            equal(ctx, &problems[i], true);
    }
}

static void all(const clv_entry *entry, bool local_counts, problem *problems, int count)
{
    const bool derivative = entry == &clv_entry_lncc_derivative || entry == &clv_entry_lncc_wide_derivative;
    harness_cases(entry, entry_random, TEST_OF(((all_given){local_counts, derivative, problems, count})),
                  "random");
}

/* The reference's derivatives against central differences of its own energy. */
static void differences(int radius, bool local)
{
    const int size[3] = {6, 5, 4};
    enum { N = 120 };
    float values[2 * N];
    double image[2][N], derivative[2][N], s, count, worst = 0, largest = 0;
    bool valid;
    harness_random(values, 2 * N, 9, 0, 1);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++)
            image[k][i] = i % 19 == 4 + 9 * k ? (double)NAN : (double)values[2 * i + k];
    ref_lncc(image[0], image[1], size, radius, 1e-2, local, derivative[1], derivative[0], &s, &count);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++) {
            int x = i % 6, y = i / 6 % 5, z = i / 30;
            double h = 1e-5, kept = image[k][i], e[2] = {0}, unused[2 * N];
            if (isnan(image[0][i]) || isnan(image[1][i])) {
                assert_true(derivative[k][i] == 0);
                continue;
            }
            for (int side = 0; side < 2; side++) {
                image[k][i] = side ? kept + h : kept - h;
                if (local)
                    e[side] = ref_lncc_at(image[0], image[1], size, radius, 1e-2, x, y, z, &valid);
                else
                    ref_lncc(image[0], image[1], size, radius, 1e-2, false, unused, unused + N, &e[side],
                             &count);
            }
            image[k][i] = kept;
            double n = 1, want = (e[1] - e[0]) / (2 * h);
            if (local) {
                n = 0;
                for (int j = 0; j < N; j++)
                    n += abs(j % 6 - x) <= radius && abs(j / 6 % 5 - y) <= radius &&
                         abs(j / 30 - z) <= radius && !isnan(image[0][j]) && !isnan(image[1][j]);
            }
            worst = fmax(worst, fabs(n * want - derivative[k][i]));
            largest = fmax(largest, fabs(derivative[k][i]));
        }
    assert_that(worst <= 1e-6 * largest, "%g of %g", worst, largest);
}

static void refusals(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    clv_buffer *b[7];
    for (int i = 0; i < 7; i++)
        b[i] = harness_output(ctx, 4 * 64 * 12);
    clv_buffer *partial = harness_output(ctx, CLV_LNCC_PARTIALS * sizeof(float));
    const clv_metric_args good = {.fixed = {b[0], {4, 4, 4}, {1, 1, 1}, 1}, .moving = b[1], .parameter = 2,
                                .epsilon = 1e-5f, .derivative_moving = b[2], .derivative_fixed = b[3],
                                .scratch = b[4], .partial = partial, .out = b[5]};
    assert_int_equal(clv_lncc(ctx, &good), CLVOX_OK);
    clv_metric_args a = good;
    a.out = NULL;
    a.partial = NULL;
    assert_int_equal(clv_lncc(ctx, &a), CLVOX_OK);
    struct {
        int radius;
        float epsilon;
        int size;
        clv_buffer *terms, *partial;
    } bad[] = {{0, 1, 4, b[4], partial}, {65, 1, 4, b[4], partial}, {2, 0, 4, b[4], partial},
               {2, NAN, 4, b[4], partial}, {2, 1, 0, b[4], partial}, {2, 1, 99, b[4], partial},
               {2, 1, 4, NULL, partial}, {2, 1, 4, b[4], b[6]}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        a = good;
        a.parameter = bad[i].radius;
        a.epsilon = bad[i].epsilon;
        a.fixed.size[0] = bad[i].size;
        a.scratch = bad[i].terms;
        a.partial = bad[i].partial;
        assert_that(clv_lncc(ctx, &a) == CLVOX_ERROR_ARGUMENT, "case %zu", i);
    }
    for (int i = 0; i < 7; i++)
        clv_buffer_destroy(&b[i]);
    clv_buffer_destroy(&partial);
}

static int add(problem *problems, const setup *setups, size_t count, bool in_part)
{
    for (size_t i = 0; i < count; i++)
        make(&problems[i], &setups[i], in_part);
    return (int)count;
}

static void reference_against_differences_radius(void **state)
{
    const int *given = *state;
    int radius = given[0];
    differences(radius, false);
    differences(radius, true);
}

static int tear_down(void **state)
{
    for (int i = 0; i < shared.count; i++)
        drop(&shared.problems[i]);
    for (int i = 0; i < shared.wide_count; i++)
        drop(&shared.wide[i]);
    for (int i = 0; i < shared.any_count; i++)
        drop(&shared.any[i]);
    return harness_close(state);
}

int main(void)
{
    harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY");
    shared.count = add(shared.problems, small, tiny ? 5 : sizeof small / sizeof *small, false);
    if (!tiny)
        shared.count += add(shared.problems + shared.count, large, sizeof large / sizeof *large, false);
    shared.count += tiny ? add(shared.problems + shared.count, &tiny_part, 1, true)
                         : add(shared.problems + shared.count, parts, sizeof parts / sizeof *parts, true);
    for (int radius = 1; radius <= 3; radius++)
        test_case_at(reference_against_differences_radius, TEST_AT(radius),
                     "reference against differences, radius %d", radius);
    all(&clv_entry_lncc_terms, true, shared.problems, shared.count);
    all(&clv_entry_lncc_derivative, false, shared.problems, shared.count);
    shared.wide_count = add(shared.wide, wide, tiny ? 2 : sizeof wide / sizeof *wide, false);
    if (!tiny)
        shared.wide_count += add(shared.wide + shared.wide_count, &wide_part, 1, true);
    all(&clv_entry_lncc_wide_terms, true, shared.wide, shared.wide_count);
    all(&clv_entry_lncc_wide_derivative, false, shared.wide, shared.wide_count);
    shared.any_count = add(shared.any, any, tiny ? 2 : sizeof any / sizeof *any, false);
    if (!tiny)
        shared.any_count += add(shared.any + shared.any_count, &any_part, 1, true);
    static const clv_entry *const boxes[] = {
        &clv_entry_lncc_wide_terms,   &clv_entry_lncc_wide_derivative, &clv_entry_lncc_box_x,
        &clv_entry_lncc_box_x_terms,  &clv_entry_lncc_box_y,           &clv_entry_lncc_box_xy,
        &clv_entry_lncc_box_xy_terms, &clv_entry_lncc_box_terms,       &clv_entry_lncc_box_derivative,
    };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        all(boxes[i], true, shared.any, shared.any_count);
    test_case(refusals, "misuse");
    return test_run("lncc", tear_down);
}
