/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/rows.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "batch/share.h"
#include "clvox/command/table.h"
#include "clvox/files.h"
#include "clvox/threads.h"

enum { ENOUGH_JOBS = 4 }; /* compressing takes longer than a device needs for small images */

/* A row on its way. */
typedef struct step {
    const clv_rows *rows;
    void *job;
    int row, claim;
    int (*what)(void *job);
    int threads; /* that write its files: those of all devices write side by side */
    pthread_t thread;
    bool apart;
    int status;
    char message[2048];
} step;

/* The rows that wait, and the devices that take them. */
struct clv_run {
    const clv_rows *rows;
    int contexts;
    pthread_mutex_t lock; /* guards the ones below, and callbacks */
    int next, begun, elsewhere; /* elsewhere: rows that other processes make */
    double fraction;
    char stage[64];
    atomic_bool stopped;
};

typedef struct solver {
    clv_run *run;
    clvox_context *ctx;
    pthread_t thread;
} solver;

void clv_rows_say(const clv_rows *r, int level, const char *format, ...)
{
    char line[PATH_MAX + 2048];
    va_list args;
    if (!r->log)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->log(r->user, level, line);
}

/* Tells how far the run is, and hears whether it goes on. */
static int tell(clv_run *run, const char *stage, double fraction)
{
    const clv_rows *r = run->rows;
    if (r->progress && !run->stopped) {
        pthread_mutex_lock(&run->lock);
        if (stage) {
            snprintf(run->stage, sizeof run->stage, "%s", stage);
            run->fraction = fraction;
        }
        const clvox_step at = {
            .stage = run->stage, .fraction = run->fraction, .level = -1, .iteration = -1, .metric = NAN};
        if (r->progress(r->user, &at))
            run->stopped = true;
        pthread_mutex_unlock(&run->lock);
    }
    return run->stopped;
}

int clv_rows_look(void *user, const clvox_step *unused)
{
    (void)unused;
    return tell(user, NULL, 0);
}

static int show(clv_run *run)
{
    char text[64];
    pthread_mutex_lock(&run->lock);
    const int begun = run->begun++;
    pthread_mutex_unlock(&run->lock);
    snprintf(text, sizeof text, "%s %d of %d", run->rows->noun, begun + 1, run->rows->waiting);
    return tell(run, text, (double)begun / run->rows->waiting);
}

/* ---- a row ------------------------------------------------------------------- */

static void take(step *s)
{
    s->status = s->what(s->job);
    if (s->status < 0) /* the sentence belongs to this thread: take it along */
        snprintf(s->message, sizeof s->message, "%s", clvox_message());
}

static void *take_apart(void *user)
{
    step *s = user;
    const int before = s->what == s->rows->save ? clvox_threads_own(s->threads) : 0;
    take(s);
    if (s->what == s->rows->save)
        clvox_threads_own(before);
    return NULL;
}

static void begin(step *s, int (*what)(void *job))
{
    s->what = what;
    s->apart = !pthread_create(&s->thread, NULL, take_apart, s);
    if (!s->apart)
        take_apart(s);
}

static void wait_for(step *s)
{
    if (s->apart)
        pthread_join(s->thread, NULL);
    s->apart = false;
}

static int claim(const clv_rows *r, int row)
{
    char log[PATH_MAX];
    if (!r->claimed)
        return CLV_CLAIM_NONE;
    r->claimed(r->list, row, log);
    return clv_claim_take(log);
}

static void leave(const clv_rows *r, int row, int claim)
{
    char log[PATH_MAX];
    if (claim < 0)
        return;
    r->claimed(r->list, row, log);
    clv_claim_leave(log, claim);
}

static void finish(step **at)
{
    step *s = *at;
    if (!s)
        return;
    wait_for(s);
    s->rows->end(s->job, s->status, s->message);
    leave(s->rows, s->row, s->claim);
    free(s);
    *at = NULL;
}

/* ---- the run ----------------------------------------------------------------- */

/* Takes a row that waits, if no other process has it or has made it by now. */
static void *take_row(const solver *v, int row, int *claimed)
{
    clv_run *run = v->run;
    const clv_rows *r = run->rows;
    void *job = NULL;
    if (*r->state(r->list, row) != CLVOX_PAIR_WAITING)
        return NULL;
    *claimed = claim(r, row);
    if (*claimed == CLV_CLAIM_TAKEN)
        run->elsewhere++;
    else if (r->present && r->present(r->list, row))
        *r->state(r->list, row) = CLVOX_PAIR_PRESENT;
    else
        job = r->begin(r->list, row, v->ctx, run);
    if (!job)
        leave(r, row, *claimed);
    return job;
}

/* The next row that waits, being read; NULL: there is none. */
static step *next_step(const solver *v)
{
    clv_run *run = v->run;
    void *job = NULL;
    int claimed = CLV_CLAIM_NONE;
    step *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    pthread_mutex_lock(&run->lock);
    while (!job && run->next < run->rows->count)
        job = take_row(v, run->next++, &claimed);
    const int row = run->next - 1;
    pthread_mutex_unlock(&run->lock);
    if (!job) {
        free(s);
        return NULL;
    }
    *s = (step){.rows = run->rows, .job = job, .row = row, .claim = claimed};
    s->threads = (clvox_threads() + run->contexts - 1) / run->contexts;
    begin(s, run->rows->read);
    return s;
}

/* Once a disk is full no further row is solved. */
static void *solve_on_device(void *user)
{
    const solver *v = user;
    const clv_rows *r = v->run->rows;
    const int few = clvox_threads() < ENOUGH_JOBS ? clvox_threads() : ENOUGH_JOBS,
              room = r->jobs > 0 ? r->jobs : few;
    step *saved[CLV_ROWS_JOBS] = {NULL}, *next = next_step(v);
    for (int solved = 0; next && !clvox_files_full() && !show(v->run); solved++) {
        step *now = next;
        wait_for(now);
        next = next_step(v);
        if (now->status >= 0) {
            now->what = r->solve;
            take(now);
        }
        finish(&saved[solved % room]); /* the oldest */
        if (now->status >= 0)
            begin(now, r->save);
        saved[solved % room] = now;
    }
    if (next) { /* read and not solved: it waits */
        wait_for(next);
        next->status = CLVOX_ERROR_STOPPED;
    }
    for (int i = 0; i < room; i++)
        finish(&saved[i]);
    finish(&next);
    return NULL;
}

int clv_rows_check(clvox_context *const *contexts, int count)
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

/* What became of the rows that other processes have. */
static int settle(const clv_run *run)
{
    const clv_rows *r = run->rows;
    int waiting = 0;
    for (int i = 0; i < r->count; i++) {
        clvox_pair_state *state = r->state(r->list, i);
        if (*state == CLVOX_PAIR_WAITING && run->elsewhere && r->present(r->list, i))
            *state = CLVOX_PAIR_PRESENT;
        waiting += *state == CLVOX_PAIR_WAITING;
    }
    if (waiting > run->elsewhere)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (waiting)
        clv_rows_say(r, 1, "%d %ss are with other processes that have this list", waiting, r->noun);
    return CLVOX_OK;
}

int clv_rows_make(const clv_rows *rows, clvox_context *const *contexts, int count)
{
    int started = 1;
    clv_run run = {.rows = rows, .contexts = count, .lock = PTHREAD_MUTEX_INITIALIZER};
    solver *solvers = calloc((size_t)count, sizeof *solvers);
    if (!solvers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    solvers[0] = (solver){.run = &run, .ctx = contexts[0]};
    /* Fewer threads than devices is slower, not wrong. */
    for (; started < count; started++) {
        solvers[started] = (solver){.run = &run, .ctx = contexts[started]};
        if (pthread_create(&solvers[started].thread, NULL, solve_on_device, &solvers[started]))
            break;
    }
    solve_on_device(&solvers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(solvers[i].thread, NULL);
    free(solvers);
    pthread_mutex_destroy(&run.lock);
    if (run.stopped)
        return clvox_fail(CLVOX_ERROR_STOPPED, "interrupted");
    return clvox_files_full() ? CLVOX_OK : settle(&run);
}

int clv_rows_close(const clv_rows *r, int status, const char *path,
                   void (*print)(FILE *to, const void *what), int *written)
{
    char message[2048];
    snprintf(message, sizeof message, "%s", clvox_message());
    const int wrote = path ? clvox_table_write(path, print, r->list) : CLVOX_OK;
    const char *full = clvox_files_full();
    *written = path && wrote >= 0;
    if (status == CLVOX_ERROR_STOPPED && *written)
        clv_rows_say(r, 1, "%s says which %ss are done: the same command makes the others", path, r->noun);
    if (status < 0)
        return clvox_fail((clvox_status)status, "%s", message);
    if (full && path)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s: there is no room for it on its disk; make room, and the same command makes "
                          "the %ss that are missing",
                          full, r->noun);
    if (full)
        return clvox_fail(CLVOX_ERROR_FILE,
                          "%s: there is no room for it on its disk; make room, and run this again", full);
    return wrote;
}
