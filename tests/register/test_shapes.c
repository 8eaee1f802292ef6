/* SPDX-License-Identifier: Apache-2.0 */
/* Curves and clouds as terms, and all kinds of anatomy at once on a map that is known. */
#include <string.h>

#include "base/matrix.h"
#include "mesh/meshes.h"
#include "mesh/shape.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;

/* ---- shapes on a surface --------------------------------------------------- */

/* A circle about each axis of an ellipsoid, of n segments. */
static clvox_shape *circles(const double middle[3], const double axes[3], int n)
{
    clvox_shape *s;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CURVES, 3 * (size_t)n, 3 * (size_t)n, &s));
    for (int i = 0; i < 3 * n; i++) {
        const int axis = i / n, b = (axis + 1) % 3, c = (axis + 2) % 3;
        const double angle = 2 * M_PI * (i % n) / n;
        s->points[3 * i + axis] = middle[axis];
        s->points[3 * i + b] = middle[b] + axes[b] * cos(angle);
        s->points[3 * i + c] = middle[c] + axes[c] * sin(angle);
        s->corners[2 * i] = i;
        s->corners[2 * i + 1] = i / n * n + (i + 1) % n;
    }
    return s;
}

/* The vertices of a surface, each with the area around it. */
static clvox_shape *cloud_on(const clvox_surface *surface)
{
    clvox_shape *s, view;
    clvox_shape_of_surface(surface, &view);
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CLOUD, surface->vertices, 0, &s));
    memcpy(s->points, surface->points, 3 * surface->vertices * sizeof(double));
    s->weights = calloc(surface->vertices, sizeof(double));
    for (size_t t = 0; t < surface->triangles; t++) {
        double centre[3], unit[3], area = clv_shape_element(&view, t, centre, unit);
        for (size_t k = 0; k < 3; k++)
            s->weights[surface->corners[3 * t + k]] += area / 3;
    }
    return s;
}

/* ---- what images cannot see -------------------------------------------------- */

/* A ball of 15 mm on two grids, and in it curves and points on a sphere, which the moving image has on an
 * ellipsoid that is moved, other ones. */
static struct {
    clvox_volume *fixed, *moving;
    clvox_shape *on_fixed[2], *on_moving[2]; /* cloud, curves */
} balls;

static const double middle[3] = {3, -5, 8};

static int set_up(void **state)
{
    (void)state;
    const double axes[3] = {8.4, 5.95, 7.7}, round[3] = {7, 7, 7}, shifted[3] = {4.5, -6, 8.5};
    balls.fixed = pair_ball((const int[3]){27, 25, 19}, (const double[3]){2, 2, 2.4}, middle, 15, .96);
    balls.moving = pair_ball((const int[3]){26, 23, 21}, (const double[3]){2, 2.1, 2.2}, middle, 15, 1);
    clvox_surface *sphere = mesh_sphere(middle, 7, 2), *ellipsoid = mesh_ellipsoid(shifted, axes, 6);
    balls.on_fixed[0] = cloud_on(sphere);
    balls.on_moving[0] = cloud_on(ellipsoid);
    balls.on_fixed[1] = circles(middle, round, 60);
    balls.on_moving[1] = circles(shifted, axes, 37);
    clvox_surface_destroy(&sphere);
    clvox_surface_destroy(&ellipsoid);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&balls.fixed);
    clvox_volume_destroy(&balls.moving);
    for (int k = 0; k < 2; k++) {
        clvox_shape_destroy(&balls.on_fixed[k]);
        clvox_shape_destroy(&balls.on_moving[k]);
    }
    return 0;
}

static int run(const clvox_register_options *o, int kind, clvox_register_result *r,
               clvox_shape_errors *errors)
{
    const clvox_register_images images = {
        .channels = 1,
        .fixed = {balls.fixed},
        .moving = {balls.moving},
        .shapes = kind < 0 ? 0 : 1,
        .fixed_shapes = (const clvox_shape *const *)&balls.on_fixed[kind < 0 ? 0 : kind],
        .moving_shapes = (const clvox_shape *const *)&balls.on_moving[kind < 0 ? 0 : kind],
    };
    int status = clvox_register(ctx, &images, o, r);
    if (status >= 0 && images.shapes)
        status = clvox_register_shape(ctx, r, o, images.fixed_shapes[0], images.moving_shapes[0], errors);
    return status;
}

static void shapes_move_what_images_cannot_see(void **state)
{
    const int *given = *state, kind = given[1];
    clvox_register_options o;
    clvox_register_result r, again;
    clvox_shape_errors errors, repeated;
    pair_shape_options(&o, pair_models[given[0]].deform);
    assert_ok(run(&o, kind, &r, &errors));
    printf("# %.3f mm apart, %.3f at the end (%.3f, %.3f at most); energy %.4f to %.5f\n", errors.mean_linear,
           errors.mean_after, errors.largest_linear, errors.largest_after, errors.energy_linear,
           errors.energy_after);
    assert_true(errors.energy_after < .1 * errors.energy_linear && r.jacobian.folded == 0);
    /* Points of a cloud stay apart from those of another one: by the nearest of both they differ on any
     * map. */
    if (kind == 1)
        assert_that(errors.mean_after < .35 * errors.mean_linear &&
                        errors.largest_after < .6 * errors.largest_linear,
                    "%g of %g, %g of %g", errors.mean_after, errors.mean_linear, errors.largest_after,
                    errors.largest_linear);
    if (given[0] % 2 == 0) {
        assert_ok(run(&o, kind, &again, &repeated));
        assert_true(pair_same(r.warp, again.warp));
        clvox_register_result_destroy(&again);
        clvox_shape_destroy(&repeated.carried);
    } else { /* without weight not a bit changes */
        clvox_register_result alone;
        o.curves_weight = o.cloud_weight = 0;
        assert_ok(run(&o, -1, &alone, NULL));
        assert_ok(run(&o, kind, &again, &repeated));
        assert_true(pair_same(alone.warp, again.warp) && !pair_same(alone.warp, r.warp));
        clvox_register_result_destroy(&alone);
        clvox_register_result_destroy(&again);
        clvox_shape_destroy(&repeated.carried);
    }
    clvox_register_result_destroy(&r);
    clvox_shape_destroy(&errors.carried);
}

static void shapes_that_are_none(void **state)
{
    (void)state;
    clvox_register_options o;
    clvox_register_result r;
    clvox_shape_errors errors;
    pair_shape_options(&o, CLVOX_DEFORM_GREEDY);
    clvox_shape *curves = balls.on_moving[1], *cloud = balls.on_fixed[0];
    double kept = curves->points[4];
    curves->points[4] = INFINITY;
    assert_int_equal(run(&o, 1, &r, &errors), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), "curves 1 of the moving image: vertex 1 is not a number in y") !=
                    NULL,
                "%s", clvox_message());
    curves->points[4] = kept;
    size_t count = curves->elements;
    curves->elements = 0;
    assert_int_equal(run(&o, 1, &r, &errors), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), "0 segments, none of which has a length") != NULL, "%s",
                clvox_message());
    curves->elements = count;
    double *weights = cloud->weights;
    cloud->weights = calloc(cloud->vertices, sizeof(double));
    assert_int_equal(run(&o, 0, &r, &errors), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), "cloud 1 of the fixed image") &&
                    strstr(clvox_message(), "has a weight"),
                "%s", clvox_message());
    free(cloud->weights);
    cloud->weights = weights;
    cloud->kind = CLVOX_SHAPE_CURVES;
    assert_int_equal(run(&o, 0, &r, &errors), CLVOX_ERROR_ARGUMENT);
    cloud->kind = CLVOX_SHAPE_CLOUD;
    o.cloud_weight = -1;
    assert_int_equal(run(&o, 0, &r, &errors), CLVOX_ERROR_ARGUMENT);
}

int main(void)
{
    ctx = harness_open();
    test_set_up(set_up);
    for (int i = 0; i < PAIR_MODELS; i++)
        for (int kind = 0; kind < 2; kind++)
            test_case_at(shapes_move_what_images_cannot_see, TEST_AT(i, kind),
                         "%s: %s move what images cannot see", pair_models[i].name,
                         kind ? "curves" : "clouds");
    test_case(shapes_that_are_none, "shapes that are none");
    test_tear_down(tear_down);
    return test_run("shapes", harness_close);
}
