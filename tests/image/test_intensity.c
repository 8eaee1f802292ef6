/* SPDX-License-Identifier: Apache-2.0 */
/* Winsorising and histogram matching: known answers. */
#include "check.h"
#include "clvox/filter.h"
#include "phantom/phantom.h"

static clvox_volume *volume(int nx, int ny, int nz)
{
    clvox_grid grid;
    clvox_volume *v;
    clvox_phantom_grid((const int[3]){nx, ny, nz}, (const double[3]){1, 2, 3}, true, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    return v;
}

/* 0 to 100 in disorder: the quantile q is 100 q. */
static void winsorising_cuts_at_the_quantiles(void **state)
{
    (void)state;
    clvox_volume *v = volume(101, 1, 1), *mask = volume(101, 1, 1), *out;
    for (int i = 0; i < 101; i++) {
        v->data[i] = (float)(i * 37 % 101);
        mask->data[i] = v->data[i] <= 50;
    }
    assert_ok(clvox_filter_winsorize(v, NULL, .055, .9, &out));
    for (int i = 0; i < 101; i++)
        assert_true(fabs((double)out->data[i] - fmin(fmax((double)v->data[i], 5.5), 90)) < 1e-5);
    clvox_volume_destroy(&out);
    v->data[0] = NAN;
    v->data[1] = INFINITY;
    v->data[2] = -INFINITY;
    mask->data[0] = mask->data[1] = mask->data[2] = 1;
    float before = v->data[3];
    assert_ok(clvox_filter_winsorize(v, mask, 0, 1, &out));
    assert_true(isnan(out->data[0]) && fabsf(out->data[1] - 50) < 1e-5f && out->data[2] >= 0);
    assert_true(out->data[3] <= 50 && out->data[3] <= before);
    clvox_volume_destroy(&out);
    for (int i = 0; i < 101; i++)
        mask->data[i] = i < 3;
    assert_int_equal(clvox_filter_winsorize(v, mask, 0, 1, &out), CLVOX_ERROR_DATA);
    assert_null(out);
    assert_int_equal(clvox_filter_winsorize(v, NULL, .5, .5, &out), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_filter_winsorize(v, NULL, NAN, .5, &out), CLVOX_ERROR_ARGUMENT);
    v->kind = CLVOX_KIND_LABEL;
    assert_int_equal(clvox_filter_winsorize(v, NULL, 0, .5, &out), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&mask);
}

/* An image whose values were bent by a known monotone map comes back. */
static void matching_undoes_a_monotone_map(void **state)
{
    (void)state;
    clvox_volume *reference = volume(31, 29, 23), *v = volume(31, 29, 23), *out;
    clvox_match_options o;
    size_t n = clvox_grid_voxels(&v->grid);
    for (size_t i = 0; i < n; i++) {
        double t = i % 3 ? 100 * fabs(sin((double)i * .7)) + 20 : 0;
        reference->data[i] = (float)t;
        v->data[i] = (float)(3 * t + .02 * t * t - 40);
    }
    v->data[5] = NAN;
    clvox_match_defaults(&o);
    o.whole = 1;
    assert_ok(clvox_filter_match(v, reference, &o, &out));
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(v->data[i]))
            worst = fmax(worst, fabs((double)(out->data[i] - reference->data[i])));
    assert_that(worst < 1.5, "%g", worst);
    assert_true(isnan(out->data[5]));
    clvox_volume_destroy(&out);
    /* Foreground: a background that is not the other's decides nothing above the mean. */
    for (size_t i = 0; i < n; i++)
        if (i % 3 == 0)
            v->data[i] = (float)(i % 7) - 50;
    assert_ok(clvox_filter_match(v, reference, NULL, &out));
    worst = 0;
    double biased = 0, count = 0;
    for (size_t i = 0; i < n; i++)
        if (reference->data[i] > 60 && isfinite(v->data[i])) {
            biased += (double)(out->data[i] - reference->data[i]);
            count++;
        }
    assert_that(fabs(biased / count) < 6, "%g", biased / count);
    clvox_volume_destroy(&out);
    o.points = 0;
    assert_int_equal(clvox_filter_match(v, reference, &o, &out), CLVOX_ERROR_ARGUMENT);
    for (size_t i = 0; i < n; i++)
        reference->data[i] = 4;
    assert_int_equal(clvox_filter_match(v, reference, NULL, &out), CLVOX_ERROR_DATA);
    assert_null(out);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&reference);
}

int main(void)
{
    test_case(winsorising_cuts_at_the_quantiles, "winsorising cuts at the quantiles");
    test_case(matching_undoes_a_monotone_map, "matching undoes a monotone map");
    return test_run("intensity", NULL);
}
