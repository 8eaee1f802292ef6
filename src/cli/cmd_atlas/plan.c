/* SPDX-License-Identifier: Apache-2.0 */
/* Prediction of a template's cost: a few subjects go through the steps on the devices, and the rest is extrapolated. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bar.h"
#include "cli/cmd_atlas/atlas.h"

enum { MOST_PLANS = 16 };

typedef struct measured {
    const cli_atlas_request *r;
    cli_bar bar;
    cli_atlas_maps maps;
    clvox_atlas_costs costs;
} measured;

static int show(void *user, const clvox_step *step)
{
    measured *m = user;
    return cli_bar_stage(&m->bar, step);
}

static int take_map(void *user, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    measured *m = user;
    return cli_atlas_maps_take(&m->maps, ctx, at, subject, map);
}

/* The next rounds may be of other subjects, and of another grid: they have maps of their own. */
static int settle(void *user)
{
    measured *m = user;
    const int status = cli_atlas_maps_wait(&m->maps);
    cli_atlas_maps_end(&m->maps);
    cli_atlas_maps_begin(&m->maps, m->r, true);
    return status;
}

static int measure(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                   const clvox_atlas_options *asked, measured *m)
{
    clvox_atlas_options o = *asked;
    for (int c = 1; c < r->channels; c++)
        o.further_start[c - 1] = r->start[c];
    o.more = cli->more + 1;
    o.more_count = cli->more_count - 1;
    o.map = take_map;
    o.progress = show;
    o.user = m;
    m->r = r;
    m->costs.at_once = cli->at_once;
    cli_bar_begin(&m->bar, cli);
    cli_atlas_maps_begin(&m->maps, r, true);
    const int status = clvox_atlas_measure(cli->ctx, subjects, r->count, r->start[0], &o, settle, &m->costs);
    cli_atlas_maps_end(&m->maps);
    cli_bar_end(&m->bar);
    return status;
}

/* ---- telling ------------------------------------------------------------- */

const char *const cli_atlas_works[CLVOX_ATLAS_WORKS] = {
    "first linear registration",
    "linear registration",
    "deformable registration",
    "image through its map",
    "maps moved by the mean",
    "labels through its map",
    "mean map",
    "mean image",
    "exponential of the mean map",
    "length of its map",
    "maps handed over",
    "scaling and placing",
    "mean map, once",
    "likeness",
    "maps on their way",
    "idle meanwhile, registering",
    "idle meanwhile, after that",
};

static const char *duration(double seconds, char out[32])
{
    if (seconds < 10)
        snprintf(out, 32, "%.2g s", seconds);
    else if (seconds < 100)
        snprintf(out, 32, "%.0f s", seconds);
    else if (seconds < 6000)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else
        snprintf(out, 32, "%.1f h", seconds / 3600);
    return out;
}

static void tell(const command *cli, cJSON *to, const clvox_atlas_plan *e, double alone)
{
    char text[4][32];
    const double efficiency = alone / e->all / e->devices;
    cJSON *row = cJSON_CreateObject();
    cJSON_AddNumberToObject(row, "devices", e->devices);
    cJSON_AddNumberToObject(row, "processes", e->processes);
    cJSON_AddNumberToObject(row, "subjects", e->subjects);
    cJSON_AddNumberToObject(row, "subjects_a_device", ceil((double)e->subjects / e->devices));
    cJSON_AddNumberToObject(row, "seconds", e->all);
    cJSON_AddNumberToObject(row, "efficiency", efficiency);
    cJSON_AddNumberToObject(row, "host_bytes", e->host_bytes);
    cJSON_AddNumberToObject(row, "disk_bytes", e->disk_bytes);
    cJSON *parts = cJSON_AddObjectToObject(row, "parts");
    cJSON_AddNumberToObject(parts, "reading", e->reading);
    cJSON_AddNumberToObject(parts, "opening", e->opening);
    cJSON_AddNumberToObject(parts, "once", e->once);
    cJSON_AddNumberToObject(parts, "linear", e->linear);
    cJSON_AddNumberToObject(parts, "deformable", e->deformable);
    cJSON_AddNumberToObject(parts, "centring", e->centring);
    cJSON_AddNumberToObject(parts, "averaging", e->averaging);
    cJSON_AddNumberToObject(parts, "waiting", e->waiting);
    cJSON_AddNumberToObject(parts, "writing", e->writing);
    cJSON_AddItemToArray(to, row);
    cli_print(cli, "%7d %9d %8d %11.0f %12s %9s %9s %9s %5.0f%%\n", e->devices, e->processes, e->subjects,
              ceil((double)e->subjects / e->devices), cli_bytes(e->host_bytes, text[0]),
              e->disk_bytes > 0 ? cli_bytes(e->disk_bytes, text[3]) : "0", duration(e->reading, text[1]),
              duration(e->all, text[2]), 100 * efficiency);
}

static void tell_speeds(const command *cli, const cli_atlas_request *r, cJSON *to, const measured *m)
{
    char text[32];
    for (int k = 0; k < CLVOX_ATLAS_WORKS; k++)
        if (m->costs.work[k] > 1e-6 && k < CLVOX_ATLAS_PASSING) { /* less: there is nothing of it to do */
            cli_print(cli, "%-28s %s\n", cli_atlas_works[k], duration(m->costs.work[k], text));
            cJSON_AddNumberToObject(to, cli_atlas_works[k], m->costs.work[k]);
        }
    cli_print(cli, "%-28s %s\n", "files", duration(m->costs.writing, text));
    cli_print(cli, "%-28s %s\n", "devices, once", duration(r->open_seconds, text));
    cJSON_AddNumberToObject(to, "devices", r->open_seconds);
    if (m->costs.once > 0)
        cli_print(cli, "%-28s %s\n", "kernels, once", duration(m->costs.once, text));
    cJSON_AddNumberToObject(to, "files", m->costs.writing);
}

/* "8,64,256" */
static int read_counts(const char *text, int out[MOST_PLANS])
{
    int count = 0;
    for (const char *at = text; at && *at; count++) {
        char *end;
        const long value = strtol(at, &end, 10);
        if (count == MOST_PLANS || end == at || value < 1 || value > 1 << 20 || (*end && *end != ',') ||
            (*end && !end[1]))
            return cli_misuse(
                "--plan-devices %s: up to %d whole numbers from 1 with commas between them are needed", text,
                MOST_PLANS);
        out[count] = (int)value;
        at = *end ? end + 1 : end;
    }
    return count;
}

/* Takes what a run does beside the steps, and predicts one of so many devices and processes. */
static clvox_atlas_plan predict(const cli_atlas_request *r, const clvox_atlas_options *o, const measured *m,
                                const double *covariate, int devices, int processes)
{
    clvox_atlas_costs costs = m->costs;
    clvox_atlas_plan e = {.devices = devices,
                          .processes = processes,
                          .subjects = r->plan_subjects > 0 ? r->plan_subjects : r->count};
    const clvox_atlas_regression along = {
        .covariate = covariate, .at = r->at, .count = r->ats, .bandwidth = r->bandwidth};
    costs.reading = r->read_seconds / r->count;
    costs.opening = r->open_seconds;
    costs.writers = cli_atlas_writers(r, &costs.file_bytes);
    costs.warps = r->warps;
    costs.labels = r->with_labels;
    costs.limit = (double)r->limit;
    clvox_atlas_predict(&costs, o, r->ats ? &along : NULL, r->count, &e);
    return e;
}

int cli_atlas_plan(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                   const clvox_atlas_options *o)
{
    int status = CLVOX_OK, wanted[MOST_PLANS];
    const int plans = read_counts(r->plan_devices, wanted);
    char text[2][32], beside[32] = "";
    measured *m = calloc(1, sizeof *m);
    double *covariate = calloc((size_t)r->count, sizeof *covariate);
    CLI_TRY(plans);
    if (!m || !covariate) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < r->count; i++)
        covariate[i] = r->entry[i].file->covariate;
    CLI_TRY(measure(cli, r, subjects, o, m));
    const clvox_atlas_plan alone = predict(r, o, m, covariate, 1, 1);
    clvox_atlas_plan e = predict(r, o, m, covariate, cli_devices(cli), 1);
    cJSON *result = cJSON_AddObjectToObject(cli->log, "plan");
    if (m->costs.at_once > 1)
        snprintf(beside, sizeof beside, ", %d at once", m->costs.at_once);
    cli_print(cli, "seconds of a subject on %s%s, measured:\n", clvox_context_limits(cli->ctx)->name, beside);
    cJSON_AddNumberToObject(result, "at_once", m->costs.at_once);
    tell_speeds(cli, r, cJSON_AddObjectToObject(result, "seconds_a_subject"), m);
    cJSON_AddNumberToObject(result, "device_bytes", (double)m->costs.device_bytes);
    cJSON_AddNumberToObject(result, "state_bytes_a_subject", e.state_bytes);
    cli_print(cli, "%-28s %s; of DIR/state %s a subject on disk\n\n", "device memory",
              cli_bytes((double)m->costs.device_bytes, text[0]), cli_bytes(e.state_bytes, text[1]));
    cli_print(cli, "%7s %9s %8s %11s %12s %9s %9s %9s %6s\n", "devices", "processes", "subjects",
              "of a device", "host memory", "on disk", "reading", "all", "of one");
    cJSON *rows = cJSON_AddArrayToObject(result, "plans");
    tell(cli, rows, &e, alone.all);
    for (int i = 0; i < plans; i++) {
        e = predict(r, o, m, covariate, wanted[i], wanted[i]);
        tell(cli, rows, &e, alone.all);
    }
end:
    free(covariate);
    free(m);
    return status;
}
