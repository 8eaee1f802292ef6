/* SPDX-License-Identifier: Apache-2.0 */
/* clvox filter winsorize and match. */
#include "cli/cli.h"
#include "clvox/filter.h"

int cmd_filter_winsorize(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *mask_path = NULL, *quantiles = "0.005,0.995";
    double low, high;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the file to write"},
        {"quantiles", 0, CLI_TEXT, &quantiles, "LOW,HIGH", "the two quantiles (default 0.005,0.995)"},
        {"mask", 0, CLI_TEXT, &mask_path, "FILE", "compute the quantiles where this is above 0 (default: everywhere)"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *mask = NULL, *out = NULL;
    cJSON *to;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if (clvox_quantiles_read(quantiles, &low, &high) < 0)
        return cli_misuse("--quantiles %s: %s", quantiles, clvox_message());
    const cli_input inputs[] = {{words[0], &in, 0}, {mask_path, &mask, CLI_AS_MASK}};
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, false));
    CLI_TRY(cli_on_grid(mask_path, mask, words[0], in));
    status = clvox_filter_winsorize(in, mask, low, high, &out);
    CLI_TRY(cli_write_filtered(cli, status, words[0], out, out_path, "winsorize", &to));
    cJSON_AddItemToObject(to, "quantiles", cJSON_CreateDoubleArray((const double[]){low, high}, 2));
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&mask);
    clvox_volume_destroy(&out);
    return status;
}

int cmd_filter_match(command *cli, int argc, char **argv)
{
    const char *out_path = NULL, *reference_path = NULL;
    clvox_match_options o;
    bool whole = false;
    clvox_match_defaults(&o);
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the file to write"},
        {"reference", 'r', CLI_TEXT, &reference_path, "FILE", "the image with the target histogram, on any grid"},
        {"levels", 0, CLI_INTEGER, &o.levels, "N", "bins of each histogram (default 256)"},
        {"points", 0, CLI_INTEGER, &o.points, "N", "number of matched quantiles (default 64)"},
        {"whole", 0, CLI_FLAG, &whole, NULL, "match all values, not only the foreground"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .least = 1,
        .most = 1,
    };
    clvox_volume *in = NULL, *reference = NULL, *out = NULL;
    cJSON *to;
    char **words;
    int count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if (!reference_path)
        return cli_misuse("-r REFERENCE is missing");
    if (o.levels < 2 || o.levels > 65536)
        return cli_misuse("--levels %d: 2 to 65536 are possible", o.levels);
    if (o.points < 1 || o.points > CLVOX_MATCH_POINTS)
        return cli_misuse("--points %d: 1 to %d are possible", o.points, CLVOX_MATCH_POINTS);
    o.whole = whole;
    const cli_input inputs[] = {{words[0], &in, 0}, {reference_path, &reference, 0}};
    CLI_TRY(cli_load(cli, inputs, 2, NULL, NULL, false));
    status = clvox_filter_match(in, reference, &o, &out);
    CLI_TRY(cli_write_filtered(cli, status, words[0], out, out_path, "match", &to));
    cJSON_AddNumberToObject(to, "levels", o.levels);
    cJSON_AddNumberToObject(to, "points", o.points);
    cJSON_AddBoolToObject(to, "whole", whole);
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&reference);
    clvox_volume_destroy(&out);
    return status;
}
