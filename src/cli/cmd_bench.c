/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "bench_table.h"
#include "cli/cli.h"

int cmd_bench(command *cli, int argc, char **argv)
{
    cli_numbers size = {.count = 0};
    double seconds = 0.3;
    bool variants = false;
    const cli_option options[] = {
        {"size", 0, CLI_NUMBERS, &size, "NXxNYxNZ", "voxels of the volume (default: 256 on a GPU, 128 on a CPU)"},
        {"seconds", 0, CLI_NUMBER, &seconds, "S", "samples of each row are taken for so long (default 0.3)"},
        {"variants", 0, CLI_FLAG, &variants, NULL, "also every variant and tile of every kernel"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    const cli_usage usage = {
        .synopsis = "[NAME... | pipelines | nlm | papers [PAPER] | compare FILE...] [options]",
        .about = "Times the operations whose name contains NAME (default: all) against the device's measured\n"
                 "copy bandwidth. Bytes are those that must move: each input read once, each output\n"
                 "written once. The median of the samples counts; spread is (largest - smallest) / median.\n"
                 "`pipelines` times a whole registration by stage.\n"
                 "`nlm` times the search for the nearest patches of surfaces' bands.\n"
                 "`papers lee2012` prints the paper's tables for this device: forms of the force, memories of\n"
                 "the patch search; `papers moazeni2009` descent of tensors by how blocks wait for one another.",
        .example = "  clvox bench\n  clvox bench force gaussian --size 192x224x192 --variants --json bench.json",
        .options = options,
        .most = 32,
    };
    if (argc > 1 && !strcmp(argv[1], "compare")) {
        cli->verb = "bench compare";
        return cmd_bench_compare(cli, argc - 1, argv + 1);
    }
    char **names;
    int count, status = cli_parse(cli, &usage, argc, argv, &names, &count);
    if (status)
        return status;
    CLV_TRY(cli_open(cli));
    int voxels[3];
    for (int i = 0; i < 3; i++) {
        int edge = clvox_context_limits(cli->ctx)->type == CLVOX_DEVICE_CPU ? 128 : 256;
        voxels[i] = size.count ? (int)size.value[size.count == 3 ? i : 0] : edge;
        if (voxels[i] < 4 || voxels[i] > 2048)
            return cli_misuse("--size: 4 to 2048 voxels along an axis are possible");
    }
    FILE *out = cli->json && !strcmp(cli->json, "-") ? stderr : stdout;
    if (count && !strcmp(names[0], "papers")) {
        bool lee = count == 1 || !strcmp(names[1], "lee2012");
        if (count > 2 || (!lee && strcmp(names[1], "moazeni2009")))
            return cli_misuse("bench papers: lee2012 and moazeni2009 are the papers whose tables can be printed");
        if (lee) {
            CLV_TRY(bench_lee2012(cli->ctx, voxels, seconds, out, cli->log));
            CLV_TRY(bench_lee2012_nlm(cli->ctx, seconds, out, cli->log));
        } else {
            CLV_TRY(bench_moazeni2009(cli->ctx, voxels, seconds, out, cli->log));
        }
    } else if (count == 1 && !strcmp(names[0], "nlm")) {
        CLV_TRY(bench_nlm(cli->ctx, seconds, variants, out, cli->log));
    } else if (count == 1 && !strcmp(names[0], "pipelines")) {
        CLV_TRY(bench_pipelines(cli->ctx, voxels, out, cli->log));
    } else {
        CLV_TRY(bench_kernels(cli->ctx, voxels, seconds, (const char *const *)names, count, variants, out,
                              cli->log));
    }
end:
    return status;
}
