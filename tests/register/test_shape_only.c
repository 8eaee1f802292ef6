/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes and landmarks without images. */
#include <string.h>

#include "mesh/meshes.h"
#include "op/harness.h"
#include "register/pair.h"

static clvox_context *ctx;
static const double middle[3] = {30, -50, 8}, one[4][4] = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}};

/* Two surfaces of a sphere and an ellipsoid, and what a registration of them takes. */
typedef struct scene {
    clvox_surface *surface[2];
    clvox_shape shape[2];
    const clvox_shape *fixed, *moving;
    clvox_grid grid;
    clvox_register_images images;
    clvox_register_options options;
} scene;

static void begin(scene *s, clvox_deform deform)
{
    const double axes[3] = {8.4, 5.95, 7.7}, shifted[3] = {31.5, -51, 8.5};
    memset(s, 0, sizeof *s);
    s->surface[0] = mesh_sphere(middle, 7, 2);
    s->surface[1] = mesh_ellipsoid(shifted, axes, 6);
    for (int i = 0; i < 2; i++)
        clvox_shape_of_surface(s->surface[i], &s->shape[i]);
    s->fixed = &s->shape[0];
    s->moving = &s->shape[1];
    pair_shape_options(&s->options, deform);
    s->options.linear = CLVOX_LINEAR_NONE;
    s->options.init = CLVOX_INIT_HEADER;
    s->images = (clvox_register_images){.fixed_shapes = &s->fixed, .moving_shapes = &s->moving, .shapes = 1};
    assert_ok(clvox_shapes_grid(&s->images, one, 2, 9, &s->grid));
    s->images.grid = &s->grid;
}

static void end(scene *s)
{
    for (int i = 0; i < 2; i++)
        clvox_surface_destroy(&s->surface[i]);
}

static void run(const scene *s, clvox_register_result *r, clvox_shape_errors *errors)
{
    assert_ok(clvox_register(ctx, &s->images, &s->options, r));
    assert_true(r->device_bytes <= clvox_register_bytes(&s->images, &s->options));
    assert_ok(clvox_register_shape(ctx, r, &s->options, s->fixed, s->moving, errors));
}

static void surfaces_find_each_other(void **state)
{
    const int *given = *state;
    scene s;
    clvox_register_result r, again;
    clvox_shape_errors errors;
    begin(&s, pair_models[given[0]].deform);
    run(&s, &r, &errors);
    printf("# %.3f mm apart, %.3f at the end (%.3f at most)\n", errors.mean_linear, errors.mean_after,
           errors.largest_after);
    assert_that(errors.mean_after < .2 * errors.mean_linear &&
                    errors.largest_after < errors.largest_linear / 2,
                "%g of %g, %g of %g", errors.mean_after, errors.mean_linear, errors.largest_after,
                errors.largest_linear);
    assert_true(r.jacobian.folded == 0 && r.suspicions == 0 && !r.warped && isnan(r.metric_after));
    assert_true(clvox_grid_equal(&r.warp->grid, &s.grid));
    clvox_shape_destroy(&errors.carried);
    /* The images in whose place nothing stands: the same bits. */
    clvox_volume *blank;
    clvox_register_images with = s.images;
    clvox_register_options o = s.options;
    assert_ok(clvox_volume_create(&s.grid, 1, CLVOX_KIND_SCALAR, &blank));
    with.channels = 1;
    with.fixed[0] = with.moving[0] = blank;
    with.grid = NULL;
    o.metric = o.linear_metric = CLVOX_METRIC_SSD;
    assert_ok(clvox_register(ctx, &with, &o, &again));
    assert_true(pair_same(r.warp, again.warp));
    clvox_register_result_destroy(&again);
    clvox_register_result_destroy(&r);
    clvox_volume_destroy(&blank);
    end(&s);
}

/* Far away by a matrix that is given: the same map before it, and the box is not the longer for it. */
static void a_matrix_leads_to_what_is_far_away(void **state)
{
    (void)state;
    const double far[4][4] = {{0, -1, 0, 400}, {1, 0, 0, -70}, {0, 0, 1, 900}, {0, 0, 0, 1}};
    scene s;
    clvox_register_result near, there;
    clvox_shape_errors errors, moved;
    double largest;
    begin(&s, CLVOX_DEFORM_SYN);
    run(&s, &near, &errors);
    for (size_t i = 0; i < s.surface[1]->vertices; i++) {
        double *p = s.surface[1]->points + 3 * i, q[3];
        for (int k = 0; k < 3; k++)
            q[k] = far[k][0] * p[0] + far[k][1] * p[1] + far[k][2] * p[2] + far[k][3];
        memcpy(p, q, sizeof q);
    }
    memcpy(s.options.matrix, far, sizeof far);
    s.options.init = CLVOX_INIT_MATRIX;
    clvox_grid grid;
    assert_ok(clvox_shapes_grid(&s.images, far, 2, 9, &grid));
    assert_memory_equal(grid.size, s.grid.size, sizeof grid.size);
    run(&s, &there, &moved);
    const double mean = pair_distance(near.warp, there.warp, NULL, &largest);
    printf("# %.2g voxels apart, %.2g at most\n", mean, largest);
    assert_true(mean < 1e-3 && largest < 1e-2 && there.suspicions == 0);
    assert_that(fabs(moved.mean_after - errors.mean_after) < .01, "%g, %g", moved.mean_after,
                errors.mean_after);
    clvox_register_result_destroy(&near);
    clvox_register_result_destroy(&there);
    clvox_shape_destroy(&errors.carried);
    clvox_shape_destroy(&moved.carried);
    end(&s);
}

/* A surface, curves and a cloud that are shifted, and those of the moving side described by more elements on
 * one side of them: their centroids do not feel that, the mean of their vertices does. */
static void moments_find_a_shift(void **state)
{
    (void)state;
    const double by[3] = {5, -3, 21};
    scene s;
    clvox_shape *made[6];
    double matrix[4][4];
    begin(&s, CLVOX_DEFORM_GREEDY);
    const clvox_shape *ball = s.fixed;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_SURFACE, ball->vertices, ball->elements, &made[0]));
    memcpy(made[0]->points, ball->points, 3 * ball->vertices * sizeof *ball->points);
    memcpy(made[0]->corners, ball->corners, 3 * ball->elements * sizeof *ball->corners);
    /* Each of the first half of the triangles cut into three about its middle. */
    const size_t half = ball->elements / 2;
    assert_ok(
        clvox_shape_create(CLVOX_SHAPE_SURFACE, ball->vertices + half, ball->elements + 2 * half, &made[1]));
    memcpy(made[1]->points, ball->points, 3 * ball->vertices * sizeof *ball->points);
    int32_t *to = made[1]->corners;
    for (size_t e = 0; e < ball->elements; e++)
        for (int cut = 0; cut < (e < half ? 3 : 1); cut++, to += 3) {
            memcpy(to, ball->corners + 3 * e, 3 * sizeof *to);
            if (e >= half)
                continue;
            to[cut] = (int32_t)(ball->vertices + e);
            for (int k = 0; k < 3 && cut == 0; k++)
                for (int c = 0; c < 3; c++)
                    made[1]->points[3 * (ball->vertices + e) + (size_t)k] +=
                        ball->points[3 * ball->corners[3 * e + (size_t)c] + k] / 3;
        }
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CURVES, 3, 2, &made[2]));
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CURVES, 4, 3, &made[3]));
    memcpy(made[2]->points, (const double[9]){30, -50, 8, 34, -50, 8, 40, -50, 8}, 9 * sizeof(double));
    memcpy(made[3]->points, (const double[12]){30, -50, 8, 31, -50, 8, 32, -50, 8, 40, -50, 8},
           12 * sizeof(double));
    for (int side = 2; side < 4; side++)
        for (int i = 0; i < 2 * side; i++)
            made[side]->corners[i] = (i + 1) / 2;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CLOUD, 2, 0, &made[4]));
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CLOUD, 3, 0, &made[5]));
    memcpy(made[4]->points, (const double[6]){30, -50, 8, 33, -46, 9}, 6 * sizeof(double));
    memcpy(made[5]->points, (const double[9]){30, -50, 8, 30, -50, 8, 33, -46, 9}, 9 * sizeof(double));
    made[5]->weights = malloc(3 * sizeof(double));
    memcpy(made[5]->weights, (const double[3]){.25, .25, .5}, 3 * sizeof(double));
    for (int i = 1; i < 6; i += 2)
        for (size_t k = 0; k < 3 * made[i]->vertices; k++)
            made[i]->points[k] += by[k % 3];
    double at[6] = {28, -50, 7, 30, -51, 9}, there[6];
    for (int k = 0; k < 6; k++)
        there[k] = at[k] + by[k % 3];
    /* Each kind alone, and all of them and landmarks. */
    for (int kind = 0; kind < 4; kind++) {
        const clvox_shape *fixed[3] = {made[0], made[2], made[4]}, *moving[3] = {made[1], made[3], made[5]};
        clvox_register_images images = {.fixed_shapes = fixed + kind % 3,
                                        .moving_shapes = moving + kind % 3,
                                        .shapes = kind < 3 ? 1 : 3,
                                        .fixed_points = at,
                                        .moving_points = there,
                                        .points = kind < 3 ? 0 : 2};
        clvox_register_options o = s.options;
        double off[2] = {0}, far = 0;
        for (int i = 0; i < 2; i++) {
            o.init = i ? CLVOX_INIT_MOMENTS : CLVOX_INIT_CENTERS;
            assert_ok(clvox_shapes_start(&images, &o, matrix));
            for (int k = 0; k < 3; k++)
                off[i] += fabs(matrix[k][3] - by[k]);
        }
        assert_that(off[1] < 1e-9 && off[0] > .01, "kind %d: off by %g, and by centres %g", kind, off[1],
                    off[0]);
        /* They lie apart along z. */
        o.init = CLVOX_INIT_AUTO;
        assert_ok(clvox_shapes_start(&images, &o, matrix));
        assert_true(matrix[2][3] != 0);
        o.init = CLVOX_INIT_HEADER;
        assert_ok(clvox_shapes_start(&images, &o, matrix));
        assert_memory_equal(matrix, one, sizeof one);
        if (kind > 0)
            continue;
        /* And a registration starts from there. */
        clvox_register_result r;
        images.grid = &s.grid;
        o.init = CLVOX_INIT_MOMENTS;
        assert_ok(clvox_register(ctx, &images, &o, &r));
        for (int k = 0; k < 3; k++)
            far = fmax(far, fabs(r.matrix[k][3] - by[k]));
        assert_true(far < 1e-9 && r.largest_mm < .1);
        clvox_register_result_destroy(&r);
    }
    for (int i = 0; i < 6; i++)
        clvox_shape_destroy(&made[i]);
    end(&s);
}

/* A map that is known: 2 mm along x, falling off with a Gaussian that is wide against the shape. */
static double shift_at(const double x[3], const double about[3])
{
    double r2 = 0;
    for (int k = 0; k < 3; k++)
        r2 += (x[k] - about[k]) * (x[k] - about[k]);
    return 2 * exp(-r2 / (2 * 20. * 20));
}

static void landmarks_alone_find_a_known_map(void **state)
{
    (void)state;
    enum { N = 5 * 5 * 5 };
    double fixed[3 * N], moving[3 * N];
    clvox_register_options o;
    clvox_register_result r;
    clvox_landmark_errors e;
    clvox_grid grid;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 3; k++)
            fixed[3 * i + k] = moving[3 * i + k] = middle[k] + 6 * (i /
                                                                        (k == 0   ? 1
                                                                         : k == 1 ? 5
                                                                                  : 25) %
                                                                        5 -
                                                                    2);
        moving[3 * i] += shift_at(fixed + 3 * i, middle);
    }
    pair_shape_options(&o, CLVOX_DEFORM_GREEDY);
    o.linear = CLVOX_LINEAR_NONE;
    o.points_weight = 1;
    clvox_register_images images = {.fixed_points = fixed, .moving_points = moving, .points = N};
    assert_ok(clvox_shapes_grid(&images, one, 2, 10, &grid));
    images.grid = &grid;
    assert_ok(clvox_register(ctx, &images, &o, &r));
    assert_ok(clvox_register_landmarks(&r, fixed, moving, N, &e));
    printf("# landmarks %.3f mm apart, %.3f at the end\n", e.mean_linear, e.mean_after);
    assert_true(e.mean_after < .1 * e.mean_linear);
    /* Between the landmarks, too. */
    double off = 0;
    int inside = 0;
    const size_t n = clvox_grid_voxels(&grid);
    for (size_t i = 0; i < n; i++) {
        const double at[3] = {(double)(i % (size_t)grid.size[0]),
                              (double)(i / (size_t)grid.size[0] % (size_t)grid.size[1]),
                              (double)(i / (size_t)grid.size[0] / (size_t)grid.size[1])};
        double x[3], far = 0;
        for (int k = 0; k < 3; k++) {
            x[k] = grid.to_ras[k][k] * at[k] + grid.to_ras[k][3];
            far = fmax(far, fabs(x[k] - middle[k]));
        }
        if (far > 10)
            continue;
        off += fabs((double)r.warp->data[i] - shift_at(x, middle));
        inside++;
    }
    assert_that(off / inside < .25, "%g mm off", off / inside);
    clvox_register_result_destroy(&r);
}

static void refuse(const scene *s, const clvox_register_options *o, const clvox_register_images *images,
                   const char *why)
{
    clvox_register_result r;
    (void)s;
    assert_int_equal(clvox_register(ctx, images, o, &r), CLVOX_ERROR_ARGUMENT);
    assert_that(strstr(clvox_message(), why) != NULL, "%s", clvox_message());
}

static void what_cannot_be(void **state)
{
    (void)state;
    scene s;
    clvox_grid grid;
    begin(&s, CLVOX_DEFORM_GREEDY);
    clvox_register_options o = s.options;
    o.linear = CLVOX_LINEAR_AFFINE;
    refuse(&s, &o, &s.images, "nothing gives a linear part");
    o = s.options;
    o.deform = CLVOX_DEFORM_UNBIASED;
    refuse(&s, &o, &s.images, "the unbiased model has no term of shapes");
    clvox_register_images images = s.images;
    images.shapes = 0;
    refuse(&s, &s.options, &images, "no images, posteriors, shapes or landmarks");
    clvox_volume mask = {.grid = s.grid, .frames = 1};
    images = s.images;
    images.fixed_mask = &mask;
    refuse(&s, &s.options, &images, "masks are of images");
    images = s.images;
    images.grid = NULL;
    refuse(&s, &s.options, &images, "0 channels");
    assert_int_equal(clvox_shapes_grid(&s.images, one, 20, 9, &grid), CLVOX_ERROR_ARGUMENT);
    assert_that(strstr(clvox_message(), "too coarse for shapes that are 16") != NULL, "%s", clvox_message());
    assert_int_equal(clvox_shapes_grid(&s.images, one, .001, 9, &grid), CLVOX_ERROR_ARGUMENT);
    assert_that(strstr(clvox_message(), "more than 1024 voxels") != NULL, "%s", clvox_message());
    assert_int_equal(clvox_shapes_grid(&s.images, one, -1, 9, &grid), CLVOX_ERROR_ARGUMENT);
    assert_that(strstr(clvox_message(), "has to be above 0") != NULL, "%s", clvox_message());
    assert_int_equal(clvox_shapes_grid(&s.images, one, 2, (double)NAN, &grid), CLVOX_ERROR_ARGUMENT);
    const double nowhere[4][4] = {{0}};
    assert_true(clvox_shapes_grid(&s.images, nowhere, 2, 9, &grid) < 0);
    const clvox_register_images point = {.fixed_points = middle, .moving_points = middle, .points = 1};
    assert_int_equal(clvox_shapes_grid(&point, one, 2, 9, &grid), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), "one point") != NULL, "%s", clvox_message());
    end(&s);
}

/* The box of both, in the middle of the grid, with the margin around it. */
static void the_grid_is_around_the_shapes(void **state)
{
    (void)state;
    const double fixed[6] = {-10, 0, 5, 20, 4, 5}, moving[6] = {-12, 0, 5, 18, 10, 5};
    const clvox_register_images images = {.fixed_points = fixed, .moving_points = moving, .points = 2};
    clvox_grid grid;
    assert_ok(clvox_shapes_grid(&images, one, 2, 8, &grid));
    assert_true(grid.size[0] == 25 && grid.size[1] == 14 && grid.size[2] == 9);
    assert_true(grid.to_ras[0][0] == 2 && grid.to_ras[0][3] == -20 && grid.to_ras[1][3] == -8 &&
                grid.to_ras[2][3] == -3 && grid.to_ras[0][1] == 0 && grid.to_ras[3][3] == 1);
    /* A 64th of 32 mm, and a fifth of them around. */
    assert_ok(clvox_shapes_grid(&images, one, 0, 0, &grid));
    assert_that(fabs(grid.to_ras[0][0] - .5) < 1e-12 && grid.size[0] == 91, "%g, %d", grid.to_ras[0][0],
                grid.size[0]);
}

int main(void)
{
    ctx = harness_open();
    test_case(the_grid_is_around_the_shapes, "the grid is around the shapes");
    for (int i = 0; i < PAIR_MODELS; i++)
        test_case_at(surfaces_find_each_other, TEST_AT(i), "%s: surfaces find each other",
                     pair_models[i].name);
    test_case(moments_find_a_shift, "moments find a shift, however densely either side is sampled");
    test_case(a_matrix_leads_to_what_is_far_away, "a matrix leads to what is far away");
    test_case(landmarks_alone_find_a_known_map, "landmarks alone find a known map");
    test_case(what_cannot_be, "what needs images is refused without them");
    return test_run("shape only", harness_close);
}
