/* SPDX-License-Identifier: Apache-2.0 */
/* Boundary-based registration: a pose that is known, and what is no boundary. */
#include "base/matrix.h"
#include "check.h"
#include "clvox/boundary.h"
#include "clvox/phantom.h"
#include "op/harness.h"

/* mm: a voxel of the moving image, and half of its extent. */
enum { SIZE = 33 };
static const double EDGE = 3;

/* mm outside of the folded surface of a ball of white matter. */
static double outside(const double x[3])
{
    const double r = sqrt(x[0] * x[0] + 1.2 * x[1] * x[1] + .8 * x[2] * x[2]);
    return r - 30 - 2 * sin(.3 * x[0] + 1) * cos(.25 * x[1]) * sin(.2 * x[2] + .5);
}

static void known_pose(double m[4][4])
{
    const double turn[4][4] = {{0, -.06, .05, 0}, {.06, 0, -.07, 0}, {-.05, .07, 0, 0}, {0}};
    clv_matrix_exp(turn, m);
    m[0][3] = 12.4;
    m[1][3] = -8.1;
    m[2][3] = 5.3;
}

static void make_mask(clvox_volume **out)
{
    clvox_grid grid;
    clvox_phantom_grid((const int[3]){77, 71, 79}, (const double[3]){1, 1, 1}, 1, &grid);
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out));
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        const double voxel[3] = {(double)(i % 77), (double)(i / 77 % 71), (double)(i / 77 / 71)};
        double x[3];
        clv_matrix_apply(CLV_MATRIX(grid.to_ras), voxel, x);
        (*out)->data[i] = outside(x) < 0 ? 41 : 0;
    }
}

/* Intensity so many mm outside of white matter, at a height: 6 mm of grey matter, darker than white (T1) or
 * brighter, or 2.5 mm (THIN) with fluid above and nothing below. */
enum { T2, T1, THIN };
static double tissue(int kind, double d, double z)
{
    return d < 0                          ? kind == T1 ? 90 : 60
           : d < (kind == THIN ? 2.5 : 6) ? kind == T1 ? 60 : 90
           : kind == THIN                 ? z > 0 ? 100 : 70
           : kind == T1                   ? 50
                                          : 30;
}

/* Tissues; noise; a side brighter than the other. */
static void make_moving(const double pose[4][4], int kind, clvox_volume **out)
{
    clvox_grid grid = {.size = {SIZE, SIZE + 2, SIZE - 2}};
    double back[4][4];
    assert_ok(clv_matrix_invert(pose, back));
    clv_matrix_identity(grid.to_ras);
    for (int a = 0; a < 3; a++) {
        grid.to_ras[a][a] = a ? EDGE : -EDGE; /* stored from right to left */
        grid.to_ras[a][3] = pose[a][3] - .5 * (grid.size[a] - 1) * grid.to_ras[a][a] + .7;
    }
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, out));
    float *noise = malloc(clvox_grid_voxels(&grid) * sizeof *noise);
    assert_non_null(noise);
    harness_random(noise, clvox_grid_voxels(&grid), 21, -5, 5);
    for (size_t i = 0; i < clvox_grid_voxels(&grid); i++) {
        const double at[3] = {(double)(i % SIZE), (double)(i / SIZE % (SIZE + 2)),
                              (double)(i / SIZE / (SIZE + 2))};
        double sum = 0;
        for (int k = 0; k < 27; k++) { /* a voxel shows the mean of what is in it */
            double sub[3], x[3], y[3];
            for (int a = 0; a < 3; a++)
                sub[a] = at[a] + ((a == 0 ? k % 3 : a == 1 ? k / 3 % 3 : k / 9) - 1) / 3.;
            clv_matrix_apply(CLV_MATRIX(grid.to_ras), sub, y);
            clv_matrix_apply(CLV_MATRIX(back), y, x);
            sum += tissue(kind, outside(x), x[2]) / 27;
        }
        (*out)->data[i] = (float)(sum * (.85 + .01 * at[0])) + noise[i];
    }
    free(noise);
}

/* Mean distance of the vertices in two poses. */
static double off(const clvox_surface *s, const double a[4][4], const double b[4][4])
{
    double sum = 0;
    for (size_t v = 0; v < s->vertices; v++) {
        double x[3], y[3];
        clv_matrix_apply(a, s->points + 3 * v, x);
        clv_matrix_apply(b, s->points + 3 * v, y);
        sum += sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)) / (double)s->vertices;
    }
    return sum;
}

static void a_known_pose(void **state)
{
    (void)state;
    const double away[4][4] = {{0, .04, .02, 2}, {-.04, 0, .05, -1.5}, {-.02, -.05, 0, 1}, {0}};
    clvox_context *ctx = harness_context();
    double truth[4][4], wrong[4][4];
    clvox_volume *mask;
    clvox_surface *surface;
    clvox_boundary_result r;
    known_pose(truth);
    clv_matrix_exp(away, wrong);
    clv_matrix_multiply(CLV_MATRIX(truth), CLV_MATRIX(wrong), wrong);
    make_mask(&mask);
    assert_ok(clvox_boundary_of(ctx, mask, (const int[]){2, 41}, 2, &surface));
    for (int t1 = 0; t1 < 2; t1++) {
        clvox_volume *moving;
        double found[4][4], again[4][4];
        make_moving(CLV_MATRIX(truth), t1, &moving);
        clv_matrix_copy(CLV_MATRIX(wrong), found);
        assert_ok(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, NULL, found, &r));
        assert_true(r.contrast == (t1 ? CLVOX_BOUNDARY_T1 : CLVOX_BOUNDARY_T2));
        const double start = off(surface, CLV_MATRIX(truth), CLV_MATRIX(wrong)),
                     end = off(surface, CLV_MATRIX(truth), CLV_MATRIX(found));
        assert_that(start > 2.5 && end < .2, "t1 %d: %g mm, of %g", t1, end, start);
        assert_true(r.cost_after < r.cost_before && !r.lost && r.counted == r.points);
        assert_that(fabs(r.moved_mm - start) < 1, "%g, %g", r.moved_mm, start);
        assert_true(fabs(clv_matrix_determinant(CLV_MATRIX(found)) - 1) < 1e-9);
        /* The same bits. */
        clv_matrix_copy(CLV_MATRIX(wrong), again);
        assert_ok(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, NULL, again, &r));
        assert_memory_equal(found, again, sizeof found);
        if (t1) { /* where what lies outside is darker still, a larger surface is as good a boundary */
            clvox_volume_destroy(&moving);
            break;
        }
        /* Twelve degrees of freedom from a start that is stretched. */
        clvox_boundary_options o;
        clvox_boundary_defaults(&o);
        o.affine = 1;
        clv_matrix_copy(CLV_MATRIX(truth), again);
        for (int i = 0; i < 3; i++)
            again[i][0] *= 1.04;
        assert_ok(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, &o, again, &r));
        const double affine = off(surface, CLV_MATRIX(truth), CLV_MATRIX(again));
        assert_that(affine < .3, "affine, %g mm", affine);
        clvox_volume_destroy(&moving);
    }
    clvox_surface_destroy(&surface);
    clvox_volume_destroy(&mask);
}

/* What lies beyond grey matter hardly pulls. */
static void thin_grey_matter(void **state)
{
    (void)state;
    double truth[4][4], found[4][4];
    clvox_volume *mask, *moving;
    clvox_surface *surface;
    clvox_boundary_result r;
    known_pose(truth);
    clv_matrix_copy(CLV_MATRIX(truth), found);
    make_mask(&mask);
    make_moving(CLV_MATRIX(truth), THIN, &moving);
    assert_ok(clvox_boundary_of(harness_context(), mask, (const int[]){41}, 1, &surface));
    assert_ok(clvox_boundary_fit(harness_context(), (const clvox_surface *[]){surface}, 1, moving, NULL,
                                 found, &r));
    const double end = off(surface, CLV_MATRIX(truth), CLV_MATRIX(found));
    assert_that(end < .6, "%g mm", end);
    clvox_surface_destroy(&surface);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&moving);
}

static void fails(int got, int want, const char *word)
{
    assert_int_equal(got, want);
    assert_non_null(strstr(clvox_message(), word));
}

static void no_boundary(void **state)
{
    (void)state;
    clvox_context *ctx = harness_context();
    double truth[4][4], found[4][4];
    clvox_volume *mask, *moving;
    clvox_surface *surface;
    clvox_boundary_options o;
    clvox_boundary_result r;
    known_pose(truth);
    make_mask(&mask);
    fails(clvox_boundary_of(ctx, mask, (const int[]){2}, 1, &surface), CLVOX_ERROR_DATA, "labels");
    assert_null(surface);
    assert_ok(clvox_boundary_of(ctx, mask, NULL, 0, &surface));
    make_moving(CLV_MATRIX(truth), false, &moving);
    harness_random(moving->data, clvox_grid_voxels(&moving->grid), 5, 98, 102);
    clv_matrix_copy(CLV_MATRIX(truth), found);
    assert_ok(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, NULL, found, &r));
    assert_that(r.lost, "%g to %g", r.cost_before, r.cost_after);
    clv_matrix_identity(found);
    found[0][3] = 500;
    fails(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, NULL, found, &r),
          CLVOX_ERROR_DATA, "0 of the boundary");
    assert_true(found[0][3] == 500);
    clvox_boundary_defaults(&o);
    o.slope = 0;
    fails(clvox_boundary_fit(ctx, (const clvox_surface *[]){surface}, 1, moving, &o, found, &r),
          CLVOX_ERROR_ARGUMENT, "slope");
    clvox_volume_destroy(&moving);
    clvox_surface_destroy(&surface);
    clvox_volume_destroy(&mask);
}

int main(void)
{
    harness_open();
    test_case(a_known_pose, "boundary: a known pose of an image of 3 mm, of either contrast");
    test_case(thin_grey_matter, "boundary: thin grey matter with fluid on one side");
    test_case(no_boundary, "boundary: noise, a place outside, no label");
    return test_run("boundary", harness_close);
}
