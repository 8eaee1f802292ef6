/* SPDX-License-Identifier: Apache-2.0 */
/* Curves and clouds of points: their sizes, distances and norms, in closed form. */
#include <math.h>
#include <string.h>

#include "clvox/shape.h"
#include "mesh/meshes.h"
#include "op/harness.h"

static clvox_context *ctx;

/* n segments from a to b. */
static clvox_shape *line_of(const double a[3], const double b[3], int n)
{
    clvox_shape *s;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CURVES, (size_t)n + 1, (size_t)n, &s));
    for (int i = 0; i <= n; i++)
        for (int k = 0; k < 3; k++)
            s->points[3 * i + k] = a[k] + (b[k] - a[k]) * i / n;
    for (int i = 0; i < n; i++) {
        s->corners[2 * i] = i;
        s->corners[2 * i + 1] = i + 1;
    }
    return s;
}

static clvox_shape *cloud_of(int n, const double *points, const double *weights)
{
    clvox_shape *s;
    assert_ok(clvox_shape_create(CLVOX_SHAPE_CLOUD, (size_t)n, 0, &s));
    memcpy(s->points, points, 3 * (size_t)n * sizeof *points);
    if (weights) {
        s->weights = malloc((size_t)n * sizeof *weights);
        memcpy(s->weights, weights, (size_t)n * sizeof *weights);
    }
    return s;
}

static clvox_surface_products products(const clvox_shape *a, const clvox_shape *b, double width,
                                       bool varifold)
{
    const clvox_currents_options o = {.size = sizeof o, .width = width, .varifold = varifold};
    clvox_surface_products p;
    assert_ok(clvox_shape_currents(ctx, a, b, &o, &p, NULL));
    return p;
}

static void sizes(void **state)
{
    (void)state;
    double size;
    clvox_shape *line = line_of((double[]){1, 2, 3}, (double[]){4, 6, 3}, 7);
    assert_ok(clvox_shape_size(line, &size));
    assert_that(fabs(size - 5) < 1e-12, "%g", size);
    clvox_shape *cloud = cloud_of(2, (double[]){0, 0, 0, 1, 1, 1}, NULL);
    assert_ok(clvox_shape_size(cloud, &size));
    assert_true(size == 2);
    clvox_surface *box = mesh_box((double[]){0, 0, 0}, (double[]){1, 2, 3}, 2);
    clvox_shape surface;
    clvox_shape_of_surface(box, &surface);
    assert_ok(clvox_shape_size(&surface, &size));
    assert_that(fabs(size - 22) < 1e-12, "%g", size);
    clvox_surface_destroy(&box);
    line->points[7] = NAN;
    assert_int_equal(clvox_shape_size(line, &size), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "vertex 2 is not a number in y"));
    line->points[7] = 0;
    line->corners[3] = 8;
    assert_int_equal(clvox_shape_size(line, &size), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "segment 1 names vertex 8 of 8"));
    cloud->weights = malloc(2 * sizeof(double));
    cloud->weights[0] = 1;
    cloud->weights[1] = -1;
    assert_int_equal(clvox_shape_size(cloud, &size), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "the weight of point 1 is -1"));
    clvox_shape_destroy(&line);
    clvox_shape_destroy(&cloud);
    assert_int_equal(clvox_shape_create((clvox_shape_kind)4, 1, 1, &line), CLVOX_ERROR_ARGUMENT);
    assert_null(line);
}

/* |S|^2 of a line of length L is the integral of exp(-(s - t)^2 / h^2) over both ends. */
static void lines_have_their_norm(void **state)
{
    (void)state;
    const double a[3] = {30, -20, 5}, b[3] = {36, -12, 5}, length = 10, width = 3;
    const double want = width * width * (exp(-length * length / (width * width)) - 1) +
                        length * width * sqrt(M_PI) * erf(length / width);
    double error[3];
    for (int i = 0; i < 3; i++) {
        clvox_shape *line = line_of(a, b, 8 << i), *back = line_of(b, a, 5);
        error[i] = fabs(products(line, line, width, false).aa / want - 1);
        clvox_surface_products current = products(line, back, width, false),
                               varifold = products(line, back, width, true);
        assert_that(current.ab < 0 && fabs(current.ab + varifold.ab) < 1e-5 * varifold.ab, "%g, %g",
                    current.ab, varifold.ab);
        assert_true(varifold.squared_distance < .03 * varifold.aa &&
                    current.squared_distance > 3.9 * current.aa);
        clvox_shape_destroy(&line);
        clvox_shape_destroy(&back);
    }
    assert_that(error[2] < 2e-3 && error[1] / error[2] > 3.5 && error[0] / error[1] > 3.5,
                "errors %g, %g, %g do not fall with order 2", error[0], error[1], error[2]);
    /* Two at a right angle have nothing in common, whichever way they run. */
    clvox_shape *x = line_of((double[]){-5, 0, 0}, (double[]){5, 0, 0}, 20),
                *y = line_of((double[]){0, -5, 0}, (double[]){0, 5, 0}, 20);
    for (int varifold = 0; varifold < 2; varifold++)
        assert_that(fabs(products(x, y, width, varifold).ab) < 1e-6, "%g",
                    products(x, y, width, varifold).ab);
    clvox_shape_destroy(&x);
    clvox_shape_destroy(&y);
}

static void clouds_are_measures(void **state)
{
    (void)state;
    const double points[12] = {0, 0, 0, 3, 0, 0, 0, 4, 0, 3, 0, 0}, width = 4;
    clvox_shape *two = cloud_of(2, points, NULL), *three = cloud_of(4, points, (double[]){3, 1, 0, 2});
    clvox_surface_products p = products(two, three, width, false);
    const double near = exp(-9 / 16.);
    /* Shares of one half each, twice. */
    assert_that(fabs(p.aa - (.5 + .5 * near)) < 1e-6, "%g", p.aa);
    assert_that(fabs(p.squared_distance) < 1e-6, "%g", p.squared_distance);
    three->weights[2] = 6;
    p = products(two, three, width, true);
    assert_that(fabs(p.ab - (.25 + .25 * near + .25 * exp(-1) + .25 * exp(-25 / 16.))) < 1e-6, "%g", p.ab);
    const clvox_currents_options o = {
        .size = sizeof o, .width = width, .method = CLVOX_CURRENTS_MESH, .error = 1e-3};
    clvox_surface_products meshed;
    assert_ok(clvox_shape_currents(ctx, two, three, &o, &meshed, NULL));
    assert_that(fabs(meshed.ab - p.ab) < 1e-3, "%g, not %g", meshed.ab, p.ab);
    clvox_shape *line = line_of(points, points + 3, 2);
    assert_int_equal(clvox_shape_currents(ctx, two, line, &o, &meshed, NULL), CLVOX_ERROR_ARGUMENT);
    clvox_shape_destroy(&two);
    clvox_shape_destroy(&three);
    clvox_shape_destroy(&line);
}

static void distances(void **state)
{
    (void)state;
    double mean[3], largest[3];
    /* Lines 3 mm apart, the second twice as long. */
    clvox_shape *a = line_of((double[]){0, 0, 0}, (double[]){8, 0, 0}, 3),
                *b = line_of((double[]){0, 3, 0}, (double[]){16, 3, 0}, 5);
    assert_ok(clvox_shape_compare(a, b, 1000, mean, largest));
    assert_that(fabs(mean[0] - 3) < 1e-9 && fabs(largest[0] - 3) < 1e-9, "%g, %g", mean[0], largest[0]);
    /* Length of its second half, sqrt(9 + t^2), t from 0 to 8: (t s + 9 asinh(t / 3)) / 2 with s the distance. */
    const double s = sqrt(73.), half = (8 * s + 9 * asinh(8 / 3.)) / 2 / 8;
    assert_that(fabs(mean[1] - (3 + half) / 2) < 1e-4 && fabs(largest[1] - s) < 1e-9, "%g, %g", mean[1],
                largest[1]);
    assert_that(fabs(mean[2] - (mean[0] + mean[1]) / 2) < 1e-12 && largest[2] == largest[1], "%g", mean[2]);
    clvox_shape *few = cloud_of(2, (double[]){0, 0, 0, 10, 0, 0}, (double[]){3, 1});
    clvox_shape *one = cloud_of(1, (double[]){0, 2, 0}, NULL);
    assert_ok(clvox_shape_compare(few, one, 1, mean, largest));
    assert_that(fabs(mean[0] - (3 * 2 + sqrt(104)) / 4) < 1e-12 && mean[1] == 2 &&
                    fabs(largest[2] - sqrt(104)) < 1e-12,
                "%g, %g, %g", mean[0], mean[1], largest[2]);
    assert_int_equal(clvox_shape_compare(few, a, 1, mean, largest), CLVOX_ERROR_ARGUMENT);
    few->weights[0] = few->weights[1] = 0;
    assert_int_equal(clvox_shape_compare(few, one, 1, mean, largest), CLVOX_ERROR_DATA);
    clvox_surface *in = mesh_sphere((double[]){0, 0, 0}, 5, 3), *out = mesh_sphere((double[]){0, 0, 0}, 6, 3);
    clvox_shape inner, outer;
    clvox_shape_of_surface(in, &inner);
    clvox_shape_of_surface(out, &outer);
    assert_ok(clvox_shape_compare(&inner, &outer, 1000, mean, largest));
    assert_that(fabs(mean[2] - 1) < .02 && largest[2] < 1.05, "%g, %g", mean[2], largest[2]);
    clvox_surface_destroy(&in);
    clvox_surface_destroy(&out);
    clvox_shape_destroy(&a);
    clvox_shape_destroy(&b);
    clvox_shape_destroy(&few);
    clvox_shape_destroy(&one);
}

int main(void)
{
    ctx = harness_open();
    test_case(sizes, "areas, lengths and weights, and shapes that are none");
    test_case(lines_have_their_norm, "lines have their norm, and orientation as currents alone");
    test_case(clouds_are_measures, "clouds are measures of one, whatever their number of points");
    test_case(distances, "distances between curves, clouds and surfaces");
    return test_run("shapes", harness_close);
}
