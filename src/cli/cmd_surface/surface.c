/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_surface(command *cli, int argc, char **argv)
{
    static const cli_subcommand rows[] = {
        {"distance", "surface distance", "a signed distance from a mesh, mask, label or image",
         cmd_surface_distance},
        {"mesh", "surface mesh", "the surface of a distance, mask, label or image as a mesh",
         cmd_surface_mesh},
        {"denoise", "surface denoise", "removes noise and staircases, keeps edges and volume",
         cmd_surface_denoise},
        {"compare", "surface compare", "how far two meshes are apart: as currents, varifolds, point by point",
         cmd_surface_compare},
        {NULL, NULL, NULL, NULL},
    };
    return cli_run_subcommand(cli, rows, "Surfaces as meshes and as signed distances on a grid.",
                              "  clvox surface distance labels.nii.gz --label 17 -o sdf.nii.gz", argc, argv);
}
