/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a step, shared among devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/steps.h"
#include "base/clock.h"
#include "runtime/device/host.h"
#include "base/progress.h"
#include "clvox/threads.h"

/* ---- devices ------------------------------------------------------------- */

/* Compares what decides which variants of the kernels run, and with which bits. */
static bool is_alike(const clvox_device_limits *a, const clvox_device_limits *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->platform, b->platform) && !strcmp(a->driver, b->driver) &&
           !strcmp(a->version, b->version) && !strcmp(a->architecture, b->architecture) &&
           a->compute_units == b->compute_units && a->local_bytes == b->local_bytes &&
           a->max_group == b->max_group;
}

static bool on_cpu(const clvox_context *ctx)
{
    return clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
}

int clv_atlas_devices_open(clv_atlas_run *a, clvox_context *first)
{
    const int more = a->o->more_count;
    if (more < 0 || (more && !a->o->more))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d further devices of a template, and no array of them",
                          more);
    a->ctx = calloc((size_t)more + 1, sizeof(clvox_context *));
    a->under_way = calloc((size_t)more + 1, sizeof *a->under_way);
    if (!a->ctx || !a->under_way)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    a->ctx[0] = first;
    const clvox_device_limits *one = clvox_context_limits(first);
    for (int i = 0; i < more; i++) {
        const clvox_device_limits *other = clvox_context_limits(a->ctx[i + 1] = a->o->more[i]);
        if (!is_alike(one, other))
            return clvox_fail(
                CLVOX_ERROR_DEVICE,
                "devices that differ give different bits, and those of one template have to be alike: %s "
                "(driver %s, %d units) and %s (driver %s, %d units)",
                one->name, one->driver, one->compute_units, other->name, other->driver, other->compute_units);
    }
    a->devices = more + 1;
    /* Host memory comes fresh for every buffer otherwise, page by page, each of which the system clears. */
    for (int i = 0; !a->o->store && i < a->devices; i++)
        if (on_cpu(a->ctx[i]))
            clv_pool_spare_share(a->ctx[i], more);
    return CLVOX_OK;
}

void clv_atlas_devices_close(clv_atlas_run *a)
{
    for (int i = 0; !a->o->store && i < a->devices; i++)
        if (on_cpu(a->ctx[i]))
            clv_pool_spare(a->ctx[i], 0);
    free(a->ctx);
    free(a->under_way);
}

/* ---- progress ------------------------------------------------------------ */

/* With the lock held. Once stopped, all are. */
static int tell(clv_atlas_run *a)
{
    double share = a->done;
    for (int i = 0; i < a->devices; i++)
        share += a->under_way[i];
    a->stopped =
        a->stopped || clv_progress_stage(a->o->progress, a->o->user, a->stage, fmin(share / a->all, 1));
    return a->stopped ? clvox_fail(CLVOX_ERROR_STOPPED, "interrupted") : CLVOX_OK;
}

int clv_atlas_told(clv_atlas_run *a, int device, double share)
{
    pthread_mutex_lock(&a->lock);
    a->under_way[device] = share;
    const int status = tell(a);
    pthread_mutex_unlock(&a->lock);
    return status;
}

void clv_atlas_timed(clv_atlas_run *a, clvox_atlas_work work, double mark)
{
    const double seconds = clv_seconds() - mark;
    pthread_mutex_lock(&a->lock);
    if (a->o->timed)
        a->o->timed(a->o->user, work, seconds);
    pthread_mutex_unlock(&a->lock);
}

/* ---- what lies on disk ---------------------------------------------------- */

static void expect(const clv_atlas_run *a, const clv_atlas_member *s, unsigned reads)
{
    const clv_atlas_member *first = &a->s[s->first];
    if (reads & CLV_ATLAS_IMAGE) {
        clvox_store_expect(first->image);
        clvox_store_expect(first->given->mask);
        for (int c = 1; c < a->o->channels; c++)
            clvox_store_expect(first->further[c - 1]);
    }
    if (reads & CLV_ATLAS_WARPS)
        clv_maps_expect(a->maps, s->first);
    if (reads & CLV_ATLAS_LABELS)
        clvox_store_expect(s->given->labels);
}

static void rest(const clv_atlas_run *a, const clv_atlas_member *s)
{
    const clv_atlas_member *first = &a->s[s->first];
    const clvox_volume *const all[] = {first->image, s->given->image, s->given->mask, s->given->labels};
    clv_maps_rest(a->maps, s->first);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clvox_store_rest(all[i]);
    for (int c = 1; c < a->o->channels; c++) {
        clvox_store_rest(first->further[c - 1]);
        clvox_store_rest(s->given->further[c - 1]);
    }
}

/* ---- steps --------------------------------------------------------------- */

typedef struct queue {
    clv_atlas_run *a;
    const clv_atlas_step *step;
    int *order;      /* of subjects: those that took longest before are the first */
    int *next, *own; /* of each device: it has taken or left those before, and of those whose maps it has */
    bool *taken;     /* of each subject */
    double factor;   /* of all subjects against those that take the step here */
    int (*every)(clv_atlas_run *a, int device, void *user); /* of clv_atlas_every */
    void *user;
    int failed, status; /* the first subject that failed; with status CLVOX_OK: none */
    char sentence[2048];
} queue;

typedef struct worker {
    queue *queue;
    int device;
    pthread_t thread;
} worker;

static bool is_registration(clvox_atlas_work work)
{
    return work == CLVOX_ATLAS_FIRST_LINEAR || work == CLVOX_ATLAS_LINEAR || work == CLVOX_ATLAS_DEFORMABLE;
}

static bool takes_part(const queue *q, const clv_atlas_member *s)
{
    return (s->weight > 0 || q->step->all) && clv_atlas_is_mine(q->a, s);
}

/* Whether this device may: another one has the maps of some. */
static bool may_take(const queue *q, const clv_atlas_member *s, int device)
{
    const int has = q->step->reads & CLV_ATLAS_WARPS ? clv_maps_device(q->a->maps, s->first) : -1;
    return takes_part(q, s) && (has < 0 || has == device);
}

/* The next subject; NULL: none. With the lock held. */
static clv_atlas_member *next_of(queue *q, int device)
{
    clv_atlas_run *a = q->a;
    while (q->status >= 0 && q->own[device] < a->count) { /* their new maps can lie where the old ones are */
        const int i = q->order[q->own[device]++];
        if (!q->taken[i] && takes_part(q, &a->s[i]) && clv_maps_device(a->maps, a->s[i].first) == device) {
            q->taken[i] = true;
            return &a->s[i];
        }
    }
    while (q->status >= 0 && q->next[device] < a->count) {
        const int i = q->order[q->next[device]++];
        if (!q->taken[i] && may_take(q, &a->s[i], device)) {
            q->taken[i] = true;
            return &a->s[i];
        }
    }
    return NULL;
}

/* Announces the subject that follows this one, as many places on as there are devices. With the lock held. */
static void expect_next(const queue *q, int device)
{
    const clv_atlas_run *a = q->a;
    int ahead = a->devices;
    for (int k = q->next[device]; k < a->count && ahead; k++) {
        const int i = q->order[k];
        if (!q->taken[i] && may_take(q, &a->s[i], device) && !--ahead)
            expect(a, &a->s[i], q->step->reads);
    }
}

/* A failure of what stands at place; others are stopped for it, which hides none. With the lock held. */
static void fail(queue *q, int place, int status)
{
    const bool stopped = q->status == CLVOX_ERROR_STOPPED, weaker = status == CLVOX_ERROR_STOPPED;
    if (q->status >= 0 || (stopped && !weaker) || (stopped == weaker && place < q->failed)) {
        q->status = status;
        q->failed = place;
        snprintf(q->sentence, sizeof q->sentence, "%s", clvox_message()); /* it belongs to this thread */
        q->a->stopped = true;
    }
}

static void *work(void *argument)
{
    const worker *self = argument;
    queue *q = self->queue;
    clv_atlas_run *a = q->a;
    CLV_HOST_THREADS(a->ctx[self->device]);
    pthread_mutex_lock(&a->lock);
    for (clv_atlas_member *s; (s = next_of(q, self->device));) {
        const int place = (int)(s - a->s);
        expect_next(q, self->device);
        pthread_mutex_unlock(&a->lock);
        const double mark = clv_seconds();
        clv_maps_busy(a->maps, self->device, 1, 0);
        int status = q->step->take(a, s, self->device, q->step->user);
        clv_maps_busy(a->maps, self->device, -1, 0);
        rest(a, s);
        /* A subject without labels takes no time to vote. */
        const bool works =
            q->step->name != CLVOX_ATLAS_WORKS && (q->step->name != CLVOX_ATLAS_VOTER || s->given->labels);
        if (status >= 0 && works)
            clv_atlas_timed(a, q->step->name, mark);
        pthread_mutex_lock(&a->lock);
        if (is_registration(q->step->name))
            s->took = clv_seconds() - mark;
        a->under_way[self->device] = 0;
        a->done += q->factor * q->step->work;
        if (status >= 0)
            status = tell(a);
        if (status < 0)
            fail(q, place, status);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* A thread for each device but the first, whose part is done here; so is that of those that get no thread, later. */
static int run_threads(queue *q, void *(*part)(void *))
{
    const int devices = q->a->devices;
    int started = 1;
    worker *workers = calloc((size_t)devices, sizeof *workers);
    if (!workers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < devices; i++)
        workers[i] = (worker){.queue = q, .device = i};
    while (started < devices && !pthread_create(&workers[started].thread, NULL, part, &workers[started]))
        started++;
    part(&workers[0]);
    for (int i = started; i < devices; i++)
        part(&workers[i]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
    return q->status < 0 ? clvox_fail((clvox_status)q->status, "%s", q->sentence) : CLVOX_OK;
}

typedef struct lengthy {
    double seconds;
    int subject;
} lengthy;

static int longer_first(const void *a, const void *b)
{
    const lengthy *x = a, *y = b;
    return x->seconds != y->seconds ? (x->seconds < y->seconds) - (x->seconds > y->seconds)
                                    : x->subject - y->subject;
}

/* So that devices end together. Where volumes are on disk they stay in one order, as the first ones are in
 * memory. */
static int put_in_order(queue *q)
{
    const clv_atlas_run *a = q->a;
    const bool known = is_registration(q->step->name) && !a->o->store;
    lengthy *all = calloc((size_t)a->count, sizeof *all);
    if (!all)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->count; i++)
        all[i] = (lengthy){known ? a->s[i].took : 0, i};
    qsort(all, (size_t)a->count, sizeof *all, longer_first);
    for (int i = 0; i < a->count; i++)
        q->order[i] = all[i].subject;
    free(all);
    return CLVOX_OK;
}

int clv_atlas_each(clv_atlas_run *a, const clv_atlas_step *step)
{
    int status = CLVOX_OK, mine = 0;
    queue q = {.a = a, .step = step};
    const double before = a->done;
    q.order = calloc((size_t)a->count, sizeof *q.order);
    a->registering = step->name == CLVOX_ATLAS_DEFORMABLE;
    q.next = calloc((size_t)a->devices, sizeof *q.next);
    q.own = calloc((size_t)a->devices, sizeof *q.own);
    q.taken = calloc((size_t)a->count, sizeof *q.taken);
    if (!q.order || !q.next || !q.own || !q.taken) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    CLV_TRY(put_in_order(&q));
    for (int i = 0; i < a->count; i++)
        mine += takes_part(&q, &a->s[i]);
    q.factor = mine ? (double)a->count / mine : 1;
    status = run_threads(&q, work);
    a->done = before + a->count * step->work;
end:
    free(q.order);
    free(q.next);
    free(q.own);
    free(q.taken);
    return clv_atlas_agree(a, status);
}

static void *work_once(void *argument)
{
    const worker *self = argument;
    queue *q = self->queue;
    CLV_HOST_THREADS(q->a->ctx[self->device]);
    const int status = q->every(q->a, self->device, q->user);
    pthread_mutex_lock(&q->a->lock);
    if (status < 0)
        fail(q, self->device, status);
    pthread_mutex_unlock(&q->a->lock);
    return NULL;
}

int clv_atlas_every(clv_atlas_run *a, int (*take)(clv_atlas_run *a, int device, void *user), void *user)
{
    queue q = {.a = a, .every = take, .user = user};
    return clv_atlas_agree(a, run_threads(&q, work_once));
}
