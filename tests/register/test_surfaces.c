/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces as a term: balls whose insides say nothing, and meshes in them that do. */
#include <string.h>
#include <unistd.h>

#include "mesh/meshes.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

/* A ball of 15 mm on two grids, the fixed one oblique, and in it a sphere that the moving image has as an ellipsoid, moved,
 * of other triangles. */
static struct {
    clvox_volume *fixed, *moving;
    clvox_surface *sphere, *ellipsoid;
} balls;

static const double middle[3] = {3, -5, 8};

static int set_up(void **state)
{
    (void)state;
    const double axes[3] = {8.4, 5.95, 7.7}, shifted[3] = {4.5, -6, 8.5};
    balls.fixed = pair_ball((const int[3]){27, 25, 19}, (const double[3]){2, 2, 2.4}, middle, 15, .96);
    balls.moving = pair_ball((const int[3]){26, 23, 21}, (const double[3]){2, 2.1, 2.2}, middle, 15, 1);
    balls.sphere = mesh_sphere(middle, 7, 2);
    balls.ellipsoid = mesh_ellipsoid(shifted, axes, 6);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&balls.fixed);
    clvox_volume_destroy(&balls.moving);
    clvox_surface_destroy(&balls.sphere);
    clvox_surface_destroy(&balls.ellipsoid);
    return 0;
}

static int run(const clvox_register_options *o, int surfaces, bool exchanged, clvox_register_result *r,
               clvox_shape_errors *errors)
{
    clvox_shape sphere, ellipsoid;
    clvox_shape_of_surface(balls.sphere, &sphere);
    clvox_shape_of_surface(balls.ellipsoid, &ellipsoid);
    const clvox_shape *ends[2][2] = {{&sphere, &sphere}, {&ellipsoid, &ellipsoid}};
    const clvox_register_images images = {
        .channels = 1,
        .fixed = {exchanged ? balls.moving : balls.fixed},
        .moving = {exchanged ? balls.fixed : balls.moving},
        .fixed_shapes = ends[exchanged],
        .moving_shapes = ends[!exchanged],
        .shapes = surfaces,
    };
    int status = clvox_register(ctx, &images, o, r);
    if (status >= 0)
        status = clvox_register_shape(ctx, r, o, ends[exchanged][0], ends[!exchanged][0], errors);
    return status;
}

static void surfaces_move_what_images_cannot_see(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result alone, idle, both;
    clvox_shape_errors errors;
    pair_shape_options(&o, pair_models[given[0]].deform);
    assert_ok(run(&o, 0, false, &alone, &errors));
    double before = errors.mean_linear, unseen = errors.mean_after;
    clvox_shape_destroy(&errors.carried);
    if (given[0] % 2 == 0) { /* without weight not a bit changes */
        o.surface_weight = 0;
        assert_ok(run(&o, 1, false, &idle, &errors));
        assert_true(pair_same(alone.warp, idle.warp));
        clvox_register_result_destroy(&idle);
        clvox_shape_destroy(&errors.carried);
        o.surface_weight = 1;
    }
    assert_ok(run(&o, 1, false, &both, &errors));
    printf("# %.3f mm apart, %.3f by the images alone, %.3f (%.3f at most) with surfaces; energy %.4f to %.5f; lncc %.3f, %.3f, "
           "%.3f\n", before, unseen, errors.mean_after, errors.largest_after, errors.energy_linear, errors.energy_after,
           both.metric_linear, alone.metric_after, both.metric_after);
    assert_true(unseen > .85 * before);
    assert_that(errors.mean_after < .25 * before && errors.largest_after < errors.largest_linear / 2, "%g, %g of %g", errors.mean_after,
                errors.largest_after, before);
    assert_true(errors.energy_after < .1 * errors.energy_linear && both.jacobian.folded == 0);
    clvox_register_result_destroy(&alone);
    clvox_shape_destroy(&errors.carried);
    if (pair_models[given[0]].deform == CLVOX_DEFORM_SYN) {
        clvox_register_result back;
        double mean = errors.mean_after;
        assert_ok(run(&o, 1, true, &back, &errors));
        assert_true(both.exchanged != back.exchanged);
        assert_that(fabs(errors.mean_after - mean) < .1 * before, "%g, %g", errors.mean_after, mean);
        clvox_register_result_destroy(&back);
        clvox_shape_destroy(&errors.carried);
    }
    clvox_register_result_destroy(&both);
}

/* Two surfaces, half of one turned inside out, behind an affine, and the same bits in another run. */
static void varifolds_behind_an_affine(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r, again;
    clvox_shape_errors errors, repeated;
    const double turn[3][3] = {{.95, -.2, .05}, {.2, .97, 0}, {0, -.05, 1.05}}, shift[3] = {1, -1, .5};
    pair_shape_options(&o, CLVOX_DEFORM_GREEDY);
    o.surface_kind = CLVOX_SURFACE_VARIFOLD;
    o.init = CLVOX_INIT_MATRIX;
    for (int i = 0; i < 3; i++) {
        o.matrix[i][3] = middle[i] + shift[i];
        for (int j = 0; j < 3; j++) {
            o.matrix[i][j] = turn[i][j];
            o.matrix[i][3] -= turn[i][j] * middle[j];
        }
    }
    mesh_turn(balls.ellipsoid, 0, balls.ellipsoid->triangles / 2);
    assert_ok(run(&o, 2, false, &r, &errors));
    assert_ok(run(&o, 2, false, &again, &repeated));
    mesh_turn(balls.ellipsoid, 0, balls.ellipsoid->triangles / 2);
    printf("# %.3f mm apart, %.3f after the linear part, %.3f at the end\n", errors.mean_before, errors.mean_linear, errors.mean_after);
    assert_true(pair_same(r.warp, again.warp));
    assert_true(errors.mean_after < .25 * errors.mean_linear && r.jacobian.folded == 0);
    clvox_register_result_destroy(&r);
    clvox_register_result_destroy(&again);
    clvox_shape_destroy(&errors.carried);
    clvox_shape_destroy(&repeated.carried);
}

/* A deformation works around what images hold, and around surfaces in the air. */
static void surfaces_far_from_what_images_show(void **state)
{
    const int *given = *state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_shape_errors errors;
    clvox_volume *air = pair_ball((const int[3]){61, 27, 23}, (const double[3]){2, 2, 2.4}, middle, 5, .96);
    const double place[3] = {middle[0] + 38, middle[1] + 12, middle[2]},
                 moved[3] = {place[0], place[1] + 3, place[2]}, axes[3] = {7, 7, 7};
    clvox_surface *from = mesh_sphere(place, 7, 2), *to = mesh_ellipsoid(moved, axes, 6);
    clvox_shape ends[2];
    clvox_shape_of_surface(from, &ends[0]);
    clvox_shape_of_surface(to, &ends[1]);
    const clvox_register_images images = {
        .channels = 1,
        .fixed = {air},
        .moving = {air},
        .fixed_shapes = (const clvox_shape *const[]){&ends[0]},
        .moving_shapes = (const clvox_shape *const[]){&ends[1]},
        .shapes = 1,
    };
    pair_shape_options(&o, pair_models[given[0]].deform);
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register_shape(ctx, &r, &o, &ends[0], &ends[1], &errors));
    printf("# %.3f mm apart, %.3f at the end\n", errors.mean_linear, errors.mean_after);
    assert_that(errors.mean_after < .25 * errors.mean_linear, "%g of %g", errors.mean_after,
                errors.mean_linear);
    clvox_register_result_destroy(&r);
    clvox_shape_destroy(&errors.carried);
    clvox_surface_destroy(&from);
    clvox_surface_destroy(&to);
    clvox_volume_destroy(&air);
}

static clvox_surface *mesh_of(const char *folder, const char *name)
{
    char path[1024];
    clvox_surface *s;
    snprintf(path, sizeof path, "%s/surf_deformetrica/AtlasConstruction2/%s", folder, name);
    return access(path, R_OK) ? NULL : clvox_surface_read(path, &s) < 0 ? NULL : s;
}

/* Those of two people, in two images that are the same and say nothing of them. */
static void hippocampus(const clvox_surface *a, const clvox_surface *b, int number)
{
    clvox_register_options o;
    clvox_register_result r;
    clvox_shape_errors errors;
    clvox_surface_facts facts;
    clvox_shape fixed, moving;
    clvox_shape_of_surface(a, &fixed);
    clvox_shape_of_surface(b, &moving);
    assert_ok(clvox_surface_inspect(a, &facts));
    clvox_volume *image =
        pair_ball((const int[3]){27, 35, 29}, (const double[3]){1.7, 1.7, 1.7}, middle, 15, 1);
    for (int axis = 0; axis < 3; axis++)
        image->grid.to_ras[axis][3] += (facts.bounds[0][axis] + facts.bounds[1][axis]) / 2 - middle[axis];
    const clvox_register_images images = {.channels = 1,
                                          .fixed = {image},
                                          .moving = {image},
                                          .fixed_shapes = (const clvox_shape *const[]){&fixed},
                                          .moving_shapes = (const clvox_shape *const[]){&moving},
                                          .shapes = 1};
    pair_shape_options(&o, CLVOX_DEFORM_GREEDY);
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register_shape(ctx, &r, &o, &fixed, &moving, &errors));
    printf("# hippocampi 1 and %d %.3f mm apart (%.3f at most), %.3f (%.3f) after\n", number,
           errors.mean_linear, errors.largest_linear, errors.mean_after, errors.largest_after);
    assert_true(r.device_bytes <= clvox_register_bytes(&images, &o));
    assert_true(errors.mean_linear > (number == 2 ? .7 : .4) && errors.mean_after < .4 &&
                r.jacobian.folded == 0);
    assert_true(errors.mean_after < .5 * errors.mean_linear);
    clvox_register_result_destroy(&r);
    clvox_shape_destroy(&errors.carried);
    clvox_volume_destroy(&image);
}

static void hippocampi(void **state)
{
    (void)state;
    const char *folder = getenv("CLVOX_DATA") ? getenv("CLVOX_DATA") : CLVOX_DATA_DEFAULT;
    clvox_surface *a = mesh_of(folder, "hippo1.vtk");
    if (!a)
        test_skip("no surf_deformetrica in %s", folder);
    for (int number = 2; number <= 4; number++) {
        char name[32];
        snprintf(name, sizeof name, "hippo%d.vtk", number);
        clvox_surface *b = mesh_of(folder, name);
        assert_non_null(b);
        hippocampus(a, b, number);
        clvox_surface_destroy(&b);
    }
    clvox_surface_destroy(&a);
}

static void surfaces_that_are_none(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_shape_errors errors;
    pair_shape_options(&o, CLVOX_DEFORM_GREEDY);
    double kept = balls.sphere->points[4];
    balls.sphere->points[4] = NAN;
    assert_int_equal(run(&o, 1, false, &r, &errors), CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "surface 1") != NULL);
    balls.sphere->points[4] = kept;
    assert_int_equal(run(&o, -1, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(run(&o, CLVOX_MAX_SHAPES + 1, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
    size_t triangles = balls.sphere->triangles;
    balls.sphere->triangles = 0;
    assert_int_equal(run(&o, 1, false, &r, &errors), CLVOX_ERROR_DATA);
    assert_true(strstr(clvox_message(), "it needs an area") != NULL);
    balls.sphere->triangles = triangles;
    o.surface_weight = -1;
    assert_int_equal(run(&o, 1, false, &r, &errors), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    ctx = harness_open();
    test_set_up(set_up);
    for (int i = 0; i < PAIR_MODELS; i++)
        test_case_at(surfaces_move_what_images_cannot_see, TEST_AT(i),
                     "%s: surfaces move what images cannot see", pair_models[i].name);
    for (int i = 0; i < 2; i++)
        test_case_at(surfaces_far_from_what_images_show, TEST_AT(i), "%s: surfaces far from what images show",
                     pair_models[i].name);
    test_case(varifolds_behind_an_affine, "varifolds behind an affine");
    test_case(hippocampi, "surf_deformetrica: hippocampi end within 0.4 mm on average");
    test_case(surfaces_that_are_none, "surfaces that are none");
    test_tear_down(tear_down);
    return test_run("surfaces", harness_close);
}
