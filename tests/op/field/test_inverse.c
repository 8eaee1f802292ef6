/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/inverse.h"

#include "op/harness.h"
#include "ref/field/inverse.h"

static clvox_context *ctx;

/* Smooth waves: |Du| up to about `steep`, and 0 at the border where `still`. */
static void waves(float *u, const int size[3], const float spacing[3], float steep, bool still)
{
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const int at[3] = {x, y, z};
                double fade = 1;
                for (int a = 0; still && a < 3; a++)
                    fade *= size[a] > 1 ? sin(M_PI * at[a] / (size[a] - 1)) : 1;
                for (size_t c = 0; c < 3; c++)
                    u[c * n + i] = (float)(fade * steep * (double)spacing[c] * 2 *
                                           sin(.5 * at[c] + .3 * at[(c + 1) % 3] + (double)c));
            }
}

static void run(const int size[3], float steep, bool still)
{
    static const float spacing[3] = {1, 1.5f, .7f};
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2], found = 0, possible = 0;
    float *u = malloc(6 * n * sizeof *u), *v = u + 3 * n;
    double worst = 0, off = 0;
    waves(u, size, spacing, steep, still);
    clv_buffer *du = harness_upload_field(ctx, u, n), *dv = harness_output(ctx, 3 * n * sizeof *u);
    assert_int_equal(clv_inverse(ctx, CLV_VECTORS_MM(du, size, spacing), 40, false, dv), CLVOX_OK);
    harness_download_field(ctx, dv, v, n);
    for (int i = 0; i < (int)n; i++) {
        double left = ref_inverse_left(u, v, size, spacing, i), d[3], apart = 0;
        if (!(ref_inverse_at(u, size, spacing, i, d) < 1e-6))
            continue;
        possible++;
        found += left < 2e-3;
        worst = fmax(worst, left);
        for (size_t c = 0; c < 3; c++)
            apart = fmax(apart, fabs(d[c] - (double)v[c * n + (size_t)i]) / (double)spacing[c]);
        off = fmax(off, apart);
    }
    assert_that(found == possible, "%d x %d x %d: %zu of %zu voxels found, at worst %g voxels left", size[0],
                size[1], size[2], found, possible, worst);
    /* Steep maps leave little far from the root. */
    assert_that(off < (steep > .3f ? .1 : 5e-3), "%g voxels from the root", off);
    clv_buffer_destroy(&du);
    clv_buffer_destroy(&dv);
    free(u);
}

static const int sizes[][3] = {{1, 1, 1}, {1, 5, 7}, {13, 11, 7}, {8, 1, 9}, {33, 3, 2}, {31, 29, 23}};

static void inverse_roots_of_waves_gentle_and_steep(void **state)
{
    (void)state;
    for (int s = 0; s < (getenv("CLVOX_TEST_TINY") ? 4 : 6); s++) {
        run(sizes[s], .1f, false);
        run(sizes[s], .2f, true);
        run(sizes[s], .4f, true);
    }
}

/* The inverse of a map that has changed little, from that of the map before; NaN is begun anew. */
static void inverse_from_the_one_before(void **state)
{
    (void)state;
    static const float spacing[3] = {1, 1.5f, .7f};
    static const int size[3] = {13, 11, 7};
    enum { N = 13 * 11 * 7 };
    static float u[3 * N], v[3 * N], other[3 * N];
    double worst[2] = {0, 0};
    waves(u, size, spacing, .2f, true);
    clv_buffer *du = harness_upload_field(ctx, u, N), *dv = harness_output(ctx, sizeof u);
    assert_ok(clv_inverse(ctx, CLV_VECTORS_MM(du, size, spacing), 40, false, dv));
    harness_download_field(ctx, dv, v, N);
    v[5] = NAN;
    for (int i = 0; i < 3 * N; i++)
        u[i] *= 1.2f;
    clv_buffer *changed = harness_upload_field(ctx, u, N), *from = harness_upload_field(ctx, v, N);
    clv_buffer *cold = harness_output(ctx, sizeof u);
    assert_ok(clv_inverse(ctx, CLV_VECTORS_MM(changed, size, spacing), 2, true, from));
    assert_ok(clv_inverse(ctx, CLV_VECTORS_MM(changed, size, spacing), 2, false, cold));
    harness_download_field(ctx, from, v, N);
    harness_download_field(ctx, cold, other, N);
    for (int i = 0; i < N; i++) {
        worst[0] = fmax(worst[0], ref_inverse_left(u, v, size, spacing, i));
        worst[1] = fmax(worst[1], ref_inverse_left(u, other, size, spacing, i));
    }
    assert_that(worst[0] < .03 && worst[0] < .5 * worst[1], "%g left, %g from the start", worst[0], worst[1]);
    clv_buffer_destroy(&du);
    clv_buffer_destroy(&dv);
    clv_buffer_destroy(&changed);
    clv_buffer_destroy(&from);
    clv_buffer_destroy(&cold);
}

static void inverse_no_displacement_and_no_number(void **state)
{
    (void)state;
    static const float spacing[3] = {1, 1, 1};
    static const int size[3] = {5, 4, 3};
    float u[180] = {0}, v[180];
    clv_buffer *du = harness_upload_field(ctx, u, 60), *dv = harness_output(ctx, sizeof u);
    assert_int_equal(clv_inverse(ctx, CLV_VECTORS_MM(du, size, spacing), 20, false, dv), CLVOX_OK);
    harness_download_field(ctx, dv, v, 60);
    for (int i = 0; i < 180; i++)
        assert_true(v[i] == 0);
    clv_buffer_destroy(&du);
    u[7] = NAN;
    u[100] = INFINITY;
    u[130] = 1e30f;
    du = harness_upload_field(ctx, u, 60);
    assert_int_equal(clv_inverse(ctx, CLV_VECTORS_MM(du, size, spacing), 20, false, dv), CLVOX_OK);
    harness_download_field(ctx, dv, v, 60);
    assert_true(v[0] == 0 && v[59] == 0);
    clv_buffer_destroy(&du);
    clv_buffer_destroy(&dv);
}

int main(void)
{
    ctx = harness_open();
    harness_cases(&clv_entry_inverse, inverse_roots_of_waves_gentle_and_steep, NULL, 0,
                  "roots of waves, gentle and steep");
    harness_cases(&clv_entry_inverse, inverse_from_the_one_before, NULL, 0, "from the inverse of the map before");
    harness_cases(&clv_entry_inverse, inverse_no_displacement_and_no_number, NULL, 0,
                  "no displacement, and no number");
    return test_run("inverse", harness_close);
}
