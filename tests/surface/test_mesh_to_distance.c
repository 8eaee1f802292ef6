/* SPDX-License-Identifier: Apache-2.0 */
/* From meshes to signed distances, against looking at all triangles. */
#include "base/matrix.h"
#include "clvox/threads.h"
#include "check.h"
#include "mesh/meshes.h"
#include "op/harness.h"
#include "mesh/mesh.h"
#include "mesh/winding.h"
#include "ref/surface/mesh_distance.h"

static const double ORIGIN[3] = {0, 0, 0};

static clvox_context *ctx;

/* Grids about the origin that reach some mm to all sides. */
enum { PLAIN, ANISOTROPIC, OBLIQUE, LEFT_HANDED, SHEARED, GRIDS };
static const char *const grid_names[GRIDS] = {"plain", "anisotropic", "oblique", "left-handed", "sheared"};

static clvox_grid grid_of(int kind, double reach, double voxel)
{
    double m[GRIDS][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{1, 0, 0}, {0, .8, 0}, {0, 0, 2.1}},
        {{.36, .48, -.8}, {-.8, .6, 0}, {.48, .64, .6}},
        {{0, 0, 1.3}, {0, -1, 0}, {-.9, 0, 0}},
        {{1, .3, -.2}, {0, 1.1, .25}, {.1, 0, .9}},
    };
    if (kind == LEFT_HANDED)
        m[kind][0][2] = -1.3;
    clvox_grid g = {.to_ras = {{0}}};
    double to_voxel[4][4];
    g.to_ras[3][3] = 1;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++)
            g.to_ras[a][b] = voxel * m[kind][a][b];
    assert_ok(clv_matrix_invert(CLV_MATRIX(g.to_ras), to_voxel));
    for (int b = 0; b < 3; b++) {
        double half = 0;
        for (int a = 0; a < 3; a++)
            half += fabs(to_voxel[b][a]) * reach;
        g.size[b] = 2 * (int)ceil(half) + (b == 1);
        for (int a = 0; a < 3; a++)
            g.to_ras[a][3] -= g.to_ras[a][b] * (g.size[b] - 1) / 2.0;
    }
    return g;
}

static clvox_volume *distance_of(const clvox_surface *s, const clvox_grid *g, double band,
                                 clvox_surface_notes *notes)
{
    clvox_volume *v;
    assert_ok(clvox_distance_from_surface(ctx, s, g, band, notes, &v));
    return v;
}

/* Triangle by triangle. */
static double winding_at(const clvox_surface *s, const double p[3])
{
    double sum = 0;
    for (size_t t = 0; t < s->triangles; t++)
        sum += clv_winding_of(s, t, p);
    return sum;
}

static double brute(const clvox_surface *s, const double p[3])
{
    double best = INFINITY;
    for (size_t t = 0; t < s->triangles; t++) {
        double c[9];
        for (size_t k = 0; k < 3; k++)
            memcpy(c + 3 * k, s->points + 3 * (size_t)s->corners[3 * t + k], 3 * sizeof *c);
        best = fmin(best, ref_triangle_squared(c, p));
    }
    return sqrt(best);
}

static void voxel_at(const clvox_grid *g, size_t i, double p[3])
{
    size_t nx = (size_t)g->size[0], ny = (size_t)g->size[1];
    const double v[3] = {(double)(i % nx), (double)(i / nx % ny), (double)(i / nx / ny)};
    clv_matrix_apply(CLV_MATRIX(g->to_ras), v, p);
}

/* Distances and signs of each `every`th voxel; judged: the mesh whose winding
 * number decides (NULL: s). */
typedef struct against_brute_given {
    const clvox_surface *s;
    const clvox_surface *judged;
    int kind;
    double reach;
    double voxel;
    double band;
    size_t every;
} against_brute_given;

static void grid_as_looking_at_all_triangles(void **state)
{
    const against_brute_given *given = *state;
    const clvox_surface *s = given->s;
    const clvox_surface *judged = given->judged;
    int kind = given->kind;
    double reach = given->reach;
    double voxel = given->voxel;
    double band = given->band;
    size_t every = given->every;
    clvox_grid g = grid_of(kind, reach, voxel);
    clvox_surface_notes notes;
    clvox_volume *v = distance_of(s, &g, band, &notes);
    size_t n = clvox_grid_voxels(&g), wrong = 0, near_half = 0, seen = 0;
    double worst = 0, beyond = 0;
    for (size_t i = 0; i < n; i += every, seen++) {
        double p[3], d, w;
        voxel_at(&g, i, p);
        d = brute(s, p);
        w = winding_at(judged ? judged : s, p) * (notes.turned ? -1 : 1);
        if (notes.crossing)
            ; /* not to what lies inside */
        else if (d <= band)
            worst = fmax(worst, fabs(fabs((double)v->data[i]) - d));
        else
            beyond = fmax(beyond, fabs(fabs((double)v->data[i]) - d));
        if (d < 2e-5 * voxel)
            continue;
        if (fabs(w - .5) < .01)
            near_half++;
        else
            wrong += (w > .5) != (v->data[i] < 0);
    }
    assert_that(worst <= 1e-4 * voxel, "off by %g mm in the band", worst);
    assert_that(beyond <= .15 * voxel, "off by %g mm beyond", beyond);
    assert_that(wrong == 0, "%zu of %zu on the wrong side", wrong, seen);
    assert_that(near_half < seen / 20 + 1, "%zu of %zu cannot be told", near_half, seen);
    clvox_volume_destroy(&v);
}

static void against_brute(const char *what, const clvox_surface *s, const clvox_surface *judged, int kind,
                          double reach, double voxel, double band, size_t every)
{
    test_case_at(grid_as_looking_at_all_triangles,
                 TEST_OF(((against_brute_given){s, judged, kind, reach, voxel, band, every})),
                 "%s, %s grid: as looking at all triangles", what, grid_names[kind]);
}

static clvox_surface *meshes[13];

static int tear_down(void **state)
{
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; i++)
        clvox_surface_destroy(&meshes[i]);
    return harness_close(state);
}

static void brutes(void)
{
    const bool tiny = getenv("CLVOX_TEST_TINY");
    clvox_surface *ball = mesh_sphere((const double[3]){.3, -.2, .1}, 5, 2);
    clvox_surface *ring = mesh_torus((const double[3]){0, .4, 0}, 5, 2, 24, 12);
    clvox_surface *box = mesh_box((const double[3]){-3, -4, -2}, (const double[3]){3, 4, 5}, 2);
    clvox_surface *cut = mesh_without(ball, 40, 65), *open = mesh_without(box, 0, 8);
    clvox_surface *turned = mesh_without(ball, 0, 0), *inward = mesh_without(ring, 0, 0);
    clvox_surface *other = mesh_sphere((const double[3]){4, 1, 0}, 3, 1), *crossed = mesh_both(ball, other);
    clvox_surface *small = mesh_sphere(ORIGIN, 2, 1), *nested = mesh_both(box, small);
    mesh_turn(small, 0, small->triangles);
    clvox_surface *hollow = mesh_both(box, small), *half = mesh_without(ball, 0, ball->triangles / 2);
    mesh_turn(turned, 17, 60);
    mesh_turn(inward, 0, inward->triangles);
    for (int kind = 0; kind < (tiny ? 1 : GRIDS); kind++) {
        double r = tiny ? 5 : 8;
        against_brute("sphere", ball, NULL, kind, r, tiny ? 1 : .7, 2, 7);
        against_brute("torus", ring, NULL, kind, 9, 1, 3, 7);
        against_brute("box", box, NULL, kind, 7, 1, 1.5, 7);
        against_brute("sphere with holes", cut, NULL, kind, r, .9, 2, 7);
        against_brute("half a sphere", half, NULL, kind, r, .9, 2, 7);
        against_brute("box without a face", open, NULL, kind, r, 1, 2, 3);
        against_brute("turned triangles", turned, ball, kind, r, .9, 2, 7);
        against_brute("torus inside out", inward, NULL, kind, 9, 1, 2, 7);
        against_brute("crossed spheres", crossed, NULL, kind, r, .9, 2, 7);
        against_brute("a sphere in a box", nested, NULL, kind, 7, 1, 2, 7);
        against_brute("a hollow box", hollow, NULL, kind, 7, 1, 2, 7);
    }
    clvox_surface *const all[] = {ball,  ring,    box,   cut,    open,   turned, inward,
                                  other, crossed, small, nested, hollow, half};
    memcpy(meshes, all, sizeof all);
}

static struct {
    clvox_grid g;
    clvox_surface *ball, *ring, *tiny, *large, *far, *around;
    clvox_volume *v, *again;
    double beyond;
    size_t n;
    clvox_surface_notes notes;
} shared;

static int shapes_set_up(void **state)
{
    (void)state;
    shared.g = grid_of(OBLIQUE, 14, 1);
    shared.ball = mesh_sphere(ORIGIN, 9, 5);
    shared.ring = mesh_torus(ORIGIN, 8, 3, 200, 100);
    return 0;
}

static int shapes_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&shared.ball);
    clvox_surface_destroy(&shared.ring);
    return 0;
}

/* Against the shape itself, to what its triangles leave. */
static void a_sphere(void **state)
{
    (void)state;
    clvox_surface_notes notes;
    shared.v = distance_of(shared.ball, &shared.g, 3, &notes);
    double worst = 0;
    shared.beyond = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&shared.g); i++) {
        double p[3], d;
        voxel_at(&shared.g, i, p);
        d = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - 9;
        *(fabs(d) < 3 ? &worst : &shared.beyond) =
            fmax(fabs(shared.v->data[i] - d), fabs(d) < 3 ? worst : shared.beyond);
    }
    /* The sagitta of an edge of 0.3 mm. */
    assert_that(worst < .003 && shared.beyond < .2, "off by %g mm, beyond the band %g", worst, shared.beyond);
    assert_that(fabs((double)notes.voxels_inside - 3053) < 30, "%zu voxels inside", notes.voxels_inside);
    assert_true(!notes.turned && !notes.crossing && !notes.leaves_grid && notes.facts.euler == 2);
    clvox_volume_destroy(&shared.v);
}

static void the_same_bits_again(void **state)
{
    (void)state;
    shared.v = distance_of(shared.ball, &shared.g, 3, NULL);
    for (int threads = 1; threads < 4; threads += 2) {
        clvox_threads_set(threads);
        shared.again = distance_of(shared.ball, &shared.g, 3, NULL);
        assert_true(memcmp(shared.v->data, shared.again->data,
                           clvox_grid_voxels(&shared.g) * sizeof *shared.v->data) == 0);
        clvox_volume_destroy(&shared.again);
    }
    clvox_threads_set(0);
    clvox_volume_destroy(&shared.v);
}

static void a_band_without_end_exact_everywhere(void **state)
{
    (void)state;
    shared.v = distance_of(shared.ball, &shared.g, INFINITY, NULL);
    double worst = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&shared.g); i += 149) {
        double p[3];
        voxel_at(&shared.g, i, p);
        worst = fmax(worst, fabs(fabs((double)shared.v->data[i]) - brute(shared.ball, p)));
    }
    assert_that(worst < 1e-5, "off by %g mm", worst);
    clvox_volume_destroy(&shared.v);
}

static void a_torus(void **state)
{
    (void)state;
    shared.v = distance_of(shared.ring, &shared.g, 2, NULL);
    double worst = shared.beyond = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&shared.g); i++) {
        double p[3], d;
        voxel_at(&shared.g, i, p);
        d = sqrt(p[0] * p[0] + p[1] * p[1]) - 8;
        d = sqrt(d * d + p[2] * p[2]) - 3;
        *(fabs(d) < 2 ? &worst : &shared.beyond) =
            fmax(fabs(shared.v->data[i] - d), fabs(d) < 2 ? worst : shared.beyond);
    }
    assert_that(worst < .005 && shared.beyond < .2, "off by %g mm, beyond the band %g", worst, shared.beyond);
    clvox_volume_destroy(&shared.v);
}

static void shapes(void)
{
    test_set_up(shapes_set_up);
    test_case(a_sphere, "the distance to a sphere is right");
    test_case(the_same_bits_again, "the same bits again");
    test_case(a_band_without_end_exact_everywhere, "a band without end: exact everywhere");
    test_case(a_torus, "the distance to a torus is right");
    test_tear_down(shapes_tear_down);
}

/* Distance to the boundary of the union of two balls, seen from anywhere. */
static double of_union(const double p[3], const double c[2][3], const double r[2])
{
    double best = INFINITY, d[2], along = 0, gap = 0, axis[3], across = 0;
    for (int k = 0; k < 2; k++) {
        double q[3], length = 0, other = 0;
        for (int a = 0; a < 3; a++) {
            q[a] = p[a] - c[k][a];
            length += q[a] * q[a];
        }
        length = sqrt(length);
        d[k] = length - r[k];
        for (int a = 0; a < 3; a++) {
            double foot = c[k][a] + q[a] * r[k] / length - c[1 - k][a];
            other += foot * foot;
        }
        if (sqrt(other) >= r[1 - k])
            best = fmin(best, fabs(d[k]));
    }
    /* The circle in which they meet. */
    for (int a = 0; a < 3; a++) {
        axis[a] = c[1][a] - c[0][a];
        gap += axis[a] * axis[a];
    }
    gap = sqrt(gap);
    double height = (gap * gap + r[0] * r[0] - r[1] * r[1]) / (2 * gap);
    double ring = sqrt(r[0] * r[0] - height * height);
    for (int a = 0; a < 3; a++)
        along += (p[a] - c[0][a]) * axis[a] / gap;
    for (int a = 0; a < 3; a++) {
        double q = p[a] - c[0][a] - along * axis[a] / gap;
        across += q * q;
    }
    best = fmin(best, sqrt(pow(along - height, 2) + pow(sqrt(across) - ring, 2)));
    return d[0] < 0 || d[1] < 0 ? -best : best;
}

static void unions(void **state)
{
    (void)state;
    const double c[2][3] = {{-2.1, .3, 0}, {3.2, 0, .4}}, r[2] = {5, 4};
    clvox_surface *a = mesh_sphere(c[0], r[0], 5), *b = mesh_sphere(c[1], r[1], 5), *both = mesh_both(a, b);
    clvox_grid g = grid_of(ANISOTROPIC, 9, .6);
    clvox_surface_notes notes;
    clvox_volume *v = distance_of(both, &g, 2, &notes);
    double worst = 0, sum = 0;
    size_t n = clvox_grid_voxels(&g);
    for (size_t i = 0; i < n; i++) {
        double p[3], d;
        voxel_at(&g, i, p);
        d = of_union(p, c, r);
        worst = fmax(worst, fabs(v->data[i] - d));
        sum += fabs(v->data[i] - d);
    }
    assert_true(notes.crossing);
    /* Triangles of 0.35 mm that the crossing cuts count whole. */
    assert_that(worst < .6 && sum / (double)n < .02, "off by %g mm, on average %g", worst, sum / (double)n);
    clvox_volume_destroy(&v);
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    clvox_surface_destroy(&both);
}

static int oddities_set_up(void **state)
{
    (void)state;
    shared.g = grid_of(PLAIN, 6, 1);
    shared.n = clvox_grid_voxels(&shared.g);
    shared.tiny = mesh_sphere((const double[3]){.3, .2, .4}, .01, 0);
    shared.large = mesh_sphere((const double[3]){5, 0, 0}, 6, 4);
    shared.far = mesh_box((const double[3]){20, 0, 0}, (const double[3]){21, 1, 1}, 1);
    shared.around = mesh_box((const double[3]){-50, -50, -50}, (const double[3]){50, 50, 50}, 1);
    return 0;
}

static int oddities_tear_down(void **state)
{
    (void)state;
    clvox_surface_destroy(&shared.tiny);
    clvox_surface_destroy(&shared.large);
    clvox_surface_destroy(&shared.far);
    clvox_surface_destroy(&shared.around);
    return 0;
}

static void no_triangle_no_band_no_number(void **state)
{
    (void)state;
    clvox_surface *none;
    assert_ok(clvox_surface_create(3, 0, &none));
    assert_true(clvox_distance_from_surface(ctx, none, &shared.g, 2, &shared.notes, &shared.v) ==
                    CLVOX_ERROR_DATA &&
                !shared.v);
    assert_true(clvox_distance_from_surface(ctx, shared.tiny, &shared.g, 0, &shared.notes, &shared.v) ==
                    CLVOX_ERROR_ARGUMENT &&
                !shared.v);
    assert_int_equal(
        clvox_distance_from_surface(ctx, shared.tiny, &shared.g, (double)NAN, &shared.notes, &shared.v),
        CLVOX_ERROR_ARGUMENT);
    clvox_surface_destroy(&none);
}

static void a_mesh_smaller_than_a_voxel(void **state)
{
    (void)state;
    shared.v = distance_of(shared.tiny, &shared.g, 2, &shared.notes);
    assert_true(shared.notes.voxels_inside == 0);
    double least = INFINITY;
    for (size_t i = 0; i < shared.n; i++)
        least = fmin(least, (double)shared.v->data[i]);
    assert_that(least > .2 && least < 1, "%g mm", least);
    clvox_volume_destroy(&shared.v);
}

static const char *const leaving[] = {"a sphere that leaves the grid", "a box beyond the grid",
                                      "a box around the grid"};

static void leaves_the_grid(void **state)
{
    const int *given = *state;
    int k = given[0];
    const clvox_surface *mesh = k == 0 ? shared.large : k == 1 ? shared.far : shared.around;
    shared.v = distance_of(mesh, &shared.g, 1.5, &shared.notes);
    assert_true(shared.notes.leaves_grid &&
                (k == 0 || shared.notes.voxels_inside == (k == 2 ? shared.n : 0)));
    double worst = 0;
    for (size_t i = 0; i < shared.n; i += 5) {
        double p[3], d;
        voxel_at(&shared.g, i, p);
        d = brute(mesh, p);
        d = winding_at(mesh, p) > .5 ? -d : d;
        worst = fmax(worst, fabs(shared.v->data[i] - d));
    }
    assert_that(worst < (k == 0 ? .2 : 1e-4), "off by %g mm", worst);
    clvox_volume_destroy(&shared.v);
}

static void grids_one_voxel_thick(void **state)
{
    (void)state;
    static const int thin[][3] = {{1, 1, 1}, {1, 9, 7}, {13, 1, 3}, {5, 11, 1}, {33, 1, 1}, {2, 2, 35}};
    for (int k = 0; k < 6; k++) {
        clvox_grid slab = {.to_ras = {{.9, 0, 0, -1}, {0, 1.2, 0, .1}, {0, 0, -.7, 2}, {0, 0, 0, 1}}};
        memcpy(slab.size, thin[k], sizeof slab.size);
        shared.v = distance_of(shared.large, &slab, 2, &shared.notes);
        for (size_t i = 0; i < clvox_grid_voxels(&slab); i++) {
            double p[3], d;
            voxel_at(&slab, i, p);
            d = brute(shared.large, p);
            assert_true((shared.v->data[i] < 0) == (winding_at(shared.large, p) > .5));
            assert_that(fabs(fabs((double)shared.v->data[i]) - d) < (d < 2 ? 1e-5 : .2), "%g, not %g",
                        (double)shared.v->data[i], d);
        }
        clvox_volume_destroy(&shared.v);
    }
}

static void what_is_found_is_said(void **state)
{
    (void)state;
    mesh_turn(shared.large, 3, 5);
    shared.v = distance_of(shared.large, &shared.g, 1, &shared.notes);
    assert_true(shared.notes.triangles_turned == 2 && shared.notes.facts.flipped_edges > 0 &&
                !shared.notes.turned);
    clvox_volume_destroy(&shared.v);
    mesh_turn(shared.large, 0, shared.large->triangles);
    shared.v = distance_of(shared.large, &shared.g, 1, &shared.notes);
    assert_true(shared.notes.triangles_turned == 2 && shared.notes.turned);
    clvox_volume_destroy(&shared.v);
}

static void triangles_with_vertices_of_their_own(void **state)
{
    (void)state;
    clvox_surface *loose;
    assert_ok(clvox_surface_create(3 * shared.tiny->triangles, shared.tiny->triangles, &loose));
    for (size_t i = 0; i < 3 * loose->triangles; i++) {
        loose->corners[i] = (int32_t)i;
        for (size_t k = 0; k < 3; k++)
            loose->points[3 * i + k] =
                300 * shared.tiny->points[3 * (size_t)shared.tiny->corners[i] + k] - 100;
    }
    shared.g.to_ras[0][3] -= 10;
    shared.g.to_ras[1][3] -= 40;
    shared.g.to_ras[2][3] += 20;
    shared.v = distance_of(loose, &shared.g, 1, &shared.notes);
    assert_that(shared.notes.vertices_welded == (int)(loose->vertices - shared.tiny->vertices) &&
                    !shared.notes.facts.open_edges,
                "%d welded", shared.notes.vertices_welded);
    for (size_t i = 0; i < shared.n; i++) {
        double p[3];
        voxel_at(&shared.g, i, p);
        assert_true((shared.v->data[i] < 0) == (winding_at(loose, p) > .5));
    }
    clvox_volume_destroy(&shared.v);
    clvox_surface_destroy(&loose);
}

static void a_part_that_faces_inward_beside(void **state)
{
    (void)state;
    clvox_surface *left = mesh_sphere((const double[3]){-3, 0, 0}, 2.5, 3);
    clvox_surface *right = mesh_sphere((const double[3]){3, 0, 0}, 2, 3), *pair = mesh_both(left, right);
    clvox_volume *upright = distance_of(pair, &shared.g, 1, &shared.notes);
    assert_true(shared.notes.triangles_turned == 0 && !shared.notes.crossing);
    for (int k = 0; k < 2; k++) {
        mesh_turn(pair, k ? 0 : left->triangles, k ? left->triangles : pair->triangles);
        shared.v = distance_of(pair, &shared.g, 1, &shared.notes);
        assert_true(shared.notes.triangles_turned == (k ? 0 : (int)right->triangles) &&
                    shared.notes.turned == (k == 1));
        double worst = 0;
        /* Beyond the band the other of two nearly equally near triangles may be taken. */
        for (size_t i = 0; i < shared.n; i++)
            if (fabsf(upright->data[i]) < 1)
                worst = fmax(worst, fabs((double)shared.v->data[i] - (double)upright->data[i]));
            else
                assert_true(fabsf(shared.v->data[i] - upright->data[i]) < .15f);
        assert_that(worst < 1e-5, "off by %g mm", worst);
        clvox_volume_destroy(&shared.v);
    }
    clvox_volume_destroy(&upright);
    clvox_surface_destroy(&left);
    clvox_surface_destroy(&right);
    clvox_surface_destroy(&pair);
}

static void oddities(void)
{
    test_each(oddities_set_up, oddities_tear_down);
    test_case(no_triangle_no_band_no_number, "no triangle, no band, no number");
    test_case(a_mesh_smaller_than_a_voxel, "a mesh smaller than a voxel");
    for (int k = 0; k < 3; k++)
        test_case_at(leaves_the_grid, TEST_AT(k), "%s", leaving[k]);
    test_case(grids_one_voxel_thick, "grids one voxel thick");
    test_case(what_is_found_is_said, "findings are reported");
    test_case(triangles_with_vertices_of_their_own, "triangles with vertices of their own");
    test_case(a_part_that_faces_inward_beside, "a part that faces inward beside one that does not");
    test_each(NULL, NULL);
}

/* A mesh of the shared data, whole and with each 41st triangle gone. */
typedef struct real_given {
    const char *name;
} real_given;

static void real_mesh(void **state)
{
    const real_given *given = *state;
    const char *name = given->name;
    const char *folder = getenv("CLVOX_DATA");
    char path[512];
    clvox_surface *s;
    snprintf(path, sizeof path, "%s/surf_derived/%s", folder ? folder : CLVOX_DATA_DEFAULT, name);
    if (clvox_surface_read(path, &s) < 0)
        test_skip("%s", clvox_message());
    for (int torn = 0; torn < 2; torn++) {
        size_t kept = 0;
        for (size_t t = 0; torn && t < s->triangles; t++)
            if (t % 41)
                memmove(s->corners + 3 * kept++, s->corners + 3 * t, 3 * sizeof *s->corners);
        if (torn)
            s->triangles = kept;
        clvox_surface_facts f;
        clvox_surface_notes notes;
        assert_ok(clvox_surface_inspect(s, &f));
        clvox_grid g = {.to_ras = {{.8, 0, 0, 0}, {0, .9, 0, 0}, {0, 0, 1.1, 0}, {0, 0, 0, 1}}};
        for (int a = 0; a < 3; a++) {
            g.to_ras[a][3] = f.bounds[0][a] - 3.3;
            g.size[a] = (int)((f.bounds[1][a] - f.bounds[0][a] + 6.6) / g.to_ras[a][a]);
        }
        clvox_volume *v = distance_of(s, &g, 3, &notes);
        size_t n = clvox_grid_voxels(&g), wrong = 0;
        double worst = 0, volume = (double)notes.voxels_inside * .8 * .9 * 1.1;
        for (size_t i = 0; i < n; i += n / 1000) {
            double p[3], w, d;
            voxel_at(&g, i, p);
            w = winding_at(s, p);
            d = brute(s, p);
            worst = fmax(worst, d < 3 ? fabs(fabs((double)v->data[i]) - d) : 0);
            wrong += d > 1e-4 && fabs(w - .5) > .01 && (w > .5) != (v->data[i] < 0);
        }
        assert_that(worst < 5e-5 && wrong == 0, "off by %g mm, %zu on the wrong side", worst, wrong);
        assert_true(!notes.crossing && !notes.turned && !notes.leaves_grid);
        assert_true(torn ? f.open_edges > 100 : !f.open_edges && !f.flipped_edges && f.components == 1);
        assert_that(torn || fabs(volume / f.volume - 1) < .02, "%g mm^3 inside, %g by the mesh", volume,
                    f.volume);
        clvox_volume_destroy(&v);
    }
    clvox_surface_destroy(&s);
}

static void real(const char *name)
{
    test_case_at(real_mesh, TEST_OF(((real_given){name})), "%s", name);
}

int main(void)
{
    ctx = harness_open();
    brutes();
    if (!getenv("CLVOX_TEST_TINY")) {
        shapes();
        test_case(unions, "two spheres that cross: the distance to what bounds both");
        real("bert_lh_hippocampus.ply");
        real("swm_lh_lateral_ventricle.ply");
    }
    oddities();
    return test_run("mesh to distance", tear_down);
}
