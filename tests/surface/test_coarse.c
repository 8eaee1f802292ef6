/* SPDX-License-Identifier: Apache-2.0 */
/* Denoising of meshes whose facets are large against their shape. */
#include <math.h>

#include "check.h"
#include "clvox/surface.h"
#include "mesh/mesh.h"
#include "op/harness.h"

static clvox_context *ctx;

/* ---- meshes -------------------------------------------------------------- */

static const double cube_points[8][3] = {{-1, -1, -1}, {-1, -1, 1}, {-1, 1, -1}, {-1, 1, 1},
                                         {1, -1, -1},  {1, -1, 1},  {1, 1, -1},  {1, 1, 1}};
static const int32_t cube_corners[36] = {0, 1, 3, 0, 3, 2, 4, 6, 7, 4, 7, 5, 0, 4, 5, 0, 5, 1,
                                         2, 3, 7, 2, 7, 6, 0, 2, 6, 0, 6, 4, 1, 5, 7, 1, 7, 3};
static const double octahedron_points[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                               {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
static const int32_t octahedron_corners[24] = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4,
                                               2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};
static const double tetrahedron_points[4][3] = {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
static const int32_t tetrahedron_corners[12] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};

static clvox_surface *make(const double (*points)[3], size_t vertices, const int32_t *corners,
                           size_t triangles)
{
    clvox_surface *s;
    assert_ok(clvox_surface_create(vertices, triangles, &s));
    memcpy(s->points, points, 3 * vertices * sizeof *s->points);
    memcpy(s->corners, corners, 3 * triangles * sizeof *s->corners);
    return s;
}

static clvox_surface *cube(void)
{
    return make(cube_points, 8, cube_corners, 12);
}

static clvox_surface *octahedron(void)
{
    return make(octahedron_points, 6, octahedron_corners, 8);
}

static clvox_surface *tetrahedron(void)
{
    return make(tetrahedron_points, 4, tetrahedron_corners, 4);
}

static clvox_surface *scaled(clvox_surface *s, double x, double y, double z)
{
    const double by[3] = {x, y, z};
    for (size_t i = 0; i < 3 * s->vertices; i++)
        s->points[i] *= by[i % 3];
    return s;
}

/* No triangle shares a vertex, as in STL. */
static clvox_surface *apart(clvox_surface *s)
{
    clvox_surface *out;
    assert_ok(clvox_surface_create(3 * s->triangles, s->triangles, &out));
    for (size_t i = 0; i < 3 * s->triangles; i++) {
        memcpy(out->points + 3 * i, s->points + 3 * (size_t)s->corners[i], 3 * sizeof(double));
        out->corners[i] = (int32_t)i;
    }
    clvox_surface_destroy(&s);
    return out;
}

/* The first so many triangles face the other way. */
static clvox_surface *turned(clvox_surface *s, size_t triangles)
{
    for (size_t t = 0; t < triangles; t++) {
        const int32_t b = s->corners[3 * t + 1];
        s->corners[3 * t + 1] = s->corners[3 * t + 2];
        s->corners[3 * t + 2] = b;
    }
    return s;
}

/* Both, the second moved along x. */
static clvox_surface *joined(clvox_surface *a, clvox_surface *b, double x)
{
    clvox_surface *s;
    assert_ok(clvox_surface_create(a->vertices + b->vertices, a->triangles + b->triangles, &s));
    memcpy(s->points, a->points, 3 * a->vertices * sizeof(double));
    memcpy(s->corners, a->corners, 3 * a->triangles * sizeof(int32_t));
    for (size_t i = 0; i < 3 * b->vertices; i++)
        s->points[3 * a->vertices + i] = b->points[i] + (i % 3 ? 0 : x);
    for (size_t i = 0; i < 3 * b->triangles; i++)
        s->corners[3 * a->triangles + i] = b->corners[i] + (int32_t)a->vertices;
    clvox_surface_destroy(&a);
    clvox_surface_destroy(&b);
    return s;
}

/* Each face of the octahedron in n^2 triangles, on a sphere of radius 1. */
static clvox_surface *sphere(int n)
{
    clvox_surface *s, *out;
    int32_t corners[24];
    size_t at = 0;
    assert_ok(clvox_surface_create((size_t)(8 * 3 * n * n), (size_t)(8 * n * n), &s));
    memcpy(corners, octahedron_corners, sizeof corners);
    for (int face = 0; face < 8; face++)
        for (int i = 0; i < n; i++)
            for (int j = 0; i + j < n; j++)
                for (int up = 0; up < 2 && i + j + up < n; up++) {
                    const int k[2][3][2] = {{{i, j}, {i + 1, j}, {i, j + 1}},
                                            {{i + 1, j}, {i + 1, j + 1}, {i, j + 1}}};
                    for (int c = 0; c < 3; c++, at++) {
                        const double u = k[up][c][0], v = k[up][c][1];
                        double p[3], length = 0;
                        for (int a = 0; a < 3; a++) {
                            p[a] = (n - u - v) * octahedron_points[corners[3 * face]][a] +
                                   u * octahedron_points[corners[3 * face + 1]][a] +
                                   v * octahedron_points[corners[3 * face + 2]][a];
                            length += p[a] * p[a];
                        }
                        for (int a = 0; a < 3; a++)
                            s->points[3 * at + (size_t)a] = p[a] / sqrt(length);
                        s->corners[at] = (int32_t)at;
                    }
                }
    assert_int_equal(at, 3 * s->triangles);
    /* One vertex for each place. */
    assert_ok(clvox_surface_create(s->vertices, s->triangles, &out));
    size_t count = 0;
    for (size_t i = 0; i < s->vertices; i++) {
        size_t k = 0;
        while (k < count && fabs(out->points[3 * k] - s->points[3 * i]) +
                                    fabs(out->points[3 * k + 1] - s->points[3 * i + 1]) +
                                    fabs(out->points[3 * k + 2] - s->points[3 * i + 2]) >
                                1e-6)
            k++;
        if (k == count)
            memcpy(out->points + 3 * count++, s->points + 3 * i, 3 * sizeof(double));
        out->corners[i] = (int32_t)k;
    }
    out->vertices = count;
    clvox_surface_destroy(&s);
    return out;
}

static clvox_surface *torus(int around, int across)
{
    clvox_surface *s;
    const int vertices = around * across;
    assert_ok(clvox_surface_create((size_t)vertices, 2 * (size_t)vertices, &s));
    for (int i = 0; i < around; i++)
        for (int j = 0; j < across; j++) {
            const double u = 6.28318530717959 * i / around, v = 6.28318530717959 * j / across,
                         r = 10 + 3 * cos(v);
            const int32_t a = i * across + j, b = (i + 1) % around * across + j,
                          c = i * across + (j + 1) % across, d = (i + 1) % around * across + (j + 1) % across,
                          both[6] = {a, b, d, a, d, c};
            const double p[3] = {r * cos(u), r * sin(u), 3 * sin(v)};
            memcpy(s->points + 3 * (size_t)a, p, sizeof p);
            memcpy(s->corners + 6 * (size_t)a, both, sizeof both);
        }
    return s;
}

/* ---- what is measured ------------------------------------------------------ */

static bool is_near(double got, double want, double error)
{
    return fabs(got - want) <= error * fabs(want);
}

static void facets(void **state)
{
    const double pi = 3.14159265358979;
    double cut, curvature, inward[2];
    clvox_surface *s = scaled(cube(), 10, 10, 10);
    (void)state;
    assert_ok(clv_surface_facets(s, &cut, &curvature));
    /* Twelve edges of 20 mm, a right angle at each, and heights of 20 mm. */
    assert_true(is_near(curvature, 12 * 20 * pi / 4, 1e-9) &&
                is_near(cut, 12 * pi / 2 * 20 * 800 / 24, 1e-9));
    turned(s, 12);
    assert_ok(clv_surface_facets(s, &inward[0], &inward[1]));
    assert_true(is_near(inward[0], -cut, 1e-9) && is_near(inward[1], -curvature, 1e-9));
    clvox_surface_destroy(&s);
    for (int n = 6; n <= 12; n += 6) {
        clvox_surface_facts f;
        s = scaled(sphere(n), 5, 5, 5);
        assert_ok(clvox_surface_inspect(s, &f));
        assert_ok(clv_surface_facets(s, &cut, &curvature));
        const double truth = 4 / 3. * pi * 125 - f.volume;
        assert_that(is_near(curvature, 4 * pi * 5, .02) && is_near(cut, truth, .05),
                    "curvature %g, cut off %g of %g", curvature, cut, truth);
        clvox_surface_destroy(&s);
    }
}

/* ---- volumes kept ---------------------------------------------------------- */

static clvox_surface *make_case(int at)
{
    switch (at) {
    case 0: return scaled(cube(), 10, 10, 10);
    case 1: return apart(scaled(cube(), 10, 10, 10));
    case 2: return turned(scaled(cube(), 10, 10, 10), 12);
    case 3: return turned(scaled(cube(), 10, 10, 10), 1);
    case 4: return scaled(octahedron(), 7, 7, 7);
    case 5: return scaled(tetrahedron(), 10, 10, 10);
    case 6: return scaled(sphere(3), 1, 1, 1);
    case 7: return scaled(sphere(6), 1000, 1000, 1000);
    case 8: return scaled(sphere(5), 30, 10, 8);
    case 9: return scaled(cube(), 1, 2, 30);
    case 10: return scaled(cube(), 12, 12, 1);
    case 11: return torus(12, 6);
    case 12: return joined(scaled(cube(), 10, 10, 10), scaled(sphere(4), 6, 6, 6), 25);
    default: return joined(scaled(cube(), 10, 10, 10), turned(scaled(cube(), 5, 5, 5), 12), 0);
    }
}
static const struct {
    const char *name;
    double volume;
    int components, euler;
} shapes[] = {
    {"a cube", 8000, 1, 2},
    {"a cube of separate triangles", 8000, 1, 2},
    {"a cube that faces inward", 8000, 1, 2},
    {"a cube with a turned triangle", 8000, 1, 2},
    {"an octahedron", 4 / 3. * 343, 1, 2},
    {"a tetrahedron", 8000 / 3., 1, 2},
    {"a sphere of 1 mm", 0, 1, 2},
    {"a sphere of 1 m", 0, 1, 2},
    {"an ellipsoid", 0, 1, 2},
    {"a long box", 480, 1, 2},
    {"a plate", 1152, 1, 2},
    {"a torus", 0, 1, 0},
    {"a cube beside a sphere", 0, 2, 4},
    {"a hollow cube", 7000, 2, 4},
};

static int level_set_of(const clvox_surface *s, double voxel, clvox_level_set *set)
{
    clvox_level_set_source source;
    clvox_level_set_source_defaults(&source);
    source.surface = s;
    source.voxel = voxel;
    return clvox_level_set_create(ctx, &source, set);
}

static void keeps_its_volume(void **state)
{
    const int *given = *state, at = given[0];
    clvox_surface *s = make_case(at);
    clvox_surface_facts f;
    clvox_level_set set;
    clvox_denoise_result r;
    assert_ok(clvox_surface_inspect(s, &f));
    const double volume = shapes[at].volume > 0 ? shapes[at].volume : f.volume;
    assert_ok(level_set_of(s, 0, &set));
    assert_true(set.coarse && set.bounds && is_near(set.volume, volume, 1e-6));
    assert_ok(clvox_surface_denoise(ctx, &set, NULL, &r));
    assert_that(is_near(r.facts.volume, volume, .01) && is_near(r.volume_before, volume, .01),
                "volume %g, not %g", r.facts.volume, volume);
    assert_true(r.facts.open_edges == 0 && r.facts.crowded_edges == 0 && r.facts.flipped_edges == 0);
    assert_int_equal(r.facts.components, shapes[at].components);
    assert_int_equal(r.facts.euler, shapes[at].euler);
    double sum = 0;
    for (size_t i = 0; at < 4 && i < r.surface->vertices; i++) {
        const double *p = r.surface->points + 3 * i;
        sum += fabs(fmax(fabs(p[0]), fmax(fabs(p[1]), fabs(p[2]))) - 10) / (double)r.surface->vertices;
    }
    assert_that(sum < .4, "vertices are %g mm from the cube", sum);
    clvox_denoise_result_destroy(&r);
    clvox_level_set_destroy(&set);
    clvox_surface_destroy(&s);
}

/* Their vertices place the level set, on voxels of .7 of their edges; and so do those of open meshes. */
static void fine_meshes(void **state)
{
    clvox_level_set set;
    clvox_surface_facts f;
    clvox_denoise_result r;
    clvox_surface *s = scaled(sphere(16), 10, 10, 10);
    double edge[3];
    (void)state;
    assert_ok(clvox_surface_inspect(s, &f));
    assert_ok(level_set_of(s, 0, &set));
    clvox_grid_spacing(&set.distance->grid, edge);
    assert_true(!set.coarse &&
                is_near(edge[0], .7 * sqrt(4 / sqrt(3.) * f.area / (double)s->triangles), 1e-9));
    assert_ok(clvox_surface_denoise(ctx, &set, NULL, &r));
    assert_true(r.placed && is_near(r.facts.volume, f.volume, .01));
    clvox_denoise_result_destroy(&r);
    clvox_level_set_destroy(&set);
    clvox_surface_destroy(&s);
    s = scaled(cube(), 10, 10, 10);
    s->triangles = 11;
    assert_ok(level_set_of(s, 0, &set));
    assert_true(!set.coarse && !set.surface);
    clvox_level_set_destroy(&set);
    clvox_surface_destroy(&s);
}

/* The requested voxels are too coarse for the shape. */
static void too_coarse(void **state)
{
    clvox_level_set set;
    clvox_denoise_plan plan;
    clvox_denoise_result r;
    clvox_denoise_options o;
    clvox_surface *s = scaled(cube(), 10, 10, 10);
    (void)state;
    assert_ok(level_set_of(s, 30, &set));
    assert_int_equal(clvox_denoise_predict(ctx, &set, NULL, &plan), CLVOX_ERROR_DATA);
    assert_non_null(strstr(clvox_message(), "too coarse or too thin: no voxel"));
    assert_int_equal(clvox_surface_denoise(ctx, &set, NULL, &r), CLVOX_ERROR_DATA);
    assert_null(r.surface);
    clvox_level_set_destroy(&set);
    assert_ok(level_set_of(s, 4, &set));
    clvox_denoise_defaults(&o);
    o.update = CLVOX_DENOISE_PAPER;
    assert_ok(clvox_surface_denoise(ctx, &set, &o, &r));
    assert_true(is_near(r.facts.volume, 8000, .01));
    clvox_denoise_result_destroy(&r);
    set.volume = 1e8; /* more than the level set can give */
    assert_int_equal(clvox_surface_denoise(ctx, &set, &o, &r), CLVOX_ERROR_DATA);
    assert_that(strstr(clvox_message(), "too coarse: on voxels of 4 mm its volume would change") != NULL,
                "%s", clvox_message());
    assert_null(r.surface);
    o.free_volume = 1;
    assert_ok(clvox_surface_denoise(ctx, &set, &o, &r));
    clvox_denoise_result_destroy(&r);
    clvox_level_set_destroy(&set);
    clvox_surface_destroy(&s);
}

int main(void)
{
    ctx = harness_open();
    test_case(facets, "the volume that facets cut off, and the curvature");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        test_case_at(keeps_its_volume, TEST_AT((int)i), "%s keeps its volume, closed", shapes[i].name);
    test_case(fine_meshes, "fine meshes are placed by their vertices, open ones are not coarse");
    test_case(too_coarse, "voxels that lose the shape are refused");
    return test_run("coarse", harness_close);
}
