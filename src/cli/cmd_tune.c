/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cli.h"
#include "runtime/wisdom.h"
#include "tune.h"

static void tell(void *user, double share, const char *what)
{
    cli_bar *bar = user;
    if (cli_bar_due(bar, share))
        cli_bar_show(bar, share, what);
}

int cmd_tune(command *cli, int argc, char **argv)
{
    cli_numbers size = {.count = 0};
    cli_texts kernels = {.count = 0};
    double seconds = 0.1;
    bool all = false;
    const cli_option options[] = {
        {"kernel", 0, CLI_REPEAT, &kernels, "NAME", "only this kernel of `clvox devices -v`; may be repeated"},
        {"size", 0, CLI_NUMBERS, &size, "NXxNYxNZ",
         "voxels of the volume (default: a brain, 182x218x182 on a GPU, 91x109x91 on a CPU)"},
        {"seconds", 0, CLI_NUMBER, &seconds, "S", "samples of each candidate are taken for so long (default 0.1)"},
        {"all", 0, CLI_FLAG, &all, NULL, "measure also variants that the planner never takes; none is kept"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    const cli_usage usage = {
        .synopsis = "[--kernel NAME] [options]",
        .about = "Times the variants and tiles among which the planner chooses for this device, checks that\n"
                 "they compute the same, and keeps the fastest for each kernel as wisdom, which every verb then\n"
                 "goes by. What was measured is kept at once, so that Ctrl-C loses nothing; --no-wisdom measures\n"
                 "and keeps nothing. The file is CLVOX_WISDOM, else ~/.cache/clvox-wisdom.json. It holds for\n"
                 "this device, driver and version of the kernels; others are passed over. The best tile may\n"
                 "depend on the volume: a further run with another --size adds to what is kept, for volumes to\n"
                 "2^20 voxels, to 2^23, and above; one that was not measured goes by the nearest.\n"
                 "The table says how far the planner's own choice is from the best: loss is its time over that\n"
                 "of the best. Tune on a quiet machine.",
        .example = "  clvox tune\n  clvox tune --kernel smooth --kernel lncc_terms --size 192x224x192 --json tune.json",
        .options = options,
    };
    char **rest;
    int unused, status = cli_parse(cli, &usage, argc, argv, &rest, &unused);
    if (status)
        return status;
    bool profile = cli->profile, keep = !cli->no_wisdom;
    char *path = keep ? clv_wisdom_path() : NULL;
    cli_bar bar = {0};
    if (keep && !path) {
        status = clv_fail(CLVOX_ERROR_FILE, "there is no place for what is measured; name a file in CLVOX_WISDOM, "
                                            "or give --no-wisdom to keep nothing");
        goto end;
    }
    cli->profile = true; /* for the device's own clock */
    cli->no_wisdom = true; /* the planner's own choice is what is measured against */
    status = cli_open(cli);
    cli->profile = profile;
    CLV_TRY(status);
    tune_options tune = {.seconds = seconds, .kernels = kernels.item, .count = kernels.count, .all = all,
                         .path = path, .stop = cli_interrupted, .tell = tell, .user = &bar};
    for (int i = 0; i < 3; i++) {
        static const int brain[2][3] = {{182, 218, 182}, {91, 109, 91}};
        bool cpu = clvox_context_limits(cli->ctx)->type == CLVOX_DEVICE_CPU;
        tune.size[i] = size.count ? (int)size.value[size.count == 3 ? i : 0] : brain[cpu][i];
        if (tune.size[i] < 4 || tune.size[i] > 2048) {
            status = cli_misuse("--size: 4 to 2048 voxels along an axis are possible");
            goto end;
        }
    }
    FILE *out = cli->json && !strcmp(cli->json, "-") ? stderr : stdout;
    cli_bar_begin(&bar, cli);
    status = bench_tune(cli->ctx, &tune, out, cli->log);
    cli_bar_end(&bar);
    if (path && status >= 0)
        cli_remark(cli, 0, "wisdom: %s\n", path);
    if (path && status == CLVOX_ERROR_STOPPED)
        cli_remark(cli, 0, "what was measured is kept in %s\n", path);
    if (cli->json && status == CLVOX_ERROR_STOPPED && cli_write_log(cli, cli->json) == CLVOX_OK)
        cli_remark(cli, 0, "and logged in %s\n", cli->json);
end:
    free(path);
    return status;
}
