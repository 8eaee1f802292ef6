/* SPDX-License-Identifier: Apache-2.0 */
/* Quality control of a registration: the affine taken apart, doubts, presets, the memory it predicts. */
#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "phantom/phantom.h"
#include "register/metric/metric.h"
#include "register/model.h"
#include "register/options.h"
#include "register/register.h"

static clvox_context *ctx;

static void grid_of(int x, int y, int z, double edge, clvox_grid *grid)
{
    clvox_phantom_grid((int[3]){x, y, z}, (double[3]){edge, edge, edge}, false, grid);
}

/* T(center + shift) Rz Ry Rx S T(-center), from its definition. */
static void put_together(const clvox_affine_parts *p, const clvox_grid *grid, double out[4][4])
{
    double m[4][4], center[3], middle[3], turned[3], angle[3];
    for (int i = 0; i < 3; i++) {
        middle[i] = .5 * (grid->size[i] - 1);
        angle[i] = p->rotation_degrees[i] * M_PI / 180;
    }
    clv_matrix_apply(grid->to_ras, middle, center);
    const double rx[4][4] = {{1, 0, 0, 0},
                             {0, cos(angle[0]), -sin(angle[0]), 0},
                             {0, sin(angle[0]), cos(angle[0]), 0},
                             {0, 0, 0, 1}};
    const double ry[4][4] = {{cos(angle[1]), 0, sin(angle[1]), 0},
                             {0, 1, 0, 0},
                             {-sin(angle[1]), 0, cos(angle[1]), 0},
                             {0, 0, 0, 1}};
    const double rz[4][4] = {{cos(angle[2]), -sin(angle[2]), 0, 0},
                             {sin(angle[2]), cos(angle[2]), 0, 0},
                             {0, 0, 1, 0},
                             {0, 0, 0, 1}};
    const double s[4][4] = {{p->scale[0], p->scale[0] * p->shear[0], p->scale[0] * p->shear[1], 0},
                            {0, p->scale[1], p->scale[1] * p->shear[2], 0},
                            {0, 0, p->scale[2], 0},
                            {0, 0, 0, 1}};
    clv_matrix_multiply(rx, s, m);
    clv_matrix_multiply(ry, CLV_MATRIX(m), m);
    clv_matrix_multiply(rz, CLV_MATRIX(m), m);
    clv_matrix_apply(CLV_MATRIX(m), center, turned);
    for (int i = 0; i < 3; i++)
        m[i][3] = center[i] + p->shift_mm[i] - turned[i];
    clv_matrix_copy(CLV_MATRIX(m), out);
}

static struct {
    clvox_grid fixed_grid, moving_grid;
    clv_phantom phantom;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
} shared;

static void an_affine_is_taken_apart_into_what_it_was(void **state)
{
    (void)state;
    static const clvox_affine_parts all[] = {
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
        {{10, -20, 30}, {1.1, .9, 1.3}, {.1, -.05, .2}, {4, -5, 60}},
        {{-170, 80, 100}, {.4, 2.5, 1}, {0, .3, 0}, {-100, 0, 1}},
    };
    clvox_grid grid;
    clvox_phantom_grid((int[3]){40, 51, 33}, (double[3]){1, 1.2, 2}, true, &grid);
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        double m[4][4];
        clvox_affine_parts got;
        put_together(&all[k], &grid, m);
        assert_true(clvox_affine_take_apart(CLV_MATRIX(m), &grid, &got));
        for (int i = 0; i < 3; i++) {
            assert_that(fabs(got.rotation_degrees[i] - all[k].rotation_degrees[i]) < 1e-9, "angle %d: %g", i,
                        got.rotation_degrees[i]);
            assert_that(fabs(got.scale[i] - all[k].scale[i]) < 1e-9, "scale %d: %g", i, got.scale[i]);
            assert_that(fabs(got.shear[i] - all[k].shear[i]) < 1e-9, "shear %d: %g", i, got.shear[i]);
            assert_that(fabs(got.shift_mm[i] - all[k].shift_mm[i]) < 1e-9, "shift %d: %g", i,
                        got.shift_mm[i]);
        }
    }
}

static void a_mirror_and_a_singular_matrix(void **state)
{
    (void)state;
    clvox_affine_parts got;
    clvox_grid grid;
    clvox_phantom_grid((int[3]){40, 51, 33}, (double[3]){1, 1.2, 2}, true, &grid);
    assert_true(!clvox_affine_take_apart(
        (const double[4][4]){{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, &grid, &got));
    assert_true(!clvox_affine_take_apart(
        (const double[4][4]){{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, &grid, &got));
}

static void parts(void)
{
    test_case(an_affine_is_taken_apart_into_what_it_was, "an affine is taken apart into what it was made of");
    test_case(a_mirror_and_a_singular_matrix, "a mirror and a singular matrix are not taken apart");
}

static unsigned judge(const clvox_grid *fixed, const clvox_grid *moving, double scale, double shift,
                      clvox_metric metric, double before, double after, long folded, double *overlap)
{
    clvox_register_options o = {.deform = CLVOX_DEFORM_UNBIASED, .metric = metric};
    clv_registration run = {
        .options = &o,
        .fixed_grid = *fixed,
        .moving_grid = *moving,
        .matrix = {{scale, 0, 0, shift}, {0, scale, 0, 0}, {0, 0, scale, 0}, {0, 0, 0, 1}}};
    bool like = metric != CLVOX_METRIC_SSD; /* the larger the more alike */
    clvox_register_result r = {.metric_before = before,
                               .metric_linear = before,
                               .metric_after = after,
                               .ncc_before = like ? before : .5,
                               .ncc_linear = like ? before : .5,
                               .ncc_after = like ? after : .5,
                               .jacobian = {.folded = folded}};
    clv_quality_control(&run, &(clv_register_evidence){0}, &r);
    *overlap = r.overlap;
    return r.suspicions;
}

static void nothing_speaks_against_a_good_result(void **state)
{
    (void)state;
    clvox_grid small, big;
    double overlap;
    grid_of(40, 40, 40, 2, &big);
    grid_of(20, 20, 20, 1, &small);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == 0);
    assert_that(overlap == 1, "%g", overlap);
    assert_true(judge(&big, &small, 1, 0, CLVOX_METRIC_NCC, 1, 2, 0, &overlap) == 0);
    assert_that(fabs(overlap - 1) < .1, "%g", overlap);
    assert_true(judge(&small, &big, 1, 0, CLVOX_METRIC_MI, 1, 1, 0, &overlap) == 0);
}

static void each_doubt_is_found(void **state)
{
    (void)state;
    clvox_grid big;
    double overlap;
    grid_of(40, 40, 40, 2, &big);
    assert_true(judge(&big, &big, 1, 75, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_OVERLAP);
    assert_that(fabs(overlap - 5. / 80) < .04, "%g", overlap);
    assert_true(judge(&big, &big, 2.1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    assert_true(judge(&big, &big, .4, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    assert_true(judge(&big, &big, -1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 1, 2, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_LNCC, .5, .4, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_LNCC, .5, .49, 0, &overlap) == 0);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_MI, .5, .48, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    assert_true(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 2, 1, 3, &overlap) == CLVOX_SUSPECT_FOLDS);
}

static void doubts(void)
{
    test_case(nothing_speaks_against_a_good_result, "nothing speaks against a good result");
    test_case(each_doubt_is_found, "each doubt is found");
}

static void presets(void **state)
{
    (void)state;
    static const clvox_deform models[] = {CLVOX_DEFORM_UNBIASED, CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN};
    for (int m = 0; m < 3; m++) {
        double work[CLV_PRESETS];
        clvox_register_options all[CLV_PRESETS];
        for (int preset = 0; preset < CLV_PRESETS; preset++) {
            clvox_register_options o;
            clvox_register_defaults(&o);
            o.deform = CLVOX_DEFORM_UNBIASED;
            clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
            o.deform = models[m];
            o.linear = CLVOX_LINEAR_RIGID;
            clvox_register_preset(&o, (clvox_preset)preset);
            assert_true(o.deform == models[m] && o.linear == CLVOX_LINEAR_RIGID && o.levels > 0 &&
                        o.step > 0);
            assert_true(clv_model_compares(o.deform, o.metric));
            work[preset] = 0;
            for (int i = 0; i < o.levels; i++)
                work[preset] += o.iterations[i] / pow(o.shrink[i], 3);
            all[preset] = o;
        }
        const clvox_register_options *usual = &all[CLVOX_PRESET_DEFAULT],
                                     *regular = &all[CLVOX_PRESET_REGULAR];
        assert_true(work[CLVOX_PRESET_QUICK] < work[CLVOX_PRESET_DEFAULT] &&
                    work[CLVOX_PRESET_DEFAULT] < work[CLVOX_PRESET_BEST]);
        if (clv_model_has(clv_model_find(models[m]), CLVOX_PRESET_REGULAR))
            assert_true(regular->total_sigma > usual->total_sigma &&
                        work[CLVOX_PRESET_REGULAR] > work[CLVOX_PRESET_DEFAULT]);
        else /* the default stands in */
            assert_true(models[m] == CLVOX_DEFORM_UNBIASED &&
                        work[CLVOX_PRESET_REGULAR] == work[CLVOX_PRESET_DEFAULT]);
    }
}

static void every_models_row_is_whole_options(void **state)
{
    (void)state;
    for (int i = 1; clv_model_name((clvox_deform)i); i++) {
        const clv_model *m = clv_model_find((clvox_deform)i);
        assert_true(m->deform == (clvox_deform)i && m->run && m->requests);
        for (const char *const *name = m->takes; *name; name++)
            assert_that(clv_option_named(&clv_register_table, *name), "%s takes %s", m->name, *name);
        for (int preset = 0; preset < CLV_PRESETS; preset++) {
            clvox_register_options o;
            clvox_register_defaults(&o);
            o.deform = m->deform;
            clvox_register_preset(&o, (clvox_preset)preset);
            assert_that(clv_options_check(&clv_register_table, &o) == CLVOX_OK, "%s", clvox_message());
        }
    }
}

static void every_metrics_row_is_whole(void **state)
{
    (void)state;
    for (int i = 0; clv_metric_name(i); i++) {
        const clv_metric_row *metric = clv_metric_find((clvox_metric)i);
        assert_true(metric->metric == (clvox_metric)i && metric->title && metric->scratch &&
                    metric->derivative);
        assert_true(metric->rounding > 0 && (!metric->add || metric->score));
        assert_true(clv_metric_find(metric->search)->score && clv_metric_name((int)metric->coarse));
        assert_true(!metric->parameter || (metric->says[0] && metric->says[1] && metric->meaning));
        assert_true(!metric->parameter || (metric->field && metric->linear_field));
    }
}

static void rows(void)
{
    test_case(
        every_models_row_is_whole_options,
        "every model's row is whole: options that it takes are rows of the table, presets are in range");
    test_case(every_metrics_row_is_whole, "every metric's row is whole");
}

/* Every choice of memory: prediction and peak agree. */
static const struct {
    clvox_deform deform;
    int inverse, consistency, channels, masks;
    double finest, mind;
} cases[] = {
    {CLVOX_DEFORM_NONE, 0, 0, 1, 0, 1, 0},
    {CLVOX_DEFORM_UNBIASED, 0, 1, 1, 0, 1, 0},
    {CLVOX_DEFORM_UNBIASED, 1, 1, 1, 3, 1, 0},
    {CLVOX_DEFORM_UNBIASED, 0, 0, 1, 1, 1, 0},
    {CLVOX_DEFORM_UNBIASED, 1, 1, 1, 2, 2, 0},
    {CLVOX_DEFORM_NONE, 0, 0, 3, 3, 1, 0},
    {CLVOX_DEFORM_GREEDY, 0, 1, 1, 0, 1, 0},
    {CLVOX_DEFORM_GREEDY, 1, 1, 2, 3, 1, 0},
    {CLVOX_DEFORM_SYN, 1, 1, 1, 1, 1, 0},
    {CLVOX_DEFORM_SYN, 0, 0, 1, 0, 2, 0},
    {CLVOX_DEFORM_SYN, 0, 0, 1, 0, 1, 20},
};

static int memory_set_up(void **state)
{
    (void)state;
    grid_of(61, 59, 53, 1, &shared.fixed_grid);
    grid_of(47, 53, 59, 1.2, &shared.moving_grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &shared.fixed_grid, 5, 0, &shared.phantom));
    assert_ok(clv_phantom_image(&shared.phantom, &shared.fixed_grid, NULL, NULL, 1, &shared.fixed));
    assert_ok(clv_phantom_image(&shared.phantom, &shared.moving_grid, NULL, NULL, 2, &shared.moving));
    assert_ok(clv_phantom_labels(&shared.phantom, &shared.fixed_grid, NULL, NULL, &shared.fixed_mask));
    assert_ok(clv_phantom_labels(&shared.phantom, &shared.moving_grid, NULL, NULL, &shared.moving_mask));
    return 0;
}

static void memory_is_predicted_within_5_percent_case(void **state)
{
    const int *given = *state;
    size_t k = (size_t)given[0];
    clvox_register_options o;
    clvox_register_result r;
    clvox_register_defaults(&o);
    o.deform = CLVOX_DEFORM_UNBIASED;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.deform = cases[k].deform;
    clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
    o.inverse = cases[k].inverse;
    o.consistency = cases[k].consistency;
    o.mind_weight = cases[k].mind;
    o.levels = 2;
    o.shrink[0] = 2 * cases[k].finest;
    o.shrink[1] = cases[k].finest;
    o.iterations[0] = o.iterations[1] = 2;
    const clvox_register_images images = {
        .fixed = {shared.fixed, shared.fixed, shared.fixed},
        .moving = {shared.moving, shared.moving, shared.moving},
        .channels = cases[k].channels,
        .fixed_mask = cases[k].masks & 1 ? shared.fixed_mask : NULL,
        .moving_mask = cases[k].masks & 2 ? shared.moving_mask : NULL,
    };
    assert_ok(clvox_register(ctx, &images, &o, &r));
    size_t predicted = clvox_register_bytes(&images, &o);
    assert_that(r.device_bytes <= predicted && (double)r.device_bytes >= .95 * (double)predicted,
                "%zu bytes, %zu predicted", r.device_bytes, predicted);
    assert_true((r.inverse_warp != NULL) == (o.inverse != 0));
    bool measured = o.deform && (o.inverse || o.consistency);
    assert_true(isnan(r.inverse_error_mm[0]) == !measured && isnan(r.inverse_error_voxels[1]) == !measured);
    clvox_register_result_destroy(&r);
}

static int memory_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.fixed);
    clvox_volume_destroy(&shared.moving);
    clvox_volume_destroy(&shared.fixed_mask);
    clvox_volume_destroy(&shared.moving_mask);
    clv_phantom_free(&shared.phantom);
    return 0;
}

static void memory(void)
{
    test_set_up(memory_set_up);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        test_case_at(memory_is_predicted_within_5_percent_case, TEST_AT((int)k),
                     "memory is predicted within 5 percent (case %d)", (int)k + 1);
    test_tear_down(memory_tear_down);
}

static void what_no_field_is_like(void **state)
{
    (void)state;
    clvox_grid fixed, moving;
    grid_of(3, 4, 12, 1, &fixed); /* 13 mm from corner to corner */
    grid_of(3, 4, 12, 2, &moving);
    clv_statistics lengths = {.largest = 38.9, .voxels = 144};
    assert_ok(clv_register_credible(&lengths, &fixed, &moving));
    lengths.largest = 39.1;
    assert_int_equal(clv_register_credible(&lengths, &fixed, &moving), CLVOX_ERROR_DATA);
    lengths = (clv_statistics){.largest = 1, .voxels = 143};
    assert_int_equal(clv_register_credible(&lengths, &fixed, &moving), CLVOX_ERROR_DATA);
}

int main(void)
{
    ctx = harness_open();
    parts();
    doubts();
    test_case(presets, "every model has its presets, and they differ in work");
    rows();
    memory();
    test_case(what_no_field_is_like, "a field that is not finite, or longer than both images, is no result");
    return test_run("quality control", harness_close);
}
