/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "clvox/filter.h"

static void report(command *cli, const clvox_nlm_report *found)
{
    const char *kind = found->rician ? "rician" : "gaussian";
    cJSON *to = cJSON_AddObjectToObject(cli->log, "filter");
    cli_print(cli, "%-12s %zu\n", "voxels", found->voxels);
    cli_print(cli, "%-12s %s, %.6g", "noise", kind, found->sigma[0]);
    if (found->sigma[1] > found->sigma[0])
        cli_print(cli, " to %.6g", found->sigma[1]);
    cli_print(cli, "\n");
    cJSON_AddStringToObject(to, "kind", "nlm");
    cJSON_AddNumberToObject(to, "voxels", (double)found->voxels);
    cJSON_AddStringToObject(to, "noise_kind", kind);
    cJSON_AddItemToObject(to, "noise", cJSON_CreateDoubleArray(found->sigma, 2));
}

int cmd_filter_nlm(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *mask_path = NULL, *noise_path = NULL, *given[CLVOX_MAX_OPTIONS] = {NULL};
    clvox_nlm_options o;
    clvox_nlm_report found;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the denoised image"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "denoise only where this is above 0"},
        {"noise-map", 0, CLI_TEXT, &noise_path, "FILE", "standard deviation of the noise in each voxel"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_nlm_table(),
        .given = given,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL, *noise = NULL, *out = NULL;
    char **words;
    clvox_nlm_defaults(&o);
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((status = cli_settle_fields(clvox_nlm_table(), given, &o)))
        return status;
    if (noise_path && (o.local || o.sigma > 0))
        return cli_misuse("--noise-map already gives the noise: leave out --noise and --local-noise");
    const cli_input inputs[] = {{words[0], &in, 0}, {mask_path, &mask, CLI_AS_MASK}, {noise_path, &noise, 0}};
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, true));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], in));
    CLI_TRY(cli_on_grid(noise_path, noise, words[0], in));
    o.noise_map = noise;
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_nlm_table(), &o);
    status = clvox_filter_nlm(cli->ctx, in, mask, &o, &out, &found);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    if (found.rician)
        cli_note_signs(cli, in, words[0],
                       "Rician noise has none, and their sign is lost; --noise-kind gaussian keeps it");
    CLI_TRY(cli_write_volume(cli, out, out_path));
    report(cli, &found);
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&noise);
    clvox_volume_destroy(&out);
    return status;
}
