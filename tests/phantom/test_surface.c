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
    int kinks = 0, tried = 0, nearer = 0;
    for (int n = 0; n < 4000; n++) {
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
    CHECK_THAT(tried > 500 && kinks < tried / 50, "%d kinks of %d", kinks, tried);
    CHECK_THAT(worst_foot < 1e-3 * solid->voxel, "foot off by %g mm", worst_foot);
    CHECK_THAT(worst_length < 1e-3, "gradient off by %g", worst_length);
    CHECK_THAT(!nearer, "%d times the mesh is nearer", nearer);
    CHECK_THAT(mesh_off < 0.002 * (double)mesh->vertices && mesh_largest < 0.5 * solid->voxel,
               "%g of %zu vertices off, by up to %g mm", mesh_off, mesh->vertices, mesh_largest);
    printf("# %d places, %d kinks, foot within %.2g mm, %zu vertices, %g off, up to %.2g mm\n", tried, kinks,
           worst_foot, mesh->vertices, mesh_off, mesh_largest);
}

static void check_solid(int kind, const clvox_grid *grid)
{
    static const int euler[] = {2, 0, 2, -2, -4};
    clv_solid solid;
    clvox_volume *distance = NULL, *mask = NULL;
    clvox_surface *mesh = NULL;
    clvox_surface_facts facts;
    CHECK_CASE("%s: a true distance, the right topology", names[kind]);
    check_must(clv_solid_make((clv_solid_kind)kind, grid, &solid));
    check_must(clv_solid_sample(&solid, grid, &distance));
    check_must(clv_solid_mesh(&solid, grid, 2, &mesh));
    check_must(clvox_surface_inspect(mesh, &facts));
    CHECK(!facts.open_edges && !facts.crowded_edges && !facts.flipped_edges && !facts.degenerate);
    CHECK_THAT(facts.components == 1, "%d components", facts.components);
    CHECK_THAT(facts.euler == euler[kind], "Euler %d", facts.euler);
    printf("# Euler %d, %g mm^3\n", facts.euler, facts.volume);
    check_distance(&solid, mesh, grid);

    check_must(clv_solid_mask(distance, 0, 0, 1, &mask));
    size_t inside = 0, wrong = 0, voxels = clvox_grid_voxels(grid);
    for (size_t i = 0; i < voxels; i++) {
        inside += mask->data[i] > 0;
        wrong += (mask->data[i] > 0) != (distance->data[i] < 0);
    }
    double spacing[3];
    clvox_grid_spacing(grid, spacing);
    double volume = (double)inside * spacing[0] * spacing[1] * spacing[2];
    CHECK_THAT(!wrong && fabs(volume / facts.volume - 1) < 0.02, "%g and %g mm^3", volume, facts.volume);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&distance);
    clvox_surface_destroy(&mesh);
    clv_solid_free(&solid);
}

static void check_noise(const clvox_grid *grid)
{
    clv_solid solid;
    clvox_volume *distance = NULL, *mask[3] = {NULL};
    clvox_surface *mesh = NULL;
    check_must(clv_solid_make(CLV_SOLID_SPHERE, grid, &solid));
    check_must(clv_solid_sample(&solid, grid, &distance));
    size_t voxels = clvox_grid_voxels(grid);
    for (int form = 0; form < 2; form++) {
        double width = form ? 1.5 : 0, sigma = 0.8, flips = 0, expected = 0;
        CHECK_CASE("noise of the edge of a mask, %g voxels wide", width);
        for (int seed = 0; seed < 3; seed++)
            check_must(clv_solid_mask(distance, sigma, width, (uint64_t)(seed ? seed : 2), &mask[seed]));
        /* |d| of the voxels turned over adds up to what erfc says. */
        for (size_t i = 0; i < voxels; i++) {
            double d = (double)distance->data[i];
            flips += (mask[0]->data[i] > 0) != (d < 0);
            expected += 0.5 * erfc(fabs(d) / (sigma * sqrt(2)));
        }
        CHECK_THAT(fabs(flips / expected - 1) < (form ? 0.2 : 0.05), "%g flips for %g", flips, expected);
        CHECK(!memcmp(mask[0]->data, mask[2]->data, voxels * sizeof(float)));
        CHECK(memcmp(mask[0]->data, mask[1]->data, voxels * sizeof(float)));
        for (int i = 0; i < 3; i++)
            clvox_volume_destroy(&mask[i]);
    }
    CHECK_CASE("noise of vertices");
    check_must(clv_solid_mesh(&solid, grid, 1, &mesh));
    check_must(clv_surface_shake(mesh, 0.3, 5));
    double sum = 0;
    for (size_t v = 0; v < mesh->vertices; v++)
        sum += pow(clv_solid_distance(&solid, mesh->points + 3 * v), 2);
    double rms = sqrt(sum / (double)mesh->vertices);
    CHECK_THAT(fabs(rms / 0.3 - 1) < 0.05, "rms %g mm", rms);
    clvox_surface_destroy(&mesh);
    clvox_volume_destroy(&distance);
    clv_solid_free(&solid);
}

int main(void)
{
    clvox_grid grid;
    clv_phantom_grid((int[3]){48, 50, 32}, (double[3]){1, 1, 1.5}, true, &grid);
    for (int kind = 0; kind < 5; kind++)
        check_solid(kind, &grid);
    check_noise(&grid);
    return check_end();
}
