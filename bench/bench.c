/* SPDX-License-Identifier: Apache-2.0 */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "bench_table.h"

static const clv_entry *find_entry(const char *name)
{
    for (const clv_entry *const *e = clv_entries; *e; e++)
        if (!strcmp((*e)->name, name))
            return *e;
    return NULL;
}

static void print_heading(FILE *out)
{
    fprintf(out, "%-44s %9s %8s %7s %8s %7s\n", "operation", "ms", "spread", "B/voxel", "GB/s", "of copy");
}

static int measure_row(bench_data *data, const bench_row *row, const char *label, double seconds,
                       double ceiling, FILE *out, cJSON *json)
{
    bench_time time;
    int status = bench_measure(data, row->run, seconds, &time);
    if (status == CLVOX_ERROR_DEVICE) {
        /* A form this device cannot run is a fact about the device. */
        fprintf(out, "%-44s does not run here: %s\n", label, clvox_message());
        return CLVOX_OK;
    }
    if (status < 0)
        return status;
    double rate = row->bytes * data->n / time.median;
    fprintf(out, "%-44s %9.3f %7.1f%% %7.0f %8.1f %6.1f%%\n", label, 1e3 * time.median,
            100 * (time.high - time.low) / time.median, row->bytes, 1e-9 * rate, 100 * rate / ceiling);
    fflush(out);
    if (json) {
        cJSON *record = cJSON_CreateObject();
        cJSON_AddStringToObject(record, "name", label);
        cJSON_AddNumberToObject(record, "seconds", time.median);
        cJSON_AddNumberToObject(record, "bytes_per_voxel", row->bytes);
        cJSON_AddNumberToObject(record, "share_of_copy", rate / ceiling);
        cJSON_AddItemToObject(record, "samples", cJSON_CreateDoubleArray(time.sample, time.samples));
        cJSON_AddItemToArray(json, record);
    }
    return CLVOX_OK;
}

/* Every variant and tile of the row's entry in turn. */
static int measure_variants(bench_data *data, const bench_row *row, double seconds, double ceiling,
                            FILE *out, cJSON *json)
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
            if (!clv_variant_runs(clvox_context_limits(data->ctx), variant, tile, 0))
                continue;
            snprintf(label, sizeof label, "  %s/%s %dx%dx%d,%d", entry->name, variant->name, tile.x, tile.y,
                     tile.z, tile.march);
            CLV_TRY(clv_force_variant(data->ctx, entry->name, variant->name, t));
            CLV_TRY(measure_row(data, row, label, seconds, ceiling, out, json));
        }
end:
    if (clv_force_variant(data->ctx, entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

int bench_kernels(clvox_context *ctx, const int size[3], double seconds, const char *const *names,
                  int count, bool variants, FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    bench_data data = {0};
    double ceiling;
    CLV_TRY(bench_data_create(ctx, size, &data));
    CLV_TRY(bench_ceiling(&data, seconds, &ceiling));
    fprintf(out, "%s, %dx%dx%d; copy bandwidth (16-byte accesses) %.1f GB/s\n",
            clvox_context_limits(ctx)->name, size[0], size[1], size[2], 1e-9 * ceiling);
    print_heading(out);
    if (json) {
        cJSON_AddItemToObject(json, "size", cJSON_CreateIntArray(size, 3));
        cJSON_AddNumberToObject(json, "copy_bytes_per_second", ceiling);
    }
    cJSON *rows = json ? cJSON_AddArrayToObject(json, "kernels") : NULL;
    for (const bench_row *row = bench_rows; row->name; row++) {
        bool wanted = count == 0;
        for (int i = 0; i < count; i++)
            wanted |= strstr(row->name, names[i]) != NULL;
        if (!wanted)
            continue;
        CLV_TRY(measure_row(&data, row, row->name, seconds, ceiling, out, rows));
        if (variants)
            CLV_TRY(measure_variants(&data, row, seconds, ceiling, out, rows));
    }
end:
    bench_data_release(&data);
    return status;
}
