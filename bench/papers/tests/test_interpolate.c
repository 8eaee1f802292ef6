/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/interpolate.h"
#include "op/harness.h"
#include "ref/field/warp.h"

#include <string.h>

static const int sizes[][2][3] = {{{11, 7, 5}, {9, 8, 5}}, {{1, 1, 1}, {3, 2, 1}}, {{1, 6, 5}, {4, 5, 2}},
                                  {{9, 2, 1}, {9, 2, 1}},  {{37, 13, 11}, {41, 12, 7}}};
static const clv_map map = {{{1.1f, .05f, 0, -.3f}, {0, .9f, -.1f, .2f}, {.02f, 0, 1, .1f}},
                            {{-1, 0, .1f}, {0, -.8f, 0}, {0, .1f, -1}}};

static void interpolated_as_by_the_reference(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    const char *form = harness_variant()->name;
    for (int s = 0; s < harness_problems(4, 5); s++) {
        const int *in_size = sizes[s][0], *size = sizes[s][1];
        const size_t m = (size_t)in_size[0] * (size_t)in_size[1] * (size_t)in_size[2];
        const size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
        float *a = malloc(m * sizeof *a), *u = malloc(3 * n * sizeof *u), *got = malloc(n * sizeof *got);
        double *want = malloc(n * sizeof *want);
        int *unsure = calloc(n, sizeof *unsure);
        harness_random(a, m, 3 + (unsigned)s, -1, 1);
        harness_random(u, 3 * n, 13 + (unsigned)s, -1.5f, 1.5f);
        clv_buffer *in = harness_upload(ctx, a, m * sizeof *a);
        clv_buffer *field = harness_upload_field(ctx, u, n), *out = harness_output(ctx, n * sizeof *got);
        assert_ok(clv_interpolate(ctx, CLV_VOLUME(in, in_size), NULL, &map, field, CLV_VOLUME(out, size)));
        harness_download(ctx, out, got, n * sizeof *got);
        ref_warp(a, in_size, &map, u, REF_LINEAR, 0, 1e-4, want, unsure, size);
        for (size_t i = 0; i < n; i++)
            if (unsure[i])
                got[i] = (float)want[i];
        /* A sampler's weights may have 8 bits, along three axes, of differences up to 2. */
        const double error = harness_error(got, want, n, strcmp(form, "3d sampler") ? 1e-5 : 3 * 2 / 256., 0);
        assert_that(error <= 1, "%dx%dx%d: error %g", size[0], size[1], size[2], error);
        clv_buffer_destroy(&in);
        clv_buffer_destroy(&field);
        clv_buffer_destroy(&out);
        free(a);
        free(u);
        free(got);
        free(want);
        free(unsure);
    }
}

int main(void)
{
    harness_open();
    harness_cases(&clv_entry_interpolate, interpolated_as_by_the_reference, NULL, 0, "against the reference");
    return test_run("interpolate", harness_close);
}
