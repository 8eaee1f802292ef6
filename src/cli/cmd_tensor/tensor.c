/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_tensor(command *cli, int argc, char **argv)
{
    static const cli_subcommand rows[] = {
        {"all", "tensor all", "fit, denoise and measures in one step", cmd_tensor_all},
        {"denoise", "tensor denoise", "edge-preserving total variation", cmd_tensor_denoise},
        {"fit", "tensor fit", "tensors from diffusion-weighted volumes", cmd_tensor_fit},
        {"measures", "tensor measures", "FA, diffusivities, eigenvectors and colours of tensors",
         cmd_tensor_measures},
        {NULL, NULL, NULL, NULL},
    };
    return cli_run_subcommand(cli, rows, "Diffusion tensors: from the scan to denoised tensors and maps.",
                              "  clvox tensor measures tensor.nii.gz -o subject", argc, argv);
}
