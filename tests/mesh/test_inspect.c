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
    check_must(clvox_surface_inspect(s, &f));
    return f;
}

static void whole(const clvox_surface *s, int components, int euler, double volume, double area,
                  double within)
{
    clvox_surface_facts f = inspect(s);
    CHECK_THAT(f.components == components && f.euler == euler, "%d components, Euler %d", f.components,
               f.euler);
    CHECK(!f.open_edges && !f.crowded_edges && !f.flipped_edges && !f.degenerate && !f.unused_vertices);
    CHECK_THAT(fabs(f.volume / volume - 1) < within, "volume %g, want %g", f.volume, volume);
    CHECK_THAT(fabs(f.area / area - 1) < within, "area %g, want %g", f.area, area);
}

static void shapes(void)
{
    clvox_surface *ball = mesh_sphere(FAR, 10, 4), *ring = mesh_torus(ORIGIN, 20, 6, 90, 40);
    clvox_surface *box = mesh_box(ORIGIN, (const double[3]){3, 4, 5}, 3), *two = mesh_both(ball, box);
    CHECK_CASE("a sphere");
    whole(ball, 1, 2, 4 * PI / 3 * 1000, 4 * PI * 100, .005);
    CHECK_CASE("a torus");
    whole(ring, 1, 0, 2 * PI * PI * 20 * 36, 4 * PI * PI * 20 * 6, .01);
    CHECK_CASE("a box");
    {
        whole(box, 1, 2, 60, 94, 1e-12);
        clvox_surface_facts f = inspect(box);
        CHECK(f.bounds[0][0] == 0 && f.bounds[1][0] == 3 && f.bounds[1][1] == 4 && f.bounds[1][2] == 5);
    }
    CHECK_CASE("two surfaces");
    whole(two, 2, 4, 60 + 4 * PI / 3 * 1000, 94 + 4 * PI * 100, .005);
    CHECK_CASE("turned inside out");
    {
        mesh_turn(ball, 0, ball->triangles);
        clvox_surface_facts f = inspect(ball);
        CHECK_THAT(f.volume < -4100 && f.flipped_edges == 0, "volume %g", f.volume);
    }
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&ring);
    clvox_surface_destroy(&box);
    clvox_surface_destroy(&two);
}

static void faults(void)
{
    clvox_surface *box = mesh_box(ORIGIN, (const double[3]){1, 1, 1}, 1), *cut = mesh_without(box, 0, 2);
    CHECK_CASE("an open box");
    {
        clvox_surface_facts f = inspect(cut);
        CHECK(f.open_edges == 4 && f.euler == 1 && f.components == 1 && f.area == 5);
    }
    CHECK_CASE("a turned triangle");
    {
        mesh_turn(box, 3, 4);
        clvox_surface_facts f = inspect(box);
        CHECK(f.flipped_edges == 3 && f.open_edges == 0 && f.euler == 2);
        mesh_turn(box, 3, 4);
    }
    CHECK_CASE("a triangle twice");
    {
        clvox_surface *more = mesh_both(box, box);
        more->triangles = box->triangles + 1;
        memcpy(more->corners + 3 * box->triangles, box->corners, 3 * sizeof *box->corners);
        clvox_surface_facts f = inspect(more);
        CHECK(f.crowded_edges == 3 && f.unused_vertices == 8 && f.components == 1 && f.euler == 3);
        clvox_surface_destroy(&more);
    }
    CHECK_CASE("collapsed triangles");
    {
        clvox_surface *more = mesh_both(box, box);
        more->triangles = box->triangles + 2;
        int32_t *c = more->corners + 3 * box->triangles;
        c[0] = c[1] = 0;
        c[2] = 1;
        c[3] = c[4] = c[5] = 2;
        clvox_surface_facts f = inspect(more);
        CHECK(f.degenerate == 2 && f.crowded_edges == 0 && f.euler == 2 && f.components == 1 && f.area == 6);
        clvox_surface_destroy(&more);
    }
    CHECK_CASE("no triangle at all");
    {
        clvox_surface *none;
        check_must(clvox_surface_create(0, 0, &none));
        clvox_surface_facts f = inspect(none);
        CHECK(f.components == 0 && f.euler == 0 && f.area == 0 && f.volume == 0 && f.bounds[1][2] == 0);
        clvox_surface_destroy(&none);
    }
    CHECK_CASE("a corner that is no vertex, a point that is no number");
    {
        clvox_surface_facts f;
        cut->corners[7] = (int32_t)cut->vertices;
        CHECK(clvox_surface_inspect(cut, &f) == CLVOX_ERROR_DATA && strstr(clvox_message(), "triangle 2"));
        cut->corners[7] = -1;
        CHECK(clvox_surface_inspect(cut, &f) == CLVOX_ERROR_DATA);
        box->points[5] = (double)NAN;
        CHECK(clvox_surface_inspect(box, &f) == CLVOX_ERROR_DATA && strstr(clvox_message(), "vertex 1"));
    }
    clvox_surface_destroy(&box);
    clvox_surface_destroy(&cut);
}

int main(void)
{
    shapes();
    faults();
    return check_end();
}
