/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about meshes. */
#include "check.h"
#include "mesh/meshes.h"
#include "mesh/mesh.h"

static const double ORIGIN[3] = {0, 0, 0}, FAR[3] = {100, -50, 30};
static const double PI = 3.14159265358979323846;

static clvox_surface_facts inspect(const clvox_surface *s)
{
    clvox_surface_facts f;
    assert_ok(clvox_surface_inspect(s, &f));
    return f;
}

static void whole(const clvox_surface *s, int components, int euler, double volume, double area,
                  double within)
{
    clvox_surface_facts f = inspect(s);
    assert_that(f.components == components && f.euler == euler, "%d components, Euler %d", f.components,
                f.euler);
    assert_true(!f.open_edges && !f.crowded_edges && !f.flipped_edges && !f.degenerate && !f.unused_vertices);
    assert_that(fabs(f.volume / volume - 1) < within, "volume %g, want %g", f.volume, volume);
    assert_that(fabs(f.area / area - 1) < within, "area %g, want %g", f.area, area);
}

static clvox_surface *ball, *box;

static int shapes_set_up(void **state)
{
    (void)state;
    ball = mesh_sphere(FAR, 10, 4);
    box = mesh_box(ORIGIN, (const double[3]){3, 4, 5}, 3);
    return 0;
}

static int surfaces_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&box);
    return 0;
}

static void a_sphere(void **state)
{
    (void)state;
    whole(ball, 1, 2, 4 * PI / 3 * 1000, 4 * PI * 100, .005);
}

static void a_torus(void **state)
{
    (void)state;
    clvox_surface *ring = mesh_torus(ORIGIN, 20, 6, 90, 40);
    whole(ring, 1, 0, 2 * PI * PI * 20 * 36, 4 * PI * PI * 20 * 6, .01);
    clvox_surface_destroy(&ring);
}

static void a_box(void **state)
{
    (void)state;
    whole(box, 1, 2, 60, 94, 1e-12);
    clvox_surface_facts f = inspect(box);
    assert_true(f.bounds[0][0] == 0 && f.bounds[1][0] == 3 && f.bounds[1][1] == 4 && f.bounds[1][2] == 5);
}

static void two_surfaces(void **state)
{
    (void)state;
    clvox_surface *two = mesh_both(ball, box);
    whole(two, 2, 4, 60 + 4 * PI / 3 * 1000, 94 + 4 * PI * 100, .005);
    clvox_surface_destroy(&two);
}

static void turned_inside_out(void **state)
{
    (void)state;
    clvox_surface *turned = mesh_sphere(FAR, 10, 4);
    mesh_turn(turned, 0, turned->triangles);
    clvox_surface_facts f = inspect(turned);
    assert_that(f.volume < -4100 && f.flipped_edges == 0, "volume %g", f.volume);
    clvox_surface_destroy(&turned);
}

static void shapes(void)
{
    test_set_up(shapes_set_up);
    test_case(a_sphere, "facts of a sphere");
    test_case(a_torus, "facts of a torus");
    test_case(a_box, "facts of a box");
    test_case(two_surfaces, "facts of two surfaces");
    test_case(turned_inside_out, "facts of a box turned inside out");
    test_tear_down(surfaces_tear_down);
}

static clvox_surface *unit_box(void)
{
    return mesh_box(ORIGIN, (const double[3]){1, 1, 1}, 1);
}

static void an_open_box(void **state)
{
    (void)state;
    clvox_surface *whole_box = unit_box(), *cut = mesh_without(whole_box, 0, 2);
    clvox_surface_facts f = inspect(cut);
    assert_true(f.open_edges == 4 && f.euler == 1 && f.components == 1 && f.area == 5);
    clvox_surface_destroy(&whole_box);
    clvox_surface_destroy(&cut);
}

static void a_turned_triangle(void **state)
{
    (void)state;
    clvox_surface *turned = unit_box();
    mesh_turn(turned, 3, 4);
    clvox_surface_facts f = inspect(turned);
    assert_true(f.flipped_edges == 3 && f.open_edges == 0 && f.euler == 2);
    clvox_surface_destroy(&turned);
}

static void a_triangle_twice(void **state)
{
    (void)state;
    clvox_surface *once = unit_box(), *more = mesh_both(once, once);
    more->triangles = once->triangles + 1;
    memcpy(more->corners + 3 * once->triangles, once->corners, 3 * sizeof *once->corners);
    clvox_surface_facts f = inspect(more);
    assert_true(f.crowded_edges == 3 && f.unused_vertices == 8 && f.components == 1 && f.euler == 3);
    clvox_surface_destroy(&once);
    clvox_surface_destroy(&more);
}

static void collapsed_triangles(void **state)
{
    (void)state;
    clvox_surface *once = unit_box(), *more = mesh_both(once, once);
    more->triangles = once->triangles + 2;
    int32_t *c = more->corners + 3 * once->triangles;
    c[0] = c[1] = 0;
    c[2] = 1;
    c[3] = c[4] = c[5] = 2;
    clvox_surface_facts f = inspect(more);
    assert_true(f.degenerate == 2 && f.crowded_edges == 0 && f.euler == 2 && f.components == 1 &&
                f.area == 6);
    clvox_surface_destroy(&once);
    clvox_surface_destroy(&more);
}

static void no_triangle_at_all(void **state)
{
    (void)state;
    clvox_surface *none;
    assert_ok(clvox_surface_create(0, 0, &none));
    clvox_surface_facts f = inspect(none);
    assert_true(f.components == 0 && f.euler == 0 && f.area == 0 && f.volume == 0 && f.bounds[1][2] == 0);
    clvox_surface_destroy(&none);
}

static void a_corner_that_is_no_vertex_a_point(void **state)
{
    (void)state;
    clvox_surface *bad = unit_box();
    clvox_surface_facts f;
    bad->corners[7] = (int32_t)bad->vertices;
    assert_true(clvox_surface_inspect(bad, &f) == CLVOX_ERROR_DATA && strstr(clvox_message(), "triangle 2"));
    bad->corners[7] = -1;
    assert_int_equal(clvox_surface_inspect(bad, &f), CLVOX_ERROR_DATA);
    clvox_surface_destroy(&bad);
    bad = unit_box();
    bad->points[5] = (double)NAN;
    assert_true(clvox_surface_inspect(bad, &f) == CLVOX_ERROR_DATA && strstr(clvox_message(), "vertex 1"));
    clvox_surface_destroy(&bad);
}

static void faults(void)
{
    test_case(an_open_box, "facts of an open box");
    test_case(a_turned_triangle, "facts of a turned triangle");
    test_case(a_triangle_twice, "facts of a triangle twice");
    test_case(collapsed_triangles, "facts of collapsed triangles");
    test_case(no_triangle_at_all, "facts of no triangle at all");
    test_case(a_corner_that_is_no_vertex_a_point, "a corner that is no vertex, a point that is no number");
}

int main(void)
{
    shapes();
    faults();
    return test_run("inspect", NULL);
}
