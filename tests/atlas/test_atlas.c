/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of populations whose middle is known. */
#include <unistd.h>

#include "atlas/population.h"
#include "base/matrix.h"
#include "clvox/filter.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

static void identical_images(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    pair_make(&p, POPULATION_SIZE, POPULATION_EDGE, true, 0, 3);
    for (int i = 0; i < 3; i++) {
        population_add(&all, population_copy(p.fixed));
        all.own[i]->data[0] += 1e-3f * (float)i; /* so that they are registered by themselves */
    }
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 4;
    o.keep_intensities = 1;
    o.rounds = 100;
    population_build(&all, &o, &r);
    assert_int_equal(r.rounds, 101);
    assert_that(population_apart(r.average, p.fixed) < 1e-5, "the template of copies is %g off",
                population_apart(r.average, p.fixed));
    for (int i = 0; i < r.rounds; i++)
        assert_that(r.round[i].removed_voxels < 1e-4, "round %d removes %g voxels", i,
                    r.round[i].removed_voxels);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
    pair_free(&p);
}

/* A subject whose left and right are exchanged is reported, though it deforms to the template as well as
 * any. */
static void exchanged_sides(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    pair_make(&p, (int[3]){36, 44, 33}, (double[3]){4, 3.5, 4}, false, 4, 11);
    for (int i = 0; i < 2; i++)
        population_add(&all, population_copy(p.moving));
    const int n = all.own[1]->grid.size[0];
    for (size_t k = 0; k < clvox_grid_voxels(&p.moving->grid); k++)
        all.own[1]->data[k] = p.moving->data[k / (size_t)n * (size_t)n + (size_t)(n - 1) - k % (size_t)n];
    all.s[1].weight = .01; /* else the template has equal sides */
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 4;
    o.linear_rounds = 2;
    o.rounds = 1;
    assert_ok(clvox_atlas(ctx, all.s, all.count, p.fixed, &o, &r));
    for (int i = 0; i < 2; i++)
        assert_that(!!(r.map[i].suspicions & CLVOX_SUSPECT_MIRRORED) == i, "subject %d: %#x", i,
                    r.map[i].suspicions);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
    pair_free(&p);
}

/* Images pulled through a map and through its inverse have the image itself in their middle. */
static void mirrored_maps(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    pair_make(&p, POPULATION_SIZE, POPULATION_EDGE, true, 2.5, 5);
    clvox_volume *u[2] = {NULL};
    for (int inverse = 0; inverse < 2; inverse++) {
        assert_int_equal(clv_phantom_warp_sample(&p.warp, &p.fixed_grid, inverse, &u[inverse]), CLVOX_OK);
        population_add(&all, population_pull(p.fixed, u[inverse]));
    }
    clvox_atlas_defaults(&o);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    o.rounds = 0;
    o.linear_rounds = 1;
    population_build(&all, &o, &r);
    double before = population_apart(r.average, p.fixed);
    clvox_atlas_result_destroy(&r);
    o.rounds = 3;
    population_build(&all, &o, &r);
    double after = population_apart(r.average, p.fixed);
    assert_that(after < .8 * before, "the template is %g from the middle, the plain mean %g", after, before);
    /* If a subject is sampled by u, the middle samples it by the inverse of u. */
    clvox_volume *none = population_copy(u[0]);
    memset(none->data, 0, 3 * clvox_grid_voxels(&none->grid) * sizeof(float));
    for (int i = 0; i < 2; i++) {
        double most, start = pair_distance(none, u[1 - i], p.labels, &most),
                     error = pair_distance(r.map[i].warp, u[1 - i], p.labels, &most);
        assert_that(error < .5 * start, "map %d is %g voxels off, nothing %g", i, error, start);
    }
    for (int i = 1; i < r.rounds; i++)
        assert_that(r.round[i].left_voxels < 1e-3, "round %d leaves %g of %g voxels", i,
                    r.round[i].left_voxels, r.round[i].removed_voxels);
    clvox_volume_destroy(&none);
    /* One subject's map is the other's inverse. */
    const clvox_transform one = {.is_warp = 1, .warp = r.map[0].warp},
                          two = {.is_warp = 1, .warp = r.map[1].warp};
    double largest,
        detour = pair_detour_of((const clvox_link[]){{&one, 0}, {&two, 0}}, 2, p.labels, &largest);
    assert_that(detour < .35, "there and back by both maps: %g voxels", detour);
    clvox_volume_destroy(&u[0]);
    clvox_volume_destroy(&u[1]);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
    pair_free(&p);
}

static void order_and_weights(void **state)
{
    population all = {.count = 0}, other = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r, s;
    (void)state;
    population_make_three(&all);
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    o.rounds = 1;
    all.s[0].weight = 2;
    population_build(&all, &o, &r);
    size_t bytes = clvox_grid_voxels(&r.average->grid) * sizeof(float);
    static const int order[3] = {2, 0, 1};
    for (int i = 0; i < 3; i++) {
        population_add(&other, population_copy(all.own[order[i]]));
        other.s[i].weight = 3 * all.s[order[i]].weight;
    }
    population_build(&other, &o, &s);
    assert_memory_equal(r.average->data, s.average->data, bytes);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(r.map[order[i]].warp->data, s.map[i].warp->data, 3 * bytes);
    clvox_atlas_result_destroy(&s);
    /* The first one twice, instead of its weight. */
    for (int i = 0; i < 3; i++)
        other.s[i].weight = 1;
    population_add(&other, population_copy(all.own[0]));
    population_build(&other, &o, &s);
    assert_memory_equal(r.average->data, s.average->data, bytes);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(r.map[i < 3 ? order[i] : 0].warp->data, s.map[i].warp->data, 3 * bytes);
    clvox_atlas_result_destroy(&s);
    clvox_atlas_result_destroy(&r);
    population_release(&other);
    population_release(&all);
}

static void averages(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    static const float value[4] = {1, 2, 4, 90};
    for (int i = 0; i < 4; i++) {
        clvox_volume *v = population_zeros(&grid);
        for (size_t k = 0; k < clvox_grid_voxels(&grid); k++)
            v->data[k] = value[i] * (float)(1 + k % 5);
        if (i == 0)
            v->data[11] = NAN;
        population_add(&all, v);
    }
    all.s[1].weight = 3;
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    /* Sorted by value with weights 1, 3, 1, 1: the median is 2, and a tenth of 6 is .6 of the first and the
     * last. */
    static const double want[3] = {(1 + 3 * 2 + 4 + 90) / 6., (.4 * 1 + 3 * 2 + 4 + .4 * 90) / 4.8, 2};
    for (int a = 0; a < 3; a++) {
        o.average = (clvox_average)a;
        population_build(&all, &o, &r);
        assert_float_equal(r.average->data[5], want[a], 1e-5 * want[a]);
        assert_float_equal(r.average->data[8], 4 * want[a], 4e-5 * want[a]);
        clvox_atlas_result_destroy(&r);
    }
    /* Sharpened, it is what the filter makes of the mean. */
    clvox_volume *sharp = NULL;
    o.average = CLVOX_AVERAGE_MEAN;
    population_build(&all, &o, &r);
    assert_ok(clvox_filter_unsharp(ctx, r.average, (const double[3]){1, 1, 1}, true, .7, &sharp));
    clvox_atlas_result_destroy(&r);
    o.unsharp = .7;
    population_build(&all, &o, &r);
    assert_memory_equal(r.average->data, sharp->data, clvox_grid_voxels(&grid) * sizeof(float));
    clvox_volume_destroy(&sharp);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
}

/* Values whose sum depends on its order, even in double precision. */
static void sums_in_one_order(void **state)
{
    clvox_grid grid;
    clvox_atlas_options o;
    clvox_atlas_result r[2];
    static const float value[3] = {1e20f, -1e20f, 3};
    static const int order[2][3] = {{0, 1, 2}, {0, 2, 1}};
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    for (int t = 0; t < 2; t++) {
        population all = {.count = 0};
        for (int i = 0; i < 3; i++) {
            clvox_volume *v = population_zeros(&grid);
            for (size_t k = 0; k < clvox_grid_voxels(&grid); k++)
                v->data[k] = value[order[t][i]] * (float)(1 + k % 2);
            population_add(&all, v);
        }
        population_build(&all, &o, &r[t]);
        population_release(&all);
    }
    assert_memory_equal(r[0].average->data, r[1].average->data, clvox_grid_voxels(&grid) * sizeof(float));
    for (int t = 0; t < 2; t++)
        clvox_atlas_result_destroy(&r[t]);
}

/* Balls of 13 and 19 mm: the template's radius lies between, by the mean of the logarithms. */
static void concentric_balls(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    static const int size[3] = {33, 31, 35};
    (void)state;
    population_add(&all, population_ball(size, 13));
    population_add(&all, population_ball(size, 19));
    population_options_of_balls(&o);
    o.rounds = 3;
    population_build(&all, &o, &r);
    const double found = population_radius(r.average);
    assert_that(fabs(found - 16) < 1, "the template's ball has a radius of %g mm", found);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
}

static void other_grids(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    clvox_phantom_grid((const int[3]){27, 22, 19}, (const double[3]){2, 2.2, 2.4}, true, &p.fixed_grid);
    clvox_phantom_grid((const int[3]){24, 25, 23}, (const double[3]){2.1, 2, 2}, false, &p.moving_grid);
    clv_matrix_identity(p.matrix);
    p.matrix[0][3] = 6;
    pair_fill(&p, 2, 11);
    population_add(&all, population_copy(p.fixed));
    population_options(&o, CLVOX_DEFORM_SYN);
    o.rounds = 1;
    population_build(&all, &o, &r); /* of one */
    assert_true(clvox_grid_equal(&r.average->grid, &p.fixed_grid));
    clvox_atlas_result_destroy(&r);
    population_add(&all, population_copy(p.moving));
    all.s[0].labels = p.labels;
    population_build(&all, &o, &r);
    assert_true(r.average->grid.to_ras[0][1] == 0 &&
                r.average->grid.to_ras[2][0] == 0); /* along R, A and S */
    assert_that(r.map[0].likeness > .7 && r.map[1].likeness > .7, "alike by %g and %g", r.map[0].likeness,
                r.map[1].likeness);
    double sum = fabs(r.map[0].matrix[0][3] + r.map[1].matrix[0][3]),
           span = r.map[1].matrix[0][3] - r.map[0].matrix[0][3];
    assert_that(sum < 2.5 && fabs(span) > 2, "the shifts are %g and %g mm", r.map[0].matrix[0][3],
                r.map[1].matrix[0][3]);
    assert_non_null(r.labels);
    double inside = 0, voted = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&p.fixed_grid); i++)
        inside += p.labels->data[i] > 0 ? fabs(clv_matrix_determinant(CLV_MATRIX(p.fixed_grid.to_ras))) : 0;
    for (size_t i = 0; i < clvox_grid_voxels(&r.labels->grid); i++)
        voted += r.labels->data[i] > 0 ? fabs(clv_matrix_determinant(CLV_MATRIX(r.labels->grid.to_ras))) : 0;
    assert_that(fabs(voted / inside - 1) < .2, "labels of %g mm^3 became %g", inside, voted);
    clvox_atlas_result_destroy(&r);
    population_release(&all);
    pair_free(&p);
}

/* Voxels in another order are the same subjects: the template is that one, stored as they are. */
static void other_storages(void **state)
{
    population all = {.count = 0}, other = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    const clv_orientation turned = {{1, 2, 0}, {true, false, true}};
    clv_orientation back;
    (void)state;
    clv_orientation_inverse(&turned, &back);
    population_make_three(&all);
    for (int i = 0; i < 3; i++) {
        clvox_volume *v;
        assert_ok(clv_orientation_volume(all.own[i], &turned, NULL, &v));
        population_add(&other, v);
    }
    all.s[1].labels = all.own[1];
    other.s[1].labels = other.own[1];
    population_options_of_bits(&o);
    o.rounds = 1;
    population_build(&all, &o, &want);
    population_build(&other, &o, &r);
    assert_true(clvox_grid_equal(&r.average->grid, &other.own[0]->grid));
    assert_true(clvox_grid_equal(&r.map[1].warp->grid, &other.own[0]->grid));
    clvox_volume *const *const mine[] = {&r.average, &r.labels, &r.map[1].warp, &r.map[2].inverse_warp};
    clvox_volume *const *const theirs[] = {&want.average, &want.labels, &want.map[1].warp,
                                           &want.map[2].inverse_warp};
    for (int k = 0; k < 4; k++) {
        clvox_volume *same;
        assert_ok(clv_orientation_volume(*mine[k], &back, &(*theirs[k])->grid, &same));
        assert_memory_equal(same->data, (*theirs[k])->data,
                            clvox_grid_voxels(&same->grid) * (size_t)same->frames * sizeof(float));
        clvox_volume_destroy(&same);
    }
    clvox_atlas_result_destroy(&r);
    /* The same of a template to begin with. */
    assert_ok(clvox_atlas(ctx, all.s, 3, other.own[0], &o, &r));
    assert_true(clvox_grid_equal(&r.average->grid, &other.own[0]->grid));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&want);
    population_release(&all);
    population_release(&other);
}

/* A subject that no registration can use is left out of all that follows, of what a state keeps too. */
static void left_out(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-left-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    (void)state;
    population_make_three(&all);
    clvox_volume *nowhere = population_zeros(&all.own[0]->grid);
    population_options_of_bits(&o);
    o.rounds = 1;
    const int count = all.count--;
    clvox_volume *start = population_copy(all.own[0]); /* the first mean has the third subject in it */
    assert_ok(clvox_atlas(ctx, all.s, all.count, start, &o, &want));
    all.count = count;
    all.s[2].mask = nowhere;
    assert_int_equal(clvox_atlas(ctx, all.s, count, start, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "third: "));
    o.skip_bad = 1;
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = population_stop_after;
    o.user = &calls;
    for (int attempt = 6; status == CLVOX_ERROR_STOPPED; attempt += 3) {
        calls = attempt;
        status = clvox_atlas(ctx, all.s, count, start, &o, &r);
    }
    assert_ok(status);
    assert_true(r.resumed > 2);
    assert_non_null(strstr(r.map[2].left_out, "third: "));
    assert_true(!*r.map[0].left_out && !*r.map[1].left_out && !r.map[2].warp);
    assert_memory_equal(want.average->data, r.average->data,
                        clvox_grid_voxels(&r.average->grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_forget(place);
    /* For a head that lies elsewhere, 2 of 25 voxels along an axis of the template are too few, whatever
     * they show. */
    for (int k = 0; k < (int)clvox_grid_voxels(&start->grid); k++)
        all.own[2]->data[k] = start->data[k] = (float)(k * 37 % 101);
    all.s[2].mask = NULL;
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.progress = NULL;
    all.own[2]->grid.to_ras[0][3] += 46;
    assert_ok(clvox_atlas(ctx, all.s, count, start, &o, &r));
    assert_non_null(strstr(r.map[2].left_out, "third: it is lost"));
    assert_int_equal(r.map[0].suspicions & CLVOX_SUSPECT_OVERLAP, 0);
    /* It is lost when the maps of the others have been added up already, in a unit that three would need. */
    o.state = NULL;
    clvox_atlas_result_destroy(&want);
    assert_ok(clvox_atlas(ctx, all.s, 2, start, &o, &want));
    for (int k = 0; k < 2; k++)
        assert_memory_equal(want.map[k].warp->data, r.map[k].warp->data,
                            3 * clvox_grid_voxels(&want.map[k].warp->grid) * sizeof(float));
    assert_memory_equal(want.average->data, r.average->data,
                        clvox_grid_voxels(&r.average->grid) * sizeof(float));
    o.state = place;
    clvox_atlas_result_destroy(&r);
    clvox_atlas_forget(place);
    all.s[2].mask = nowhere;
    all.s[0].mask = all.s[1].mask = nowhere;
    o.progress = NULL;
    assert_int_equal(clvox_atlas(ctx, all.s, count, start, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "no subject is left"));
    assert_true(access(place, F_OK) < 0);
    clvox_atlas_result_destroy(&want);
    clvox_volume_destroy(&start);
    clvox_volume_destroy(&nowhere);
    population_release(&all);
}

/* Two channels, a mask, an image of one value, quantiles, and a grid around the heads. */
static void scaled_before(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    clvox_atlas_scaled *scaled[3];
    (void)state;
    population_make_three(&all);
    population_options_of_bits(&o);
    population_add_channel(&all, &o);
    o.clip_low = .01, o.clip_high = .99;
    o.margin = 4;
    all.s[1].mask = all.own[0];
    assert_ok(clvox_atlas(ctx, all.s, 3, NULL, &o, &want));
    for (int i = 0; i < 3; i++)
        assert_ok(clvox_atlas_scale(&all.s[i], &o, &scaled[i]));
    for (int without = 0; without < 4; without++) { /* 3: all are scaled */
        for (int i = 0; i < 3; i++)
            all.s[i].scaled = i == without ? NULL : scaled[i];
        assert_ok(clvox_atlas(ctx, all.s, 3, NULL, &o, &r));
        population_assert_same(&want, &r);
        clvox_atlas_result_destroy(&r);
    }
    clvox_atlas_result_destroy(&want);
    o.margin = 6;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "with other options"));
    for (int i = 0; i < 3; i++)
        clvox_atlas_scaled_destroy(&scaled[i]);
    clvox_volume *even = population_zeros(&all.own[0]->grid);
    clvox_atlas_subject poor = {.image = even, .name = "even"};
    clvox_atlas_defaults(&o);
    assert_int_equal(clvox_atlas_scale(&poor, &o, &scaled[0]), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "even: the image has one value"));
    assert_null(scaled[0]);
    o.channels = 2;
    assert_int_equal(clvox_atlas_scale(&poor, &o, &scaled[0]), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "even: its channel 2 is missing"));
    o.channels = CLVOX_ATLAS_CHANNELS + 1;
    assert_int_equal(clvox_atlas_scale(&poor, &o, &scaled[0]), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "channels; a template takes 1 to"));
    clvox_volume_destroy(&even);
    /* A mask on no grid, of a subject whose image is sound. */
    clvox_volume *flat = population_zeros(&all.own[1]->grid);
    memset(flat->grid.to_ras, 0, sizeof flat->grid.to_ras);
    poor = (clvox_atlas_subject){.image = all.own[1], .name = "masked", .mask = flat};
    clvox_atlas_defaults(&o);
    o.margin = 4;
    assert_int_equal(clvox_atlas_scale(&poor, &o, &scaled[0]), CLVOX_ERROR_DATA);
    assert_string_equal(clvox_message(), "masked: the mask's header has no volume");
    clvox_volume_destroy(&flat);
    population_release(&all);
}

static int stop_soon(void *user, const clvox_step *step)
{
    (void)step;
    return ++*(int *)user > 3;
}

static void misuse(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    int calls = 0;
    (void)state;
    population_make_three(&all);
    population_options(&o, CLVOX_DEFORM_GREEDY);
    assert_int_equal(clvox_atlas(ctx, all.s, 0, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    all.s[1].weight = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "second"));
    all.s[1].weight = 1;
    clvox_volume *warp = NULL;
    assert_ok(clvox_volume_create(&all.own[1]->grid, 3, CLVOX_KIND_DISPLACEMENT, &warp));
    all.s[1].mask = warp;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_string_equal(clvox_message(), "second: its mask is not 3-D of one value a voxel");
    all.s[1].mask = NULL;
    all.s[1].labels = warp;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_string_equal(clvox_message(), "second: its labels are not 3-D of one value a voxel");
    all.s[1].labels = NULL;
    clvox_volume_destroy(&warp);
    o.rounds = o.linear_rounds = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    population_options(&o, CLVOX_DEFORM_GREEDY);
    o.progress = stop_soon;
    o.user = &calls;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_STOPPED);
    assert_true(!r.average && !r.map && !r.round);
    o.progress = NULL;
    for (size_t i = 0; i < clvox_grid_voxels(&all.own[2]->grid); i++)
        all.own[2]->data[i] = i % 2 ? NAN : 7;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "third"));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(NULL);
    population_release(&all);
}

int main(void)
{
    ctx = harness_open();
    test_case(averages, "weighted mean, trimmed mean and median, sharpened");
    test_case(other_storages, "subjects stored in another order of axes give the same template, stored so");
    test_case(left_out, "a subject that cannot be registered is named, or left out");
    test_case(scaled_before, "subjects that were scaled before give the same bits");
    test_case(misuse, "what cannot be averaged is named, and a run that is stopped leaves nothing");
    test_case(identical_images, "the template of copies is the image, also after a hundred rounds");
    test_case(exchanged_sides, "a subject with left and right exchanged is reported");
    test_case(mirrored_maps, "images by a map and by its inverse have the image in their middle");
    test_case(sums_in_one_order, "values whose sum depends on its order are summed in one");
    test_case(order_and_weights, "order and scale of weights change no bit; twice is a weight of 2");
    test_case(concentric_balls, "balls of two radii average to one between");
    test_case(other_grids, "one subject; two of other grids and orientations, with labels");
    return test_run("atlas", harness_close);
}
