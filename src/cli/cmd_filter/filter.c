/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "clvox/filter.h"

enum { GAUSSIAN, SOBEL, UNSHARP, FILTERS };
static const char *const filters[] = {"gaussian", "sobel", "unsharp"};

static size_t not_finite(const clvox_volume *volume)
{
    size_t count = 0, values = clvox_grid_voxels(&volume->grid) * (size_t)volume->frames;
    for (size_t i = 0; i < values; i++)
        count += !isfinite(volume->data[i]);
    return count;
}

static int check_sigma(const clvox_numbers *sigma)
{
    if (sigma->count != 1 && sigma->count != 3)
        return cli_misuse("--sigma: one width or three, as 2mm or 2x2x3mm");
    for (int i = 0; i < sigma->count; i++)
        if (!(sigma->value[i] >= 0))
            return cli_misuse("--sigma: %g is negative", sigma->value[i]);
    return CLVOX_OK;
}

/* Logs the filter in millimetres and in voxels. */
static void log_filter(command *cli, const clvox_volume *in, int kind, const double sigma[3], bool voxels,
                       double amount)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "filter");
    cJSON_AddStringToObject(to, "kind", filters[kind]);
    cJSON_AddNumberToObject(to, "frames", in->frames);
    clvox_record_grid(to, "grid", &in->grid);
    if (kind == SOBEL)
        return;
    double edge[3], mm[3], vox[3];
    clvox_grid_spacing(&in->grid, edge);
    for (int a = 0; a < 3; a++) {
        mm[a] = sigma[a] * (voxels ? edge[a] : 1);
        vox[a] = sigma[a] / (voxels ? 1 : edge[a]);
    }
    cJSON_AddItemToObject(to, "sigma_mm", cJSON_CreateDoubleArray(mm, 3));
    cJSON_AddItemToObject(to, "sigma_voxels", cJSON_CreateDoubleArray(vox, 3));
    if (kind == UNSHARP)
        cJSON_AddNumberToObject(to, "amount", amount);
}

static const char *kind_of(const char *word)
{
    for (int i = 0; i < FILTERS; i++)
        if (!strcmp(filters[i], word))
            return filters[i];
    return NULL;
}

int cmd_filter(command *cli, int argc, char **argv)
{
    const char *out_path = NULL;
    clvox_numbers sigma = {.count = 0};
    double amount = 1;
    const cli_option options[] = {
        {"output", 'o', CLI_OUT, &out_path, "OUT", "the file to write"},
        {"sigma", 0, CLI_NUMBERS, &sigma, "Nmm|Nvox|NxNxNmm",
         "gaussian, unsharp: standard deviation, for all axes or each; mm by default",
         .kinds = "gaussian|unsharp"},
        {"amount", 0, CLI_NUMBER, &amount, "A", "unsharp: amount of detail added (default 1)",
         .kinds = "unsharp"},
        {0},
    };
    /* Filters with options of their own. */
    static const cli_subcommand others[] = {
        {"median", "filter median", cmd_filter_median},
        {"nlm", "filter nlm", cmd_filter_nlm},
        {"tv", "filter tv", cmd_filter_tv},
        {"dwi", "filter dwi", cmd_filter_dwi},
        {"n4", "filter n4", cmd_filter_n4},
        {"winsorize", "filter winsorize", cmd_filter_winsorize},
        {"match", "filter match", cmd_filter_match},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .words = others,
        .least = 2,
        .most = 2,
        .kind = kind_of,
    };
    for (const cli_subcommand *s = others; s->name && argc > 1; s++)
        if (!strcmp(argv[1], s->name)) {
            cli->verb = s->verb;
            return s->run(cli, argc - 1, argv + 1);
        }
    clvox_volume *in = NULL, *out = NULL;
    char **words;
    int kind = 0, count, status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    while (kind < FILTERS && strcmp(filters[kind], words[0]) != 0)
        kind++;
    if (kind == FILTERS)
        return cli_misuse("%s: not known; the filters are gaussian, sobel, unsharp, median, nlm, tv, dwi, "
                          "n4, winsorize and match",
                          words[0]);
    if (!out_path)
        return cli_misuse("-o OUT is missing");
    if (kind != SOBEL && !sigma.count)
        return cli_misuse("--sigma is missing: how wide is the Gaussian, as --sigma 2mm?");
    if (kind != SOBEL && (status = check_sigma(&sigma)) < 0)
        return status;
    const bool voxels = sigma.unit == CLVOX_UNIT_VOXELS, each = sigma.count == 3;
    const double widths[3] = {sigma.value[0], sigma.value[each ? 1 : 0], sigma.value[each ? 2 : 0]};
    const cli_input inputs[] = {{words[1], &in, 0}};
    CLI_TRY(cli_load(cli, inputs, 1, NULL, NULL, true));
    status = kind == GAUSSIAN ? clvox_filter_gaussian(cli->ctx, in, widths, voxels, &out)
             : kind == SOBEL  ? clvox_filter_sobel(cli->ctx, in, &out)
                              : clvox_filter_unsharp(cli->ctx, in, widths, voxels, amount, &out);
    if (status < 0) {
        clvox_fail_in(status, words[1]);
        goto end;
    }
    CLI_TRY(cli_write_volume(cli, out, out_path));
    log_filter(cli, in, kind, widths, voxels, amount);
    size_t before = not_finite(in);
    if (before)
        cli_remark(cli, 0, "%zu values of %s are not finite, and %zu of %s\n", before, words[1],
                   not_finite(out), out_path);
end:
    clvox_volume_destroy(&in);
    clvox_volume_destroy(&out);
    return status;
}
