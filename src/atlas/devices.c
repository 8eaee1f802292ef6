/* SPDX-License-Identifier: Apache-2.0 */
/* The subjects of a step, shared among devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "atlas/atlas.h"
#include "base/clock.h"
#include "base/progress.h"

/* ---- devices ------------------------------------------------------------- */

/* What decides which variants of the kernels run, and with which bits. */
static bool is_alike(const clvox_device_limits *a, const clvox_device_limits *b)
{
    return !strcmp(a->name, b->name) && !strcmp(a->platform, b->platform) && !strcmp(a->driver, b->driver) &&
           !strcmp(a->version, b->version) && !strcmp(a->architecture, b->architecture) &&
           a->compute_units == b->compute_units && a->local_bytes == b->local_bytes &&
           a->max_group == b->max_group;
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
    return CLVOX_OK;
}

void clv_atlas_devices_close(clv_atlas_run *a)
{
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

void clv_atlas_expect(const clv_atlas_run *a, const clv_atlas_member *s, unsigned reads)
{
    const clv_atlas_member *first = &a->s[s->first];
    if (reads & CLV_ATLAS_IMAGE) {
        clvox_store_expect(first->image);
        clvox_store_expect(first->given->mask);
    }
    if (reads & CLV_ATLAS_WARPS) {
        clvox_store_expect(first->map.warp);
        clvox_store_expect(first->map.inverse_warp);
    }
    if (reads & CLV_ATLAS_LABELS)
        clvox_store_expect(s->given->labels);
}

void clv_atlas_rest(const clv_atlas_run *a, const clv_atlas_member *s)
{
    const clv_atlas_member *first = &a->s[s->first];
    const clvox_volume *const all[] = {first->image,     s->given->image, s->given->mask,
                                       s->given->labels, first->map.warp, first->map.inverse_warp};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clvox_store_rest(all[i]);
}

/* ---- steps --------------------------------------------------------------- */

typedef struct queue {
    clv_atlas_run *a;
    const clv_atlas_step *step;
    int next;
    double factor;      /* of all subjects against those that take the step here */
    int failed, status; /* the first subject that failed; with status CLVOX_OK: none */
    char sentence[2048];
} queue;

typedef struct worker {
    queue *queue;
    int device;
    pthread_t thread;
} worker;

static bool takes_part(const queue *q, const clv_atlas_member *s)
{
    return (s->weight > 0 || q->step->all) && clv_atlas_is_mine(q->a, s);
}

/* The next subject; NULL: none. With the lock held. */
static clv_atlas_member *next_of(queue *q)
{
    clv_atlas_run *a = q->a;
    while (q->status >= 0 && q->next < a->count) {
        clv_atlas_member *s = &a->s[q->next++];
        if (takes_part(q, s))
            return s;
    }
    return NULL;
}

/* Of the one that will be next when this one is done, as many devices on. With the lock held. */
static void expect_next(const queue *q)
{
    const clv_atlas_run *a = q->a;
    int ahead = a->devices;
    for (int i = q->next; i < a->count && ahead; i++)
        if (takes_part(q, &a->s[i]) && !--ahead)
            clv_atlas_expect(a, &a->s[i], q->step->reads);
}

static void *work(void *argument)
{
    const worker *self = argument;
    queue *q = self->queue;
    clv_atlas_run *a = q->a;
    pthread_mutex_lock(&a->lock);
    for (clv_atlas_member *s; (s = next_of(q));) {
        const int place = (int)(s - a->s);
        expect_next(q);
        pthread_mutex_unlock(&a->lock);
        const double mark = clv_seconds();
        int status = q->step->take(a, s, self->device, q->step->user);
        clv_atlas_rest(a, s);
        if (status >= 0)
            clv_atlas_timed(a, q->step->name, mark);
        pthread_mutex_lock(&a->lock);
        a->under_way[self->device] = 0;
        a->done += q->factor * q->step->work;
        if (status >= 0)
            status = tell(a);
        /* That others were stopped for it hides no failure. */
        const bool stopped = q->status == CLVOX_ERROR_STOPPED, weaker = status == CLVOX_ERROR_STOPPED;
        if (status < 0 &&
            (q->status >= 0 || (stopped && !weaker) || (stopped == weaker && place < q->failed))) {
            q->status = status;
            q->failed = place;
            snprintf(q->sentence, sizeof q->sentence, "%s", clvox_message()); /* it belongs to this thread */
            a->stopped = true;
        }
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

int clv_atlas_each(clv_atlas_run *a, const clv_atlas_step *step)
{
    queue q = {.a = a, .step = step};
    const double before = a->done;
    int mine = 0;
    worker *workers = calloc((size_t)a->devices, sizeof *workers);
    int started = 1;
    if (!workers)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < a->count; i++)
        mine += takes_part(&q, &a->s[i]);
    q.factor = mine ? (double)a->count / mine : 1;
    workers[0] = (worker){.queue = &q};
    /* Fewer threads than devices is slower, not wrong. */
    for (; started < a->devices; started++) {
        workers[started] = (worker){.queue = &q, .device = started};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            break;
    }
    work(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    free(workers);
    a->done = before + a->count * step->work;
    return clvox_team_agree(a->o->team,
                            q.status < 0 ? clvox_fail((clvox_status)q.status, "%s", q.sentence) : CLVOX_OK);
}
