/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/gaussian.h"
#include "op/harness.h"
#include "op/image/smooth.h"
#include "ref/image/gaussian.h"
#include "ref/image/smooth.h"

enum { SLOT = 3 };

typedef struct trial {
    int size[3];
    float sigma[3];
    bool vectors;
} trial;

/* Every tile. The same radii for all, as each set of them is a program to build. */
static const trial trials[] = {
    {{7, 5, 3}, {1, 0.9f, 0.8f}, true},
    {{11, 19, 4}, {1, 1, 1}, true},
    /* The rest is left out under the simulator. */
    {{131, 41, 5}, {1, 1, 1}, true},
    {{67, 5, 101}, {0.8f, 0.9f, 1}, true},
    {{389, 35, 2}, {1, 1, 1}, true},
};
enum { TINY = 2 };

/* One tile of each variant: other radii, axes of one voxel or left as they are. */
static const trial others[] = {
    {{12, 9, 10}, {0.3f, 0.6f, 1}, true},
    {{1, 11, 9}, {0.6f, 0.6f, 0.3f}, true},
    {{29, 1, 6}, {1, 1, 0}, false},
};

static const float scale[3] = {1.25f, 0.8f, 0.5f};

static void compare(clvox_context *ctx, const trial *t, const float *values)
{
    bool vectors = t->vectors;
    size_t voxels = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
    size_t components = vectors ? 3 : 1, count = voxels * components;
    double *in = malloc(count * sizeof *in), *want = malloc(count * sizeof *want);
    float *got = malloc(count * sizeof *got), state[SLOT + 2];
    double sigma[3] = {(double)t->sigma[0], (double)t->sigma[1], (double)t->sigma[2]};
    for (size_t i = 0; i < count; i++)
        in[i] = (double)values[i];
    for (size_t c = 0; c < components; c++)
        ref_gaussian(in + c * voxels, t->size, sigma, want + c * voxels);
    clv_buffer *a = vectors ? harness_upload_field(ctx, values, voxels)
                            : harness_upload(ctx, values, count * sizeof(float));
    clv_buffer *out = harness_output(ctx, count * sizeof(float));
    clv_buffer *partial = harness_output(ctx, CLV_SMOOTH_PARTIALS * sizeof(float));
    clv_buffer *numbers = harness_output(ctx, sizeof state);
    const clv_longest of_out = {partial, numbers, SLOT, {scale[0], scale[1], scale[2]}};
    assert_that(clv_smooth(ctx, vectors ? CLV_VECTORS(a, t->size) : CLV_VOLUME(a, t->size), t->sigma, out,
                           vectors ? &of_out : NULL) >= 0,
                "%s", clvox_message());
    if (vectors)
        harness_download_field(ctx, out, got, voxels);
    else
        harness_download(ctx, out, got, count * sizeof(float));
    /* Values in [-1, 1): three sums of seven stay within 1e-6. */
    double error = harness_error(got, want, count, 1e-6, 0);
    assert_that(error <= 1, "%dx%dx%d, vectors %d: error %g of what is allowed", t->size[0], t->size[1],
                t->size[2], vectors, error);
    if (vectors) {
        double longest = ref_smooth_longest(want, voxels, scale);
        harness_download(ctx, numbers, state, sizeof state);
        error = harness_error(&state[SLOT], &longest, 1, 2e-6, 0);
        assert_that(error <= 1, "%dx%dx%d: longest %g, not %g", t->size[0], t->size[1], t->size[2],
                    (double)state[SLOT], longest);
    }
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&partial);
    clv_buffer_destroy(&numbers);
    free(in);
    free(want);
    free(got);
}

/* A NaN, of either sign, reaches what lies within the radius and nothing else. */
static void trial_of(clvox_context *ctx, const trial *t, unsigned seed)
{
    size_t voxels = (size_t)t->size[0] * (size_t)t->size[1] * (size_t)t->size[2];
    float *values = malloc(3 * voxels * sizeof *values);
    harness_random(values, 3 * voxels, seed, -1, 1);
    compare(ctx, t, values);
    values[voxels / 2] = seed % 2 ? NAN : -NAN;
    compare(ctx, t, values);
    free(values);
}

static const int large[3] = {45, 38, 41}, small[3] = {11, 9, 10};

static void smooth_the_same_to_rounding(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const int *size = getenv("CLVOX_TEST_TINY") ? small : large;
    const float sigma[3] = {1, 0.8f, 0.9f};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *values = malloc(3 * n * sizeof *values), *want = malloc(3 * n * sizeof *want);
    double *exact = malloc(3 * n * sizeof *exact);
    harness_random(values, 3 * n, 31, -1, 1);
    clv_buffer *in = harness_upload(ctx, values, 12 * n), *out = harness_output(ctx, 12 * n);
    clv_buffer *tmp = harness_output(ctx, 12 * n), *two = harness_output(ctx, 12 * n);
    assert_true(clv_smooth(ctx, CLV_VECTORS(in, size), sigma, out, NULL) >= 0);
    assert_true(clv_gaussian(ctx, CLV_VECTORS(in, size), sigma, CLV_GAUSSIAN_SEPARABLE, tmp,
                             two) >= 0);
    harness_download(ctx, out, values, 12 * n);
    harness_download(ctx, two, want, 12 * n);
    for (size_t i = 0; i < 3 * n; i++)
        exact[i] = (double)want[i];
    double error = harness_error(values, exact, 3 * n, 5e-7, 0);
    assert_that(error <= 1, "%g", error);
    assert_true(clv_gaussian(ctx, CLV_VECTORS(in, size), sigma, CLV_GAUSSIAN_AUTO, tmp,
                             two) >= 0);
    harness_download(ctx, two, want, 12 * n);
    assert_memory_equal(want, values, 12 * n);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&tmp);
    clv_buffer_destroy(&two);
    free(values);
    free(want);
    free(exact);
}

static void smooth_widths_that_it_cannot_take(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const size_t bytes = 12 * (size_t)small[0] * (size_t)small[1] * (size_t)small[2];
    clv_buffer *in = harness_output(ctx, bytes), *out = harness_output(ctx, bytes);
    assert_true(clv_smooth(ctx, CLV_VECTORS(in, small), (const float[3]){1, 1.1f, 1}, out, NULL) < 0);
    assert_true(clv_smooth(ctx, CLV_VECTORS(in, small), (const float[3]){-1, 1, 1}, out, NULL) < 0);
    assert_true(clv_smooth(ctx, CLV_VECTORS(in, small), (const float[3]){1, 1, NAN}, out, NULL) < 0);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
}

static void against_separable(void)
{
    test_case(smooth_the_same_to_rounding, "smooth: the same to rounding as the separable Gaussian");
    test_case(smooth_widths_that_it_cannot_take, "smooth: widths that it cannot take are refused");
}

static void smooth_images_and_fields_nan_longest(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? TINY : (int)(sizeof trials / sizeof *trials);
    for (int i = 0; i < count; i++)
        trial_of(ctx, &trials[i], (unsigned)i + 1);
    for (int i = 0; harness_first() && i < (int)(sizeof others / sizeof *others); i++)
        trial_of(ctx, &others[i], (unsigned)i + 20);
}

static void smooth_longest_the_longest_of_all_groups(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    trial_of(ctx, &trials[1], 77);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_smooth, smooth_images_and_fields_nan_longest, NULL, 0,
                  "images and fields, NaN, longest");
    harness_cases(&clv_entry_smooth_longest, smooth_longest_the_longest_of_all_groups, NULL, 0,
                  "the longest of all groups");
    against_separable();
    return test_run("smooth", harness_close);
}
