/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "runtime/plan/wisdom.h"
#include "bench/bench_table.h"
#include "bench/tune/tune.h"

static void tell(void *user, double share, const char *what)
{
    cli_bar *bar = user;
    if (cli_bar_due(bar, share))
        cli_bar_show(bar, share, what);
}

/* Nothing asked for leaves it. */
static int choose_size(const clvox_numbers *asked, int size[3])
{
    if (asked->count && !cli_whole_size(asked, 4, 2048, size))
        return cli_misuse("--size: voxels along an axis, as N or NxNxN, each a whole number from 4 to 2048");
    return CLVOX_OK;
}

/* Measurements before a failure are logged too; the failure stays the message. */
static void log_part(command *cli, int status)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", clvox_message());
    if (!cli->json || !cJSON_HasObjectItem(cli->log, "tune"))
        return;
    cJSON_AddStringToObject(cli->log, "error", why);
    if (cli_write_log(cli, cli->json) < 0)
        cli_remark(cli, 0, "%s\n", clvox_message());
    else if (strcmp(cli->json, "-") != 0)
        cli_remark(cli, 0, "what was measured is logged in %s\n", cli->json);
    clvox_fail(status, "%s", why);
}

int cmd_tune(command *cli, int argc, char **argv)
{
    clvox_numbers size = {.count = 0};
    cli_texts kernels = {.count = 0};
    double seconds = 0.1;
    bool all = false;
    const cli_option options[] = {
        {"kernel", 0, CLI_REPEAT, &kernels, "NAME",
         "only this kernel of `clvox devices -v`, or shape_sums; may be repeated"},
        {"size", 0, CLI_NUMBERS, &size, "NXxNYxNZ",
         "voxels of the volume (default: a brain, 182x218x182 on a GPU, 91x109x91 on a CPU)"},
        {"seconds", 0, CLI_NUMBER, &seconds, "S", "sampling time per candidate (default 0.1)"},
        {"all", 0, CLI_FLAG, &all, NULL, "measure also variants that the planner never takes; none is kept"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    const cli_usage usage = {
        .options = options,
    };
    char **rest;
    int unused, kept = 0, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    bool profile = cli->profile, keep = !cli->no_wisdom;
    char *path = keep ? clv_wisdom_path() : NULL, *remark = NULL;
    cli_bar bar = {0};
    tune_options tune = {.seconds = seconds, .kernels = kernels.item, .count = kernels.count, .all = all,
                         .path = path, .remark = &remark, .kept = &kept, .stop = cli_interrupted, .tell = tell, .user = &bar};
    status = choose_size(&size, tune.size);
    if (!status && keep && !path)
        status = clvox_fail(CLVOX_ERROR_FILE,
                            "there is no place for what is measured; name a file in CLVOX_WISDOM, "
                            "or give --no-wisdom to keep nothing");
    if (!status && path)
        status = clv_wisdom_writable(path);
    if (status < 0)
        goto end;
    cli->profile = true; /* for the device's own clock */
    cli->no_wisdom = true; /* the planner's own choice is what is measured against */
    status = cli_open(cli);
    cli->profile = profile;
    CLV_TRY(status);
    static const int brain[2][3] = {{182, 218, 182}, {91, 109, 91}};
    if (!size.count)
        memcpy(tune.size, brain[clvox_context_limits(cli->ctx)->type == CLVOX_DEVICE_CPU], sizeof tune.size);
    FILE *out = cli->json && !strcmp(cli->json, "-") ? stderr : stdout;
    cli_bar_begin(&bar, cli);
    status = bench_tune(cli->ctx, &tune, out, cli->log);
    cli_bar_end(&bar);
    if (remark)
        cli_remark(cli, 0, "%s\n", remark);
    if (path && status >= 0 && kept == 0)
        cli_remark(cli, 0, "nothing was kept: no kernel has a choice here\n");
    if (kept > 0)
        cli_remark(cli, 0, status < 0 ? "what was measured is kept in %s\n" : "wisdom: %s\n", path);
    if (status < 0)
        log_part(cli, status);
end:
    free(remark);
    free(path);
    return status;
}
