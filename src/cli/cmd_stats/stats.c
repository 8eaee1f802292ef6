/* SPDX-License-Identifier: Apache-2.0 */
/* Permutation tests of maps. */
#include "cli/cmd_stats/stats.h"
#include "clvox/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/matrix.h"

enum { MAPS = 6 };
static const char *const map_ends[MAPS] = {"_t.nii.gz",    "_p.nii.gz",      "_p_fwe.nii.gz",
                                           "_tfce.nii.gz", "_tfce_p.nii.gz", "_tfce_p_fwe.nii.gz"};

static int claim(command *cli, cli_stats_request *r, bool tfce)
{
    clvox_end ends[MAPS + 3] = {[MAPS] = {".json", true}, {"_report.html", r->report}};
    for (int i = 0; i < MAPS; i++)
        ends[i] = (clvox_end){map_ends[i], tfce || i < MAPS / 2};
    return cli_claim_prefix(cli, &r->prefix, ends);
}

/* ---- the report ---------------------------------------------------------- */

/* Meaning of a positive t, in words. */
static void say_effect(const cli_stats_request *r, const clvox_stats_options *o, char *out, size_t room)
{
    const cli_stats_column *c = &r->column[0];
    const bool less = o->less && !o->two_sided;
    if (r->of_mean)
        snprintf(out, room, "the mean %s 0", o->two_sided ? "differs from" : less ? "is below" : "is above");
    else if (!c->group[1])
        snprintf(out, room, "%s with %s", o->two_sided ? "changes" : less ? "falls" : "rises", c->name);
    else
        snprintf(out, room, "%s %s %s", c->group[1],
                 o->two_sided ? "differs from"
                 : less       ? "below"
                              : "above",
                 c->group[0]);
}

static void report_map(command *cli, const char *name, const clvox_stats_map *m, const clvox_grid *grid)
{
    const double voxel[3] = {m->peak[0], m->peak[1], m->peak[2]};
    double at[3];
    cJSON *to = cJSON_AddObjectToObject(cJSON_GetObjectItem(cli->log, "result"), name);
    cli_matrix_apply(CLI_MATRIX(grid->to_ras), voxel, at);
    clvox_record_number(to, "largest", m->largest);
    cJSON_AddItemToObject(to, "peak_voxel", cJSON_CreateIntArray(m->peak, 3));
    cJSON_AddItemToObject(to, "peak_ras_mm", cJSON_CreateDoubleArray(at, 3));
    clvox_record_number(to, "smallest_p", m->smallest_p);
    clvox_record_number(to, "smallest_p_fwe", m->smallest_p_fwe);
    clvox_record_number(to, "threshold_05", m->threshold);
    cJSON_AddNumberToObject(to, "significant_voxels", (double)m->significant);
    cli_print(cli, "%-14s %.4g at voxel %d %d %d (RAS %.1f %.1f %.1f mm)\n",
              !strcmp(name, "t") ? "largest_t" : "largest_tfce", m->largest, m->peak[0], m->peak[1],
              m->peak[2], at[0], at[1], at[2]);
    cli_print(cli, "%-14s %.5g\n", "  smallest_p", m->smallest_p);
    cli_print(cli, "%-14s %.5g\n", "  p_fwe", m->smallest_p_fwe);
    if (isfinite(m->threshold))
        cli_print(cli, "%-14s %.4g\n", "  threshold", m->threshold);
    cli_print(cli, "%-14s %zu voxels with p_fwe <= 0.05\n", "  significant", m->significant);
}

static void report(command *cli, const cli_stats_request *r, const clvox_stats_options *o,
                   const clvox_stats_result *k, const char *effect)
{
    const cli_stats_column *c = &r->column[0];
    cJSON *to = cJSON_AddObjectToObject(cli->log, "result");
    cJSON_AddStringToObject(to, "effect", effect);
    cJSON_AddNumberToObject(to, "subjects", r->subjects);
    cJSON_AddNumberToObject(to, "degrees_of_freedom", k->dof);
    if (c->group[1]) {
        cJSON *groups = cJSON_AddObjectToObject(to, "groups");
        for (int i = 0; i < 2; i++)
            cJSON_AddNumberToObject(groups, c->group[i], c->count[i]);
    }
    cJSON_AddNumberToObject(to, "voxels", (double)k->asked);
    cJSON_AddNumberToObject(to, "tested", (double)k->tested);
    cJSON_AddNumberToObject(to, "not_finite", (double)k->not_finite);
    cJSON_AddNumberToObject(to, "constant", (double)k->constant);
    cJSON_AddNumberToObject(to, "perfect", (double)k->perfect);
    cJSON_AddNumberToObject(to, "permutations", k->permutations);
    cJSON_AddBoolToObject(to, "exact", k->exact);
    cJSON_AddStringToObject(to, "p_maps", o->one_minus_p ? "1-p" : "p");
    cli_print(cli, "%-14s %s\n", "effect", effect);
    if (c->group[1])
        cli_print(cli, "%-14s %d: %d %s, %d %s\n", "subjects", r->subjects, c->count[0], c->group[0],
                  c->count[1], c->group[1]);
    else
        cli_print(cli, "%-14s %d\n", "subjects", r->subjects);
    cli_print(cli, "%-14s %d\n", "freedom", k->dof);
    cli_print(cli, "%-14s %zu tested of %zu; left out: %zu constant, %zu not finite", "voxels", k->tested,
              k->asked, k->constant, k->not_finite);
    if (k->perfect)
        cli_print(cli, ", %zu fitted perfectly", k->perfect);
    cli_print(cli, "\n");
    cli_print(cli, "%-14s %d, %s\n", "permutations", k->permutations,
              k->exact ? "exhaustive" : "at random");
    report_map(cli, "t", &k->t, &r->map[0]->grid);
    if (o->tfce)
        report_map(cli, "tfce", &k->tfce, &r->map[0]->grid);
    if (k->perfect)
        cli_remark(
            cli, 0,
            "%zu voxel%s not tested: the design fits the values there without a residual, as those of masks, "
            "and t would be infinite\n",
            k->perfect, k->perfect == 1 ? " is" : "s are");
    if (k->permutations < 20)
        cli_remark(cli, 0,
                   "with %d permutations no p can be below %.2g: more needs more subjects or a larger "
                   "--permutations\n",
                   k->permutations, 1. / k->permutations);
}

static int write(command *cli, const cli_stats_request *r, const clvox_stats_result *k)
{
    int status = CLVOX_OK;
    clvox_results outputs = {.count = 0};
    const clvox_volume *const made[MAPS] = {k->t.statistic,    k->t.p,    k->t.p_fwe,
                                            k->tfce.statistic, k->tfce.p, k->tfce.p_fwe};
    for (int i = 0; i < MAPS; i++)
        if (made[i])
            CLI_TRY(clvox_results_volume(&outputs, made[i], r->prefix, map_ends[i]));
    CLI_TRY(cli_results_write(cli, &outputs, false));
end:
    clvox_results_free(&outputs);
    return status;
}

/* ---- the run ------------------------------------------------------------- */

static void log_options(command *cli, const cli_stats_request *r, const clvox_stats_options *o)
{
    cJSON *to = cJSON_AddObjectToObject(cli->log, "options");
    clvox_record_fields(to, clvox_stats_table(), o);
    cJSON_AddStringToObject(to, "test", r->test);
    cJSON *names = cJSON_AddArrayToObject(to, "covariates");
    for (int c = 1; c <= r->covariates; c++)
        cJSON_AddItemToArray(names, cJSON_CreateString(r->column[c].name));
}

static int run(command *cli, cli_stats_request *r, clvox_stats_options *o)
{
    int status = CLVOX_OK;
    const char *names[CLI_STATS_COVARIATES + 1];
    char *path = NULL, effect[512];
    clvox_stats_result result = {.dof = 0};
    cli_bar bar;
    CLI_TRY(claim(cli, r, o->tfce));
    if (r->list)
        CLI_TRY(cli_stats_read_list(r));
    CLI_TRY(cli_stats_load(cli, r));
    CLI_TRY(cli_claims_check(cli));
    for (int c = 0; c <= r->covariates; c++)
        names[c] = c || !r->of_mean ? r->column[c].name : "the mean";
    const clvox_stats_design design = {.subjects = r->subjects,
                                       .tested = r->of_mean ? NULL : r->values,
                                       .covariate_count = r->covariates,
                                       .covariates = r->covariates ? r->values + r->subjects : NULL,
                                       .names = names};
    log_options(cli, r, o);
    CLI_TRY(cli_open(cli));
    cli_bar_begin(&bar, cli);
    o->progress = cli_bar_stage;
    o->user = &bar;
    status = clvox_stats(cli->ctx, (const clvox_volume *const *)r->map, r->maps, &design, r->mask_volume, o,
                         &result);
    cli_bar_end(&bar);
    if (status == CLVOX_ERROR_DATA && r->list)
        clvox_fail_in(status, r->list);
    if (status < 0)
        goto end;
    say_effect(r, o, effect, sizeof effect);
    report(cli, r, o, &result, effect);
    CLI_TRY(write(cli, r, &result));
    if (r->report)
        CLI_TRY(cli_stats_page(cli, r, o, &result, effect));
    CLI_TRY(cli_profile(cli));
    if (asprintf(&path, "%s.json", r->prefix) < 0) {
        path = NULL;
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLI_TRY(cli_write_log(cli, path));
end:
    free(path);
    clvox_stats_result_destroy(&result);
    return status;
}

int cmd_stats(command *cli, int argc, char **argv)
{
    cli_stats_request r = {.list = NULL};
    clvox_stats_options o;
    const char *covariates = NULL, *given[CLVOX_MAX_OPTIONS] = {NULL};
    const cli_option options[] = {
        {"list", 0, CLI_TEXT, &r.list, "FILE.tsv",
         "table of subjects with columns image, that of --test, and covariates", .basic = true},
        {"image", 'i', CLI_TEXT, &r.image, "FILE", "the maps as one 4-D file, in the order of the table",
         .basic = true},
        {"test", 0, CLI_TEXT, &r.test, "COLUMN|mean",
         "tested column: two values are groups, numbers a regression", .basic = true},
        {"covariates", 0, CLI_TEXT, &covariates, "COLUMN,...",
         "columns of nuisance covariates: numbers, or two words", .basic = true},
        {"mask", 0, CLI_TEXT, &r.mask, "FILE", "test where this is above 0 (default: everywhere)",
         .basic = true},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files", .basic = true},
        {"report", 0, CLI_FLAG, &r.report, NULL,
         "also write PREFIX_report.html, one page to judge the result by in a browser", .basic = true},
        {"template", 0, CLI_TEXT, &r.template, "FILE",
         "image on which --report shows the maps (default: their mean)"},
        {0},
    };
    static const cli_subcommand words[] = {
        {"--entropy", "stats --entropy", cmd_stats_entropy},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .table = clvox_stats_table(),
        .given = given,
        .words = words,
    };
    char **rest;
    if (cli_has_word(argc, argv, "--entropy")) {
        cli->verb = words[0].verb;
        return cmd_stats_entropy(cli, argc, argv);
    }
    clvox_stats_defaults(&o);
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    if (!r.prefix)
        return cli_misuse("-o PREFIX is missing");
    if (!r.test)
        return cli_misuse("--test COLUMN is missing; --test mean tests the mean against 0");
    r.of_mean = !strcmp(r.test, "mean");
    if (!r.list && !r.image)
        return cli_misuse("the subjects are missing: give --list FILE.tsv%s", r.of_mean ? " or -i MAPS" : "");
    if (!r.list && (!r.of_mean || covariates))
        return cli_misuse("--test %s%s: its column is in a table, which --list FILE.tsv names", r.test,
                          covariates ? " and --covariates" : "");
    if (r.template && !r.report)
        return cli_misuse("--template belongs to --report");
    r.column[0].name = r.test;
    if (covariates)
        CLI_TRY(cli_stats_read_covariates(&r, covariates));
    if ((status = cli_settle_fields(clvox_stats_table(), given, &o)))
        goto end;
    status = run(cli, &r, &o);
end:
    cli_stats_free(&r);
    return status;
}
