/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/keep.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/status.h"
#include "mesh/topology.h"

enum { LEAST_FACTOR = 2, MOST_FACTOR = 4 };

static int size_of(const int first[3], const int last[3], int factor, int size[3], size_t *voxels)
{
    *voxels = 1;
    for (int a = 0; a < 3; a++) {
        size[a] = factor * (last[a] - first[a]) + 1;
        *voxels *= (size_t)size[a];
    }
    return *voxels <= CLV_SURFACE_MOST_VOXELS;
}

/* The former inside, on the grid of the refined box. */
static int inside_before(const clv_surface_before *before, const clvox_volume *distance, const int first[3],
                         const int last[3], int factor, unsigned char *inside)
{
    int status = CLVOX_OK;
    clvox_volume *fine = NULL;
    if (before->mesh) {
        clvox_grid grid = distance->grid;
        for (int a = 0; a < 3; a++) {
            grid.size[a] = factor * (last[a] - first[a]) + 1;
            for (int r = 0; r < 3; r++) {
                grid.to_ras[r][3] += distance->grid.to_ras[r][a] * first[a];
                grid.to_ras[r][a] /= factor;
            }
        }
        return clv_surface_inside(before->mesh, &grid, inside);
    }
    CLV_TRY(clv_surface_refine(before->distance, first, last, factor, false, &fine));
    clv_topology_signs(clvox_grid_voxels(&fine->grid), fine->data, inside);
end:
    clvox_volume_destroy(&fine);
    return status;
}

int clv_surface_extract_kept(const clvox_volume *distance, const clv_surface_before *before,
                             clvox_surface **out, clv_surface_kept *kept)
{
    int status = CLVOX_OK, size[3], last[3] = {-1, -1, -1};
    int first[3] = {distance->grid.size[0], distance->grid.size[1], distance->grid.size[2]};
    double edge[3], least;
    size_t voxels;
    clvox_volume *fine = NULL;
    unsigned char *inside = NULL;
    clv_topology found = {0};
    *out = NULL;
    *kept = (clv_surface_kept){.factor = 0};
    clvox_grid_spacing(&distance->grid, edge);
    least = fmin(edge[0], fmin(edge[1], edge[2]));
    const double reach = 4 * fmax(edge[0], fmax(edge[1], edge[2]));
    clv_surface_box(distance, reach, first, last);
    clv_surface_box(before->distance, reach, first, last);
    if (last[0] < 0)
        return clvox_fail(CLVOX_ERROR_DATA, "the level set has no inside");
    for (int factor = before->factor ? before->factor : LEAST_FACTOR; factor <= MOST_FACTOR; factor++) {
        if (!size_of(first, last, factor, size, &voxels) && kept->factor)
            break;
        if (!size_of(first, last, factor, size, &voxels)) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "the grid is too large to keep the topology on a finer "
                                                    "one; take --topology free or larger voxels");
            goto end;
        }
        free(inside);
        if (!(inside = malloc(voxels))) {
            status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the topology of a surface");
            goto end;
        }
        CLV_TRY(inside_before(before, distance, first, last, factor, inside));
        CLV_TRY(clv_topology_count(size, inside, (size_t)CLV_NOISE_SIZE * (size_t)(factor * factor * factor),
                                   &found));
        kept->factor = factor;
        if (found.surfaces == before->components && found.euler == before->euler)
            break;
    }
    size_of(first, last, kept->factor, size, &voxels);
    kept->components = found.surfaces;
    kept->euler = found.euler;
    kept->specks = found.specks;
    if (before->only_clean && kept->specks)
        goto end;
    CLV_TRY(clv_surface_refine(distance, first, last, kept->factor, true, &fine));
    CLV_TRY(clv_topology_walk(size, inside, fine->data, (float)(least / kept->factor), &kept->held));
    clv_topology_impose(size, inside, (float)(least / kept->factor), fine->data);
    free(inside);
    inside = NULL;
    CLV_TRY(clvox_surface_extract(fine, 0, false, out));
end:
    free(inside);
    clvox_volume_destroy(&fine);
    return status;
}

int clv_surface_is_clean(const clvox_volume *distance, bool *clean)
{
    const size_t count = clvox_grid_voxels(&distance->grid);
    clv_topology found;
    unsigned char *inside = malloc(count);
    if (!inside)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the topology of a surface");
    clv_topology_signs(count, distance->data, inside);
    int status = clv_topology_count(distance->grid.size, inside, CLV_NOISE_SIZE, &found);
    *clean = found.specks == 0;
    free(inside);
    return status;
}

static int facts_of(const clvox_volume *distance, clvox_surface_facts *facts)
{
    clvox_surface *mesh = NULL;
    int status = clvox_surface_extract(distance, 0, false, &mesh);
    if (status >= 0)
        status = clvox_surface_inspect(mesh, facts);
    clvox_surface_destroy(&mesh);
    return status;
}

int clv_surface_keep_signs(const clvox_volume *before, clvox_volume *distance, long *held)
{
    int status = CLVOX_OK;
    double edge[3];
    clvox_surface_facts was, is;
    *held = 0;
    CLV_TRY(facts_of(before, &was));
    CLV_TRY(facts_of(distance, &is));
    if (was.components == is.components && was.euler == is.euler)
        goto end;
    clvox_grid_spacing(&distance->grid, edge);
    CLV_TRY(clv_topology_keep(distance->grid.size, before->data, (float)fmin(edge[0], fmin(edge[1], edge[2])),
                              distance->data, held));
end:
    return status;
}
