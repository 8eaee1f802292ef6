/* SPDX-License-Identifier: Apache-2.0 */
/* What a registration says about itself: the affine taken apart, doubts,
 * presets, the memory it predicts. */
#include "base/matrix.h"
#include "check.h"
#include "clvox/registration.h"
#include "phantom/phantom.h"
#include "register/metric.h"
#include "register/model.h"
#include "register/options.h"

static clvox_context *ctx;

static void grid_of(int x, int y, int z, double edge, clvox_grid *grid)
{
    clv_phantom_grid((int[3]){x, y, z}, (double[3]){edge, edge, edge}, false, grid);
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

static void parts(void)
{
    static const clvox_affine_parts all[] = {
        {{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}},
        {{10, -20, 30}, {1.1, .9, 1.3}, {.1, -.05, .2}, {4, -5, 60}},
        {{-170, 80, 100}, {.4, 2.5, 1}, {0, .3, 0}, {-100, 0, 1}},
    };
    clvox_grid grid;
    clv_phantom_grid((int[3]){40, 51, 33}, (double[3]){1, 1.2, 2}, true, &grid);
    CHECK_CASE("an affine is taken apart into what it was made of");
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        double m[4][4];
        clvox_affine_parts got;
        put_together(&all[k], &grid, m);
        CHECK(clvox_affine_take_apart(CLV_MATRIX(m), &grid, &got));
        for (int i = 0; i < 3; i++) {
            CHECK_THAT(fabs(got.rotation_degrees[i] - all[k].rotation_degrees[i]) < 1e-9, "angle %d: %g", i,
                       got.rotation_degrees[i]);
            CHECK_THAT(fabs(got.scale[i] - all[k].scale[i]) < 1e-9, "scale %d: %g", i, got.scale[i]);
            CHECK_THAT(fabs(got.shear[i] - all[k].shear[i]) < 1e-9, "shear %d: %g", i, got.shear[i]);
            CHECK_THAT(fabs(got.shift_mm[i] - all[k].shift_mm[i]) < 1e-9, "shift %d: %g", i, got.shift_mm[i]);
        }
    }
    CHECK_CASE("a mirror and a singular matrix are not taken apart");
    clvox_affine_parts got;
    CHECK(!clvox_affine_take_apart(
        (const double[4][4]){{-1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, &grid, &got));
    CHECK(!clvox_affine_take_apart(
        (const double[4][4]){{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}, &grid, &got));
}

static unsigned judge(const clvox_grid *fixed, const clvox_grid *moving, double scale, double shift,
                      clvox_metric metric, double before, double after, long folded, double *overlap)
{
    const clvox_register_options o = {.deform = CLVOX_DEFORM_UNBIASED, .metric = metric};
    clv_registration run = {
        .options = &o,
        .fixed_grid = *fixed,
        .moving_grid = *moving,
        .matrix = {{scale, 0, 0, shift}, {0, scale, 0, 0}, {0, 0, scale, 0}, {0, 0, 0, 1}}};
    clvox_register_result r = {.metric_before = before,
                               .metric_linear = before,
                               .metric_after = after,
                               .ncc_before = before,
                               .ncc_linear = before,
                               .ncc_after = after,
                               .jacobian = {.folded = folded}};
    clv_register_judge(&run, &r);
    *overlap = r.overlap;
    return r.suspicions;
}

static void doubts(void)
{
    clvox_grid big, small;
    double overlap;
    grid_of(40, 40, 40, 2, &big);
    grid_of(20, 20, 20, 1, &small);
    CHECK_CASE("nothing speaks against a good result");
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == 0);
    CHECK_THAT(overlap == 1, "%g", overlap);
    CHECK(judge(&big, &small, 1, 0, CLVOX_METRIC_NCC, 1, 2, 0, &overlap) == 0);
    CHECK_THAT(fabs(overlap - 1) < .1, "%g", overlap);
    CHECK(judge(&small, &big, 1, 0, CLVOX_METRIC_MI, 1, 1, 0, &overlap) == 0);
    CHECK_CASE("each doubt is found");
    CHECK(judge(&big, &big, 1, 75, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_OVERLAP);
    CHECK_THAT(fabs(overlap - 5. / 80) < .04, "%g", overlap);
    CHECK(judge(&big, &big, 2.1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    CHECK(judge(&big, &big, .4, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    CHECK(judge(&big, &big, -1, 0, CLVOX_METRIC_SSD, 2, 1, 0, &overlap) == CLVOX_SUSPECT_SCALE);
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 1, 2, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_LNCC, .5, .4, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_LNCC, .5, .49, 0, &overlap) == 0);
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_MI, .5, .48, 0, &overlap) == CLVOX_SUSPECT_METRIC);
    CHECK(judge(&big, &big, 1, 0, CLVOX_METRIC_SSD, 2, 1, 3, &overlap) == CLVOX_SUSPECT_FOLDS);
}

static void presets(void)
{
    static const clvox_deform models[] = {CLVOX_DEFORM_UNBIASED, CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN};
    CHECK_CASE("every model has its presets, and they differ in work");
    for (int m = 0; m < 3; m++) {
        double work[3];
        for (int preset = 0; preset < 3; preset++) {
            clvox_register_options o;
            clvox_register_defaults(&o);
            o.deform = CLVOX_DEFORM_UNBIASED;
            clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
            o.deform = models[m];
            o.linear = CLVOX_LINEAR_RIGID;
            clvox_register_preset(&o, (clvox_preset)preset);
            CHECK(o.deform == models[m] && o.linear == CLVOX_LINEAR_RIGID && o.levels > 0 && o.step > 0);
            CHECK(clv_model_compares(o.deform, o.metric));
            work[preset] = 0;
            for (int i = 0; i < o.levels; i++)
                work[preset] += o.iterations[i] / pow(o.shrink[i], 3);
        }
        CHECK(work[0] < work[1] && work[1] < work[2]);
    }
}

static void rows(void)
{
    CHECK_CASE("every model's row is whole: options that it takes are rows of the table, presets are in range");
    for (int i = 1; clv_model_name((clvox_deform)i); i++) {
        const clv_model *m = clv_model_find((clvox_deform)i);
        CHECK(m->deform == (clvox_deform)i && m->run && m->requests);
        for (const char *const *name = m->takes; *name; name++)
            CHECK_THAT(clv_option_find(&clv_register_table, *name), "%s takes %s", m->name, *name);
        for (int preset = 0; preset < CLV_PRESETS; preset++) {
            clvox_register_options o;
            clvox_register_defaults(&o);
            o.deform = m->deform;
            clvox_register_preset(&o, (clvox_preset)preset);
            CHECK_THAT(clv_options_check(&clv_register_table, &o) == CLVOX_OK, "%s", clvox_message());
        }
    }
    CHECK_CASE("every metric's row is whole");
    for (int i = 0; clv_metric_name(i); i++) {
        const clv_metric_row *metric = clv_metric_find((clvox_metric)i);
        CHECK(metric->metric == (clvox_metric)i && metric->title && metric->scratch && metric->derivative);
        CHECK(metric->compare && metric->rounding > 0 && (!metric->add || metric->score));
        CHECK(clv_metric_find(metric->search)->score && clv_metric_name((int)metric->coarse));
        CHECK(!metric->parameter || (metric->says[0] && metric->says[1] && metric->meaning));
        CHECK(!metric->parameter || (metric->field && metric->linear_field));
    }
}

/* Every choice of memory: prediction and peak agree. */
static void memory(void)
{
    static const struct {
        clvox_deform deform;
        clvox_force force;
        int inverse, consistency, channels, masks;
        double finest;
    } cases[] = {
        {CLVOX_DEFORM_NONE, CLVOX_FORCE_AUTO, 0, 0, 1, 0, 1},
        {CLVOX_DEFORM_UNBIASED, CLVOX_FORCE_AUTO, 0, 1, 1, 0, 1},
        {CLVOX_DEFORM_UNBIASED, CLVOX_FORCE_TWOPASS, 1, 1, 1, 3, 1},
        {CLVOX_DEFORM_UNBIASED, CLVOX_FORCE_AUTO, 0, 0, 1, 1, 1},
        {CLVOX_DEFORM_UNBIASED, CLVOX_FORCE_AUTO, 1, 1, 1, 2, 2},
        {CLVOX_DEFORM_NONE, CLVOX_FORCE_AUTO, 0, 0, 3, 3, 1},
        {CLVOX_DEFORM_GREEDY, CLVOX_FORCE_AUTO, 0, 1, 1, 0, 1},
        {CLVOX_DEFORM_GREEDY, CLVOX_FORCE_AUTO, 1, 1, 2, 3, 1},
        {CLVOX_DEFORM_SYN, CLVOX_FORCE_AUTO, 1, 1, 1, 1, 1},
        {CLVOX_DEFORM_SYN, CLVOX_FORCE_AUTO, 0, 0, 1, 0, 2},
    };
    clvox_grid fixed_grid, moving_grid;
    clv_phantom phantom;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
    grid_of(61, 59, 53, 1, &fixed_grid);
    grid_of(47, 53, 59, 1.2, &moving_grid);
    check_must(clv_phantom_make(CLV_PHANTOM_TEXTURED, &fixed_grid, 5, 0, &phantom));
    check_must(clv_phantom_image(&phantom, &fixed_grid, NULL, NULL, 1, &fixed));
    check_must(clv_phantom_image(&phantom, &moving_grid, NULL, NULL, 2, &moving));
    check_must(clv_phantom_labels(&phantom, &fixed_grid, NULL, NULL, &fixed_mask));
    check_must(clv_phantom_labels(&phantom, &moving_grid, NULL, NULL, &moving_mask));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        clvox_register_options o;
        clvox_register_result r;
        CHECK_CASE("memory is predicted within 5 percent (case %d)", (int)k + 1);
        clvox_register_defaults(&o);
        o.deform = CLVOX_DEFORM_UNBIASED;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        o.deform = cases[k].deform;
        clvox_register_preset(&o, CLVOX_PRESET_DEFAULT);
        o.force = cases[k].force;
        o.inverse = cases[k].inverse;
        o.consistency = cases[k].consistency;
        o.levels = 2;
        o.shrink[0] = 2 * cases[k].finest;
        o.shrink[1] = cases[k].finest;
        o.iterations[0] = o.iterations[1] = 2;
        const clvox_register_images images = {
            .fixed = {fixed, fixed, fixed}, .moving = {moving, moving, moving},
            .channels = cases[k].channels, .fixed_mask = cases[k].masks & 1 ? fixed_mask : NULL,
            .moving_mask = cases[k].masks & 2 ? moving_mask : NULL,
        };
        check_must(clvox_register(ctx, &images, &o, &r));
        size_t predicted = clvox_register_bytes(&images, &o);
        CHECK_THAT(r.device_bytes <= predicted && (double)r.device_bytes >= .95 * (double)predicted,
                   "%zu bytes, %zu predicted", r.device_bytes, predicted);
        CHECK((r.inverse_warp != NULL) == (o.inverse != 0));
        bool measured = o.deform && (o.inverse || o.consistency);
        CHECK(isnan(r.inverse_error_mm[0]) == !measured && isnan(r.inverse_error_voxels[1]) == !measured);
        clvox_register_result_free(&r);
    }
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&fixed_mask);
    clvox_volume_destroy(&moving_mask);
    clv_phantom_free(&phantom);
}

int main(void)
{
    if (clvox_context_create(NULL, &ctx) < 0) {
        printf("1..0 # SKIP %s\n", clvox_message());
        return 0;
    }
    parts();
    doubts();
    presets();
    rows();
    memory();
    clvox_context_destroy(&ctx);
    return check_end();
}
