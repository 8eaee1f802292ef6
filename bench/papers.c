/* SPDX-License-Identifier: Apache-2.0 */
/* Lee et al. 2012: the forms of the unbiased force on today's device. */
#include <stdlib.h>
#include <string.h>

#include "bench_table.h"
#include "op/force.h"

enum { FORMS = 4, MOST = FORMS * CLV_MAX_TILES * 4 };

static void column(char *out, size_t room, int value)
{
    if (value < 0)
        snprintf(out, room, "unknown");
    else
        snprintf(out, room, "%d", value);
}

static int run_recompute(bench_data *d)
{
    return bench_force(d, CLV_FORCE_RECOMPUTE);
}

static int run_reuse(bench_data *d)
{
    return bench_force(d, CLV_FORCE_REUSE);
}

static int run_capped(bench_data *d)
{
    return bench_force(d, CLV_FORCE_CAPPED);
}

static int run_twopass(bench_data *d)
{
    return bench_force(d, CLV_FORCE_TWOPASS);
}

static const struct form {
    const char *name;
    int (*run)(bench_data *);
    const clv_entry *vary;
    const char *build; /* with penalty, without mask */
    /* The paper's figure beside recompute, and what it concludes; NULL: nothing. */
    double figure;
    const char *conclusion;
    bool faster; /* than recompute, by that conclusion */
} forms[FORMS] = {
    {"recompute", run_recompute, &clv_entry_force_recompute, "-DPENALTY=1", 0, NULL, false},
    {"reuse", run_reuse, &clv_entry_force_reuse, "-DPENALTY=1", 3,
     "computing each product once and keeping it in local memory is faster than computing it again", true},
    {"capped", run_capped, &clv_entry_force_capped, "-DPENALTY=1", 0.5,
     "fewer registers for more work-groups make recomputing slower", false},
    {"two-pass", run_twopass, &clv_entry_force_divergence, "-DTWOPASS=1", 0, NULL, false},
};

/* One variant and tile of a form. */
typedef struct result {
    const struct form *form;
    bench_time time;
} result;

static int call_form(void *what)
{
    void **both = what;
    return ((const struct form *)both[0])->run(both[1]);
}

/* Resources of the kernel beside its time. */
static int measure(bench_run *run, bench_data *data, const struct form *form, const clv_kernel *k,
                   result *out)
{
    char registers[16], spills[16], groups[16], occupancy[16] = "unknown", label[48];
    void *both[] = {(void *)form, data};
    snprintf(label, sizeof label, "force %s", form->name);
    const bench_row row = {.name = label, .run = form->run, .check = bench_check_force};
    int status = bench_verify(run->ctx, &row, label);
    if (status >= 0)
        status = bench_measure(run, call_form, both, form->vary->name, &out->time);
    if (status < 0)
        return status;
    out->form = form;
    out->time.kernel = k;
    column(registers, sizeof registers, k->registers);
    column(spills, sizeof spills, k->spills);
    column(groups, sizeof groups, k->resources.groups);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    double median = out->time.seconds.median;
    fprintf(run->out, "%-10s %-10s %3dx%dx%d,%-3d %9s %7s %8d %8s %9s %-14s %9.3f %7.1f%% %8.0f\n",
            form->name, k->variant->name, k->tile.x, k->tile.y, k->tile.z, k->tile.march, registers, spills,
            k->local_bytes, groups, occupancy, k->resources.limit[0] ? k->resources.limit : "unknown",
            1e3 * median, 100 * 32. * data->n / median / run->copy, 158e-9 * data->n / median);
    fflush(run->out);
    return CLVOX_OK;
}

static const result *best_of(const result *results, int count, const struct form *form)
{
    const result *best = NULL;
    for (int i = 0; i < count; i++)
        if (results[i].form == form && (!best || results[i].time.seconds.median < best->time.seconds.median))
            best = &results[i];
    return best;
}

/* The paper stands beside the best tile of each form. */
static void record(bench_run *run, const result *results, int count)
{
    const result *recompute = best_of(results, count, &forms[0]);
    for (int i = 0; i < count; i++) {
        const struct form *form = results[i].form;
        double voxels = (double)run->size[0] * run->size[1] * run->size[2];
        char tile[32], name[48];
        record_paper paper = {.value = form->figure,
                              .unit = "times as fast as recompute",
                              .device = "GTX 480",
                              .conclusion = form->conclusion};
        record_row row = {.group = "lee2012",
                          .name = name,
                          .size = {run->size[0], run->size[1], run->size[2]},
                          .bytes = 32 * voxels,
                          .operations = 158 * voxels,
                          .verified = true};
        snprintf(name, sizeof name, "force %s", form->name);
        bench_complete(run, &results[i].time, &row, tile);
        if (form->conclusion && recompute && &results[i] == best_of(results, count, form)) {
            double faster = recompute->time.seconds.median / row.seconds->median;
            paper.here = faster;
            paper.holds = form->faster ? bench_slower(&recompute->time.seconds, row.seconds)
                                       : bench_slower(row.seconds, &recompute->time.seconds);
            row.paper = &paper;
            fprintf(run->out, "\n%s is %.2f times as fast as recompute here (%g in the paper): that %s %s.\n",
                    form->name, faster, form->figure, form->conclusion,
                    paper.holds ? "holds" : "does not hold");
        }
        record_add(run->log, &row);
    }
}

/* Every variant and tile of a form that runs here. */
static int measure_form(bench_run *run, bench_data *data, const struct form *form, result *results,
                        int *count)
{
    int status = CLVOX_OK;
    const clv_entry *entry = form->vary;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x && *count < MOST; t++) {
            const clv_kernel *kernel;
            if (!clv_variant_runs(clvox_context_limits(run->ctx), &entry->variants[v],
                                  entry->variants[v].tiles[t], 0))
                continue;
            CLV_TRY(clv_force_variant(run->ctx, entry->name, entry->variants[v].name, t));
            status = clv_kernel_get(run->ctx, entry, form->build, run->size, 0, &kernel);
            if (status == CLVOX_ERROR_DEVICE) {
                fprintf(run->out, "%-10s %s\n", form->name, clvox_message());
                status = CLVOX_OK;
                continue;
            }
            if (status < 0)
                goto end;
            CLV_TRY(measure(run, data, form, kernel, &results[*count]));
            ++*count;
        }
end:
    if (clv_force_variant(run->ctx, entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

int bench_lee2012(bench_run *run)
{
    int status = CLVOX_OK, count = 0;
    bench_data data = {0};
    result *results = calloc(MOST, sizeof *results);
    if (!results)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's results");
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_data_create(run->ctx, run->size, false, &data));
    fprintf(run->out,
            "Lee et al. 2012, table 1 and figure 1: the unbiased force by form, %dx%dx%d, on %s.\n"
            "The paper, GTX 480: recompute 63 registers, 8640 B, 1 work-group of 32x16; recompute (capped)\n"
            "35 registers, 4364 B, 2 of 32x10; reuse 24 registers, 49152 B, 1 of 32x16, three times as fast\n"
            "as recompute and six times as fast as capped, 11 to 16 GFLOPS (158 operations a voxel).\n\n",
            run->size[0], run->size[1], run->size[2], clvox_context_limits(run->ctx)->name);
    fprintf(run->out, "%-10s %-10s %-12s %9s %7s %8s %8s %9s %-14s %9s %8s %8s\n", "form", "variant", "tile",
            "registers", "spills", "local B", "groups", "occupancy", "limited by", "ms", "of copy", "GFLOPS");
    for (int f = 0; f < FORMS; f++)
        CLV_TRY(measure_form(run, &data, &forms[f], results, &count));
    record(run, results, count);
end:
    free(results);
    bench_data_release(&data);
    return status;
}
