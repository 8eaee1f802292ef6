/* SPDX-License-Identifier: Apache-2.0 */
/* Promises of every compositive model, and how flows stop and which sizes they take, on phantoms whose true map is
 * known. */
#include <stdint.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

static const char *const names[] = {[CLVOX_DEFORM_GREEDY] = "greedy", [CLVOX_DEFORM_SYN] = "syn",
                                    [CLVOX_DEFORM_LDDMM] = "lddmm", [CLVOX_DEFORM_SHOOTING] = "shooting"};

static void start(clvox_register_options *o, clvox_deform deform)
{
    clvox_register_defaults(o);
    o->deform = deform;
    clvox_register_preset(o, CLVOX_PRESET_DEFAULT);
    o->init = CLVOX_INIT_HEADER;
    o->linear = CLVOX_LINEAR_NONE;
}

static int run(const clvox_volume *fixed, const clvox_volume *moving, const clvox_register_options *o,
               clvox_register_result *r)
{
    return pair_register(ctx, fixed, moving, NULL, NULL, o, r);
}

static const struct {
    int size[3];
    double spacing[3];
    bool oblique;
    double amplitude, most;
    const char *name;
} grids[] = {
    {{53, 50, 47}, {1, 1, 1}, false, 3.1, .35, "1 mm"},
    {{47, 53, 29}, {1.5, 1.2, 2}, true, 2.5, .35, "anisotropic, oblique, prime sizes"},
    {{83, 79, 1}, {1, 1, 3}, false, 1.8, .5, "one slice"},
};
static const clvox_metric metrics[] = {CLVOX_METRIC_LNCC, CLVOX_METRIC_SSD, CLVOX_METRIC_NCC,
                                       CLVOX_METRIC_MI};
static const char *const metric_names[] = {"LNCC", "SSD", "NCC", "MI"};

static struct {
    pair p;
    clvox_register_options o;
    clvox_register_result r;
} shared;

static int recovery_set_up(void **state)
{
    const int *given = *state;
    int g = given[0];
    pair_make(&shared.p, grids[g].size, grids[g].spacing, grids[g].oblique, grids[g].amplitude,
              7 + (uint64_t)g);
    return 0;
}

static int recovery_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    return 0;
}

static void recovers_a_known_warp(void **state)
{
    const int *given = *state;
    int g = given[0], m = given[2];
    clvox_deform deform = (clvox_deform)given[1];
    clvox_register_options o;
    clvox_register_result r;
    start(&o, deform);
    o.metric = metrics[m];
    assert_ok(run(shared.p.fixed, shared.p.moving, &o, &r));
    double largest, mean = pair_error(&shared.p, &r, NULL, &largest), before = pair_start(&shared.p, NULL);
    printf("# end-point error %.3f of %.3f voxels, metric %.4f to %.4f, J %.2f..%.2f, inverse %.4f mm\n",
           mean, before, r.metric_linear, r.metric_after, r.jacobian.smallest, r.jacobian.largest,
           r.inverse_error_mm[1]);
    assert_that(mean <= (m == 3 ? .5 : grids[g].most) && mean < .7 * before, "%.3f voxels", mean);
    assert_true(r.jacobian.folded == 0 && r.jacobian.smallest > .02 && (m == 3 || r.suspicions == 0));
    assert_true(r.ncc_after > r.ncc_linear || m == 0 || m == 3);
    assert_true(r.inverse_error_mm[1] < .05);
    clvox_register_result_destroy(&r);
}

static void recovery(clvox_deform deform)
{
    for (int g = 0; g < (int)(sizeof grids / sizeof *grids); g++) {
        test_set_up(recovery_set_up);
        for (int m = 0; m < (g == 0 ? 4 : 1); m++)
            test_case_at(recovers_a_known_warp, TEST_AT(g, (int)deform, m),
                         "%s recovers a known warp: %s, %s", names[deform], grids[g].name, metric_names[m]);
        test_tear_down(recovery_tear_down);
    }
}

typedef struct repeats_given {
    clvox_deform deform;
} repeats_given;

static void two_runs_of_give_the_same_bits(void **state)
{
    const repeats_given *given = *state;
    clvox_deform deform = given->deform;
    pair p;
    clvox_register_options o;
    clvox_register_result r, again;
    pair_make(&p, (int[3]){37, 33, 29}, (double[3]){1, 2, 1.5}, true, 2, 3);
    start(&o, deform);
    assert_ok(run(p.fixed, p.moving, &o, &r));
    assert_ok(run(p.fixed, p.moving, &o, &again));
    assert_memory_equal(r.warp->data, again.warp->data, 3 * sizeof(float) * clvox_grid_voxels(&r.warp->grid));
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&again);
    pair_free(&p);
}

static void repeats(clvox_deform deform)
{
    test_case_at(two_runs_of_give_the_same_bits, TEST_OF(((repeats_given){deform})),
                 "two runs of %s give the same bits", names[deform]);
}

static int exchange_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){53, 50, 47}, (double[3]){1, 1, 1}, false, 2.5, 11);
    start(&shared.o, CLVOX_DEFORM_SYN);
    shared.o.inverse = 1;
    return 0;
}

static void syn_leaves_an_identical_pair(void **state)
{
    (void)state;
    clvox_register_result a;
    assert_ok(run(shared.p.moving, shared.p.moving, &shared.o, &a));
    assert_that(a.largest_mm < .01, "moved by %g mm", a.largest_mm);
    clvox_register_result_destroy(&a);
}

static void exchanging_the_images_gives_syns_inverse(void **state)
{
    (void)state;
    clvox_register_result a, b;
    assert_ok(run(shared.p.fixed, shared.p.moving, &shared.o, &a));
    assert_ok(run(shared.p.moving, shared.p.fixed, &shared.o, &b));
    double largest, round = pair_detour(a.warp, b.warp, shared.p.labels, &largest),
                    own = pair_detour(a.warp, a.inverse_warp, shared.p.labels, &largest);
    clvox_register_images images[2] = {
        {.fixed = {shared.p.fixed}, .moving = {shared.p.moving}, .channels = 1},
        {.fixed = {shared.p.moving}, .moving = {shared.p.fixed}, .channels = 1}};
    clvox_register_plan plan[2];
    for (int i = 0; i < 2; i++) {
        assert_ok(clvox_register_predict(&images[i], &shared.o, &plan[i]));
        assert_int_equal(plan[i].exchanged, (i ? b : a).exchanged);
        assert_true(plan[i].levels == shared.o.levels && plan[i].size[plan[i].levels - 1][0] == 53 &&
                    plan[i].size[0][1] < 50 && plan[i].bytes == clvox_register_bytes(&images[i], &shared.o));
    }
    assert_true(plan[0].exchanged != plan[1].exchanged);
    images[0].channels = 0;
    assert_int_equal(clvox_register_predict(&images[0], &shared.o, &plan[0]), CLVOX_ERROR_ARGUMENT);
    printf("# there and back by two runs %.4f voxels, by the inverse of one %.4f\n", round, own);
    assert_that(round < .1 && own < .05, "%g and %g", round, own);
    clvox_register_result_destroy(&a);
    clvox_register_result_destroy(&b);
}

static void models_and_metrics_in_words(void **state)
{
    (void)state;
    clvox_deform_text text;
    clvox_register_options o;
    char says[32];
    int count = 0;
    for (; clvox_deform_describe(count, &text); count++)
        if (count < (int)(sizeof names / sizeof *names) && names[count])
            assert_string_equal(text.name, names[count]);
    assert_true(count > CLVOX_DEFORM_SHOOTING && !clvox_deform_describe(-1, &text));
    assert_true(clvox_deform_describe(CLVOX_DEFORM_SYN, &text) && text.gives_inverse &&
                text.presets >> CLVOX_PRESET_REGULAR & 1);
    assert_true(clvox_deform_describe(CLVOX_DEFORM_LDDMM, &text) &&
                !(text.presets >> CLVOX_PRESET_REGULAR & 1) && text.presets >> CLVOX_PRESET_DEFAULT & 1);
    assert_true(clvox_deform_takes(CLVOX_DEFORM_SYN, "surface-weight") &&
                !clvox_deform_takes(CLVOX_DEFORM_NONE, "surface-weight") &&
                !clvox_deform_takes(CLVOX_DEFORM_SYN, "solver"));
    clvox_register_defaults(&o);
    o.radius = 3;
    assert_true(clvox_metric_says(&o, CLVOX_METRIC_LNCC, 0, says) && !strcmp(says, "lncc (radius 3)"));
    assert_true(clvox_metric_says(&o, CLVOX_METRIC_SSD, 1, says) && !strcmp(says, "ssd"));
    assert_true(!clvox_metric_says(&o, (clvox_metric)99, 1, says) && !*says);
}

static void exchange(void)
{
    test_case(models_and_metrics_in_words, "models and metrics in words");
    test_set_up(exchange_set_up);
    test_case(syn_leaves_an_identical_pair, "syn leaves an identical pair where it is");
    test_case(exchanging_the_images_gives_syns_inverse, "exchanging the images gives syn's inverse");
    test_tear_down(recovery_tear_down);
}

static const int sizes[][3] = {{1, 1, 1}, {1, 13, 17}, {2, 2, 2}, {517, 3, 2}, {5, 1, 1}};

typedef struct small_given {
    clvox_deform deform;
    size_t s;
} small_given;

static void takes_or_refuses_x_x(void **state)
{
    const small_given *given = *state;
    clvox_deform deform = given->deform;
    size_t s = given->s;
    clvox_grid grid;
    clv_phantom phantom;
    clvox_volume *fixed, *moving;
    clvox_register_options o;
    clvox_register_result r;
    clvox_phantom_grid(sizes[s], (double[3]){1, 1, 1}, false, &grid);
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_BALL, &grid, 1, 0, &phantom));
    assert_ok(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &fixed));
    assert_ok(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &moving));
    moving->data[0] += 3;
    moving->data[clvox_grid_voxels(&grid) / 2] = NAN;
    start(&o, deform);
    int status = run(fixed, moving, &o, &r);
    assert_that(status == CLVOX_OK || (status == CLVOX_ERROR_DATA && clvox_message()[0]), "%s",
                clvox_message());
    for (size_t i = 0; status == CLVOX_OK && i < 3 * clvox_grid_voxels(&grid); i++)
        assert_true(isfinite(r.warp->data[i]));
    if (status == CLVOX_OK)
        clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clv_phantom_free(&phantom);
}

static void small(clvox_deform deform)
{
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        test_case_at(takes_or_refuses_x_x, TEST_OF(((small_given){deform, s})),
                     "%s takes or refuses %dx%dx%d", names[deform], sizes[s][0], sizes[s][1], sizes[s][2]);
}

static int give_up(void *user, const clvox_step *step)
{
    int *calls = user;
    assert_true(step->level >= 0 && step->iteration >= 0 && step->fraction >= 0 &&
                step->fraction <= 1 + 1e-9);
    return ++*calls == 2;
}

typedef struct stopped_given {
    clvox_deform deform;
} stopped_given;

static int stopped_set_up(void **state)
{
    (void)state;
    pair_make(&shared.p, (int[3]){29, 27, 25}, (double[3]){1, 1, 1}, false, 1, 5);
    return 0;
}

static void stops_when_it_is_told(void **state)
{
    const stopped_given *given = *state;
    clvox_deform deform = given->deform;
    int calls = 0;
    start(&shared.o, deform);
    shared.o.progress = give_up;
    shared.o.user = &calls;
    assert_true(run(shared.p.fixed, shared.p.moving, &shared.o, &shared.r) == CLVOX_ERROR_STOPPED &&
                calls == 2 && !shared.r.warp);
}

static void without_iterations_is_the_linear_part_alone(void **state)
{
    const stopped_given *given = *state;
    clvox_deform deform = given->deform;
    start(&shared.o, deform);
    memset(shared.o.iterations, 0, sizeof shared.o.iterations);
    assert_ok(run(shared.p.fixed, shared.p.moving, &shared.o, &shared.r));
    assert_that(shared.r.largest_mm < 1e-6, "%g", shared.r.largest_mm);
    clvox_register_result_destroy(&shared.r);
}

static void stopped(clvox_deform deform)
{
    test_set_up(stopped_set_up);
    test_case_at(stops_when_it_is_told, TEST_OF(((stopped_given){deform})), "%s stops when it is told to",
                 names[deform]);
    test_case_at(without_iterations_is_the_linear_part_alone, TEST_OF(((stopped_given){deform})),
                 "%s without iterations is the linear part alone", names[deform]);
    test_tear_down(recovery_tear_down);
}

/* A ball inside a shell, 100 with soft edges in the middle of a grid of 1 mm. */
typedef struct radii {
    double core, inner, outer; /* radii, mm */
} radii;

static double ring_value(const radii *ring, double r)
{
    const double soft = .4, core = 1 / (1 + exp((r - ring->core) / soft));
    return 100 * (core + 1 / (1 + exp((ring->inner - r) / soft)) - 1 / (1 + exp((ring->outer - r) / soft)));
}

/* 1 in the core, 2 in the shell. */
static int ring_part(const radii *ring, double r)
{
    return r < ring->core ? 1 : r >= ring->inner && r < ring->outer ? 2 : 0;
}

/* How far a voxel is from the middle once a displacement (NULL: none) has moved it. */
static double ring_distance(const clvox_grid *grid, size_t voxel, const clvox_volume *warp)
{
    const size_t n = clvox_grid_voxels(grid), plane = (size_t)grid->size[0] * (size_t)grid->size[1];
    const size_t at[3] = {voxel % (size_t)grid->size[0], voxel % plane / (size_t)grid->size[0], voxel / plane};
    double sum = 0;
    for (int r = 0; r < 3; r++) {
        double mm = warp ? (double)warp->data[(size_t)r * n + voxel] : 0;
        for (int c = 0; c < 3; c++)
            mm += grid->to_ras[r][c] * ((double)at[c] - (grid->size[c] - 1) / 2.);
        sum += mm * mm;
    }
    return sqrt(sum);
}

static clvox_volume *ring_image(const clvox_grid *grid, const radii *ring)
{
    clvox_volume *out;
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &out));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++)
        out->data[i] = (float)ring_value(ring, ring_distance(grid, i, NULL));
    return out;
}

/* The Dice coefficient of a part of both, the moving one brought to the fixed one. */
static double ring_dice(const radii *fixed, const radii *moving, const clvox_volume *warp, int part)
{
    size_t both = 0, either = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&warp->grid); i++) {
        const bool in_fixed = ring_part(fixed, ring_distance(&warp->grid, i, NULL)) == part;
        const bool in_moving = ring_part(moving, ring_distance(&warp->grid, i, warp)) == part;
        both += in_fixed && in_moving;
        either += (size_t)in_fixed + (size_t)in_moving;
    }
    return 2. * (double)both / (double)either;
}

/* Gaps are narrower than a voxel of the coarsest level, which presses the first ring onto its core; some are no
 * longer than steps of the finest one, which by those of full length loses the others. */
static const struct {
    radii fixed, moving;
} rings[] = {
    {{3, 5, 7.5}, {4, 5, 7.5}},
    {{3, 5, 7.5}, {4.5, 6, 9}},
    {{2, 4, 6.5}, {3, 5, 8.5}},
};

/* Also where a level is done again. */
static int never_falls(void *user, const clvox_step *step)
{
    double *last = user;
    assert_that(step->fraction >= *last, "%g after %g", step->fraction, *last);
    *last = step->fraction;
    return 0;
}

static void keeps_a_ring_off_its_core(void **state)
{
    const int *given = *state;
    const radii *fixed = &rings[given[0]].fixed, *moving = &rings[given[0]].moving;
    clvox_grid grid;
    clvox_register_options o;
    clvox_register_result r;
    clvox_phantom_grid((int[3]){32, 32, 32}, (double[3]){1, 1, 1}, false, &grid);
    clvox_volume *fixed_image = ring_image(&grid, fixed), *moving_image = ring_image(&grid, moving);
    start(&o, (clvox_deform)given[1]);
    clvox_register_preset(&o, (clvox_preset)given[2]);
    double fraction = 0;
    o.progress = never_falls;
    o.user = &fraction;
    assert_ok(run(fixed_image, moving_image, &o, &r));
    const double core = ring_dice(fixed, moving, r.warp, 1), shell = ring_dice(fixed, moving, r.warp, 2);
    printf("# Dice of the core %.3f, of the ring %.3f\n", core, shell);
    /* A voxel of the core more or fewer, as devices round, is .02. */
    assert_that(core + shell > 1.75, "%.3f and %.3f", core, shell);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&fixed_image);
    clvox_volume_destroy(&moving_image);
}

static void keeps_rings(void)
{
    static const char *const presets[] = {[CLVOX_PRESET_QUICK] = "quick", [CLVOX_PRESET_DEFAULT] = "default"};
    for (int deform = CLVOX_DEFORM_GREEDY; deform <= CLVOX_DEFORM_SYN; deform++)
        for (int preset = CLVOX_PRESET_QUICK; preset <= CLVOX_PRESET_DEFAULT; preset++)
            for (int k = 0; k < (int)(sizeof rings / sizeof *rings); k++)
                test_case_at(keeps_a_ring_off_its_core, TEST_AT(k, deform, preset),
                             "%s, %s: ring %d stays off its core", names[deform], presets[preset], k + 1);
}

int main(void)
{
    ctx = harness_open();
    for (int deform = CLVOX_DEFORM_GREEDY; deform <= CLVOX_DEFORM_SYN; deform++) {
        recovery((clvox_deform)deform);
        repeats((clvox_deform)deform);
        small((clvox_deform)deform);
        stopped((clvox_deform)deform);
    }
    static const clvox_deform flows[] = {CLVOX_DEFORM_LDDMM, CLVOX_DEFORM_SHOOTING};
    for (int i = 0; i < 2; i++) {
        small(flows[i]);
        stopped(flows[i]);
    }
    exchange();
    keeps_rings();
    return test_run("models", harness_close);
}
