/* SPDX-License-Identifier: Apache-2.0 */
/* apply --list: the list is the library's, words and progress are here. */
#include "cli/bar.h"
#include "cli/cmd_apply/apply.h"
#include "clvox/files.h"

/* No file of the list is that of --json or --summary, and --no-clobber keeps what is there. */
static int claim(command *cli, const clvox_apply_rows *rows)
{
    int status = CLVOX_OK;
    for (int i = 0; i < rows->count; i++) {
        const clvox_apply_row *one = &rows->row[i];
        CLI_TRY(cli_claim_input(cli, one->input));
        CLI_TRY(cli_claim_input(cli, one->reference));
        for (int k = 0; k < one->transforms; k++)
            CLI_TRY(cli_claim_input(cli, one->transform[k]));
        CLI_TRY(cli_claim_output(cli, "list", one->output));
        CLI_TRY(clvox_folders_make(one->output));
    }
    status = cli_claims_check(cli);
end:
    return status;
}

/* Says what became of them. */
static void tell(command *cli, const clvox_apply_rows *rows, const char *summary)
{
    int count[CLVOX_PAIR_FAILED + 1] = {0};
    for (int i = 0; i < rows->count; i++) {
        count[rows->row[i].state]++;
        if (rows->row[i].state == CLVOX_PAIR_DONE)
            cli_log_output(cli, rows->row[i].output);
    }
    if (rows->summary_written)
        cli_log_output(cli, summary);
    cli_tell_rows(cli, "images", count);
}

int cli_apply_list(command *cli, const char *list, clvox_apply_list_options *o)
{
    int status = CLVOX_OK;
    cli_bar bar;
    clvox_apply_rows *rows = NULL;
    CLI_TRY(clvox_apply_rows_read(list, o, &rows));
    CLI_TRY(claim(cli, rows));
    CLI_TRY(cli_open(cli));
    o->log = cli_bar_hear;
    o->progress = cli_bar_stage;
    o->user = &bar;
    cli_bar_begin(&bar, cli);
    status = clvox_apply_list_logged(rows, o, cli->ctx, cli->log);
    cli_bar_end(&bar);
    tell(cli, rows, o->summary);
end:
    clvox_apply_rows_destroy(&rows);
    return status;
}
