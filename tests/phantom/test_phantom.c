/* SPDX-License-Identifier: Apache-2.0 */
/* The phantoms' own truth: derivatives, inverse, volume, repeatability. */
#include "check.h"

#include "phantom/phantom.h"

static double determinant(double du[3][3])
{
    double m[3][3];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m[i][j] = du[i][j] + (i == j);
    return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
           m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
           m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

static void world(const clvox_grid *grid, double i, double j, double k, double x[3])
{
    for (int a = 0; a < 3; a++)
        x[a] = grid->to_ras[a][0] * i + grid->to_ras[a][1] * j + grid->to_ras[a][2] * k + grid->to_ras[a][3];
}

typedef struct warp_given {
    const int *size;
    const double *spacing;
    bool oblique;
    double amplitude;
} warp_given;

static void warp_on_x_x(void **state)
{
    const warp_given *given = *state;
    const int *size = given->size;
    const double *spacing = given->spacing;
    bool oblique = given->oblique;
    double amplitude = given->amplitude;
    clvox_grid grid;
    clv_phantom_warp warp;
    clvox_phantom_grid(size, spacing, oblique, &grid);
    assert_that(clv_phantom_warp_make(&grid, amplitude, 3, &warp) == CLVOX_OK, "%s", clvox_message());
    double longest = 0, border = 0, smallest = 1e9, inverse = 0, gradient = 0;
    for (int k = 0; k < size[2]; k += 3)
        for (int j = 0; j < size[1]; j += 2)
            for (int i = 0; i < size[0]; i++) {
                double x[3], y[3], u[3], back[3], du[3][3];
                world(&grid, i, j, k, x);
                clv_phantom_warp_at(&warp, x, u);
                double length = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
                longest = fmax(longest, length);
                if (i == 0 || i == size[0] - 1)
                    border = fmax(border, length);
                clv_phantom_warp_gradient(&warp, x, du);
                smallest = fmin(smallest, determinant(du));
                for (int a = 0; a < 3; a++)
                    y[a] = x[a] + u[a];
                clv_phantom_warp_inverse_at(&warp, y, back);
                for (int a = 0; a < 3; a++) {
                    inverse = fmax(inverse, fabs(back[a] - x[a]));
                    double from[3], to[3], p[3] = {x[0], x[1], x[2]};
                    p[a] += 1e-4;
                    clv_phantom_warp_at(&warp, p, to);
                    p[a] -= 2e-4;
                    clv_phantom_warp_at(&warp, p, from);
                    for (int b = 0; b < 3; b++)
                        gradient = fmax(gradient, fabs((to[b] - from[b]) / 2e-4 - du[b][a]));
                }
            }
    assert_that(longest <= amplitude * 1.1 && longest >= amplitude * 0.8, "longest %g", longest);
    assert_that(border < 1e-9, "at the border %g", border);
    assert_that(smallest > 0, "smallest Jacobian %g", smallest);
    assert_that(inverse < 1e-8, "inverse off by %g mm", inverse);
    assert_that(gradient < 1e-6, "gradient off by %g", gradient);
}

static void check_warp(const int size[3], const double spacing[3], bool oblique, double amplitude)
{
    test_case_at(warp_on_x_x, TEST_OF(((warp_given){size, spacing, oblique, amplitude})),
                 "warp on %dx%dx%d%s", size[0], size[1], size[2], oblique ? " oblique" : "");
}

/* The grid of the cases below, and a phantom on it. */
static clvox_grid grid;
static clv_phantom phantom;

static void phantom_of(clvox_phantom_kind kind, uint64_t seed)
{
    clvox_phantom_grid((int[3]){48, 48, 24}, (double[3]){1, 1, 2}, true, &grid);
    assert_int_equal(clv_phantom_make(kind, &grid, seed, 0, &phantom), CLVOX_OK);
}

static void a_warp_that_could_fold_is_refused(void **state)
{
    (void)state;
    clvox_grid cube;
    clv_phantom_warp warp;
    clvox_phantom_grid((int[3]){32, 32, 32}, (double[3]){1, 1, 1}, false, &cube);
    assert_int_equal(clv_phantom_warp_make(&cube, 30, 1, &warp), CLVOX_ERROR_ARGUMENT);
    const char *said = strstr(clvox_message(), "at most ");
    double most = said ? atof(said + 8) : 0;
    assert_that(most > 1 && clv_phantom_warp_make(&cube, most, 1, &warp) == CLVOX_OK, "%g mm", most);
    assert_int_equal(clv_phantom_warp_make(&cube, 1.02 * most, 1, &warp), CLVOX_ERROR_ARGUMENT);
}

static void one_voxel(void **state)
{
    (void)state;
    clvox_grid one;
    clvox_volume *a = NULL;
    clv_phantom_warp warp;
    clvox_phantom_grid((int[3]){1, 1, 1}, (double[3]){1, 1, 1}, false, &one);
    assert_int_equal(clv_phantom_warp_make(&one, 0, 1, &warp), CLVOX_OK);
    assert_int_equal(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &one, 1, 0, &phantom), CLVOX_OK);
    assert_int_equal(clv_phantom_image(&phantom, &one, NULL, &warp, 0, &a), CLVOX_OK);
    assert_true(a && isfinite(a->data[0]));
    clvox_volume_destroy(&a);
    clv_phantom_free(&phantom);
}

static void the_ball_has_the_volume_of_a_ball(void **state)
{
    (void)state;
    clvox_volume *a = NULL;
    phantom_of(CLVOX_PHANTOM_BALL, 1);
    assert_int_equal(clv_phantom_image(&phantom, &grid, NULL, NULL, 0, &a), CLVOX_OK);
    double sum = 0, want = 4.0 / 3 * 3.14159265358979 * pow(0.3 * 48, 3) / 2;
    for (size_t i = 0; a && i < clvox_grid_voxels(&grid); i++)
        sum += (double)a->data[i] / 100;
    assert_that(fabs(sum / want - 1) < 0.01, "%g for %g voxels", sum, want);
    clvox_volume_destroy(&a);
    clv_phantom_free(&phantom);
}

static void shells_hold_their_four_labels(void **state)
{
    (void)state;
    clvox_volume *a = NULL, *b = NULL;
    phantom_of(CLVOX_PHANTOM_SHELLS, 1);
    assert_int_equal(clv_phantom_labels(&phantom, &grid, NULL, NULL, &a), CLVOX_OK);
    assert_int_equal(clv_phantom_image(&phantom, &grid, NULL, NULL, 0, &b), CLVOX_OK);
    int seen[5] = {0}, differ = 0;
    for (size_t i = 0; a && b && i < clvox_grid_voxels(&grid); i++) {
        seen[(int)a->data[i]]++;
        differ += fabsf(a->data[i] - b->data[i] / 100) > 0.51f;
    }
    assert_true(seen[0] && seen[1] && seen[2] && seen[3] && seen[4] && !differ);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clv_phantom_free(&phantom);
}

static void the_pulled_back_texture_equals_the_texture(void **state)
{
    (void)state;
    clv_phantom_warp warp;
    double matrix[4][4] = {{0.99, 0.1, 0, 2}, {-0.1, 1.02, 0.05, -1}, {0, 0.03, 1, 0.5}, {0, 0, 0, 1}};
    clvox_volume *a = NULL;
    phantom_of(CLVOX_PHANTOM_TEXTURED, 9);
    assert_int_equal(clv_phantom_warp_make(&grid, 2, 5, &warp), CLVOX_OK);
    assert_int_equal(
        clv_phantom_image(&phantom, &grid, (const double(*)[4])matrix, &warp, 0, &a),
        CLVOX_OK);
    double x[3], u[3], y[3];
    world(&grid, 20, 22, 11, x);
    clv_phantom_warp_at(&warp, x, u);
    for (int i = 0; i < 3; i++)
        y[i] = matrix[i][0] * (x[0] + u[0]) + matrix[i][1] * (x[1] + u[1]) + matrix[i][2] * (x[2] + u[2]) +
               matrix[i][3];
    assert_true(a &&
                a->data[20 + 48 * (22 + 48 * 11)] == (float)clv_phantom_at(&phantom, y));
    clvox_volume_destroy(&a);
    clv_phantom_free(&phantom);
}

static void the_texture_is_what_it_was_same_values(void **state)
{
    (void)state;
    phantom_of(CLVOX_PHANTOM_TEXTURED, 9);
    double origin[3] = {0, 0, 0}, off[3] = {3.5, -2.25, 1};
    assert_that(fabs(clv_phantom_at(&phantom, origin) - 373.890951144) < 1e-6, "%.9f",
                clv_phantom_at(&phantom, origin));
    assert_that(fabs(clv_phantom_at(&phantom, off) - 335.872139651) < 1e-6, "%.9f",
                clv_phantom_at(&phantom, off));
    clv_phantom_free(&phantom);
}

static void noise_has_its_deviation_a_seed(void **state)
{
    (void)state;
    clvox_volume *a = NULL, *b = NULL;
    phantom_of(CLVOX_PHANTOM_CONSTANT, 9);
    phantom.noise = 10;
    assert_int_equal(clv_phantom_image(&phantom, &grid, NULL, NULL, 1, &a), CLVOX_OK);
    assert_int_equal(clv_phantom_image(&phantom, &grid, NULL, NULL, 2, &b), CLVOX_OK);
    double mean = 0, square = 0, product = 0;
    size_t n = clvox_grid_voxels(&grid);
    for (size_t i = 0; a && b && i < n; i++) {
        double p = (double)a->data[i] - 100, q = (double)b->data[i] - 100;
        mean += p / (double)n;
        square += p * p / (double)n;
        product += p * q / (double)n;
    }
    assert_that(fabs(mean) < 0.2 && fabs(sqrt(square) - 10) < 0.1 && fabs(product) < 1, "%g %g %g", mean,
                sqrt(square), product);
    clvox_volume_destroy(&a);
    clvox_volume_destroy(&b);
    clv_phantom_free(&phantom);
}

static void a_program_s_pair_is_joined_by_its_warp(void **state)
{
    (void)state;
    clvox_phantom moving, fixed;
    clvox_volume *image = NULL, *labels = NULL, *warp = NULL, *back = NULL;
    double amplitude = 0, x[3], y[3], longest = 0;
    clv_phantom truth;
    clvox_phantom_defaults(&moving);
    clvox_phantom_grid((int[3]){19, 17, 13}, (double[3]){2, 2, 3}, 1, &moving.grid);
    fixed = moving;
    fixed.matrix[0][3] = 1.5;
    assert_ok(clvox_phantom_amplitude(&fixed.grid, fixed.seed, &amplitude));
    assert_that(amplitude > .1 && amplitude <= 5, "%g", amplitude);
    fixed.amplitude = amplitude;
    assert_ok(clvox_phantom_image(&fixed, &image));
    assert_ok(clvox_phantom_labels(&fixed, &labels));
    assert_ok(clvox_phantom_warp(&fixed.grid, amplitude, fixed.seed, 0, &warp));
    assert_ok(clvox_phantom_warp(&fixed.grid, amplitude, fixed.seed, 1, &back));
    assert_ok(clv_phantom_make(CLVOX_PHANTOM_TEXTURED, &moving.grid, moving.seed, 0, &truth));
    size_t n = clvox_grid_voxels(&fixed.grid), at = 9 + 19 * (8 + 17 * 5), marked = 0;
    world(&fixed.grid, 9, 8, 5, x);
    for (size_t i = 0; i < 3; i++)
        y[i] = x[i] + (double)warp->data[at + i * n] + (i == 0 ? 1.5 : 0);
    assert_that(fabs((double)image->data[at] - clv_phantom_at(&truth, y)) < 1e-2, "%g for %g",
                (double)image->data[at], clv_phantom_at(&truth, y));
    assert_true(memcmp(warp->data, back->data, 3 * n * sizeof *warp->data) != 0);
    for (size_t i = 0; i < n; i++) {
        double u[3] = {warp->data[i], warp->data[i + n], warp->data[i + 2 * n]};
        longest = fmax(longest, sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]));
        marked += labels->data[i] > 0;
    }
    assert_that(fabs(longest / amplitude - 1) < .2, "%g for %g mm", longest, amplitude);
    assert_true(labels->kind == CLVOX_KIND_LABEL && labels->type == CLVOX_TYPE_UINT8 && marked > n / 8);
    clvox_volume_destroy(&image);
    clvox_volume_destroy(&labels);
    clvox_volume_destroy(&warp);
    clvox_volume_destroy(&back);
    clv_phantom_free(&truth);
}

static void what_a_program_asks_for_in_vain(void **state)
{
    (void)state;
    clvox_phantom p;
    clvox_volume *out = NULL, *fa = NULL, *mask = NULL;
    clvox_surface *mesh = NULL;
    clvox_gradients *gradients = NULL;
    clvox_phantom_defaults(&p);
    clvox_phantom_grid((int[3]){5, 4, 3}, (double[3]){1, 1, 1}, 0, &p.grid);
    clvox_phantom wrong[5] = {p, p, p, p, p};
    wrong[0].kind = (clvox_phantom_kind)9;
    wrong[1].noise = -1;
    wrong[2].matrix[1][1] = 0;
    wrong[3].grid.size[2] = 0;
    wrong[4].amplitude = 100;
    for (int i = 0; i < 5; i++) {
        assert_that(clvox_phantom_image(&wrong[i], &out) == CLVOX_ERROR_ARGUMENT && !out, "%d", i);
        assert_that(clvox_phantom_labels(&wrong[i], &out) == CLVOX_ERROR_ARGUMENT && !out, "%d", i);
    }
    assert_true(clvox_phantom_warp(&p.grid, NAN, 1, 0, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_phantom_distance((clvox_solid)7, &p.grid, &out) == CLVOX_ERROR_ARGUMENT && !out);
    assert_true(clvox_phantom_mesh(CLVOX_SOLID_TORUS, &p.grid, 0, &mesh) == CLVOX_ERROR_ARGUMENT && !mesh);
    assert_true(clvox_phantom_tensor((clvox_tensor_phantom)3, &p.grid, 1, &out, &fa, &mask) ==
                    CLVOX_ERROR_ARGUMENT && !out && !fa && !mask);
    assert_true(clvox_phantom_gradients(5, 1000, 1, &gradients) == CLVOX_ERROR_ARGUMENT && !gradients);
    assert_ok(clvox_phantom_gradients(6, 1000, 1, &gradients));
    assert_true(clvox_phantom_dwi(CLVOX_TENSOR_HELIX, &p.grid, gradients, 0, 1, 1, &out) ==
                CLVOX_ERROR_ARGUMENT);
    assert_true(!out && gradients && gradients->count == 7);
    assert_ok(clvox_phantom_dwi(CLVOX_TENSOR_HELIX, &p.grid, gradients, INFINITY, 1, 1, &out));
    assert_true(out && out->frames == 7 && out->data[2 + 5 * (2 + 4)] == 1000);
    clvox_volume_destroy(&out);
    clvox_gradients_destroy(&gradients);
}

int main(void)
{
    check_warp((int[3]){65, 47, 33}, (double[3]){1, 1, 2}, true, 3);
    check_warp((int[3]){31, 37, 29}, (double[3]){1.5, 1, 1.2}, false, 2);
    check_warp((int[3]){40, 31, 1}, (double[3]){1, 1, 5}, false, 1);

    test_case(a_warp_that_could_fold_is_refused,
              "a warp that could fold is refused with the largest amplitude");
    test_case(one_voxel, "a grid of one voxel has a finite value");
    test_case(the_ball_has_the_volume_of_a_ball, "the ball has the volume of a ball");
    test_case(shells_hold_their_four_labels, "shells hold their four labels");
    test_case(the_pulled_back_texture_equals_the_texture,
              "the pulled-back texture equals the texture at the mapped place");
    test_case(the_texture_is_what_it_was_same_values,
              "the texture is what it was (same values on every machine)");
    test_case(noise_has_its_deviation_a_seed, "noise has its deviation, a seed, and no effect on the mean");
    test_case(a_program_s_pair_is_joined_by_its_warp, "a program's pair is joined by its warp");
    test_case(what_a_program_asks_for_in_vain, "what a program asks for in vain");
    return test_run("phantom", NULL);
}
