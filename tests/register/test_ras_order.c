/* SPDX-License-Identifier: Apache-2.0 */
/* However the voxels of the images are stored, a registration is one computation. */
#include <string.h>

#include "base/matrix.h"
#include "clvox/registration.h"
#include "io/volume/orientation.h"
#include "op/harness.h"
#include "register/pair.h"
#include "register/problem.h"

static clvox_context *ctx;

static const clv_orientation as_it_is = {{0, 1, 2}, {false, false, false}};

/* The 48 storages of an image. */
static clv_orientation storage(int k)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    clv_orientation o;
    memcpy(o.axis, orders[k / 8], sizeof o.axis);
    for (int w = 0; w < 3; w++)
        o.flipped[w] = k >> w & 1;
    return o;
}

static bool same_bits(const clvox_volume *a, const clvox_volume *b)
{
    return !memcmp(&a->grid, &b->grid, sizeof a->grid) && a->frames == b->frames && a->kind == b->kind &&
           !memcmp(a->data, b->data, clvox_grid_voxels(&a->grid) * (size_t)a->frames * sizeof(float));
}

/* ---- orientation -------------------------------------------------------- */

/* Whether all storages of a grid become the same one, to the last bit where exact, and come back. */
static void become_one(const clvox_grid *grid, bool exact)
{
    clvox_grid first, there;
    clv_orientation o;
    clv_orientation_of(grid, &o);
    clv_orientation_grid(grid, &o, &first);
    clv_orientation_of(&first, &o);
    assert_true(clv_orientation_same(&o));
    for (int k = 0; k < 48; k++) {
        clvox_grid other;
        clv_orientation s = storage(k), inverse;
        clv_orientation_grid(grid, &s, &other);
        clv_orientation_of(&other, &o);
        clv_orientation_grid(&other, &o, &there);
        assert_that(exact ? !memcmp(&there, &first, sizeof first) : clvox_grid_equal(&there, &first),
                    "storage %d", k);
        clv_orientation_inverse(&s, &inverse);
        clv_orientation_grid(&other, &inverse, &there);
        assert_true(clvox_grid_equal(&there, grid));
    }
}

static void all_storages_become_one(void **state)
{
    (void)state;
    static const double half = .70710678118654752;
    static const clvox_grid grids[] = {
        {{5, 3, 2}, {{2, 0, 0, -7.25}, {0, 1.5, 0, 3}, {0, 0, .5, 11}, {0, 0, 0, 1}}},
        {{5, 3, 2}, {{0, -2, 0, 90}, {0, 0, 1.5, 3}, {.5, 0, 0, 1}, {0, 0, 0, 1}}},
        /* sheared, left-handed */
        {{7, 4, 3}, {{-1, .25, 0, 8}, {.5, 1, .125, -3}, {0, -.5, 2, 0}, {0, 0, 0, 1}}},
        /* one voxel thick */
        {{1, 9, 1}, {{0, 1, 0, 8}, {-1, 0, 0, -3}, {0, 0, 4, 0}, {0, 0, 0, 1}}},
        /* along the world's diagonals, where two answers are as near */
        {{6, 5, 4}, {{half, -half, 0, 8}, {half, half, 0, -3}, {0, 0, 2, 0}, {0, 0, 0, 1}}},
        {{6, 5, 4},
         {{2. / 3, 2. / 3, -1. / 3, 8}, {-1. / 3, 2. / 3, 2. / 3, -3}, {2. / 3, -1. / 3, 2. / 3, 0}, {0, 0, 0, 1}}},
    };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        become_one(&grids[i], i < 4);
}

/* Rounding of headers in single precision does not decide between two equally near answers. */
static void rounding_decides_nothing(void **state)
{
    (void)state;
    const double half = .70710678;
    clvox_grid grid = {{6, 5, 4}, {{half, -half, 0, 8}, {half, half, 0, -3}, {0, 0, 2, 0}, {0, 0, 0, 1}}};
    clv_orientation first, o;
    clv_orientation_of(&grid, &first);
    for (int k = 0; k < 16; k++) {
        clvox_grid near = grid;
        for (int i = 0; i < 4; i++)
            near.to_ras[i / 2][i % 2] *= 1 + (k >> i & 1 ? 1e-7 : -1e-7);
        clv_orientation_of(&near, &o);
        assert_true(!memcmp(o.axis, first.axis, sizeof o.axis) &&
                    !memcmp(o.flipped, first.flipped, sizeof o.flipped));
    }
}

static void values_move_with_their_places(void **state)
{
    (void)state;
    const clvox_grid grid = {{5, 3, 4}, {{2, 0, 0, -7.25}, {0, 1.5, 0, 3}, {0, 0, .5, 11}, {0, 0, 0, 1}}};
    clvox_volume *v, *moved, *again;
    assert_ok(clvox_volume_create(&grid, 2, CLVOX_KIND_LABEL, &v));
    for (size_t i = 0; i < 2 * clvox_grid_voxels(&grid); i++)
        v->data[i] = (float)i;
    v->type = CLVOX_TYPE_INT16;
    for (int k = 0; k < 48; k++) {
        clv_orientation s = storage(k), inverse;
        assert_ok(clv_orientation_volume(v, &s, NULL, &moved));
        assert_true(moved->kind == v->kind && moved->type == v->type);
        for (size_t i = 0; i < clvox_grid_voxels(&moved->grid); i++) {
            const int *size = moved->grid.size;
            double at[3], from[3] = {(double)(i % (size_t)size[0]),
                                     (double)(i / (size_t)size[0] % (size_t)size[1]),
                                     (double)(i / (size_t)(size[0] * size[1]))};
            clv_matrix_apply(CLV_MATRIX(moved->grid.to_ras), from, at);
            double voxel = (at[0] + 7.25) / 2 + 5 * ((at[1] - 3) / 1.5) + 15 * ((at[2] - 11) / .5);
            assert_true((double)moved->data[i] == voxel);
            assert_true((double)moved->data[i + clvox_grid_voxels(&grid)] == voxel + 60);
        }
        clv_orientation_inverse(&s, &inverse);
        assert_ok(clv_orientation_volume(moved, &inverse, NULL, &again));
        assert_true(same_bits(again, v));
        clvox_volume_destroy(&again);
        clvox_volume_destroy(&moved);
    }
    clvox_volume_destroy(&v);
}

/* ---- registration ------------------------------------------------------- */

static struct {
    pair p;
    clvox_volume *other; /* labels of the moving image */
} shared;

/* Grids whose headers all storages keep exactly: no axis along the world's in memory, sizes that differ. */
static int pair_set_up(void **state)
{
    (void)state;
    static const clvox_grid fixed = {{22, 17, 25},
                                     {{0, 0, -1.5, 18}, {2, 0, 0, -21}, {0, 2.5, .25, -23}, {0, 0, 0, 1}}};
    static const clvox_grid moving = {{20, 24, 19},
                                      {{2, 0, 0, -18}, {.25, -1.75, 0, 20}, {0, 0, 2, -18}, {0, 0, 0, 1}}};
    shared.p = (pair){.fixed_grid = fixed, .moving_grid = moving};
    clv_matrix_identity(shared.p.matrix);
    pair_fill(&shared.p, 2, 5);
    assert_ok(clv_phantom_labels(&shared.p.phantom, &shared.p.moving_grid, NULL, NULL, &shared.other));
    return 0;
}

static const struct {
    const char *name;
    clvox_deform deform;
    clvox_preset preset;
    int channels;
    bool fixed_mask, moving_mask;
    double finest;
} settings[] = {
    {"unbiased", CLVOX_DEFORM_UNBIASED, CLVOX_PRESET_DEFAULT, 1, false, false, 1},
    {"greedy, a mask", CLVOX_DEFORM_GREEDY, CLVOX_PRESET_QUICK, 1, true, false, 1},
    {"syn", CLVOX_DEFORM_SYN, CLVOX_PRESET_DEFAULT, 1, false, false, 1},
    {"syn, two channels and masks", CLVOX_DEFORM_SYN, CLVOX_PRESET_QUICK, 2, true, true, 1},
    {"syn, levels that end coarser", CLVOX_DEFORM_SYN, CLVOX_PRESET_QUICK, 1, false, true, 2},
};

static void run(int k, clv_orientation f, clv_orientation m, clvox_register_result *r, clvox_volume **labels,
                size_t *bytes)
{
    clvox_register_options o;
    clvox_volume *fixed, *moving, *fixed_mask, *moving_mask;
    clvox_register_defaults(&o);
    o.deform = settings[k].deform;
    clvox_register_preset(&o, settings[k].preset);
    o.levels = 2;
    o.shrink[0] = 2 * settings[k].finest;
    o.shrink[1] = settings[k].finest;
    o.iterations[0] = 12;
    o.iterations[1] = 5;
    o.inverse = 1;
    assert_ok(clv_orientation_volume(shared.p.fixed, &f, NULL, &fixed));
    assert_ok(clv_orientation_volume(shared.p.moving, &m, NULL, &moving));
    assert_ok(clv_orientation_volume(shared.p.labels, &m, NULL, &fixed_mask)); /* stored unlike its image */
    assert_ok(clv_orientation_volume(shared.other, &f, NULL, &moving_mask));
    const clvox_register_images images = {.fixed = {fixed, fixed}, .moving = {moving, moving},
                                          .channels = settings[k].channels,
                                          .fixed_mask = settings[k].fixed_mask ? fixed_mask : NULL,
                                          .moving_mask = settings[k].moving_mask ? moving_mask : NULL};
    assert_ok(clvox_register(ctx, &images, &o, r));
    *bytes = clvox_register_bytes(&images, &o);
    assert_true(!memcmp(&r->warp->grid, &fixed->grid, sizeof fixed->grid));
    assert_ok(clvox_register_labels(ctx, moving_mask, &fixed->grid, r, labels));
    clvox_volume_destroy(&fixed);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&fixed_mask);
    clvox_volume_destroy(&moving_mask);
}

static void assert_same(const clvox_volume *a, const clvox_volume *b, clv_orientation f, const char *what)
{
    clvox_volume *moved;
    clv_orientation inverse;
    clv_orientation_inverse(&f, &inverse);
    assert_ok(clv_orientation_volume(b, &inverse, NULL, &moved));
    assert_that(same_bits(a, moved), "%s", what);
    clvox_volume_destroy(&moved);
}

static void registers_alike(void **state)
{
    static const int pairs[][2] = {{0, 43}, {14, 0}, {29, 37}};
    const int *given = *state;
    int k = given[0];
    clvox_register_result first, r;
    clvox_volume *labels[2];
    size_t bytes[2];
    run(k, as_it_is, as_it_is, &first, &labels[0], &bytes[0]);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        clv_orientation f = storage(pairs[i][0]), m = storage(pairs[i][1]);
        run(k, f, m, &r, &labels[1], &bytes[1]);
        assert_true(!memcmp(r.matrix, first.matrix, sizeof r.matrix));
        assert_true(r.exchanged == first.exchanged && bytes[1] == bytes[0] &&
                    r.metric_after == first.metric_after && r.overlap == first.overlap &&
                    r.parts.shift_mm[0] == first.parts.shift_mm[0] && r.suspicions == first.suspicions);
        assert_same(first.warp, r.warp, f, "warp");
        assert_same(first.inverse_warp, r.inverse_warp, f, "inverse warp");
        assert_same(first.warped, r.warped, f, "warped image");
        assert_same(labels[0], labels[1], f, "labels");
        clvox_volume_destroy(&labels[1]);
        clvox_register_result_destroy(&r);
    }
    clvox_volume_destroy(&labels[0]);
    clvox_register_result_destroy(&first);
}

/* Two images of one size: contents decide which of them comes first. */
static void order_does_not_hang_on_storage(void **state)
{
    (void)state;
    clvox_volume *a, *b, *fixed, *moving;
    const clvox_grid grid = {{4, 4, 4}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &a));
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &b));
    for (int i = 0; i < 64; i++) {
        a->data[i] = (float)(i * 37 % 64);
        b->data[i] = (float)(i * 23 % 64);
    }
    clvox_register_images images = {.fixed = {a}, .moving = {b}, .channels = 1};
    int order = clv_symmetric_order(&images, true);
    assert_true(order != 0);
    for (int k = 0; k < 48; k++) {
        clv_orientation f = storage(k), m = storage(47 - k);
        assert_ok(clv_orientation_volume(a, &f, NULL, &fixed));
        assert_ok(clv_orientation_volume(b, &m, NULL, &moving));
        images.fixed[0] = fixed;
        images.moving[0] = moving;
        assert_true(clv_symmetric_order(&images, true) * order > 0);
        images.moving[0] = a; /* the same image, stored otherwise */
        assert_true(clv_symmetric_order(&images, true) == 0);
        clvox_volume_destroy(&fixed);
        clvox_volume_destroy(&moving);
    }
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

/* A plan sees the grids that a registration sees, and the voxels as they are given; a volume that is in
 * several places is brought once, into all of them. */
static void plans_see_the_same_grids(void **state)
{
    (void)state;
    const clvox_grid grid = {{5, 3, 4}, {{0, 0, 2, 1}, {-3, 0, 0, 0}, {0, 1.5, 0, 0}, {0, 0, 0, 1}}};
    clvox_volume *a, *b;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &a));
    assert_ok(clvox_volume_create(&grid, 2, CLVOX_KIND_SCALAR, &b));
    const clvox_register_images images = {
        .fixed = {a, a}, .moving = {a, a}, .channels = 2, .fixed_mask = a, .moving_posteriors = b};
    clv_problem asked = clv_problem_of(ctx, &images, NULL), brought[2];
    const clvox_volume **at[2][CLV_PROBLEM_VOLUMES];
    for (int planned = 0; planned < 2; planned++) {
        asked.planned = planned;
        assert_ok(clv_problem_enter(&clv_step_ras_order, &asked, &brought[planned]));
        assert_int_equal(clv_problem_volumes(&brought[planned].images, at[planned]), 4 + 2 * CLVOX_MAX_LEVELS + 7);
        assert_int_equal(brought[planned].own.count, 2);
    }
    for (int i = 0; i < 4 + 2 * CLVOX_MAX_LEVELS + 7; i++) {
        const clvox_volume *run = *at[0][i], *plan = *at[1][i];
        assert_true(!run == !plan);
        if (run)
            assert_true(clvox_grid_equal(&run->grid, &plan->grid) && !clvox_grid_equal(&run->grid, &grid) &&
                        run->frames == plan->frames && plan->data == (plan->frames == 1 ? a : b)->data);
    }
    clv_problem_free(&brought[0]);
    clv_problem_free(&brought[1]);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
}

static int pair_tear_down(void **state)
{
    (void)state;
    pair_free(&shared.p);
    clvox_volume_destroy(&shared.other);
    return 0;
}

int main(void)
{
    ctx = harness_open();
    test_case(all_storages_become_one, "all 48 storages of a grid become one");
    test_case(rounding_decides_nothing, "rounded headers do not decide between storages that are as near");
    test_case(values_move_with_their_places, "values move with their places, and back");
    test_case(order_does_not_hang_on_storage, "which image comes first does not hang on storage");
    test_case(plans_see_the_same_grids,
              "a plan sees the grids that a registration sees, and copies no voxel");
    test_set_up(pair_set_up);
    for (int k = 0; k < (int)(sizeof settings / sizeof *settings); k++)
        test_case_at(registers_alike, TEST_AT(k), "all storages register alike, bit for bit: %s",
                     settings[k].name);
    test_tear_down(pair_tear_down);
    return test_run("RAS order", harness_close);
}
