/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/texture_filter.h"

#include "bench/papers/ref/texture_filter.h"
#include "op/harness.h"
#include "ref/image/gaussian.h"

#define SIGMA 1.3f
#define ALPHA 0.6f

enum { GAUSSIAN, SOBEL, UNSHARP };

static const int sizes[][3] = {{11, 7, 5}, {1, 1, 1}, {1, 6, 3}, {10, 1, 3}, {67, 13, 2}};

static void compare(clvox_context *ctx, const int size[3], int filter)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *a = malloc(n * sizeof *a), *got = malloc(n * sizeof *got);
    double *want = malloc(n * sizeof *want), *from = malloc(n * sizeof *from);
    harness_random(a, n, 7, -10, 10);
    clv_buffer *in = harness_upload(ctx, a, n * sizeof *a), *out = harness_output(ctx, n * sizeof *a);
    clv_buffer *room[2] = {harness_output(ctx, n * sizeof *a), harness_output(ctx, n * sizeof *a)};
    clv_textures textures;
    assert_that(clv_textures_create(ctx, CLV_VOLUME(in, size), SIGMA, room, &textures) == CLVOX_OK, "%s",
                clvox_message());
    for (size_t i = 0; i < n; i++)
        from[i] = (double)a[i];
    if (filter == SOBEL) {
        assert_ok(clv_texture_sobel(ctx, &textures, out));
        ref_texture_sobel(a, size, want);
    } else {
        assert_ok(filter == GAUSSIAN ? clv_texture_gaussian(ctx, &textures, out)
                                     : clv_texture_unsharp(ctx, &textures, ALPHA, out));
        ref_gaussian(from, size, (const double[3]){(double)SIGMA, (double)SIGMA, 0}, want);
        if (filter == UNSHARP)
            ref_texture_unsharp(a, (int)n, (double)ALPHA, want);
    }
    harness_download(ctx, out, got, n * sizeof *got);
    /* A GPU's linear reads have 256 places between two texels. */
    bool between = filter != SOBEL && strstr(harness_variant()->name, "linear");
    double error = harness_error(got, want, n, between ? .1 : 2e-4, 0);
    assert_that(error <= 1, "%dx%dx%d, filter %d: error %g", size[0], size[1], size[2], filter, error);
    clv_textures_destroy(&textures);
    clv_buffer_destroy(&in);
    clv_buffer_destroy(&out);
    clv_buffer_destroy(&room[0]);
    clv_buffer_destroy(&room[1]);
    free(a);
    free(got);
    free(want);
    free(from);
}

static void filters_against_the_reference(void **state)
{
    const int *filters = *state;
    clvox_context *ctx = harness_context();
    int count = getenv("CLVOX_TEST_TINY") ? 4 : 5;
    for (int s = 0; s < count; s++)
        for (int f = filters[0]; f <= filters[1]; f++)
            compare(ctx, sizes[s], f);
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_texture_blur, filters_against_the_reference, TEST_AT(GAUSSIAN, GAUSSIAN),
                  "Gaussian");
    harness_cases(&clv_entry_texture_mask, filters_against_the_reference, TEST_AT(SOBEL, SOBEL), "Sobel");
    harness_cases(&clv_entry_texture_combine, filters_against_the_reference, TEST_AT(SOBEL, UNSHARP), "both");
    return test_run("filters of textures", harness_close);
}
