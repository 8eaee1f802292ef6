/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/driver/pocl_turns.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "runtime/device/context.h"
#include "runtime/kernel/kernel.h"
#include "runtime/program/cache.h"

/* SLOTS: contexts of PoCL at a time. KEPT: PoCL keeps 128 loaded kernels; fewer here, as it sees launches of
 * several contexts in another order. */
enum { SLOTS = 64, KEPT = 120 };

/* Launches of a context that are under way at a time: others wait for them where they load a kernel. */
enum { AHEAD = 6 };

/* By how much a grid is wide. PoCL leaves out its third axis, by mistake; a later one may not. */
enum { PLANE, VOLUME, WIDTHS };

/* A program, of all contexts that have built it. */
typedef struct clv_shared {
    clv_cache_key key;
    bool any; /* it stands for all programs: nobody knows when they are loaded */
    bool loading;
    cl_event last[SLOTS]; /* its last launch by each context; NULL: it is known to have ended */
} shared;

typedef struct loaded {
    const shared *program;
    size_t width;
} loaded;

/* Libraries that PoCL has loaded, if this is how it sees widths; that of the latest launch first. */
typedef struct view {
    loaded kept[KEPT];
    int count;
} view;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;  /* a kernel has been loaded */
static view views[WIDTHS];
static shared **programs;
static int program_count, program_room;
static clvox_context *member[SLOTS];
static int members;

/* The latest launches of each context, whose thread alone looks at them. */
static struct {
    cl_event event[AHEAD];
    int next;
} under_way[SLOTS];

int clv_pocl_join(clvox_context *ctx)
{
    int slot = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS; i++) /* one that was alone has kept no events */
        if (member[i])
            clFinish(member[i]->queue);
    while (slot < SLOTS && member[slot])
        slot++;
    if (slot < SLOTS) {
        member[slot] = ctx;
        members++;
        ctx->turns = 1 + slot;
    }
    pthread_mutex_unlock(&lock);
    return slot < SLOTS
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_DEVICE, "a program takes %d contexts of PoCL at a time", SLOTS);
}

static void replace(cl_event *event, cl_event by)
{
    if (*event)
        clReleaseEvent(*event);
    *event = by;
}

void clv_pocl_leave(clvox_context *ctx)
{
    for (int i = 0; i < AHEAD; i++)
        replace(&under_way[ctx->turns - 1].event[i], NULL);
    pthread_mutex_lock(&lock);
    for (int i = 0; i < program_count; i++)
        replace(&programs[i]->last[ctx->turns - 1], NULL);
    member[ctx->turns - 1] = NULL;
    members--;
    pthread_mutex_unlock(&lock);
    ctx->turns = 0;
}

/* Programs stay until the process ends, as what PoCL has loaded does. */
shared *clv_pocl_share(const clvox_context *ctx, const clv_cache_key *own)
{
    const bool any = !clv_pocl_is_known(&ctx->limits);
    const clv_cache_key key = any ? (clv_cache_key){{0}} : *own;
    shared *found = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < program_count && !found; i++)
        if (!memcmp(&programs[i]->key, &key, sizeof key))
            found = programs[i];
    shared **grown = found ? NULL : clv_grown(programs, program_count, &program_room, sizeof(shared *));
    if (grown) {
        programs = grown;
        found = calloc(1, sizeof *found);
        if (found) {
            found->key = key;
            found->any = any;
            programs[program_count++] = found;
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static void widths_of(const size_t global[3], size_t width[WIDTHS])
{
    width[PLANE] = global[0] > global[1] ? global[0] : global[1];
    width[VOLUME] = width[PLANE] > global[2] ? width[PLANE] : global[2];
}

/* The place of what PoCL takes for such a launch; as many as there are: it loads one. */
static int find(const view *v, const shared *program, size_t width)
{
    int i = 0;
    while (i < v->count && (v->kept[i].program != program || width > v->kept[i].width))
        i++;
    return i;
}

static bool is_loaded(const shared *program, const size_t width[WIDTHS])
{
    if (program->any)
        return false;
    for (int i = 0; i < WIDTHS; i++)
        if (find(&views[i], program, width[i]) == views[i].count)
            return false;
    return true;
}

static void see(view *v, const shared *program, size_t width)
{
    int i = find(v, program, width);
    loaded one = {program, width};
    if (i < v->count)
        one = v->kept[i];
    else if (v->count < KEPT)
        v->count++;
    else
        i--; /* the last goes */
    memmove(v->kept + 1, v->kept, (size_t)i * sizeof *v->kept);
    v->kept[0] = one;
}

static void wait_while_loading(const shared *program)
{
    while (program->loading)
        pthread_cond_wait(&ready, &lock);
}

static void wait_for(cl_event *event)
{
    if (*event)
        clWaitForEvents(1, event);
    replace(event, NULL);
}

/* The lock stays with the caller, unless he is alone with the kernel. */
clv_turn clv_pocl_before(clvox_context *ctx, const clv_kernel *kernel, const size_t global[3])
{
    shared *program = kernel->shared;
    size_t width[WIDTHS];
    cl_event others[SLOTS];
    wait_for(&under_way[ctx->turns - 1].event[under_way[ctx->turns - 1].next]);
    widths_of(global, width);
    pthread_mutex_lock(&lock);
    wait_while_loading(program);
    if (members > 1 && !is_loaded(program, width)) { /* nobody is to wait for what is queued before it */
        pthread_mutex_unlock(&lock);
        clFinish(ctx->queue);
        pthread_mutex_lock(&lock);
        wait_while_loading(program);
    }
    const bool alone = members > 1 && !is_loaded(program, width);
    for (int i = 0; i < WIDTHS; i++)
        see(&views[i], program, width[i]);
    if (!alone)
        return (clv_turn){program, false};
    memcpy(others, program->last, sizeof others);
    memset(program->last, 0, sizeof program->last);
    program->loading = true;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < SLOTS; i++)
        wait_for(&others[i]);
    return (clv_turn){program, true};
}

static void keep_under_way(int slot, cl_event event)
{
    if (clRetainEvent(event) != CL_SUCCESS)
        return;
    under_way[slot].event[under_way[slot].next] = event;
    under_way[slot].next = (under_way[slot].next + 1) % AHEAD;
}

void clv_pocl_after(clvox_context *ctx, clv_turn turn, cl_event event)
{
    if (turn.alone) {
        if (event)
            clWaitForEvents(1, &event);
        pthread_mutex_lock(&lock);
        turn.program->loading = false;
        pthread_cond_broadcast(&ready);
    } else if (members > 1 && event && clRetainEvent(event) == CL_SUCCESS) {
        replace(&turn.program->last[ctx->turns - 1], event);
        keep_under_way(ctx->turns - 1, event);
    }
    pthread_mutex_unlock(&lock);
}
