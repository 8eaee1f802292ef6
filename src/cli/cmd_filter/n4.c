/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "clvox/filter.h"

static void report(command *cli, const clvox_bias_options *o, const clvox_bias_report *found)
{
    int done[CLVOX_BIAS_LEVELS];
    cJSON *to = cJSON_AddObjectToObject(cli->log, "filter");
    cli_print(cli, "%-12s %zu\n", "voxels", found->voxels);
    cJSON_AddStringToObject(to, "kind", "n4");
    cJSON_AddNumberToObject(to, "voxels", (double)found->voxels);
    for (int i = 0; i < o->levels; i++) {
        cli_print(cli, "%s %d %*s %d iterations, the last changed the field by %.2g\n", "level", i + 1, 4, "",
                  found->iterations[i], found->change[i]);
        done[i] = found->iterations[i];
    }
    cJSON_AddItemToObject(to, "iterations", cJSON_CreateIntArray(done, o->levels));
    cJSON_AddItemToObject(to, "change", cJSON_CreateDoubleArray(found->change, o->levels));
}

int cmd_filter_n4(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *mask_path = NULL, *weight_path = NULL, *field_path = NULL;
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    clvox_bias_options o;
    clvox_bias_report found;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the corrected image"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "estimate where this is above 0 (default: Otsu's threshold)"},
        {"weight", 0, CLI_TEXT, &weight_path, "FILE", "how much each voxel counts"},
        {"field", 0, CLI_OUT, &field_path, "FILE", "also write the bias field"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_bias_table(),
        .given = given,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL, *weight = NULL, *out = NULL, *field = NULL;
    char **words;
    clvox_bias_defaults(&o);
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if ((status = cli_settle_fields(clvox_bias_table(), given, &o)))
        return status;
    const cli_input inputs[] = {
        {words[0], &in, 0}, {mask_path, &mask, CLI_AS_MASK}, {weight_path, &weight, 0}};
    CLI_TRY(cli_load(cli, inputs, 3, NULL, NULL, true));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], in));
    CLI_TRY(cli_on_grid(weight_path, weight, words[0], in));
    o.weight = weight;
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_bias_table(), &o);
    status = clvox_filter_bias(cli->ctx, in, mask, &o, &out, field_path ? &field : NULL, &found);
    if (status < 0) {
        clvox_fail_in(status, words[0]);
        goto end;
    }
    CLI_TRY(cli_write_volume(cli, out, out_path));
    if (field)
        CLI_TRY(cli_write_volume(cli, field, field_path));
    report(cli, &o, &found);
    CLI_TRY(cli_profile(cli));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&weight);
    clvox_volume_destroy(&out);
    clvox_volume_destroy(&field);
    return status;
}
