/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and brain mask of a head from many atlases. An atlas that cannot be read or registered is named and
 * left out. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/bar.h"
#include "cli/page.h"
#include "clvox/command/derivative.h"
#include "clvox/command/label_names.h"
#include "clvox/command/record.h"
#include "clvox/command/segment.h"
#include "clvox/files.h"

typedef struct request {
    const char *head, *atlases, *names, *prefix, *derivatives, *list, *summary, *part;
    const char *given[CLVOX_MAX_OPTIONS];
    int jobs, at_once, shard, shards; /* shards 0: all heads */
    clvox_segment_options options;
} request;

/* ---- one head ----------------------------------------------------------------- */

static int name_files(command *cli, request *r, const clvox_labelled_list *atlases, clvox_segment_names *n)
{
    int status = CLVOX_OK;
    for (int i = 0; i < atlases->count; i++)
        for (int k = 0; k < CLVOX_LABELLED_FILES; k++)
            if (atlases->atlas[i].file[k])
                CLI_TRY(cli_claim_input(cli, atlases->atlas[i].file[k]));
    CLI_TRY(clvox_segment_names_make(r->head, r->prefix, r->derivatives,
                                     atlases->atlas[0].file[CLVOX_LABELLED_LABELS] != NULL, n));
    if (r->derivatives) {
        CLI_TRY(clvox_derivative_check(r->derivatives, r->head));
        status = cli_claim_files(cli, n->prefix, n->ends, n->end[CLVOX_SEGMENT_LOG]);
    } else {
        CLI_TRY(cli_claim_prefix(cli, &r->prefix, n->ends));
        snprintf(n->prefix, sizeof n->prefix, "%s", r->prefix);
    }
end:
    return status;
}

static void print_result(command *cli, const clvox_segment_work *w)
{
    const cJSON *one;
    const clvox_segment_result *r = &w->result;
    cJSON_ArrayForEach(one, cJSON_GetObjectItem(cli->log, "atlases")) {
        const cJSON *ncc = cJSON_GetObjectItem(one, "ncc");
        if (cJSON_IsNumber(ncc))
            cli_remark(cli, 0, "atlas    %s: NCC %.3f\n",
                       clvox_page_name(cJSON_GetObjectItem(one, "image")->valuestring), ncc->valuedouble);
    }
    cli_print(cli, "%-24s %d\n", "atlases", r->atlases);
    if (r->labels)
        cli_print(cli, "%-24s %d\n", "labels", w->labels);
    cli_print(cli, "%-24s %.1f ml\n", "brain", w->brain_ml);
    cli_print(cli, "%-24s %.2f registering, %.2f fusing\n", "seconds", r->seconds_register, r->seconds_fuse);
}

static int write_files(command *cli, const request *r, const clvox_segment_names *n, clvox_segment_work *w)
{
    int status = CLVOX_OK;
    char path[2 * PATH_MAX];
    CLI_TRY(clvox_segment_gather(w, n, r->head));
    CLI_TRY(cli_results_write(cli, &w->outputs, false));
    if (r->derivatives)
        CLI_TRY(clvox_derivative_describe(r->derivatives));
    snprintf(path, sizeof path, "%s%s", n->prefix, n->end[CLVOX_SEGMENT_PAGE]);
    CLI_TRY(clvox_segment_page(w, &r->options, r->head, cli->log, path));
    cli_log_output(cli, path);
    CLI_TRY(cli_profile(cli));
    snprintf(path, sizeof path, "%s%s", n->prefix, n->end[CLVOX_SEGMENT_LOG]);
    status = cli_write_log(cli, path);
end:
    return status;
}

static int label_one(command *cli, request *r)
{
    int status = CLVOX_OK;
    clvox_labelled_list *atlases = NULL;
    clvox_segment_work w = {.names = r->names};
    cli_bar bar;
    clvox_segment_names *names = malloc(sizeof *names);
    if (!names)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLI_TRY(clvox_labelled_read(r->atlases, &atlases));
    if (r->names)
        CLI_TRY(cli_claim_input(cli, r->names));
    if (r->names)
        CLI_TRY(clvox_label_names_check(r->names));
    CLI_TRY(name_files(cli, r, atlases, names));
    CLI_TRY(cli_load(cli, &(cli_input){r->head, &w.head, 0}, 1, NULL, NULL, true));
    cli_bar_begin(&bar, cli);
    r->options.progress = cli_bar_stage;
    r->options.user = &bar;
    status = clvox_segment_solve(cli->ctx, &r->options, atlases, r->head, &w, cli->log,
                                 &(clvox_hearer){cli_bar_hear, &bar});
    cli_bar_end(&bar);
    CLI_TRY(status);
    print_result(cli, &w);
    status = write_files(cli, r, names, &w);
end:
    free(names);
    clvox_labelled_destroy(&atlases);
    clvox_segment_work_free(&w);
    return status;
}

/* ---- many ---------------------------------------------------------------------- */

/* Says what became of them. */
static void tell(command *cli, const clvox_segment_rows *rows)
{
    int count[CLVOX_PAIR_FAILED + 1] = {0};
    for (int i = 0; i < rows->count; i++)
        count[rows->row[i].state]++;
    if (rows->summary_written)
        cli_log_output(cli, rows->summary);
    cli_tell_rows(cli, "heads", count);
}

static int label_list(command *cli, request *r)
{
    int status = CLVOX_OK;
    char message[2048], *head = NULL;
    cli_bar bar;
    clvox_segment_rows *rows = NULL;
    clvox_segment_list_options o = {.size = sizeof o, .segment = &r->options, .atlases = r->atlases,
                                    .names = r->names, .folder = r->prefix, .derivatives = r->derivatives,
                                    .summary = r->summary, .no_clobber = cli->no_clobber, .jobs = r->jobs,
                                    .shard = r->shard, .shards = r->shards,
                                    .log = cli_bar_hear, .progress = cli_bar_stage, .user = &bar};
    CLI_TRY(clvox_segment_rows_read(r->list, &o, &rows));
    if (!rows->count) {
        cli_remark(cli, 0, "plan     no head is in shard %d of %d\n", r->shard, r->shards);
        goto end;
    }
    if (!r->summary)
        CLI_TRY(cli_claim_output(cli, "output", rows->summary));
    CLI_TRY(clvox_folders_make(rows->summary));
    CLI_TRY(cli_claims_check(cli));
    CLI_TRY(cli_open_all(cli, r->at_once, CLI_MOST_AT_ONCE, true));
    cli_keep_memory(cli);
    head = cJSON_PrintUnformatted(cli->log);
    o.head = head;
    cli->more[0] = cli->ctx; /* with the others, for the call */
    cli_bar_begin(&bar, cli);
    status = clvox_segment_list(rows, &o, cli->more, cli->more_count);
    cli_bar_end(&bar);
    cli->more[0] = NULL;
    if (status == CLVOX_ERROR_STOPPED || (status < 0 && !rows->summary_written && !clvox_files_full()))
        goto end;
    snprintf(message, sizeof message, "%s", clvox_message());
    tell(cli, rows);
    const int profiled = cli_profile(cli);
    status = status < 0 ? clvox_fail((clvox_status)status, "%s", message) : profiled;
end:
    cJSON_free(head);
    clvox_segment_rows_destroy(&rows);
    return status;
}

/* ---- the command line ------------------------------------------------------------ */

int cmd_segment(command *cli, int argc, char **argv)
{
    request r = {.head = NULL};
    const cli_option options[] = {
        {"image", 'i', CLI_TEXT, &r.head, "HEAD", "the head", .basic = true},
        {"atlases", 0, CLI_TEXT, &r.atlases, "LIST",
         "table of the atlases: columns image, labels and, if there are, mask", .basic = true},
        {"names", 0, CLI_TEXT, &r.names, "TABLE",
         "names of the labels: columns label (or index), name",
         .basic = true},
        {"output", 'o', CLI_PREFIX, &r.prefix, "PREFIX", "prefix of the output files", .basic = true},
        {"bids-derivatives", 0, CLI_FOLDER, &r.derivatives, "DIR",
         "instead of -o: write into this folder of BIDS derivatives, under names made from the head's",
         .basic = true},
        {"list", 0, CLI_TEXT, &r.list, "HEADS.tsv",
         "many heads instead: a table with columns image and output; -o is the folder of the outputs",
         CLVOX_GROUP_MANY, .basic = true},
        {"summary", 0, CLI_OUT, &r.summary, "FILE.tsv",
         "one row per head (default: summary.tsv in the folder of -o)", CLVOX_GROUP_MANY, .needs = "list"},
        {"jobs", 0, CLI_INTEGER, &r.jobs, "N",
         "heads written at once beside each that is labelled, while the next ones are read (default: "
         "--threads, up to 4)",
         CLVOX_GROUP_MANY, .needs = "list"},
        {"at-once", 0, CLI_INTEGER, &r.at_once, "N",
         CLI_AT_ONCE_HELP("4" CLI_AT_ONCE_GPU "; on a CPU one for each core and 4 GB, up to 4; else 1"),
         CLVOX_GROUP_MANY, .needs = "list"},
        {"shard", 0, CLI_TEXT, &r.part, "I/N",
         "only part I of N parts of the heads, for jobs of a cluster; all of them see the same list",
         CLVOX_GROUP_MANY, .needs = "list"},
        {0},
    };
    const cli_usage usage = {
        .options = options, .table = clvox_segment_table(), .given = r.given, .devices = true};
    char **words;
    int count, status;
    clvox_segment_defaults(&r.options);
    status = cli_parse(cli, &usage, argc, argv, &words, &count);
    if (status)
        return status;
    if (r.list && r.head)
        return cli_misuse("--list names the heads: leave out -i");
    if (r.jobs > CLI_MOST_JOBS)
        return cli_misuse("--jobs %d: at most %d", r.jobs, CLI_MOST_JOBS);
    if (r.at_once > CLI_MOST_AT_ONCE)
        return cli_misuse("--at-once %d: at most %d", r.at_once, CLI_MOST_AT_ONCE);
    if ((!r.head && !r.list) || !r.atlases)
        return cli_misuse("%s is missing", r.head || r.list ? "--atlases LIST" : "-i HEAD");
    if (!r.prefix == !r.derivatives)
        return cli_misuse(r.prefix ? "-o and --bids-derivatives: one of them"
                          : r.list ? "-o DIR is missing"
                                   : "-o PREFIX is missing");
    if ((status = cli_read_shard(r.part, &r.shard, &r.shards)) ||
        (status = cli_settle_fields(clvox_segment_table(), r.given, &r.options)))
        return status;
    return r.list ? label_list(cli, &r) : label_one(cli, &r);
}
