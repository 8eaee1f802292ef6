/* SPDX-License-Identifier: Apache-2.0 */
/* stats --entropy: how many subjects a template needs. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cmd_stats/stats.h"

static void print_rows(FILE *to, const void *what)
{
    const clvox_entropy_result *result = what;
    fprintf(to, "subjects\tentropy_mean\tentropy_sd\tmean_low\tmean_high\n");
    for (int i = 0; i < result->rows; i++) {
        const clvox_entropy_row *row = &result->row[i];
        fprintf(to, "%d", row->subjects);
        clvox_table_number(to, "%.6f", row->mean);
        clvox_table_number(to, "%.6f", row->sd);
        clvox_table_number(to, "%.6f", row->low);
        clvox_table_number(to, "%.6f", row->high);
        fputc('\n', to);
    }
}

static void report(command *cli, const clvox_entropy_result *result)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result"), *rows = cJSON_AddArrayToObject(to, "rows");
    clvox_record_number(to, "lowest", result->lowest);
    clvox_record_number(to, "highest", result->highest);
    cJSON_AddNumberToObject(to, "voxels", (double)result->asked);
    cJSON_AddNumberToObject(to, "counted", (double)result->counted);
    cli_print(cli, "%-9s %12s %10s %24s\n", "subjects", "entropy", "sd", "95% of the mean");
    for (int i = 0; i < result->rows; i++) {
        const clvox_entropy_row *row = &result->row[i];
        cJSON *one = cJSON_CreateObject();
        cJSON_AddNumberToObject(one, "subjects", row->subjects);
        clvox_record_number(one, "entropy_mean", row->mean);
        clvox_record_number(one, "entropy_sd", row->sd);
        clvox_record_number(one, "mean_low", row->low);
        clvox_record_number(one, "mean_high", row->high);
        cJSON_AddItemToArray(rows, one);
        cli_print(cli, "%-9d %12.4f %10.4f %12.4f %11.4f\n", row->subjects, row->mean, row->sd, row->low,
                  row->high);
    }
    if (result->counted < result->asked)
        cli_note(cli, "%zu of %zu voxels are left out: a subject's value there is not finite",
                 result->asked - result->counted, result->asked);
}

static int run(command *cli, cli_stats_request *r, clvox_entropy_options *o)
{
    int status = CLVOX_OK;
    char path[PATH_MAX];
    const clvox_end ends[] = {{".tsv", true}, {".json", true}, {0}};
    clvox_entropy_result result = {.rows = 0};
    cli_bar bar;
    CLI_TRY(cli_claim_prefix(cli, &r->prefix, ends));
    if (r->list)
        CLI_TRY(cli_stats_read_list(r));
    CLI_TRY(cli_stats_load(cli, r));
    CLI_TRY(cli_claims_check(cli));
    clvox_record_fields(cJSON_AddObjectToObject(cli->log, "options"), clvox_entropy_table(), o);
    cli_bar_begin(&bar, cli);
    o->progress = cli_bar_stage;
    o->user = &bar;
    status = clvox_entropy((const clvox_volume *const *)r->map, r->maps, r->mask_volume, o, &result);
    cli_bar_end(&bar);
    if (status < 0)
        goto end;
    report(cli, &result);
    snprintf(path, sizeof path, "%s.tsv", r->prefix);
    CLI_TRY(clvox_table_write(path, print_rows, &result));
    cli_log_output(cli, path);
    snprintf(path, sizeof path, "%s.json", r->prefix);
    CLI_TRY(cli_write_log(cli, path));
end:
    clvox_entropy_result_destroy(&result);
    return status;
}

int cmd_stats_entropy(command *cli, int argc, char **argv)
{
    cli_stats_request r = {.of_mean = true};
    clvox_entropy_options o;
    bool entropy = false;
    const char *given[CLVOX_MAX_OPTIONS] = {NULL};
    const cli_option options[] = {
        {"entropy", 0, CLI_FLAG, &entropy, NULL, "how many subjects a template needs, instead of a test"},
        {"list", 0, CLI_TEXT, &r.list, "FILE.tsv", "table of subjects: a column image"},
        {"image", 'i', CLI_TEXT, &r.image, "FILE", "the images as one 4-D file"},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE", "count where this is above 0 (default: everywhere)"},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files"},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_entropy_table(),
        .given = given,
    };
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!r.prefix)
        return cli_misuse("-o PREFIX is missing");
    if (!r.list == !r.image)
        return cli_misuse("the images are missing: give --list FILE.tsv, or -i IMAGES");
    clvox_entropy_defaults(&o);
    if ((status = cli_settle_fields(clvox_entropy_table(), given, &o)))
        return status;
    status = run(cli, &r, &o);
    cli_stats_free(&r);
    return status;
}
