/* SPDX-License-Identifier: Apache-2.0 */
/* Distances between meshes, and the tree that finds them. */
#include "mesh/tree.h"
#include "check.h"
#include "mesh/meshes.h"
#include "clvox/surface.h"

static const double ORIGIN[3] = {0, 0, 0};

static double uniform(unsigned *noise)
{
    *noise = *noise * 1664525u + 1013904223u;
    return (*noise >> 8) / 16777216.0;
}

/* Nearest point of a triangle by golden section over its edges' combinations:
 * the distance is convex in the weights. */
static double slow_distance(const double *c, const double p[3])
{
    double best = INFINITY;
    double low_u = 0, high_u = 1;
    for (int i = 0; i < 120; i++) {
        double value[2];
        const double at[2] = {low_u + (high_u - low_u) * .382, low_u + (high_u - low_u) * .618};
        for (int j = 0; j < 2; j++) {
            double low = 0, high = 1 - at[j], d[2] = {0, 0};
            for (int k = 0; k < 120; k++) {
                const double v[2] = {low + (high - low) * .382, low + (high - low) * .618};
                for (int m = 0; m < 2; m++) {
                    d[m] = 0;
                    for (int a = 0; a < 3; a++) {
                        double x = c[a] + at[j] * (c[3 + a] - c[a]) + v[m] * (c[6 + a] - c[a]) - p[a];
                        d[m] += x * x;
                    }
                    best = fmin(best, d[m]);
                }
                if (d[0] < d[1])
                    high = v[1];
                else
                    low = v[0];
            }
            value[j] = fmin(d[0], d[1]);
        }
        if (value[0] < value[1])
            high_u = at[1];
        else
            low_u = at[0];
    }
    return best;
}

static void triangles(void **state)
{
    (void)state;
    unsigned noise = 5;
    for (int i = 0; i < 60; i++) {
        double c[9], p[3], point[3], sum = 0;
        for (int a = 0; a < 9; a++)
            c[a] = uniform(&noise);
        if (i % 10 == 0)
            memcpy(c + 6, c + 3, 3 * sizeof *c); /* without area */
        if (i % 20 == 0)
            memcpy(c + 3, c, 3 * sizeof *c);
        for (int a = 0; a < 3; a++)
            p[a] = 3 * uniform(&noise) - 1;
        double d = clv_triangle_nearest(c, p, point), want = slow_distance(c, p);
        for (int a = 0; a < 3; a++)
            sum += (p[a] - point[a]) * (p[a] - point[a]);
        assert_that(fabs(sqrt(d) - sqrt(want)) < 1e-6, "%g, want %g", sqrt(d), sqrt(want));
        assert_true(fabs(sqrt(d) - sqrt(sum)) < 1e-12);
    }
}

/* All triangles one after the other. */
static clv_nearest brute(const clvox_surface *s, const double p[3])
{
    clv_nearest best = {.squared = INFINITY, .triangle = -1};
    for (size_t t = 0; t < s->triangles; t++) {
        double c[9], point[3];
        for (size_t k = 0; k < 3; k++)
            memcpy(c + 3 * k, s->points + 3 * (size_t)s->corners[3 * t + k], 3 * sizeof *c);
        double d = clv_triangle_nearest(c, p, point);
        if (d < best.squared) {
            best.squared = d;
            best.triangle = (int32_t)t;
        }
    }
    return best;
}

typedef struct tree_given {
    const clvox_surface *s;
    double reach;
} tree_given;

static void the_tree_finds_what_looking_at_all(void **state)
{
    const tree_given *given = *state;
    const clvox_surface *s = given->s;
    double reach = given->reach;
    clv_tree *t;
    unsigned noise = 17;
    assert_ok(clv_tree_create(s, &t));
    for (int i = 0; i < 400; i++) {
        double p[3];
        int32_t list[1300];
        size_t missed = 0, got;
        clv_nearest near_one, slow;
        for (int a = 0; a < 3; a++)
            p[a] = reach * (i % 2 ? 2 * uniform(&noise) - 1 : floor(4 * uniform(&noise)) / 2 - 1);
        slow = brute(s, p);
        assert_true(clv_tree_nearest(t, p, INFINITY, &near_one));
        assert_that(near_one.squared == slow.squared && near_one.triangle == slow.triangle,
                    "%g of %d, want %g of %d", near_one.squared, (int)near_one.triangle, slow.squared,
                    (int)slow.triangle);
        assert_true(clv_tree_nearest(t, p, slow.squared * (1 + 1e-12) + 1e-300, &near_one));
        assert_true(near_one.triangle == slow.triangle);
        assert_true(!clv_tree_nearest(t, p, slow.squared * (1 - 1e-12) - 1e-300, &near_one));
        got = clv_tree_within(t, p, 1.21 * slow.squared, list, 1300);
        for (size_t k = 0; k < s->triangles; k++) {
            double point[3];
            size_t at = 0;
            while (at < got && list[at] != (int32_t)k)
                at++;
            missed += at == got && clv_triangle_nearest(t->corners + 9 * k, p, point) <= 1.21 * slow.squared;
        }
        assert_true(missed == 0 && got > 0 && clv_tree_within(t, p, 1.21 * slow.squared, list, 1) == got);
    }
    clv_tree_destroy(&t);
}

static void tree(const char *what, const clvox_surface *s, double reach)
{
    test_case_at(the_tree_finds_what_looking_at_all, TEST_OF(((tree_given){s, reach})),
                 "%s: the tree finds what looking at all triangles finds", what);
}

static clvox_surface *ball, *box, *one, *none;

static void a_tree_of_no_triangle(void **state)
{
    (void)state;
    clv_tree *t;
    assert_true(clv_tree_create(none, &t) == CLVOX_ERROR_DATA && !t);
}

static int trees_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&box);
    clvox_surface_destroy(&one);
    clvox_surface_destroy(&none);
    return 0;
}

static void trees(void)
{
    ball = mesh_sphere(ORIGIN, 2, 3);
    box = mesh_box(ORIGIN, (const double[3]){1, 2, 3}, 4);
    one = mesh_without(box, 1, box->triangles);
    none = mesh_without(one, 0, 1);
    tree("sphere", ball, 3);
    tree("box", box, 3);
    tree("one triangle", one, 2);
    test_case(a_tree_of_no_triangle, "a tree without triangles is refused");
}

static clvox_surface *centred_box(double half, int cells)
{
    return mesh_box((const double[3]){-half, -half, -half}, (const double[3]){half, half, half}, cells);
}

static void two_spheres_with_one_centre(void **state)
{
    (void)state;
    clvox_surface *small = mesh_sphere(ORIGIN, 10, 5), *large = mesh_sphere(ORIGIN, 12.5, 5);
    clvox_surface_difference d;
    assert_ok(clvox_surface_compare(small, large, 20000, &d));
    for (int i = 0; i < 3; i++) {
        assert_that(fabs(d.mean[i] - 2.5) < .01 && fabs(d.rms[i] - 2.5) < .01, "mean %g rms %g", d.mean[i],
                    d.rms[i]);
        assert_true(fabs(d.percentile95[i] - 2.5) < .01 && fabs(d.largest[i] - 2.5) < .02);
    }
    assert_that(d.normal_degrees < 1.5, "%g degrees", d.normal_degrees);
    assert_true(d.facts[0].euler == 2 && d.facts[1].components == 1);
    clvox_surface_destroy(&small);
    clvox_surface_destroy(&large);
}

static void a_box_in_a_box(void **state)
{
    (void)state;
    clvox_surface *inner = centred_box(1, 2), *wide = centred_box(2, 3);
    clvox_surface_difference d;
    assert_ok(clvox_surface_compare(inner, wide, 5000, &d));
    /* Each point of the inner box is 1 away; a corner of the outer one sqrt(3). */
    assert_true(fabs(d.mean[0] - 1) < 1e-9 && fabs(d.largest[0] - 1) < 1e-12);
    assert_true(fabs(d.largest[1] - sqrt(3)) < 1e-12 && d.largest[2] == d.largest[1]);
    /* From a face of the outer box: the mean of sqrt(1 + dx^2 + dy^2) over the
     * face, dx and dy being 0 on the middle half and even on 0 .. 1 else. */
    double want = 0;
    for (int i = 0; i < 400; i++)
        for (int j = 0; j < 400; j++) {
            double x = (i + .5) / 400, y = (j + .5) / 400;
            want += (1 + 2 * sqrt(1 + x * x) + sqrt(1 + x * x + y * y)) / 4 / 160000;
        }
    assert_that(fabs(d.mean[1] - want) < 2e-3, "%.5f, want %.5f", d.mean[1], want);
    assert_true(fabs(d.mean[2] - (d.mean[0] + d.mean[1]) / 2) < 1e-12);
    /* Volumes of 8 and 64, one within the other. */
    double dice;
    assert_ok(clvox_surface_overlap(inner, wide, &dice));
    assert_that(fabs(dice - 16. / 72) < 1e-3, "Dice %g", dice);
    assert_int_equal(clvox_surface_compare(inner, wide, 0, &d), CLVOX_ERROR_ARGUMENT);
    clvox_surface_destroy(&inner);
    clvox_surface_destroy(&wide);
}

static void a_surface_and_itself_and_turned_over(void **state)
{
    (void)state;
    clvox_surface *inner = centred_box(1, 2), *wide = centred_box(2, 3);
    clvox_surface_difference d;
    assert_ok(clvox_surface_compare(wide, wide, 1000, &d));
    assert_that(d.largest[2] < 1e-12 && d.normal_degrees < 1e-6, "%g %g", d.largest[2], d.normal_degrees);
    mesh_turn(inner, 0, inner->triangles);
    assert_ok(clvox_surface_compare(inner, wide, 1000, &d));
    assert_that(d.normal_degrees > 120 && fabs(d.facts[0].volume + 8) < 1e-12, "%g %g", d.normal_degrees,
                d.facts[0].volume);
    clvox_surface_destroy(&inner);
    clvox_surface_destroy(&wide);
}

static void known(void)
{
    test_case(two_spheres_with_one_centre, "two spheres with one centre");
    test_case(a_box_in_a_box, "distances of a box in a box");
    test_case(a_surface_and_itself_and_turned_over, "a surface and itself, and turned over");
}

int main(void)
{
    test_case(triangles, "the nearest point of a triangle");
    trees();
    known();
    return test_run("compare", trees_tear_down);
}
