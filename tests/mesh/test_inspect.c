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

/* What cases leave to those after them. */
static struct {
    clvox_surface *ball, *ring, *box, *two, *cut;
} shared;

static void a_sphere(void **state)
{
    (void)state;
    shared.ball = mesh_sphere(FAR, 10, 4);
    shared.ring = mesh_torus(ORIGIN, 20, 6, 90, 40);
    shared.box = mesh_box(ORIGIN, (const double[3]){3, 4, 5}, 3);
    shared.two = mesh_both(shared.ball, shared.box);
    whole(shared.ball, 1, 2, 4 * PI / 3 * 1000, 4 * PI * 100, .005);
}

static void a_torus(void **state)
{
    (void)state;
    whole(shared.ring, 1, 0, 2 * PI * PI * 20 * 36, 4 * PI * PI * 20 * 6, .01);
}

static void a_box(void **state)
{
    (void)state;
    {
        whole(shared.box, 1, 2, 60, 94, 1e-12);
        clvox_surface_facts f = inspect(shared.box);
        assert_true(f.bounds[0][0] == 0 && f.bounds[1][0] == 3 && f.bounds[1][1] == 4 && f.bounds[1][2] == 5);
    }
}

static void two_surfaces(void **state)
{
    (void)state;
    whole(shared.two, 2, 4, 60 + 4 * PI / 3 * 1000, 94 + 4 * PI * 100, .005);
}

static void turned_inside_out(void **state)
{
    (void)state;
    {
        mesh_turn(shared.ball, 0, shared.ball->triangles);
        clvox_surface_facts f = inspect(shared.ball);
        assert_that(f.volume < -4100 && f.flipped_edges == 0, "volume %g", f.volume);
    }
    clvox_surface_destroy(&shared.ball);
    clvox_surface_destroy(&shared.ring);
    clvox_surface_destroy(&shared.box);
    clvox_surface_destroy(&shared.two);
}

static void shapes(void)
{
    test_case(a_sphere, "facts of a sphere");
    test_case(a_torus, "facts of a torus");
    test_case(a_box, "facts of a box");
    test_case(two_surfaces, "facts of two surfaces");
    test_case(turned_inside_out, "facts of a box turned inside out");
}

static void an_open_box(void **state)
{
    (void)state;
    shared.box = mesh_box(ORIGIN, (const double[3]){1, 1, 1}, 1);
    shared.cut = mesh_without(shared.box, 0, 2);
    {
        clvox_surface_facts f = inspect(shared.cut);
        assert_true(f.open_edges == 4 && f.euler == 1 && f.components == 1 && f.area == 5);
    }
}

static void a_turned_triangle(void **state)
{
    (void)state;
    {
        mesh_turn(shared.box, 3, 4);
        clvox_surface_facts f = inspect(shared.box);
        assert_true(f.flipped_edges == 3 && f.open_edges == 0 && f.euler == 2);
        mesh_turn(shared.box, 3, 4);
    }
}

static void a_triangle_twice(void **state)
{
    (void)state;
    {
        clvox_surface *more = mesh_both(shared.box, shared.box);
        more->triangles = shared.box->triangles + 1;
        memcpy(more->corners + 3 * shared.box->triangles, shared.box->corners,
               3 * sizeof *shared.box->corners);
        clvox_surface_facts f = inspect(more);
        assert_true(f.crowded_edges == 3 && f.unused_vertices == 8 && f.components == 1 && f.euler == 3);
        clvox_surface_destroy(&more);
    }
}

static void collapsed_triangles(void **state)
{
    (void)state;
    {
        clvox_surface *more = mesh_both(shared.box, shared.box);
        more->triangles = shared.box->triangles + 2;
        int32_t *c = more->corners + 3 * shared.box->triangles;
        c[0] = c[1] = 0;
        c[2] = 1;
        c[3] = c[4] = c[5] = 2;
        clvox_surface_facts f = inspect(more);
        assert_true(f.degenerate == 2 && f.crowded_edges == 0 && f.euler == 2 && f.components == 1 &&
                    f.area == 6);
        clvox_surface_destroy(&more);
    }
}

static void no_triangle_at_all(void **state)
{
    (void)state;
    {
        clvox_surface *none;
        assert_ok(clvox_surface_create(0, 0, &none));
        clvox_surface_facts f = inspect(none);
        assert_true(f.components == 0 && f.euler == 0 && f.area == 0 && f.volume == 0 && f.bounds[1][2] == 0);
        clvox_surface_destroy(&none);
    }
}

static void a_corner_that_is_no_vertex_a_point(void **state)
{
    (void)state;
    {
        clvox_surface_facts f;
        shared.cut->corners[7] = (int32_t)shared.cut->vertices;
        assert_true(clvox_surface_inspect(shared.cut, &f) == CLVOX_ERROR_DATA &&
                    strstr(clvox_message(), "triangle 2"));
        shared.cut->corners[7] = -1;
        assert_int_equal(clvox_surface_inspect(shared.cut, &f), CLVOX_ERROR_DATA);
        shared.box->points[5] = (double)NAN;
        assert_true(clvox_surface_inspect(shared.box, &f) == CLVOX_ERROR_DATA &&
                    strstr(clvox_message(), "vertex 1"));
    }
    clvox_surface_destroy(&shared.box);
    clvox_surface_destroy(&shared.cut);
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
