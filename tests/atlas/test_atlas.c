/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of populations whose middle is known. */
#include <unistd.h>

#include "atlas/population.h"
#include "base/matrix.h"
#include "clvox/apply.h"
#include "clvox/filter.h"
#include "io/orientation.h"
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
    /* Where a subject looks by u, the middle looks in the subject by the inverse of u. */
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

/* Five images of noise, of which two share what is in the lower half, where three have other labels than
 * they. The others outnumber the two, and the two are more like the mean. */
static void votes(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *labels[5];
    uint32_t random = 1;
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    const size_t n = clvox_grid_voxels(&grid), half = n / 2,
                 slices = 3 * (size_t)(POPULATION_SIZE[0] * POPULATION_SIZE[1]);
    for (int i = 0; i < 5; i++) {
        clvox_volume *v = population_zeros(&grid);
        labels[i] = population_zeros(&grid);
        labels[i]->kind = CLVOX_KIND_LABEL;
        for (size_t k = 0; k < n; k++) {
            random = random * 1664525 + 1013904223;
            v->data[k] = i == 1 && k < half    ? all.own[0]->data[k]
                         : k >= n - 2 * slices ? 7
                                               : (float)(random >> 16) / 655.36f;
            labels[i]->data[k] = k < half ? (i < 2 ? 1 : 2) : (float)(3 + (i > 1));
        }
        if (i == 4)
            v->data[40] = NAN;
        population_add(&all, v);
        all.s[i].labels = labels[i];
    }
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (k < half ? 2 : 4));
    clvox_atlas_result_destroy(&r);
    o.vote = CLVOX_VOTE_LOCAL;
    population_build(&all, &o, &r);
    size_t ones = 0, fours = 0, flat = 0; /* away from the border of the halves, where windows see both */
    for (size_t k = 0; k < n; k++) {
        ones += k + slices < half && r.labels->data[k] == 1;
        fours += k > half + slices && r.labels->data[k] == 4;
        flat += k >= n - slices && r.labels->data[k] == 4; /* nothing to be like: the majority */
    }
    assert_that(ones > .98 * (double)(half - slices), "%zu of %zu are as in the two", ones, half - slices);
    assert_that(fours > .8 * (double)(half - slices) && flat == slices, "%zu of %zu are as in the three",
                fours, half - slices);
    clvox_atlas_result_destroy(&r);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&labels[i]);
    population_release(&all);
}

/* Through perfect maps every subject gets the template's labels, whether it has some of its own or not. */
static void assert_all_labelled(const clvox_atlas_result *r)
{
    for (int i = 0; i < r->subjects; i++) {
        assert_non_null(r->map[i].labels);
        assert_true(clvox_grid_equal(&r->map[i].labels->grid, &r->labels->grid));
        assert_int_equal(r->map[i].labels->kind, CLVOX_KIND_LABEL);
        assert_memory_equal(r->map[i].labels->data, r->labels->data,
                            clvox_grid_voxels(&r->labels->grid) * sizeof(float));
    }
}

/* Equal weights: the smallest label. Perfect maps: the labels themselves. */
static void ties_and_perfect_maps(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *labels[4];
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, true, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    for (int i = 0; i < 4; i++) {
        clvox_volume *v = population_zeros(&grid);
        labels[i] = population_zeros(&grid);
        labels[i]->kind = CLVOX_KIND_LABEL;
        for (size_t k = 0; k < n; k++) {
            v->data[k] = (float)(k * 37 % 101) + (float)i;
            labels[i]->data[k] = i < 2 ? 9 : (float)(4 + k % 3);
        }
        population_add(&all, v);
        all.s[i].labels = labels[i];
    }
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    population_build(&all, &o, &r); /* two against two */
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (float)(4 + k % 3));
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    all.s[1].weight = 1 + 1e-6;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 9);
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    /* 0 is a label like others, and those who have none do not vote. */
    for (size_t k = 0; k < n; k++)
        labels[0]->data[k] = 0;
    all.s[1].labels = all.s[3].labels = NULL;
    population_build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 0);
    assert_all_labelled(&r);
    clvox_atlas_result_destroy(&r);
    /* All the same labels on images that lie as they lie: through any vote the labels come back. */
    for (int i = 0; i < 4; i++)
        all.s[i].labels = labels[2];
    for (o.vote = CLVOX_VOTE_MAJORITY; o.vote <= CLVOX_VOTE_LOCAL; o.vote++) {
        population_build(&all, &o, &r);
        assert_memory_equal(r.labels->data, labels[2]->data, n * sizeof(float));
        assert_all_labelled(&r);
        clvox_atlas_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&labels[i]);
    population_release(&all);
}

/* Balls of 9 mm in noise, with one hot voxel each; stored so that axes run against R, A and S. */
static clvox_volume *ball_in_noise(const clvox_grid *grid, const double middle[3], uint64_t seed)
{
    clvox_volume *v = population_zeros(grid);
    for (size_t k = 0; k < clvox_grid_voxels(grid); k++) {
        const double index[3] = {(double)(k % (size_t)grid->size[0]),
                                 (double)(k / (size_t)grid->size[0] % (size_t)grid->size[1]),
                                 (double)(k / ((size_t)grid->size[0] * (size_t)grid->size[1]))};
        double at[3], square = 0;
        clv_matrix_apply(CLV_MATRIX(grid->to_ras), index, at);
        for (int i = 0; i < 3; i++)
            square += (at[i] - middle[i]) * (at[i] - middle[i]);
        seed = seed * UINT64_C(6364136223846793005) + 1;
        v->data[k] = (float)(seed >> 40 & 15) + (square < 81 ? 100 : 0);
    }
    v->data[1] = 400;
    return v;
}

/* How far a grid reaches beyond a ball, at least and at most over the six sides of its box, mm: from the
 * centres of voxels. Its axes are those of the world, up to order and direction. */
static void assert_around(const clvox_grid *grid, const double middle[3], double least, double most)
{
    const int *size = grid->size;
    double corner[2][3];
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (const double[3]){0, 0, 0}, corner[0]);
    clv_matrix_apply(CLV_MATRIX(grid->to_ras), (const double[3]){size[0] - 1, size[1] - 1, size[2] - 1},
                     corner[1]);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) {
            const double low = fmin(corner[0][k], corner[1][k]), high = fmax(corner[0][k], corner[1][k]);
            const double beyond = i ? high - (middle[k] + 9) : middle[k] - 9 - low;
            assert_that(beyond > least && beyond < most, "side %d of axis %d: %g mm beyond the ball", i, k,
                        beyond);
        }
}

/* Whether one volume is the part of another on its own grid, bit for bit. */
static void assert_part(const clvox_volume *part, const clvox_volume *whole)
{
    double back[4][4], map[4][4];
    size_t i = 0;
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(whole->grid.to_ras), back), CLVOX_OK);
    clv_matrix_multiply(CLV_MATRIX(back), CLV_MATRIX(part->grid.to_ras), map);
    for (int z = 0; z < part->grid.size[2]; z++)
        for (int y = 0; y < part->grid.size[1]; y++)
            for (int x = 0; x < part->grid.size[0]; x++, i++) {
                double at[3];
                size_t index = 0, stride = 1;
                clv_matrix_apply(CLV_MATRIX(map), (const double[3]){x, y, z}, at);
                for (int k = 0; k < 3; k++) {
                    assert_true(fabs(at[k] - round(at[k])) < 1e-6);
                    index += stride * (size_t)lround(at[k]);
                    stride *= (size_t)whole->grid.size[k];
                }
                assert_true(part->data[i] == whole->data[index]);
            }
}

static const double MIDDLE[3] = {12, -20, 35};

/* The grid of the template with a margin of 6 mm: blocks of 4 mm and a voxel of 2 at most are around that. */
static void cut_to_balls(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result whole, r;
    clvox_grid grid = {.size = {33, 40, 30}}, other = {.size = {40, 36, 44}};
    (void)state;
    /* x runs to P, y to L, z to S. */
    grid.to_ras[1][0] = -2, grid.to_ras[0][1] = -2, grid.to_ras[2][2] = 2.5, grid.to_ras[3][3] = 1;
    other.to_ras[0][0] = other.to_ras[1][1] = other.to_ras[2][2] = 1.5, other.to_ras[3][3] = 1;
    const double half[3] = {grid.size[0] / 2, grid.size[1] / 2, grid.size[2] / 2};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++)
            grid.to_ras[k][3] += (i ? 0 : MIDDLE[k]) - grid.to_ras[k][i] * half[i];
    for (int k = 0; k < 3; k++)
        other.to_ras[k][3] = MIDDLE[k] - 1.5 * other.size[k] / 2;
    for (uint64_t i = 0; i < 3; i++)
        population_add(&all, ball_in_noise(&grid, MIDDLE, i + 5));
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    population_build(&all, &o, &whole);
    o.margin = 6;
    population_build(&all, &o, &r);
    assert_around(&r.average->grid, MIDDLE, 3, 6 + 4 + 2.5);
    assert_true(r.average->grid.to_ras[1][0] == -2); /* stored as the images are */
    assert_part(r.average, whole.average);
    clvox_atlas_result_destroy(&r);
    /* The mask, on another grid, leaves half of the ball. */
    clvox_volume *mask = population_zeros(&other);
    for (size_t k = clvox_grid_voxels(&other) / 2; k < clvox_grid_voxels(&other); k++)
        mask->data[k] = 1;
    for (int i = 0; i < 3; i++)
        all.s[i].mask = mask;
    population_build(&all, &o, &r);
    const double bottom = r.average->grid.to_ras[2][3];
    assert_that(fabs(bottom - (MIDDLE[2] - 6)) < 4 + 2.5, "the grid begins %g mm below the middle",
                MIDDLE[2] - bottom);
    assert_part(r.average, whole.average);
    clvox_atlas_result_destroy(&r);
    for (int i = 0; i < 3; i++)
        all.s[i].mask = NULL;
    clvox_volume_destroy(&mask);
    o.margin = 1e4; /* what there is */
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.average->grid, &grid));
    assert_memory_equal(r.average->data, whole.average->data, clvox_grid_voxels(&grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    /* Around what a template to begin with shows, of which that part is kept. */
    o.margin = 6;
    clvox_volume *start = population_copy(whole.average);
    assert_int_equal(clvox_atlas(harness_context(), all.s, all.count, start, &o, &r), CLVOX_OK);
    assert_around(&r.average->grid, MIDDLE, 3, 6 + 4 + 2.5);
    assert_part(r.average, start);
    clvox_volume_destroy(&start);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&whole);
    /* Of two grids, with the ball elsewhere in each. */
    population_add(&all,
                   ball_in_noise(&other, (const double[3]){MIDDLE[0] - 5, MIDDLE[1], MIDDLE[2] + 4}, 1));
    o.margin = -1;
    population_build(&all, &o, &whole);
    o.margin = 6;
    population_build(&all, &o, &r);
    assert_that(clvox_grid_voxels(&r.average->grid) < clvox_grid_voxels(&whole.average->grid) / 2,
                "nothing was cut");
    double mean[3];
    for (int k = 0; k < 3; k++)
        mean[k] = MIDDLE[k] + (k == 0 ? -5 : k == 2 ? 4 : 0) / 4.;
    assert_around(&r.average->grid, mean, 3,
                  6 + 8 + 2.5); /* centroids of noisy balls are not their middles */
    clvox_atlas_result_destroy(&r);
    o.margin = 1e4;
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.average->grid, &whole.average->grid));
    assert_memory_equal(r.average->data, whole.average->data,
                        clvox_grid_voxels(&whole.average->grid) * sizeof(float));
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&whole);
    population_release(&all);
}

/* Clipped before they are scaled, averaged and registered. */
static void clipped_images(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *want = NULL;
    (void)state;
    clvox_phantom_grid(POPULATION_SIZE, POPULATION_EDGE, false, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    population_add(&all, population_zeros(&grid));
    for (size_t k = 0; k < n; k++)
        all.own[0]->data[k] = k % 50 ? (float)(k * 37 % 101) : 1e4f;
    population_options(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    o.clip_low = .1;
    o.clip_high = .9;
    assert_int_equal(clvox_filter_winsorize(all.own[0], NULL, .1, .9, &want), CLVOX_OK);
    population_build(&all, &o, &r);
    assert_that(population_apart(r.average, want) < 1e-6, "not clipped: %g apart",
                population_apart(r.average, want));
    clvox_atlas_result_destroy(&r);
    o.keep_intensities = 0;
    population_build(&all, &o, &r);
    float least = INFINITY, most = -INFINITY;
    for (size_t k = 0; k < n; k++) {
        least = fminf(least, r.average->data[k]);
        most = fmaxf(most, r.average->data[k]);
    }
    assert_that(fabsf(least) < 1e-4f && fabsf(most - 100) < 1e-4f, "from %g to %g", (double)least,
                (double)most);
    clvox_atlas_result_destroy(&r);
    o.clip_low = .9;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 1, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "quantiles"));
    clvox_volume_destroy(&want);
    population_release(&all);
}

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
    /* Of one first channel and two second ones: two subjects. */
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
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, all.own[0], &o, &r), CLVOX_ERROR_ARGUMENT);
    o.channels = CLVOX_ATLAS_CHANNELS + 1;
    assert_int_equal(clvox_atlas(harness_context(), all.s, 2, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&further[i]);
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

/* A value of a volume between voxels, 0 outside. */
static double sample(const clvox_volume *v, int frame, const double at[3])
{
    const int *size = v->grid.size;
    const size_t n = clvox_grid_voxels(&v->grid);
    double sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        double weight = 1;
        size_t index = 0, stride = 1;
        for (int k = 0; k < 3; k++) {
            const int below = (int)floor(at[k]), i = below + (corner >> k & 1);
            weight *= corner >> k & 1 ? at[k] - below : 1 - (at[k] - below);
            weight = i < 0 || i >= size[k] ? 0 : weight;
            index += stride * (size_t)(i < 0 || i >= size[k] ? 0 : i);
            stride *= (size_t)size[k];
        }
        sum += weight * (double)v->data[(size_t)frame * n + index];
    }
    return sum;
}

/* How much of the label 1, 0 to 1, lies in the template where a voxel of the subject is, in plain C; NAN
 * near its border, where maps are continued. */
static double label_there(const clvox_atlas_result *r, int subject, size_t voxel)
{
    const clvox_atlas_map *m = &r->map[subject];
    const int *size = m->labels->grid.size;
    double inverse[4][4], back[4][4], x[3], y[3], at[3];
    const double index[3] = {(double)(voxel % (size_t)size[0]),
                             (double)(voxel / (size_t)size[0] % (size_t)size[1]),
                             (double)(voxel / ((size_t)size[0] * (size_t)size[1]))};
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(m->matrix), inverse), CLVOX_OK);
    assert_int_equal(clv_matrix_invert(CLV_MATRIX(r->labels->grid.to_ras), back), CLVOX_OK);
    clv_matrix_apply(CLV_MATRIX(m->labels->grid.to_ras), index, x);
    clv_matrix_apply(CLV_MATRIX(inverse), x, y);
    for (int step = 0; step < 2; step++) {
        clv_matrix_apply(CLV_MATRIX(back), y, at);
        for (int k = 0; k < 3; k++)
            if (!(at[k] > 1 && at[k] < r->labels->grid.size[k] - 2))
                return NAN;
        for (int k = 0; k < 3 && !step; k++)
            y[k] += sample(m->inverse_warp, k, at);
    }
    return sample(r->labels, 0, at);
}

/* Subjects on an oblique and on another grid, both of anisotropic voxels, of which one has labels. */
static void labels_of_subjects(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    clvox_volume *truth = NULL, *u = NULL;
    (void)state;
    clvox_phantom_grid((const int[3]){27, 22, 19}, (const double[3]){2, 2.2, 2.4}, true, &p.fixed_grid);
    clvox_phantom_grid((const int[3]){24, 25, 23}, (const double[3]){2.1, 2, 2}, false, &p.moving_grid);
    clv_matrix_identity(p.matrix);
    p.matrix[0][3] = 4;
    pair_fill(&p, 2, 11);
    population_add(&all, population_copy(p.fixed));
    population_add(&all, population_copy(p.moving));
    population_add(&all, population_copy(p.moving)); /* which is registered once */
    all.s[0].labels = p.labels;
    population_options(&o, CLVOX_DEFORM_SYN);
    population_build(&all, &o, &r);
    assert_true(clvox_grid_equal(&r.map[0].labels->grid, &p.fixed_grid));
    for (int i = 0; i < 2; i++) {
        size_t looked = 0;
        for (size_t v = 0; v < clvox_grid_voxels(&r.map[i].labels->grid); v++) {
            const double share = label_there(&r, i, v);
            if (!(fabs(share - .5) > 1e-3)) /* nobody's */
                continue;
            looked++;
            assert_that(r.map[i].labels->data[v] == (share > .5),
                        "subject %d has %g at %zu, where the template has %g", i,
                        (double)r.map[i].labels->data[v], v, share);
        }
        assert_that(looked > clvox_grid_voxels(&r.map[i].labels->grid) / 4, "%zu voxels compared", looked);
    }
    assert_memory_equal(r.map[1].labels->data, r.map[2].labels->data,
                        clvox_grid_voxels(&p.moving_grid) * sizeof(float));
    /* What the labelled one says, where the true map takes it. */
    assert_int_equal(clv_phantom_warp_sample(&p.warp, &p.fixed_grid, false, &u), CLVOX_OK);
    clvox_transform warp = {.is_warp = 1, .warp = u}, affine = {.is_warp = 0};
    clv_matrix_copy(CLV_MATRIX(p.matrix), affine.matrix);
    assert_int_equal(clvox_forward(harness_context(), p.labels, &p.moving_grid,
                                   (const clvox_link[]){{&warp, 0}, {&affine, 0}}, 2, CLVOX_LANDING_MEAN, 0,
                                   &truth),
                     CLVOX_OK);
    double both = 0, sum = 0;
    for (size_t v = 0; v < clvox_grid_voxels(&p.moving_grid); v++) {
        both += r.map[1].labels->data[v] > 0 && truth->data[v] > 0;
        sum += (r.map[1].labels->data[v] > 0) + (truth->data[v] > 0);
    }
    assert_that(2 * both / sum > .9, "Dice %g", 2 * both / sum);
    clvox_atlas_result_destroy(&r);
    o.template_only = 1;
    o.rounds = 1;
    population_build(&all, &o, &r);
    assert_true(r.labels && !r.map[0].labels && !r.map[1].labels);
    clvox_atlas_result_destroy(&r);
    clvox_volume_destroy(&truth);
    clvox_volume_destroy(&u);
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
    /* Of one that lies elsewhere, 2 of 25 voxels along an axis of the template are too few, whatever they
     * show. */
    for (int k = 0; k < (int)clvox_grid_voxels(&start->grid); k++)
        all.own[2]->data[k] = start->data[k] = (float)(k * 37 % 101);
    all.s[2].mask = NULL;
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.progress = NULL;
    all.own[2]->grid.to_ras[0][3] += 46;
    assert_ok(clvox_atlas(ctx, all.s, count, start, &o, &r));
    assert_non_null(strstr(r.map[2].left_out, "third: it is lost"));
    assert_int_equal(r.map[0].suspicions & CLVOX_SUSPECT_OVERLAP, 0);
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
    test_case(votes, "the majority's labels, and those of the subjects that are like the template");
    test_case(ties_and_perfect_maps,
              "of equal votes the smallest label; through perfect maps the labels themselves");
    test_case(other_storages, "subjects stored in another order of axes give the same template, stored so");
    test_case(left_out, "a subject that cannot be registered is named, or left out");
    test_case(misuse, "what cannot be averaged is named, and a run that is stopped leaves nothing");
    test_case(identical_images, "the template of copies is the image, also after a hundred rounds");
    test_case(mirrored_maps, "images by a map and by its inverse have the image in their middle");
    test_case(sums_in_one_order, "values whose sum depends on its order are summed in one");
    test_case(order_and_weights, "order and scale of weights change no bit; twice is a weight of 2");
    test_case(concentric_balls, "balls of two radii average to one between");
    test_case(cut_to_balls, "with a margin the grid is the part around the heads, of one grid, of several, "
                            "of a template to begin with"),
        test_case(clipped_images, "images are clipped at quantiles before they are averaged"),
        test_case(channels,
                  "a second channel is registered with the first and averaged through the same maps"),
        test_case(labels_of_subjects,
                  "the template's labels on subjects of oblique and anisotropic grids, labelled or not"),
        test_case(other_grids, "one subject; two of other grids and orientations, with labels");
    return test_run("atlas", harness_close);
}
