/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_compose(command *cli, int argc, char **argv)
{
    const char *reference_path = NULL, *out_path = NULL;
    cli_texts transforms = {.count = 0};
    const cli_option options[] = {
        {"reference", 'r', CLI_TEXT, &reference_path, "REFERENCE",
         "the volume on whose grid the warp is written"},
        {"transform", 't', CLI_REPEAT, &transforms, "FILE[,-1]",
         "a transform; the last is applied first; ,-1 inverts it"},
        {"output", 'o', CLI_TEXT, &out_path, "OUT", "the warp to write (ITK displacement)"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-r REFERENCE -t T [-t T ...] -o OUT",
        .about = "Writes one warp that does what the chain of transforms does, in the order of\n"
                 "`clvox apply`.",
        .example = "  clvox compose -r fixed.nii.gz -t result_warp.nii.gz -t result_affine.txt \\\n"
                   "      -o both_warp.nii.gz",
        .options = options,
    };
    clvox_volume *reference = NULL, *out = NULL;
    cli_chain chain = {.count = 0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!reference_path)
        return cli_misuse("-r REFERENCE is missing");
    if (!transforms.count)
        return cli_misuse("-t T is missing");
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    CLV_TRY(cli_load(cli, &(cli_input){reference_path, &reference, false}, 1, &transforms, &chain, true));
    CLV_TRY(clvox_compose(cli->ctx, &reference->grid, chain.link, chain.count, &out));
    CLV_TRY(cli_write_warp(cli, out, out_path));
end:
    cli_chain_free(&chain);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&out);
    return status;
}
