/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/bar.h"
#include "cli/cli.h"
#include "cli/warm.h"
#include "clvox/files.h"
#include "clvox/kernels.h"

double cli_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

char *cli_bytes(double bytes, char *out)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    int unit = 0;
    while (unit < 4 && fabs(bytes) >= 1024) {
        bytes /= 1024;
        unit++;
    }
    snprintf(out, 32, "%.*f %s", unit && fabs(bytes) < 100, bytes, units[unit]);
    return out;
}

void cli_print(const command *cli, const char *format, ...)
{
    if (cli->silent || (cli->json && !strcmp(cli->json, "-")))
        return;
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
}

void cli_remark(const command *cli, int level, const char *format, ...)
{
    if (cli->quiet || level > cli->verbose)
        return;
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

void cli_hear(void *user, int level, const char *line)
{
    const command *cli = user;
    if (level > 0)
        cli_remark(cli, level - 1, "%s\n", line);
    else
        fprintf(stderr, "clvox %s: %s\n", cli->verb, line);
}

void cli_bar_hear(void *user, int level, const char *line)
{
    cli_hear(((const cli_bar *)user)->cli, level, line);
}

void cli_note(command *cli, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_remark(cli, 0, "%s\n", text);
    clvox_record_text(cli->log, "remarks", text);
}

/* ---- what contexts say --------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    char **line;
    int count;
} heard = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The clvox_log of every context: remarks are printed once, however many contexts make them, and logged. */
static void hear(void *user, int level, const char *line)
{
    const command *cli = user;
    bool known = false;
    pthread_mutex_lock(&heard.lock);
    for (int i = 0; level == 1 && i < heard.count; i++)
        known = known || !strcmp(heard.line[i], line);
    char **grown = level > 1 || known ? NULL
                                      : reallocarray(heard.line, (size_t)heard.count + 1, sizeof *heard.line);
    if (grown) {
        heard.line = grown;
        if ((grown[heard.count] = strdup(line)))
            heard.count++;
    }
    if (!known)
        cli_remark(cli, level - 1, "%s%s\n", cli_on_terminal() ? "\r\033[K" : "", line);
    pthread_mutex_unlock(&heard.lock);
}

const char *cli_heard(int at)
{
    pthread_mutex_lock(&heard.lock);
    const char *line = at < heard.count ? heard.line[at] : NULL;
    pthread_mutex_unlock(&heard.lock);
    return line;
}

static void log_heard(command *cli)
{
    cJSON *list = cJSON_GetObjectItem(cli->log, "remarks"), *remark;
    pthread_mutex_lock(&heard.lock);
    for (int i = 0; i < heard.count; i++) {
        bool known = false;
        cJSON_ArrayForEach(remark, list) known = known || !strcmp(remark->valuestring, heard.line[i]);
        if (!known)
            clvox_record_text(cli->log, "remarks", heard.line[i]);
    }
    pthread_mutex_unlock(&heard.lock);
}

/* ---- the log ------------------------------------------------------------ */

void cli_log_wisdom(command *cli)
{
    if (cli->ctx)
        clvox_record_wisdom(cli->log, cli->ctx);
}

int cli_write_log(command *cli, const char *path)
{
    cli_log_wisdom(cli);
    log_heard(cli);
    cli_claim_written(cli, path);
    cli_claims_settle(cli);
    cJSON_DeleteItemFromObject(cli->log, "seconds");
    cJSON_AddNumberToObject(cli->log, "seconds", cli_seconds() - cli->started);
    return clvox_record_write(cli->log, path);
}

/* ---- the device --------------------------------------------------------- */

static clvox_context_options options_of(command *cli)
{
    const char *fourier = getenv("CLVOX_FOURIER");
    return (clvox_context_options){
        .size = sizeof(clvox_context_options),
        .device = cli->device,
        .profile = cli->profile,
        .no_cache = cli->no_cache,
        .no_wisdom = cli->no_wisdom,
        .fourier = fourier && *fourier ? fourier : NULL,
        .verbosity = cli->verbose > 1 ? 2 : 1,
        .log = hear,
        .log_user = cli,
        .left_out = cli->rehearsal ? &cli->left_out : NULL,
    };
}

/* Logs a context that was opened. */
static int opened(command *cli)
{
    const clvox_device_limits *limits = clvox_context_limits(cli->ctx);
    clvox_record_device(cli->log, cli->ctx);
    if (cli->more && cli_devices(cli) > 1)
        cJSON_AddNumberToObject(cJSON_GetObjectItem(cli->log, "device"), "count", cli_devices(cli));
    const char *kept = clvox_environment_remark(limits->platform);
    if (kept[0])
        cli_remark(cli, 0, "%s\n", kept);
    cli_remark(cli, 1, "device: %s (%s, driver %s)\n", limits->name, limits->platform, limits->driver);
    return CLVOX_OK;
}

void cli_drivers(const command *cli)
{
    if (cli->ctx)
        return;
    /* The processes of a team share the GPUs out among them. */
    clvox_environment_settle(cli->device, CLVOX_ENVIRONMENT_ALONE |
                                              (cli->team ? 0 : CLVOX_ENVIRONMENT_ONE_GPU) |
                                              (cli->no_cache ? CLVOX_ENVIRONMENT_NO_CACHE : 0));
}

int cli_open(command *cli)
{
    clvox_context_options options = options_of(cli);
    if (cli->ctx)
        return CLVOX_OK;
    cli_drivers(cli);
    if (!cli->quiet) {
        options.progress = cli_bar_passing;
        options.progress_user = cli;
    }
    const int status = clvox_context_create(&options, &cli->ctx);
    return status < 0 ? status : opened(cli);
}

int cli_devices(const command *cli)
{
    return cli->more_count / cli->at_once;
}

void cli_keep_memory(const command *cli)
{
    enum { PART = 16 };
    clvox_spares(clvox_memory() / PART / (size_t)(cli->team ? cli->team->size : 1));
}

void cli_give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* where glibc begins; then it does not grow to 32 MB */
#endif
}

int cli_open_all(command *cli, int at_once, int most, bool divide)
{
    char own[128];
    clvox_context_options options = options_of(cli);
    cli_drivers(cli);
    if (cli->team) {
        const int chosen = cli_team_device(cli, own);
        if (chosen < 0)
            return chosen;
        options.device = own;
    }
    options.at_once = at_once ? at_once : divide ? CLVOX_AT_ONCE_ALL : CLVOX_AT_ONCE_GPUS;
    options.most_at_once = most;
    const int count = clvox_contexts_create(&options, &cli->more);
    if (count < 0)
        return count;
    cli->more_count = count;
    cli->ctx = cli->more[0];
    cli->more[0] = NULL;
    cli->at_once = clvox_at_once(&options, clvox_context_limits(cli->ctx));
    return opened(cli);
}

void cli_close(command *cli)
{
    cli_warm_end();
    cli_log_wisdom(cli);
    if (cli->more) {
        cli->more[0] = cli->ctx; /* with the others, side by side */
        cli->ctx = NULL;
    }
    clvox_context_destroy(&cli->ctx);
    clvox_contexts_destroy(&cli->more, cli->more_count);
}

/* Adds the times of a device to those of others. */
static int add_timings(clvox_context *ctx, clvox_timing **rows, int *count)
{
    clvox_timing *own = NULL;
    const int found = clvox_timings(ctx, &own);
    clvox_timing *grown = found < 0 ? NULL : reallocarray(*rows, (size_t)(*count + found + 1), sizeof *grown);
    *rows = grown ? grown : *rows;
    for (int i = 0; grown && i < found; i++) {
        int at = 0;
        while (at < *count && strcmp(grown[at].label, own[i].label) != 0)
            at++;
        if (at == *count)
            grown[(*count)++] = own[i];
        else
            grown[at].calls += own[i].calls, grown[at].seconds += own[i].seconds,
                grown[at].bytes += own[i].bytes;
    }
    clvox_timings_destroy(&own);
    return found < 0 ? found : grown ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
}

static int by_seconds(const void *a, const void *b)
{
    const double x = ((const clvox_timing *)a)->seconds, y = ((const clvox_timing *)b)->seconds;
    return (x < y) - (x > y);
}

int cli_profile(command *cli)
{
    int status = CLVOX_OK, count = 0;
    clvox_timing *rows = NULL;
    double copy = 0;
    if (!cli->profile || !cli->ctx)
        return CLVOX_OK;
    CLI_TRY(add_timings(cli->ctx, &rows, &count));
    for (int i = 1; i < cli->more_count; i++)
        CLI_TRY(add_timings(cli->more[i], &rows, &count));
    if (!clvox_context_timed(cli->ctx)) {
        cli->profile = false;
        fprintf(stderr, "clvox %s: %s does not time its kernels: there is no profile\n", cli->verb,
                clvox_context_limits(cli->ctx)->name);
        goto end;
    }
    if (cli->more_count > 1)
        qsort(rows, (size_t)count, sizeof *rows, by_seconds);
    CLI_TRY(clvox_copy_bandwidth(cli->ctx, &copy));
    cJSON *profile = cJSON_AddObjectToObject(cli->log, "profile");
    cJSON_AddNumberToObject(profile, "copy_bytes_per_second", copy);
    cJSON *list_of = cJSON_AddArrayToObject(profile, "kernels");
    fprintf(stderr, "%-44s %8s %11s %10s %8s %7s\n", "kernel", "calls", "seconds", "bytes", "GB/s",
            "of copy");
    for (int i = 0; i < count; i++) {
        const clvox_timing *t = &rows[i];
        char bytes[32];
        double rate = t->seconds > 0 ? t->bytes / t->seconds : 0;
        fprintf(stderr, "%-44s %8d %11.6f %10s %8.1f %6.0f%%\n", t->label, t->calls, t->seconds,
                cli_bytes(t->bytes, bytes), rate * 1e-9, copy > 0 ? 100 * rate / copy : 0);
        cJSON *row = cJSON_CreateObject();
        cJSON_AddStringToObject(row, "kernel", t->label);
        cJSON_AddNumberToObject(row, "calls", t->calls);
        cJSON_AddNumberToObject(row, "seconds", t->seconds);
        cJSON_AddNumberToObject(row, "bytes", t->bytes);
        cJSON_AddItemToArray(list_of, row);
    }
    fprintf(stderr, "copy bandwidth of the device: %.1f GB/s\n", copy * 1e-9);
    cli->profile = false; /* one table is enough */
end:
    free(rows);
    return status;
}
