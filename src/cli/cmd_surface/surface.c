/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_surface(command *cli, int argc, char **argv)
{
    static const cli_subcommand rows[] = {
        {"distance", "surface distance", cmd_surface_distance},
        {"mesh", "surface mesh", cmd_surface_mesh},
        {"denoise", "surface denoise", cmd_surface_denoise},
        {"compare", "surface compare", cmd_surface_compare},
        {0},
    };
    return cli_run_subcommand(cli, rows, argc, argv);
}
