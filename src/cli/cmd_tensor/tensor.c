/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_tensor(command *cli, int argc, char **argv)
{
    static const cli_subcommand rows[] = {
        {"all", "tensor all", cmd_tensor_all},
        {"denoise", "tensor denoise", cmd_tensor_denoise},
        {"fit", "tensor fit", cmd_tensor_fit},
        {"measures", "tensor measures", cmd_tensor_measures},
        {0},
    };
    return cli_run_subcommand(cli, rows, argc, argv);
}
