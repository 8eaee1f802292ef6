/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_table.h"
#include "cli/cli.h"
#include "runtime/queue/timing.h"

typedef struct request {
    const char *const *names;
    int count;
    bool sized; /* --size was given */
} request;

/* Names are kept for `bench kernels`: of the other words, none takes one. */
static int bench_all(bench_run *run, const request *r)
{
    int status = CLVOX_OK;
    CLV_TRY(bench_ceilings(run));
    CLV_TRY(bench_kernels(run, NULL, 0));
    fprintf(run->out, "\n");
    CLV_TRY(bench_nlm(run, true));
    fprintf(run->out, "\n");
    /* Pipelines take seconds where kernels take milliseconds. */
    if (!r->sized && clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU)
        for (int a = 0; a < 3; a++)
            run->size[a] = run->size[a] * 3 / 4;
    CLV_TRY(bench_pipelines(run));
end:
    return status;
}

static int bench_papers(bench_run *run, const request *r)
{
    static const struct {
        const char *name;
        int (*table[2])(bench_run *run);
    } papers[] = {
        {"lee2012", {bench_lee2012, bench_lee2012_nlm}},
        {"moazeni2009", {bench_moazeni2009, bench_moazeni2009_solvers}},
        {"ha2011", {bench_ha2011, bench_ha2011_streams}},
        {"mueller2008", {bench_mueller2008, NULL}},
    };
    enum { PAPERS = sizeof papers / sizeof *papers };
    int status = CLVOX_OK;
    bool known = r->count == 0;
    for (int p = 0; p < PAPERS; p++)
        known |= r->count == 1 && !strcmp(r->names[0], papers[p].name);
    if (!known)
        return cli_misuse("bench papers: the tables of lee2012, moazeni2009, ha2011 and mueller2008 can be "
                          "printed");
    for (int p = 0; p < PAPERS; p++)
        for (int t = 0; t < 2 && papers[p].table[t]; t++)
            if (r->count == 0 || !strcmp(r->names[0], papers[p].name))
                CLV_TRY(papers[p].table[t](run));
end:
    return status;
}

/* Each name must be of some operation; bench_kernels has the sentence for those that are not. */
static int check_names(const request *r)
{
    for (int i = 0; i < r->count; i++) {
        bool found = false;
        if (!r->names[i][0])
            return cli_misuse("bench: a name is empty");
        for (int f = 0; f < BENCH_FIELDS; f++)
            for (const bench_row *row = bench_fields[f]; row->name && !found; row++)
                found = strstr(row->name, r->names[i]) != NULL;
        if (!found)
            return bench_kernels(&(bench_run){.ctx = NULL}, &r->names[i], 1);
    }
    return CLVOX_OK;
}

static int bench_some(bench_run *run, const request *r)
{
    return bench_kernels(run, r->names, r->count);
}

static int only_ceilings(bench_run *run, const request *r)
{
    (void)r;
    return bench_ceilings(run);
}

static int only_pipelines(bench_run *run, const request *r)
{
    (void)r;
    return bench_pipelines(run);
}

static int only_nlm(bench_run *run, const request *r)
{
    (void)r;
    return bench_nlm(run, false);
}

static const struct part {
    const char *name;
    int (*run)(bench_run *run, const request *r);
    bool takes_names;
} parts[] = {
    {"ceilings", only_ceilings, false},
    {"kernels", bench_some, true},
    {"pipelines", only_pipelines, false},
    {"nlm", only_nlm, false},
    {"papers", bench_papers, true},
};

static int read_size(const clvox_numbers *asked, int voxels[3])
{
    if (!cli_whole_size(asked, 7, 2040, voxels))
        return cli_misuse("--size: voxels along an axis, as N or NxNxN, each a whole number from 7 to 2040");
    double all = (double)voxels[0] * voxels[1] * voxels[2];
    return all < 1e8 ? CLVOX_OK : cli_misuse("--size: at most 100 million voxels are possible");
}

/* 256 voxels along each axis on a GPU and 128 on a CPU, or as many as its memory lets be. */
static void choose_size(const clvox_device_limits *l, int voxels[3])
{
    double largest;
    for (int edge = l->type == CLVOX_DEVICE_CPU ? 128 : 256;; edge = edge * 3 / 4) {
        double bytes = bench_data_bytes(pow(edge, 3), &largest);
        voxels[0] = voxels[1] = voxels[2] = edge;
        if (edge <= 32 || ((!l->global_bytes || bytes < .5 * (double)l->global_bytes) &&
                           (!l->free_bytes || bytes < .8 * (double)l->free_bytes) &&
                           (!l->max_allocation || largest < (double)l->max_allocation)))
            return;
    }
}

/* Timers are switched on where they are read. Whether there are any shows when something was timed. */
static bool has_timers(command *cli)
{
    const clv_timing *unused;
    clv_buffer *buffer = NULL;
    bool there = clv_timings_switch(cli->ctx, true) >= 0 &&
                 clv_buffer_create(cli->ctx, 4, "bench data", &buffer) >= 0 &&
                 clv_buffer_fill(cli->ctx, buffer, 0, 0, 4) >= 0 && clv_timings(cli->ctx, &unused) > 0;
    clv_buffer_destroy(&buffer);
    clv_timings_switch(cli->ctx, false);
    if (!there) {
        static const char *const remark =
            "the device does not time its kernels: times are the wall clock's alone";
        cli_remark(cli, 0, "%s\n", remark);
        cJSON_AddItemToArray(cJSON_AddArrayToObject(cli->log, "remarks"), cJSON_CreateString(remark));
    }
    return there;
}

int cmd_bench(command *cli, int argc, char **argv)
{
    clvox_numbers size = {.count = 0};
    double seconds = 0.5;
    bool variants = false, whole = false;
    const cli_option options[] = {
        {"size", 0, CLI_NUMBERS, &size, "NXxNYxNZ",
         "voxels of the volume (default: 256 on a GPU, 128 on a CPU, "
         "less where memory is short)"},
        {"seconds", 0, CLI_NUMBER, &seconds, "S", "longest sampling time of a row (default 0.5)"},
        {"variants", 0, CLI_FLAG, &variants, NULL, "also every variant and tile of every kernel"},
        {"whole", 0, CLI_FLAG, &whole, NULL,
         "run flows on the full size instead of half of it along each side "
         "(256 along each: 15 GiB)"},
        {NULL, 0, 0, NULL, NULL, NULL},
    };
    static const cli_subcommand others[] = {
        {"compare", "bench compare", cmd_bench_compare},
        {0},
    };
    const cli_usage usage = {
        .options = options,
        .words = others,
        .most = 32,
    };
    if (argc > 1 && !strcmp(argv[1], others->name)) {
        cli->verb = others->verb;
        return others->run(cli, argc - 1, argv + 1);
    }
    char **names;
    int count, status = cli_parse(cli, &usage, argc, argv, &names, &count);
    if (status)
        return status;
    request r = {.names = (const char *const *)names, .count = count, .sized = size.count > 0};
    int (*part)(bench_run *, const request *) = count ? bench_some : bench_all;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (count && !strcmp(names[0], parts[i].name)) {
            part = parts[i].run;
            r.names++;
            r.count--;
            if (r.count && !parts[i].takes_names)
                return cli_misuse("bench %s takes no names", parts[i].name);
        }
    if (!(seconds >= 0))
        return cli_misuse("--seconds: 0 or more");
    int voxels[3];
    if (size.count)
        CLV_TRY(read_size(&size, voxels));
    if (part == bench_some)
        CLV_TRY(check_names(&r));
    if (cli->profile)
        cli_remark(cli, 0, "bench times kernels by itself; --profile adds nothing\n");
    cli->profile = false;
    CLV_TRY(cli_open(cli));
    if (!size.count)
        choose_size(clvox_context_limits(cli->ctx), voxels);
    bench_run run = {.ctx = cli->ctx, .seconds = seconds, .variants = variants, .whole = whole,
                     .log = cli->log,
                     .size = {voxels[0], voxels[1], voxels[2]},
                     .out = cli->json && !strcmp(cli->json, "-") ? stderr : stdout};
    record_begin(cli->log, clvox_context_limits(cli->ctx));
    run.timers = has_timers(cli);
    CLV_TRY(part(&run, &r));
end:
    return status;
}
