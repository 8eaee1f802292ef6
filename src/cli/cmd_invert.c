/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"

static int invert_affine(command *cli, const char *path, const clvox_transform *affine, const char *out_path)
{
    clvox_transform inverse = {.is_warp = 0};
    const clvox_transform *made = &inverse;
    int status = clvox_affine_invert(affine->matrix, inverse.matrix);
    return status < 0 ? clvox_fail_in(status, path) : cli_write_affine(cli, made->matrix, out_path);
}

int cmd_invert(command *cli, int argc, char **argv)
{
    const char *path = NULL, *out_path = NULL;
    int type = 0;
    const cli_option options[] = {
        {"transform", 't', CLI_TEXT, &path, "FILE", "a warp, or an affine"},
        {"output", 'o', CLI_OUT, &out_path, "OUT", "its inverse; a warp keeps its grid"},
        CLI_WARP_TYPE(&type),
        {0},
    };
    const cli_usage usage = {
        .options = options,
    };
    clvox_transform *transform = NULL;
    clvox_volume *out = NULL;
    clvox_jacobian_summary jacobian = {.folded = 0};
    double error[2] = {0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!path)
        return cli_misuse("-t WARP is missing");
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    CLI_TRY(cli_read_transform(cli, path, &transform));
    if (transform->is_warp) {
        CLI_TRY(cli_invert_warp(cli, path, transform->warp, &out, error, &jacobian));
        cli_type_warp(cli, type, out);
        CLI_TRY(cli_write_warp(cli, out, out_path));
    } else if (type) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine, and --warp-type is for warps", path);
        goto end;
    } else {
        CLI_TRY(invert_affine(cli, path, transform, out_path));
    }
    cli_print(cli, "largest_error_voxels  %.6g\nmean_error_voxels     %.6g\n", error[0], error[1]);
    clvox_record_number(cli->log, "largest_error_voxels", error[0]);
    clvox_record_number(cli->log, "mean_error_voxels", error[1]);
    cJSON_AddNumberToObject(cli->log, "folded", (double)jacobian.folded);
end:
    clvox_transform_destroy(&transform);
    clvox_volume_destroy(&out);
    return status;
}
