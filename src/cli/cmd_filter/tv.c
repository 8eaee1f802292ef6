/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "clvox/filter.h"

static void line(command *cli, const char *name, const char *before, const double range[2])
{
    cli_print(cli, "%-12s %s%.6g", name, before, range[0]);
    if (range[1] > range[0])
        cli_print(cli, " to %.6g", range[1]);
    cli_print(cli, "\n");
}

static void report(command *cli, const clvox_tv_report *found)
{
    const char *kind = found->rician ? "rician" : "gaussian";
    cJSON *to = cJSON_AddObjectToObject(cli->log, "filter");
    cli_print(cli, "%-12s %zu\n", "voxels", found->voxels);
    if (found->sigma[1] > 0)
        line(cli, "noise", found->rician ? "rician, " : "gaussian, ", found->sigma);
    line(cli, "weight", "", found->weight);
    cli_print(cli, "%-12s %d\n", "iterations", found->iterations);
    cJSON_AddStringToObject(to, "kind", "tv");
    cJSON_AddNumberToObject(to, "voxels", (double)found->voxels);
    cJSON_AddStringToObject(to, "noise_kind", kind);
    cJSON_AddItemToObject(to, "noise", cJSON_CreateDoubleArray(found->sigma, 2));
    cJSON_AddItemToObject(to, "weight", cJSON_CreateDoubleArray(found->weight, 2));
    cJSON_AddNumberToObject(to, "iterations", found->iterations);
    clvox_record_number(to, "error", found->error);
}

int cmd_filter_tv(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *mask_path = NULL, *given[CLVOX_MAX_OPTIONS] = {NULL};
    clvox_tv_options o;
    clvox_tv_report found;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the denoised image"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE",
         "denoise only where this is above 0, from the voxels there"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_tv_table(),
        .given = given,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL, *out = NULL;
    char **words;
    clvox_tv_defaults(&o);
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((status = cli_settle_fields(clvox_tv_table(), given, &o)))
        return status;
    const cli_input inputs[] = {{words[0], &in, 0}, {mask_path, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, true));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], in));
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_tv_table(), &o);
    status = clvox_filter_tv(cli->ctx, in, mask, &o, &out, &found);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    if (found.error > o.tolerance)
        cli_remark(
            cli, 0,
            "not within --tolerance %g after %d iterations: the result may be %.3g of the weight from the "
            "minimiser (RMS)\n",
            o.tolerance, found.iterations, found.error);
    if (found.rician)
        cli_note_signs(cli, in, words[0],
                       "Rician noise has none, and their sign is lost; --noise-kind gaussian keeps it");
    CLI_TRY(cli_write_volume(cli, out, out_path));
    report(cli, &found);
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&out);
    return status;
}
