/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces as currents and varifolds: known norms, and what must not change them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/mesh_costs.h"
#include "runtime/device/context.h"
#include "mesh/meshes.h"
#include "op/harness.h"
#include "ref/anatomy/currents.h"

static clvox_context *ctx;
static const double NOWHERE[3] = {0, 0, 0};

static clvox_surface_products products(const clvox_surface *a, const clvox_surface *b, double width,
                                       bool varifold)
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
    /* And two about one centre have their distance. */
    const double apart = norm_of_sphere(1, .7) + norm_of_sphere(1.2, .7) - 2 * product_of_spheres(1, 1.2, .7);
    for (int level = 1; level < 4; level++) {
        clvox_surface *inner = mesh_sphere(NOWHERE, 1, level), *outer = mesh_sphere(NOWHERE, 1.2, level);
        error[level - 1] = fabs(products(inner, outer, .7, false).squared_distance / apart - 1);
        clvox_surface_destroy(&inner);
        clvox_surface_destroy(&outer);
    }
    assert_that(error[2] < .01 && error[1] / error[2] > 3.5 && error[0] / error[1] > 3.5,
                "errors %g, %g, %g do not fall with order 2", error[0], error[1], error[2]);
    /* Millimetres, and another centre. */
    const double far[3] = {80, -130, 45};
    clvox_surface *in = mesh_sphere(far, 20, 4), *out = mesh_sphere(far, 23, 4);
    clvox_surface_products p = products(in, out, 9, false);
    assert_that(fabs(p.aa / norm_of_sphere(20, 9) - 1) < .002, "%g, not %g", p.aa, norm_of_sphere(20, 9));
    assert_that(fabs(p.ab / product_of_spheres(20, 23, 9) - 1) < .002, "%g, not %g", p.ab,
                product_of_spheres(20, 23, 9));
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
            q[k] = cos(angle) * p[k] + sin(angle) * (about[l] * p[m] - about[m] * p[l]) +
                   (1 - cos(angle)) * along * about[k] + shift[k];
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
        assert_that(fabs(moved.squared_distance - still.squared_distance) <= 1e-5 * still.aa,
                    "moved: %g, still: %g", moved.squared_distance, still.squared_distance);
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
    clvox_surface *ball = mesh_sphere(NOWHERE, 5, 1), *nothing, *bad = mesh_sphere(NOWHERE, 5, 1),
                  *flat = mesh_sphere(NOWHERE, 5, 1);
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

/* The elements of a surface as the reference wants them. */
static float *elements_of(const clvox_surface *s)
{
    float *element = calloc(s->triangles, 32);
    for (size_t t = 0; t < s->triangles; t++) {
        const double *p[3];
        double normal[3], length = 0;
        for (size_t k = 0; k < 3; k++)
            p[k] = s->points + 3 * s->corners[3 * t + k];
        for (size_t k = 0; k < 3; k++) {
            const size_t l = (k + 1) % 3, m = (k + 2) % 3;
            normal[k] =
                ((p[1][l] - p[0][l]) * (p[2][m] - p[0][m]) - (p[1][m] - p[0][m]) * (p[2][l] - p[0][l])) / 2;
            length += normal[k] * normal[k];
        }
        length = sqrt(length);
        for (size_t k = 0; k < 3; k++) {
            element[8 * t + k] = (float)((p[0][k] + p[1][k] + p[2][k]) / 3);
            element[8 * t + 4 + k] = (float)(normal[k] / length);
        }
        element[8 * t + 7] = (float)length;
    }
    return element;
}

/* The difference of three large sums. */
static void a_surface_close_to_another_keeps_its_distance(void **state)
{
    (void)state;
    clvox_surface *a = mesh_sphere(NOWHERE, 10, 4), *b = mesh_without(a, 0, 0);
    for (size_t i = 0; i < b->vertices; i++)
        for (size_t k = 0; k < 3; k++)
            b->points[3 * i + k] *= 1 + .004 * sin(b->points[3 * i + (k + 1) % 3]);
    float *ea = elements_of(a), *eb = elements_of(b);
    const int n = (int)a->triangles;
    const double width = 4, aa = ref_currents(ea, n, ea, n, width, false, NULL),
                 bb = ref_currents(eb, n, eb, n, width, false, NULL);
    const double want = aa + bb - 2 * ref_currents(ea, n, eb, n, width, false, NULL);
    const clvox_surface_products p = products(a, b, width, false);
    assert_that(want < 1e-3 * aa && want > 1e-5 * aa, "the surfaces are %g of %g apart", want, aa);
    assert_that(fabs(p.squared_distance - want) < 1e-6 * aa, "%g of %g, not %g", p.squared_distance, aa,
                want);
    free(ea);
    free(eb);
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
}

/* Each number of the mesh against that of all pairs. */
static double largest_error(const clvox_surface_products *got, const clvox_surface_products *want)
{
    const double off[] = {got->aa - want->aa, got->bb - want->bb, got->ab - want->ab,
                          got->squared_distance - want->squared_distance};
    double largest = 0;
    for (int i = 0; i < 4; i++)
        largest = fmax(largest, fabs(off[i]));
    return largest / ((want->aa + want->bb) / 2);
}

static void a_particle_mesh_is_off_by_what_it_says(void **state)
{
    (void)state;
    const double asked[] = {1e-2, 1e-3, 1e-5}, widths[] = {3, 9};
    clvox_surface *a = mesh_torus((double[]){30, -20, 5}, 8, 3, 60, 30),
                  *b = mesh_sphere((double[]){33, -19, 5}, 7, 3);
    for (int i = 0; i < 12; i++) {
        clvox_surface_products got, again;
        clvox_currents_report report;
        const clvox_currents_options o = {.size = sizeof o, .width = widths[i % 2],
                                          .varifold = i / 2 % 2,
                                          .method = CLVOX_CURRENTS_MESH,
                                          .error = asked[i / 4]};
        const clvox_surface_products want = products(a, b, o.width, o.varifold);
        assert_ok(clvox_surface_currents_with(ctx, a, b, &o, &got, &report));
        const double error = largest_error(&got, &want);
        assert_that(report.method == CLVOX_CURRENTS_MESH && report.error <= o.error, "asked for %g: %g",
                    o.error, report.error);
        assert_that(error <= 1.5 * report.error, "reported error %g, true error %g", report.error, error);
        assert_that(report.error <= 200 * error + 1e-6, "true error %g, reported error %g", error,
                    report.error);
        assert_true(report.spacing > .1 * o.width && report.spacing < o.width && report.size[0] > 10);
        assert_ok(clvox_surface_currents_with(ctx, a, b, &o, &again, NULL));
        assert_memory_equal(&got, &again, sizeof got);
    }
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    /* In closed form, and from itself. */
    clvox_surface *ball = mesh_sphere(NOWHERE, 20, 4);
    const clvox_currents_options o = {
        .size = sizeof o, .width = 14, .method = CLVOX_CURRENTS_MESH, .error = 1e-4};
    clvox_surface_products p;
    assert_ok(clvox_surface_currents_with(ctx, ball, ball, &o, &p, NULL));
    assert_that(fabs(p.aa / norm_of_sphere(20, 14) - 1) < .002, "%g, not %g", p.aa, norm_of_sphere(20, 14));
    assert_true(p.aa == p.bb && fabs(p.squared_distance) < 1e-6 * p.aa);
    clvox_surface_destroy(&ball);
}

static void auto_takes_the_faster_one_that_is_exact_enough(void **state)
{
    (void)state;
    clvox_surface *few = mesh_sphere(NOWHERE, 20, 1), *many = mesh_sphere(NOWHERE, 20, 5);
    clvox_currents_options o = {.size = sizeof o, .width = 10, .method = CLVOX_CURRENTS_AUTO, .error = 1e-3};
    clvox_currents_report report;
    clvox_surface_products p, exact = products(few, few, 10, false);
    assert_ok(clvox_surface_currents_with(ctx, few, few, &o, &p, &report));
    assert_true(report.method == CLVOX_CURRENTS_EXACT && report.error == 0 && report.spacing == 0);
    assert_memory_equal(&p, &exact, sizeof p);
    assert_ok(clvox_surface_currents_with(ctx, many, many, &o, &p, &report));
    /* A GPU may take all pairs in less time. */
    assert_true(report.method == CLVOX_CURRENTS_MESH ? report.error <= 1e-3
                                                     : ctx->limits.type != CLVOX_DEVICE_CPU);
    /* An error that no mesh reaches, and one that no grid holds. */
    o.error = 1e-12;
    assert_ok(clvox_surface_currents_with(ctx, few, few, &o, &p, &report));
    assert_true(report.method == CLVOX_CURRENTS_EXACT);
    o.method = CLVOX_CURRENTS_MESH;
    assert_true(clvox_surface_currents_with(ctx, few, few, &o, &p, &report) < 0);
    o.error = 1e-3;
    o.width = 1e-3;
    assert_int_equal(clvox_surface_currents_with(ctx, few, few, &o, &p, &report), CLVOX_ERROR_MEMORY);
    o.method = CLVOX_CURRENTS_AUTO;
    assert_ok(clvox_surface_currents_with(ctx, many, few, &o, &p, &report));
    assert_true(report.method == CLVOX_CURRENTS_EXACT);
    o = (clvox_currents_options){.size = sizeof o, .width = 5, .method = CLVOX_CURRENTS_MESH, .error = 0};
    assert_int_equal(clvox_surface_currents_with(ctx, few, few, &o, &p, &report), CLVOX_ERROR_ARGUMENT);
    o = (clvox_currents_options){
        .size = sizeof o, .width = 5, .method = (clvox_currents_method)7, .error = .1};
    assert_int_equal(clvox_surface_currents_with(ctx, few, few, &o, &p, &report), CLVOX_ERROR_ARGUMENT);
    /* Nothing to splat. */
    clvox_surface *nothing;
    assert_ok(clvox_surface_create(3, 0, &nothing));
    o = (clvox_currents_options){.size = sizeof o, .width = 5, .method = CLVOX_CURRENTS_MESH, .error = .1};
    assert_ok(clvox_surface_currents_with(ctx, few, nothing, &o, &p, &report));
    assert_true(report.method == CLVOX_CURRENTS_EXACT && p.bb == 0 && p.squared_distance == p.aa);
    clvox_surface_destroy(&nothing);
    clvox_surface_destroy(&few);
    clvox_surface_destroy(&many);
}

/* As they were but for their digits, and never so low that a prediction without a device is too small. */
static void costs_are_kept_and_bounded(void **state)
{
    (void)state;
    const clv_mesh_costs c = {1.234e-12, 5.678e-11, 9.1e-9, 1.5e-3, 1.27};
    clv_mesh_costs back = {.pair = 0};
    clv_wisdom_cost cost[CLV_MESH_COST_KINDS];
    clv_wisdom known = {.cost = cost, .costs = CLV_MESH_COST_KINDS};
    clv_mesh_costs_record(&c, cost);
    assert_true(clv_mesh_costs_from(&known, &back));
    assert_that(fabs(back.pair / c.pair - 1) < .005 && fabs(back.node / c.node - 1) < .005 &&
                    fabs(back.share / c.share - 1) < .005 && fabs(back.launches / c.launches - 1) < .005 &&
                    fabs(back.derivative / c.derivative - 1) < .005,
                "%g %g %g %g %g", back.pair, back.node, back.share, back.launches, back.derivative);
    for (int i = 0; i < CLV_MESH_COST_KINDS; i++) { /* all or none */
        clv_mesh_costs_record(&c, cost);
        snprintf(cost[i].name, sizeof cost[i].name, "copy");
        back.pair = 1;
        assert_that(!clv_mesh_costs_from(&known, &back) && back.pair == 1, "%d", i);
    }
    assert_false(clv_mesh_costs_from(NULL, &back));
    for (int cpu = 0; cpu < 2; cpu++) {
        const clv_mesh_costs typical = clv_mesh_costs_of_kind(cpu), least = clv_mesh_costs_least(cpu);
        assert_true(least.pair == typical.pair && least.node < typical.node && least.share < typical.share &&
                    least.derivative > typical.derivative);
    }
}

int main(void)
{
    ctx = harness_open();
    test_case(spheres_have_their_norm, "spheres have their norm");
    test_case(motion_keeps_them_and_turning_over_does_not, "motion keeps them, turning over does not");
    test_case(a_surface_close_to_another_keeps_its_distance, "a surface close to another keeps its distance");
    test_case(a_particle_mesh_is_off_by_what_it_says, "a particle mesh is off by what it says");
    test_case(auto_takes_the_faster_one_that_is_exact_enough,
              "auto takes the faster one that is exact enough");
    test_case(costs_are_kept_and_bounded, "costs of pairs and meshes are kept and bounded");
    test_case(odd_surfaces, "surfaces without triangles, without area, with NaN");
    return test_run("currents", harness_close);
}
