/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of several images a subject. */
#include "atlas/population.h"
#include "base/matrix.h"
#include "clvox/apply.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "register/pair.h"

/* Through the maps of a result, in doubles: the mean of images as the further channel of a template has
 * it. */
static double apart_from_mean(const clvox_atlas_result *r, const clvox_volume *const *image)
{
    const size_t n = clvox_grid_voxels(&r->average->grid);
    clvox_volume *mean = population_zeros(&r->average->grid);
    double *sum = calloc(2 * n, sizeof *sum), *weight = sum + n;
    assert_non_null(sum);
    for (int i = 0; i < r->subjects; i++) {
        clvox_volume *pulled = NULL;
        clvox_transform warp = {.is_warp = 1, .warp = r->map[i].warp}, affine = {.is_warp = 0};
        clv_matrix_copy(CLV_MATRIX(r->map[i].matrix), affine.matrix);
        assert_int_equal(clvox_apply(harness_context(), image[i], &mean->grid,
                                     (const clvox_link[]){{&warp, 0}, {&affine, 0}}, 2,
                                     CLVOX_INTERPOLATE_CUBIC, NAN, &pulled),
                         CLVOX_OK);
        for (size_t k = 0; k < n; k++)
            if (isfinite(pulled->data[k]))
                sum[k] += (double)pulled->data[k], weight[k]++;
        clvox_volume_destroy(&pulled);
    }
    for (size_t k = 0; k < n; k++)
        mean->data[k] = weight[k] > 0 ? (float)(sum[k] / weight[k]) : 0;
    const double apart = population_apart(r->further[0], mean);
    free(sum);
    clvox_volume_destroy(&mean);
    return apart;
}

/* A second channel, of which one image lies on another grid. */
static void channels(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result one, r;
    clvox_volume *further[3];
    clvox_grid other;
    (void)state;
    population_make_three(&all);
    clvox_phantom_grid((const int[3]){27, 24, 26}, (const double[3]){2, 2, 2}, true, &other);
    for (int i = 0; i < 3; i++) {
        further[i] = NULL;
        assert_int_equal(clvox_apply(harness_context(), all.own[i], i == 1 ? &other : &all.own[i]->grid, NULL,
                                     0, CLVOX_INTERPOLATE_LINEAR, 0, &further[i]),
                         CLVOX_OK);
        for (size_t k = 0; k < clvox_grid_voxels(&further[i]->grid); k++)
            further[i]->data[k] = sqrtf(fabsf(further[i]->data[k]));
        all.s[i].further[0] = further[i];
    }
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.keep_intensities = 1;
    population_build(&all, &o, &one);
    assert_null(one.further[0]);
    o.channels = 2;
    o.channel_weight[0] = 1; /* and 0: the second one is averaged and does not register */
    population_build(&all, &o, &r);
    assert_memory_equal(r.average->data, one.average->data,
                        clvox_grid_voxels(&one.average->grid) * sizeof(float));
    assert_true(clvox_grid_equal(&r.further[0]->grid, &r.average->grid));
    double apart = apart_from_mean(&r, (const clvox_volume *const *)further);
    assert_that(apart < 1e-4, "%g from the mean of the images", apart);
    clvox_atlas_result_destroy(&r);
    o.channel_weight[0] = 0; /* equal */
    population_build(&all, &o, &r);
    apart = population_apart(r.average, one.average);
    assert_that(apart > 1e-6 && apart < .2, "the second channel changes the template by %g", apart);
    apart = apart_from_mean(&r, (const clvox_volume *const *)further);
    assert_that(apart < 1e-4, "%g from the mean of the images", apart);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&one);
    /* Two subjects: the same first channel, different second ones. */
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.registration.deform = CLVOX_DEFORM_NONE;
    all.s[2].image = all.s[0].image;
    all.s[1] = all.s[0];
    all.s[1].further[0] = further[2];
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, NULL, &o, &r), CLVOX_OK);
    for (size_t k = 0; k < clvox_grid_voxels(&r.average->grid); k++) {
        const double want = ((double)further[0]->data[k] + (double)further[2]->data[k]) / 2;
        assert_true(fabs((double)r.further[0]->data[k] - want) < 1e-5);
        assert_true(fabsf(r.average->data[k] - all.own[0]->data[k]) < 1e-4f);
    }
    clvox_atlas_result_destroy(&r);
    all.s[1].further[0] = NULL;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "channel 2 is missing"));
    all.s[1].further[0] = further[1];
    o.registration.channel_metrics = 1;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "all channels by the same metric"));
    o.registration.channel_metrics = 0;
    o.channels = CLVOX_ATLAS_CHANNELS + 1;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&further[i]);
    population_release(&all);
}

/* Two channels of three subjects, the second one the square of the first. */
static void make_pairs(population *all, clvox_atlas_options *o, clvox_volume *further[3])
{
    population_make_three(all);
    population_options(o, CLVOX_DEFORM_NONE);
    o->channels = 2;
    o->keep_intensities = 1;
    for (int i = 0; i < 3; i++) {
        further[i] = population_copy(all->own[i]);
        for (size_t k = 0; k < clvox_grid_voxels(&further[i]->grid); k++)
            further[i]->data[k] *= further[i]->data[k] / 100;
        all->s[i].further[0] = further[i];
    }
}

static void assert_same(const clvox_volume *a, const clvox_volume *b)
{
    assert_true(clvox_grid_equal(&a->grid, &b->grid));
    assert_memory_equal(a->data, b->data, clvox_grid_voxels(&a->grid) * sizeof(float));
}

/* A second channel may have a starting image, of any storage, or none. */
static void begun(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result one, r;
    clvox_volume *further[3], *turned = NULL;
    const clv_orientation turn = {.axis = {1, 0, 2}, .flipped = {true, false, false}};
    (void)state;
    make_pairs(&all, &o, further);
    const clvox_volume *start = all.own[0];
    assert_int_equal(clv_orientation_volume(further[0], &turn, NULL, &turned), CLVOX_OK);
    o.registration.linear = CLVOX_LINEAR_NONE; /* nothing moves: the template is what it begins with */
    o.further_start[0] = turned;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_OK);
    assert_same(r.average, start);
    assert_same(r.further[0], further[0]);
    clvox_atlas_result_destroy(&r);
    o.further_start[0] = NULL;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_OK);
    for (size_t k = 0; k < clvox_grid_voxels(&start->grid); k++) {
        const double want =
            ((double)further[0]->data[k] + (double)further[1]->data[k] + (double)further[2]->data[k]) / 3;
        assert_that(fabs((double)r.further[0]->data[k] - want) < 1e-4 * (1 + fabs(want)), "%g, not %g",
                    (double)r.further[0]->data[k], want);
    }
    clvox_atlas_result_destroy(&r);
    /* The first round is the first channel's alone, the second one both channels'. */
    o.registration.linear = CLVOX_LINEAR_RIGID;
    for (o.linear_rounds = 1; o.linear_rounds <= 2; o.linear_rounds++) {
        o.channels = 1;
        assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &one), CLVOX_OK);
        o.channels = 2;
        assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_OK);
        assert_int_equal(
            memcmp(r.average->data, one.average->data, clvox_grid_voxels(&start->grid) * sizeof(float)) != 0,
            o.linear_rounds > 1);
        clvox_atlas_result_destroy(&one);
        clvox_atlas_result_destroy(&r);
    }
    /* With an image it registers from the first round on. */
    o.linear_rounds = 1;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &one), CLVOX_OK);
    o.further_start[0] = turned;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_OK);
    const double apart = population_apart(r.average, one.average);
    assert_that(apart > 1e-6 && apart < .2, "the second channel changes the template by %g", apart);
    clvox_atlas_result_destroy(&one);
    clvox_atlas_result_destroy(&r);
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "none for the first one"));
    turned->grid.to_ras[0][3]++;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "not on the grid"));
    o.channels = 1;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 3, start, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "no such channel"));
    clvox_volume_destroy(&turned);
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&further[i]);
    population_release(&all);
}

/* Nothing is registered by it. */
static void of_one_value(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result one, r;
    clvox_volume *further[3];
    (void)state;
    make_pairs(&all, &o, further);
    for (size_t k = 0; k < clvox_grid_voxels(&further[1]->grid); k++)
        further[1]->data[k] = 7;
    for (o.keep_intensities = 0; o.keep_intensities < 2; o.keep_intensities++) {
        o.channels = 1;
        o.channel_weight[0] = 0;
        population_build(&all, &o, &one);
        o.channels = 2;
        assert_int_equal(clvox_atlas(harness_context(), all.s, 3, NULL, &o, &r), CLVOX_ERROR_DATA);
        assert_non_null(strstr(clvox_message(), "channel 2 has one value"));
        o.channel_weight[0] = 2;
        all.s[0].weight = all.s[2].weight = 1e-6; /* nearly nothing but that */
        population_build(&all, &o, &r);
        const float value = r.further[0]->data[clvox_grid_voxels(&r.average->grid) / 2];
        assert_that(fabsf(value - (o.keep_intensities ? 7 : 0)) < .01f, "the mean of one value is %g",
                    (double)value);
        clvox_atlas_result_destroy(&r);
        all.s[0].weight = all.s[2].weight = 1;
        population_build(&all, &o, &r);
        assert_same(r.average, one.average);
        clvox_atlas_result_destroy(&r);
        clvox_atlas_result_destroy(&one);
    }
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&further[i]);
    population_release(&all);
}

int main(void)
{
    harness_open();
    test_case(channels, "a second channel is registered with the first and averaged through the same maps");
    test_case(begun, "a template to begin with, of all channels or of the first one alone");
    test_case(of_one_value, "a channel of one value is averaged where its weight is 0");
    return test_run("channels", harness_close);
}
