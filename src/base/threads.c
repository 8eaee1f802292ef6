/* SPDX-License-Identifier: Apache-2.0 */
#include "clvox/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/status.h"

enum { MAX_THREADS = 256 };

static atomic_int chosen_threads;
static _Thread_local int own_threads; /* while this thread works for a context that has a number of its own */

int clvox_threads(void)
{
    int threads = own_threads > 0 ? own_threads : atomic_load(&chosen_threads);
    if (threads <= 0) {
        cpu_set_t allowed;
        if (!sched_getaffinity(0, sizeof allowed, &allowed))
            threads = CPU_COUNT(&allowed);
        else
            threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    }
    return threads < 1 ? 1 : threads > MAX_THREADS ? MAX_THREADS : threads;
}

int clvox_threads_own(int threads)
{
    const int before = own_threads;
    own_threads = threads;
    return before;
}

void clvox_threads_set(int threads)
{
    atomic_store(&chosen_threads, threads);
}

/* A loop that threads take pieces of. */
typedef struct job {
    int own_threads; /* of the thread that began it, for what pieces begin in turn */
    clvox_task task;
    void *user;
    size_t count;
    atomic_size_t next;
    atomic_int stop;
    pthread_mutex_t lock; /* guards the three below */
    size_t failed_index;
    int status;
    char sentence[2048];
    /* The pool's lock guards these. */
    int wanted, joined, under_way; /* threads that may still join it, have joined it, and have not left it */
    pthread_cond_t left;
    struct job *after;
} job;

/* Takes pieces until there is none. */
static void work(job *j, int worker)
{
    const int before = own_threads;
    own_threads = j->own_threads;
    while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        size_t index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (index >= j->count)
            break;
        int status = j->task(j->user, index, worker);
        if (status < 0) {
            pthread_mutex_lock(&j->lock);
            if (!j->status || index < j->failed_index) {
                j->status = status;
                j->failed_index = index;
                /* The sentence belongs to this thread: take it along. */
                snprintf(j->sentence, sizeof j->sentence, "%s", clvox_message());
            }
            pthread_mutex_unlock(&j->lock);
            atomic_store(&j->stop, 1);
        }
    }
    own_threads = before;
}

/* ---- threads that wait for jobs: starting one takes longer than many a piece ----- */

/* Without work for so many seconds a thread ends. */
enum { PATIENCE = 2 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t called;
    pthread_once_t once;
    job *jobs;       /* that more threads may join, the oldest first */
    int idle, count; /* threads that wait, or will as soon as they have started; and all */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .called = PTHREAD_COND_INITIALIZER, .once = PTHREAD_ONCE_INIT};

/* With the pool's lock held, as all below. */
static void take_off(job *j)
{
    job **at = &pool.jobs;
    while (*at && *at != j)
        at = &(*at)->after;
    if (*at)
        *at = j->after;
    j->wanted = 0;
}

/* NULL: none came for a while. */
static job *wait_for_job(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    while (!pool.jobs)
        if (pthread_cond_timedwait(&pool.called, &pool.lock, &until) && !pool.jobs)
            return NULL;
    return pool.jobs;
}

static void *serve(void *unused)
{
    pthread_mutex_lock(&pool.lock);
    for (job *j; (j = wait_for_job());) {
        const int worker = ++j->joined;
        pool.idle--;
        j->under_way++;
        if (!--j->wanted)
            take_off(j);
        if (pool.jobs) { /* each wakes two others: sooner than one wakes all */
            pthread_cond_signal(&pool.called);
            pthread_cond_signal(&pool.called);
        }
        pthread_mutex_unlock(&pool.lock);
        work(j, worker);
        pthread_mutex_lock(&pool.lock);
        pool.idle++;
        if (!--j->under_way)
            pthread_cond_signal(&j->left);
    }
    pool.idle--;
    pool.count--;
    pthread_mutex_unlock(&pool.lock);
    return unused;
}

/* Signals are for the program's own threads. */
static bool start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = !pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

/* Fewer threads than wished for is slower, not wrong. */
static void call(job *j)
{
    job **last = &pool.jobs;
    int wanted = j->wanted;
    for (; *last; last = &(*last)->after)
        wanted += (*last)->wanted;
    *last = j;
    while (pool.idle < wanted && pool.count < MAX_THREADS && start_thread()) {
        pool.idle++;
        pool.count++;
    }
    pthread_cond_signal(&pool.called);
    pthread_cond_signal(&pool.called);
}

/* A process that was forked has none of the threads. */
static void begin_anew(void)
{
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.called = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.jobs = NULL;
    pool.idle = pool.count = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, begin_anew);
}

int clvox_parallel(size_t count, clvox_task task, void *user)
{
    job j = {.own_threads = own_threads,
             .task = task,
             .user = user,
             .count = count,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .left = PTHREAD_COND_INITIALIZER};
    const int threads = clvox_threads();
    j.wanted = ((size_t)threads < count ? threads : (int)count) - 1;
    const bool shared = j.wanted > 0;
    if (shared) {
        pthread_once(&pool.once, watch_forks);
        pthread_mutex_lock(&pool.lock);
        call(&j);
        pthread_mutex_unlock(&pool.lock);
    }
    work(&j, 0);
    if (shared) {
        pthread_mutex_lock(&pool.lock);
        take_off(&j);
        while (j.under_way)
            pthread_cond_wait(&j.left, &pool.lock);
        pthread_mutex_unlock(&pool.lock);
    }
    pthread_cond_destroy(&j.left);
    pthread_mutex_destroy(&j.lock);
    return j.status < 0 ? clvox_fail((clvox_status)j.status, "%s", j.sentence) : CLVOX_OK;
}
