/* SPDX-License-Identifier: Apache-2.0 */
/* register --list: the list is the library's, words and progress are here. */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_register/pair.h"
#include "clvox/files.h"

static const char *heard(void *user, int at)
{
    (void)user;
    return cli_heard(at);
}

/* Whether several of these fit into a CPU's memory as a rule; one alone would have a part of the cores. */
static bool take_little(const clvox_register_options *o)
{
    return o->deform != CLVOX_DEFORM_LDDMM && o->deform != CLVOX_DEFORM_SHOOTING && !(o->mind_weight > 0);
}

/* The first pair, as if it were typed. */
static cli_register_request first_of(const cli_register_request *r, const clvox_pair *one)
{
    cli_register_request out = *r;
    out.fixed = (cli_texts){{one->fixed}, 1};
    out.moving = (cli_texts){{one->moving}, 1};
    out.weight[0] = 1;
    out.prefix = r->derivatives ? NULL : one->output;
    out.fixed_mask = one->fixed_mask;
    out.moving_mask = one->moving_mask;
    out.labels = one->labels;
    return out;
}

/* The files of the whole run. */
static int claim(command *cli, const cli_register_request *r, const clvox_pairs *pairs)
{
    int status = CLVOX_OK;
    if (r->dry_run)
        return CLVOX_OK;
    if (!r->summary)
        CLI_TRY(cli_claim_output(cli, "output", pairs->summary));
    CLI_TRY(clvox_folders_make(pairs->summary));
    if (pairs->page) {
        CLI_TRY(cli_claim_output(cli, "report", pairs->page));
        CLI_TRY(clvox_folders_make(pairs->page));
    }
    status = cli_claims_check(cli);
end:
    return status;
}

/* Opens the devices and registers. */
static int run(command *cli, const cli_register_request *r, clvox_pairs *pairs, clvox_pairs_options *o)
{
    int status = CLVOX_OK;
    cli_bar bar;
    char *head = NULL;
    const cli_register_request first = first_of(r, pairs->pair);
    cli_pair_warm(cli, &first, o->registration);
    CLI_TRY(cli_open_all(cli, r->at_once, CLI_MOST_AT_ONCE, take_little(o->registration)));
    cli_keep_memory(cli);
    head = cJSON_PrintUnformatted(cli->log);
    cli->more[0] = cli->ctx; /* with the others, for the call */
    o->head = head;
    o->user = &bar;
    cli_bar_begin(&bar, cli);
    status = clvox_register_list(pairs, o, cli->more, cli->more_count);
    cli_bar_end(&bar);
    cli->more[0] = NULL;
end:
    cJSON_free(head);
    return status;
}

/* The files of the pairs that wait. */
static void list_files(command *cli, const clvox_pairs *pairs)
{
    cJSON *plan = cJSON_AddObjectToObject(cli->log, "plan");
    for (int i = 0; i < pairs->count; i++)
        for (int k = 0; pairs->pair[i].state == CLVOX_PAIR_WAITING && k < pairs->pair[i].files; k++)
            cli_plan_file(cli, pairs->pair[i].file[k], plan);
}

/* Says what became of them. */
static void tell(command *cli, const clvox_pairs *pairs)
{
    int count[CLVOX_PAIR_FAILED + 1] = {0};
    for (int i = 0; i < pairs->count; i++)
        count[pairs->pair[i].state]++;
    if (pairs->summary_written)
        cli_log_output(cli, pairs->summary);
    if (pairs->page_written)
        cli_log_output(cli, pairs->page);
    cli_tell_rows(cli, "pairs", count);
}

int cli_register_list(command *cli, const cli_register_request *r, const clvox_register_options *registration,
                      const clvox_pair *rows, int count, clvox_pairs **out)
{
    int status = CLVOX_OK;
    char message[2048];
    clvox_pairs *pairs = NULL;
    clvox_pairs_options o = {.size = sizeof o,
                             .registration = registration,
                             .given = r->given,
                             .preset = cli_preset_name(&r->presets),
                             .folder = r->prefix,
                             .derivatives = r->derivatives,
                             .space = r->space,
                             .summary = r->summary,
                             .fixed_mask = r->fixed_mask,
                             .moving_mask = r->moving_mask,
                             .labels = r->labels,
                             .linear_fixed_mask = r->linear_fixed_mask,
                             .linear_moving_mask = r->linear_moving_mask,
                             .initial_warp = r->initial_warp,
                             .no_picture = r->no_picture,
                             .report = r->report,
                             .strict = r->strict,
                             .no_clobber = cli->no_clobber,
                             .jobs = r->jobs,
                             .dry_run = r->dry_run,
                             .shard = r->shard,
                             .shards = r->shards,
                             .any_device = r->any_device,
                             .names = r->names,
                             .boundary = r->boundary.item,
                             .boundaries = r->boundary.count,
                             .boundary_label = r->boundary_labels,
                             .boundary_labels = r->boundary_label_count,
                             .boundary_contrast = (clvox_boundary_contrast)r->boundary_contrast,
                             .boundary_lps = r->frames == CLI_FRAME_LPS,
                             .heard = heard,
                             .log = cli_bar_hear,
                             .progress = cli_bar_stage};
    for (int k = 0; k < registration->levels; k++) {
        o.level_fixed_mask[k] = r->level_masks[0].item[k];
        o.level_moving_mask[k] = r->level_masks[1].item[k];
    }
    CLI_TRY(rows ? clvox_pairs_make(rows, count, &o, &pairs) : clvox_pairs_read(r->list, &o, &pairs));
    if (!pairs->count) {
        cli_remark(cli, 0, "plan     no pair is in shard %d of %d\n", r->shard, r->shards);
        goto end;
    }
    CLI_TRY(claim(cli, r, pairs));
    status = run(cli, r, pairs, &o);
    if (status == CLVOX_ERROR_STOPPED || (status < 0 && !pairs->summary_written && !clvox_files_full()))
        goto end;
    if (r->dry_run) {
        list_files(cli, pairs);
        goto end;
    }
    snprintf(message, sizeof message, "%s", clvox_message());
    tell(cli, pairs);
    const int profiled = cli_profile(cli);
    status = status < 0 ? clvox_fail((clvox_status)status, "%s", message) : profiled;
end:
    if (out)
        *out = pairs;
    else
        clvox_pairs_destroy(&pairs);
    return status;
}
