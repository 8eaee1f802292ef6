/* SPDX-License-Identifier: Apache-2.0 */
/* From meshes to signed distances, against looking at all triangles. */
#include "base/matrix.h"
#include "base/parallel.h"
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
    check_must(clv_matrix_invert(CLV_MATRIX(g.to_ras), to_voxel));
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
    check_must(clvox_distance_from_surface(ctx, s, g, band, notes, &v));
    return v;
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
static void against_brute(const char *what, const clvox_surface *s, const clvox_surface *judged, int kind,
                          double reach, double voxel, double band, size_t every)
{
    clvox_grid g = grid_of(kind, reach, voxel);
    clvox_surface_notes notes;
    clvox_volume *v = distance_of(s, &g, band, &notes);
    size_t n = clvox_grid_voxels(&g), wrong = 0, near_half = 0, seen = 0;
    double worst = 0, beyond = 0;
    CHECK_CASE("%s, %s grid: as looking at all triangles", what, grid_names[kind]);
    for (size_t i = 0; i < n; i += every, seen++) {
        double p[3], d, w;
        voxel_at(&g, i, p);
        d = brute(s, p);
        w = clv_winding_at(judged ? judged : s, p) * (notes.turned ? -1 : 1);
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
    CHECK_THAT(worst <= 1e-4 * voxel, "off by %g mm in the band", worst);
    CHECK_THAT(beyond <= .15 * voxel, "off by %g mm beyond", beyond);
    CHECK_THAT(wrong == 0, "%zu of %zu on the wrong side", wrong, seen);
    CHECK_THAT(near_half < seen / 20 + 1, "%zu of %zu cannot be told", near_half, seen);
    clvox_volume_destroy(&v);
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
    clvox_surface *all[] = {ball,  ring,    box,   cut,    open,   turned, inward,
                            other, crossed, small, nested, hollow, half};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clvox_surface_destroy(&all[i]);
}

/* Against the shape itself, to what its triangles leave. */
static void shapes(void)
{
    clvox_grid g = grid_of(OBLIQUE, 14, 1);
    clvox_surface *ball = mesh_sphere(ORIGIN, 9, 5), *ring = mesh_torus(ORIGIN, 8, 3, 200, 100);
    clvox_surface_notes notes;
    clvox_volume *v = distance_of(ball, &g, 3, &notes), *again;
    double worst = 0, beyond = 0;
    CHECK_CASE("a sphere");
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++) {
        double p[3], d;
        voxel_at(&g, i, p);
        d = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) - 9;
        *(fabs(d) < 3 ? &worst : &beyond) = fmax(fabs(v->data[i] - d), fabs(d) < 3 ? worst : beyond);
    }
    /* The sagitta of an edge of 0.3 mm. */
    CHECK_THAT(worst < .003 && beyond < .2, "off by %g mm, beyond the band %g", worst, beyond);
    CHECK_THAT(fabs((double)notes.voxels_inside - 3053) < 30, "%zu voxels inside", notes.voxels_inside);
    CHECK(!notes.turned && !notes.crossing && !notes.leaves_grid && notes.facts.euler == 2);
    CHECK_CASE("the same bits again");
    for (int threads = 1; threads < 4; threads += 2) {
        clv_set_threads(threads);
        again = distance_of(ball, &g, 3, NULL);
        CHECK(memcmp(v->data, again->data, clvox_grid_voxels(&g) * sizeof *v->data) == 0);
        clvox_volume_destroy(&again);
    }
    clv_set_threads(0);
    clvox_volume_destroy(&v);
    CHECK_CASE("a band without end: exact everywhere");
    v = distance_of(ball, &g, INFINITY, NULL);
    worst = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&g); i += 149) {
        double p[3];
        voxel_at(&g, i, p);
        worst = fmax(worst, fabs(fabs((double)v->data[i]) - brute(ball, p)));
    }
    CHECK_THAT(worst < 1e-5, "off by %g mm", worst);
    clvox_volume_destroy(&v);
    CHECK_CASE("a torus");
    v = distance_of(ring, &g, 2, NULL);
    worst = beyond = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&g); i++) {
        double p[3], d;
        voxel_at(&g, i, p);
        d = sqrt(p[0] * p[0] + p[1] * p[1]) - 8;
        d = sqrt(d * d + p[2] * p[2]) - 3;
        *(fabs(d) < 2 ? &worst : &beyond) = fmax(fabs(v->data[i] - d), fabs(d) < 2 ? worst : beyond);
    }
    CHECK_THAT(worst < .005 && beyond < .2, "off by %g mm, beyond the band %g", worst, beyond);
    clvox_volume_destroy(&v);
    clvox_surface_destroy(&ball);
    clvox_surface_destroy(&ring);
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

static void unions(void)
{
    const double c[2][3] = {{-2.1, .3, 0}, {3.2, 0, .4}}, r[2] = {5, 4};
    clvox_surface *a = mesh_sphere(c[0], r[0], 5), *b = mesh_sphere(c[1], r[1], 5), *both = mesh_both(a, b);
    clvox_grid g = grid_of(ANISOTROPIC, 9, .6);
    clvox_surface_notes notes;
    clvox_volume *v = distance_of(both, &g, 2, &notes);
    double worst = 0, sum = 0;
    size_t n = clvox_grid_voxels(&g);
    CHECK_CASE("two spheres that cross: the distance to what bounds both");
    for (size_t i = 0; i < n; i++) {
        double p[3], d;
        voxel_at(&g, i, p);
        d = of_union(p, c, r);
        worst = fmax(worst, fabs(v->data[i] - d));
        sum += fabs(v->data[i] - d);
    }
    CHECK(notes.crossing);
    /* Triangles of 0.35 mm that the crossing cuts count whole. */
    CHECK_THAT(worst < .6 && sum / (double)n < .02, "off by %g mm, in the mean %g", worst, sum / (double)n);
    clvox_volume_destroy(&v);
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    clvox_surface_destroy(&both);
}

static void oddities(void)
{
    clvox_grid g = grid_of(PLAIN, 6, 1);
    size_t n = clvox_grid_voxels(&g);
    clvox_surface_notes notes;
    clvox_volume *v;
    clvox_surface *none, *tiny = mesh_sphere((const double[3]){.3, .2, .4}, .01, 0);
    clvox_surface *large = mesh_sphere((const double[3]){5, 0, 0}, 6, 4);
    clvox_surface *far = mesh_box((const double[3]){20, 0, 0}, (const double[3]){21, 1, 1}, 1);
    clvox_surface *around = mesh_box((const double[3]){-50, -50, -50}, (const double[3]){50, 50, 50}, 1);
    check_must(clvox_surface_create(3, 0, &none));
    CHECK_CASE("no triangle, no band, no number");
    CHECK(clvox_distance_from_surface(ctx, none, &g, 2, &notes, &v) == CLVOX_ERROR_DATA && !v);
    CHECK(clvox_distance_from_surface(ctx, tiny, &g, 0, &notes, &v) == CLVOX_ERROR_ARGUMENT && !v);
    CHECK(clvox_distance_from_surface(ctx, tiny, &g, (double)NAN, &notes, &v) == CLVOX_ERROR_ARGUMENT);
    CHECK_CASE("a mesh smaller than a voxel");
    v = distance_of(tiny, &g, 2, &notes);
    CHECK(notes.voxels_inside == 0);
    double least = INFINITY;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, (double)v->data[i]);
    CHECK_THAT(least > .2 && least < 1, "%g mm", least);
    clvox_volume_destroy(&v);
    const struct {
        const char *what;
        const clvox_surface *mesh;
    } leaving[] = {{"a sphere that leaves the grid", large}, {"a box beyond the grid", far},
                   {"a box around the grid", around}};
    for (int k = 0; k < 3; k++) {
        CHECK_CASE("%s", leaving[k].what);
        v = distance_of(leaving[k].mesh, &g, 1.5, &notes);
        CHECK(notes.leaves_grid && (k == 0 || notes.voxels_inside == (k == 2 ? n : 0)));
        double worst = 0;
        for (size_t i = 0; i < n; i += 5) {
            double p[3], d;
            voxel_at(&g, i, p);
            d = brute(leaving[k].mesh, p);
            d = clv_winding_at(leaving[k].mesh, p) > .5 ? -d : d;
            worst = fmax(worst, fabs(v->data[i] - d));
        }
        CHECK_THAT(worst < (k == 0 ? .2 : 1e-4), "off by %g mm", worst);
        clvox_volume_destroy(&v);
    }
    CHECK_CASE("grids one voxel thick");
    static const int thin[][3] = {{1, 1, 1}, {1, 9, 7}, {13, 1, 3}, {5, 11, 1}, {33, 1, 1}, {2, 2, 35}};
    for (int k = 0; k < 6; k++) {
        clvox_grid slab = {.to_ras = {{.9, 0, 0, -1}, {0, 1.2, 0, .1}, {0, 0, -.7, 2}, {0, 0, 0, 1}}};
        memcpy(slab.size, thin[k], sizeof slab.size);
        v = distance_of(large, &slab, 2, &notes);
        for (size_t i = 0; i < clvox_grid_voxels(&slab); i++) {
            double p[3], d;
            voxel_at(&slab, i, p);
            d = brute(large, p);
            CHECK((v->data[i] < 0) == (clv_winding_at(large, p) > .5));
            CHECK_THAT(fabs(fabs((double)v->data[i]) - d) < (d < 2 ? 1e-5 : .2), "%g, not %g",
                       (double)v->data[i], d);
        }
        clvox_volume_destroy(&v);
    }
    CHECK_CASE("what is found is said");
    mesh_turn(large, 3, 5);
    v = distance_of(large, &g, 1, &notes);
    CHECK(notes.triangles_turned == 2 && notes.facts.flipped_edges > 0 && !notes.turned);
    clvox_volume_destroy(&v);
    mesh_turn(large, 0, large->triangles);
    v = distance_of(large, &g, 1, &notes);
    CHECK(notes.triangles_turned == 2 && notes.turned);
    clvox_volume_destroy(&v);
    CHECK_CASE("triangles with vertices of their own");
    clvox_surface *loose;
    check_must(clvox_surface_create(3 * tiny->triangles, tiny->triangles, &loose));
    for (size_t i = 0; i < 3 * loose->triangles; i++) {
        loose->corners[i] = (int32_t)i;
        for (size_t k = 0; k < 3; k++)
            loose->points[3 * i + k] = 300 * tiny->points[3 * (size_t)tiny->corners[i] + k] - 100;
    }
    g.to_ras[0][3] -= 10;
    g.to_ras[1][3] -= 40;
    g.to_ras[2][3] += 20;
    v = distance_of(loose, &g, 1, &notes);
    CHECK_THAT(notes.vertices_welded == (int)(loose->vertices - tiny->vertices) && !notes.facts.open_edges,
               "%d welded", notes.vertices_welded);
    for (size_t i = 0; i < n; i++) {
        double p[3];
        voxel_at(&g, i, p);
        CHECK((v->data[i] < 0) == (clv_winding_at(loose, p) > .5));
    }
    clvox_volume_destroy(&v);
    clvox_surface_destroy(&loose);
    g = grid_of(PLAIN, 6, 1);
    CHECK_CASE("a part that faces inward beside one that does not");
    clvox_surface *left = mesh_sphere((const double[3]){-3, 0, 0}, 2.5, 3);
    clvox_surface *right = mesh_sphere((const double[3]){3, 0, 0}, 2, 3), *pair = mesh_both(left, right);
    clvox_volume *upright = distance_of(pair, &g, 1, &notes);
    CHECK(notes.triangles_turned == 0 && !notes.crossing);
    for (int k = 0; k < 2; k++) {
        mesh_turn(pair, k ? 0 : left->triangles, k ? left->triangles : pair->triangles);
        v = distance_of(pair, &g, 1, &notes);
        CHECK(notes.triangles_turned == (k ? 0 : (int)right->triangles) && notes.turned == (k == 1));
        double worst = 0;
        /* Where two triangles are nearly as near, beyond the band the other may be taken. */
        for (size_t i = 0; i < n; i++)
            if (fabsf(upright->data[i]) < 1)
                worst = fmax(worst, fabs((double)v->data[i] - (double)upright->data[i]));
            else
                CHECK(fabsf(v->data[i] - upright->data[i]) < .15f);
        CHECK_THAT(worst < 1e-5, "off by %g mm", worst);
        clvox_volume_destroy(&v);
    }
    clvox_volume_destroy(&upright);
    clvox_surface_destroy(&left);
    clvox_surface_destroy(&right);
    clvox_surface_destroy(&pair);
    clvox_surface_destroy(&none);
    clvox_surface_destroy(&tiny);
    clvox_surface_destroy(&large);
    clvox_surface_destroy(&far);
    clvox_surface_destroy(&around);
}

/* A mesh of the shared data, whole and with each 41st triangle gone. */
static void real(const char *name)
{
    const char *folder = getenv("CLVOX_DATA");
    char path[512];
    clvox_surface *s;
    snprintf(path, sizeof path, "%s/surf_derived/%s", folder ? folder : CLVOX_DATA_DEFAULT, name);
    CHECK_CASE("%s", name);
    if (clvox_surface_read(path, &s) < 0) {
        CHECK_SKIP("%s", clvox_message());
        return;
    }
    for (int torn = 0; torn < 2; torn++) {
        size_t kept = 0;
        for (size_t t = 0; torn && t < s->triangles; t++)
            if (t % 41)
                memmove(s->corners + 3 * kept++, s->corners + 3 * t, 3 * sizeof *s->corners);
        if (torn)
            s->triangles = kept;
        clvox_surface_facts f;
        clvox_surface_notes notes;
        check_must(clvox_surface_inspect(s, &f));
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
            w = clv_winding_at(s, p);
            d = brute(s, p);
            worst = fmax(worst, d < 3 ? fabs(fabs((double)v->data[i]) - d) : 0);
            wrong += d > 1e-4 && fabs(w - .5) > .01 && (w > .5) != (v->data[i] < 0);
        }
        CHECK_THAT(worst < 5e-5 && wrong == 0, "off by %g mm, %zu on the wrong side", worst, wrong);
        CHECK(!notes.crossing && !notes.turned && !notes.leaves_grid);
        CHECK(torn ? f.open_edges > 100 : !f.open_edges && !f.flipped_edges && f.components == 1);
        CHECK_THAT(torn || fabs(volume / f.volume - 1) < .02, "%g mm^3 inside, %g by the mesh", volume,
                   f.volume);
        clvox_volume_destroy(&v);
    }
    clvox_surface_destroy(&s);
}

int main(void)
{
    ctx = harness_open();
    brutes();
    if (!getenv("CLVOX_TEST_TINY")) {
        shapes();
        unions();
        real("bert_lh_hippocampus.ply");
        real("swm_lh_lateral_ventricle.ply");
    }
    oddities();
    clvox_context_destroy(&ctx);
    return check_end();
}
