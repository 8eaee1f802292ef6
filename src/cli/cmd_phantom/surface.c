/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd_phantom/surface.h"

#include <math.h>
#include <stdio.h>

enum { TRUTH_DISTANCE, TRUTH, MASK, NOISY_MASK, NOISY, FILES };

static int report(command *cli, const clvox_surface *truth, double sigma, double voxel)
{
    clvox_surface_facts f;
    int status = clvox_surface_inspect(truth, &f);
    if (status < 0)
        return status;
    cli_print(cli, "%-12s %d\n%-12s %d\n", "components", f.components, "Euler", f.euler);
    cli_print(cli, "%-12s %.6g mm^2\n%-12s %.6g mm^3\n", "area", f.area, "volume", f.volume);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "truth");
    cJSON_AddNumberToObject(to, "components", f.components);
    cJSON_AddNumberToObject(to, "euler", f.euler);
    cJSON_AddNumberToObject(to, "area_mm2", f.area);
    cJSON_AddNumberToObject(to, "volume_mm3", f.volume);
    cJSON_AddNumberToObject(to, "noise_mm", sigma);
    cJSON_AddNumberToObject(to, "noise_voxels", sigma / voxel);
    return CLVOX_OK;
}

static int write_noisy(command *cli, const cli_solid *r, const clvox_volume *distance, double sigma,
                       char path[][4096])
{
    clvox_volume *mask = NULL;
    clvox_surface *mesh = NULL;
    int status = CLVOX_OK;
    CLI_TRY(clvox_phantom_mask(distance, sigma, isnan(r->correlation) ? 0 : r->correlation, r->seed, &mask));
    CLI_TRY(cli_write_volume(cli, mask, path[NOISY_MASK]));
    CLI_TRY(clvox_phantom_mesh(r->kind, r->grid, 1, &mesh));
    CLI_TRY(clvox_phantom_shake(mesh, sigma, r->seed));
    CLI_TRY(cli_write_surface(cli, mesh, path[NOISY]));
end:
    clvox_volume_destroy(&mask);
    clvox_surface_destroy(&mesh);
    return status;
}

int cli_phantom_surface(command *cli, const cli_solid *r)
{
    const bool noisy = r->noise.count && r->noise.value[0] > 0;
    const clvox_end ends[FILES + 1] = {{"_truth_distance.nii.gz", true}, {"_truth.surf.gii", true},
                                       {"_mask.nii.gz", true},           {"_noisy_mask.nii.gz", noisy},
                                       {"_noisy.surf.gii", noisy},       {0}};
    const char *prefix = r->prefix;
    enum { MOST = 8000000 }; /* voxels of a grid whose mesh is refined: eight times as many */
    char path[FILES][4096];
    double spacing[3];
    clvox_volume *distance = NULL, *mask = NULL;
    clvox_surface *mesh = NULL;
    int status = CLVOX_OK;
    CLI_TRY(cli_claim_prefix(cli, &prefix, ends));
    for (int i = 0; i < FILES; i++)
        snprintf(path[i], sizeof path[i], "%s%s", prefix, ends[i].end);
    clvox_grid_spacing(r->grid, spacing);
    const double voxel = fmin(spacing[0], fmin(spacing[1], spacing[2]));
    double unit = r->noise.unit == CLVOX_UNIT_VOXELS ? voxel : 1;
    double sigma = r->noise.count ? r->noise.value[0] * unit : 0;
    CLI_TRY(clvox_phantom_distance(r->kind, r->grid, &distance));
    CLI_TRY(clvox_phantom_mesh(r->kind, r->grid, clvox_grid_voxels(r->grid) > MOST ? 1 : 2, &mesh));
    CLI_TRY(clvox_phantom_mask(distance, 0, 0, 0, &mask));
    CLI_TRY(cli_write_volume(cli, distance, path[TRUTH_DISTANCE]));
    CLI_TRY(cli_write_surface(cli, mesh, path[TRUTH]));
    CLI_TRY(cli_write_volume(cli, mask, path[MASK]));
    if (sigma > 0)
        CLI_TRY(write_noisy(cli, r, distance, sigma, path));
    CLI_TRY(report(cli, mesh, sigma, voxel));
end:
    clvox_volume_destroy(&distance);
    clvox_volume_destroy(&mask);
    clvox_surface_destroy(&mesh);
    return status;
}
