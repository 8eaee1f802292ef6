/* SPDX-License-Identifier: Apache-2.0 */
/* Intensities prepared before a registration. */
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

/* The moving image with a bright corner of the field and a few voxels far beyond the rest. */
static void spoil(clvox_volume *v)
{
    size_t i = 0;
    for (int z = 0; z < v->grid.size[2]; z++)
        for (int y = 0; y < v->grid.size[1]; y++)
            for (int x = 0; x < v->grid.size[0]; x++, i++) {
                v->data[i] *= expf(.9f * ((float)x / (float)v->grid.size[0] - .5f));
                if (i % 1009 == 0 && v->data[i] > 0)
                    v->data[i] *= 40;
            }
}

static double error_of(const pair *p, const clvox_register_options *o, float *brightest)
{
    clvox_register_result r;
    double largest;
    assert_ok(pair_register(ctx, p->fixed, p->moving, NULL, NULL, o, &r));
    double mean = pair_error(p, &r, NULL, &largest);
    *brightest = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&r.warped->grid); i++)
        *brightest = fmaxf(*brightest, r.warped->data[i]);
    clvox_register_result_destroy(&r);
    return mean;
}

static void spoilt_intensities_matter_less_once_prepared(void **state)
{
    (void)state;
    pair p;
    clvox_register_options o;
    float before, after;
    pair_make(&p, (const int[3]){41, 37, 33}, (const double[3]){4, 4, 4}, true, 8, 3);
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_SSD);
    spoil(p.moving);
    double raw = error_of(&p, &o, &before);
    o.bias = 1;
    o.winsorize_low = .001;
    o.winsorize_high = .99;
    o.histogram_match = 1;
    double prepared = error_of(&p, &o, &after);
    printf("# %.3f voxels, prepared %.3f\n", raw, prepared);
    assert_that(prepared < .8 * raw, "%.3f and %.3f voxels", raw, prepared);
    /* The warped image keeps the moving one's intensities. */
    assert_that(after > .7f * before, "%g and %g", (double)after, (double)before);
    o.winsorize_low = .99;
    clvox_register_result r;
    assert_int_equal(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    pair_free(&p);
}

int main(void)
{
    ctx = harness_open();
    test_case(spoilt_intensities_matter_less_once_prepared, "spoilt intensities matter less once prepared");
    return test_run("prepare", harness_close);
}
