/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces as currents and varifolds: known norms, and what must not change them. */
#include <math.h>
#include <string.h>

#include "mesh/meshes.h"
#include "op/harness.h"

static clvox_context *ctx;
static const double NOWHERE[3] = {0, 0, 0};

static clvox_surface_products products(const clvox_surface *a, const clvox_surface *b, double width, bool varifold)
{
    clvox_surface_products p;
    assert_ok(clvox_surface_currents(ctx, a, b, width, varifold, &p));
    return p;
}

/* ||S||^2 = 8 pi^2 R^4 [(1 + e^-2a) / a - (1 - e^-2a) / a^2], a = 2 R^2 / h^2. */
static double norm_of_sphere(double radius, double width)
{
    double a = 2 * radius * radius / (width * width);
    return 8 * M_PI * M_PI * pow(radius, 4) * ((1 + exp(-2 * a)) / a - (1 - exp(-2 * a)) / (a * a));
}

/* <S, T> of two spheres about one centre: the kernel depends on the angle alone. */
static double product_of_spheres(double r, double s, double width)
{
    double sum = 0;
    enum { STEPS = 20000 };
    for (int i = 0; i < STEPS; i++) {
        double c = -1 + 2 * (i + .5) / STEPS;
        sum += c * exp(-(r * r + s * s - 2 * r * s * c) / (width * width)) * 2 / STEPS;
    }
    return 8 * M_PI * M_PI * r * r * s * s * sum;
}

static void spheres_have_their_norm(void **state)
{
    (void)state;
    double error[3];
    for (int level = 1; level < 4; level++) {
        clvox_surface *ball = mesh_sphere(NOWHERE, 1, level);
        double want = norm_of_sphere(1, .7);
        error[level - 1] = fabs(products(ball, ball, .7, false).aa / want - 1);
        clvox_surface_destroy(&ball);
    }
    assert_that(error[2] < .005 && error[1] / error[2] > 3.5 && error[0] / error[1] > 3.5,
                "errors %g, %g, %g do not fall with order 2", error[0], error[1], error[2]);
    /* Millimetres, and another centre. */
    const double far[3] = {80, -130, 45};
    clvox_surface *in = mesh_sphere(far, 20, 4), *out = mesh_sphere(far, 23, 4);
    clvox_surface_products p = products(in, out, 9, false);
    assert_that(fabs(p.aa / norm_of_sphere(20, 9) - 1) < .002, "%g, not %g", p.aa, norm_of_sphere(20, 9));
    assert_that(fabs(p.ab / product_of_spheres(20, 23, 9) - 1) < .002, "%g, not %g", p.ab, product_of_spheres(20, 23, 9));
    clvox_surface_destroy(&in);
    clvox_surface_destroy(&out);
}

static void turn(clvox_surface *s, double angle)
{
    const double about[3] = {2. / 3, -1. / 3, 2. / 3}, shift[3] = {5, 7, -3};
    for (size_t i = 0; i < s->vertices; i++) {
        double *p = s->points + 3 * i, q[3], along = 0;
        for (int k = 0; k < 3; k++)
            along += about[k] * p[k];
        for (int k = 0; k < 3; k++) {
            int l = (k + 1) % 3, m = (k + 2) % 3;
            q[k] = cos(angle) * p[k] + sin(angle) * (about[l] * p[m] - about[m] * p[l]) + (1 - cos(angle)) * along * about[k] + shift[k];
        }
        memcpy(p, q, sizeof q);
    }
}

static void motion_keeps_them_and_turning_over_does_not(void **state)
{
    (void)state;
    clvox_surface *a = mesh_torus(NOWHERE, 8, 3, 40, 20), *b = mesh_sphere((double[]){4, 1, 0}, 7, 3);
    for (int varifold = 0; varifold < 2; varifold++) {
        clvox_surface_products still = products(a, b, 4, varifold), self = products(a, a, 4, varifold);
        assert_that(fabs(self.squared_distance) <= 1e-6 * self.aa, "from itself: %g", self.squared_distance);
        clvox_surface *c = mesh_without(a, 0, 0), *d = mesh_without(b, 0, 0);
        turn(c, 1);
        turn(d, 1);
        clvox_surface_products moved = products(c, d, 4, varifold);
        assert_that(fabs(moved.squared_distance - still.squared_distance) <= 1e-5 * still.aa, "moved: %g, still: %g",
                    moved.squared_distance, still.squared_distance);
        mesh_turn(d, 0, d->triangles);
        clvox_surface_products over = products(c, d, 4, varifold);
        double want = varifold ? moved.ab : -moved.ab;
        assert_that(fabs(over.ab - want) <= 1e-6 * moved.aa, "turned over: %g, not %g", over.ab, want);
        clvox_surface_destroy(&c);
        clvox_surface_destroy(&d);
    }
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
}

static void odd_surfaces(void **state)
{
    (void)state;
    clvox_surface_products p;
    clvox_surface *ball = mesh_sphere(NOWHERE, 5, 1), *nothing, *bad = mesh_sphere(NOWHERE, 5, 1), *flat = mesh_sphere(NOWHERE, 5, 1);
    assert_ok(clvox_surface_create(3, 0, &nothing));
    p = products(ball, nothing, 2, false);
    assert_true(p.aa > 0 && p.bb == 0 && p.ab == 0 && p.squared_distance == p.aa);
    for (size_t i = 0; i < 3 * flat->vertices; i++)
        flat->points[i] = 2; /* no triangle has an area */
    p = products(flat, ball, 2, true);
    assert_true(p.aa == 0 && p.ab == 0 && p.bb > 0);
    bad->points[4] = NAN;
    assert_int_equal(clvox_surface_currents(ctx, ball, bad, 2, 0, &p), CLVOX_ERROR_DATA);
    assert_int_equal(clvox_surface_currents(ctx, ball, ball, 0, 0, &p), CLVOX_ERROR_ARGUMENT);
    assert_int_equal(clvox_surface_currents(ctx, ball, ball, INFINITY, 0, &p), CLVOX_ERROR_ARGUMENT);
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&nothing);
    clvox_surface_destroy(&bad);
    clvox_surface_destroy(&flat);
}

int main(void)
{
    ctx = harness_open();
    test_case(spheres_have_their_norm, "spheres have their norm");
    test_case(motion_keeps_them_and_turning_over_does_not, "motion keeps them, turning over does not");
    test_case(odd_surfaces, "surfaces without triangles, without area, with NaN");
    return test_run("currents", harness_close);
}
