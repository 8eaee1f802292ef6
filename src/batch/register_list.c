/* SPDX-License-Identifier: Apache-2.0 */
/* Many pairs in one process. Each context solves one while its next is read and its last ones are written. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"
#include "base/status.h"
#include "batch/pair.h"
#include "batch/pairs.h"
#include "clvox/clvox.h"
#include "clvox/command/table.h"
#include "clvox/files.h"

enum { MOST_JOBS = 64, ENOUGH_JOBS = 4 }; /* compressing takes longer than a device needs for small images */

/* A pair on its way. */
typedef struct job {
    clv_pair pair;
    clvox_pair *row;
    int threads; /* that write its files: those of all devices write side by side */
    int claim;   /* the file that tells other processes that this one makes the pair */
    pthread_t thread;
    bool apart;
    int status;
    char message[2048];
} job;

/* The pairs that wait, and the devices that take them. */
typedef struct work {
    clvox_pairs *pairs;
    const clvox_pairs_options *options;
    clvox_register_options registration;
    const cJSON *head;
    const clvox_context *first;
    int contexts;
    pthread_mutex_t lock;                /* guards the ones below, and callbacks */
    int next, waiting, begun, elsewhere; /* elsewhere: pairs that other processes make */
    double fraction;
    char stage[64];
    atomic_bool stopped;
} work;

typedef struct solver {
    work *work;
    clvox_context *ctx;
    pthread_t thread;
} solver;

static void say(const clvox_pairs_options *o, int level, const char *format, ...) CLVOX_PRINTF(3, 4);
static void say(const clvox_pairs_options *o, int level, const char *format, ...)
{
    char line[PATH_MAX + 2048];
    va_list args;
    if (!o->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    o->log(o->user, level, line);
}

/* ---- what is there already ----------------------------------------------- */

static void add_file(cJSON *to, const char *name, const char *path)
{
    struct stat info = {0};
    cJSON *file = path ? cJSON_AddArrayToObject(to, name) : NULL;
    if (!file)
        return;
    char when[64] = "";
    if (!stat(path, &info))
        snprintf(when, sizeof when, "%lld %lld.%09ld", (long long)info.st_size,
                 (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    cJSON_AddItemToArray(file, cJSON_CreateString(path));
    cJSON_AddItemToArray(file, cJSON_CreateString(when));
}

/* All that a result hangs on, as one text; the caller's to free. NULL without memory. */
static char *key_of(const work *w, const clvox_pair *one)
{
    const clvox_pairs_options *o = w->options;
    const clvox_device_limits *device = clvox_context_limits(w->first);
    cJSON *key = cJSON_CreateObject(), *options = cJSON_AddObjectToObject(key, "options");
    cJSON_AddStringToObject(key, "version", clvox_version());
    cJSON_AddStringToObject(key, "device", device->name);
    cJSON_AddStringToObject(key, "driver", device->driver);
    cJSON_AddStringToObject(options, "preset", o->preset ? o->preset : "default");
    cJSON_AddBoolToObject(options, "picture", !o->no_picture);
    if (o->report)
        cJSON_AddBoolToObject(options, "report", true);
    clvox_option_text text;
    for (int i = 0; clvox_option_describe(clvox_register_table(), i, &text); i++)
        if (text.name && o->given && o->given[i])
            cJSON_AddStringToObject(options, text.name, o->given[i]);
    if (!o->given) /* fields alone say what is asked for */
        clvox_record_fields(options, clvox_register_table(), &w->registration);
    if (w->registration.init == CLVOX_INIT_MATRIX)
        cJSON_AddItemToObject(options, "matrix", cJSON_CreateDoubleArray(&w->registration.matrix[0][0], 16));
    add_file(key, "fixed", one->fixed);
    add_file(key, "moving", one->moving);
    add_file(key, "fixed_mask", one->fixed_mask);
    add_file(key, "moving_mask", one->moving_mask);
    add_file(key, "labels", one->labels);
    add_file(key, "linear_fixed_mask", o->linear_fixed_mask);
    add_file(key, "linear_moving_mask", o->linear_moving_mask);
    for (int k = 0; k < CLVOX_MAX_LEVELS; k++) {
        add_file(key, "level_fixed_mask", o->level_fixed_mask[k]);
        add_file(key, "level_moving_mask", o->level_moving_mask[k]);
    }
    add_file(key, "initial_warp", o->initial_warp);
    char *printed = cJSON_PrintUnformatted(key);
    cJSON_Delete(key);
    return printed;
}

static double number_of(const cJSON *result, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(result, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Takes over what the log of a pair says of it. */
static void take_result(clvox_pair *one, const cJSON *log)
{
    const cJSON *result = cJSON_GetObjectItem(log, "result"), *doubt;
    char doubts[256] = "";
    one->metric_before = number_of(result, "metric_before");
    one->metric_after = number_of(result, "metric_after");
    one->ncc = number_of(result, "ncc_after");
    one->folded = number_of(cJSON_GetObjectItem(result, "jacobian"), "folded");
    one->seconds = number_of(log, "seconds");
    cJSON_ArrayForEach(doubt, cJSON_GetObjectItem(result, "suspicions"))
        snprintf(doubts + strlen(doubts), sizeof doubts - strlen(doubts), "%s%s", *doubts ? "," : "",
                 cJSON_IsString(doubt) ? doubt->valuestring : "");
    free(one->suspicions);
    one->suspicions = strdup(doubts);
}

/* Whether an earlier result is one of these inputs and options. any_device: by whatever device. */
static bool is_same_key(const char *before, const char *key, bool any_device)
{
    if (!any_device)
        return !strcmp(before, key);
    cJSON *was = cJSON_Parse(before), *is = cJSON_Parse(key);
    for (int k = 0; k < 2; k++) {
        cJSON_DeleteItemFromObject(k ? was : is, "device");
        cJSON_DeleteItemFromObject(k ? was : is, "driver");
    }
    const bool same = was && is && cJSON_Compare(was, is, true);
    cJSON_Delete(was);
    cJSON_Delete(is);
    return same;
}

/* Whether the pair's log, which is written last, is of this run's options and inputs, and its files are
 * there. */
static bool is_present(const work *w, clvox_pair *one)
{
    char path[PATH_MAX], *text = NULL, *key = NULL;
    size_t size;
    bool same = false;
    struct stat info;
    if (stat(clvox_pair_path(one->names, CLVOX_PAIR_LOG, path), &info) ||
        clvox_file_read(path, (size_t)64 << 20, &text, &size) < 0)
        return false;
    cJSON *log = cJSON_Parse(text);
    const cJSON *before = cJSON_GetObjectItem(log, "pair"), *file,
                *files = cJSON_GetObjectItem(log, "outputs");
    key = key_of(w, one);
    same = key && cJSON_IsString(before) && cJSON_IsArray(files) &&
           is_same_key(before->valuestring, key, w->options->any_device);
    if (same)
        cJSON_ArrayForEach(file, files) same =
            same && cJSON_IsString(file) && !access(file->valuestring, F_OK);
    if (same)
        take_result(one, log);
    cJSON_Delete(log);
    cJSON_free(key);
    free(text);
    return same;
}

/* ---- other processes ------------------------------------------------------ */

enum { UNCLAIMED = -1, TAKEN = -2 };

static void claim_path(const clvox_pair *one, char path[PATH_MAX])
{
    char log[PATH_MAX];
    snprintf(path, PATH_MAX, "%.*s.claim", PATH_MAX - 8, clvox_pair_path(one->names, CLVOX_PAIR_LOG, log));
}

/* Keeps other processes that have the same list from making a pair, on this machine and on those that share
 * the folder. The file's lock counts: it goes with the process, however that ends. TAKEN: another one has it;
 * UNCLAIMED: there can be no such file here, which the pair's own files will say, or no lock. */
static int claim_pair(const clvox_pair *one)
{
    char path[PATH_MAX];
    struct stat held, there;
    claim_path(one, path);
    for (;;) {
        const int file = clvox_folders_make(path) < 0 ? -1 : open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
        const int locked = file < 0 ? -1 : flock(file, LOCK_EX | LOCK_NB), why = errno;
        if (!locked && !fstat(file, &held) && !stat(path, &there) && held.st_ino == there.st_ino)
            return file;
        if (file >= 0)
            close(file);
        if (locked)
            return file >= 0 && why == EWOULDBLOCK ? TAKEN : UNCLAIMED;
        /* Its last owner has removed it meanwhile. */
    }
}

static void leave_pair(const clvox_pair *one, int file)
{
    char path[PATH_MAX];
    if (file < 0)
        return;
    claim_path(one, path);
    unlink(path);
    close(file);
}

/* ---- one pair ------------------------------------------------------------ */

static void fail(clvox_pair *one, const char *message)
{
    one->state = CLVOX_PAIR_FAILED;
    free(one->message);
    one->message = strdup(message);
}

static int keep(job *j, int status)
{
    j->status = status;
    if (status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(j->message, sizeof j->message, "%s", clvox_message());
    return status;
}

static void *read_pair(void *user)
{
    job *j = user;
    keep(j, clv_pair_read(&j->pair));
    return NULL;
}

static void *save_pair(void *user)
{
    job *j = user;
    const int before = clvox_threads_own(j->threads);
    keep(j, clv_pair_save(&j->pair));
    clvox_threads_own(before);
    return NULL;
}

static void begin(job *j, void *(*what)(void *))
{
    j->apart = !pthread_create(&j->thread, NULL, what, j);
    if (!j->apart)
        what(j);
}

static void wait_for(job *j)
{
    if (j->apart)
        pthread_join(j->thread, NULL);
    j->apart = false;
}

/* Tells how far the run is, and hears whether it goes on. */
static int tell(work *w, const char *stage, double fraction)
{
    if (w->options->progress && !w->stopped) {
        pthread_mutex_lock(&w->lock);
        if (stage) {
            snprintf(w->stage, sizeof w->stage, "%s", stage);
            w->fraction = fraction;
        }
        const clvox_step step = {
            .stage = w->stage, .fraction = w->fraction, .level = -1, .iteration = -1, .metric = NAN};
        if (w->options->progress(w->options->user, &step))
            w->stopped = true;
        pthread_mutex_unlock(&w->lock);
    }
    return w->stopped;
}

static int look(void *user, const clvox_step *step)
{
    (void)step;
    return tell(user, NULL, 0);
}

static job *job_of(work *w, clvox_context *ctx, clvox_pair *one, int claim)
{
    job *j = calloc(1, sizeof *j);
    if (!j) {
        leave_pair(one, claim);
        return NULL;
    }
    j->row = one;
    j->claim = claim;
    j->threads = (clvox_threads() + w->contexts - 1) / w->contexts;
    j->pair = (clv_pair){.row = one, .options = w->options, .ctx = ctx, .look = look, .user = w};
    j->pair.work.options = w->registration;
    j->pair.log = cJSON_Duplicate(w->head, true);
    char *key = key_of(w, one);
    cJSON_AddStringToObject(j->pair.log, "pair", key ? key : "");
    cJSON_free(key);
    begin(j, read_pair);
    return j;
}

/* Its row is what stays of it. */
static void finish(const work *w, job **at)
{
    job *j = *at;
    if (!j)
        return;
    wait_for(j);
    if (cJSON_GetObjectItem(j->pair.log, "result"))
        take_result(j->row, j->pair.log);
    if (j->status >= 0) {
        j->row->state = CLVOX_PAIR_DONE;
    } else if (j->status != CLVOX_ERROR_STOPPED) {
        fail(j->row, j->message);
        say(w->options, 1, "%s: failed: %s", j->row->output, j->message);
    }
    clv_pair_free(&j->pair);
    leave_pair(j->row, j->claim);
    free(j);
    *at = NULL;
}

/* ---- the run ------------------------------------------------------------- */

/* The next pair that waits, being read; NULL: there is none, or no memory for it. */
static job *next_job(const solver *s)
{
    work *w = s->work;
    clvox_pair *one = NULL;
    int claim = UNCLAIMED;
    pthread_mutex_lock(&w->lock);
    for (; !one && w->next < w->pairs->count; w->next++) {
        clvox_pair *next = &w->pairs->pair[w->next];
        if (next->state != CLVOX_PAIR_WAITING || (claim = claim_pair(next)) == TAKEN) {
            w->elsewhere += next->state == CLVOX_PAIR_WAITING;
            continue;
        }
        if (is_present(w, next)) { /* by now */
            next->state = CLVOX_PAIR_PRESENT;
            leave_pair(next, claim);
            continue;
        }
        one = next;
    }
    pthread_mutex_unlock(&w->lock);
    return one ? job_of(w, s->ctx, one, claim) : NULL;
}

static int show(work *w)
{
    char text[64];
    pthread_mutex_lock(&w->lock);
    const int begun = w->begun++;
    pthread_mutex_unlock(&w->lock);
    snprintf(text, sizeof text, "pair %d of %d", begun + 1, w->waiting);
    return tell(w, text, (double)begun / w->waiting);
}

/* Keeps a device busy: while it solves a pair, its next one is read and its last ones are written. Once a
 * disk is full no further pair is solved. */
static void *solve_on_device(void *user)
{
    const solver *s = user;
    work *w = s->work;
    const int few = clvox_threads() < ENOUGH_JOBS ? clvox_threads() : ENOUGH_JOBS,
              room = w->options->jobs > 0 ? w->options->jobs : few;
    job *saved[MOST_JOBS] = {NULL}, *next = next_job(s), *now = NULL;
    for (int solved = 0; next && !clvox_files_full() && !show(w); solved++) {
        now = next;
        wait_for(now);
        next = next_job(s);
        if (now->status >= 0)
            keep(now, clv_pair_solve(&now->pair));
        finish(w, &saved[solved % room]); /* the oldest */
        if (now->status >= 0)
            begin(now, save_pair);
        saved[solved % room] = now;
    }
    if (next) { /* read and not solved: it waits */
        wait_for(next);
        next->status = CLVOX_ERROR_STOPPED;
    }
    for (int i = 0; i < room; i++)
        finish(w, &saved[i]);
    finish(w, &next);
    return NULL;
}

static int solve_all(work *w, clvox_context *const *contexts)
{
    int started = 1;
    solver *solvers = calloc((size_t)w->contexts, sizeof *solvers);
    if (!solvers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    solvers[0] = (solver){.work = w, .ctx = contexts[0]};
    /* Fewer threads than devices is slower, not wrong. */
    for (; started < w->contexts; started++) {
        solvers[started] = (solver){.work = w, .ctx = contexts[started]};
        if (pthread_create(&solvers[started].thread, NULL, solve_on_device, &solvers[started]))
            break;
    }
    solve_on_device(&solvers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(solvers[i].thread, NULL);
    free(solvers);
    if (w->stopped)
        return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    if (clvox_files_full())
        return CLVOX_OK;
    int waiting = 0;
    for (int i = 0; i < w->pairs->count; i++) {
        clvox_pair *one = &w->pairs->pair[i];
        if (one->state == CLVOX_PAIR_WAITING && w->elsewhere && is_present(w, one))
            one->state = CLVOX_PAIR_PRESENT;
        waiting += one->state == CLVOX_PAIR_WAITING;
    }
    if (waiting > w->elsewhere)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (waiting)
        say(w->options, 1, "%d pairs are with other processes that have this list", waiting);
    return CLVOX_OK;
}

static void print_summary(FILE *to, const void *what)
{
    const clvox_pairs *l = what;
    fprintf(to, "fixed\tmoving\toutput\tstatus\tmetric_before\tmetric_"
                "after\tncc\tfolded\tseconds\tsuspicions\tmessage\n");
    for (int i = 0; i < l->count; i++) {
        const clvox_pair *one = &l->pair[i];
        const char *const text[] = {one->fixed, one->moving, one->output, clvox_pair_state_name(one->state)};
        const char *const rest[] = {"", one->suspicions, one->message};
        clvox_table_fields(to, text, 4);
        clvox_table_number(to, "%.6g", one->metric_before);
        clvox_table_number(to, "%.6g", one->metric_after);
        clvox_table_number(to, "%.6g", one->ncc);
        clvox_table_number(to, "%.0f", one->folded);
        clvox_table_number(to, "%.3f", one->seconds);
        clvox_table_fields(to, rest, 3);
        fputc('\n', to);
    }
}

/* Removes what killed runs left. Derivatives have folders for images, figures and logs. */
static void sweep(const work *w)
{
    static const int files[] = {CLVOX_PAIR_LOG, CLVOX_PAIR_WARPED, CLVOX_PAIR_PICTURE};
    const clvox_pairs *l = w->pairs;
    char path[PATH_MAX], swept[PATH_MAX] = "";
    clvox_sweep_beside(l->summary, swept);
    for (int k = 0; k < (w->options->derivatives ? 3 : 1); k++)
        for (int i = 0; i < l->count; i++)
            if (l->pair[i].state == CLVOX_PAIR_WAITING)
                clvox_sweep_beside(clvox_pair_path(l->pair[i].names, files[k], path), swept);
}

/* The first device's name and driver tell what is complete, for all of them. */
static int check_devices(clvox_context *const *contexts, int count)
{
    const clvox_device_limits *first = clvox_context_limits(contexts[0]);
    for (int i = 1; i < count; i++) {
        const clvox_device_limits *other = clvox_context_limits(contexts[i]);
        if (strcmp(first->name, other->name) != 0 || strcmp(first->driver, other->driver) != 0)
            return clvox_fail(
                CLVOX_ERROR_DEVICE,
                "the devices of a list must be of one model and driver; here are %s (%s) and %s (%s)",
                first->name, first->driver, other->name, other->driver);
    }
    return CLVOX_OK;
}

/* The logs of all pairs begin with this. */
static cJSON *head_of(const clvox_pairs_options *o, const clvox_context *ctx)
{
    char date[32];
    const time_t now = time(NULL);
    struct tm parts;
    if (o->head)
        return cJSON_Parse(o->head);
    cJSON *log = cJSON_CreateObject();
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    cJSON_AddStringToObject(log, "program", "clvox");
    cJSON_AddStringToObject(log, "version", clvox_version());
    cJSON_AddStringToObject(log, "verb", "register");
    cJSON_AddStringToObject(log, "date", date);
    clvox_record_device(log, ctx);
    return log;
}

static void find_present(work *w)
{
    for (int i = 0; i < w->pairs->count; i++) {
        clvox_pair *one = &w->pairs->pair[i];
        free(one->message); /* of the run before */
        one->message = NULL;
        one->state = is_present(w, one) ? CLVOX_PAIR_PRESENT : CLVOX_PAIR_WAITING;
        if (one->state == CLVOX_PAIR_PRESENT && w->options->strict && one->suspicions && *one->suspicions)
            fail(one, "the result looks wrong; the files were written, look at them");
        w->waiting += one->state == CLVOX_PAIR_WAITING;
    }
}

int clvox_register_list(clvox_pairs *l, const clvox_pairs_options *o, clvox_context *const *contexts,
                        int count)
{
    CLV_GIVEN(l, o, contexts);
    int status = clv_options_sized(o, sizeof *o), failed = 0;
    cJSON *head = NULL;
    work w = {.pairs = l, .options = o, .contexts = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    if (status < 0)
        return status;
    if (count < 1 || !contexts[0] || o->jobs > MOST_JOBS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a list needs pairs and a context, and at most %d jobs",
                          MOST_JOBS);
    w.first = contexts[0];
    w.registration = clv_pairs_registration(o);
    l->summary_written = l->page_written = 0;
    CLV_TRY(check_devices(contexts, count));
    head = head_of(o, w.first);
    if (!head) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "the head of the pairs' logs is no JSON object");
        goto end;
    }
    w.head = head;
    find_present(&w);
    say(o, 1, "plan     %d pairs, %d of them complete", l->count, l->count - w.waiting);
    if (o->dry_run)
        goto end;
    CLV_TRY(clvox_folders_make(l->summary));
    sweep(&w);
    status = solve_all(&w, contexts);
    char message[256];
    snprintf(message, sizeof message, "%s", clvox_message());
    const int written = clvox_table_write(l->summary, print_summary, l);
    l->summary_written = written >= 0;
    if (status < 0) {
        if (status == CLVOX_ERROR_STOPPED && written >= 0)
            say(o, 1, "%s says which pairs are done: the same command makes the others", l->summary);
        status = clvox_fail((clvox_status)status, "%s", message);
        goto end;
    }
    const char *full = clvox_files_full();
    if (full) {
        status =
            clvox_fail(CLVOX_ERROR_FILE,
                       "%s: there is no room for it on its disk; make room, and the same command makes the "
                       "pairs that are missing",
                       full);
        goto end;
    }
    CLV_TRY(written);
    if (l->page)
        CLV_TRY(clv_pairs_page(l, o, head));
    for (int i = 0; i < l->count; i++)
        failed += l->pair[i].state == CLVOX_PAIR_FAILED;
    if (failed)
        status =
            clvox_fail(CLVOX_ERROR_DATA, "%d of %d pairs failed; %s says why", failed, l->count, l->summary);
end:
    cJSON_Delete(head);
    pthread_mutex_destroy(&w.lock);
    return status;
}
