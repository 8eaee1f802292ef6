/* SPDX-License-Identifier: Apache-2.0 */
/* Transforms applied, composed, inverted: known answers on oblique, sheared,
 * anisotropic and left-handed grids. A linear function of the world position
 * is reproduced exactly by linear interpolation, whatever the grid. */
#include "clvox/apply.h"

#include "base/matrix.h"
#include "op/harness.h"
#include "phantom/phantom.h"

static clvox_context *ctx;

static const clvox_grid left_handed = {
    {41, 33, 27}, {{-1.1, 0.12, 0.3, 26}, {0.2, 1.3, -0.25, -27}, {0.1, 0.2, 1.9, -22}, {0, 0, 0, 1}}};
static const clvox_grid right_handed = {
    {37, 26, 45}, {{0.1, 0.2, -1.2, 24}, {1.4, 0, 0.1, -26}, {0.2, 1.8, 0.2, -23}, {0, 0, 0, 1}}};
static const double turn[4][4] = {
    {0.9396926, -0.3420201, 0, 2.5}, {0.3420201, 0.9396926, 0, -1.5}, {0, 0, 1, 3}, {0, 0, 0, 1}};
static const double stretch[4][4] = {
    {1.05, 0.04, 0, -1}, {0, 0.97, 0.05, 2}, {0.02, 0, 1.02, 0.5}, {0, 0, 0, 1}};

static void voxel(const clvox_grid *grid, size_t i, double x[3])
{
    size_t nx = (size_t)grid->size[0], ny = (size_t)grid->size[1];
    double at[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
    clv_matrix_apply(grid->to_ras, at, x);
}

static double ramp_at(const double x[3])
{
    return 0.7 * x[0] - 0.4 * x[1] + 1.1 * x[2] + 5;
}

static clvox_volume *ramp(const clvox_grid *grid)
{
    clvox_volume *v;
    assert_ok(clvox_volume_create(grid, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(grid); i++) {
        double x[3];
        voxel(grid, i, x);
        v->data[i] = (float)ramp_at(x);
    }
    return v;
}

/* How far x lies inside of the grid, in voxels; negative: outside of the
 * outermost centres. */
static double depth(const clvox_grid *grid, const double x[3])
{
    double inverse[4][4], p[3], least = INFINITY;
    assert_ok(clv_matrix_invert(grid->to_ras, inverse));
    clv_matrix_apply(CLV_MATRIX(inverse), x, p);
    for (int a = 0; a < 3; a++)
        least = fmin(least, fmin(p[a], grid->size[a] - 1 - p[a]));
    return least;
}

static clvox_transform affine(const double m[4][4])
{
    clvox_transform t = {0};
    clv_matrix_copy(m, t.matrix);
    return t;
}

static clvox_transform warp_on(const clvox_grid *grid, const clvox_grid *box, double amplitude, uint64_t seed)
{
    clvox_transform t = {.is_warp = 1};
    clv_phantom_warp made;
    assert_ok(clv_phantom_warp_make(box, amplitude, seed, &made));
    assert_ok(clv_phantom_warp_sample(&made, grid, false, &t.warp));
    return t;
}

/* Applies the chain to a ramp; every voxel against the points' way. */
static void check_ramp(const clvox_link *links, int count, const clvox_grid *from, const clvox_grid *to,
                       clvox_interpolation interpolation, double margin)
{
    clvox_volume *image = ramp(from), *out;
    assert_ok(clvox_apply(ctx, image, to, links, count, interpolation, -1000, &out));
    double worst = 0;
    size_t inside = 0, outside = 0, mistaken = 0;
    for (size_t i = 0; i < clvox_grid_voxels(to); i++) {
        double x[3];
        voxel(to, i, x);
        assert_ok(clvox_apply_points(links, count, x, 1));
        double d = depth(from, x);
        if (d > margin) {
            inside++;
            worst = fmax(worst, fabs((double)out->data[i] - ramp_at(x)));
        } else if (d < -0.502) {
            outside++;
            mistaken += out->data[i] != -1000;
        }
    }
    assert_that(worst < 2e-3, "%g", worst);
    assert_that(mistaken == 0, "%zu voxels", mistaken);
    assert_that(inside > clvox_grid_voxels(to) / 8, "%zu inside, %zu outside", inside, outside);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&out);
}

/* clvox_compose against the points' way. */
static double compose_error(const clvox_link *links, int count, const clvox_grid *grid)
{
    clvox_volume *out;
    assert_ok(clvox_compose(ctx, grid, links, count, &out));
    size_t n = clvox_grid_voxels(grid);
    double worst = 0;
    for (size_t i = 0; i < n; i++) {
        double x[3], y[3];
        voxel(grid, i, x);
        memcpy(y, x, sizeof y);
        assert_ok(clvox_apply_points(links, count, y, 1));
        for (size_t a = 0; a < 3; a++)
            worst = fmax(worst, fabs((double)out->data[a * n + i] - (y[a] - x[a])));
    }
    clvox_volume_destroy(&out);
    return worst;
}

static void same_grid(void **state)
{
    (void)state;
    clvox_volume *image, *out;
    assert_ok(clvox_volume_create(&left_handed, 3, CLVOX_KIND_SCALAR, &image));
    size_t n = 3 * clvox_grid_voxels(&left_handed);
    harness_random(image->data, n, 3, -100, 100);
    for (size_t i = 0; i < n; i += 101)
        image->data[i] = NAN;
    image->type = CLVOX_TYPE_INT16;
    for (int kind = CLVOX_INTERPOLATE_AUTO; kind <= CLVOX_INTERPOLATE_LABEL; kind++) {
        assert_ok(clvox_apply(ctx, image, &left_handed, NULL, 0, (clvox_interpolation)kind, 0, &out));
        assert_true(out->frames == 3 && out->type == CLVOX_TYPE_INT16);
        size_t wrong = 0;
        for (size_t i = 0; i < n; i++)
            wrong += isnan(image->data[i]) ? !isnan(out->data[i]) : out->data[i] != image->data[i];
        assert_that(wrong == 0, "kind %d: %zu", kind, wrong);
        clvox_volume_destroy(&out);
    }
    clvox_volume_destroy(&image);
}

static struct {
    double full[3][3];
} shared;

/* The transforms of chains. */
static clvox_transform turned, stretched, near_warp, far_warp;
static const struct {
    const char *name;
    int count;
    clvox_link links[6];
} chains[] = {
    {"header alone", 0, {{NULL, 0}}},
    {"rotation", 1, {{&turned, 0}}},
    {"inverse of an affine between affines", 3, {{&turned, 0}, {&stretched, 1}, {&turned, 1}}},
    {"warp on the output grid, then an affine", 2, {{&near_warp, 0}, {&turned, 0}}},
    {"warp on another grid", 1, {{&far_warp, 0}}},
    {"affine before a warp", 2, {{&stretched, 0}, {&near_warp, 0}}},
    {"two warps with affines around",
     5,
     {{&turned, 0}, {&near_warp, 0}, {&turned, 1}, {&far_warp, 0}, {&stretched, 0}}},
    {"the same warp twice on its grid, then another", 3, {{&near_warp, 0}, {&near_warp, 0}, {&far_warp, 0}}},
};

static int ramps_set_up(void **state)
{
    (void)state;
    turned = affine(turn);
    stretched = affine(stretch);
    near_warp = warp_on(&left_handed, &left_handed, 2, 5);
    far_warp = warp_on(&right_handed, &right_handed, 2, 6);
    return 0;
}

static int ramps_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&near_warp.warp);
    clvox_volume_destroy(&far_warp.warp);
    return 0;
}

static void ramp_linear(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    check_ramp(chains[i].links, chains[i].count, &right_handed, &left_handed, CLVOX_INTERPOLATE_AUTO, 1e-3);
}

static void chain_composed(void **state)
{
    const int *given = *state;
    size_t i = (size_t)given[0];
    double error = compose_error(chains[i].links, chains[i].count, &left_handed);
    assert_that(error < 2e-4, "%g mm", error);
}

static void ramp_cubic_away_from_the_border(void **state)
{
    (void)state;
    check_ramp(chains[6].links, 5, &right_handed, &left_handed, CLVOX_INTERPOLATE_CUBIC, 1);
}

static void ramps(void)
{
    test_set_up(ramps_set_up);
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
        test_case_at(ramp_linear, TEST_AT((int)i), "ramp, linear: %s", chains[i].name);
        test_case_at(chain_composed, TEST_AT((int)i), "composition: %s", chains[i].name);
    }
    test_case(ramp_cubic_away_from_the_border, "ramp, cubic, away from the border");
    test_tear_down(ramps_tear_down);
}

static void points_at_voxels_move_by_the_warps_vector(void **state)
{
    (void)state;
    clvox_transform w = warp_on(&left_handed, &left_handed, 2, 8);
    size_t n = clvox_grid_voxels(&left_handed), wrong = 0;
    for (size_t i = 0; i < n; i += 7) {
        double x[3], y[3];
        voxel(&left_handed, i, x);
        memcpy(y, x, sizeof y);
        assert_ok(clvox_apply_points(&(clvox_link){&w, 0}, 1, y, 1));
        for (size_t c = 0; c < 3; c++)
            wrong += fabs(y[c] - x[c] - (double)w.warp->data[c * n + i]) > 1e-5;
    }
    assert_that(wrong == 0, "%zu", wrong);
    double far[3] = {500, 0, 0};
    assert_ok(clvox_apply_points(&(clvox_link){&w, 0}, 1, far, 1));
    assert_true(far[0] == 500 && far[1] == 0);
    clvox_volume_destroy(&w.warp);
}

static void there_and_back_again_warp_and_inverse(void **state)
{
    (void)state;
    clvox_transform w = warp_on(&left_handed, &left_handed, 2, 8), a = affine(turn);
    double list[3 * 500], before[3 * 500];
    float random[3 * 500];
    harness_random(random, 1500, 4, -15, 15);
    for (int i = 0; i < 1500; i++)
        list[i] = before[i] = (double)random[i];
    clvox_link chain[] = {{&w, 0}, {&a, 0}, {&a, 1}, {&w, 1}};
    assert_ok(clvox_apply_points(chain, 4, list, 500));
    double worst = 0;
    for (int i = 0; i < 1500; i++)
        worst = fmax(worst, fabs(list[i] - before[i]));
    assert_that(worst < 1e-4, "%g mm", worst);
    clvox_volume_destroy(&w.warp);
}

static void points(void)
{
    test_case(points_at_voxels_move_by_the_warps_vector,
              "points at voxels move by the warp's vector, outside not at all");
    test_case(there_and_back_again_warp_and_inverse,
              "there and back again: warp and inverse, affine and inverse");
}

static void inverse_of_a_known_warp_grid(void **state)
{
    const int *given = *state;
    int g = given[0];
    const clvox_grid *on = g ? &right_handed : &left_handed;
    clv_phantom_warp phantom;
    clvox_transform w = {.is_warp = 1}, v = {.is_warp = 1};
    clvox_volume *truth, *both;
    double residual[2], worst = 0, sum = 0;
    size_t n = clvox_grid_voxels(on);
    assert_ok(clv_phantom_warp_make(on, 2, 17, &phantom));
    assert_ok(clv_phantom_warp_sample(&phantom, on, false, &w.warp));
    assert_ok(clv_phantom_warp_sample(&phantom, on, true, &truth));
    assert_ok(clvox_invert(ctx, w.warp, &v.warp, residual));
    assert_that(residual[0] < 0.01 && residual[1] < 0.001, "%g %g voxels", residual[0], residual[1]);
    for (size_t i = 0; i < 3 * n; i++) {
        worst = fmax(worst, fabs((double)v.warp->data[i] - (double)truth->data[i]));
        sum += fabs((double)v.warp->data[i] - (double)truth->data[i]);
    }
    /* The truth has no interpolation error, the inverse of samples has. */
    assert_that(worst < 0.15 && sum / (double)(3 * n) < 0.01, "%g at most, %g mm on average", worst,
                sum / (double)(3 * n));
    for (int order = 0; order < 2; order++) {
        clvox_link chain[] = {{order ? &w : &v, 0}, {order ? &v : &w, 0}};
        assert_ok(clvox_compose(ctx, on, chain, 2, &both));
        double largest = 0;
        for (size_t i = 0; i < 3 * n; i++)
            largest = fmax(largest, fabs((double)both->data[i]));
        assert_that(largest < (order ? 0.15 : 0.02), "order %d: %g mm", order, largest);
        clvox_volume_destroy(&both);
    }
    /* As a link in a chain. */
    assert_ok(clvox_compose(ctx, on, (clvox_link[]){{&w, 1}}, 1, &both));
    assert_memory_equal(both->grid.size, on->size, sizeof both->grid.size);
    double largest = 0;
    for (size_t i = 0; i < 3 * n; i++)
        largest = fmax(largest, fabs((double)both->data[i] - (double)v.warp->data[i]));
    assert_that(largest < 1e-4, "%g mm", largest);
    clvox_volume_destroy(&both);
    clvox_volume_destroy(&truth);
    clvox_volume_destroy(&w.warp);
    clvox_volume_destroy(&v.warp);
}

static void inverse_of_a_shift_that_leaves_the_grid(void **state)
{
    (void)state;
    clvox_volume *shift, *back;
    double residual[2];
    assert_ok(clvox_volume_create(&right_handed, 3, CLVOX_KIND_DISPLACEMENT, &shift));
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed); i++)
        shift->data[i] = 4.2f;
    assert_ok(clvox_invert(ctx, shift, &back, residual));
    assert_that(residual[1] < 0.5, "%g %g", residual[0], residual[1]);
    assert_true(fabs((double)back->data[clvox_grid_voxels(&right_handed) / 2 + 18] + 4.2) < 0.02);
    clvox_volume_destroy(&back);
    shift->frames = 1;
    assert_true(clvox_invert(ctx, shift, &back, NULL) == CLVOX_ERROR_ARGUMENT && !back);
    shift->frames = 3;
    clvox_volume_destroy(&shift);
}

static void inverses(void)
{
    for (int g = 0; g < 2; g++)
        test_case_at(inverse_of_a_known_warp_grid, TEST_AT(g), "inverse of a known warp, %s grid",
                     g ? "right-handed" : "left-handed");
    test_case(inverse_of_a_shift_that_leaves_the_grid,
              "inverse of a shift that leaves the grid ends, with a small error inside");
}

static void labels(void **state)
{
    (void)state;
    clvox_volume *image, *out;
    clvox_transform a = affine(turn), w = warp_on(&left_handed, &left_handed, 2, 9);
    clvox_link chain[] = {{&w, 0}, {&a, 0}};
    assert_ok(clvox_volume_create(&right_handed, 1, CLVOX_KIND_LABEL, &image));
    static const float names[] = {0, 3, 17, 1001};
    float *random = malloc(clvox_grid_voxels(&right_handed) * sizeof *random);
    harness_random(random, clvox_grid_voxels(&right_handed), 12, 0, 3.999f);
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed); i++)
        image->data[i] = names[(int)random[i]];
    assert_ok(clvox_apply(ctx, image, &left_handed, chain, 2, CLVOX_INTERPOLATE_AUTO, 0, &out));
    size_t strange = 0, seen[4] = {0};
    for (size_t i = 0; i < clvox_grid_voxels(&left_handed); i++) {
        int k = 0;
        while (k < 4 && names[k] != out->data[i])
            k++;
        strange += k == 4;
        seen[k & 3]++;
    }
    assert_true(strange == 0 && seen[1] > 100 && seen[2] > 100 && seen[3] > 100 &&
                out->kind == CLVOX_KIND_LABEL);
    clvox_volume_destroy(&out);
    assert_true(clvox_apply(ctx, image, &left_handed, chain, 2, CLVOX_INTERPOLATE_LINEAR, 0, &out) ==
                    CLVOX_ERROR_ARGUMENT &&
                !out);
    free(random);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&w.warp);
}

static const int sizes[][3] = {{1, 1, 1}, {1, 13, 9}, {11, 1, 7}, {40, 9, 1}};

static void volumes_of_x_x(void **state)
{
    const int *given = *state;
    int i = given[0];
    clvox_grid grid = right_handed;
    memcpy(grid.size, sizes[i], sizeof grid.size);
    clvox_volume *image = ramp(&grid), *out;
    clvox_transform w = {.is_warp = 1}, zero = {.is_warp = 1};
    size_t n = clvox_grid_voxels(&grid);
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &zero.warp));
    clvox_link chain[] = {{&zero, 0}, {&w, 0}};
    assert_ok(clvox_invert(ctx, zero.warp, &w.warp, NULL));
    assert_ok(clvox_apply(ctx, image, &grid, chain, 2, CLVOX_INTERPOLATE_LINEAR, 0, &out));
    for (size_t k = 0; k < n; k++)
        assert_that(fabs((double)(out->data[k] - image->data[k])) < 1e-3, "%zu: %g %g", k,
                    (double)out->data[k], (double)image->data[k]);
    clvox_jacobian_summary summary;
    assert_ok(clvox_jacobian(ctx, zero.warp, NULL, 0, NULL, &summary));
    assert_true(summary.smallest == 1 && summary.largest == 1 && summary.voxels == (long)n);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&zero.warp);
    clvox_volume_destroy(&w.warp);
}

static void thin(void)
{
    for (int i = 0; i < 4; i++)
        test_case_at(volumes_of_x_x, TEST_AT(i), "volumes of %dx%dx%d", sizes[i][0], sizes[i][1],
                     sizes[i][2]);
}

/* u = (matrix - 1) x on the grid. */
static clvox_volume *linear_warp(const clvox_grid *grid, const double matrix[4][4])
{
    clvox_volume *out;
    clvox_transform t = affine(matrix);
    assert_ok(clvox_compose(ctx, grid, (clvox_link[]){{&t, 0}}, 1, &out));
    return out;
}

static const double directions_v[3] = {1, 2, -0.5}, directions_d[6] = {3, 0.4, -0.2, 2, 0.3, 1};
static const int pair[6][2] = {{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}};

static int directions_set_up(void **state)
{
    (void)state;
    for (int k = 0; k < 6; k++)
        shared.full[pair[k][0]][pair[k][1]] = shared.full[pair[k][1]][pair[k][0]] = directions_d[k];
    return 0;
}

static void turn_with_a_rotation_given(void **state)
{
    const int *given = *state;
    int tensor = given[0], as_warp = given[1];
    clvox_volume *image, *out;
    int frames = tensor ? 6 : 3;
    clvox_transform t = affine(turn);
    if (as_warp) {
        t.is_warp = 1;
        t.warp = linear_warp(&left_handed, turn);
    }
    clvox_kind kind = tensor ? CLVOX_KIND_TENSOR : CLVOX_KIND_VECTOR;
    assert_ok(clvox_volume_create(&right_handed, frames, kind, &image));
    size_t n = clvox_grid_voxels(&right_handed), m = clvox_grid_voxels(&left_handed);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < frames; k++)
            image->data[(size_t)k * n + i] = (float)(tensor ? directions_d[k] : directions_v[k]);
    assert_ok(
        clvox_apply(ctx, image, &left_handed, (clvox_link[]){{&t, 0}}, 1, CLVOX_INTERPOLATE_AUTO, 0, &out));
    /* Pull-back by A: what pointed along v in the image points along A^T v. */
    size_t middle = m / 2 + 20;
    for (int k = 0; k < frames; k++) {
        double want = 0;
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < (tensor ? 3 : 1); b++)
                want += tensor ? turn[a][pair[k][0]] * shared.full[a][b] * turn[b][pair[k][1]]
                               : turn[a][k] * directions_v[a];
        assert_that(fabs((double)out->data[(size_t)k * m + middle] - want) < 1e-4, "%d: %g, not %g", k,
                    (double)out->data[(size_t)k * m + middle], want);
    }
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&t.warp);
}

static void directions(void)
{
    test_set_up(directions_set_up);
    for (int tensor = 0; tensor < 2; tensor++)
        for (int as_warp = 0; as_warp < 2; as_warp++)
            test_case_at(turn_with_a_rotation_given, TEST_AT(tensor, as_warp),
                         "%s turn with a rotation given as %s", tensor ? "tensors" : "vectors",
                         as_warp ? "warp" : "matrix");
}

static void jacobian_of_a_linear_map_on_an_oblique_grid(void **state)
{
    (void)state;
    clvox_volume *warp = linear_warp(&left_handed, stretch), *out;
    clvox_jacobian_summary s;
    double want = clv_matrix_determinant(stretch);
    assert_ok(clvox_jacobian(ctx, warp, NULL, 0, &out, &s));
    assert_that(fabs(s.smallest - want) < 1e-4 && fabs(s.largest - want) < 1e-4,
                "%g %g, not %g", s.smallest, s.largest, want);
    assert_true(fabs(s.mean_log - log(want)) < 1e-4 && s.sd_log < 1e-4 && s.folded == 0);
    assert_true(s.voxels == (long)clvox_grid_voxels(&left_handed) &&
                fabs((double)out->data[777] - want) < 1e-4);
    clvox_volume_destroy(&out);
    assert_ok(clvox_jacobian(ctx, warp, NULL, 1, &out, NULL));
    assert_true(fabs((double)out->data[777] - log(want)) < 1e-4);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&warp);
}

static void a_mask_on_another_grid_restricts(void **state)
{
    (void)state;
    clvox_volume *mask, *warp = linear_warp(&left_handed, stretch), *out;
    clvox_jacobian_summary s;
    assert_ok(clvox_volume_create(&right_handed, 1, CLVOX_KIND_LABEL, &mask));
    assert_true(clvox_jacobian(ctx, warp, mask, 0, &out, &s) == CLVOX_ERROR_DATA &&
                !out);
    for (size_t i = 0; i < clvox_grid_voxels(&right_handed) / 2; i++)
        mask->data[i] = 1;
    assert_ok(clvox_jacobian(ctx, warp, mask, 0, &out, &s));
    assert_that(s.voxels > 1000 && s.voxels < (long)clvox_grid_voxels(&left_handed) * 3 / 4,
                "%ld", s.voxels);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&warp);
}

static void folded_voxels_are_counted(void **state)
{
    (void)state;
    double mirror[4][4];
    clv_matrix_identity(mirror);
    mirror[1][1] = -1;
    clvox_jacobian_summary s;
    clvox_volume *warp = linear_warp(&left_handed, CLV_MATRIX(mirror));
    assert_ok(clvox_jacobian(ctx, warp, NULL, 0, NULL, &s));
    assert_true(s.folded == s.voxels && fabs(s.smallest + 1) < 1e-4);
    clvox_volume_destroy(&warp);
}

/* Warps of noise, on thin grids too; size: of each axis. */
static void planes_alone(void **state)
{
    static const int grids[][3] = {{23, 11, 17}, {40, 1, 3}, {2, 9, 5}};
    const int *size = grids[*(const int *)*state];
    clvox_grid grid = {{size[0], size[1], size[2]}, {{-2, .3}, {.4, 1.5}, {0, 0, 1, 7}, {0, 0, 0, 1}}};
    clvox_volume *warp, *whole, *part;
    uint64_t seed = 5;
    assert_ok(clvox_volume_create(&grid, 3, CLVOX_KIND_DISPLACEMENT, &warp));
    for (size_t i = 0; i < 3 * clvox_grid_voxels(&grid); i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1;
        warp->data[i] = (float)(seed >> 40) * 0x1p-25f;
    }
    assert_ok(clvox_jacobian(ctx, warp, NULL, 1, &whole, NULL));
    for (int at_end = 0; at_end < 5; at_end++) {
        int at[3], i = 0;
        for (int k = 0; k < 3; k++) { /* at either end, one before it, and in the middle */
            const int from = at_end % 2 ? at_end / 2 : size[k] - 1 - at_end / 2,
                      place = at_end < 4 ? from : size[k] / 2;
            at[k] = place < 0 ? 0 : place >= size[k] ? size[k] - 1 : place;
        }
        assert_ok(clvox_jacobian_planes(warp, at, 1, &part));
        assert_true(clvox_grid_equal(&part->grid, &grid));
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++, i++) {
                    const bool near = abs(x - at[0]) < 2 || abs(y - at[1]) < 2 || abs(z - at[2]) < 2;
                    const float want = near ? whole->data[i] : 0;
                    const double apart = fabs((double)part->data[i] - (double)want);
                    assert_that(apart <= (near ? 2e-6 : 0), "%d %d %d: %g, not %g", x, y, z,
                                (double)part->data[i], (double)want);
                }
        clvox_volume_destroy(&part);
    }
    assert_int_equal(clvox_jacobian_planes(warp, (const int[3]){0, 0, size[2]}, 1, &part),
                     CLVOX_ERROR_ARGUMENT);
    assert_true(!part && strstr(clvox_message(), "plane"));
    assert_int_equal(clvox_jacobian_planes(whole, (const int[3]){0, 0, 0}, 1, &part), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&whole);
    clvox_volume_destroy(&warp);
}

static void jacobians(void)
{
    for (int i = 0; i < 3; i++)
        test_case_at(planes_alone, TEST_AT(i), "Jacobian in three planes alone, grid %d", i);
    test_case(jacobian_of_a_linear_map_on_an_oblique_grid, "Jacobian of a linear map on an oblique grid");
    test_case(a_mask_on_another_grid_restricts,
              "a mask on another grid restricts the summary; an empty one is refused");
    test_case(folded_voxels_are_counted, "folded voxels are counted");
}

static void singular_affines_missing_and_damaged_warps(void **state)
{
    (void)state;
    double flat[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 1}};
    clvox_transform t = affine(CLV_MATRIX(flat)), none = {.is_warp = 1};
    clvox_volume *image = ramp(&left_handed), *out;
    double x[3] = {0, 0, 0};
    clvox_link flat_link = {&t, 0}, none_link = {&none, 0};
    assert_true(clvox_apply(ctx, image, &left_handed, &flat_link, 1, 0, 0, &out) ==
                    CLVOX_ERROR_DATA &&
                !out);
    assert_true(clvox_compose(ctx, &left_handed, &none_link, 1, &out) == CLVOX_ERROR_ARGUMENT &&
                !out);
    assert_int_equal(clvox_apply_points((clvox_link[]){{NULL, 0}}, 1, x, 1), CLVOX_ERROR_ARGUMENT);
    clvox_grid vast = left_handed;
    vast.size[0] = vast.size[1] = vast.size[2] = 1000;
    assert_true(clvox_apply(ctx, image, &vast, NULL, 0, 0, 0, &out) == CLVOX_ERROR_ARGUMENT &&
                !out);
    image->kind = CLVOX_KIND_VECTOR;
    assert_true(clvox_apply(ctx, image, &left_handed, NULL, 0, 0, 0, &out) ==
                    CLVOX_ERROR_ARGUMENT &&
                !out);
    clvox_volume_destroy(&image);
}

static void warps_and_grids_without_a_voxel_are_refused(void **state)
{
    (void)state;
    float nothing[3] = {0, 0, 0};
    double x[3];
    clvox_volume *out;
    clvox_volume empty = {.grid = left_handed, .frames = 3, .kind = CLVOX_KIND_DISPLACEMENT, .data = nothing};
    clvox_transform warp = {.is_warp = 1, .warp = &empty};
    clvox_link link = {&warp, 0};
    empty.grid.size[0] = 0;
    clv_matrix_apply(CLV_MATRIX(left_handed.to_ras), (double[3]){-.5, 0, 0}, x);
    assert_int_equal(clvox_apply_points(&link, 1, x, 1), CLVOX_ERROR_ARGUMENT);
    empty.grid.size[0] = empty.grid.size[1] = -1;
    assert_int_equal(clvox_apply_points(&link, 1, x, 1), CLVOX_ERROR_ARGUMENT);
    assert_true(clvox_invert(ctx, &empty, &out, NULL) == CLVOX_ERROR_ARGUMENT && !out);
}

static void refusals(void)
{
    test_case(singular_affines_missing_and_damaged_warps,
              "singular affines, missing and damaged warps are refused");
    test_case(warps_and_grids_without_a_voxel_are_refused, "warps and grids without a voxel are refused");
}

static double wave(const double at[3])
{
    return 100 * cos(1.1 * at[0] + .3) * cos(.9 * at[1]) * cos(1.2 * at[2] - .5);
}

/* Waves of five to seven voxels, looked at between them: what each method errs by, away from the border. */
static double wave_error(clvox_interpolation how)
{
    const clvox_grid grid = {{29, 31, 27}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_transform shift = {.matrix = {{1, 0, 0, .5}, {0, 1, 0, .37}, {0, 0, 1, -.41}, {0, 0, 0, 1}}};
    const clvox_link link = {&shift, 0};
    clvox_volume *v, *out;
    double worst = 0, x[3];
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        voxel(&grid, i, x);
        v->data[i] = (float)wave(x);
    }
    assert_ok(clvox_apply(ctx, v, &grid, &link, 1, how, 0, &out));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        voxel(&grid, i, x);
        bool within = true;
        for (int a = 0; a < 3; a++)
            within = within && x[a] > 8 && x[a] < grid.size[a] - 9;
        double at[3] = {x[0] + .5, x[1] + .37, x[2] - .41};
        if (within)
            worst = fmax(worst, fabs((double)out->data[i] - wave(at)));
    }
    clvox_volume_destroy(&out);
    /* At voxels both give the values that there are. */
    assert_ok(clvox_apply(ctx, v, &grid, NULL, 0, how, 0, &out));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++)
        assert_true(fabsf(out->data[i] - v->data[i]) < 2e-4f);
    clvox_volume_destroy(&v);
    clvox_volume_destroy(&out);
    return worst;
}

static void wider_kernels_err_less(void **state)
{
    (void)state;
    double linear = wave_error(CLVOX_INTERPOLATE_LINEAR), cubic = wave_error(CLVOX_INTERPOLATE_CUBIC);
    double spline = wave_error(CLVOX_INTERPOLATE_BSPLINE), lanczos = wave_error(CLVOX_INTERPOLATE_LANCZOS);
    printf("# linear %.2f, cubic %.2f, B-spline %.2f, Lanczos %.2f of 100\n", linear, cubic, spline, lanczos);
    assert_true(cubic < .5 * linear && spline < .5 * cubic && lanczos < .8 * cubic);
    /* Axes of one and of two voxels. */
    const clvox_grid thin = {{2, 1, 9}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_volume *v, *out;
    assert_ok(clvox_volume_create(&thin, 2, CLVOX_KIND_SCALAR, &v));
    harness_random(v->data, 36, 5, -9, 9);
    for (int how = CLVOX_INTERPOLATE_BSPLINE; how <= CLVOX_INTERPOLATE_LANCZOS; how++) {
        assert_ok(clvox_apply(ctx, v, &thin, NULL, 0, (clvox_interpolation)how, 0, &out));
        for (size_t i = 0; i < 36; i++)
            assert_true(fabsf(out->data[i] - v->data[i]) < 2e-5f);
        clvox_volume_destroy(&out);
    }
    v->kind = CLVOX_KIND_LABEL;
    assert_int_equal(clvox_apply(ctx, v, &thin, NULL, 0, CLVOX_INTERPOLATE_BSPLINE, 0, &out), CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&v);
}

/* forward brings to a place what apply takes from it: <forward u, v> = <u, apply v>, on grids that differ. */
static void forward_is_the_adjoint_of_apply(void **state)
{
    (void)state;
    const clvox_transform t = affine(stretch);
    const clvox_link link = {&t, 0};
    clvox_volume *u, *v, *carried, *taken;
    double left = 0, right = 0, size = 0, edge[2] = {0};
    size_t from = clvox_grid_voxels(&left_handed), to = clvox_grid_voxels(&right_handed);
    assert_ok(clvox_volume_create(&left_handed, 2, CLVOX_KIND_SCALAR, &u));
    assert_ok(clvox_volume_create(&right_handed, 2, CLVOX_KIND_SCALAR, &v));
    harness_random(u->data, 2 * from, 8, -3, 5);
    harness_random(v->data, 2 * to, 9, -1, 1);
    assert_ok(clvox_forward(ctx, u, &right_handed, &link, 1, CLVOX_LANDING_MASS, 0, &carried));
    assert_ok(clvox_apply(ctx, v, &left_handed, &link, 1, CLVOX_INTERPOLATE_LINEAR, 0, &taken));
    for (size_t i = 0; i < 2 * from; i++) {
        right += (double)u->data[i] * (double)taken->data[i];
        size += fabs((double)u->data[i]);
    }
    for (size_t i = 0; i < 2 * to; i++)
        left += (double)carried->data[i] * (double)v->data[i];
    for (int k = 0; k < 2; k++) {
        const double(*m)[4] = k ? right_handed.to_ras : left_handed.to_ras;
        edge[k] = fabs(m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                       m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]));
    }
    left *= edge[1] / edge[0];
    assert_that(fabs(left - right) < 1e-6 * size, "%g and %g", left, right);
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&taken);
    /* The mean of a constant is that constant wherever something lands. */
    for (size_t i = 0; i < 2 * from; i++)
        u->data[i] = 4;
    u->data[77] = NAN;
    assert_ok(clvox_forward(ctx, u, &right_handed, &link, 1, CLVOX_LANDING_MEAN, -1, &carried));
    size_t landed = 0;
    for (size_t i = 0; i < 2 * to; i++) {
        assert_true(carried->data[i] == -1 || fabsf(carried->data[i] - 4) < 1e-5f);
        landed += carried->data[i] > 0;
    }
    assert_true(landed > to / 2 && landed < 2 * to);
    clvox_volume_destroy(&carried);
    u->kind = CLVOX_KIND_LABEL;
    assert_int_equal(clvox_forward(ctx, u, &right_handed, &link, 1, CLVOX_LANDING_MASS, 0, &carried),
                     CLVOX_ERROR_ARGUMENT);
    assert_null(carried);
    u->kind = CLVOX_KIND_VECTOR;
    assert_int_equal(clvox_forward(ctx, u, &right_handed, &link, 1, CLVOX_LANDING_MEAN, 0, &carried),
                     CLVOX_ERROR_ARGUMENT);
    clvox_volume_destroy(&u);
    clvox_volume_destroy(&v);
}

/* Each voxel has the label of which the most lands there, each carried as a mask by itself. */
static void labels_are_carried_by_vote(void **state)
{
    (void)state;
    enum { LABELS = 4 };
    static const float value[LABELS] = {0, 2, 5, 40};
    const clvox_transform t = affine(stretch);
    const clvox_link link = {&t, 0};
    size_t from = clvox_grid_voxels(&left_handed), to = clvox_grid_voxels(&right_handed), contested = 0,
           empty = 0;
    clvox_volume *labels, *mask, *carried, *again, *share[LABELS];
    assert_ok(clvox_volume_create(&left_handed, 2, CLVOX_KIND_LABEL, &labels));
    assert_ok(clvox_volume_create(&left_handed, 2, CLVOX_KIND_SCALAR, &mask));
    harness_random(labels->data, 2 * from, 12, 0, LABELS - .01f);
    for (size_t i = 0; i < 2 * from; i++)
        labels->data[i] = i % 31 ? value[(int)labels->data[i]] : NAN;
    for (int k = 0; k < LABELS; k++) {
        for (size_t i = 0; i < 2 * from; i++)
            mask->data[i] = labels->data[i] == value[k];
        assert_ok(clvox_forward(ctx, mask, &right_handed, &link, 1, CLVOX_LANDING_MASS, 0, &share[k]));
    }
    assert_ok(clvox_forward(ctx, labels, &right_handed, &link, 1, CLVOX_LANDING_MEAN, 9, &carried));
    assert_ok(clvox_forward(ctx, labels, &right_handed, &link, 1, CLVOX_LANDING_MEAN, 9, &again));
    assert_true(carried->kind == CLVOX_KIND_LABEL && carried->frames == 2);
    assert_memory_equal(carried->data, again->data, 2 * to * sizeof(float));
    for (size_t i = 0; i < 2 * to; i++) {
        float most = 0, second = 0, want = 9;
        for (int k = 0; k < LABELS; k++) {
            const float here = share[k]->data[i];
            second = here > most ? most : fmaxf(second, here);
            want = here > most ? value[k] : want;
            most = fmaxf(most, here);
        }
        if (most == 0)
            assert_true(carried->data[i] == 9);
        else if (most > 1e-2f && most - second > 1e-4f)
            assert_that(carried->data[i] == want, "voxel %zu: %g, not %g", i, (double)carried->data[i],
                        (double)want);
        contested += second > 0;
        empty += most == 0;
    }
    assert_true(contested > to / 10 && empty > 0);
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&again);
    /* Names beyond float32 stay, and one for outside is added. */
    labels->names = malloc(3 * sizeof *labels->names);
    memcpy(labels->names, (const int64_t[]){0, 4000000001, 4000000003}, 3 * sizeof *labels->names);
    labels->name_count = 3;
    for (size_t i = 0; i < 2 * from; i++)
        labels->data[i] = (float)(1 + i % 2);
    assert_ok(clvox_forward(ctx, labels, &right_handed, &link, 1, CLVOX_LANDING_MEAN, 7, &carried));
    assert_true(carried->name_count == 4 && carried->names[3] == 7 && carried->names[1] == 4000000001);
    for (size_t i = 0; i < 2 * to; i++)
        assert_true(carried->data[i] == 1 || carried->data[i] == 2 || carried->data[i] == 3);
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&labels);
    /* An image that looks like labels is voted on, too, and a mask may still be smoothed. */
    mask->hint = CLVOX_LABELS_MASK;
    assert_ok(clvox_forward(ctx, mask, &right_handed, &link, 1, CLVOX_LANDING_MEAN, 0, &carried));
    assert_true(carried->kind == CLVOX_KIND_SCALAR && carried->hint == CLVOX_LABELS_MASK);
    for (size_t i = 0; i < 2 * to; i++)
        assert_true(carried->data[i] == 0 || carried->data[i] == 1);
    clvox_volume_destroy(&carried);
    clvox_volume_destroy(&mask);
    for (int k = 0; k < LABELS; k++)
        clvox_volume_destroy(&share[k]);
}

int main(void)
{
    ctx = harness_open();
    test_case(forward_is_the_adjoint_of_apply, "forward is the adjoint of apply");
    test_case(labels_are_carried_by_vote, "labels are carried forward by vote");
    test_case(wider_kernels_err_less, "wider kernels err less, and thin axes stay");
    test_case(same_grid, "no transform, same grid: every voxel as it was, NaN too");
    ramps();
    points();
    inverses();
    test_case(labels, "labels stay labels");
    thin();
    directions();
    jacobians();
    refusals();
    return test_run("apply", harness_close);
}
