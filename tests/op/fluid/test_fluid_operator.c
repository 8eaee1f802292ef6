/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "op/fluid/fluid_operator.h"
#include "op/image/reduce.h"
#include "ref/fluid/fluid_operator.h"

static const clv_fluid_operator problems[] = {
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, .02f, .001f, false},
    {{11, 7, 5}, {.8f, 1.25f, 2}, .01f, 0, .001f, true},
    {{1, 1, 1}, {1, 1, 1}, 1, 1, .5f, false},
    {{1, 6, 5}, {1, 1, 3}, 1, 2, .5f, true},
    {{10, 1, 3}, {1, 1, 1}, 1, .5f, .1f, false},
    {{9, 2, 1}, {1, 2, 1}, 1, .5f, .1f, true},
    {{2, 2, 2}, {1, 1, 1}, .3f, 0, .1f, true},
    {{67, 13, 11}, {1, 1, 1}, 0, 1, .1f, true},
    {{67, 13, 11}, {1, 1, 1.5f}, 1, 0, .1f, false},
    {{40, 37, 23}, {1, 1, 1}, 1, 1, .1f, true},
    {{25, 3, 19}, {1, .5f, 1}, 1, 1, .1f, false},
};
enum { PROBLEMS = sizeof problems / sizeof *problems, TINY = 7 };

static size_t voxels_of(const clv_fluid_operator *op)
{
    return (size_t)op->size[0] * (size_t)op->size[1] * (size_t)op->size[2];
}

/* No eigenvalue is larger. */
static double bound_of(const clv_fluid_operator *op)
{
    double most = (double)op->gamma;
    for (int a = 0; a < 3; a++)
        if (op->size[a] > 1)
            most += 4 * ((double)op->alpha + (double)op->beta) / pow((double)op->spacing[a], 2);
    return most;
}

static double sum_of(clvox_context *ctx, const clv_buffer *partial, int count)
{
    static float values[CLV_FLUID_OPERATOR_PARTIALS];
    double sum = 0;
    assert_ok(clv_buffer_read(ctx, partial, 0, values, (size_t)count * sizeof *values));
    for (int i = 0; i < count; i++)
        sum += (double)values[i];
    return sum;
}

static void compare(clvox_context *ctx, const clv_fluid_operator *op, bool hole)
{
    size_t n = voxels_of(op), bytes = 3 * n * sizeof(float);
    float *v = malloc(2 * bytes), *f = v + 3 * n, *got = malloc(2 * bytes), *again = got + 3 * n;
    double *wide = malloc(2 * 3 * n * sizeof *wide), *want = wide + 3 * n;
    double most = bound_of(op), sum = 0, squares = 0;
    harness_random(v, 6 * n, 7 + (unsigned)n, -2, 2);
    if (hole)
        for (size_t c = 0; c < 3; c++)
            v[c * n + n / 2] = NAN;
    for (size_t i = 0; i < 3 * n; i++)
        wide[i] = (double)v[i];
    ref_fluid_operator(op, wide, want);
    clv_buffer *in = harness_upload_field(ctx, v, n), *known = harness_upload_field(ctx, f, n);
    clv_buffer *out = harness_output(ctx, bytes), *partial = harness_output(ctx, 4 * CLV_FLUID_OPERATOR_PARTIALS);
    int count;
    const clv_fluid_product product = {in, NULL, out, partial, &count};
    const clv_fluid_product residual = {in, known, out, partial, &count};
    assert_int_equal(clv_fluid_operator_apply(ctx, op, in, out), CLVOX_OK);
    harness_download_field(ctx, out, got, n);
    double error = harness_error(got, want, 3 * n, 1e-6 * most, 0);
    assert_that(error <= 1, "%dx%dx%d: L v is off by %g", op->size[0], op->size[1], op->size[2], error);
    assert_int_equal(clv_fluid_operator_launch(ctx, op, &product), CLVOX_OK);
    harness_download_field(ctx, out, again, n);
    assert_memory_equal(got, again, bytes);
    for (size_t i = 0; i < 3 * n; i++) {
        sum += wide[i] * want[i];
        want[i] = (double)f[i] - want[i];
        squares += want[i] * want[i];
    }
    double dot = sum_of(ctx, partial, count);
    assert_that(hole ? isnan(dot) : fabs(dot - sum) <= 3e-6 * sum, "v . L v is %.8g, not %.8g", dot, sum);
    assert_int_equal(clv_fluid_operator_launch(ctx, op, &residual), CLVOX_OK);
    harness_download_field(ctx, out, again, n);
    error = harness_error(again, want, 3 * n, 1e-6 * (most + 1), 0);
    assert_that(error <= 1, "%dx%dx%d: f - L v is off by %g", op->size[0], op->size[1], op->size[2], error);
    double left = sum_of(ctx, partial, count);
    assert_that(hole ? isnan(left) : fabs(left - squares) <= 3e-6 * squares, "%.8g, not %.8g", left, squares);
    assert_int_equal(clv_fluid_operator_launch(ctx, op, &residual), CLVOX_OK);
    harness_download_field(ctx, out, got, n);
    assert_memory_equal(got, again, bytes);
    double same = sum_of(ctx, partial, count);
    assert_memory_equal(&same, &left, sizeof same);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&known);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&partial);
    free(v);
    free(got);
    free(wide);
}

/* u . L v = L u . v, and v . L v lies between the bounds times v . v. */
static void check_definite(const clv_fluid_operator *op)
{
    size_t n = 3 * voxels_of(op);
    float *random = malloc(2 * n * sizeof *random);
    double *u = malloc(4 * n * sizeof *u), *v = u + n, *lu = v + n, *lv = lu + n, one = 0, other = 0, own = 0,
           square = 0, least = (double)op->gamma, most = bound_of(op);
    harness_random(random, 2 * n, 11, -1, 1);
    for (size_t i = 0; i < 2 * n; i++)
        u[i] = (double)random[i];
    ref_fluid_operator(op, u, lu);
    ref_fluid_operator(op, v, lv);
    for (size_t i = 0; i < n; i++) {
        one += u[i] * lv[i];
        other += lu[i] * v[i];
        own += v[i] * lv[i];
        square += v[i] * v[i];
    }
    assert_that(fabs(one - other) <= 1e-12 * most * square, "%.12g is not %.12g", one, other);
    assert_that(own >= least * square * (1 - 1e-12) && own <= most * square * (1 + 1e-12),
                "%g is not between %g and %g", own / square, least, most);
    free(random);
    free(u);
}

/* The reference against the operator of a wave of long wavelength: the
 * differences are those of the formula. */
static void check_wave(void)
{
    const double pi = acos(-1);
    const clv_fluid_operator op = {{48, 40, 36}, {.5f, .75f, 1}, .7f, 1.3f, .2f, true};
    size_t n = voxels_of(&op);
    double *v = malloc(6 * n * sizeof *v), *out = v + 3 * n, k[3], a[3] = {1, -.5, .7}, worst = 0;
    for (int i = 0; i < 3; i++)
        k[i] = 2 * pi / (op.size[i] * (double)op.spacing[i]);
    double kk = k[0] * k[0] + k[1] * k[1] + k[2] * k[2], ka = k[0] * a[0] + k[1] * a[1] + k[2] * a[2];
    double *phase = malloc(n * sizeof *phase);
    for (size_t i = 0; i < n; i++) {
        size_t x = i % 48, y = i / 48 % 40, z = i / 48 / 40;
        phase[i] = k[0] * .5 * (double)x + k[1] * .75 * (double)y + k[2] * (double)z;
        for (size_t c = 0; c < 3; c++)
            v[c * n + i] = a[c] * sin(phase[i]);
    }
    ref_fluid_operator(&op, v, out);
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < n; i++) {
            double want = ((.7 * kk + .2) * a[c] + 1.3 * k[c] * ka) * sin(phase[i]);
            worst = fmax(worst, fabs(out[c * n + i] - want));
        }
    assert_that(worst < 2e-3, "off by %g", worst);
    free(v);
    free(phase);
}

static void fluid_operator_against_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? TINY : PROBLEMS;
    for (int i = 0; i < count; i++)
        compare(ctx, &problems[i], i % 4 == 0 && voxels_of(&problems[i]) > 30);
}

static void l_is_symmetric_and_positive_definite(void **state)
{
    (void)state;
    int count = getenv("CLVOX_TEST_TINY") ? TINY : PROBLEMS;
    for (int i = 0; i < count; i++)
        check_definite(&problems[i]);
}

static void a_long_wave_is_what_the_formula_says(void **state)
{
    (void)state;
    check_wave();
}

static void operators_that_are_none_are_refused(void **state)
{
    (void)state;
    clv_fluid_operator bad = problems[0];
    bad.gamma = 0;
    assert_int_equal(clv_fluid_operator_check(&bad), CLVOX_ERROR_ARGUMENT);
    bad = problems[0];
    bad.alpha = -1;
    assert_int_equal(clv_fluid_operator_check(&bad), CLVOX_ERROR_ARGUMENT);
    bad = problems[0];
    bad.spacing[1] = 0;
    assert_int_equal(clv_fluid_operator_check(&bad), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_fluid_operator, fluid_operator_against_the_reference, NULL, 0,
                  "against the reference");
    test_case(l_is_symmetric_and_positive_definite, "L is symmetric and positive definite");
    test_case(a_long_wave_is_what_the_formula_says, "a long wave is what the formula says");
    test_case(operators_that_are_none_are_refused, "operators that are none are refused");
    return test_run("fluid operator", harness_close);
}
