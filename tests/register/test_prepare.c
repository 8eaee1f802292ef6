/* SPDX-License-Identifier: Apache-2.0 */
/* Intensities prepared before a registration. */
#include <stdlib.h>
#include <string.h>

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

static void stain(clvox_volume *v, int count, float value)
{
    const size_t n = clvox_grid_voxels(&v->grid);
    for (int i = 0; i < count; i++)
        v->data[n / 2 + 7 + (size_t)i * n / 31] = value;
}

/* One voxel, or ten, bright or dark, in either image or both: the maps stay, and nothing is said. */
static void voxels_far_beyond_the_rest(void **state)
{
    (void)state;
    static const float values[] = {2e4f, 3e5f, -3e5f};
    pair p;
    clvox_register_options o;
    clvox_register_result clean, r;
    double largest;
    pair_make(&p, (const int[3]){33, 37, 31}, (const double[3]){5, 4.5, 5}, false, 4, 3);
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_GREEDY;
    clvox_register_preset(&o, CLVOX_PRESET_QUICK);
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &clean));
    const size_t bytes = clvox_grid_voxels(&p.fixed_grid) * sizeof(float);
    float *kept = malloc(2 * bytes);
    memcpy(kept, p.fixed->data, bytes);
    memcpy(kept + bytes / sizeof *kept, p.moving->data, bytes);
    for (int k = 0; k < 3; k++)
        for (int count = 1; count <= 10; count += 9)
            for (int sides = 1; sides <= 3; sides++) {
                if (sides & 1)
                    stain(p.fixed, count, values[k]);
                if (sides & 2)
                    stain(p.moving, count, 2 * values[k]);
                assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
                double off = pair_distance(r.warp, clean.warp, p.labels, &largest), apart = 0;
                for (int i = 0; i < 12; i++)
                    apart = fmax(apart, fabs(r.matrix[i / 4][i % 4] - clean.matrix[i / 4][i % 4]));
                printf("# %d of %g (%d): warp %.3f voxels, affine %.3f\n", count, (double)values[k], sides,
                       off, apart);
                assert_that(off < .15 && apart < .3 && r.suspicions == 0,
                            "%d of %g (%d): warp %g, affine %g, %u", count, (double)values[k], sides, off,
                            apart, r.suspicions);
                clvox_register_result_destroy(&r);
                memcpy(p.fixed->data, kept, bytes);
                memcpy(p.moving->data, kept + bytes / sizeof *kept, bytes);
            }
    free(kept);
    clvox_register_result_destroy(&clean);
    pair_free(&p);
}

int main(void)
{
    ctx = harness_open();
    test_case(voxels_far_beyond_the_rest, "a few voxels far beyond the rest change nothing");
    test_case(spoilt_intensities_matter_less_once_prepared, "spoilt intensities matter less once prepared");
    return test_run("prepare", harness_close);
}
