/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of populations whose middle is known. */
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/matrix.h"
#include "io/orientation.h"
#include "clvox/atlas.h"
#include "clvox/filter.h"
#include "op/harness.h"
#include "register/pair.h"
#include "runtime/context.h"

static clvox_context *ctx;
static const int SIZE[3] = {25, 23, 21};
static const double EDGE[3] = {2, 2, 2.5};

enum { MOST = 6 };

typedef struct population {
    clvox_volume *own[MOST];
    clvox_atlas_subject s[MOST];
    int count;
} population;

static void add_subject(population *p, clvox_volume *image)
{
    static const char *const names[MOST] = {"first", "second", "third", "fourth", "fifth", "sixth"};
    p->own[p->count] = image;
    p->s[p->count] = (clvox_atlas_subject){.image = image, .weight = 1, .name = names[p->count]};
    p->count++;
}

static void release(population *p)
{
    for (int i = 0; i < p->count; i++)
        clvox_volume_destroy(&p->own[i]);
    p->count = 0;
}

static clvox_volume *zeros(const clvox_grid *grid)
{
    clvox_volume *v = NULL;
    assert_int_equal(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &v), CLVOX_OK);
    return v;
}

/* The image through a displacement. */
static clvox_volume *pulled(const clvox_volume *image, clvox_volume *u)
{
    clvox_volume *out = NULL;
    clvox_transform warp = {.is_warp = 1, .warp = u};
    assert_int_equal(
        clvox_apply(ctx, image, &image->grid, &(clvox_link){&warp, 0}, 1, CLVOX_INTERPOLATE_BSPLINE, 0, &out),
        CLVOX_OK);
    return out;
}

static clvox_volume *copy_of(const clvox_volume *v)
{
    clvox_volume *out = NULL;
    assert_int_equal(clvox_volume_create(&v->grid, v->frames, v->kind, &out), CLVOX_OK);
    memcpy(out->data, v->data, clvox_grid_voxels(&v->grid) * (size_t)v->frames * sizeof(float));
    return out;
}

static void options_of(clvox_atlas_options *o, clvox_deform deform)
{
    clvox_atlas_defaults(o);
    pair_options(&o->registration, deform, CLVOX_METRIC_LNCC);
    o->registration.linear = CLVOX_LINEAR_AFFINE;
    o->linear_rounds = 1;
    o->rounds = 2;
}

/* Cheap: where it is no matter what the rounds find. */
static void options_of_bits(clvox_atlas_options *o)
{
    options_of(o, CLVOX_DEFORM_GREEDY);
    o->registration.linear = CLVOX_LINEAR_TRANSLATION;
    o->registration.iterations[0] = o->registration.iterations[1] = 3;
}

static void build(const population *p, const clvox_atlas_options *o, clvox_atlas_result *r)
{
    assert_that(clvox_atlas(ctx, p->s, p->count, NULL, o, r) == CLVOX_OK, "%s", clvox_message());
}

/* rms difference over the rms of b. */
static double apart(const clvox_volume *a, const clvox_volume *b)
{
    double sum = 0, all = 0;
    assert_true(clvox_grid_equal(&a->grid, &b->grid));
    for (size_t i = 0; i < clvox_grid_voxels(&a->grid); i++) {
        double d = (double)a->data[i] - (double)b->data[i];
        sum += d * d, all += (double)b->data[i] * (double)b->data[i];
    }
    return sqrt(sum / all);
}

static void identical_images(void **state)
{
    pair p;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    pair_make(&p, SIZE, EDGE, true, 0, 3);
    for (int i = 0; i < 3; i++) {
        add_subject(&all, copy_of(p.fixed));
        all.own[i]->data[0] += 1e-3f * (float)i; /* so that they are registered by themselves */
    }
    options_of(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 4;
    o.keep_intensities = 1;
    o.rounds = 100;
    build(&all, &o, &r);
    assert_int_equal(r.rounds, 101);
    assert_that(apart(r.average, p.fixed) < 1e-5, "the template of copies is %g off",
                apart(r.average, p.fixed));
    for (int i = 0; i < r.rounds; i++)
        assert_that(r.round[i].removed_voxels < 1e-4, "round %d removes %g voxels", i, r.round[i].removed_voxels);
    clvox_atlas_result_destroy(&r);
    release(&all);
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
    pair_make(&p, SIZE, EDGE, true, 2.5, 5);
    clvox_volume *u[2] = {NULL};
    for (int inverse = 0; inverse < 2; inverse++) {
        assert_int_equal(clv_phantom_warp_sample(&p.warp, &p.fixed_grid, inverse, &u[inverse]), CLVOX_OK);
        add_subject(&all, pulled(p.fixed, u[inverse]));
    }
    clvox_atlas_defaults(&o);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    o.rounds = 0;
    o.linear_rounds = 1;
    build(&all, &o, &r);
    double before = apart(r.average, p.fixed);
    clvox_atlas_result_destroy(&r);
    o.rounds = 3;
    build(&all, &o, &r);
    double after = apart(r.average, p.fixed);
    assert_that(after < .8 * before, "the template is %g from the middle, the plain mean %g", after, before);
    /* Where a subject looks by u, the middle looks in the subject by the inverse of u. */
    clvox_volume *none = copy_of(u[0]);
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
    release(&all);
    pair_free(&p);
}

static void make_three(population *all)
{
    for (int i = 0; i < 3; i++) {
        pair p;
        pair_make(&p, SIZE, EDGE, false, 2, 7);
        /* One texture by three warps. */
        clv_phantom_warp warp;
        clvox_volume *u = NULL;
        assert_int_equal(clv_phantom_warp_make(&p.fixed_grid, 2.5, (uint64_t)(20 + i), &warp), CLVOX_OK);
        assert_int_equal(clv_phantom_warp_sample(&warp, &p.fixed_grid, false, &u), CLVOX_OK);
        add_subject(all, pulled(p.fixed, u));
        clvox_volume_destroy(&u);
        pair_free(&p);
    }
}

static void order_and_weights(void **state)
{
    population all = {.count = 0}, other = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r, s;
    (void)state;
    make_three(&all);
    options_of(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    o.rounds = 1;
    all.s[0].weight = 2;
    build(&all, &o, &r);
    size_t bytes = clvox_grid_voxels(&r.average->grid) * sizeof(float);
    static const int order[3] = {2, 0, 1};
    for (int i = 0; i < 3; i++) {
        add_subject(&other, copy_of(all.own[order[i]]));
        other.s[i].weight = 3 * all.s[order[i]].weight;
    }
    build(&other, &o, &s);
    assert_memory_equal(r.average->data, s.average->data, bytes);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(r.map[order[i]].warp->data, s.map[i].warp->data, 3 * bytes);
    clvox_atlas_result_destroy(&s);
    /* The first one twice, instead of its weight. */
    for (int i = 0; i < 3; i++)
        other.s[i].weight = 1;
    add_subject(&other, copy_of(all.own[0]));
    build(&other, &o, &s);
    assert_memory_equal(r.average->data, s.average->data, bytes);
    for (int i = 0; i < 4; i++)
        assert_memory_equal(r.map[i < 3 ? order[i] : 0].warp->data, s.map[i].warp->data, 3 * bytes);
    clvox_atlas_result_destroy(&s);
    clvox_atlas_result_destroy(&r);
    release(&other);
    release(&all);
}

static void averages(void **state)
{
    clvox_grid grid;
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    (void)state;
    clvox_phantom_grid(SIZE, EDGE, false, &grid);
    static const float value[4] = {1, 2, 4, 90};
    for (int i = 0; i < 4; i++) {
        clvox_volume *v = zeros(&grid);
        for (size_t k = 0; k < clvox_grid_voxels(&grid); k++)
            v->data[k] = value[i] * (float)(1 + k % 5);
        if (i == 0)
            v->data[11] = NAN;
        add_subject(&all, v);
    }
    all.s[1].weight = 3;
    options_of(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    /* Sorted by value with weights 1, 3, 1, 1: the median is 2, and a tenth of 6 is .6 of the first and the
     * last. */
    static const double want[3] = {(1 + 3 * 2 + 4 + 90) / 6., (.4 * 1 + 3 * 2 + 4 + .4 * 90) / 4.8, 2};
    for (int a = 0; a < 3; a++) {
        o.average = (clvox_average)a;
        build(&all, &o, &r);
        assert_float_equal(r.average->data[5], want[a], 1e-5 * want[a]);
        assert_float_equal(r.average->data[8], 4 * want[a], 4e-5 * want[a]);
        clvox_atlas_result_destroy(&r);
    }
    /* Sharpened, it is what the filter makes of the mean. */
    clvox_volume *sharp = NULL;
    o.average = CLVOX_AVERAGE_MEAN;
    build(&all, &o, &r);
    assert_ok(clvox_filter_unsharp(ctx, r.average, (const double[3]){1, 1, 1}, true, .7, &sharp));
    clvox_atlas_result_destroy(&r);
    o.unsharp = .7;
    build(&all, &o, &r);
    assert_memory_equal(r.average->data, sharp->data, clvox_grid_voxels(&grid) * sizeof(float));
    clvox_volume_destroy(&sharp);
    clvox_atlas_result_destroy(&r);
    release(&all);
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
    clvox_phantom_grid(SIZE, EDGE, false, &grid);
    const size_t n = clvox_grid_voxels(&grid), half = n / 2, slices = 3 * (size_t)(SIZE[0] * SIZE[1]);
    for (int i = 0; i < 5; i++) {
        clvox_volume *v = zeros(&grid);
        labels[i] = zeros(&grid);
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
        add_subject(&all, v);
        all.s[i].labels = labels[i];
    }
    options_of(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (k < half ? 2 : 4));
    clvox_atlas_result_destroy(&r);
    o.vote = CLVOX_VOTE_LOCAL;
    build(&all, &o, &r);
    size_t ones = 0, fours = 0, flat = 0; /* away from the border of the halves, where windows see both */
    for (size_t k = 0; k < n; k++) {
        ones += k + slices < half && r.labels->data[k] == 1;
        fours += k > half + slices && r.labels->data[k] == 4;
        flat += k >= n - slices && r.labels->data[k] == 4; /* nothing to be like: the majority */
    }
    assert_that(ones > .98 * (double)(half - slices), "%zu of %zu are as in the two", ones, half - slices);
    assert_that(fours > .8 * (double)(half - slices) && flat == slices, "%zu of %zu are as in the three", fours, half - slices);
    clvox_atlas_result_destroy(&r);
    for (int i = 0; i < 5; i++)
        clvox_volume_destroy(&labels[i]);
    release(&all);
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
    clvox_phantom_grid(SIZE, EDGE, true, &grid);
    const size_t n = clvox_grid_voxels(&grid);
    for (int i = 0; i < 4; i++) {
        clvox_volume *v = zeros(&grid);
        labels[i] = zeros(&grid);
        labels[i]->kind = CLVOX_KIND_LABEL;
        for (size_t k = 0; k < n; k++) {
            v->data[k] = (float)(k * 37 % 101) + (float)i;
            labels[i]->data[k] = i < 2 ? 9 : (float)(4 + k % 3);
        }
        add_subject(&all, v);
        all.s[i].labels = labels[i];
    }
    options_of(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    build(&all, &o, &r); /* two against two */
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == (float)(4 + k % 3));
    clvox_atlas_result_destroy(&r);
    all.s[1].weight = 1 + 1e-6;
    build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 9);
    clvox_atlas_result_destroy(&r);
    /* 0 is a label like others, and those who have none do not vote. */
    for (size_t k = 0; k < n; k++)
        labels[0]->data[k] = 0;
    all.s[1].labels = all.s[3].labels = NULL;
    build(&all, &o, &r);
    for (size_t k = 0; k < n; k++)
        assert_true(r.labels->data[k] == 0);
    clvox_atlas_result_destroy(&r);
    /* All the same labels on images that lie as they lie: through any vote the labels come back. */
    for (int i = 0; i < 4; i++)
        all.s[i].labels = labels[2];
    for (o.vote = CLVOX_VOTE_MAJORITY; o.vote <= CLVOX_VOTE_LOCAL; o.vote++) {
        build(&all, &o, &r);
        assert_memory_equal(r.labels->data, labels[2]->data, n * sizeof(float));
        clvox_atlas_result_destroy(&r);
    }
    for (int i = 0; i < 4; i++)
        clvox_volume_destroy(&labels[i]);
    release(&all);
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
    clvox_phantom_grid(SIZE, EDGE, false, &grid);
    options_of(&o, CLVOX_DEFORM_NONE);
    o.registration.linear = CLVOX_LINEAR_NONE;
    o.keep_intensities = 1;
    for (int t = 0; t < 2; t++) {
        population all = {.count = 0};
        for (int i = 0; i < 3; i++) {
            clvox_volume *v = zeros(&grid);
            for (size_t k = 0; k < clvox_grid_voxels(&grid); k++)
                v->data[k] = value[order[t][i]] * (float)(1 + k % 2);
            add_subject(&all, v);
        }
        build(&all, &o, &r[t]);
        release(&all);
    }
    assert_memory_equal(r[0].average->data, r[1].average->data, clvox_grid_voxels(&grid) * sizeof(float));
    for (int t = 0; t < 2; t++)
        clvox_atlas_result_destroy(&r[t]);
}

/* A ball in voxels of 2 mm, its edge smooth. */
static clvox_volume *ball(const int size[3], double radius)
{
    clvox_grid grid;
    clvox_phantom_grid(size, (const double[3]){2, 2, 2}, false, &grid);
    clvox_volume *v = zeros(&grid);
    for (int k = 0; k < (int)clvox_grid_voxels(&grid); k++) {
        const double at[3] = {k % size[0] - size[0] / 2, k / size[0] % size[1] - size[1] / 2,
                              k / (size[0] * size[1]) - size[2] / 2};
        double distance = 2 * sqrt(at[0] * at[0] + at[1] * at[1] + at[2] * at[2]) - radius;
        v->data[k] = (float)(100 / (1 + exp(distance / 1.2)));
    }
    return v;
}

static double radius_of(const clvox_volume *v)
{
    double volume = 0;
    for (size_t k = 0; k < clvox_grid_voxels(&v->grid); k++)
        volume += (double)v->data[k] / 100 * 8;
    return cbrt(volume * 3 / (4 * 3.14159265358979));
}

static void options_of_balls(clvox_atlas_options *o)
{
    clvox_atlas_defaults(o);
    o->registration.deform = CLVOX_DEFORM_GREEDY;
    o->registration.linear = CLVOX_LINEAR_NONE;
    clvox_register_preset(&o->registration, CLVOX_PRESET_QUICK);
    o->registration.metric = CLVOX_METRIC_SSD;
}

/* Balls of 13 and 19 mm: the template's radius lies between, by the mean of the logarithms. */
static void concentric_balls(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    static const int size[3] = {33, 31, 35};
    (void)state;
    add_subject(&all, ball(size, 13));
    add_subject(&all, ball(size, 19));
    options_of_balls(&o);
    o.rounds = 3;
    build(&all, &o, &r);
    const double found = radius_of(r.average);
    assert_that(fabs(found - 16) < 1, "the template's ball has a radius of %g mm", found);
    clvox_atlas_result_destroy(&r);
    release(&all);
}

/* ---- along a covariate ---------------------------------------------------- */

typedef struct taken {
    clvox_volume *average[3], *labels[3];
    double share[3][MOST], matrix[3][MOST][4][4];
    int calls, figures, rounds[3];
} taken;

static int take(void *user, int at, const clvox_atlas_result *r)
{
    taken *t = user;
    t->calls++;
    t->rounds[at] = r->rounds;
    for (int i = 0; i < r->subjects; i++) {
        t->share[at][i] = r->map[i].share;
        clv_matrix_copy(CLV_MATRIX(r->map[i].matrix), t->matrix[at][i]);
    }
    if (!r->average) {
        t->figures++;
        return CLVOX_OK;
    }
    clvox_volume_destroy(&t->average[at]);
    t->average[at] = copy_of(r->average);
    assert_true(!r->map[0].warp == !(r->map[0].share > 0) || !r->round[r->rounds - 1].deformable);
    return CLVOX_OK;
}

static void release_taken(taken *t)
{
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&t->average[i]);
    *t = (taken){.calls = 0};
}

/* Radii that grow with the age: a template's is that of the mean age under its kernel. */
static void balls_that_grow(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    taken t = {.calls = 0};
    static const int size[3] = {27, 25, 26};
    static const double age[5] = {0, 1, 2, 3, 4}, at[2] = {2, 3.5};
    const clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 2, .bandwidth = .7, .ready = take, .user = &t};
    (void)state;
    for (int i = 0; i < 5; i++)
        add_subject(&all, ball(size, 11 + 2 * age[i]));
    options_of_balls(&o);
    o.rounds = 2;
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    assert_int_equal(t.calls, 2);
    for (int k = 0; k < 2; k++) {
        double mean = 0, sum = 0;
        for (int i = 0; i < 5; i++) {
            const double kernel = exp(-(age[i] - at[k]) * (age[i] - at[k]) / (2 * .7 * .7));
            mean += t.share[k][i] * age[i];
            sum += t.share[k][i];
            assert_that(kernel < 1e-3 ||
                            fabs(t.share[k][i] / t.share[k][2] -
                                 kernel / exp(-(2 - at[k]) * (2 - at[k]) / (2 * .7 * .7))) < 1e-5,
                        "share %g", t.share[k][i]);
        }
        assert_float_equal(sum, 1, 1e-12);
        const double found = radius_of(t.average[k]), want = 11 + 2 * mean;
        assert_that(fabs(found - want) < .5, "at %g the radius is %g, not %g", at[k], found, want);
    }
    assert_true(t.share[1][0] == 0); /* too far */
    release_taken(&t);
    release(&all);
}

/* Affines are shared, and their mean under a template's own weights is removed. */
static void bandwidths(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result plain;
    taken t = {.calls = 0};
    double age[4] = {7, 8, 9.5, 8}, at[2] = {8.2, 9};
    clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 2, .bandwidth = 1e9, .ready = take, .user = &t};
    (void)state;
    make_three(&all);
    options_of(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    o.keep_intensities = 1;
    all.s[0].weight = 2;
    all.s[2].labels = all.own[2];
    build(&all, &o, &plain);
    const size_t voxels = clvox_grid_voxels(&plain.average->grid);
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    for (int k = 0; k < 2; k++) {
        assert_memory_equal(t.average[k]->data, plain.average->data, voxels * sizeof(float));
        assert_int_equal(t.rounds[k], 3);
    }
    clvox_atlas_result_destroy(&plain);
    release_taken(&t);
    /* The nearest alone, and where two are as near, both; one of them has labels, one is given twice. */
    add_subject(&all, copy_of(all.own[1]));
    along.bandwidth = 1e-3;
    assert_ok(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along));
    assert_that(apart(t.average[0], all.own[1]) < 1e-4, "%g from the nearest",
                apart(t.average[0], all.own[1]));
    assert_that(apart(t.average[1], all.own[2]) < 1e-4, "%g from the nearest",
                apart(t.average[1], all.own[2]));
    assert_true(t.share[0][0] == 0 && t.share[0][1] == .5 && t.share[0][2] == 0 && t.share[0][3] == .5);
    assert_true(t.share[1][2] == 1);
    assert_that(fabs(t.matrix[1][2][0][3]) < 1e-6, "the affine to itself shifts by %g mm",
                t.matrix[1][2][0][3]);
    release_taken(&t);
    age[1] = NAN;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "second: its covariate"));
    age[1] = 8, along.bandwidth = 0;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, all.count, NULL, &o, &along), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(t.calls, 0);
    release(&all);
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
    add_subject(&all, copy_of(p.fixed));
    options_of(&o, CLVOX_DEFORM_SYN);
    o.rounds = 1;
    build(&all, &o, &r); /* of one */
    assert_true(clvox_grid_equal(&r.average->grid, &p.fixed_grid));
    clvox_atlas_result_destroy(&r);
    add_subject(&all, copy_of(p.moving));
    all.s[0].labels = p.labels;
    build(&all, &o, &r);
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
    release(&all);
    pair_free(&p);
}

/* ---- a run that ends early ------------------------------------------------ */

static char folder[] = "/tmp/atlas-state-XXXXXX";

static int stop_after(void *user, const clvox_step *step)
{
    (void)step;
    return (*(int *)user)-- <= 0;
}

static void assert_same(const clvox_atlas_result *a, const clvox_atlas_result *b)
{
    size_t bytes = clvox_grid_voxels(&a->average->grid) * sizeof(float);
    assert_memory_equal(a->average->data, b->average->data, bytes);
    assert_int_equal(a->rounds, b->rounds);
    for (int i = 0; i < a->rounds; i++) { /* of which one may be NaN, and between which bytes may lie */
        const clvox_atlas_round *x = &a->round[i], *y = &b->round[i];
        assert_int_equal(x->deformable, y->deformable);
        assert_memory_equal(&x->removed_voxels, &y->removed_voxels,
                            sizeof *x - offsetof(clvox_atlas_round, removed_voxels));
    }
    for (int i = 0; i < a->subjects; i++) {
        assert_memory_equal(a->map[i].matrix, b->map[i].matrix, sizeof a->map[i].matrix);
        assert_memory_equal(a->map[i].warp->data, b->map[i].warp->data, 3 * bytes);
        assert_memory_equal(a->map[i].inverse_warp->data, b->map[i].inverse_warp->data, 3 * bytes);
        assert_true(a->map[i].likeness == b->map[i].likeness);
    }
}

/* A byte in the middle of a file of the state turns over. */
static void damage(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    const long at = ftell(file) / 2;
    fseek(file, at, SEEK_SET);
    const int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void stopped_and_resumed(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result whole, r;
    int calls, attempts = 0, status = CLVOX_ERROR_STOPPED;
    (void)state;
    make_three(&all);
    options_of(&o, CLVOX_DEFORM_GREEDY);
    o.registration.iterations[0] = o.registration.iterations[1] = 3;
    build(&all, &o, &whole);
    assert_int_equal(whole.resumed, 0);
    assert_non_null(mkdtemp(folder));
    assert_int_equal(rmdir(folder), 0); /* a run makes it */
    o.state = folder;
    o.progress = stop_after;
    o.user = &calls;
    /* One look more each time: stopped in the first mean, before, in and after registrations, between rounds.
     * */
    for (; status == CLVOX_ERROR_STOPPED && attempts < 200; attempts++) {
        calls = attempts;
        status = clvox_atlas(ctx, all.s, 3, NULL, &o, &r);
        if (attempts == 0)
            assert_true(access(folder, F_OK) < 0); /* nothing was done */
        if (attempts == 9)
            damage("subject_0");
    }
    assert_ok(status);
    assert_that(attempts > 10, "only %d attempts", attempts);
    assert_that(r.resumed > 6, "%d of 9 registrations were taken over", r.resumed);
    assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    /* Its last round is still there; so are the others' figures, unless they are damaged. */
    calls = 1000;
    build(&all, &o, &r);
    assert_int_equal(r.resumed, 9);
    assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    damage("round");
    build(&all, &o, &r);
    assert_int_equal(r.resumed, 0);
    assert_same(&whole, &r);
    clvox_atlas_result_destroy(&r);
    /* Other orders are the same subjects, other weights are not, nor other options. */
    const clvox_atlas_subject first = all.s[0];
    all.s[0] = all.s[2], all.s[2] = first;
    build(&all, &o, &r);
    assert_int_equal(r.resumed, 9);
    clvox_atlas_result_destroy(&r);
    all.s[1].weight = 2;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another set of subjects (3"));
    all.s[1].weight = 1;
    o.registration.update_sigma += 1;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another update_sigma ("));
    clvox_atlas_forget(folder);
    assert_true(access(folder, F_OK) < 0);
    clvox_atlas_forget(folder);
    clvox_atlas_result_destroy(&whole);
    release(&all);
}

static void regression_resumed(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    taken want = {.calls = 0}, t = {.calls = 0};
    char place[] = "/tmp/atlas-along-XXXXXX";
    static const double age[3] = {3, 4, 6}, at[3] = {3, 5, 6};
    int calls, attempts = 0, status = CLVOX_ERROR_STOPPED;
    clvox_atlas_regression along = {
        .covariate = age, .at = at, .count = 3, .bandwidth = 1.5, .ready = take, .user = &want};
    (void)state;
    make_three(&all);
    options_of_bits(&o);
    assert_ok(clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along));
    assert_int_equal(want.calls, 3);
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = stop_after;
    o.user = &calls;
    along.user = &t;
    for (; status == CLVOX_ERROR_STOPPED && attempts < 200; attempts++) {
        calls = attempts;
        status = clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along);
    }
    assert_ok(status);
    assert_that(t.calls > 6 && t.figures > 2, "%d templates were taken, %d as figures", t.calls, t.figures);
    for (int k = 0; k < 3; k++) {
        assert_memory_equal(t.average[k]->data, want.average[k]->data,
                            clvox_grid_voxels(&t.average[k]->grid) * sizeof(float));
        assert_memory_equal(t.share[k], want.share[k], sizeof t.share[k]);
        assert_memory_equal(t.matrix[k], want.matrix[k], sizeof t.matrix[k]);
        assert_int_equal(t.rounds[k], want.rounds[k]);
    }
    along.bandwidth = 2;
    assert_int_equal(clvox_atlas_regress(ctx, all.s, 3, NULL, &o, &along), CLVOX_ERROR_FILE);
    assert_non_null(strstr(clvox_message(), "another bandwidth (1.5, not 2)"));
    clvox_atlas_forget(place);
    release_taken(&want);
    release_taken(&t);
    release(&all);
}

/* ---- several devices ------------------------------------------------------ */

/* Contexts on the device that the tests run on, once more and again: opened once, as each builds its kernels.
 * */
enum { OTHERS = 3 };
static clvox_context **others;

static clvox_context **open_others(void)
{
    const char *device = getenv("CLVOX_DEVICE");
    char list[512];
    device = device && *device ? device : "0";
    snprintf(list, sizeof list, "%s,%s,%s", device, device, device);
    if (!others)
        assert_int_equal(clvox_contexts_create(&(clvox_context_options){.device = list}, &others), OTHERS);
    return others;
}

static void several_devices(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-devices-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    (void)state;
    make_three(&all);
    all.s[1].labels = all.own[1];
    options_of_bits(&o);
    build(&all, &o, &want);
    o.more = open_others();
    for (o.more_count = 1; o.more_count <= 2; o.more_count++) {
        build(&all, &o, &r);
        assert_same(&want, &r);
        assert_memory_equal(want.labels->data, r.labels->data,
                            clvox_grid_voxels(&r.labels->grid) * sizeof(float));
        clvox_atlas_result_destroy(&r);
    }
    /* Stopped on one, two and three in turn. */
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = stop_after;
    o.user = &calls;
    for (int attempt = 10; status == CLVOX_ERROR_STOPPED; attempt += 7) {
        calls = attempt;
        o.more_count = attempt % 3;
        status = clvox_atlas(ctx, all.s, 3, NULL, &o, &r);
    }
    assert_ok(status);
    assert_that(r.resumed > 2, "%d registrations were taken over", r.resumed);
    assert_same(&want, &r);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&want);
    clvox_atlas_forget(place);
    release(&all);
}

/* Maps on devices, one subject's of them, or in memory: the same bits, for any number of devices, and for a run
 * that goes on with them elsewhere. */
static void maps_on_devices(void **state)
{
    enum { ROOMS = 3 };
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-maps-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    (void)state;
    make_three(&all);
    all.s[1].labels = all.own[1];
    options_of_bits(&o);
    const size_t of_subject = 24 * clvox_grid_voxels(&all.own[0]->grid),
                 room[ROOMS] = {1, of_subject + 1, 9 * of_subject};
    for (o.average = CLVOX_AVERAGE_MEAN; o.average <= CLVOX_AVERAGE_TRIMMED; o.average++) {
        o.device_bytes = 1;
        o.more_count = 0;
        build(&all, &o, &want);
        assert_int_equal(want.resident, 0);
        o.more = open_others();
        for (int k = 0; k < 2 * ROOMS; k++) {
            o.more_count = k % 2 ? 2 : 0;
            o.device_bytes = room[k / 2];
            build(&all, &o, &r);
            assert_same(&want, &r);
            assert_memory_equal(want.labels->data, r.labels->data,
                                clvox_grid_voxels(&r.labels->grid) * sizeof(float));
            /* The context of the call and the others, on one device, know no gate in common. */
            assert_that(k / 2 == 1 && k % 2 ? r.resident >= 1 && r.resident <= 2
                                            : r.resident == (k / 2 > 1 ? 3 : k / 2),
                        "%zu bytes, %d contexts: %d maps", o.device_bytes, o.more_count + 1, r.resident);
            if (o.average == CLVOX_AVERAGE_MEAN || k < 2 * ROOMS - 1)
                clvox_atlas_result_destroy(&r);
        }
        if (o.average == CLVOX_AVERAGE_MEAN)
            clvox_atlas_result_destroy(&want);
    }
    clvox_atlas_result_destroy(&r);
    o.average = CLVOX_AVERAGE_TRIMMED;
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = stop_after;
    o.user = &calls;
    for (int attempt = 10; status == CLVOX_ERROR_STOPPED; attempt += 7) {
        calls = attempt;
        o.more_count = attempt % 3;
        o.device_bytes = room[attempt / 7 % ROOMS];
        status = clvox_atlas(ctx, all.s, 3, NULL, &o, &r);
    }
    assert_ok(status);
    assert_that(r.resumed > 2, "%d registrations were taken over", r.resumed);
    assert_same(&want, &r);
    clvox_atlas_result_destroy(&r);
    clvox_atlas_result_destroy(&want);
    clvox_atlas_forget(place);
    release(&all);
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
    make_three(&all);
    for (int i = 0; i < 3; i++) {
        clvox_volume *v;
        assert_ok(clv_orientation_volume(all.own[i], &turned, NULL, &v));
        add_subject(&other, v);
    }
    all.s[1].labels = all.own[1];
    other.s[1].labels = other.own[1];
    options_of_bits(&o);
    o.rounds = 1;
    build(&all, &o, &want);
    build(&other, &o, &r);
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
    release(&all);
    release(&other);
}

static void failures_on_several_devices(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    (void)state;
    make_three(&all);
    clvox_volume *nowhere = zeros(&all.own[0]->grid);
    all.s[2].mask = nowhere;
    options_of_bits(&o);
    o.rounds = 1;
    o.skip_bad = 1;
    build(&all, &o, &want);
    o.more = open_others(), o.more_count = 2;
    build(&all, &o, &r);
    assert_memory_equal(want.average->data, r.average->data,
                        clvox_grid_voxels(&r.average->grid) * sizeof(float));
    assert_non_null(strstr(r.map[2].left_out, "third: "));
    clvox_atlas_result_destroy(&r);
    o.skip_bad = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "third: "));
    all.s[2].mask = NULL;
    const clvox_device_limits limits = others[1]->limits;
    snprintf(others[1]->limits.name, sizeof others[1]->limits.name, "Another");
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_DEVICE);
    others[1]->limits = limits;
    assert_non_null(strstr(clvox_message(), "and Another (driver"));
    assert_true(!r.average && !r.map);
    o.more = NULL;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    clvox_contexts_destroy(NULL, 1);
    clvox_atlas_result_destroy(&want);
    clvox_volume_destroy(&nowhere);
    release(&all);
}

/* ---- teams ---------------------------------------------------------------- */

/* Members that are threads: what processes say by MPI they say through memory. */
enum { MOST_MEMBERS = OTHERS + 1 };
typedef struct room {
    pthread_barrier_t barrier;
    int64_t *sum[MOST_MEMBERS];
    void *bytes[MOST_MEMBERS];
    int size;
} room;

typedef struct member {
    room *room;
    clvox_team team;
    clvox_context *ctx;
    const population *all;
    clvox_atlas_options o;
    clvox_atlas_result r;
    int status;
    char sentence[512];
    pthread_t thread;
} member;

static int sum_in_room(void *user, int64_t *values, size_t count)
{
    const member *m = user;
    room *w = m->room;
    int64_t *out = malloc((count + 1) * sizeof *out);
    w->sum[m->team.rank] = values;
    pthread_barrier_wait(&w->barrier);
    for (size_t k = 0; k < count; k++) { /* as unsigned: each bit of a sum is that of any order */
        uint64_t all = 0;
        for (int i = w->size - 1; i >= 0; i--)
            all += (uint64_t)w->sum[i][k];
        out[k] = (int64_t)all;
    }
    pthread_barrier_wait(&w->barrier);
    memcpy(values, out, count * sizeof *out);
    free(out);
    return CLVOX_OK;
}

static int spread_in_room(void *user, int from, void *bytes, size_t size)
{
    const member *m = user;
    room *w = m->room;
    w->bytes[m->team.rank] = bytes;
    pthread_barrier_wait(&w->barrier);
    if (m->team.rank != from)
        memcpy(bytes, w->bytes[from], size);
    pthread_barrier_wait(&w->barrier);
    return CLVOX_OK;
}

static void *be_member(void *user)
{
    member *m = user;
    m->status = clvox_atlas(m->ctx, m->all->s, m->all->count, NULL, &m->o, &m->r);
    snprintf(m->sentence, sizeof m->sentence, "%s", clvox_message());
    return NULL;
}

/* A team of so many, each with a context and options of its own. */
static void work_together(room *w, member *m, int size, const population *all, const clvox_atlas_options *o)
{
    *w = (room){.size = size};
    pthread_barrier_init(&w->barrier, NULL, (unsigned)size);
    for (int i = 0; i < size; i++) {
        m[i] = (member){.room = w, .all = all, .o = *o};
        m[i].team = (clvox_team){i, size, sum_in_room, spread_in_room, &m[i], 0};
        m[i].o.team = &m[i].team;
        m[i].o.user = o->user ? (int *)o->user + i : NULL;
        m[i].ctx = i ? open_others()[i - 1] : ctx;
    }
}

static void wait_for_all(room *w, member *m)
{
    for (int i = 0; i < w->size; i++)
        assert_int_equal(pthread_create(&m[i].thread, NULL, be_member, &m[i]), 0);
    for (int i = 0; i < w->size; i++)
        pthread_join(m[i].thread, NULL);
    pthread_barrier_destroy(&w->barrier);
}

/* The members' results together are the one of a single process: each has the averages, one has a
 * subject's warps. */
static void assert_together(const clvox_atlas_result *want, member *m, int size)
{
    for (int k = 0; k < size; k++)
        assert_that(m[k].status == CLVOX_OK, "member %d: %s", k, m[k].sentence);
    for (int i = 0; i < want->subjects; i++) {
        int holders = 0;
        for (int k = 0; k < size; k++) {
            clvox_atlas_map *map = &m[k].r.map[i];
            holders += map->warp != NULL;
            assert_true(!map->warp == !map->inverse_warp && map->share == want->map[i].share);
            if (!k || !map->warp)
                continue;
            assert_null(m[0].r.map[i].warp);
            m[0].r.map[i].warp = map->warp, m[0].r.map[i].inverse_warp = map->inverse_warp;
            map->warp = map->inverse_warp = NULL;
        }
        assert_int_equal(holders, 1);
    }
    for (int k = 1; k < size; k++)
        assert_memory_equal(m[k].r.average->data, want->average->data,
                            clvox_grid_voxels(&want->average->grid) * sizeof(float));
    assert_same(want, &m[0].r);
    if (want->labels)
        assert_memory_equal(want->labels->data, m[0].r.labels->data,
                            clvox_grid_voxels(&want->labels->grid) * sizeof(float));
}

static void release_members(member *m, int size)
{
    for (int i = 0; i < size; i++)
        clvox_atlas_result_destroy(&m[i].r);
}

static void teams(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want;
    room w;
    member m[MOST_MEMBERS];
    (void)state;
    make_three(&all);
    all.s[1].labels = all.own[1];
    all.s[2].labels = all.own[1];
    add_subject(&all, copy_of(all.own[0])); /* one that is given twice has its maps where the first has */
    options_of_bits(&o);
    for (int average = CLVOX_AVERAGE_MEAN; average <= CLVOX_AVERAGE_MEDIAN; average += CLVOX_AVERAGE_MEDIAN) {
        o.average = (clvox_average)average;
        o.vote = average ? CLVOX_VOTE_LOCAL : CLVOX_VOTE_MAJORITY;
        o.unsharp = average ? .5 : 0;
        build(&all, &o, &want);
        for (int size = 1; size <= MOST_MEMBERS; size += average ? 3 : 1) {
            work_together(&w, m, size, &all, &o);
            for (int i = 0; size == MOST_MEMBERS && i < size; i++) /* some, and other ones, on disk */
                assert_ok(clvox_store_create("/tmp", (size_t)i * 60000, &m[i].o.store));
            wait_for_all(&w, m);
            assert_together(&want, m, size);
            release_members(m, size);
            for (int i = 0; i < size; i++)
                clvox_store_destroy(&m[i].o.store);
        }
        clvox_atlas_result_destroy(&want);
    }
    release(&all);
}

static void team_that_fails(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want;
    room w;
    member m[2];
    char place[] = "/tmp/atlas-team-XXXXXX";
    int calls[2];
    (void)state;
    make_three(&all);
    options_of_bits(&o);
    build(&all, &o, &want);
    /* One member is stopped: all end with that, and other numbers of members go on from there. */
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = stop_after;
    o.user = calls;
    calls[0] = 1000, calls[1] = 9;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_STOPPED && m[i].team.agreed && !m[i].r.average, "%d: %s", i,
                    m[i].sentence);
    o.progress = NULL;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    assert_together(&want, m, 2);
    assert_that(m[0].r.resumed > 1 && m[0].r.resumed == m[1].r.resumed, "%d were taken over", m[0].r.resumed);
    release_members(m, 2);
    clvox_atlas_result one;
    build(&all, &o, &one);
    assert_same(&want, &one);
    assert_int_equal(one.resumed, 9);
    clvox_atlas_result_destroy(&one);
    clvox_atlas_forget(place);
    /* Other options or subjects in one of them. */
    o.state = NULL;
    work_together(&w, m, 2, &all, &o);
    m[1].o.until = .5;
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_ARGUMENT &&
                        strstr(m[i].sentence, "process 1 has another until (0.5, not 0)"),
                    "%s", m[i].sentence);
    /* A subject that only its owner finds to be of no use. */
    clvox_volume *nowhere = zeros(&all.own[0]->grid);
    all.s[2].mask = nowhere;
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++)
        assert_that(m[i].status == CLVOX_ERROR_DATA && strstr(m[i].sentence, "third: "), "%s", m[i].sentence);
    clvox_atlas_result_destroy(&want);
    o.skip_bad = 1;
    build(&all, &o, &want);
    work_together(&w, m, 2, &all, &o);
    wait_for_all(&w, m);
    for (int i = 0; i < 2; i++) {
        assert_that(m[i].status == CLVOX_OK && strstr(m[i].r.map[2].left_out, "third: "), "%s",
                    m[i].sentence);
        assert_memory_equal(m[i].r.average->data, want.average->data,
                            clvox_grid_voxels(&want.average->grid) * sizeof(float));
    }
    release_members(m, 2);
    clvox_atlas_result_destroy(&want);
    clvox_volume_destroy(&nowhere);
    release(&all);
}

/* ---- on disk -------------------------------------------------------------- */

static void assert_empty(clvox_store *store)
{
    const clvox_store_bytes left = clvox_store_measure(store);
    assert_that(left.memory == 0 && left.disk == 0, "%zu bytes in memory and %zu on disk are left",
                left.memory, left.disk);
}

/* As with `want`, but with so much memory. */
static clvox_store_bytes build_within(const population *all, clvox_atlas_options *o, size_t limit,
                                      const clvox_atlas_result *want)
{
    clvox_atlas_result r;
    assert_ok(clvox_store_create("/tmp", limit, &o->store));
    build(all, o, &r);
    assert_same(want, &r);
    assert_memory_equal(want->labels->data, r.labels->data,
                        clvox_grid_voxels(&r.labels->grid) * sizeof(float));
    const clvox_store_bytes most = clvox_store_measure(o->store);
    clvox_atlas_result_destroy(&r);
    assert_empty(o->store);
    clvox_store_destroy(&o->store);
    return most;
}

/* Wherever volumes are, the bits are the same, and memory has no more of them than it may. */
static void on_disk(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result want, r;
    char place[] = "/tmp/atlas-stored-XXXXXX";
    int calls, status = CLVOX_ERROR_STOPPED;
    (void)state;
    make_three(&all);
    add_subject(&all, copy_of(all.own[0])); /* twice */
    all.s[1].labels = all.own[1];
    all.s[2].labels = all.own[1];
    all.s[2].weight = 2;
    options_of_bits(&o);
    o.more = open_others();
    for (int average = CLVOX_AVERAGE_MEAN; average <= CLVOX_AVERAGE_MEDIAN; average++) {
        o.average = (clvox_average)average;
        o.vote = average ? CLVOX_VOTE_LOCAL : CLVOX_VOTE_MAJORITY;
        o.more_count = 0;
        build(&all, &o, &want);
        const size_t volume = clvox_grid_voxels(&want.average->grid) * sizeof(float);
        const clvox_store_bytes free = build_within(&all, &o, SIZE_MAX, &want);
        assert_true(free.disk == 0 && free.most_disk == 0 && free.most_memory >= 3 * 8 * volume);
        for (int k = 0; k <= 4; k += 2) { /* quarters of what it takes */
            o.more_count = k / 2;
            const clvox_store_bytes most = build_within(&all, &o, free.most_memory / 4 * (size_t)k, &want);
            assert_true(most.most_memory <= free.most_memory / 4 * (size_t)k);
            assert_true(k ? most.most_memory >= volume : most.most_disk >= free.most_memory);
        }
        if (average < CLVOX_AVERAGE_MEDIAN)
            clvox_atlas_result_destroy(&want);
    }
    /* Stopped and taken up again. */
    assert_non_null(mkdtemp(place));
    assert_ok(clvox_store_create("/tmp", 100000, &o.store));
    o.state = place;
    o.progress = stop_after;
    o.user = &calls;
    for (int attempt = 10; status == CLVOX_ERROR_STOPPED; attempt += 7) {
        calls = attempt;
        o.more_count = attempt % 2;
        status = clvox_atlas(ctx, all.s, all.count, NULL, &o, &r);
        if (status < 0)
            assert_empty(o.store);
    }
    assert_ok(status);
    assert_true(r.resumed > 2);
    assert_same(&want, &r);
    clvox_atlas_result_destroy(&r);
    assert_empty(o.store);
    clvox_store_destroy(&o.store);
    clvox_atlas_forget(place);
    clvox_atlas_result_destroy(&want);
    release(&all);
}

/* No room for the first image, and for the first warp. */
static void disk_full(void **state)
{
    population all = {.count = 0};
    clvox_atlas_options o;
    clvox_atlas_result r;
    struct rlimit before, small;
    (void)state;
    make_three(&all);
    options_of_bits(&o);
    const size_t volume = clvox_grid_voxels(&all.own[0]->grid) * sizeof(float);
    assert_ok(clvox_store_create("/tmp", 0, &o.store));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (int i = 0; i < 2; i++) {
        small = before;
        small.rlim_cur = i ? volume : volume - 1;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        const int status = clvox_atlas(ctx, all.s, all.count, NULL, &o, &r);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(status, CLVOX_ERROR_FILE);
        assert_non_null(strstr(clvox_message(), "/tmp: "));
        assert_non_null(strstr(clvox_message(), "make room there, or raise the limit of memory"));
        assert_true(!r.average && !r.map);
        assert_empty(o.store);
        assert_true(!clvox_store_measure(o.store).most_disk == !i);
    }
    signal(SIGXFSZ, handler);
    clvox_store_destroy(&o.store);
    release(&all);
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
    make_three(&all);
    clvox_volume *nowhere = zeros(&all.own[0]->grid);
    options_of_bits(&o);
    o.rounds = 1;
    const int count = all.count--;
    clvox_volume *start = copy_of(all.own[0]); /* the first mean has the third subject in it */
    assert_ok(clvox_atlas(ctx, all.s, all.count, start, &o, &want));
    all.count = count;
    all.s[2].mask = nowhere;
    assert_int_equal(clvox_atlas(ctx, all.s, count, start, &o, &r), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "third: "));
    o.skip_bad = 1;
    assert_non_null(mkdtemp(place));
    o.state = place;
    o.progress = stop_after;
    o.user = &calls;
    for (int attempt = 6; status == CLVOX_ERROR_STOPPED; attempt += 3) {
        calls = attempt;
        status = clvox_atlas(ctx, all.s, count, start, &o, &r);
    }
    assert_ok(status);
    assert_true(r.resumed > 2);
    assert_non_null(strstr(r.map[2].left_out, "third: "));
    assert_true(!*r.map[0].left_out && !*r.map[1].left_out && !r.map[2].warp);
    assert_memory_equal(want.average->data, r.average->data, clvox_grid_voxels(&r.average->grid) * sizeof(float));
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
    release(&all);
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
    make_three(&all);
    options_of(&o, CLVOX_DEFORM_GREEDY);
    assert_int_equal(clvox_atlas(ctx, all.s, 0, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    all.s[1].weight = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    assert_non_null(strstr(clvox_message(), "second"));
    all.s[1].weight = 1;
    o.rounds = o.linear_rounds = 0;
    assert_int_equal(clvox_atlas(ctx, all.s, 3, NULL, &o, &r), CLVOX_ERROR_ARGUMENT);
    options_of(&o, CLVOX_DEFORM_GREEDY);
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
    release(&all);
}

static int close_all(void **state)
{
    clvox_contexts_destroy(&others, OTHERS);
    return harness_close(state);
}

int main(void)
{
    ctx = harness_open();
    test_case(averages, "weighted mean, trimmed mean and median, sharpened");
    test_case(votes, "the majority's labels, and those of the subjects that are like the template");
    test_case(ties_and_perfect_maps,
              "of equal votes the smallest label; through perfect maps the labels themselves");
    test_case(stopped_and_resumed, "a run that is stopped anywhere goes on and ends with the same bits");
    test_case(several_devices,
              "one, two and three devices give the same bits, also of a run that was stopped on others");
    test_case(maps_on_devices,
              "maps on devices, some of them or none: the same bits, also of a run that was stopped");
    test_case(other_storages, "subjects stored in another order of axes give the same template, stored so");
    test_case(failures_on_several_devices,
              "a failure on one device ends all; devices that differ are refused");
    test_case(teams, "teams of one to four give the same bits as one process");
    test_case(team_that_fails,
              "what ends one member ends all with its sentence; others go on from the state");
    test_case(on_disk, "volumes in memory and on disk give the same bits, in any parts");
    test_case(disk_full, "a full disk ends a run with one sentence");
    test_case(left_out, "a subject that cannot be registered is named, or left out");
    test_case(misuse, "what cannot be averaged is named, and a run that is stopped leaves nothing");
    test_case(identical_images, "the template of copies is the image, also after a hundred rounds");
    test_case(mirrored_maps, "images by a map and by its inverse have the image in their middle");
    test_case(sums_in_one_order, "values whose sum depends on its order are summed in one");
    test_case(order_and_weights, "order and scale of weights change no bit; twice is a weight of 2");
    test_case(concentric_balls, "balls of two radii average to one between");
    test_case(balls_that_grow, "templates along a covariate: balls have the radius of the mean age");
    test_case(bandwidths,
              "a very large bandwidth is the plain template, a very small one the nearest subject");
    test_case(regression_resumed, "templates along a covariate go on where they were stopped");
    test_case(other_grids, "one subject; two of other grids and orientations, with labels");
    return test_run("atlas", close_all);
}
