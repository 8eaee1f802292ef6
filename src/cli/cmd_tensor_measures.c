/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_tensor_measures(command *cli, int argc, char **argv)
{
    const cli_usage usage = {
        .synopsis = "TENSOR -o PREFIX",
        .about = "Scalar maps and eigenvectors of diffusion tensors.",
        .example = "  clvox tensor measures tensor.nii.gz -o subject",
        .least = 1,
        .most = 1,
    };
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    return clv_fail(CLVOX_ERROR_ARGUMENT, "%s: measures are not available yet", words[0]);
}
