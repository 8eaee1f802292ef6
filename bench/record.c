/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/record.h"

#include <string.h>

#include "runtime/runtime.h"
#include "runtime/program/source.h"

static void put_number(cJSON *to, const char *name, double value)
{
    if (value > 0)
        cJSON_AddNumberToObject(to, name, value);
}

static void put_text(cJSON *to, const char *name, const char *text)
{
    if (text && *text)
        cJSON_AddStringToObject(to, name, text);
}

/* Quantile of sorted values (share 0.25: the first quartile), linear between them. */
static double quantile(const double *sorted, int count, double share)
{
    double at = share * (count - 1);
    int below = (int)at, above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void record_add_sample(record_samples *s, double value)
{
    double sorted[RECORD_SAMPLES];
    if (s->count == RECORD_SAMPLES)
        return;
    s->sample[s->count++] = value;
    for (int i = 0; i < s->count; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > s->sample[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = s->sample[i];
    }
    s->median = quantile(sorted, s->count, 0.5);
    double between = quantile(sorted, s->count, 0.75) - quantile(sorted, s->count, 0.25);
    s->spread = s->median > 0 ? between / s->median : 0;
}

void record_begin(cJSON *log, const clvox_device_limits *limits)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator"};
    cJSON *device = cJSON_GetObjectItemCaseSensitive(log, "device");
    char sources[17];
    cJSON_AddNumberToObject(log, "schema", RECORD_SCHEMA);
    if (clv_sources_version(sources) >= 0)
        cJSON_AddStringToObject(log, "sources", sources);
    cJSON_AddStringToObject(device, "type", types[limits->type]);
    cJSON_AddNumberToObject(device, "compute_units", limits->compute_units);
    cJSON_AddNumberToObject(device, "clock_mhz", limits->clock_mhz);
    cJSON_AddNumberToObject(device, "global_bytes", (double)limits->global_bytes);
    cJSON_AddNumberToObject(device, "local_bytes", (double)limits->local_bytes);
    cJSON_AddArrayToObject(log, "ceilings");
    cJSON_AddArrayToObject(log, "rows");
}

void record_ceiling(cJSON *log, const char *name, const char *unit, const record_samples *samples)
{
    cJSON *ceiling = cJSON_CreateObject();
    cJSON_AddStringToObject(ceiling, "name", name);
    cJSON_AddStringToObject(ceiling, "unit", unit);
    cJSON_AddNumberToObject(ceiling, "value", samples->median);
    cJSON_AddItemToObject(ceiling, "samples", cJSON_CreateDoubleArray(samples->sample, samples->count));
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(log, "ceilings"), ceiling);
}

void record_add(cJSON *log, const record_row *r)
{
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "group", r->group);
    cJSON_AddStringToObject(row, "name", r->name);
    cJSON_AddItemToObject(row, "size", cJSON_CreateIntArray(r->size, 3));
    put_text(row, "variant", r->variant);
    put_text(row, "tile", r->tile);
    cJSON_AddNumberToObject(row, "seconds", r->seconds->median);
    cJSON_AddNumberToObject(row, "spread", r->seconds->spread);
    cJSON_AddItemToObject(row, "samples", cJSON_CreateDoubleArray(r->seconds->sample, r->seconds->count));
    put_number(row, "device_seconds", r->device_seconds);
    put_number(row, "bytes", r->bytes);
    put_number(row, "operations", r->operations);
    put_number(row, "reads", r->reads);
    put_text(row, "ceiling", r->ceiling);
    put_number(row, "share", r->share);
    put_number(row, "registers", r->registers);
    put_number(row, "occupancy", r->occupancy);
    put_text(row, "limit", r->limit);
    cJSON_AddBoolToObject(row, "verified", r->verified);
    put_text(row, "remark", r->remark);
    if (r->paper) {
        cJSON *paper = cJSON_AddObjectToObject(row, "paper");
        put_number(paper, "value", r->paper->value);
        cJSON_AddNumberToObject(paper, "here", r->paper->here);
        cJSON_AddStringToObject(paper, "unit", r->paper->unit);
        cJSON_AddStringToObject(paper, "device", r->paper->device);
        cJSON_AddStringToObject(paper, "conclusion", r->paper->conclusion);
        cJSON_AddBoolToObject(paper, "holds", r->paper->holds);
    }
    cJSON_AddItemToArray(cJSON_GetObjectItemCaseSensitive(log, "rows"), row);
}
