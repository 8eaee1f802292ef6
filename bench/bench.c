/* SPDX-License-Identifier: Apache-2.0 */
/* Operations: verified, timed, printed, recorded. */
#include "bench/bench.h"

#include <string.h>

#include "bench/bench_table.h"
#include "runtime/kernel/registry.h"

const bench_row *const bench_fields[BENCH_FIELDS] = {
    bench_rows_images, bench_rows_register, bench_rows_solvers, bench_rows_surface, bench_rows_tensor,
    bench_rows_sort,   bench_rows_anatomy,  bench_rows_flow,    bench_rows_epi,
    bench_rows_label};

enum { MOST_KERNELS = 1024 };

static const clv_entry *find_entry(const char *name)
{
    const clv_entry *entry;
    for (int i = 0; (entry = clv_entry_at(i)); i++)
        if (!strcmp(entry->name, name))
            return entry;
    return NULL;
}

static int call_row(void *what)
{
    void **both = what;
    return ((const bench_row *)both[0])->run(both[1]);
}

/* Kernels that the context was asked for. */
typedef struct kernel_list {
    int count;
    const clv_kernel *kernel[MOST_KERNELS];
} kernel_list;

static void list_kernels(clvox_context *ctx, kernel_list *out)
{
    clv_asked asked[MOST_KERNELS];
    out->count = clv_kernels_asked(ctx, asked, MOST_KERNELS);
    for (int i = 0; i < out->count; i++)
        out->kernel[i] = asked[i].kernel;
}

/* One of a that b has not; NULL: none. */
static const clv_kernel *first_other(const kernel_list *a, const kernel_list *b)
{
    for (int i = 0, k; i < a->count; i++) {
        for (k = 0; k < b->count && b->kernel[k] != a->kernel[i]; k++)
            ;
        if (k == b->count)
            return a->kernel[i];
    }
    return NULL;
}

/* The result is compared on small volumes, with the kernels for large ones. Should the timed run have
 * asked for yet another kernel, the row counts as not compared. */
static int measure_chosen(bench_run *run, bench_data *data, const bench_row *row, const char *label)
{
    char tile[32];
    bench_time time;
    kernel_list compared = {0}, timed = {0};
    record_row record = {.group = "kernels", .name = label,
                         .size = {data->size[0], data->size[1], data->size[2]}};
    void *both[] = {(void *)row, data};
    clv_kernels_as(run->ctx, data->size);
    int status = bench_verify(run->ctx, row, label);
    clv_kernels_as(run->ctx, NULL);
    list_kernels(run->ctx, &compared);
    if (status >= 0 && row->begin)
        status = row->begin(data);
    if (status >= 0)
        status = bench_measure(run, call_row, both, row->vary, &time);
    list_kernels(run->ctx, &timed);
    const clv_kernel *other = first_other(&timed, &compared);
    record.verified = !other;
    record.remark = other ? "not compared with the reference by all of its kernels" : NULL;
    if (status == CLVOX_ERROR_DEVICE) {
        /* A form this device cannot run is a fact about the device. */
        fprintf(run->out, "%-34s does not run here: %s\n", label, clvox_message());
        return CLVOX_OK;
    }
    if (status < 0)
        return status;
    if (row->size)
        row->size(data, record.size);
    double voxels = (double)record.size[0] * record.size[1] * record.size[2];
    record.bytes = row->bytes * voxels;
    record.operations = row->operations * voxels;
    record.reads = bench_reads_of(row->name) * voxels;
    bench_complete(run, &time, &record, tile);
    bench_line(run, label, &record);
    record_add(run->log, &record);
    return CLVOX_OK;
}

int bench_force_form(clvox_context *ctx, const bench_row *row, bool on)
{
    char entry[48];
    const char *slash = row->vary ? strchr(row->vary, '/') : NULL;
    if (!slash)
        return CLVOX_OK;
    snprintf(entry, sizeof entry, "%.*s", (int)(slash - row->vary), row->vary);
    return clv_force_variant(ctx, entry, on ? slash + 1 : NULL, -1);
}

static int measure_row(bench_run *run, bench_data *data, const bench_row *row, const char *label)
{
    char entry[48];
    int status = bench_force_form(run->ctx, row, true);
    bench_row own = *row;
    if (row->vary && strchr(row->vary, '/')) {
        snprintf(entry, sizeof entry, "%.*s", (int)strcspn(row->vary, "/"), row->vary);
        own.vary = entry;
    }
    if (status >= 0)
        status = measure_chosen(run, data, &own, label);
    if (bench_force_form(run->ctx, row, false) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

/* Every variant and tile of the row's entry in turn. */
static int measure_variants(bench_run *run, bench_data *data, const bench_row *row)
{
    int status = CLVOX_OK;
    const clv_entry *entry = row->vary ? find_entry(row->vary) : NULL;
    if (!entry)
        return CLVOX_OK;
    for (int v = 0; v < entry->count; v++)
        for (int t = 0; t < CLV_MAX_TILES && entry->variants[v].tiles[t].x; t++) {
            const clv_variant *variant = &entry->variants[v];
            clv_tile tile = variant->tiles[t];
            char label[64];
            if (!clv_variant_runs(clvox_context_limits(run->ctx), variant, tile, 0))
                continue;
            snprintf(label, sizeof label, "  %s/%s %dx%dx%d,%d", entry->name, variant->name, tile.x, tile.y,
                     tile.z, tile.march);
            CLV_TRY(clv_force_variant(run->ctx, entry->name, variant->name, t));
            CLV_TRY(measure_chosen(run, data, row, label));
        }
end:
    if (clv_force_variant(run->ctx, entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

static bool is_name(const char *name)
{
    for (int f = 0; f < BENCH_FIELDS; f++)
        for (const bench_row *row = bench_fields[f]; row->name; row++)
            if (!strcmp(row->name, name))
                return true;
    return false;
}

/* A name that is a row's own stands for that row alone, others for all that hold them. */
static bool wanted(const bench_row *row, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (is_name(names[i]) ? !strcmp(row->name, names[i]) : strstr(row->name, names[i]) != NULL)
            return true;
    return count == 0;
}

int bench_kernels(bench_run *run, const char *const *names, int count)
{
    int status = CLVOX_OK, rows = 0;
    bench_data data = {0};
    for (int f = 0; f < BENCH_FIELDS; f++)
        for (const bench_row *row = bench_fields[f]; row->name; row++)
            rows += wanted(row, names, count);
    if (rows == 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%s is in the name of no operation; `clvox bench kernels` times all of "
                          "them and shows their names",
                          names[0]);
    CLV_TRY(bench_limits(run));
    CLV_TRY(bench_data_create(run->ctx, run->size, false, &data));
    data.whole = run->whole;
    bench_heading(run, "operation");
    for (int f = 0; f < BENCH_FIELDS; f++)
        for (const bench_row *row = bench_fields[f]; row->name; row++) {
            if (!wanted(row, names, count))
                continue;
            CLV_TRY(measure_row(run, &data, row, row->name));
            if (run->variants)
                CLV_TRY(measure_variants(run, &data, row));
        }
end:
    bench_data_release(&data);
    return status;
}
