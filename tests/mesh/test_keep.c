/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces that must not lose what joins them: handles thinner than a voxel,
 * sheets between bodies, cavities. */
#include "clvox/surface.h"
#include "op/harness.h"
#include "mesh/keep.h"

enum { EDGE = 36 };

static clvox_context *ctx;

typedef double (*shape)(const double x[3]);

static double length(double x, double y, double z)
{
    return sqrt(x * x + y * y + z * z);
}

static double ball(const double x[3])
{
    return length(x[0], x[1], x[2] + 3) - 9.3;
}

/* The ball with a handle on top, thinner than a voxel. */
static double handle(const double x[3])
{
    double ring = length(length(x[0], 0, x[2] - 7) - 6.2, x[1], 0) - 0.42;
    return fmin(ball(x), ring);
}

/* A thicker one. */
static double strap(const double x[3])
{
    return handle(x) - 0.5;
}

static double torus(const double x[3])
{
    return length(length(x[0] + 6, x[1], 0) - 6, x[2], 0) - 2.4;
}

static double double_torus(const double x[3])
{
    return fmin(torus(x), length(length(x[0] - 6, x[1], 0) - 6, x[2], 0) - 2.4);
}

static double shell(const double x[3])
{
    return fmax(ball(x), 2.1 - length(x[0], x[1], x[2] + 3));
}

static double speckled(const double x[3])
{
    return fmin(ball(x), length(x[0] - 13, x[1] - 13, x[2] - 13) - 0.9);
}

/* Both reach the border; the sheet is one voxel thick. */
static double plane(const double x[3])
{
    return x[2] - 0.3 * x[0] + 1;
}

static double sheet(const double x[3])
{
    return fabs(x[2] - 0.2) - 0.5;
}

/* Two balls that all but touch. */
static double pair(const double x[3])
{
    return fmin(length(x[0] - 6.6, x[1], x[2]) - 6, length(x[0] + 6.6, x[1], x[2]) - 6);
}

/* Two balls in which voxels 0, 0, 0 and 1, 1, 0 are the nearest. */
static double corner_pair(const double x[3])
{
    return fmin(length(x[0] + 4.1, x[1] + 4.1, x[2]) - 6, length(x[0] - 5.1, x[1] - 5.1, x[2]) - 6);
}

static clvox_volume *make(shape f, double voxel)
{
    int n = (int)(EDGE / voxel);
    clvox_grid grid = {{n, n, n}, {{0}}};
    clvox_volume *v;
    for (int a = 0; a < 3; a++) {
        grid.to_ras[a][a] = voxel;
        grid.to_ras[a][3] = -0.5 * EDGE + 0.11 * a;
    }
    grid.to_ras[3][3] = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int i = 0; i < n * n * n; i++) {
        const int at[3] = {i % n, i / n % n, i / n / n};
        double x[3];
        for (int a = 0; a < 3; a++)
            x[a] = voxel * at[a] + grid.to_ras[a][3];
        v->data[i] = (float)f(x);
    }
    return v;
}

static clvox_surface_facts facts_of(const clvox_surface *mesh)
{
    clvox_surface_facts f;
    assert_ok(clvox_surface_inspect(mesh, &f));
    return f;
}

/* A body from which others are made, its mesh from a grid fine enough. */
typedef struct kept_given {
    shape before;
    shape after;
    bool from_mesh;
    int components;
    int euler;
} kept_given;

static void from_a_kept(void **state)
{
    const kept_given *given = *state;
    shape before = given->before;
    shape after = given->after;
    bool from_mesh = given->from_mesh;
    int components = given->components;
    int euler = given->euler;
    clvox_volume *was = make(before, 1), *fine = make(before, from_mesh ? 0.25 : 1), *is = make(after, 1);
    clvox_surface *mesh = NULL, *out = NULL, *again = NULL;
    clv_surface_kept k, twice;
    assert_ok(clvox_surface_extract(fine, 0, false, &mesh));
    clvox_surface_facts want = facts_of(mesh);
    assert_that(want.components == components && want.euler == euler, "%d components, Euler %d",
                want.components, want.euler);
    const clv_surface_before b = {from_mesh ? mesh : NULL, was, components, euler, 0, 0};
    assert_ok(clv_surface_extract_kept(is, &b, &out, &k));
    clvox_surface_facts f = facts_of(out);
    assert_that(f.components == components && f.euler == euler, "%d components, Euler %d", f.components,
                f.euler);
    assert_true(!f.open_edges && !f.crowded_edges && !f.flipped_edges && !f.degenerate);
    assert_that(k.held > 0 && k.components == components && k.euler == euler, "%ld held, %d, %d", k.held,
                k.components, k.euler);
    assert_ok(clv_surface_extract_kept(is, &b, &again, &twice));
    assert_true(out->vertices == again->vertices && twice.held == k.held &&
                !memcmp(out->points, again->points, 3 * out->vertices * sizeof *out->points));
    clvox_surface_destroy(&out);
    clvox_surface_destroy(&again);
    /* Left free, it is lost. */
    assert_ok(clv_surface_extract_fine(is, &out));
    f = facts_of(out);
    assert_true(f.components != components || f.euler != euler);
    clvox_surface_destroy(&out);
    clvox_surface_destroy(&mesh);
    clvox_volume_destroy(&was);
    clvox_volume_destroy(&fine);
    clvox_volume_destroy(&is);
}

static void kept(const char *name, shape before, shape after, bool from_mesh, int components, int euler)
{
    test_case_at(from_a_kept, TEST_OF(((kept_given){before, after, from_mesh, components, euler})),
                 "%s, from a %s: kept", name, from_mesh ? "mesh" : "level set");
}

/* Values without any shape, so that bodies meet in necks and channels of all widths. */
static void narrow(void **state)
{
    (void)state;
    enum { EDGE_OF = 10, MOST = 200 };
    clvox_grid grid = {{EDGE_OF, EDGE_OF, EDGE_OF}, {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    clvox_volume *v;
    int kept[5] = {0}, lost = 0;
    uint32_t noise = 1;
    assert_ok(clvox_volume_create(&grid, 1, CLVOX_KIND_SCALAR, &v));
    for (int turn = 0; turn < MOST; turn++) {
        clvox_surface *mesh = NULL, *out = NULL;
        clv_surface_kept k;
        for (int i = 0; i < EDGE_OF * EDGE_OF * EDGE_OF; i++) {
            int x = i % EDGE_OF, y = i / EDGE_OF % EDGE_OF, z = i / EDGE_OF / EDGE_OF;
            bool inner = x > 3 && x < 6 && y > 3 && y < 6 && z > 3 && z < 6;
            noise = noise * 1664525u + 1013904223u;
            v->data[i] = inner ? (float)(noise >> 8) / (float)(1 << 23) - 1 : 1;
        }
        v->data[(4 * EDGE_OF + 4) * EDGE_OF + 4] = -0.5f;
        assert_ok(clvox_surface_extract(v, 0, false, &mesh));
        clvox_surface_facts f = facts_of(mesh);
        const clv_surface_before b = {NULL, v, f.components, f.euler, 0, 0};
        assert_ok(clv_surface_extract_kept(v, &b, &out, &k));
        bool same = k.components == f.components && k.euler == f.euler;
        clvox_surface_facts g = facts_of(out);
        assert_true(g.components == k.components && g.euler == k.euler);
        kept[k.factor] += same;
        lost += !same;
        clvox_surface_destroy(&mesh);
        clvox_surface_destroy(&out);
    }
    assert_that(kept[4] > 0 && lost < kept[4], "%d, %d and %d kept on 1/2, 1/3, 1/4, %d lost", kept[2],
                kept[3], kept[4], lost);
    clvox_volume_destroy(&v);
}

static void specks(void **state)
{
    (void)state;
    clvox_volume *was = make(speckled, 1), *is = make(ball, 1);
    clvox_surface *out = NULL;
    clv_surface_kept k;
    clv_surface_before b = {NULL, was, 2, 4, 0, 0};
    assert_ok(clv_surface_extract_kept(is, &b, &out, &k));
    clvox_surface_facts f = facts_of(out);
    assert_true(k.specks == 1 && f.components == 2 && f.euler == 4);
    clvox_surface_destroy(&out);
    b.only_clean = 1;
    assert_ok(clv_surface_extract_kept(is, &b, &out, &k));
    assert_true(!out && k.specks == 1);
    for (size_t i = 0; i < clvox_grid_voxels(&is->grid); i++)
        is->data[i] = was->data[i] = 20;
    assert_true(clv_surface_extract_kept(is, &b, &out, &k) == CLVOX_ERROR_DATA && !out);
    clvox_volume_destroy(&was);
    clvox_volume_destroy(&is);
}

static const struct {
    const char *name;
    shape f;
    double noise;
    clvox_denoise_topology topology;
    int kept, components, euler;
} rows[] = {
    {"a noisy double torus", double_torus, 0.1, CLVOX_TOPOLOGY_AUTO, 1, 1, -2},
    {"a noisy shell", shell, 0.1, CLVOX_TOPOLOGY_KEEP, 1, 2, 4},
    {"a speck", speckled, 0.02, CLVOX_TOPOLOGY_KEEP, 1, 2, 4},
    {"a speck, looked at", speckled, 0.02, CLVOX_TOPOLOGY_AUTO, 0, 0, 0},
    {"a speck, left free", speckled, 0.02, CLVOX_TOPOLOGY_FREE, 0, 0, 0},
    {"strong noise", ball, 0.8, CLVOX_TOPOLOGY_AUTO, 0, 1, 2},
    {"a plane through the border", plane, 0.1, CLVOX_TOPOLOGY_KEEP, 1, 1, 2},
    {"a sheet one voxel thick", sheet, 0.05, CLVOX_TOPOLOGY_KEEP, 1, 1, 2},
    {"two balls that all but touch", pair, 0.1, CLVOX_TOPOLOGY_KEEP, 1, 2, 4},
    {"two balls whose voxels touch at an edge, looked at", corner_pair, 0.05, CLVOX_TOPOLOGY_AUTO, 1, 2, 4},
};

/* The level set itself. */
static void is_denoised_its_topology(void **state)
{
    const int *given = *state;
    size_t r = (size_t)given[0];
    clvox_volume *v = make(rows[r].f, 1);
    clvox_denoise_options o;
    clvox_denoise_result d;
    clvox_surface *mesh;
    size_t n = clvox_grid_voxels(&v->grid);
    float *noise = malloc(n * sizeof *noise);
    harness_random(noise, n, 5, -1.7f * (float)rows[r].noise, 1.7f * (float)rows[r].noise);
    for (size_t i = 0; i < n; i++)
        v->data[i] += noise[i];
    clvox_denoise_defaults(&o);
    assert_true(o.topology == CLVOX_TOPOLOGY_AUTO);
    o.topology = rows[r].topology;
    o.neighbours = 24;
    o.distance = 1;
    assert_ok(clvox_surface_denoise(ctx, &(clvox_level_set){.distance = v}, &o, &d));
    assert_ok(clvox_surface_extract(d.distance, 0, false, &mesh));
    clvox_surface_facts f = facts_of(mesh);
    assert_that(d.topology.kept == rows[r].kept, "noise %g", d.deviation);
    assert_that(!rows[r].components || (f.components == rows[r].components && f.euler == rows[r].euler),
                "%d components, Euler %d, %ld held", f.components, f.euler, d.held_voxels);
    clvox_surface_destroy(&mesh);
    clvox_denoise_result_destroy(&d);
    free(noise);
    clvox_volume_destroy(&v);
}

static void denoised(void)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        test_case_at(is_denoised_its_topology, TEST_AT((int)r), "%s is denoised, its topology %s",
                     rows[r].name, rows[r].kept ? "kept" : "free");
}

static void not_finite(void **state)
{
    (void)state;
    clvox_volume *v = make(ball, 1);
    clvox_denoise_options o;
    clvox_denoise_result d;
    clvox_surface *mesh;
    const size_t middle = ((size_t)(EDGE / 2 - 3) * EDGE + EDGE / 2) * EDGE + EDGE / 2;
    v->data[0] = INFINITY;
    for (size_t i = 0; i < 3; i++)
        v->data[middle + i] = NAN; /* a cavity */
    clvox_denoise_defaults(&o);
    o.topology = CLVOX_TOPOLOGY_KEEP;
    o.distance = 1;
    assert_ok(clvox_surface_denoise(ctx, &(clvox_level_set){.distance = v}, &o, &d));
    assert_true(d.not_finite == 4);
    for (size_t i = 0; i < clvox_grid_voxels(&v->grid); i++)
        assert_true(isfinite(d.distance->data[i]));
    assert_ok(clvox_surface_extract(d.distance, 0, false, &mesh));
    clvox_surface_facts f = facts_of(mesh);
    assert_that(f.components == 2 && f.euler == 4, "%d components, Euler %d", f.components, f.euler);
    clvox_surface_destroy(&mesh);
    clvox_denoise_result_destroy(&d);
    clvox_volume_destroy(&v);
}

/* Marching cubes of a segmentation, with handles thinner than its voxels. */
typedef struct real_given {
    const char *name;
    int euler;
} real_given;

static void denoised_its_topology_kept(void **state)
{
    const real_given *given = *state;
    const char *name = given->name;
    int euler = given->euler;
    char path[1024];
    const char *folder = getenv("CLVOX_DATA");
    clvox_surface *mesh = NULL, *out = NULL;
    clvox_volume *was = NULL;
    clvox_denoise_options o;
    clvox_denoise_result d = {.distance = NULL};
    clv_surface_kept k;
    snprintf(path, sizeof path, "%s/surf_derived/%s", folder ? folder : CLVOX_DATA_DEFAULT, name);
    if (clvox_surface_read(path, &mesh) < 0)
        test_skip("no surf_derived/%s", name);
    clvox_surface_facts f = facts_of(mesh);
    assert_that(f.components == 1 && f.euler == euler, "%d components, Euler %d", f.components, f.euler);
    clvox_grid grid = {{0}, {{0}}};
    for (int a = 0; a < 3; a++) {
        grid.size[a] = (int)(f.bounds[1][a] - f.bounds[0][a]) + 14;
        grid.to_ras[a][a] = 1;
        grid.to_ras[a][3] = f.bounds[0][a] - 6.3;
    }
    grid.to_ras[3][3] = 1;
    assert_ok(clvox_distance_from_surface(ctx, mesh, &grid, 8, NULL, &was));
    clvox_denoise_defaults(&o);
    o.neighbours = 32;
    o.distance = 1;
    assert_ok(clvox_surface_denoise(ctx, &(clvox_level_set){.distance = was}, &o, &d));
    const clv_surface_before b = {mesh, was, f.components, f.euler, 1, 0};
    assert_ok(clv_surface_extract_kept(d.distance, &b, &out, &k));
    clvox_surface_facts g = facts_of(out);
    assert_that(g.components == 1 && g.euler == euler && !g.open_edges && !g.crowded_edges,
                "%d components, Euler %d on 1/%d", g.components, g.euler, k.factor);
    assert_that(fabs(g.volume / f.volume - 1) < 0.02, "volume %g, then %g", f.volume, g.volume);
    clvox_surface_destroy(&mesh);
    clvox_surface_destroy(&out);
    clvox_volume_destroy(&was);
    clvox_denoise_result_destroy(&d);
}

static void real(const char *name, int euler)
{
    test_case_at(denoised_its_topology_kept, TEST_OF(((real_given){name, euler})),
                 "%s, denoised: its topology kept", name);
}

/* Parts that a shift of the level removes go from the mesh, on a grid twice as fine, and from the level set. */
typedef struct simplified_given {
    shape f;
    double depth;
    int euler;
} simplified_given;

static void simplified_by_mm_euler_number(void **state)
{
    const simplified_given *given = *state;
    shape f = given->f;
    double depth = given->depth;
    int euler = given->euler;
    clvox_volume *v = make(f, 1);
    clvox_surface *out = NULL;
    long flipped;
    assert_ok(clv_surface_extract_simple(v, depth, &out, &flipped));
    clvox_surface_facts facts = facts_of(out);
    assert_that(facts.euler == euler && facts.components == 1 && !facts.open_edges, "Euler %d", facts.euler);
    clvox_surface_destroy(&out);
    assert_ok(clv_surface_simplify(v, depth, &flipped));
    assert_ok(clvox_surface_extract(v, 0, false, &out));
    facts = facts_of(out);
    assert_that(facts.euler == euler && facts.components == 1, "Euler %d", facts.euler);
    clvox_surface_destroy(&out);
    clvox_volume_destroy(&v);
}

static void simplified(shape f, double depth, int euler)
{
    test_case_at(simplified_by_mm_euler_number, TEST_OF(((simplified_given){f, depth, euler})),
                 "simplified by %g mm: Euler number %d", depth, euler);
}

int main(void)
{
    ctx = harness_open();
    simplified(strap, 0.1, 0);
    simplified(strap, 1.2, 2);
    simplified(torus, 1.2, 0);
    for (int from_mesh = 0; from_mesh < 2; from_mesh++) {
        kept("two rings of which one is lost", double_torus, torus, from_mesh, 1, -2);
        kept("a cavity that is lost", shell, ball, from_mesh, 2, 4);
    }
    kept("a handle thinner than a voxel", handle, ball, true, 1, 0);
    test_case(narrow, "necks and channels narrower than a third of a voxel are kept");
    test_case(specks, "a speck is kept, or there is no result where only clean surfaces are");
    denoised();
    test_case(not_finite, "values that are not finite, kept as outside");
    if (!getenv("CLVOX_TEST_TINY")) {
        real("bert_lh_hippocampus.ply", -2);
        real("bert_lh_lateral_ventricle.ply", -4);
    }
    return test_run("keep", harness_close);
}
