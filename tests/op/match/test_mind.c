/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/match/mind.h"
#include "ref/match/mind.h"

typedef struct setup {
    int size[3], radius;
    float epsilon;
    int hole;  /* every so many voxels one is not a number */
    int plain; /* 1: the moving image is constant; 2: both are */
    int part;  /* only parts of rows count: 1: of most, 2: of few, narrow ones, 3: of none */
} setup;

static const setup setups[] = {
    {{1, 1, 1}, 1, 1e-3f, 0, 0, 0},    {{3, 5, 4}, 0, 1e-3f, 7, 0, 0},    {{7, 5, 1}, 1, 1e-4f, 7, 0, 0},
    {{5, 1, 1}, 2, 1e-3f, 0, 0, 0},    {{13, 11, 7}, 0, 1e-4f, 13, 0, 1}, {{1, 9, 8}, 1, 1e-3f, 11, 0, 0},
    {{13, 11, 7}, 1, 1e-4f, 13, 0, 0}, {{9, 8, 10}, 2, 1e-3f, 0, 0, 0},   {{11, 7, 5}, 2, 1e-4f, 5, 0, 1},
    {{8, 9, 7}, 3, 1e-3f, 0, 0, 0},    {{7, 6, 9}, 4, 1e-3f, 17, 0, 0},   {{10, 9, 8}, 1, 1e-4f, 0, 1, 0},
    {{6, 7, 5}, 1, 1e-4f, 0, 2, 0},    {{37, 23, 5}, 1, 1e-4f, 0, 0, 0},  {{37, 23, 5}, 0, 1e-4f, 0, 0, 0},
    {{1, 9, 8}, 0, 1e-3f, 11, 0, 0},   {{5, 1, 1}, 0, 1e-3f, 0, 0, 0},    {{10, 9, 8}, 0, 1e-4f, 0, 1, 0},
    {{6, 7, 5}, 0, 1e-4f, 0, 2, 0},    {{1, 1, 1}, 0, 1e-3f, 0, 0, 0},    {{16, 1, 17}, 0, 1e-4f, 0, 0, 0},
    {{43, 9, 12}, 0, 1e-4f, 0, 0, 1},  {{70, 9, 8}, 1, 1e-4f, 0, 0, 2},   {{43, 12, 12}, 1, 1e-4f, 19, 0, 1},
    {{33, 11, 13}, 2, 1e-4f, 0, 0, 2}, {{50, 13, 14}, 4, 1e-3f, 0, 0, 2}, {{9, 8, 7}, 1, 1e-4f, 0, 0, 3},
    {{1, 1, 9}, 4, 1e-3f, 0, 0, 0},    {{9, 1, 1}, 1, 1e-3f, 0, 0, 0},    {{40, 1, 9}, 1, 1e-3f, 0, 0, 1},
};
enum { SETUPS = sizeof setups / sizeof *setups, FEW = 5, ANY = 6 };

typedef struct problem {
    size_t n;
    float *image[2];
    int *part;       /* NULL: all counts */
    double *want[2]; /* by the fixed and by the moving image */
    double sum, count;
} problem;

static problem problems[SETUPS];

static void make(problem *p, const setup *s)
{
    size_t n = (size_t)s->size[0] * (size_t)s->size[1] * (size_t)s->size[2];
    double *value[2];
    p->n = n;
    p->part = s->part ? harness_within(s->size, 31) : NULL;
    for (int r = 0; p->part && s->part > 1 && r < s->size[1] * s->size[2]; r++) {
        int first = p->part[2 * r] < s->size[0] - 2 ? p->part[2 * r] : s->size[0] - 2;
        bool any = s->part == 2 && r % 23 == 5;
        p->part[2 * r] = any ? first : 0;
        p->part[2 * r + 1] = any ? first + 1 + r % 2 : 0;
    }
    for (int side = 0; side < 2; side++) {
        p->image[side] = malloc(n * sizeof(float));
        p->want[side] = malloc(n * sizeof(double));
        value[side] = malloc(n * sizeof(double));
        harness_random(p->image[side], n, 3 + (unsigned)n + (unsigned)side, 0, 1);
        for (size_t i = 0; i < n; i++) {
            float smooth = 0.5f + 0.5f * sinf(0.21f * (float)i), *v = &p->image[side][i];
            *v = 0.4f * *v + 0.6f * (side ? 1 - smooth * smooth : smooth);
            if (s->plain > 1 - side)
                *v = 0.25f;
            if (s->hole && i % (size_t)s->hole == (side ? 4 : 2))
                *v = i % 3 ? NAN : INFINITY;
            if (side && p->part && !harness_is_within(p->part, s->size, i))
                *v = NAN;
            value[side][i] = (double)*v;
        }
    }
    ref_mind(value[0], value[1], s->size, s->radius, (double)s->epsilon, p->want[1], p->want[0], &p->sum, &p->count);
    free(value[0]);
    free(value[1]);
}

/* Base to which derivatives are added, and their weight. */
static const float BASE = .375f, WEIGHT = -2.5f;

typedef struct outcome {
    float *derivative[2], out[4];
} outcome;

/* sides: which images are compared; both: the fixed one's derivative is asked for, too; adds: WEIGHT times the
 * derivatives to BASE. */
static void compute(clvox_context *ctx, int which, const int sides[2], bool both, bool adds, outcome *got)
{
    const setup *s = &setups[which];
    const problem *p = &problems[which];
    size_t bytes = p->n * sizeof(float),
           scratch = clv_mind_scratch(s->size, s->radius, false, both) * sizeof(float);
    clv_buffer *fixed = harness_upload(ctx, p->image[sides[0]], bytes);
    float *rest = malloc(scratch);
    clv_buffer *within = p->part ? harness_upload(ctx, p->part, clv_within_bytes(s->size)) : NULL;
    clv_metric_args args = {
        .fixed = clv_image_of(fixed, s->size, NULL, 1),
        .moving = harness_upload(ctx, p->image[sides[1]], bytes),
        .parameter = s->radius,
        .epsilon = s->epsilon,
        .within = {within, (double)p->n / 2},
        .derivative_moving = harness_output(ctx, bytes),
        .derivative_fixed = both ? harness_output(ctx, bytes) : NULL,
        .scratch = harness_output(ctx, scratch),
        .partial = harness_output(ctx, CLV_MIND_PARTIALS * sizeof(float)),
        .out = harness_output(ctx, 16),
        .slot = 1,
    };
    uint32_t base;
    memcpy(&base, &BASE, sizeof base);
    if (adds) { /* whatever scratch held before */
        const float before[] = {1e30f, -1, INFINITY};
        uint32_t pattern;
        memcpy(&pattern, &before[which % 3], sizeof pattern);
        assert_ok(clv_buffer_fill(ctx, args.scratch, 0, pattern, scratch));
        assert_ok(clv_buffer_fill(ctx, args.derivative_moving, 0, base, bytes));
        if (both)
            assert_ok(clv_buffer_fill(ctx, args.derivative_fixed, 0, base, bytes));
        clv_metric_args silent = args;
        silent.out = which % 2 ? NULL : args.out;
        assert_ok(clv_mind_add(ctx, &silent, WEIGHT));
    } else {
        assert_ok(clv_mind(ctx, &args));
    }
    for (int side = 0; side < 2; side++)
        got->derivative[side] = malloc(bytes);
    if (both)
        harness_download(ctx, args.derivative_fixed, got->derivative[0], bytes);
    harness_download(ctx, args.derivative_moving, got->derivative[1], bytes);
    harness_download(ctx, args.out, got->out, 16);
    harness_download(ctx, args.scratch, rest, scratch); /* it looks beyond the end */
    free(rest);
    clv_buffer *all[] = {fixed,
                         (clv_buffer *)args.moving,
                         args.derivative_moving,
                         args.derivative_fixed,
                         args.scratch,
                         args.partial,
                         args.out,
                         within};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(&all[i]);
}

static void discard(outcome *o)
{
    free(o->derivative[0]);
    free(o->derivative[1]);
}

static void against_reference(clvox_context *ctx, int which, bool both, bool adds)
{
    const problem *p = &problems[which];
    const int *s = setups[which].size, as_given[2] = {0, 1};
    outcome got;
    compute(ctx, which, as_given, both, adds, &got);
    for (int side = both ? 0 : 1; side < 2; side++) {
        double largest = 1e-6, worst = 0;
        for (size_t i = 0; i < p->n; i++)
            largest = fmax(largest, fabs(p->want[side][i]));
        if (adds)
            largest = fmax(largest * fabs((double)WEIGHT), (double)BASE);
        for (size_t i = 0; i < p->n; i++) {
            const double want = adds ? (double)BASE + (double)WEIGHT * p->want[side][i] : p->want[side][i];
            const double error = fabs((double)got.derivative[side][i] - want);
            if (p->part && !harness_is_within(p->part, s, i))
                assert_true(adds ? got.derivative[side][i] == BASE : isnan(got.derivative[side][i]));
            else
                worst = error <= worst ? worst : isnan(error) ? INFINITY : error;
        }
        assert_that(worst <= 1e-5 * largest, "%s derivative of %dx%dx%d, radius %d: %g of %g",
                    side ? "moving" : "fixed", s[0], s[1], s[2], setups[which].radius, worst, largest);
    }
    assert_true(isnan(got.out[0]) && isnan(got.out[3]));
    if (adds && which % 2) {
        discard(&got);
        return;
    }
    assert_that(fabs((double)got.out[1] - p->sum) <= 1e-5 * fmax(1e-2, fabs(p->sum)), "%dx%dx%d: S %g, not %g", s[0],
                s[1], s[2], (double)got.out[1], p->sum);
    assert_that((double)got.out[2] == p->count, "%g voxels, not %g", (double)got.out[2], p->count);
    discard(&got);
}

/* An image minus itself leaves nothing, to the last bit. */
static void of_equal(clvox_context *ctx, int which)
{
    const int same[2] = {1, 1}; /* which is not finite outside of the part */
    outcome got;
    compute(ctx, which, same, true, false, &got);
    for (size_t i = 0; i < problems[which].n; i++)
        if (!problems[which].part || harness_is_within(problems[which].part, setups[which].size, i))
            assert_true(got.derivative[0][i] == 0 && got.derivative[1][i] == 0);
    assert_true(got.out[1] == 0);
    discard(&got);
}

static void entry_random(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    for (int i = 0; i < harness_problems(FEW, SETUPS); i++) {
        against_reference(ctx, i, harness_first() || i % 2, false);
        against_reference(ctx, i, i % 2 == 0, true);
        if (harness_first() && !harness_simulated() && i % 3 == 2)
            of_equal(ctx, i);
    }
}

static void same_bits(void **state)
{
    (void)state;
    const int as_given[2] = {0, 1};
    outcome a, b;
    for (int which = ANY; which < SETUPS; which += SETUPS - 1 - ANY) {
        compute(harness_context(), which, as_given, true, false, &a);
        compute(harness_context(), which, as_given, true, false, &b);
        for (int side = 0; side < 2; side++)
            assert_memory_equal(a.derivative[side], b.derivative[side], problems[which].n * sizeof(float));
        assert_memory_equal(a.out, b.out, sizeof a.out);
        discard(&a);
        discard(&b);
    }
}

/* The reference's derivatives against central differences of its own value. */
static void reference_against_differences(void **state)
{
    const int radius = *(const int *)*state, size[3] = {5, 4, 3};
    enum { N = 60 };
    float values[2 * N];
    double image[2][N], derivative[2][N], s, count, worst = 0, largest = 0;
    harness_random(values, 2 * N, 9, 0, 1);
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2; k++)
            image[k][i] = i % 19 == 4 + 9 * k ? (double)NAN : (double)values[2 * i + k];
    ref_mind(image[0], image[1], size, radius, 1e-3, derivative[1], derivative[0], &s, &count);
    assert_true(s < -1e-3);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < N; i++) {
            double h = 1e-5, kept = image[k][i], e[2], unused[2][N];
            if (isnan(image[0][i]) || isnan(image[1][i])) {
                assert_true(derivative[k][i] == 0);
                continue;
            }
            for (int side = 0; side < 2; side++) {
                image[k][i] = side ? kept + h : kept - h;
                ref_mind(image[0], image[1], size, radius, 1e-3, unused[0], unused[1], &e[side], &count);
            }
            image[k][i] = kept;
            worst = fmax(worst, fabs((e[1] - e[0]) / (2 * h) - derivative[k][i]));
            largest = fmax(largest, fabs(derivative[k][i]));
        }
    assert_that(worst <= 1e-6 * largest, "%g of %g", worst, largest);
}

static void refusals(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {4, 4, 4};
    clv_buffer *b[4], *out = harness_output(ctx, 16), *partial = harness_output(ctx, CLV_MIND_PARTIALS * sizeof(float));
    clv_buffer *scratch = harness_output(ctx, clv_mind_scratch(size, 1, false, true) * sizeof(float));
    for (int i = 0; i < 4; i++)
        b[i] = harness_output(ctx, 4 * 64);
    const clv_metric_args good = {.fixed = clv_image_of(b[0], size, NULL, 1), .moving = b[1], .parameter = 1,
                                  .epsilon = 1e-4f, .derivative_moving = b[2], .derivative_fixed = b[3],
                                  .scratch = scratch, .partial = partial, .out = out};
    assert_int_equal(clv_mind(ctx, &good), CLVOX_OK);
    const struct {
        int radius;
        float epsilon;
        int size;
        clv_buffer *scratch, *partial;
    } bad[] = {{-1, 1, 4, scratch, partial},  {5, 1, 4, scratch, partial}, {1, 0, 4, scratch, partial},
               {1, NAN, 4, scratch, partial}, {1, 1, 0, scratch, partial}, {1, 1, 9, scratch, partial},
               {1, 1, 4, NULL, partial},      {2, 1, 4, scratch, partial}, {1, 1, 4, scratch, b[0]}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        clv_metric_args a = good;
        a.parameter = bad[i].radius;
        a.epsilon = bad[i].epsilon;
        a.fixed.size[0] = bad[i].size;
        a.scratch = bad[i].scratch;
        a.partial = bad[i].partial;
        assert_that(clv_mind(ctx, &a) == CLVOX_ERROR_ARGUMENT, "case %zu", i);
    }
    for (int i = 0; i < 4; i++)
        clv_buffer_destroy(&b[i]);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&scratch);
}

static int tear_down(void **state)
{
    for (int i = 0; i < SETUPS; i++) {
        free(problems[i].part);
        for (int side = 0; side < 2; side++) {
            free(problems[i].image[side]);
            free(problems[i].want[side]);
        }
    }
    return harness_close(state);
}

int main(void)
{
    harness_open();
    for (int i = 0; i < SETUPS; i++)
        make(&problems[i], &setups[i]);
    for (int radius = 0; radius <= 2; radius++)
        test_case_at(reference_against_differences, TEST_AT(radius), "reference against differences, radius %d",
                     radius);
    static const clv_entry *const entries[] = {
        &clv_entry_mind_pack,       &clv_entry_mind_spans,      &clv_entry_mind_lines,
        &clv_entry_mind_planes,     &clv_entry_mind_compare,    &clv_entry_mind_pull,
        &clv_entry_mind_point_pull, &clv_entry_mind_derivative,
    };
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        harness_cases(entries[i], entry_random, NULL, 0, "random");
    test_case(same_bits, "the same bits again");
    test_case(refusals, "misuse");
    return test_run("mind", tear_down);
}
