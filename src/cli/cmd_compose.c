/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/cli.h"
#include "clvox/files.h"

/* The parts as they are, in ITK's composite; the device has inverted the warps that were to be. */
static int write_composite(command *cli, const cli_chain *chain, const char *path)
{
    const clvox_transform *part[CLI_MAX_LINKS], none = {.matrix = {{1}, {0, 1}, {0, 0, 1}, {0, 0, 0, 1}}};
    clvox_transform inverted[CLI_MAX_LINKS];
    part[0] = &none;
    for (int i = 0; i < chain->count; i++) {
        part[i] = chain->link[i].transform;
        if (!chain->link[i].inverse)
            continue;
        inverted[i] = *part[i];
        int status = clvox_affine_invert(part[i]->matrix, inverted[i].matrix);
        if (status < 0)
            return status;
        part[i] = &inverted[i];
    }
    int status = clvox_transforms_write(part, chain->count ? chain->count : 1, path);
    if (status >= 0)
        cli_log_output(cli, path);
    return status;
}

/* Whether a word of the chain asks for an inverse. */
static bool inverts(const cli_texts *transforms)
{
    for (int i = 0; i < transforms->count; i++)
        if (*transforms->item[i] == '[' || strchr(transforms->item[i], ','))
            return true;
    return false;
}

static int write_matrix(command *cli, const cli_chain *chain, int format, const clvox_volume *fixed,
                        const clvox_volume *moving, const char *path)
{
    int status = CLVOX_OK;
    clvox_transform made = {.is_warp = 0};
    const clvox_transform *affine = &made;
    CLI_TRY(clvox_compose_affine(chain->link, chain->count, made.matrix));
    if (format == CLVOX_WARP_FSL)
        CLI_TRY(clvox_flirt_matrix(affine->matrix, &fixed->grid, &moving->grid, made.matrix));
    clvox_affine_form form = format == CLVOX_WARP_ITK ? CLVOX_AFFINE_ITK : CLVOX_AFFINE_RAS;
    CLI_TRY(clvox_affine_write(affine->matrix, form, path));
    cli_log_output(cli, path);
end:
    return status;
}

int cmd_compose(command *cli, int argc, char **argv)
{
    const char *reference_path = NULL, *out_path = NULL, *moving_path = NULL;
    int format = CLVOX_WARP_ITK, type = 0;
    cli_texts transforms = {.count = 0};
    const cli_option options[] = {
        {"reference", 'r', CLI_TEXT, &reference_path, "REFERENCE",
         "the volume on whose grid the warp is written"},
        {"transform", 't', CLI_REPEAT, &transforms, "FILE[,-1]",
         "a transform, the last one applied first, as in ANTs; ,-1 inverts it"},
        {"output", 'o', CLI_OUT, &out_path, "OUT",
         "the warp to write; a matrix, .txt or .mat, for a chain of affines; ITK's composite, .h5"},
        {"format", 0, CLI_CHOICE, &format, "itk|mrtrix|fsl", "convention of OUT (default itk)"},
        {"moving", 'm', CLI_TEXT, &moving_path, "FILE", "the moving image, needed for FSL's warps"},
        CLI_WARP_TYPE(&type),
        {0},
    };
    const cli_usage usage = {
        .options = options,
    };
    clvox_volume *reference = NULL, *moving = NULL, *out = NULL;
    cli_chain chain = {.count = 0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!transforms.count)
        return cli_misuse("-t T is missing");
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    bool affine = clvox_file_ends(out_path, ".txt") || clvox_file_ends(out_path, ".mat");
    bool composite = clvox_file_ends(out_path, ".h5") || clvox_file_ends(out_path, ".hdf5");
    if (composite && format != CLVOX_WARP_ITK)
        return cli_misuse("--format: a .h5 file is ITK's");
    if (type && (affine || composite || format != CLVOX_WARP_ITK))
        return cli_misuse("--warp-type: is for warps in ITK's form");
    if (!reference_path && ((!affine && !composite) || format == CLVOX_WARP_FSL))
        return cli_misuse("-r REFERENCE is missing");
    if (format == CLVOX_WARP_FSL && !moving_path)
        return cli_misuse("--format fsl needs --moving FILE, the image that the warp will be applied to");
    const cli_input inputs[] = {{reference_path, &reference, 0},
                                {format == CLVOX_WARP_FSL ? moving_path : NULL, &moving, 0}};
    chain.fixed = reference_path;
    chain.moving = moving_path;
    const bool device = composite ? inverts(&transforms) : !affine;
    CLI_TRY(cli_load(cli, inputs, 2, &transforms, &chain, device));
    if (composite) {
        status = write_composite(cli, &chain, out_path);
        goto end;
    }
    if (affine) {
        status = write_matrix(cli, &chain, format, reference, moving, out_path);
        goto end;
    }
    CLI_TRY(clvox_compose(cli->ctx, &reference->grid, chain.link, chain.count, &out));
    cli_type_warp(cli, type, out);
    CLI_TRY(clvox_warp_write_with(out, (clvox_warp_form)format, moving ? &moving->grid : NULL, out_path));
    cli_log_output(cli, out_path);
end:
    cli_chain_free(&chain);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&moving);
    clvox_volume_destroy(&out);
    return status;
}
