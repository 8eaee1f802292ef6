/* SPDX-License-Identifier: Apache-2.0 */
#include "op/harness.h"
#include "ref/image/statistics.h"

static clvox_context *ctx;
static clv_buffer *partial;

static void compare(const clv_statistics *got, const clv_statistics *want, int n, const char *what)
{
    double slack = 1e-6 * n + 1e-30;
    assert_that(got->voxels == want->voxels && got->not_above == want->not_above,
                "%s: %ld voxels and %ld not above 0, not %ld and %ld", what, got->voxels, got->not_above,
                want->voxels, want->not_above);
    bool same = want->voxels ? fabs(got->smallest - want->smallest) <= 1e-6 * fabs(want->smallest) + 1e-7 &&
                                   fabs(got->largest - want->largest) <= 1e-6 * fabs(want->largest) + 1e-7
                             : got->smallest == INFINITY && got->largest == -INFINITY;
    assert_that(same, "%s: from %g to %g, not %g to %g", what, got->smallest, got->largest, want->smallest,
                want->largest);
    assert_that(fabs(got->sum - want->sum) <= slack + 1e-6 * fabs(want->sum) &&
                    fabs(got->sum_squares - want->sum_squares) <= 10 * slack + 1e-6 * want->sum_squares,
                "%s: sums %.9g and %.9g, not %.9g and %.9g", what, got->sum, got->sum_squares, want->sum,
                want->sum_squares);
}

static void run(const int size[3], bool with_nan)
{
    static const float reorient[3][3] = {{.8f, -.2f, 0}, {.1f, 1.1f, .3f}, {0, .2f, -.9f}};
    static const float spacing[3] = {1, 1.5f, .7f};
    int n = size[0] * size[1] * size[2];
    size_t count = (size_t)n;
    float *values = malloc(8 * count * sizeof *values), *field = values + count, *through = field + 3 * count;
    float *weight = through + 3 * count;
    clv_statistics got, want;
    harness_random(values, count, 3, -.2f, 3);
    harness_random(field, 3 * count, 4, -2, 2);
    harness_random(through, 3 * count, 5, -4, 4);
    harness_random(weight, count, 6, -1, 1);
    /* No vector may end just at the limit, where rounding decides. */
    for (size_t i = 0; i < 3 * count; i++)
        through[i] = (float)(floor(through[i] * 8) / 8 + .03);
    if (with_nan) {
        values[n / 2] = field[n / 3] = through[n / 4] = NAN;
        values[0] = INFINITY;
        field[2 * n + n - 1] = -INFINITY;
        weight[n / 5] = NAN;
    }
    clv_buffer *a = harness_upload(ctx, values, count * sizeof(float)), *f = harness_upload_field(ctx, field, count);
    clv_buffer *t = harness_upload_field(ctx, through, count), *w = harness_upload(ctx, weight, count * sizeof(float));
    for (int weighted = 0; weighted < 2; weighted++) {
        const float *hw = weighted ? weight : NULL;
        const clv_buffer *dw = weighted ? w : NULL;
        ref_statistics_determinants(values, hw, n, &want);
        assert_int_equal(clv_statistics_determinants(ctx, a, dw, size, partial, &got), CLVOX_OK);
        compare(&got, &want, n, "determinants");
        for (int along = 0; along < 2; along++) {
            ref_statistics_lengths(field, reorient, along ? through : NULL, hw, size, spacing, &want);
            assert_int_equal(clv_statistics_lengths(ctx, CLV_VECTORS_MM(f, size, spacing), reorient,
                                                    along ? t : NULL, dw, partial, &got),
                             CLVOX_OK);
            compare(&got, &want, n, along ? "lengths within" : "lengths");
        }
    }
    clv_statistics again;
    assert_int_equal(
        clv_statistics_lengths(ctx, CLV_VECTORS_MM(f, size, spacing), reorient, t, w, partial, &again),
        CLVOX_OK);
    assert_memory_equal(&got, &again, sizeof got);
    clv_buffer_destroy(&a);
    clv_buffer_destroy(&f);
    clv_buffer_destroy(&t);
    clv_buffer_destroy(&w);
    free(values);
}

static const int sizes[][3] = {{1, 1, 1}, {1, 5, 7}, {8, 3, 4}, {13, 11, 7}, {2049, 3, 2}, {31, 37, 43}};

static void statistics_six_numbers_of_a_volume_weights(void **state)
{
    (void)state;
    for (int s = 0; s < harness_problems(3, 6); s++) {
        run(sizes[s], false);
        run(sizes[s], true);
    }
}

static int tear_down(void **state)
{
    clv_buffer_destroy(&partial);
    return harness_close(state);
}

int main(void)
{
    ctx = harness_open();
    if (clv_buffer_create(ctx, CLV_STATISTICS_PARTIALS * sizeof(float), "partials", &partial) < 0)
        return 1;
    harness_cases(&clv_entry_statistics, statistics_six_numbers_of_a_volume_weights, NULL, 0,
                  "six numbers of a volume, weights, NaN");
    return test_run("statistics", tear_down);
}
