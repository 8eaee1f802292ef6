/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/gaussian.h"

#include "ref/image/gaussian.h"
#include "op/harness.h"

/* Which passes a trial takes. */
enum { X = 1, AXIS = 2, XY = 4 };

typedef struct trial {
    int size[3];
    float sigma[3];
    int passes;
} trial;

/* Rows shorter and longer than a CPU device's chunk, primes, one-thick axes,
 * radii beyond the size, one axis alone, and axes left as they are. Few
 * different radii, as each is a program to build. */
static const trial trials[] = {
    {{7, 5, 3}, {2.0f, 1.8f, 0.3f}, XY | AXIS},
    {{1, 1, 1}, {2, 2, 2}, XY},
    {{1, 11, 9}, {1.7f, 1.7f, 1.8f}, AXIS},
    {{12, 1, 7}, {2.0f, 2.0f, 0}, X},
    {{3, 2, 11}, {2.0f, 0, 1.9f}, X | AXIS},
    {{11, 9, 1}, {1.7f, 1.7f, 1.7f}, XY},
    /* The rest is left out under the simulator. */
    {{131, 41, 5}, {1.7f, 1.7f, 1.7f}, XY | AXIS},
    {{401, 35, 3}, {0.3f, 2.0f, 0}, XY},
    {{67, 5, 37}, {1.8f, 0, 1.8f}, X | AXIS},
    {{29, 13, 61}, {1.7f, 0, 3.1f}, X | AXIS},
    {{397, 3, 2}, {3.1f, 0, 0}, X},
};

static double compare(clvox_context *ctx, const trial *t, bool vectors, const float *values)
{
    size_t voxels = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
    int components = vectors ? 3 : 1;
    size_t count = voxels * (size_t)components;
    double *in = malloc(count * sizeof *in), *want = malloc(count * sizeof *want);
    float *got = malloc(count * sizeof *got);
    double sigma[3] = {(double)t->sigma[0], (double)t->sigma[1], (double)t->sigma[2]};
    for (size_t i = 0; i < count; i++)
        in[i] = (double)values[i];
    for (int c = 0; c < components; c++)
        ref_gaussian(in + (size_t)c * voxels, t->size, sigma, want + (size_t)c * voxels);
    clv_buffer *a = vectors ? harness_upload_field(ctx, values, voxels)
                            : harness_upload(ctx, values, count * sizeof(float));
    clv_buffer *tmp = harness_output(ctx, count * sizeof(float));
    clv_buffer *out = harness_output(ctx, count * sizeof(float));
    assert_that(clv_gaussian(ctx, (const clv_image[1]){clv_image_of(a, t->size, NULL, vectors ? 3 : 1)},
                             t->sigma, CLV_GAUSSIAN_SEPARABLE, tmp, out) >= 0,
                "%s", clvox_message());
    if (vectors)
        harness_download_field(ctx, out, got, voxels);
    else
        harness_download(ctx, out, got, count * sizeof(float));
    double error = harness_error(got, want, count, 1e-6, 0);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&out);
    free(in);
    free(want);
    free(got);
    return error;
}

/* Values in [-1, 1): three passes of a dozen additions stay within 1e-6. */
static void entry_random_images_and_fields(void **state)
{
    const int *given = *state;
    int pass = given[0];
    clvox_context *ctx = harness_context();
    const int all = (int)(sizeof trials / sizeof *trials), count = getenv("CLVOX_TEST_TINY") ? 6 : all;
    int left = harness_problems(6, all);
    for (int i = 0; i < count && left > 0; i++) {
        const trial *t = &trials[i];
        if (!(t->passes & pass))
            continue;
        left--;
        size_t voxels = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
        float *values = malloc(3 * voxels * sizeof *values);
        harness_random(values, 3 * voxels, (unsigned)i + 1, -1, 1);
        /* A NaN reaches what lies within the radius and nothing else. Addresses go by no value. */
        for (int nan = 0; nan < (harness_simulated() ? 1 : 2); nan++) {
            for (int vectors = 0; vectors < 2; vectors++) {
                double error = compare(ctx, t, vectors, values);
                assert_that(error <= 1, "%dx%dx%d, vectors %d: error %g of what is allowed", t->size[0],
                            t->size[1], t->size[2], vectors, error);
            }
            values[voxels / 2] = NAN;
        }
        free(values);
    }
}

static void all_variants(const clv_entry *entry, int pass)
{
    harness_cases(entry, entry_random_images_and_fields, TEST_AT(pass), "random images and fields");
}

static const int constants_size[3] = {19, 11, 13};

static struct {
    size_t voxels;
    float *values;
    double *want;
    clv_buffer *in, *tmp, *out;
} shared;

static int constants_set_up(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    shared.voxels = 19 * 11 * 13;
    shared.values = malloc(shared.voxels * sizeof *shared.values);
    shared.want = malloc(shared.voxels * sizeof *shared.want);
    for (size_t i = 0; i < shared.voxels; i++)
        shared.want[i] = (double)(shared.values[i] = 1000.25f);
    shared.in = harness_upload(ctx, shared.values, shared.voxels * 4);
    shared.tmp = harness_output(ctx, shared.voxels * 4);
    shared.out = harness_output(ctx, shared.voxels * 4);
    return 0;
}

static int constants_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.in);
    clv_buffer_destroy(&shared.tmp);
    clv_buffer_destroy(&shared.out);
    free(shared.values);
    free(shared.want);
    return 0;
}

static void gaussian_a_constant_image_stays_constant(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const float sigma[3] = {1.8f, 0.3f, 3.1f};
    assert_true(clv_gaussian(ctx, CLV_VOLUME(shared.in, constants_size), sigma, CLV_GAUSSIAN_SEPARABLE,
                             shared.tmp, shared.out) >= 0);
    harness_download(ctx, shared.out, shared.values, shared.voxels * 4);
    assert_true(harness_error(shared.values, shared.want, shared.voxels, 0, 1e-6) <= 1);
}

static void gaussian_no_width_copies(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_true(clv_gaussian(ctx, CLV_VOLUME(shared.in, constants_size), (float[3]){0, 0, 0},
                             CLV_GAUSSIAN_AUTO, shared.tmp, shared.out) >= 0);
    harness_download(ctx, shared.out, shared.values, shared.voxels * 4);
    assert_true(harness_error(shared.values, shared.want, shared.voxels, 0, 0x1p-30) <= 1);
}

/* By kernels for wider filters, along all axes and of axes that are short, the same bits. */
static void gaussian_of_finite_values(void **state)
{
    (void)state;
    enum { WIDTHS = 5 };
    static const int size[3] = {53, 9, 31};
    static const float widths[WIDTHS][3] = {
        {1.4f, 1.3f, 1.9f}, {2.4f, 2.2f, 2.6f}, {3.1f, 1.2f, .9f}, {4.9f, 3.9f, 4.1f}, {.5f, .7f, .6f}};
    clvox_context *ctx = harness_context();
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *values = malloc(3 * n * sizeof *values), *one = values + n, *other = one + n;
    assert_non_null(values);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)sin((double)(i * i % 977)) * 100;
    clv_buffer *in = harness_upload(ctx, values, n * 4), *tmp = harness_output(ctx, n * 4),
               *out = harness_output(ctx, n * 4);
    for (int k = 0; k < WIDTHS; k++) {
        assert_ok(clv_gaussian(ctx, CLV_VOLUME(in, size), widths[k], CLV_GAUSSIAN_AUTO, tmp, out));
        harness_download(ctx, out, one, n * 4);
        assert_ok(clv_gaussian(ctx, CLV_VOLUME(in, size), widths[k], CLV_GAUSSIAN_FINITE, tmp, out));
        harness_download(ctx, out, other, n * 4);
        assert_memory_equal(one, other, n * 4);
    }
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&out);
    free(values);
}

static void gaussian_a_width_that_is_no_length(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    assert_true(clv_gaussian(ctx, CLV_VOLUME(shared.in, constants_size), (float[3]){-1, 0, 0},
                             CLV_GAUSSIAN_AUTO, shared.tmp, shared.out) < 0);
    assert_true(clv_gaussian(ctx, CLV_VOLUME(shared.in, constants_size), (float[3]){0, NAN, 0},
                             CLV_GAUSSIAN_AUTO, shared.tmp, shared.out) < 0);
}

static void constants(void)
{
    test_case(gaussian_of_finite_values, "gaussian: finite values by few kernels, the same bits");
    test_each(constants_set_up, constants_tear_down);
    test_case(gaussian_a_constant_image_stays_constant, "gaussian: a constant image stays constant");
    test_case(gaussian_no_width_copies, "gaussian: no width copies");
    test_case(gaussian_a_width_that_is_no_length, "gaussian: a width that is no length is refused");
    test_each(NULL, NULL);
}

/* Away from the border nothing is gained or lost. */
static void sums(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {27, 23, 21};
    size_t voxels = 27 * 23 * 21;
    float *values = calloc(voxels, sizeof *values);
    values[(10 * 23 + 11) * 27 + 13] = 1;
    clv_buffer *in = harness_upload(ctx, values, voxels * 4);
    clv_buffer *tmp = harness_output(ctx, voxels * 4), *out = harness_output(ctx, voxels * 4);
    assert_true(clv_gaussian(ctx, CLV_VOLUME(in, size), (float[3]){2, 1.8f, 0.3f}, CLV_GAUSSIAN_SEPARABLE,
                             tmp, out) >= 0);
    harness_download(ctx, out, values, voxels * 4);
    double sum = 0;
    for (size_t i = 0; i < voxels; i++)
        sum += (double)values[i];
    assert_that(fabs(sum - 1) < 1e-5, "%.9g", sum);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&out);
    free(values);
}

int main(void)
{
    harness_open();
    all_variants(&clv_entry_gaussian_x, X);
    all_variants(&clv_entry_gaussian_axis, AXIS);
    all_variants(&clv_entry_gaussian_xy, XY);
    constants();
    test_case(sums, "gaussian: the sum is kept");
    return test_run("gaussian", harness_close);
}
