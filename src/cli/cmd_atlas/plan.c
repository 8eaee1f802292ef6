/* SPDX-License-Identifier: Apache-2.0 */
/* What a template will take: a few subjects go through the steps on the devices, and the rest is counted. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/bar.h"
#include "cli/cmd_atlas/atlas.h"
#include "clvox/threads.h"

/* SAMPLES: subjects that are measured; four times as many as are registered at once, where these are
 * several. STEPS: moves of maps in a round, as they mostly are. */
enum { SAMPLES = 3, MOST_SAMPLES = 256, STEPS = 2, MOST_TIMES = 1024, MOST_PLANS = 16 };

/* Bytes a second between processes, which nobody has measured here. */
static const double NETWORK = 1e10;

/* A regression leaves out subjects whose weight is below 1e-3 of the nearest one's: minus its logarithm. */
static const double LEAST_LOG = 6.907755278982137;

typedef struct measured {
    cli_bar bar;
    cli_atlas_maps maps;
    double time[CLVOX_ATLAS_WORKS][MOST_TIMES];
    int count[CLVOX_ATLAS_WORKS];
    double work[CLVOX_ATLAS_WORKS];           /* of one subject */
    double writing;                           /* its files */
    double between;                           /* of a round, besides all of these */
    double once;                              /* what each device does the first time: loading kernels */
    int at_once, contexts;                    /* on a device, and on all that were measured */
    size_t voxels, device_bytes;              /* of the template */
    size_t image_bytes, label_bytes;          /* of an image with its mask; of labels */
    size_t image_voxels;                      /* of the largest one */
    bool in_memory;                           /* the device is a CPU: what it holds lies there */
    double beside; /* most bytes of this process, without subjects' volumes and state */
} measured;

typedef struct expected {
    int devices, processes, subjects;
    double reading, opening, once, linear, deformable, centring, averaging, waiting, writing, all;
    double host_bytes, disk_bytes; /* of a process */
} expected;

/* ---- measuring ----------------------------------------------------------- */

static void note(void *user, clvox_atlas_work work, double seconds)
{
    measured *m = user;
    if (work == CLVOX_ATLAS_HAND_OVER)
        cli_atlas_maps_came(&m->maps, seconds);
    if (m->count[work] < MOST_TIMES)
        m->time[work][m->count[work]++] = seconds;
}

static int show(void *user, const clvox_step *step)
{
    measured *m = user;
    clvox_step shown = *step;
    shown.stage = "measuring";
    return cli_bar_stage(&m->bar, &shown);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *time, int count)
{
    qsort(time, (size_t)count, sizeof *time, ascending);
    return count ? time[(count - 1) / 2] : 0;
}

/* Without each device's first, which may have built kernels. */
static double mean(const double *time, int count, int first)
{
    double sum = 0;
    first = first < count ? first : 0;
    for (int i = first; i < count; i++)
        sum += time[i];
    return count ? sum / (count - first) : 0;
}

static int take_map(void *user, clvox_context *ctx, int at, int subject, clvox_atlas_map *map)
{
    measured *m = user;
    return cli_atlas_maps_take(&m->maps, ctx, at, subject, map);
}

/* A subject's share of work that a process does for all its subjects at once. */
static void divide(measured *m, int samples)
{
    const int threads = clvox_threads(),
              turns = (samples + threads - 1) / threads; /* of which each scales a subject */
    const int of[CLVOX_ATLAS_WORKS] = {[CLVOX_ATLAS_MEAN_IMAGE] = samples,
                                       [CLVOX_ATLAS_LIKENESS] = turns * threads,
                                       [CLVOX_ATLAS_GATHER] = turns * threads,
                                       [CLVOX_ATLAS_MEAN_MAP_ONCE] = 1,
                                       [CLVOX_ATLAS_EXPONENTIAL] = 1};
    for (int k = 0; k < CLVOX_ATLAS_WORKS; k++)
        m->work[k] =
            of[k] ? middle(m->time[k], m->count[k]) / of[k] : mean(m->time[k], m->count[k], m->contexts);
}

/* ---- counting ------------------------------------------------------------ */

/* The subjects that take part in a template, of the process that has most of them: the processes read the
 * list in turn. */
static double most_of(const cli_atlas_request *r, int at, const expected *e)
{
    double nearest = INFINITY, most = 0;
    for (int i = 0; i < r->count; i++)
        nearest = fmin(nearest, r->ats ? fabs(r->entry[i].file->covariate - r->at[at]) : 0);
    if (!r->ats || e->processes > r->count)
        return ceil((double)e->subjects / e->processes);
    for (int process = 0; process < e->processes; process++) {
        double own = 0;
        for (int i = process; i < r->count; i += e->processes) {
            const double d = fabs(r->entry[i].file->covariate - r->at[at]), h = r->bandwidth;
            own += (d - nearest) * (d + nearest) / h / h / 2 < LEAST_LOG;
        }
        most = fmax(most, own);
    }
    return ceil(most * e->subjects / r->count);
}

/* Rounds of a device's registrations that so many subjects of a process take. */
static double turns_of(const measured *m, const expected *e, double own)
{
    return ceil(own / ((double)e->devices / e->processes * m->at_once) - 1e-9);
}

/* Of the state, a round and up to three subjects on their way, or one that each registration fills. */
static double bytes_of_state(const clvox_atlas_options *o, const measured *m, const expected *e)
{
    const double contexts = (double)e->devices / e->processes * m->at_once;
    return o->registration.deform == CLVOX_DEFORM_NONE
               ? 0
               : (24 * fmax(contexts, 3) + 4. * o->channels) * (double)m->voxels;
}

/* What a process holds at most beside the subjects' volumes, which have `own` subjects: where it reads and
 * scales them, in rounds, where it hands maps over and where it writes them. */
static double bytes_beside(const cli_atlas_request *r, const clvox_atlas_options *o, const measured *m,
                           const expected *e, double own)
{
    enum { READ_TOGETHER = 8, WRITTEN = 4, MOVING = 12 * 12, PASSING = 3 * 12 };
    const bool deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    const double voxels = (double)m->voxels, contexts = (double)e->devices / e->processes * m->at_once,
                 threads = fmin(clvox_threads(), own), averages = 8. * o->channels;
    double scratch;
    const double scaling = (8 * threads + 4 * fmin(threads, READ_TOGETHER)) * (double)m->image_voxels;
    /* The mean map, and of a team the sum of all. */
    const double rounds = deforms ? (e->processes > 1 ? 24 : 12) : 0,
                 handing = deforms && r->warps ? 12 * contexts : 0;
    const double registering = (double)m->device_bytes + PASSING * voxels,
                 on_device = m->in_memory ? contexts * fmax(registering, deforms ? MOVING * voxels : 0) : 0;
    const double working =
        (averages + fmax(rounds, handing + 4)) * voxels + bytes_of_state(o, m, e) + on_device;
    const int writers = cli_atlas_writers(r, &scratch);
    const double files = (averages + 16 + (r->warps ? WRITTEN * writers : 0)) * voxels + scratch;
    return fmax(scaling, fmax(working, files));
}

/* Of the volumes of `own` subjects, and of the labels and averaged maps of all. */
static double bytes_of_subjects(const clvox_atlas_options *o, const measured *m, double own, double all)
{
    const bool deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    return (double)m->image_bytes * own + (double)m->label_bytes * all +
           (double)m->voxels * ((deforms ? 28 : 4) * own + (o->average == CLVOX_AVERAGE_MEAN ? 0 : 4) * all);
}

static void expect(const cli_atlas_request *r, const clvox_atlas_options *o, const measured *m, expected *e)
{
    const bool moves = o->registration.linear != CLVOX_LINEAR_NONE,
               deforms = o->registration.deform != CLVOX_DEFORM_NONE;
    const int linear = moves ? o->linear_rounds : 0, templates = r->ats ? r->ats : 1,
              rounds = deforms ? o->rounds : 0;
    const double all_own = ceil((double)e->subjects / e->processes), all_turns = turns_of(m, e, all_own);
    const double said =
        e->processes > 1 ? 2 * (double)m->voxels / NETWORK : 0; /* seconds a byte of each voxel */
    const double *work = m->work;
    e->reading = (r->read_seconds / r->count + work[CLVOX_ATLAS_GATHER]) * all_own;
    e->linear =
        linear ? all_turns * (work[CLVOX_ATLAS_FIRST_LINEAR] + (linear - 1) * work[CLVOX_ATLAS_LINEAR]) : 0;
    e->averaging = o->channels * (1 + linear) *
                   (all_turns * work[CLVOX_ATLAS_PULL] + all_own * work[CLVOX_ATLAS_MEAN_IMAGE] + 20 * said);
    e->deformable = e->centring = e->writing = 0;
    for (int at = 0; at < templates; at++) {
        const double own = most_of(r, at, e), turns = turns_of(m, e, own);
        e->deformable += turns * rounds * work[CLVOX_ATLAS_DEFORMABLE];
        e->centring += rounds * (turns * work[CLVOX_ATLAS_DISPLACEMENT] +
                                 STEPS * (turns * work[CLVOX_ATLAS_MOVE] + work[CLVOX_ATLAS_EXPONENTIAL]) +
                                 turns * work[CLVOX_ATLAS_MEAN_MAP] +
                                 (STEPS + 1) * (work[CLVOX_ATLAS_MEAN_MAP_ONCE] + 24 * said));
        e->averaging += o->channels * (rounds + (r->ats > 0)) * (turns * work[CLVOX_ATLAS_PULL] +
                                                   own * work[CLVOX_ATLAS_MEAN_IMAGE] + 20 * said) +
                        (o->until > 0 ? rounds : 1) * own * work[CLVOX_ATLAS_LIKENESS] +
                        (r->with_labels ? turns * work[CLVOX_ATLAS_VOTER] : 0);
        e->writing += own * m->writing;
    }
    e->opening = fmax(r->open_seconds - e->reading, 0); /* beside reading: what it takes longer */
    e->once = m->once;
    e->waiting = (linear + rounds * templates) * m->between;
    e->all = e->reading + e->opening + e->once + e->linear + e->deformable + e->centring + e->averaging +
             e->waiting + e->writing;
    const double kept = bytes_of_subjects(o, m, all_own, e->subjects),
                 within = r->store ? fmin(kept, (double)r->limit) : kept;
    e->host_bytes = within + fmax(bytes_beside(r, o, m, e, all_own),
                                  m->beside > 0 ? m->beside + bytes_of_state(o, m, e) : 0);
    e->disk_bytes = kept - within;
}

/* What subjects that went through the rounds take by what is known up to here, without their files. */
static double counted(const cli_atlas_request *given, const clvox_atlas_options *o, const measured *m,
                      int subjects)
{
    cli_atlas_request r = *given;
    measured known = *m;
    expected e = {.devices = m->contexts / m->at_once, .processes = 1, .subjects = subjects};
    r.ats = 0;
    r.read_seconds = r.open_seconds = 0;
    known.writing = 0;
    expect(&r, o, &known, &e);
    return e.all;
}

static int rounds_of(const clvox_atlas_options *o)
{
    return (o->registration.linear != CLVOX_LINEAR_NONE ? o->linear_rounds : 0) +
           (o->registration.deform != CLVOX_DEFORM_NONE ? o->rounds : 0);
}

/* What measuring took beyond its steps: waiting at the ends of rounds, and what is not timed. No more than a
 * quarter of them. */
static void find_between(const cli_atlas_request *r, const clvox_atlas_options *o, measured *m, int samples,
                         double seconds)
{
    const double known = counted(r, o, m, samples);
    m->between = rounds_of(o) ? fmin(fmax(seconds - known, 0), .25 * known) / rounds_of(o) : 0;
}

/* Takes subjects through the rounds; seconds: without the writing of their files, which begins with the
 * first map and is measured by m->maps. */
static int go_through(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                      int count, const clvox_atlas_options *o, measured *m, clvox_atlas_result *result,
                      double *seconds)
{
    int status = CLVOX_OK;
    const double mark = cli_seconds();
    cli_atlas_maps_begin(&m->maps, r, true);
    CLI_TRY(clvox_atlas(cli->ctx, subjects, count, r->start[0], o, result));
    CLI_TRY(cli_atlas_maps_wait(&m->maps));
    const double end = cli_seconds();
    *seconds = (m->maps.since > 0 ? m->maps.since : end) - mark;
    m->writing = m->maps.since > 0 ? (end - m->maps.since) / count : 0;
end:
    cli_atlas_maps_end(&m->maps);
    return status;
}

/* One subject for each device, once around: they build or load kernels. Their seconds. */
static int warm_up(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects, int count,
                   const clvox_atlas_options *o, measured *m, double *seconds)
{
    clvox_atlas_result result = {.average = NULL};
    const int status = go_through(cli, r, subjects, count, o, m, &result, seconds);
    clvox_atlas_result_destroy(&result);
    memset(m->count, 0, sizeof m->count);
    return status;
}

static int measure(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                   const clvox_atlas_options *asked, measured *m)
{
    int status = CLVOX_OK;
    const int several = m->contexts < MOST_SAMPLES / 4 ? 4 * m->contexts : MOST_SAMPLES,
              enough = m->contexts > 1 ? several : SAMPLES, samples = r->count < enough ? r->count : enough,
              first = m->contexts < samples ? m->contexts : samples;
    clvox_atlas_subject few[MOST_SAMPLES];
    clvox_atlas_options o = *asked;
    clvox_atlas_result result = {.average = NULL};
    double cold = 0, seconds;
    for (int i = 0; i < samples; i++)
        few[i] = subjects[(r->count - 1) * i / (samples > 1 ? samples - 1 : 1)];
    for (int c = 1; c < r->channels; c++)
        o.further_start[c - 1] = r->start[c];
    o.more = cli->more + 1;
    o.more_count = cli->more_count - 1;
    o.timed = note;
    o.map = take_map;
    o.progress = show;
    o.user = m;
    cli_bar_begin(&m->bar, cli);
    /* One device by itself loads few kernels for what a registration takes there. */
    o.linear_rounds = o.linear_rounds < 1 ? o.linear_rounds : 1;
    o.rounds = o.rounds < 1 ? o.rounds : 1;
    if (m->contexts > 1)
        CLI_TRY(warm_up(cli, r, few, first, &o, m, &cold));
    o.linear_rounds = asked->linear_rounds < 2 ? asked->linear_rounds : 2;
    CLI_TRY(go_through(cli, r, few, samples, &o, m, &result, &seconds));
    divide(m, samples);
    find_between(r, &o, m, samples, seconds);
    o.linear_rounds = o.linear_rounds < 1 ? o.linear_rounds : 1;
    m->once = m->contexts > 1 ? fmax(cold - counted(r, &o, m, first), 0) : 0;
    m->voxels = clvox_grid_voxels(&result.average->grid);
    m->device_bytes = result.device_bytes;
    m->in_memory = clvox_context_limits(cli->ctx)->type == CLVOX_DEVICE_CPU;
    for (int i = 0; i < r->count; i++) {
        const size_t voxels = clvox_grid_voxels(&subjects[i].image->grid),
                     share = voxels * sizeof(float) / (size_t)r->count;
        m->image_voxels = voxels > m->image_voxels ? voxels : m->image_voxels;
        m->image_bytes += share * (size_t)(2 + (subjects[i].mask != NULL) + r->own_labels);
        for (int c = 1; c < o.channels; c++)
            m->image_bytes +=
                2 * clvox_grid_voxels(&subjects[i].further[c - 1]->grid) * sizeof(float) / (size_t)r->count;
        m->label_bytes += share * (size_t)(subjects[i].labels != NULL);
    }
    /* Without a limit what is released stays with the process for what comes next, some of it in pieces that
     * do not fit: only measuring tells. */
    struct rusage used;
    const double held = bytes_of_subjects(&o, m, samples, samples) +
                        (double)(m->image_bytes + m->label_bytes) * (r->count - samples);
    if (!r->store && !getrusage(RUSAGE_SELF, &used))
        m->beside = fmax(1024 * (double)used.ru_maxrss - held, 0);
end:
    cli_bar_end(&m->bar);
    clvox_atlas_result_destroy(&result);
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

static void tell(const command *cli, cJSON *to, const expected *e, double alone)
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
        if (m->work[k] > 1e-6 && k < CLVOX_ATLAS_PASSING) { /* less: there is nothing of it to do */
            cli_print(cli, "%-28s %s\n", cli_atlas_works[k], duration(m->work[k], text));
            cJSON_AddNumberToObject(to, cli_atlas_works[k], m->work[k]);
        }
    cli_print(cli, "%-28s %s\n", "files", duration(m->writing, text));
    cli_print(cli, "%-28s %s\n", "devices, once", duration(r->open_seconds, text));
    cJSON_AddNumberToObject(to, "devices", r->open_seconds);
    if (m->once > 0)
        cli_print(cli, "%-28s %s\n", "kernels, once", duration(m->once, text));
    cJSON_AddNumberToObject(to, "files", m->writing);
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

int cli_atlas_plan(command *cli, const cli_atlas_request *r, const clvox_atlas_subject *subjects,
                   const clvox_atlas_options *o)
{
    int status = CLVOX_OK, wanted[MOST_PLANS];
    const int plans = read_counts(r->plan_devices, wanted);
    char text[2][32], beside[32] = "";
    measured *m = calloc(1, sizeof *m);
    CLI_TRY(plans);
    if (!m)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    m->at_once = cli->at_once;
    m->contexts = cli->more_count;
    CLI_TRY(measure(cli, r, subjects, o, m));
    cJSON *result = cJSON_AddObjectToObject(cli->log, "plan");
    if (m->at_once > 1)
        snprintf(beside, sizeof beside, ", %d at once", m->at_once);
    cli_print(cli, "seconds of a subject on %s%s, measured:\n", clvox_context_limits(cli->ctx)->name, beside);
    cJSON_AddNumberToObject(result, "at_once", m->at_once);
    tell_speeds(cli, r, cJSON_AddObjectToObject(result, "seconds_a_subject"), m);
    cJSON_AddNumberToObject(result, "device_bytes", (double)m->device_bytes);
    cJSON_AddNumberToObject(result, "state_bytes_a_subject", 24 * (double)m->voxels);
    cli_print(cli, "%-28s %s; of DIR/state %s a subject on disk\n\n", "device memory",
              cli_bytes((double)m->device_bytes, text[0]), cli_bytes(24 * (double)m->voxels, text[1]));
    cli_print(cli, "%7s %9s %8s %11s %12s %9s %9s %9s %6s\n", "devices", "processes", "subjects",
              "of a device", "host memory", "on disk", "reading", "all", "of one");
    cJSON *rows = cJSON_AddArrayToObject(result, "plans");
    const int all = r->plan_subjects > 0 ? r->plan_subjects : r->count;
    expected alone = {.devices = 1, .processes = 1, .subjects = all},
             e = {.devices = cli_devices(cli), .processes = 1, .subjects = all};
    expect(r, o, m, &alone);
    expect(r, o, m, &e);
    tell(cli, rows, &e, alone.all);
    for (int i = 0; i < plans; i++) {
        e = (expected){.devices = wanted[i], .processes = wanted[i], .subjects = all};
        expect(r, o, m, &e);
        tell(cli, rows, &e, alone.all);
    }
end:
    free(m);
    return status;
}
