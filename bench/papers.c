/* SPDX-License-Identifier: Apache-2.0 */
/* The papers' own comparisons on today's device. */
#include <string.h>

#include "bench_table.h"
#include "op/force.h"

static int column(char *out, size_t room, int value)
{
    return value < 0 ? snprintf(out, room, "unknown") : snprintf(out, room, "%d", value);
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
} forms[] = {
    {"recompute", run_recompute, &clv_entry_force_recompute, "-DPENALTY=1"},
    {"reuse", run_reuse, &clv_entry_force_reuse, "-DPENALTY=1"},
    {"capped", run_capped, &clv_entry_force_capped, "-DPENALTY=1"},
    {"two-pass", run_twopass, &clv_entry_force_divergence, "-DTWOPASS=1"},
};

/* One variant and tile of a form: resources of its kernel beside its time. */
static int print_form(bench_data *data, const struct form *form, const clv_kernel *k, double seconds,
                      double ceiling, double *best, FILE *out, cJSON *rows)
{
    bench_time time;
    char registers[16], spills[16], groups[16], occupancy[16] = "unknown";
    int status = bench_measure(data, form->run, seconds, &time);
    if (status < 0)
        return status;
    column(registers, sizeof registers, k->registers);
    column(spills, sizeof spills, k->spills);
    column(groups, sizeof groups, k->resources.groups);
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    double share = 32. * data->n / time.median / ceiling;
    fprintf(out, "%-10s %-10s %3dx%dx%d,%-3d %9s %7s %8d %8s %9s %-14s %9.3f %7.1f%% %8.0f\n", form->name,
            k->variant->name, k->tile.x, k->tile.y, k->tile.z, k->tile.march, registers, spills,
            k->local_bytes, groups, occupancy, k->resources.limit[0] ? k->resources.limit : "unknown",
            1e3 * time.median, 100 * share, 158e-9 * data->n / time.median);
    fflush(out);
    if (time.median < *best || *best == 0)
        *best = time.median;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "form", form->name);
    cJSON_AddStringToObject(row, "kernel", k->label);
    cJSON_AddNumberToObject(row, "registers", k->registers);
    cJSON_AddNumberToObject(row, "local_bytes", k->local_bytes);
    cJSON_AddNumberToObject(row, "occupancy", k->occupancy);
    cJSON_AddNumberToObject(row, "seconds", time.median);
    cJSON_AddItemToObject(row, "samples", cJSON_CreateDoubleArray(time.sample, time.samples));
    cJSON_AddItemToArray(rows, row);
    return CLVOX_OK;
}

int bench_lee2012(clvox_context *ctx, const int size[3], double seconds, FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    enum { FORMS = sizeof forms / sizeof *forms };
    double best[FORMS] = {0}, ceiling;
    bench_data data = {0};
    cJSON *rows = cJSON_AddArrayToObject(json, "lee2012");
    CLV_TRY(bench_data_create(ctx, size, &data));
    CLV_TRY(bench_ceiling(&data, seconds, &ceiling));
    fprintf(out,
            "Lee et al. 2012, table 1 and figure 1: the unbiased force by form, %dx%dx%d, on %s.\n"
            "The paper, GTX 480: recompute 63 registers, 8640 B, 1 work-group of 32x16; recompute (capped)\n"
            "35 registers, 4364 B, 2 of 32x10; reuse 24 registers, 49152 B, 1 of 32x16, three times as fast\n"
            "as recompute and six times as fast as capped, 11 to 16 GFLOPS (158 operations a voxel).\n\n",
            size[0], size[1], size[2], clvox_context_limits(ctx)->name);
    fprintf(out, "%-10s %-10s %-12s %9s %7s %8s %8s %9s %-14s %9s %8s %8s\n", "form", "variant", "tile",
            "registers", "spills", "local B", "groups", "occupancy", "limited by", "ms", "of copy", "GFLOPS");
    for (int f = 0; f < FORMS; f++) {
        const clv_entry *entry = forms[f].vary;
        for (int v = 0; v < entry->count; v++)
            for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
                const clv_kernel *kernel;
                if (!clv_variant_runs(clvox_context_limits(ctx), &entry->variants[v],
                                      entry->variants[v].tiles[t], 0))
                    continue;
                CLV_TRY(clv_force_variant(ctx, entry->name, entry->variants[v].name, t));
                status = clv_kernel_get(ctx, entry, forms[f].build, size, 0, &kernel);
                if (status == CLVOX_ERROR_DEVICE) {
                    fprintf(out, "%-10s %s\n", forms[f].name, clvox_message());
                    status = CLVOX_OK;
                    continue;
                }
                if (status < 0)
                    goto end;
                CLV_TRY(print_form(&data, &forms[f], kernel, seconds, ceiling, &best[f], out, rows));
            }
        CLV_TRY(clv_force_variant(ctx, entry->name, NULL, -1));
    }
    if (best[0] > 0 && best[1] > 0)
        fprintf(out, "\nReuse is %.2f times as fast as recompute here (3 in the paper): the conclusion %s.\n",
                best[0] / best[1], best[0] > best[1] ? "holds" : "does not hold");
end:
    bench_data_release(&data);
    return status;
}
