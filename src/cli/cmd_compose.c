/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

int cmd_compose(command *cli, int argc, char **argv)
{
    const char *reference_path = NULL, *out_path = NULL, *moving_path = NULL;
    int format = CLVOX_WARP_ITK;
    cli_texts transforms = {.count = 0};
    const cli_option options[] = {
        {"reference", 'r', CLI_TEXT, &reference_path, "REFERENCE",
         "the volume on whose grid the warp is written"},
        {"transform", 't', CLI_REPEAT, &transforms, "FILE[,-1]",
         "a transform; the last is applied first; ,-1 inverts it"},
        {"output", 'o', CLI_TEXT, &out_path, "OUT", "the warp to write"},
        {"format", 0, CLI_CHOICE, &format, "itk|mrtrix|fsl", "whose form OUT takes (default itk)"},
        {"moving", 'm', CLI_TEXT, &moving_path, "FILE", "the moving image, which FSL's form depends on"},
        {0},
    };
    const cli_usage usage = {
        .synopsis = "-r REFERENCE -t T [-t T ...] -o OUT",
        .about = "Writes one warp that does what the chain of transforms does, in the order of\n"
                 "`clvox apply`: an ITK displacement, or for\n"
                 "  mrtrix  a deformation: mrtransform MOVING -warp OUT -interp linear result.mif\n"
                 "  fsl     a relative field: applywarp -i MOVING -r REFERENCE -w OUT --rel -o result",
        .example = "  clvox compose -r fixed.nii.gz -t result_warp.nii.gz -t result_affine.txt \\\n"
                   "      -o both_warp.nii.gz\n"
                   "  clvox compose -r fixed.nii.gz -t result_warp.nii.gz -t result_affine.txt \\\n"
                   "      --format fsl --moving moving.nii.gz -o fsl_warp.nii.gz",
        .options = options,
    };
    clvox_volume *reference = NULL, *moving = NULL, *out = NULL;
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
    if (format == CLVOX_WARP_FSL && !moving_path)
        return cli_misuse("--format fsl needs --moving FILE, the image that the warp will be applied to");
    if (format != CLVOX_WARP_FSL && moving_path)
        cli_remark(cli, 0, "--moving has no effect without --format fsl\n");
    const cli_input inputs[] = {{reference_path, &reference, false},
                                {format == CLVOX_WARP_FSL ? moving_path : NULL, &moving, false}};
    CLV_TRY(cli_load(cli, inputs, 2, &transforms, &chain, true));
    CLV_TRY(clvox_compose(cli->ctx, &reference->grid, chain.link, chain.count, &out));
    CLV_TRY(clvox_warp_write_as(out, (clvox_warp_form)format, moving ? &moving->grid : NULL, out_path));
    cli_log_output(cli, out_path);
end:
    cli_chain_free(&chain);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&out);
    return status;
}
