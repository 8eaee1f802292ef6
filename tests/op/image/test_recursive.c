/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/gaussian.h"
#include "op/image/recursive.h"

#include "ref/image/recursive.h"
#include "op/harness.h"

typedef void line_filter(const double *in, int n, double sigma, double *out);

static void filter_volume(const float *in, const int size[3], const float sigma[3], line_filter *filter,
                          double *out)
{
    size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    const size_t step[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    double line[512], made[512];
    for (size_t i = 0; i < voxels; i++)
        out[i] = (double)in[i];
    for (int a = 0; a < 3; a++) {
        if (!(sigma[a] > 0))
            continue;
        for (size_t v = 0; v < voxels; v++) {
            if (v / step[a] % (size_t)size[a])
                continue;
            for (int i = 0; i < size[a]; i++)
                line[i] = out[v + (size_t)i * step[a]];
            filter(line, size[a], (double)sigma[a], made);
            for (int i = 0; i < size[a]; i++)
                out[v + (size_t)i * step[a]] = made[i];
        }
    }
}

static void run(clvox_context *ctx, const int size[3], bool vectors, const float sigma[3],
                const float *values, float *got)
{
    size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    size_t bytes = voxels * (vectors ? 12 : 4);
    clv_buffer *in = vectors ? harness_upload_field(ctx, values, voxels) : harness_upload(ctx, values, bytes);
    clv_buffer *tmp = harness_output(ctx, bytes), *out = harness_output(ctx, bytes);
    assert_that(clv_gaussian(ctx, (const clv_image[1]){clv_image_of(in, size, NULL, vectors ? 3 : 1)}, sigma,
                             CLV_GAUSSIAN_RECURSIVE, tmp, out) >= 0,
                "%s", clvox_message());
    if (vectors)
        harness_download_field(ctx, out, got, voxels);
    else
        harness_download(ctx, out, got, bytes);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&out);
}

typedef struct trial {
    int size[3];
    float sigma[3];
} trial;

static const trial trials[] = {
    {{7, 5, 3}, {0.7f, 1.0f, 2.0f}},
    {{1, 11, 9}, {3.0f, 5.0f, 0}},
    {{12, 1, 7}, {2.0f, 2.0f, 30.0f}},
    /* The rest is left out under the simulator. */
    {{131, 17, 5}, {10.0f, 4.0f, 1.7f}},
    {{37, 67, 41}, {2.5f, 25.0f, 7.0f}},
};

/* Values in [-1, 1). Rounding grows with sigma, so much slower than its
 * fourth power: 1e-5 is ample even where sigma is 30. */
static void entry_random_images_and_fields(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 3 : (int)(sizeof trials / sizeof *trials);
    for (int i = 0; i < count; i++) {
        const trial *t = &trials[i];
        size_t voxels = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
        float *values = malloc(3 * voxels * sizeof *values), *got = malloc(3 * voxels * sizeof *got);
        double *want = malloc(3 * voxels * sizeof *want);
        harness_random(values, 3 * voxels, (unsigned)i + 1, -1, 1);
        for (size_t c = 0; c < 3; c++)
            filter_volume(values + c * voxels, t->size, t->sigma, ref_recursive_line, want + c * voxels);
        for (int vectors = 0; vectors < 2; vectors++) {
            run(ctx, t->size, vectors, t->sigma, values, got);
            double error = harness_error(got, want, voxels * (vectors ? 3 : 1), 1e-5, 0);
            assert_that(error <= 1, "%dx%dx%d, vectors %d: error %g of what is allowed", t->size[0],
                        t->size[1], t->size[2], vectors, error);
        }
        free(values);
        free(got);
        free(want);
    }
}

static void all_variants(const clv_entry *entry)
{
    harness_cases(entry, entry_random_images_and_fields, NULL, 0, "random images and fields");
}

/* The known error of the fit: an impulse against the Gaussian's own peak. */
static const int impulses_size[3] = {301, 1, 1};

static struct {
    float values[301], got[301], *automatic_values, *automatic_got;
    double want[301], *automatic_want;
    clv_buffer *in, *tmp, *out;
} shared;

static int impulses_set_up(void **state)
{
    (void)state;
    memcpy(shared.values, (float[301]){0}, sizeof shared.values);
    shared.values[150] = 1;
    return 0;
}

typedef struct impulses_given {
    float sigma;
} impulses_given;

static void recursive_an_impulse_becomes_a_gaussian(void **state)
{
    const impulses_given *given = *state;
    float sigma = given->sigma;
    clvox_context *ctx = harness_context();
    const float widths[3] = {sigma, 0, 0};
    run(ctx, impulses_size, false, widths, shared.values, shared.got);
    filter_volume(shared.values, impulses_size, widths, ref_gaussian_line, shared.want);
    double worst = 0;
    for (int i = 0; i < 301; i++)
        worst = fmax(worst, fabs((double)shared.got[i] - shared.want[i]));
    assert_that(worst <= 1.5e-3 * shared.want[150], "%g of the peak", worst / shared.want[150]);
}

static void impulses(void)
{
    test_set_up(impulses_set_up);
    for (float sigma = 0.8f; sigma < 40; sigma *= 1.9f)
        test_case_at(recursive_an_impulse_becomes_a_gaussian, TEST_OF(((impulses_given){sigma})),
                     "recursive: an impulse becomes a Gaussian of width %g", (double)sigma);
}

static void constants(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int size[3] = {23, 11, 13};
    static float values[23 * 11 * 13], got[23 * 11 * 13];
    double want[23 * 11 * 13];
    for (int i = 0; i < 23 * 11 * 13; i++)
        want[i] = (double)(values[i] = 1000.25f);
    for (float sigma = 0.6f; sigma < 1000; sigma *= 6) {
        const float widths[3] = {sigma, sigma, sigma};
        run(ctx, size, false, widths, values, got);
        double error = harness_error(got, want, 23 * 11 * 13, 0, 1e-6 * (1 + (double)sigma));
        assert_that(error <= 1, "sigma %g: error %g of what is allowed", (double)sigma, error);
    }
}

/* Whichever form the engine takes by itself, the result is nearly the same. */
enum { VOXELS = 61 * 47 * 53 };
static const int automatic_size[3] = {61, 47, 53};

static int automatic_set_up(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    shared.automatic_values = calloc(VOXELS, sizeof *shared.automatic_values);
    shared.automatic_got = malloc(VOXELS * sizeof *shared.automatic_got);
    shared.automatic_want = malloc(VOXELS * sizeof *shared.automatic_want);
    for (int z = 20; z < 35; z++)
        for (int y = 11; y < 30; y++)
            for (int x = 0; x < 40; x++)
                shared.automatic_values[(z * 47 + y) * 61 + x] = 100;
    shared.in = harness_upload(ctx, shared.automatic_values, VOXELS * 4);
    shared.tmp = harness_output(ctx, VOXELS * 4);
    shared.out = harness_output(ctx, VOXELS * 4);
    return 0;
}

typedef struct automatic_given {
    float sigma;
} automatic_given;

static void recursive_the_automatic_form_at_width(void **state)
{
    const automatic_given *given = *state;
    float sigma = given->sigma;
    clvox_context *ctx = harness_context();
    const float widths[3] = {sigma, sigma, sigma};
    assert_true(clv_gaussian(ctx, CLV_VOLUME(shared.in, automatic_size), widths, CLV_GAUSSIAN_AUTO,
                             shared.tmp, shared.out) >= 0);
    harness_download(ctx, shared.out, shared.automatic_got, VOXELS * 4);
    filter_volume(shared.automatic_values, automatic_size, widths, ref_gaussian_line, shared.automatic_want);
    double worst = harness_error(shared.automatic_got, shared.automatic_want, VOXELS, 1, 0);
    assert_that(worst <= 1, "%g of 100", worst);
}

static int automatic_tear_down(void **state)
{
    (void)state;
    clv_buffer_destroy(&shared.in);
    clv_buffer_destroy(&shared.tmp);
    clv_buffer_destroy(&shared.out);
    free(shared.automatic_values);
    free(shared.automatic_got);
    free(shared.automatic_want);
    return 0;
}

static void automatic(void)
{
    test_set_up(automatic_set_up);
    for (float sigma = 2; sigma < 40; sigma *= 4)
        test_case_at(recursive_the_automatic_form_at_width, TEST_OF(((automatic_given){sigma})),
                     "recursive: the automatic form at width %g", (double)sigma);
    test_tear_down(automatic_tear_down);
}

int main(void)
{
    harness_open();
    all_variants(&clv_entry_recursive_x);
    all_variants(&clv_entry_recursive_axis);
    impulses();
    test_case(constants, "recursive: a constant image stays constant, however wide the filter");
    if (!getenv("CLVOX_TEST_TINY"))
        automatic();
    return test_run("recursive", harness_close);
}
