/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery by greedy and symmetric registration: pairs whose true map is known, under every metric, contrast and
 * channel. */
#include <stdint.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

enum { MODELS = 2, METRICS = 4 };

static const clvox_deform models[MODELS] = {CLVOX_DEFORM_GREEDY, CLVOX_DEFORM_SYN};
static const char *const model_names[MODELS] = {"greedy", "syn"};
static const char *const metric_names[METRICS] = {"SSD", "NCC", "LNCC", "MI"};

/* Whether the metric says that the images are more alike at the end. */
static bool improved(const clvox_register_result *r, clvox_metric metric)
{
    return metric == CLVOX_METRIC_SSD ? r->metric_after < r->metric_linear
                                      : r->metric_after > r->metric_linear;
}

static struct {
    pair p;
    double before, largest;
    clvox_volume *still, *fixed, *labels, *half_fixed, *half_moving, *right;
    clvox_grid wide;
    clvox_register_result window[6];
} shared;

/* The grids differ in everything; an affine comes first. */
static int recovery_set_up(void **state)
{
    (void)state;
    pair_apart(&shared.p, 3, 31);
    shared.before = pair_start(&shared.p, NULL);
    return 0;
}

static void by_recovers_a_known_warp_behind_an_affine(void **state)
{
    const int *given = *state;
    int model = given[0], metric = given[1];
    clvox_register_options o;
    clvox_register_result r;
    pair_options(&o, models[model], (clvox_metric)metric);
    o.init = CLVOX_INIT_MATRIX;
    memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    double mean = pair_error(&shared.p, &r, NULL, &shared.largest);
    printf("# %.3f voxels before, %.3f after (%.3f at most); metric %.4g, %.4g\n", shared.before, mean,
           shared.largest, r.metric_linear, r.metric_after);
    assert_that(mean <= .4 * shared.before && shared.largest < 1, "%.3f of the start, %.3f voxels at most",
                mean / shared.before, shared.largest);
    assert_true(improved(&r, o.metric) && r.ncc_after > r.ncc_linear);
    assert_true(r.jacobian.folded == 0 && !memcmp(r.matrix, shared.p.matrix, sizeof r.matrix));
    clvox_register_result_destroy(&r);
}

/* The true map expands and compresses as much as it slides, which damping finds more slowly. */
static void damped_divergence_gives_a_more_regular_map(void **state)
{
    static const double damping[][2] = {{0, 0}, {.9, 0}, {.9, .8}};
    enum { RUNS = sizeof damping / sizeof *damping };
    int model = *(const int *)*state;
    clvox_register_options o;
    clvox_register_result r[RUNS];
    double error[RUNS];
    for (int k = 0; k < RUNS; k++) {
        pair_options(&o, models[model], CLVOX_METRIC_LNCC);
        o.init = CLVOX_INIT_MATRIX;
        memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
        o.update_damping = damping[k][0];
        o.finer_damping = damping[k][1];
        assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r[k]));
        error[k] = pair_error(&shared.p, &r[k], NULL, &shared.largest);
        printf("# damped by %g and %g: %.3f voxels off, sd log J %.4f\n", damping[k][0], damping[k][1],
               error[k], r[k].jacobian.sd_log);
        assert_true(r[k].jacobian.folded == 0);
    }
    for (int k = 1; k < RUNS; k++) {
        assert_that(r[k].jacobian.sd_log < (k > 1 ? .97 : .9) * r[k - 1].jacobian.sd_log, "%g, %g",
                    r[k - 1].jacobian.sd_log, r[k].jacobian.sd_log);
        assert_that(error[k] < 1.15 * error[k - 1], "%g, %g", error[k - 1], error[k]);
    }
    for (int k = 0; k < RUNS; k++)
        clvox_register_result_destroy(&r[k]);
}

/* MIND pulls less where windows hold little but noise. */
static void mind_beside_lncc_gives_a_more_regular_map(void **state)
{
    enum { RUNS = 2 };
    int model = *(const int *)*state;
    clvox_register_options o;
    clvox_register_result r[RUNS];
    double error[RUNS];
    for (int k = 0; k < RUNS; k++) {
        pair_options(&o, models[model], CLVOX_METRIC_LNCC);
        o.init = CLVOX_INIT_MATRIX;
        memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
        o.mind_weight = k ? 20 : 0;
        assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r[k]));
        error[k] = pair_error(&shared.p, &r[k], NULL, &shared.largest);
        printf("# MIND by %g: %.3f voxels off, sd log J %.4f\n", o.mind_weight, error[k],
               r[k].jacobian.sd_log);
        assert_true(r[k].jacobian.folded == 0);
    }
    assert_that(r[1].jacobian.sd_log < .95 * r[0].jacobian.sd_log, "%g, %g", r[0].jacobian.sd_log,
                r[1].jacobian.sd_log);
    assert_that(error[1] < 1.25 * error[0], "%g, %g", error[0], error[1]);
    for (int k = 0; k < RUNS; k++)
        clvox_register_result_destroy(&r[k]);
}

/* Forces through K instead of a Gaussian, in mm on every level. */
static void greedy_by_an_operator_recovers_it_too(void **state)
{
    (void)state;
    clvox_register_options o;
    enum { RUNS = 2 };
    clvox_register_result r[RUNS];
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_SSD);
    o.init = CLVOX_INIT_MATRIX;
    memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
    o.alpha = 4;
    o.gamma = .25;
    for (int i = 0; i < RUNS; i++) {
        double largest, apart;
        o.beta = 4 * i;
        assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r[i]));
        double mean = pair_error(&shared.p, &r[i], NULL, &largest);
        assert_that(mean <= .4 * shared.before && largest < 1.2, "beta %g: %.3f of the start, %.3f at most",
                    o.beta, mean / shared.before, largest);
        assert_true(r[i].jacobian.folded == 0);
        apart = pair_distance(r[0].warp, r[i].warp, shared.p.labels, &largest);
        assert_that(i == 0 || apart > 1e-4, "beta changes nothing: %.2g", apart);
    }
    for (int i = 0; i < RUNS; i++)
        clvox_register_result_destroy(&r[i]);
}

/* The inverse that was kept while u was found, without a search for it in the end; as far as without one. */
static void greedy_by_an_operator_keeps_the_inverse(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result kept, plain;
    double there, back, largest[2];
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_SSD);
    o.init = CLVOX_INIT_MATRIX;
    memcpy(o.matrix, shared.p.matrix, sizeof o.matrix);
    o.alpha = 4;
    o.gamma = .25;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &plain));
    o.inverse = 1;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &kept));
    assert_memory_equal(kept.warp->data, plain.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&kept.warp->grid));
    there = pair_detour(kept.warp, kept.inverse_warp, shared.p.labels, &largest[0]);
    back = pair_detour(kept.inverse_warp, kept.warp, shared.p.labels, &largest[1]);
    printf("# there and back %.4f voxels (%.3f at most), and %.4f (%.3f)\n", there, largest[0], back, largest[1]);
    assert_that(there < .01 && back < .01 && largest[0] < .1 && largest[1] < .1, "%g, %g, %g, %g", there, back,
                largest[0], largest[1]);
    clvox_register_result_destroy(&plain);
    clvox_register_result_destroy(&kept);
}

static int recovery_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void recovery(void)
{
    test_set_up(recovery_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int metric = 0; metric < METRICS; metric++)
            test_case_at(by_recovers_a_known_warp_behind_an_affine, TEST_AT(model, metric),
                         "%s by %s recovers a known warp behind an affine, between oblique anisotropic grids",
                         model_names[model], metric_names[metric]);
    for (int model = 0; model < MODELS; model++) {
        test_case_at(damped_divergence_gives_a_more_regular_map, TEST_AT(model),
                     "%s: damped divergence gives a more regular map, nearly as near", model_names[model]);
        test_case_at(mind_beside_lncc_gives_a_more_regular_map, TEST_AT(model),
                     "%s: MIND beside LNCC gives a more regular map, nearly as near", model_names[model]);
    }
    test_case(greedy_by_an_operator_recovers_it_too, "greedy by an operator recovers it too, whatever solves it");
    test_case(greedy_by_an_operator_keeps_the_inverse, "greedy by an operator keeps the inverse");
    test_tear_down(recovery_tear_down);
}

static double smooth_field(const double t[3])
{
    return sin(2.1 * t[0] + .4) * cos(1.7 * t[1]) + .5 * sin(1.3 * t[2] + t[0]);
}

/* Changes the values of one image in place. */
static void recolour(clvox_volume *v, int how)
{
    const int *size = v->grid.size;
    size_t i = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++)
            for (int x = 0; x < size[0]; x++, i++) {
                const double t[3] = {3. * x / size[0] - 1.5, 3. * y / size[1] - 1.5, 3. * z / size[2] - 1.5};
                double value = (double)v->data[i];
                if (how == 0)
                    value = 900 - value;
                else if (how == 1)
                    value = value * exp(.2 * smooth_field(t));
                else
                    value = 300 - fabs(value - 420); /* two tissues of one colour */
                v->data[i] = (float)value;
            }
}

static const struct {
    clvox_metric metric;
    int how;
    const char *name;
} rows[] = {
    {CLVOX_METRIC_LNCC, 0, "LNCC and an inverted image"},
    {CLVOX_METRIC_LNCC, 1, "LNCC and a smooth bias field"},
    {CLVOX_METRIC_MI, 2, "MI and a contrast that is not monotone"},
    {CLVOX_METRIC_MIND, 0, "MIND and an inverted image"},
};

static int contrasts_set_up(void **state)
{
    const int *given = *state;
    pair_make(&shared.p, (int[3]){42, 45, 40}, (double[3]){1, 1, 1}, false, 2, 41);
    recolour(shared.p.moving, rows[given[0]].how);
    shared.before = pair_start(&shared.p, NULL);
    return 0;
}

static int contrasts_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void contrast(void **state)
{
    const int *given = *state;
    size_t k = (size_t)given[0];
    int model = given[1];
    clvox_register_options o;
    clvox_register_result r;
    pair_options(&o, models[model], rows[k].metric);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    double mean = pair_error(&shared.p, &r, NULL, &shared.largest);
    printf("# %.3f voxels before, %.3f after (%.3f at most); metric %.4g, %.4g\n", shared.before, mean,
           shared.largest, r.metric_linear, r.metric_after);
    assert_that(mean <= .6 * shared.before, "%.3f of the start", mean / shared.before);
    assert_true(improved(&r, o.metric) && r.jacobian.folded == 0);
    clvox_register_result_destroy(&r);
}

/* The linear part says whether contrasts differ; what was chosen stays. */
static void by_contrast(void **state)
{
    const int *given = *state;
    const bool differ = given[0], allowed = given[1];
    clvox_register_options o;
    clvox_register_result r;
    pair p;
    pair_make(&p, (int[3]){42, 45, 40}, (double[3]){2, 2, 2}, false, 2, 41);
    if (differ)
        recolour(p.moving, 0);
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    o.linear = CLVOX_LINEAR_RIGID;
    o.linear_metric = CLVOX_METRIC_MI;
    o.levels = 1;
    o.shrink[0] = 2;
    o.iterations[0] = 2;
    o.by_contrast = allowed;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    assert_int_equal(r.metric, differ && allowed ? CLVOX_METRIC_MIND : CLVOX_METRIC_LNCC);
    clvox_register_result_destroy(&r);
    pair_free(&p);
}

static void contrasts(void)
{
    test_case_at(by_contrast, TEST_AT(0, 1), "one contrast stays with LNCC");
    test_case_at(by_contrast, TEST_AT(1, 1), "other contrasts go to MIND");
    test_case_at(by_contrast, TEST_AT(1, 0), "other contrasts stay with LNCC if that is asked for");
    for (int k = 0; k < (int)(sizeof rows / sizeof *rows); k++) {
        test_set_up(contrasts_set_up);
        for (int model = 0; model < MODELS; model++)
            test_case_at(contrast, TEST_AT(k, model), "%s: %s", model_names[model], rows[k].name);
        test_tear_down(contrasts_tear_down);
    }
}

/* True and local gradients and the window's radius do different things well. */
static const int radii[] = {1, 3, 5};

static int windows_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){40, 43, 37}, (double[3]){1, 1.1, 1}, false, 2, 43);
    shared.before = pair_start(&shared.p, NULL);
    return 0;
}

/* Run when it is asked for first. */
static const clvox_register_result *window(int model, int k)
{
    clvox_register_options o;
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    o.radius = radii[k / 2];
    o.local_gradient = k % 2;
    if (!shared.window[k].warp)
        assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &shared.window[k]));
    return &shared.window[k];
}

static void lncc_of_radius_gradient(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1], others = getenv("CLVOX_TEST_FEW") && k ? 1 : k;
    const clvox_register_result *r = window(model, k);
    double mean = pair_error(&shared.p, r, NULL, &shared.largest);
    printf("# %.3f voxels before, %.3f after (%.3f at most); LNCC %.4f, %.4f\n", shared.before, mean,
           shared.largest, r->metric_linear, r->metric_after);
    assert_that(mean <= .45 * shared.before, "%.3f of the start", mean / shared.before);
    assert_true(improved(r, CLVOX_METRIC_LNCC) && r->jacobian.folded == 0);
    for (int other = 0; other < others; other++) {
        pair_distance(r->warp, window(model, other)->warp, shared.p.labels, &shared.largest);
        assert_that(shared.largest > 1e-3, "as with run %d: %g voxels", other, shared.largest);
    }
}

static int windows_tear_down(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++)
        clvox_register_result_destroy(&shared.window[k]);
    pair_free(&shared.p);
    return 0;
}

static void windows(void)
{
    for (int model = 0; model < MODELS; model++) {
        test_set_up(windows_set_up);
        for (int k = 0; k < 6; k++)
            test_case_at(lncc_of_radius_gradient, TEST_AT(model, k), "%s: LNCC of radius %d, %s gradient",
                         model_names[model], radii[k / 2], k % 2 ? "local" : "true");
        test_tear_down(windows_tear_down);
    }
}

/* Steps have a stated length however small the force is; a level that loses by
 * them is undone. MI has its maximum beside the identity. */
static const double most[MODELS][METRICS] = {{.01, .01, .01, 2}, {.01, .01, .01, 2}};

static int identity_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){33, 37, 31}, (double[3]){1, 2, 1.5}, true, 2, 3);
    assert_ok(clvox_volume_create(&shared.p.fixed_grid, 3, CLVOX_KIND_DISPLACEMENT, &shared.still));
    return 0;
}

static void by_leaves_an_image_and_itself_in_place(void **state)
{
    const int *given = *state;
    int model = given[0], k = given[1];
    clvox_register_options o;
    clvox_register_result r;
    double largest;
    pair_options(&o, models[model], (clvox_metric)(k % METRICS));
    o.momentum = k < METRICS ? 0 : .8;
    assert_ok(pair_register(ctx, shared.p.moving, shared.p.moving, NULL, NULL, &o, &r));
    double mean = pair_distance(r.warp, shared.still, NULL, &largest);
    printf("# moved by %.4f voxels, %.4f at most\n", mean, largest);
    assert_that(largest <= most[model][k % METRICS] && mean <= .2 * most[model][k % METRICS], "%.4f, %.4f",
                mean, largest);
    clvox_register_result_destroy(&r);
}

static int identity_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&shared.still);
    pair_free(&shared.p);
    return 0;
}

static void identity(void)
{
    test_set_up(identity_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int k = 0; k < 2 * METRICS; k++)
            test_case_at(by_leaves_an_image_and_itself_in_place, TEST_AT(model, k),
                         "%s by %s leaves an image and itself in place (%s)", model_names[model],
                         metric_names[k % METRICS], k < METRICS ? "no momentum" : "momentum");
    test_tear_down(identity_tear_down);
}

/* The volume within a larger grid, lower voxels of its corner's value before it. */
static clvox_volume *within(const clvox_volume *v, const clvox_grid *grid, int lower)
{
    clvox_volume *out;
    const int *from = v->grid.size, *to = grid->size;
    assert_ok(clvox_volume_create(grid, 1, v->kind, &out));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++)
        out->data[i] = v->data[0];
    for (int z = 0; z < from[2]; z++)
        for (int y = 0; y < from[1]; y++)
            for (int x = 0; x < from[0]; x++)
                out->data[((size_t)(z + lower) * (size_t)to[1] + (size_t)(y + lower)) * (size_t)to[0] +
                          (size_t)(x + lower)] = v->data[((size_t)z * (size_t)from[1] + (size_t)y) *
                                                             (size_t)from[0] + (size_t)x];
    return out;
}

/* Only the part of a mostly empty grid with content is deformed. */
enum { LOWER = 31, UPPER = 24, REACH = 13 };

static int room_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){40, 36, 38}, (double[3]){1, 1, 1}, true, 2, 11);
    clvox_grid small = shared.p.fixed_grid;
    shared.wide = small;
    for (int i = 0; i < 3; i++) {
        shared.wide.size[i] += LOWER + UPPER;
        for (int k = 0; k < 3; k++)
            shared.wide.to_ras[k][3] -= LOWER * small.to_ras[k][i];
    }
    shared.fixed = within(shared.p.fixed, &shared.wide, LOWER);
    shared.labels = within(shared.p.labels, &shared.wide, LOWER);
    clvox_volume_destroy(&shared.p.fixed);
    clvox_volume_destroy(&shared.p.labels);
    shared.p.fixed = shared.fixed;
    shared.p.labels = shared.labels;
    shared.p.fixed_grid = shared.wide;
    shared.before = pair_start(&shared.p, NULL);
    return 0;
}

static void works_where_the_fixed_image_has_content(void **state)
{
    const int *given = *state;
    int model = given[0];
    clvox_grid small = shared.p.fixed_grid;
    clvox_register_options o;
    clvox_register_result r;
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    double mean = pair_error(&shared.p, &r, NULL, &shared.largest), beyond = 0;
    size_t n = clvox_grid_voxels(&shared.wide), i = 0;
    for (int z = 0; z < shared.wide.size[2]; z++)
        for (int y = 0; y < shared.wide.size[1]; y++)
            for (int x = 0; x < shared.wide.size[0]; x++, i++)
                if (x < LOWER - REACH || y < LOWER - REACH || z < LOWER - REACH ||
                    x > LOWER + small.size[0] + REACH || y > LOWER + small.size[1] + REACH)
                    for (size_t k = 0; k < 3; k++)
                        beyond = fmax(beyond, fabs((double)r.warp->data[k * n + i]));
    printf("# %.3f voxels before, %.3f after; %.3g mm beyond\n", shared.before, mean, beyond);
    assert_true(mean <= .5 * shared.before && beyond <= 2e-3 && r.jacobian.folded == 0);
    clvox_register_result_destroy(&r);
}

/* A ball and itself, in air where faint waves, too weak to be content, differ by 2 voxels. They lie AIR mm
 * and more from the middle, inside of the ball's box, where nothing is to pull. */
enum { BALL = 64, AIR = 34 };

static double from_the_middle(int i)
{
    const double half = (BALL - 1) / 2.;
    return hypot(hypot(i % BALL - half, i / BALL % BALL - half), i / BALL / BALL - half);
}

static clvox_volume *ball_in_air(double shift)
{
    const double middle[3] = {0};
    clvox_volume *v = pair_ball((int[3]){BALL, BALL, BALL}, (double[3]){1, 1, 1}, middle, 13, 1);
    for (int i = 0; i < BALL * BALL * BALL; i++)
        if (from_the_middle(i) >= AIR)
            v->data[i] = (float)(.75 + .75 * sin((i % BALL - shift) / 2) * cos(i / BALL % BALL / 3.));
    return v;
}

static void air_leads_nowhere(void **state)
{
    const int *given = *state;
    clvox_volume *fixed = ball_in_air(0), *moving = ball_in_air(2);
    clvox_register_options o;
    clvox_register_result r;
    double moved = 0;
    pair_options(&o, models[given[0]], CLVOX_METRIC_LNCC);
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    for (int i = 0; i < BALL * BALL * BALL; i++)
        for (int c = 0; c < 3 && from_the_middle(i) >= AIR; c++)
            moved = fmax(moved, fabs((double)r.warp->data[c * BALL * BALL * BALL + i]));
    printf("# air moved by %.3g mm\n", moved);
    assert_true(moved < .05);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* A ball and, away from it, bars of one by one voxels, which fill no cell: they move, too. */
static clvox_volume *ball_and_bars(double shift)
{
    enum { EVERY = 4, SOME = 3 };
    const double middle[3] = {-14, -14, -14};
    clvox_volume *v = pair_ball((int[3]){BALL, BALL, BALL}, (double[3]){1, 1, 1}, middle, 8, 1);
    for (int i = 0; i < BALL * BALL * BALL; i++) {
        const double x = i % BALL - 46 - shift, y = i / BALL % BALL - 46;
        const double dx = x - EVERY * fmin(SOME, fmax(0, round(x / EVERY)));
        const double dy = y - EVERY * fmin(SOME, fmax(0, round(y / EVERY)));
        v->data[i] += dx * dx + dy * dy < .1 ? 100 : 0;
    }
    return v;
}

static void thin_content_counts(void **state)
{
    (void)state;
    clvox_volume *fixed = ball_and_bars(0), *moving = ball_and_bars(1);
    clvox_register_options o;
    clvox_register_result r;
    double sum = 0;
    int count = 0;
    pair_options(&o, CLVOX_DEFORM_SYN, CLVOX_METRIC_LNCC);
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    for (int i = 0; i < BALL * BALL * BALL; i++)
        if (i % BALL > 44 && i / BALL % BALL > 44 && fixed->data[i] > 50 && i / BALL / BALL > 8 &&
            i / BALL / BALL < 56) {
            sum += (double)r.warp->data[i];
            count++;
        }
    printf("# bars moved by %.3g mm of 1\n", sum / count);
    assert_true(sum / count > .7);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

/* A ball, shift mm from the middle, and small ones in the corners: the box with content reaches far beyond
 * the ball. */
static clvox_volume *ball_and_corners(double shift)
{
    const double place[3] = {shift, 0, 0}, small = 3, from = 26;
    clvox_volume *v = pair_ball((int[3]){BALL, BALL, BALL}, (double[3]){1, 1, 1}, place, 7, 1);
    for (int i = 0; i < BALL * BALL * BALL; i++) {
        const double half = (BALL - 1) / 2.;
        const double d = hypot(hypot(fabs(i % BALL - half) - from, fabs(i / BALL % BALL - half) - from),
                               fabs(i / BALL / BALL - half) - from);
        v->data[i] += d < small ? 100 : 0;
    }
    return v;
}

/* Updates far wider than usual, or by an operator, carry what lies around the content with it: nothing tears
 * where steps end. */
static void wide_updates_do_not_tear(void **state)
{
    const bool by_operator = *(const int *)*state;
    clvox_volume *fixed = ball_and_corners(0), *moving = ball_and_corners(3);
    const int along[3] = {1, BALL, BALL * BALL};
    clvox_register_options o;
    clvox_register_result r;
    double bend = 0, moved = 0;
    pair_options(&o, CLVOX_DEFORM_GREEDY, CLVOX_METRIC_LNCC);
    o.total_sigma = 0;
    if (by_operator) {
        o.alpha = 100;
        o.gamma = .001;
    } else {
        o.update_sigma = 6;
    }
    assert_ok(pair_register(ctx, fixed, moving, NULL, NULL, &o, &r));
    for (int i = 0; i < BALL * BALL * BALL; i++) {
        const float *u = r.warp->data + i;
        const bool around = from_the_middle(i) > 13 && from_the_middle(i) < 28;
        moved = fmax(moved, fabs((double)*u));
        for (int a = 0; a < 3 && around; a++)
            bend = fmax(bend, fabs((double)u[-along[a]] - 2 * (double)u[0] + (double)u[along[a]]));
    }
    printf("# moved by %.3g mm at most, largest second difference %.3g mm\n", moved, bend);
    assert_true(moved > 2.5 &&
                bend < (by_operator ? .6 : .3)); /* 2.2 and .8 where steps end 12 mm around content */
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
}

static int room_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void room(void)
{
    test_set_up(room_set_up);
    for (int model = 0; model < MODELS; model++)
        test_case_at(works_where_the_fixed_image_has_content, TEST_AT(model),
                     "%s works where the fixed image has content", model_names[model]);
    test_tear_down(room_tear_down);
    for (int model = 0; model < MODELS; model++)
        test_case_at(air_leads_nowhere, TEST_AT(model), "%s: air leads nowhere", model_names[model]);
    test_case(thin_content_counts, "thin content counts");
    test_case_at(wide_updates_do_not_tear, TEST_AT(0), "wide updates do not tear");
    test_case_at(wide_updates_do_not_tear, TEST_AT(1), "updates by an operator do not tear");
}

typedef struct ascent {
    double values[40];
    int count;
    bool skips; /* an iteration */
} ascent;

static int remember(void *user, const clvox_step *step)
{
    ascent *a = user;
    a->skips = a->skips || step->iteration != a->count;
    if (a->count < 40)
        a->values[a->count++] = step->metric;
    return 0;
}

/* In small steps without momentum the metric, which is reported at every iteration, climbs in each; LNCC,
 * which has kinks, in ten of them. */
static int climbs_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){37, 41, 39}, (double[3]){1, 1, 1}, false, 2, 47);
    return 0;
}

static void by_climbs_in_small_steps(void **state)
{
    const int *given = *state;
    int model = given[0], metric = given[1];
    clvox_register_options o;
    clvox_register_result r;
    ascent a = {.count = 0};
    const double kink = metric == CLVOX_METRIC_LNCC ? 1e-4 : 0;
    pair_options(&o, models[model], (clvox_metric)metric);
    o.levels = 1;
    o.shrink[0] = 1;
    o.iterations[0] = 31;
    o.finest_step = .05;
    o.progress = remember;
    o.user = &a;
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &r));
    printf("# start %.5g:", r.metric_linear);
    for (int i = 0; i < a.count; i++)
        printf(" %.5g", a.values[i]);
    printf("\n");
    assert_true(!a.skips && a.count == 32 && r.iterations[0] == 31);
    for (int i = 1; i < a.count - 1; i++)
        assert_that(a.values[i] > a.values[i - 1] - kink * fabs(a.values[i]), "%.7g after %.7g", a.values[i],
                    a.values[i - 1]);
    for (int i = 10; i < a.count; i += 10)
        assert_that(a.values[i] > a.values[i - 10], "%.7g after %.7g", a.values[i], a.values[i - 10]);
    clvox_register_result_destroy(&r);
}

static int climbs_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void climbs(void)
{
    test_set_up(climbs_set_up);
    for (int model = 0; model < MODELS; model++)
        for (int metric = 0; metric < METRICS; metric++)
            test_case_at(by_climbs_in_small_steps, TEST_AT(model, metric), "%s by %s climbs in small steps",
                         model_names[model], metric_names[metric]);
    test_tear_down(climbs_tear_down);
}

/* Channel 0 knows the left half alone, channel 1 all of it. */
static int channels_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){44, 40, 37}, (double[3]){1, 1, 1}, false, 2, 53);
    const clvox_grid *grid = &shared.p.fixed_grid;
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &shared.half_fixed));
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &shared.half_moving));
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_LABEL, &shared.right));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        int x = (int)(i % (size_t)grid->size[0]);
        float keep = x < 19 ? 1 : 0;
        shared.half_fixed->data[i] = keep * shared.p.fixed->data[i];
        shared.half_moving->data[i] = keep * shared.p.moving->data[i];
        shared.right->data[i] = x > 24 ? shared.p.labels->data[i] : 0;
    }
    shared.before = pair_start(&shared.p, shared.right);
    return 0;
}

static const double weights[][2] = {{1, 0}, {0, 0}, {1, 3}, {8, 24}, {0, 2}};
enum { RUNS = sizeof weights / sizeof *weights };

/* The registrations that three cases judge, made for the first. */
static struct {
    clvox_register_result one, other, r[RUNS];
} runs;

static size_t warp_bytes(void)
{
    return 3 * clvox_grid_voxels(&shared.p.fixed_grid) * sizeof(float);
}

static void run_all(int model)
{
    clvox_register_options o;
    if (runs.one.warp)
        return;
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    o.momentum = .5;
    assert_ok(pair_register(ctx, shared.half_fixed, shared.half_moving, NULL, NULL, &o, &runs.one));
    assert_ok(pair_register(ctx, shared.p.fixed, shared.p.moving, NULL, NULL, &o, &runs.other));
    for (int k = 0; k < RUNS; k++) {
        const clvox_register_images images = {.fixed = {shared.half_fixed, shared.p.fixed},
                                              .moving = {shared.half_moving, shared.p.moving},
                                              .weight = {weights[k][0], weights[k][1]},
                                              .channels = 2};
        assert_ok(clvox_register(ctx, &images, &o, &runs.r[k]));
    }
}

static void follows_the_channel_that_has_contrast(void **state)
{
    double mean[RUNS];
    run_all(*(const int *)*state);
    for (int k = 0; k < RUNS; k++) {
        mean[k] = pair_error(&shared.p, &runs.r[k], shared.right, &shared.largest);
        printf("# weights %g, %g: %.3f voxels before, %.3f after\n", weights[k][0], weights[k][1],
               shared.before, mean[k]);
    }
    assert_true(mean[0] > .8 * shared.before && mean[1] < .75 * shared.before &&
                mean[2] < .6 * shared.before);
}

static void a_channel_of_weight_0_changes_no_bit(void **state)
{
    run_all(*(const int *)*state);
    assert_true(!memcmp(runs.r[0].warp->data, runs.one.warp->data, warp_bytes()) &&
                runs.r[0].metric_after == runs.one.metric_after);
    assert_true(!memcmp(runs.r[4].warp->data, runs.other.warp->data, warp_bytes()) &&
                runs.r[4].metric_after == runs.other.metric_after);
}

static void only_the_ratio_of_the_weights_matters(void **state)
{
    run_all(*(const int *)*state);
    assert_memory_equal(runs.r[2].warp->data, runs.r[3].warp->data, warp_bytes());
    assert_true(memcmp(runs.r[1].warp->data, runs.r[2].warp->data, warp_bytes()) != 0);
}

static int channels_tear_down(void **state)
{
    (void)state;
    clvox_register_result_destroy(&runs.one);
    clvox_register_result_destroy(&runs.other);
    for (int k = 0; k < RUNS; k++)
        clvox_register_result_destroy(&runs.r[k]);
    clvox_volume_destroy(&shared.half_fixed);
    clvox_volume_destroy(&shared.half_moving);
    clvox_volume_destroy(&shared.right);
    pair_free(&shared.p);
    return 0;
}

static void channels(void)
{
    for (int model = 0; model < MODELS; model++) {
        test_set_up(channels_set_up);
        test_case_at(follows_the_channel_that_has_contrast, TEST_AT(model),
                     "%s follows the channel that has contrast", model_names[model]);
        test_case_at(a_channel_of_weight_0_changes_no_bit, TEST_AT(model),
                     "%s: a channel of weight 0 changes no bit", model_names[model]);
        test_case_at(only_the_ratio_of_the_weights_matters, TEST_AT(model),
                     "%s: only the ratio of the weights matters", model_names[model]);
        test_tear_down(channels_tear_down);
    }
}

static const int sizes[][3] = {{12, 12, 12}, {5, 4, 3}, {33, 1, 29}, {2, 2, 2}};

/* A run whose other buffers are as large as a field. Axes are at right angles, so that mm are voxels. */
static void the_inverse_of_x_x_voxels_and_how_far(void **state)
{
    const int *given = *state;
    int k = given[0];
    int model = k % 2;
    pair p;
    clvox_register_options o;
    clvox_register_result r;
    clvox_volume *u, *v;
    const int *size = sizes[k / 2];
    pair_make(&p, size, (double[3]){2, 2, 2}, false, .1, 61 + k);
    pair_options(&o, models[model], CLVOX_METRIC_LNCC);
    o.inverse = 1;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    u = r.warp;
    v = r.inverse_warp;
    double largest = 0, n = (double)size[0] * size[1] * size[2];
    for (size_t i = 0; i < 3 * (size_t)n; i++)
        largest = fmax(largest, fabs((double)u->data[i] + (double)v->data[i]));
    printf("# %.3g voxels, %.3g mm; warp and inverse differ by %.3g mm\n", r.inverse_error_voxels[0],
           r.inverse_error_mm[0], largest);
    for (int i = 0; i < 2; i++)
        assert_true(fabs(r.inverse_error_mm[i] - 2 * r.inverse_error_voxels[i]) <=
                    1e-5 * r.inverse_error_mm[i]);
    assert_true(r.inverse_error_voxels[0] < .05 && largest < 1);
    clvox_register_result_destroy(&r);
    /* At every other voxel, where nobody wants it. */
    o.inverse = 0;
    o.consistency = 1;
    assert_ok(pair_register(ctx, p.fixed, p.moving, NULL, NULL, &o, &r));
    for (int i = 0; i < 2; i++)
        assert_true(fabs(r.inverse_error_mm[i] - 2 * r.inverse_error_voxels[i]) <=
                    1e-5 * r.inverse_error_mm[i]);
    clvox_register_result_destroy(&r);
    pair_free(&p);
}

static void few_voxels(void)
{
    for (int k = 0; k < 8; k++) {
        const int *size = sizes[k / 2];
        int model = k % 2;
        test_case_at(the_inverse_of_x_x_voxels_and_how_far, TEST_AT(k),
                     "%s: the inverse of %d x %d x %d voxels, and how far it is off", model_names[model],
                     size[0], size[1], size[2]);
    }
}

int main(void)
{
    ctx = harness_open();
    recovery();
    contrasts();
    windows();
    identity();
    room();
    climbs();
    channels();
    few_voxels();
    return test_run("compositive", harness_close);
}
