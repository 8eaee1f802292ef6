/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, figure 2.12: the sum of a volume over processes by MPI, as an atlas of several processes takes it,
 * on one machine. The processes are this program again, started by mpirun. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench_table.h"
#include "cli/team.h"

enum { SAMPLES = 5 };

/* ---- a member -------------------------------------------------------------- */

int bench_reduce_member(int argc, char **argv)
{
    command cli = {.verb = "bench"};
    const size_t count = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    int64_t *values = malloc((count + 1) * sizeof *values);
    int status = values ? cli_team_open(&cli) : CLVOX_ERROR_MEMORY;
    if (status >= 0 && !cli.team)
        status = CLVOX_ERROR_DEVICE;
    for (int k = 0; k <= SAMPLES && status >= 0; k++) {
        int64_t ready = 1;
        for (size_t i = 0; i < count; i++)
            values[i] = (int64_t)i * (cli.team->rank + 1);
        status = cli.team->sum(cli.team->user, &ready, 1);
        const double start = clv_seconds();
        if (status >= 0)
            status = cli.team->sum(cli.team->user, values, count);
        const double seconds = clv_seconds() - start;
        for (size_t i = 0; i < count && status >= 0; i++)
            if (values[i] != (int64_t)i * (cli.team->size * (cli.team->size + 1) / 2))
                status = CLVOX_ERROR_DATA;
        if (status >= 0 && cli.team->rank == 0 && k > 0) /* the first is to warm up */
            printf("%.9f\n", seconds);
    }
    if (cli.team)
        cli_team_close(&cli, status);
    free(values);
    return status >= 0 ? EXIT_SUCCESS : status == CLVOX_ERROR_DATA ? 3 : EXIT_FAILURE;
}

/* ---- the table ------------------------------------------------------------- */

/* Samples of so many processes; none where they do not run here. */
static int measure(const bench_run *run, const char *self, int processes, size_t count, record_samples *out)
{
    char line[4096 + 256];
    double seconds;
    snprintf(line, sizeof line,
             "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --mca btl "
             "self,vader -n %d "
             "'%s' " BENCH_REDUCE_MEMBER " %zu 2>/dev/null",
             processes, self, count);
    FILE *pipe = popen(line, "r");
    while (pipe && fgets(line, sizeof line, pipe))
        if (sscanf(line, "%lf", &seconds) == 1)
            record_add_sample(out, seconds);
    const int code = pipe ? pclose(pipe) : -1;
    if (code >= 0 && WIFEXITED(code) && WEXITSTATUS(code) == 3)
        return bench_wrong(run->ctx, "all-reduce", "a sum of %d processes is wrong", processes);
    if (code != 0)
        out->count = 0;
    return CLVOX_OK;
}

int bench_ha2011_reduce(bench_run *run)
{
    enum { COUNTS = 3 };
    static const int processes[COUNTS] = {2, 4, 8};
    int status = CLVOX_OK;
    char self[4096];
    record_samples found[COUNTS] = {{0}};
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    const size_t count = (size_t)run->size[0] * (size_t)run->size[1] * (size_t)run->size[2];
    const double bytes = 8 * (double)count;
    fprintf(run->out,
            "Figure 2.12: the sum of a volume of %dx%dx%d over processes of one machine by MPI's all-reduce, "
            "8 bytes a voxel (the\n"
            "thesis, Open MPI 1.3 on InfiniBand: proportional to the number of nodes; its numbers are not in "
            "the text)\n",
            run->size[0], run->size[1], run->size[2]);
    for (int i = 0; i < COUNTS; i++) {
        char name[64];
        CLV_TRY(measure(run, self, processes[i], count, &found[i]));
        if (!found[i].count) {
            fprintf(run->out,
                    "%d processes do not run here: this takes mpirun and a clvox that was built with Open "
                    "MPI\n\n",
                    processes[i]);
            return CLVOX_OK;
        }
        const double times = found[i].median / found[0].median;
        const record_paper paper = {.here = times,
                                    .device = "64 nodes",
                                    .unit = "times as long as two processes",
                                    .conclusion = "the time of all-reduce grows with the processes",
                                    .holds = bench_slower(&found[i], &found[0])};
        snprintf(name, sizeof name, "all-reduce, %d processes", processes[i]);
        const record_row row = {.group = "ha2011",
                                .name = name,
                                .verified = true,
                                .seconds = &found[i],
                                .size = {run->size[0], run->size[1], run->size[2]},
                                .paper = i + 1 == COUNTS ? &paper : NULL};
        record_add(run->log, &row);
        fprintf(run->out, "%-35s %10.3f ms %8.2f GB/s %8.2f%s\n", name, 1e3 * found[i].median,
                1e-9 * bytes / found[i].median, times,
                !row.paper    ? ""
                : paper.holds ? "  holds: it grows with the processes"
                              : "  does not hold: it grows with the processes");
        fflush(run->out);
    }
    fprintf(run->out, "\n");
end:
    return status;
}
