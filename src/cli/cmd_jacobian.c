/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "cli/cli.h"

/* A folded voxel has no logarithm: it takes that of 1e-6, in the average too. logarithm: what is written, or
 * NULL. */
static void say_floor(const clvox_volume *logarithm, const clvox_jacobian_summary *s)
{
    size_t n = logarithm ? clvox_grid_voxels(&logarithm->grid) : 0, count = 0;
    const float least = (float)log(1e-6);
    for (size_t i = 0; i < n; i++)
        count += logarithm->data[i] <= least;
    if (!logarithm)
        count = (size_t)s->folded;
    if (count > 0)
        fprintf(stderr,
                "clvox jacobian: WARNING: %zu voxels are folded (determinant 0 or less): their logarithm is "
                "set to %.4g, that of 1e-6%s\n",
                count, (double)least, s->folded ? ", also in mean_log and sd_log" : "");
}

int cmd_jacobian(command *cli, int argc, char **argv)
{
    const char *path = NULL, *out_path = NULL, *mask_path = NULL;
    bool log = false;
    const cli_option options[] = {
        {"transform", 't', CLI_TEXT, &path, "WARP", "a warp"},
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the determinant at every voxel"},
        {"log", 0, CLI_FLAG, &log, NULL, "write its natural logarithm"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "restrict the summary to where this is above 0"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
    };
    clvox_transform *transform = NULL;
    clvox_volume *mask = NULL, *out = NULL;
    clvox_jacobian_summary s = {0};
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!path)
        return cli_misuse("-t WARP is missing");
    CLI_TRY(cli_read_link(cli, path, &transform));
    if (!transform->is_warp) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "%s: is an affine, whose determinant `clvox info` prints",
                          path);
        goto end;
    }
    CLI_TRY(cli_read_mask(cli, mask_path, &mask));
    CLI_TRY(cli_open(cli));
    CLI_TRY(clvox_jacobian(cli->ctx, transform->warp, mask, log, out_path ? &out : NULL, &s));
    if (out_path)
        CLI_TRY(cli_write_volume(cli, out, out_path));
    cli_print(cli, "voxels    %ld\nsmallest  %.6g\nlargest   %.6g\n", s.voxels, s.smallest, s.largest);
    cli_print(cli, "folded    %ld\nmean_log  %.6g\nsd_log    %.6g\n", s.folded, s.mean_log, s.sd_log);
    say_floor(log ? out : NULL, &s);
    cJSON *to = cJSON_AddObjectToObject(cli->log, "jacobian");
    clvox_record_jacobian(to, &s);
end:
    clvox_transform_destroy(&transform);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&out);
    return status;
}
