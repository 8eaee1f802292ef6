/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/tune/tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "anatomy/mesh_costs.h"
#include "runtime/kernel/registry.h"
#include "runtime/queue/timing.h"
#include "runtime/plan/wisdom.h"
#include "bench/tune/check.h"

enum { MOST_ASKED = 64, MOST_DONE = 1024, MOST_ROUNDS = 15, LEAST_ROUNDS = 5 };

/* A candidate so much slower in its first run is not run again. */
static const double hopeless = 2;
/* The planner's own choice stays unless another takes less than this share of
 * its time, so that chance does not change what is chosen, nor bits with it. */
static const double better = 0.98;
/* No run of samples is shorter, and none longer where one round may do, seconds. */
static const double shortest = 5e-4, longest = 4;

typedef struct trial {
    clv_candidate c;
    const clv_kernel *kernel;
    bool runs, dropped, same; /* same: the bits of the planner's own choice */
    double sample[MOST_ROUNDS], median;
    int samples;
} trial;

typedef struct pair {
    const clv_entry *entry;
    char build[192];
    bool measured;
} pair;

typedef struct tuner {
    clvox_context *ctx;
    const tune_options *options;
    const clvox_device_limits *limits;
    bench_data data;
    tune_check *check;
    bool timers;
    pair done[MOST_DONE];
    int done_count;
    double log_loss;
    int losses;
    double worst;
    FILE *out;
    cJSON *rows;
} tuner;

/* Seconds a call of the row, in this entry's kernels; where the device keeps no
 * time, of all of it. */
static int time_calls(tuner *t, const bench_row *row, const clv_entry *entry, int calls, double *seconds)
{
    int status = clv_finish(t->ctx);
    double start = clv_seconds();
    clv_timings_reset(t->ctx);
    for (int i = 0; i < calls && status >= 0; i++)
        status = row->run(&t->data);
    if (status >= 0)
        status = clv_finish(t->ctx);
    *seconds = (clv_seconds() - start) / calls;
    if (status < 0 || !t->timers)
        return status;
    const clv_timing *timings;
    size_t length = strlen(entry->name);
    int count = clv_timings(t->ctx, &timings);
    double sum = 0;
    for (int i = 0; i < count; i++)
        if (!strncmp(timings[i].label, entry->name, length) && timings[i].label[length] == '/')
            sum += timings[i].seconds;
    if (sum > 0)
        *seconds = sum / calls;
    return count < 0 ? count : CLVOX_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const trial *t)
{
    double sorted[MOST_ROUNDS];
    memcpy(sorted, t->sample, sizeof sorted);
    qsort(sorted, (size_t)t->samples, sizeof *sorted, compare);
    return sorted[t->samples / 2];
}

static bool stopped(const tuner *t)
{
    return t->options->stop && t->options->stop();
}

static const clv_kernel *kernel_of(const tuner *t, const clv_entry *entry, const char *build)
{
    clv_asked asked[MOST_ASKED];
    int count = clv_kernels_asked(t->ctx, asked, MOST_ASKED);
    for (int i = 0; i < count; i++)
        if (asked[i].entry == entry && !strcmp(asked[i].extra, build))
            return asked[i].kernel;
    return NULL;
}

/* Checks each candidate on the small volume and runs it once on the large one. */
static int first_runs(tuner *t, const bench_row *row, const clv_asked *a, trial *trials, int count)
{
    int status = CLVOX_OK;
    double best = INFINITY;
    CLV_TRY(clv_force_variant(t->ctx, a->entry->name, trials[0].c.variant->name, trials[0].c.tile_index));
    CLV_TRY(tune_check_expect(t->check, row));
    for (int i = 0; i < count; i++) {
        trial *one = &trials[i];
        double seconds;
        if (stopped(t))
            return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
        CLV_TRY(clv_force_variant(t->ctx, a->entry->name, one->c.variant->name, one->c.tile_index));
        status = tune_check_run(t->check, row, &one->same);
        if (status >= 0)
            status = bench_verify(t->ctx, row, row->name);
        if (status >= 0)
            status = time_calls(t, row, a->entry, 1, &seconds);
        if (status == CLVOX_ERROR_BUILD || status == CLVOX_ERROR_DEVICE) {
            status = CLVOX_OK; /* a form that the device cannot run is a fact about the device */
            continue;
        }
        CLV_TRY(status);
        CLV_TRY(time_calls(t, row, a->entry, 1, &seconds));
        one->runs = true;
        one->kernel = kernel_of(t, a->entry, a->extra);
        one->sample[0] = one->median = seconds;
        one->samples = 1;
        best = fmin(best, seconds);
    }
    for (int i = 0; i < count; i++)
        trials[i].dropped = !trials[i].runs || (i > 0 && trials[i].median > hopeless * best + 2e-6);
end:
    return status;
}

/* The candidates in turn, round after round, so that what disturbs the machine
 * disturbs them alike. */
static int rounds(tuner *t, const bench_row *row, const clv_asked *a, trial *trials, int count)
{
    int status = CLVOX_OK, running = 0;
    for (int i = 0; i < count; i++)
        running += !trials[i].dropped;
    double start = clv_seconds(), end = start + t->options->seconds * running;
    for (int round = 0; running > 1 && round < MOST_ROUNDS; round++) {
        int least = clv_seconds() - start < longest ? LEAST_ROUNDS : 1;
        if (round >= least && clv_seconds() >= end)
            break;
        for (int i = 0; i < count; i++) {
            trial *one = &trials[i];
            if (one->dropped)
                continue;
            if (stopped(t))
                return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
            int calls = (int)fmin(50, ceil(shortest / fmax(trials[0].median, 1e-6)));
            CLV_TRY(clv_force_variant(t->ctx, a->entry->name, one->c.variant->name, one->c.tile_index));
            CLV_TRY(time_calls(t, row, a->entry, calls, &one->sample[round]));
            one->samples = round + 1;
        }
    }
    for (int i = 0; i < count; i++)
        if (trials[i].runs)
            trials[i].median = median_of(&trials[i]);
end:
    return status;
}

static void tile_text(clv_tile t, char out[48])
{
    snprintf(out, 48, "%dx%dx%d,%d", t.x, t.y, t.z, t.march);
}

static void log_trial(cJSON *to, const trial *t, const clvox_device_limits *limits)
{
    cJSON *row = cJSON_CreateObject();
    char tile[48];
    tile_text(t->c.tile, tile);
    cJSON_AddStringToObject(row, "variant", t->c.variant->name);
    cJSON_AddStringToObject(row, "tile", tile);
    cJSON_AddBoolToObject(row, "automatic", t->c.automatic);
    cJSON_AddNumberToObject(row, "items", t->c.tile.x * t->c.tile.y * t->c.tile.z);
    cJSON_AddNumberToObject(row, "waste", t->c.waste);
    cJSON_AddNumberToObject(row, "local_bytes", (double)t->c.local_bytes);
    if (limits->type != CLVOX_DEVICE_CPU)
        cJSON_AddNumberToObject(row, "most", t->c.resources.most);
    if (t->kernel && t->kernel->registers >= 0)
        cJSON_AddNumberToObject(row, "registers", t->kernel->registers);
    if (t->kernel && t->kernel->spills > 0)
        cJSON_AddNumberToObject(row, "spills", t->kernel->spills);
    if (t->kernel && t->kernel->occupancy >= 0) {
        cJSON_AddNumberToObject(row, "occupancy", t->kernel->occupancy);
        cJSON_AddStringToObject(row, "limit", t->kernel->resources.limit);
    }
    cJSON_AddBoolToObject(row, "runs", t->runs);
    if (t->runs)
        cJSON_AddBoolToObject(row, "same_bits", t->same);
    if (t->runs) {
        cJSON_AddNumberToObject(row, "seconds", t->median);
        cJSON_AddItemToObject(row, "samples", cJSON_CreateDoubleArray(t->sample, t->samples));
    }
    cJSON_AddItemToArray(to, row);
}

static void report(tuner *t, const bench_row *row, const clv_asked *a, const trial *trials, int count,
                   const trial *best, double loss)
{
    char label[240], tile[48], best_tile[48];
    snprintf(label, sizeof label, "%s %s", a->entry->name, a->extra);
    tile_text(trials[0].c.tile, tile);
    tile_text(best->c.tile, best_tile);
    fprintf(t->out, "%-50.50s %-10.10s %-14s %9.4f  %-10.10s %-14s %9.4f %6.2f\n", label,
            trials[0].c.variant->name, tile, 1e3 * trials[0].median, best->c.variant->name, best_tile,
            1e3 * best->median, loss);
    fflush(t->out);
    if (!t->rows)
        return;
    cJSON *to = cJSON_CreateObject();
    cJSON_AddStringToObject(to, "kernel", a->entry->name);
    cJSON_AddStringToObject(to, "build", a->extra);
    cJSON_AddStringToObject(to, "row", row->name);
    cJSON_AddNumberToObject(to, "planned", 0);
    cJSON_AddNumberToObject(to, "best", (int)(best - trials));
    cJSON_AddNumberToObject(to, "loss", loss);
    cJSON *list = cJSON_AddArrayToObject(to, "candidates");
    for (int i = 0; i < count; i++)
        log_trial(list, &trials[i], t->limits);
    cJSON_AddItemToArray(t->rows, to);
}

static int keep(tuner *t, const clv_asked *a, const trial *best)
{
    clv_wisdom_record record = {.tile = best->c.tile, .size_class = a->size_class};
    if (!t->options->path || strlen(a->extra) >= sizeof record.build)
        return CLVOX_OK;
    snprintf(record.kernel, sizeof record.kernel, "%s", a->entry->name);
    snprintf(record.build, sizeof record.build, "%s", a->extra);
    snprintf(record.variant, sizeof record.variant, "%s", best->c.variant->name);
    int status = clv_wisdom_store(t->options->path, t->limits, &record, t->options->remark);
    if (t->options->kept)
        *t->options->kept += status >= 0;
    return status;
}

/* A work-group that leaves most lanes of its only warp idle is for devices that
 * can run no other. */
static bool worth_it(const tuner *t, const clv_candidate *c)
{
    int items = c->tile.x * c->tile.y * c->tile.z;
    return c->tile_index >= 0 && (c->automatic || t->options->all) &&
           (t->limits->type == CLVOX_DEVICE_CPU || 2 * items >= t->limits->simd);
}

static int tune_kernel(tuner *t, const bench_row *row, const clv_asked *a)
{
    static clv_candidate candidates[CLV_MAX_CANDIDATES];
    int status = CLVOX_OK, count = 0;
    trial *trials = NULL;
    int all = clv_plan_candidates(t->limits, a->entry, a->local_extra, candidates, CLV_MAX_CANDIDATES);
    trials = calloc((size_t)all + 1, sizeof *trials);
    if (!trials)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < all; i++) {
        /* The planner's own choice, which may not be its first where that does not build, stands first. */
        bool planned = candidates[i].variant == a->kernel->variant &&
                       !memcmp(&candidates[i].tile, &a->kernel->tile, sizeof candidates[i].tile);
        if (!planned && !worth_it(t, &candidates[i]))
            continue;
        trials[count] = (trial){.c = candidates[i]};
        if (planned) {
            trial moved = trials[count];
            memmove(trials + 1, trials, (size_t)count * sizeof *trials);
            trials[0] = moved;
        }
        count++;
    }
    if (count < 2 || trials[0].c.tile_index < 0)
        goto end;
    CLV_TRY(first_runs(t, row, a, trials, count));
    CLV_TRY(rounds(t, row, a, trials, count));
    const trial *best = &trials[0];
    for (int i = 1; i < count; i++)
        if (trials[i].runs && trials[i].c.automatic && trials[i].median < best->median)
            best = &trials[i];
    double loss = trials[0].median / best->median;
    t->log_loss += log(loss);
    t->losses++;
    t->worst = fmax(t->worst, loss);
    report(t, row, a, trials, count, best, loss);
    CLV_TRY(keep(t, a, loss * better > 1 ? best : &trials[0]));
end:
    free(trials);
    if (clv_force_variant(t->ctx, a->entry->name, NULL, -1) < 0 && status >= 0)
        status = CLVOX_ERROR_MEMORY;
    return status;
}

/* ---- rows ---- */

static bool is_done(const tuner *t, const clv_asked *a)
{
    for (int i = 0; i < t->done_count; i++)
        if (t->done[i].entry == a->entry && !strcmp(t->done[i].build, a->extra))
            return true;
    return false;
}

static bool is_named(const tuner *t, const char *name)
{
    for (int i = 0; i < t->options->count; i++)
        if (!strcmp(t->options->kernels[i], name))
            return true;
    return false;
}

/* No verb runs the papers' kernels: they are measured only where they are named. */
static bool is_wanted(const tuner *t, const clv_entry *entry)
{
    return t->options->count ? is_named(t, entry->name) : strncmp(entry->file, "papers/", 7) != 0;
}

static int by_name(const void *a, const void *b)
{
    const clv_asked *x = a, *y = b;
    int order = strcmp(x->entry->name, y->entry->name);
    order = order ? order : strcmp(x->extra, y->extra);
    return order ? order : y->size_class - x->size_class; /* what takes longest is what is measured */
}

static int tune_row(tuner *t, const bench_row *row)
{
    int status = CLVOX_OK;
    clv_asked asked[MOST_ASKED];
    if (stopped(t))
        return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    CLV_TRY(clv_force_variant(t->ctx, "", NULL, -1)); /* forgets what was asked for before */
    if (row->begin)
        status = row->begin(&t->data);
    if (status >= 0)
        status = row->run(&t->data);
    if (status == CLVOX_ERROR_DEVICE)
        return CLVOX_OK; /* a form that the device cannot run is a fact about the device */
    CLV_TRY(status);
    int count = clv_kernels_asked(t->ctx, asked, MOST_ASKED);
    qsort(asked, (size_t)count, sizeof *asked, by_name);
    for (int i = 0; i < count; i++) {
        if (!is_wanted(t, asked[i].entry) || is_done(t, &asked[i]) || t->done_count == MOST_DONE)
            continue;
        int before = t->losses;
        CLV_TRY(tune_kernel(t, row, &asked[i]));
        pair *done = &t->done[t->done_count++];
        done->entry = asked[i].entry;
        done->measured = t->losses > before;
        snprintf(done->build, sizeof done->build, "%s", asked[i].extra);
    }
end:
    return status;
}

static const clv_entry *find_entry(const char *name)
{
    const clv_entry *entry;
    for (int i = 0; (entry = clv_entry_at(i)); i++)
        if (!strcmp(entry->name, name))
            return entry;
    return NULL;
}

/* "lncc 2 derivative" runs kernels of match/lncc.cl. */
static bool row_is_of(const bench_row *row, const clv_entry *entry)
{
    char name[64] = "";
    const char *slash = strchr(entry->file, '/');
    if (row->vary)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(row->vary, "/"), row->vary);
    const clv_entry *vary = find_entry(name);
    snprintf(name, sizeof name, "%s", row->name);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    return (vary && !strcmp(vary->file, entry->file)) || strstr(name, slash ? slash + 1 : entry->file);
}

static bool found(const tuner *t, const clv_entry *entry)
{
    for (int i = 0; i < t->done_count; i++)
        if (t->done[i].entry == entry)
            return true;
    return false;
}

static bool was_measured(const tuner *t, const clv_entry *entry)
{
    for (int i = 0; i < t->done_count; i++)
        if (t->done[i].entry == entry && t->done[i].measured)
            return true;
    return false;
}

/* Rows of the kernels' files; others only while there are kernels asked for by
 * name that these do not run, since each row builds all of its kernels. */
static int tune_rows_of(tuner *t, const clv_entry *const *wanted, int count)
{
    enum { TABLES = BENCH_FIELDS + 1 };
    const bench_row *tables[TABLES] = {[BENCH_FIELDS] = tune_rows};
    int total = 0, at = 0;
    for (int k = 0; k < BENCH_FIELDS; k++)
        tables[k] = bench_fields[k];
    for (int k = 0; k < TABLES; k++)
        for (const bench_row *row = tables[k]; row->name; row++)
            total++;
    for (int pass = 0; pass < (t->options->count ? 2 : 1); pass++)
        for (int k = 0; k < TABLES; k++)
            for (const bench_row *row = tables[k]; row->name; row++) {
                bool of = false, missing = false;
                for (int i = 0; i < count; i++) {
                    of |= row_is_of(row, wanted[i]);
                    missing |= !found(t, wanted[i]);
                }
                if (pass == 0 ? !of : of || !missing)
                    continue;
                if (t->options->tell)
                    t->options->tell(t->options->user, (double)at++ / total, row->name);
                int status = tune_row(t, row);
                if (status < 0)
                    return status;
            }
    return CLVOX_OK;
}

/* The kernels asked for, else all that leave the planner a choice here. */
static int list_wanted(tuner *t, const clv_entry **wanted, int room)
{
    int count = 0;
    for (int i = 0; i < t->options->count && count < room; i++)
        if (strcmp(t->options->kernels[i], CLV_MESH_COSTS) != 0 &&
            !(wanted[count++] = find_entry(t->options->kernels[i])))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "%s is not a kernel; `clvox devices -v` lists them",
                              t->options->kernels[i]);
    const clv_entry *entry;
    for (int e = 0; t->options->count == 0 && (entry = clv_entry_at(e)) && count < room; e++) {
        clv_candidate candidates[CLV_MAX_CANDIDATES];
        int all = clv_plan_candidates(t->limits, entry, 0, candidates, CLV_MAX_CANDIDATES), choices = 0;
        for (int i = 0; i < all; i++)
            choices += worth_it(t, &candidates[i]);
        if (choices > 1 && is_wanted(t, entry))
            wanted[count++] = entry;
    }
    return count;
}

int bench_tune(clvox_context *ctx, const tune_options *options, FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    const clv_entry *wanted[MOST_DONE];
    tuner *t = calloc(1, sizeof *t);
    if (!t)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    *t = (tuner){.ctx = ctx, .options = options, .limits = clvox_context_limits(ctx), .worst = 1, .out = out};
    int wanted_count = list_wanted(t, wanted, MOST_DONE);
    CLV_TRY(wanted_count);
    CLV_TRY(bench_data_create(ctx, options->size, false, &t->data));
    CLV_TRY(tune_check_create(ctx, &t->check));
    const clv_timing *unused;
    t->timers = clv_timings(ctx, &unused) > 0;
    if (json) {
        cJSON_AddItemToObject(json, "size", cJSON_CreateIntArray(options->size, 3));
        cJSON_AddStringToObject(json, "clock", t->timers ? "device" : "host");
        if (t->limits->type != CLVOX_DEVICE_CPU)
            cJSON_AddNumberToObject(json, "warp", t->limits->simd);
        t->rows = cJSON_AddArrayToObject(json, "tune");
    }
    fprintf(out, "%s, %dx%dx%d; ms a call%s\n", t->limits->name, options->size[0], options->size[1],
            options->size[2], t->timers ? "" : " of the whole operation: the device keeps no time");
    fprintf(out, "%-50s %-10s %-14s %9s  %-10s %-14s %9s %6s\n", "kernel and its build", "planned", "tile, march",
            "ms", "best", "tile, march", "ms", "loss");
    CLV_TRY(tune_rows_of(t, wanted, wanted_count));
    for (int i = 0; i < wanted_count; i++)
        if (!found(t, wanted[i]))
            fprintf(out, "%-50s not measured: no row runs it\n", wanted[i]->name);
        else if (!was_measured(t, wanted[i]))
            fprintf(out, "%-50s not measured: one variant and tile are all that run here\n", wanted[i]->name);
    if (options->count == 0 || is_named(t, CLV_MESH_COSTS))
        CLV_TRY(bench_tune_costs(ctx, options, out, json));
    else if (t->losses == 0)
        status = clvox_fail(CLVOX_ERROR_DATA,
                            "none of the kernels that were asked for can be tuned on this device: %s",
                            options->kernels[0]);
end:
    if (t->losses > 0) {
        double mean = exp(t->log_loss / t->losses);
        fprintf(out, "%d kernels with a choice: the planner's own takes %.3f times the best in the geometric mean, "
                     "%.2f at worst\n",
                t->losses, mean, t->worst);
        if (json) {
            cJSON_AddNumberToObject(json, "choices", t->losses);
            cJSON_AddNumberToObject(json, "geometric_mean_loss", mean);
            cJSON_AddNumberToObject(json, "largest_loss", t->worst);
        }
    }
    tune_check_destroy(&t->check);
    bench_data_release(&t->data);
    free(t);
    return status;
}
