/* SPDX-License-Identifier: Apache-2.0 */
/* The solids' distances are true distances, and the noise is as strong as asked. */
#include "check.h"

#include "phantom/phantom.h"
#include "phantom/surface.h"
#include "mesh/mesh.h"

static const char *const names[] = {"sphere", "torus", "cube", "csg", "gyroid"};

/* At random places x: the gradient of the distance has length 1, unless two
 * points are nearest, and x - d grad d lies on the surface; no point of the
 * mesh is nearer. */
static void check_distance(const clv_solid *solid, const clvox_surface *mesh, const clvox_grid *grid)
{
    double worst_foot = 0, worst_length = 0, mesh_off = 0, mesh_largest = 0;
    int kinks = 0, tried = 0, nearer = 0, most = getenv("CLVOX_TEST_TINY") ? 400 : 4000;
    for (int n = 0; n < most; n++) {
        double x[3], g[3], foot[3];
        for (int i = 0; i < 3; i++) {
            x[i] = grid->to_ras[i][3];
            for (int a = 0; a < 3; a++) {
                double place = 0.5 + 0.29 * clv_phantom_normal(7, (uint64_t)(3 * n + a));
                x[i] += grid->to_ras[i][a] * place * grid->size[a];
            }
        }
        double d = clv_solid_distance(solid, x), size = 0, e = 1e-4 * solid->voxel;
        if (fabs(d) > 7 * solid->voxel)
            continue;
        tried++;
        for (int i = 0; i < 3; i++) {
            double a[3] = {x[0], x[1], x[2]}, b[3] = {x[0], x[1], x[2]};
            a[i] += e;
            b[i] -= e;
            g[i] = (clv_solid_distance(solid, a) - clv_solid_distance(solid, b)) / (2 * e);
            size += g[i] * g[i];
        }
        if (fabs(sqrt(size) - 1) > 1e-3) {
            kinks++;
            continue;
        }
        for (int i = 0; i < 3; i++)
            foot[i] = x[i] - d * g[i];
        worst_foot = fmax(worst_foot, fabs(clv_solid_implicit(solid, foot)));
        worst_length = fmax(worst_length, fabs(sqrt(size) - 1));
        if (n % 8)
            continue;
        double least = INFINITY;
        for (size_t v = 0; v < mesh->vertices; v++) {
            const double *p = mesh->points + 3 * v;
            least = fmin(least, pow(p[0] - x[0], 2) + pow(p[1] - x[1], 2) + pow(p[2] - x[2], 2));
        }
        nearer += sqrt(least) < fabs(d) - 1e-6 * solid->voxel;
    }
    for (size_t v = 0; v < mesh->vertices; v++) {
        double d = fabs(clv_solid_distance(solid, mesh->points + 3 * v));
        mesh_off += d > 2e-3 * solid->voxel;
        mesh_largest = fmax(mesh_largest, d);
    }
    assert_that(tried > most / 8 && kinks < tried / 50, "%d kinks of %d", kinks, tried);
    assert_that(worst_foot < 1e-3 * solid->voxel, "foot off by %g mm", worst_foot);
    assert_that(worst_length < 1e-3, "gradient off by %g", worst_length);
    assert_that(!nearer, "%d times the mesh is nearer", nearer);
    assert_that(mesh_off < 0.002 * (double)mesh->vertices && mesh_largest < 0.5 * solid->voxel,
                "%g of %zu vertices off, by up to %g mm", mesh_off, mesh->vertices, mesh_largest);
    printf("# %d places, %d kinks, foot within %.2g mm, %zu vertices, %g off, up to %.2g mm\n", tried, kinks,
           worst_foot, mesh->vertices, mesh_off, mesh_largest);
}

static clvox_grid oblique;

static void a_true_distance_the_right_topology(void **state)
{
    const int *given = *state;
    int kind = given[0];
    static const int euler[] = {2, 0, 2, -2, -4};
    clv_solid solid;
    clvox_volume *distance = NULL, *mask = NULL;
    clvox_surface *mesh = NULL;
    clvox_surface_facts facts;
    assert_ok(clv_solid_make((clvox_solid)kind, &oblique, &solid));
    assert_ok(clv_solid_sample(&solid, &oblique, &distance));
    assert_ok(clv_solid_mesh(&solid, &oblique, 2, &mesh));
    assert_ok(clvox_surface_inspect(mesh, &facts));
    assert_true(!facts.open_edges && !facts.crowded_edges && !facts.flipped_edges && !facts.degenerate);
    assert_that(facts.components == 1, "%d components", facts.components);
    assert_that(facts.euler == euler[kind], "Euler %d", facts.euler);
    printf("# Euler %d, %g mm^3\n", facts.euler, facts.volume);
    check_distance(&solid, mesh, &oblique);

    assert_ok(clv_solid_mask(distance, 0, 0, 1, &mask));
    size_t inside = 0, wrong = 0, voxels = clvox_grid_voxels(&oblique);
    for (size_t i = 0; i < voxels; i++) {
        inside += mask->data[i] > 0;
        wrong += (mask->data[i] > 0) != (distance->data[i] < 0);
    }
    double spacing[3];
    clvox_grid_spacing(&oblique, spacing);
    double volume = (double)inside * spacing[0] * spacing[1] * spacing[2];
    assert_that(!wrong && fabs(volume / facts.volume - 1) < 0.02, "%g and %g mm^3", volume, facts.volume);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&distance);
    clvox_surface_destroy(&mesh);
    clv_solid_free(&solid);
}

static clv_solid sphere;
static clvox_volume *sphere_distance;

static int noise_set_up(void **state)
{
    (void)state;
    assert_ok(clv_solid_make(CLVOX_SOLID_SPHERE, &oblique, &sphere));
    assert_ok(clv_solid_sample(&sphere, &oblique, &sphere_distance));
    return 0;
}

static int noise_tear_down(void **state)
{
    (void)state;
    clvox_volume_destroy(&sphere_distance);
    clv_solid_free(&sphere);
    return 0;
}

static void noise_of_the_edge_of_a_mask_voxels_wide(void **state)
{
    const int *given = *state;
    int form = given[0];
    const size_t voxels = clvox_grid_voxels(&oblique);
    clvox_volume *mask[3];
    double width = form ? 1.5 : 0, sigma = 0.8, flips = 0, expected = 0;
    for (int seed = 0; seed < 3; seed++)
        assert_ok(
            clv_solid_mask(sphere_distance, sigma, width, (uint64_t)(seed ? seed : 2), &mask[seed]));
    /* |d| of the voxels turned over adds up to what erfc says. */
    for (size_t i = 0; i < voxels; i++) {
        double d = (double)sphere_distance->data[i];
        flips += (mask[0]->data[i] > 0) != (d < 0);
        expected += 0.5 * erfc(fabs(d) / (sigma * sqrt(2)));
    }
    assert_that(fabs(flips / expected - 1) < (form ? 0.2 : 0.05), "%g flips for %g", flips, expected);
    assert_memory_equal(mask[0]->data, mask[2]->data, voxels * sizeof(float));
    assert_true(memcmp(mask[0]->data, mask[1]->data, voxels * sizeof(float)));
    for (int i = 0; i < 3; i++)
        clvox_volume_destroy(&mask[i]);
}

static void noise_of_vertices(void **state)
{
    (void)state;
    clvox_surface *mesh;
    assert_ok(clv_solid_mesh(&sphere, &oblique, 1, &mesh));
    assert_ok(clv_surface_shake(mesh, 0.3, 5));
    double sum = 0;
    for (size_t v = 0; v < mesh->vertices; v++)
        sum += pow(clv_solid_distance(&sphere, mesh->points + 3 * v), 2);
    double rms = sqrt(sum / (double)mesh->vertices);
    assert_that(fabs(rms / 0.3 - 1) < 0.05, "rms %g mm", rms);
    clvox_surface_destroy(&mesh);
}

int main(void)
{
    clvox_phantom_grid((int[3]){48, 50, 32}, (double[3]){1, 1, 1.5}, true, &oblique);
    for (int kind = 0; kind < 5; kind++)
        test_case_at(a_true_distance_the_right_topology, TEST_AT(kind),
                     "%s: a true distance, the right topology", names[kind]);
    test_set_up(noise_set_up);
    for (int form = 0; form < 2; form++)
        test_case_at(noise_of_the_edge_of_a_mask_voxels_wide, TEST_AT(form),
                     "noise of the edge of a mask, %g voxels wide", form ? 1.5 : 0);
    test_case(noise_of_vertices, "noise of vertices");
    test_tear_down(noise_tear_down);
    return test_run("surface", NULL);
}
