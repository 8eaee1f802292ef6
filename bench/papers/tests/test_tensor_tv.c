/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/tests/tensor_tv_problem.h"

static void step_case(clvox_context *ctx, const tv_setup *s, clv_tensor_coupling coupling, bool with_mask)
{
    tv_problem p;
    tv_problem_make(ctx, s->size, s->spacing, coupling, with_mask, &p);
    for (int k = 0; k < 2; k++) {
        if (coupling == CLV_TENSOR_PAPER && k == 0)
            assert_int_equal(clv_tensor_tv_sums(ctx, &p.args, p.a), CLVOX_OK);
        assert_that((k ? clv_tensor_tv_iterate(ctx, &p.args, p.b, p.a)
                       : clv_tensor_tv_step(ctx, &p.args, p.a, p.b)) == CLVOX_OK,
                    "%s", clvox_message());
        ref_tensor_step(&p.ref, p.want);
    }
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    double error = harness_error(p.got, p.want, 6 * p.n, 2e-5, 0);
    assert_that(error <= 1, "%s %dx%dx%d%s: %g", tv_couplings[coupling], s->size[0], s->size[1], s->size[2],
                with_mask ? " masked" : "", error);
    tv_problem_release(&p);
}

static void steps_two_steps(void **state)
{
    const int *given = *state;
    int count = given[0], coupling = given[1];
    clvox_context *ctx = harness_context();
    for (int s = 0; s < count; s++)
        for (int masked = 0; masked < 2; masked++)
            step_case(ctx, &tv_setups[s], (clv_tensor_coupling)coupling, masked);
}

static void steps(int count)
{
    for (int coupling = 0; coupling < 2; coupling++)
        harness_cases(&clv_entry_tensor_tv_step, steps_two_steps, TEST_AT(count, coupling),
                      coupling == CLV_TENSOR_PAPER ? "two steps, paper" : "two steps");
}

static void sum_cases(clvox_context *ctx, int count)
{
    for (int k = 0; k < 4; k++)
        for (int s = 0; s < count; s++) {
            tv_problem p;
            float got[CLV_TENSOR_TV_STATE];
            double tv[6], total = 0;
            tv_problem_make(ctx, tv_setups[s].size, tv_setups[s].spacing, (clv_tensor_coupling)(k / 2), k % 2, &p);
            double energy = ref_tensor_energy(&p.ref, p.want, tv);
            assert_that(clv_tensor_tv_energy(ctx, &p.args, p.a) == CLVOX_OK, "%s", clvox_message());
            harness_download(ctx, p.state, got, sizeof got);
            for (int c = 0; c < 6; c++)
                total += (c == 0 || c == 3 || c == 5 ? 1 : 2) * tv[c] * tv[c];
            for (int c = 0; c < 6; c++) {
                assert_that(fabs(got[c] - tv[c]) <= 1e-5 * tv[c], "%g of %g", got[c], tv[c]);
                assert_true(fabs(got[CLV_TENSOR_TV_WEIGHT + c] - tv[c] / sqrt(total)) <= 1e-5);
            }
            assert_that(fabs(got[CLV_TENSOR_TV_ENERGY] - energy) <= 1e-5 * energy, "%g of %g",
                        got[CLV_TENSOR_TV_ENERGY], energy);
            tv_problem_release(&p);
        }
}

/* dE/dL against central differences of the discrete energy, all in double. */
static void gradient_case(clvox_context *ctx, clv_tensor_coupling coupling)
{
    tv_problem p;
    tv_problem_make(ctx, (const int[3]){5, 4, 3}, (const float[3]){1, 1.5f, 2}, coupling, true, &p);
    size_t n = p.n;
    double *l = malloc(6 * n * sizeof *l), *gradient = malloc(6 * n * sizeof *gradient);
    double worst = 0, most = 0;
    for (size_t i = 0; i < n; i++) {
        double d[6], li[6];
        for (size_t c = 0; c < 6; c++)
            d[c] = p.want[c * n + i];
        ref_tensor_factor(d, li);
        for (size_t c = 0; c < 6; c++)
            l[c * n + i] = li[c];
    }
    ref_tensor_gradient(&p.ref, p.want, l, gradient);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 6 && p.mask[i] > 0; c++) {
            double h = 1e-5, energy[2], li[6], d[6], before[6];
            for (size_t e = 0; e < 6; e++)
                before[e] = p.want[e * n + i];
            for (int side = 0; side < 2; side++) {
                for (size_t e = 0; e < 6; e++)
                    li[e] = l[e * n + i] + (e == c ? (side ? h : -h) : 0);
                ref_tensor_product(li, d);
                for (size_t e = 0; e < 6; e++)
                    p.want[e * n + i] = d[e];
                energy[side] = ref_tensor_energy(&p.ref, p.want, NULL);
            }
            for (size_t e = 0; e < 6; e++)
                p.want[e * n + i] = before[e];
            worst = fmax(worst, fabs((energy[1] - energy[0]) / (2 * h) - gradient[c * n + i]));
            most = fmax(most, fabs(gradient[c * n + i]));
        }
    assert_that(worst <= 1e-6 * most, "%g of %g", worst, most);
    free(l);
    free(gradient);
    tv_problem_release(&p);
}

/* The energy falls every step and all tensors stay positive. */
static void fall_case(clvox_context *ctx, clv_tensor_coupling coupling, bool tiny)
{
    tv_problem p;
    const int size[3] = {tiny ? 6 : 17, tiny ? 5 : 14, tiny ? 4 : 9};
    tv_problem_make(ctx, size, (const float[3]){2, 2, 2.5f}, coupling, true, &p);
    double last = HUGE_VAL;
    for (int k = 0; k < (tiny ? 4 : 60); k++) {
        float state[CLV_TENSOR_TV_STATE];
        clv_buffer *from = k % 2 ? p.b : p.a, *to = k % 2 ? p.a : p.b;
        assert_ok(clv_tensor_tv_energy(ctx, &p.args, from));
        assert_ok(clv_buffer_read(ctx, p.state, 0, state, sizeof state));
        assert_that((double)state[CLV_TENSOR_TV_ENERGY] < last, "step %d: %g after %g", k,
                    state[CLV_TENSOR_TV_ENERGY], last);
        last = (double)state[CLV_TENSOR_TV_ENERGY];
        assert_ok(clv_tensor_tv_step(ctx, &p.args, from, to));
    }
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    for (size_t i = 0; i < p.n; i++) {
        double d[6], l[6];
        if (!(p.mask[i] > 0))
            continue;
        for (size_t c = 0; c < 6; c++)
            d[c] = (double)p.got[c * p.n + i];
        ref_tensor_factor(d, l);
        assert_true(l[0] > 0 && l[3] > 0 && l[5] > 0);
    }
    tv_problem_release(&p);
}

static void constant_case(clvox_context *ctx, clv_tensor_coupling coupling)
{
    tv_problem p;
    static const float one[6] = {1.5f, 0.2f, -0.1f, 0.8f, 0.05f, 0.4f};
    tv_problem_make(ctx, (const int[3]){11, 6, 5}, (const float[3]){1, 1, 2}, coupling, false, &p);
    for (size_t i = 0; i < 6 * p.n; i++)
        p.from[i] = one[i / p.n];
    size_t bytes = 6 * p.n * sizeof(float);
    assert_ok(clv_buffer_write(ctx, p.a, 0, p.from, bytes));
    assert_ok(clv_buffer_write(ctx, p.data_buffer, 0, p.from, bytes));
    for (int k = 0; k < 20; k++) {
        assert_ok(clv_tensor_tv_sums(ctx, &p.args, k % 2 ? p.b : p.a));
        assert_ok(clv_tensor_tv_step(ctx, &p.args, k % 2 ? p.b : p.a, k % 2 ? p.a : p.b));
    }
    harness_download(ctx, p.a, p.got, bytes);
    for (size_t i = 0; i < 6 * p.n; i++)
        assert_that(fabsf(p.got[i] - p.from[i]) <= 2e-5f, "%g of %g", p.got[i], p.from[i]);
    tv_problem_release(&p);
}

/* Scalar total variation sqrt(3) (or k) sum sqrt(|grad d|^2 + eps) + mu/2 |d - f|^2 by
 * plain descent in d, written for itself: a 3-D image, unit voxels. */
static void scalar_descent(double *d, const double *f, const int size[3], double weight, double mu,
                           double eps, int count)
{
    int n = size[0] * size[1] * size[2], step[3] = {1, size[0], size[0] * size[1]};
    double *g = malloc((size_t)n * sizeof *g);
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < n; i++)
            g[i] = mu * (d[i] - f[i]);
        for (int i = 0; i < n; i++) {
            int at[3] = {i % size[0], i / size[0] % size[1], i / (size[0] * size[1])};
            double s[3], norm = eps;
            for (int a = 0; a < 3; a++) {
                s[a] = at[a] + 1 < size[a] ? d[i + step[a]] - d[i] : 0;
                norm += s[a] * s[a];
            }
            for (int a = 0; a < 3; a++)
                if (at[a] + 1 < size[a]) {
                    g[i + step[a]] += weight * s[a] / sqrt(norm);
                    g[i] -= weight * s[a] / sqrt(norm);
                }
        }
        for (int i = 0; i < n; i++)
            d[i] -= g[i] / (weight * 12 / sqrt(eps) + mu);
    }
    free(g);
}

/* D = d I: the shared norm is sqrt(3) that of d with eps / 3, and the data count
 * three times. */
static void scalar_case(clvox_context *ctx, bool tiny)
{
    tv_problem p;
    const int size[3] = {9, 5, 4};
    tv_problem_make(ctx, size, (const float[3]){1, 1, 1}, CLV_TENSOR_LOCAL, false, &p);
    p.args.eps = 0.03f;
    p.args.dt = 3e-3f;
    float *image = malloc(p.n * sizeof *image);
    double *f = malloc(p.n * sizeof *f), *d = malloc(p.n * sizeof *d);
    harness_random(image, p.n, 9, 0.5f, 1.5f);
    for (size_t i = 0; i < 6 * p.n; i++)
        p.from[i] = i / p.n == 0 || i / p.n == 3 || i / p.n == 5 ? image[i % p.n] : 0;
    for (size_t i = 0; i < p.n; i++)
        d[i] = f[i] = (double)image[i];
    assert_ok(clv_buffer_write(ctx, p.a, 0, p.from, 6 * p.n * sizeof(float)));
    assert_ok(clv_buffer_write(ctx, p.data_buffer, 0, p.from, 6 * p.n * sizeof(float)));
    for (int k = 0; k < (tiny ? 2 : 4000); k++)
        assert_ok(clv_tensor_tv_step(ctx, &p.args, k % 2 ? p.b : p.a, k % 2 ? p.a : p.b));
    harness_download(ctx, p.a, p.got, 6 * p.n * sizeof(float));
    scalar_descent(d, f, size, sqrt(3), 3 * p.ref.lambda, 0.01, 4000);
    for (size_t i = 0; i < 6 * p.n && !tiny; i++) {
        size_t c = i / p.n;
        double want = c == 0 || c == 3 || c == 5 ? d[i % p.n] : 0;
        assert_that(fabs(p.got[i] - want) <= 1e-4, "entry %zu: %g of %g", c, p.got[i], want);
    }
    free(image);
    free(f);
    free(d);
    tv_problem_release(&p);
}

static void tensor_tv_sums_sums_and_energy(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY");
    int count = TV_SETUPS - (tiny ? TV_LARGE : 0);
    sum_cases(ctx, count);
}

static void tensor_tv_last_sums_and_energy(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    sum_cases(ctx, 3);
}

static void gradient_of_against_differences(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_context *ctx = harness_context();
    gradient_case(ctx, (clv_tensor_coupling)k);
}

static void energy_of_falls_tensors_stay_positive(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY");
    fall_case(ctx, (clv_tensor_coupling)k, tiny);
}

static void a_constant_field_stays(void **state)
{
    const int *given = *state;
    int k = given[0];
    clvox_context *ctx = harness_context();
    constant_case(ctx, (clv_tensor_coupling)k);
}

static void isotropic_tensors_scalar_total_variation(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    bool tiny = getenv("CLVOX_TEST_TINY");
    scalar_case(ctx, tiny);
}

int main(void)
{
    harness_open();
    bool tiny = getenv("CLVOX_TEST_TINY");
    int count = TV_SETUPS - (tiny ? TV_LARGE : 0);
    steps(count);
    harness_cases(&clv_entry_tensor_tv_sums, tensor_tv_sums_sums_and_energy, NULL, 0, "sums and energy");
    harness_cases(&clv_entry_tensor_tv_last, tensor_tv_last_sums_and_energy, NULL, 0, "sums and energy");
    for (int k = 0; k < 2; k++) {
        test_case_at(gradient_of_against_differences, TEST_AT(k),
                     "gradient of %s against differences of the energy", tv_couplings[k]);
        test_case_at(energy_of_falls_tensors_stay_positive, TEST_AT(k),
                     "energy of %s falls, tensors stay positive", tv_couplings[k]);
        test_case_at(a_constant_field_stays, TEST_AT(k), "a constant field stays, %s", tv_couplings[k]);
    }
    test_case(isotropic_tensors_scalar_total_variation, "isotropic tensors: scalar total variation");
    return test_run("tv", harness_close);
}
