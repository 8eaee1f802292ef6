/* SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
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

int clv_threads_own(int threads)
{
    const int before = own_threads;
    own_threads = threads;
    return before;
}

void clvox_threads_set(int threads)
{
    atomic_store(&chosen_threads, threads);
}

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
} job;

typedef struct worker {
    job *job;
    int number;
    pthread_t thread;
} worker;

static void *work(void *argument)
{
    const worker *self = argument;
    job *j = self->job;
    own_threads = j->own_threads;
    while (!atomic_load_explicit(&j->stop, memory_order_relaxed)) {
        size_t index = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (index >= j->count)
            break;
        int status = j->task(j->user, index, self->number);
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
    return NULL;
}

int clvox_parallel(size_t count, clvox_task task, void *user)
{
    job j = {.own_threads = own_threads,
             .task = task,
             .user = user,
             .count = count,
             .lock = PTHREAD_MUTEX_INITIALIZER};
    worker workers[MAX_THREADS];
    int threads = clvox_threads(), started = 1;
    if ((size_t)threads > count)
        threads = count ? (int)count : 1;
    workers[0] = (worker){.job = &j, .number = 0};
    /* Fewer threads than wished for is slower, not wrong. */
    for (; started < threads; started++) {
        workers[started] = (worker){.job = &j, .number = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            break;
    }
    work(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    pthread_mutex_destroy(&j.lock);
    return j.status < 0 ? clvox_fail((clvox_status)j.status, "%s", j.sentence) : CLVOX_OK;
}
