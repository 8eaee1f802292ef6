/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/program/ahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "clvox/threads.h"
#include "runtime/kernel/kernel.h"
#include "runtime/kernel/registry.h"
#include "runtime/program/source.h"

enum { MOST_LINES = 1024, WORTH_PROCESSES = 8 };

/* ---- lists ---- */

static const clv_entry *find_entry(const char *name)
{
    const clv_entry *entry;
    for (int i = 0; (entry = clv_entry_at(i)) && strcmp(entry->name, name) != 0; i++)
        ;
    return entry;
}

/* "[cpu] register syn lncc:2" */
static bool heads(const char *line, const char *kind, const char *list)
{
    size_t length = strlen(kind);
    return !strncmp(line + 1, kind, length) && !strncmp(line + 1 + length, "] ", 2) &&
           (!list || !strcmp(line + length + 3, list));
}

int clv_ahead_read(clvox_device_type type, const char *list, clv_ahead_line *out, int room)
{
    int count = 0;
    bool wanted = false;
    char *text = clv_source_text("ahead.txt"), *rest = text;
    const char *kind = type == CLVOX_DEVICE_CPU ? "cpu" : "gpu";
    for (char *line; rest && (line = strsep(&rest, "\n")) && count < room;) {
        char name[48];
        int extra = 0;
        clv_ahead_line *to = &out[count];
        if (line[0] == '[') {
            wanted = heads(line, kind, list);
            continue;
        }
        if (!wanted || sscanf(line, "%47s %zu%n", name, &to->local_extra, &extra) != 2)
            continue;
        extra += line[extra] == ' ';
        snprintf(to->extra, sizeof to->extra, "%s", line + extra);
        to->entry = find_entry(name);
        count += to->entry != NULL;
    }
    free(text);
    return count;
}

/* ---- what is missing ---- */

typedef struct work {
    clvox_context *ctx;
    clv_program_request *request;
    clv_program *program; /* of each request, where it was built here */
    clv_code *code;       /* where a process compiled it */
    bool *settled;        /* that process has given what it will */
    int count;
    atomic_int next;
    pthread_mutex_t lock; /* of what processes have settled */
    pthread_cond_t news;
    int at_work; /* threads that ask processes */
} work;

static bool is_there(const clvox_context *ctx, const clv_program_request *request)
{
    for (int i = 0; i < ctx->ready_count; i++)
        if (!memcmp(&ctx->ready[i].key, &request->key, sizeof request->key))
            return true;
    return clv_program_in_cache(ctx, request);
}

/* Variants of different names may be the same program. */
static bool is_listed(const work *w, clv_cache_key key)
{
    for (int i = 0; i < w->count; i++)
        if (!memcmp(&w->request[i].key, &key, sizeof key))
            return true;
    return false;
}

/* What becomes of a line: nothing, code from the cache, or a request to build it. */
typedef struct outcome {
    clv_read_ahead read; /* of which the code is there or not */
    clv_program_request request;
} outcome;

typedef struct looking {
    const clvox_context *ctx;
    const clv_ahead_line *line;
    const int *size;
    outcome *outcome;
} looking;

static clv_read_ahead *find_read(const clvox_context *ctx, const clv_entry *entry, const clv_variant *variant,
                                 clv_tile tile, const char *extra)
{
    for (int i = 0; i < ctx->read_count; i++) {
        clv_read_ahead *r = &ctx->read[i];
        if (r->entry == entry && r->variant == variant && !memcmp(&r->tile, &tile, sizeof tile) &&
            !strcmp(r->extra, extra))
            return r;
    }
    return NULL;
}

static int look_up(void *user, size_t index, int worker)
{
    int status = CLVOX_OK;
    const looking *l = user;
    const clvox_context *ctx = l->ctx;
    const clv_ahead_line *line = &l->line[index];
    outcome *o = &l->outcome[index];
    clv_candidate first;
    (void)worker;
    if (!clv_kernel_first(ctx, line->entry, line->extra, l->size, line->local_extra, &first) ||
        clv_kernel_built(ctx, line->entry, &first, line->extra) ||
        find_read(ctx, line->entry, first.variant, first.tile, line->extra))
        return CLVOX_OK;
    CLV_TRY(clv_program_request_make(ctx, line->entry, first.variant, first.tile, line->extra, &o->request));
    o->read = (clv_read_ahead){.entry = line->entry, .variant = first.variant, .tile = first.tile};
    if (!clv_program_read(ctx, &o->request, &o->read.code, &o->read.counts))
        return CLVOX_OK;
    memcpy(o->read.extra, line->extra, sizeof o->read.extra);
    memcpy(o->read.options, o->request.options, sizeof o->read.options);
    clv_program_request_free(&o->request);
end:
    return status;
}

static int keep_read(clvox_context *ctx, clv_read_ahead *read)
{
    if (find_read(ctx, read->entry, read->variant, read->tile, read->extra)) /* lists may share a kernel */
        return CLVOX_OK;
    clv_read_ahead *grown = clv_grown(ctx->read, ctx->read_count, &ctx->read_room, sizeof *grown);
    if (!grown)
        return CLVOX_ERROR_MEMORY;
    ctx->read = grown;
    grown[ctx->read_count++] = *read;
    read->code.data = NULL;
    return CLVOX_OK;
}

/* Looking up is mostly putting texts together: side by side. */
static int add_all(work *w, const clv_ahead_line *line, int lines, const int size[3])
{
    int status = CLVOX_OK;
    looking l = {w->ctx, line, size, calloc((size_t)lines + 1, sizeof *l.outcome)};
    if (!l.outcome)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(clvox_parallel((size_t)lines, look_up, &l));
    for (int i = 0; i < lines; i++) {
        outcome *o = &l.outcome[i];
        if (o->read.code.data)
            CLV_TRY(keep_read(w->ctx, &o->read));
        if (!o->request.source || is_listed(w, o->request.key) || is_there(w->ctx, &o->request))
            continue;
        w->request[w->count++] = o->request;
        o->request.source = NULL;
    }
end:
    for (int i = 0; i < lines; i++) {
        clv_program_request_free(&l.outcome[i].request);
        clv_code_free(&l.outcome[i].read.code);
    }
    free(l.outcome);
    return status;
}

static int by_length(const void *a, const void *b)
{
    const clv_program_request *x = a, *y = b;
    size_t m = strlen(x->source), n = strlen(y->source);
    return (m < n) - (m > n);
}

/* Another process may have built some while this one waited for the lock. */
static void leave_out_what_is_there(work *w)
{
    int left = 0;
    for (int i = 0; i < w->count; i++) {
        if (is_there(w->ctx, &w->request[i]))
            clv_program_request_free(&w->request[i]);
        else
            w->request[left++] = w->request[i];
    }
    w->count = left;
}

/* ---- side by side ---- */

static void complain(const work *w, int index)
{
    clv_say(w->ctx, 1, "not built ahead: %s: %s", w->request[index].function, clvox_message());
}

static int next_of(work *w)
{
    int i = atomic_fetch_add(&w->next, 1);
    return i < w->count ? i : -1;
}

typedef struct worker {
    work *work;
    int number; /* of the process */
    pthread_t thread;
} worker;

static void settle(work *w, int index)
{
    pthread_mutex_lock(&w->lock);
    if (index >= 0)
        w->settled[index] = true;
    else
        w->at_work--;
    pthread_cond_signal(&w->news);
    pthread_mutex_unlock(&w->lock);
}

static void *let_compile(void *argument)
{
    worker *self = argument;
    work *w = self->work;
    clv_compiler *process = &w->ctx->compilers[self->number];
    /* Until a process is there the others take what there is. */
    while (!clv_compiler_ready(w->ctx, self->number))
        if (atomic_load(&w->next) >= w->count)
            goto end;
    for (int i; !process->ended && (i = next_of(w)) >= 0;) {
        char *text = clv_program_text(w->ctx, &w->request[i]);
        if (text)
            clv_compiler_compile(w->ctx, self->number, w->request[i].options, text, &w->code[i]);
        free(text);
        settle(w, i);
    }
end:
    settle(w, -1);
    return NULL;
}

/* Until a process has settled one, or none is at work any more. */
static bool wait_for(work *w, int index)
{
    pthread_mutex_lock(&w->lock);
    while (!w->settled[index] && w->at_work > 0)
        pthread_cond_wait(&w->news, &w->lock);
    bool settled = w->settled[index];
    pthread_mutex_unlock(&w->lock);
    return settled;
}

static void compile_here(work *w)
{
    for (int i; (i = next_of(w)) >= 0; settle(w, i))
        if (clv_program_from_text(w->ctx, &w->request[i], &w->program[i]) < 0)
            complain(w, i);
}

/* Processes and this thread compile, or processes alone: PoCL's. What one of them fails at is built when it
 * is asked for, here, where it says why. */
static void compile_all(work *w)
{
    worker workers[CLV_MOST_COMPILERS];
    int started = 0;
    int others = w->count >= WORTH_PROCESSES ? clv_compilers_start(w->ctx) : 0;
    w->at_work = others;
    for (; started < others; started++) {
        workers[started] = (worker){.work = w, .number = started};
        if (pthread_create(&workers[started].thread, NULL, let_compile, &workers[started]))
            break;
    }
    for (int i = started; i < others; i++)
        settle(w, -1);
    if (!started || !w->ctx->two_steps)
        compile_here(w);
    for (int i = 0; i < w->count; i++)
        if (!w->program[i].program && wait_for(w, i) && w->code[i].data)
            clv_program_from_code(w->ctx, &w->request[i], &w->code[i], &w->program[i]);
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    compile_here(w); /* what is left where all processes have ended */
}

/* Processes hold some 300 MiB of a GPU each. Where these are not missed they
 * stay: a driver is slow to answer while processes leave it. */
static void end_processes(clvox_context *ctx)
{
    if (ctx->limits.type == CLVOX_DEVICE_CPU || ctx->limits.global_bytes < (size_t)16 << 30)
        clv_compilers_end(ctx);
}

/* The context keeps the programs until they are asked for. */
static int keep(work *w)
{
    clvox_context *ctx = w->ctx;
    for (int i = 0; i < w->count; i++) {
        if (!w->program[i].program)
            continue;
        clv_ready *grown = clv_grown(ctx->ready, ctx->ready_count, &ctx->ready_room, sizeof *grown);
        if (!grown)
            return CLVOX_ERROR_MEMORY;
        ctx->ready = grown;
        grown[ctx->ready_count++] = (clv_ready){w->request[i].key, w->program[i].program, w->program[i].counts};
        w->program[i].program = NULL;
    }
    return CLVOX_OK;
}

int clv_build_ahead(clvox_context *ctx, const char *const *lists, int count, const int size[3])
{
    int status = CLVOX_OK, lock = -1, lines = 0;
    double start = clv_seconds();
    work w = {.ctx = ctx, .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER};
    clv_ahead_line *line = calloc(MOST_LINES, sizeof *line);
    w.request = calloc(MOST_LINES, sizeof *w.request);
    w.program = calloc(MOST_LINES, sizeof *w.program);
    w.code = calloc(MOST_LINES, sizeof *w.code);
    w.settled = calloc(MOST_LINES, sizeof *w.settled);
    if (!line || !w.request || !w.program || !w.code || !w.settled) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < count && !ctx->not_ahead; i++)
        lines += clv_ahead_read(ctx->limits.type, lists[i], line + lines, MOST_LINES - lines);
    CLV_TRY(add_all(&w, line, lines, size));
    if (w.count == 0)
        goto end;
    if (ctx->cache_dir) {
        lock = clv_cache_lock(ctx->cache_dir, "-ahead");
        leave_out_what_is_there(&w);
    }
    qsort(w.request, (size_t)w.count, sizeof *w.request, by_length);
    if (ctx->building && w.count >= WORTH_PROCESSES)
        ctx->building(ctx->building_user, ctx->limits.name, w.count, ctx->cache_dir);
    compile_all(&w);
    clv_say(ctx, 2, "%d kernels built ahead, in %d processes, in %.3f s", w.count, ctx->compiler_count + 1,
            clv_seconds() - start);
    end_processes(ctx);
    status = keep(&w);
end:
    clv_cache_unlock(lock);
    for (int i = 0; i < w.count; i++) {
        clv_program_request_free(&w.request[i]);
        clv_code_free(&w.code[i]);
        if (w.program[i].program)
            clReleaseProgram(w.program[i].program);
    }
    free(line);
    free(w.request);
    free(w.program);
    free(w.code);
    free(w.settled);
    return status;
}

void clvox_context_announce(clvox_context *ctx, clvox_building building, void *user)
{
    ctx->building = building;
    ctx->building_user = user;
}

bool clv_ahead_take(clvox_context *ctx, clv_cache_key key, clv_program *out)
{
    for (int i = 0; i < ctx->ready_count; i++)
        if (!memcmp(&ctx->ready[i].key, &key, sizeof key)) {
            *out = (clv_program){ctx->ready[i].program, ctx->ready[i].counts};
            ctx->ready[i] = ctx->ready[--ctx->ready_count];
            return true;
        }
    return false;
}

bool clv_ahead_load(clvox_context *ctx, const clv_entry *entry, const clv_candidate *candidate,
                    const char *extra, clv_program *out)
{
    clv_read_ahead *found = find_read(ctx, entry, candidate->variant, candidate->tile, extra);
    if (!found)
        return false;
    const bool loaded = clv_program_load(ctx, found->options, &found->code, &found->counts, out);
    clv_code_free(&found->code);
    *found = ctx->read[--ctx->read_count];
    return loaded;
}

void clv_ahead_release(clvox_context *ctx)
{
    for (int i = 0; i < ctx->read_count; i++)
        clv_code_free(&ctx->read[i].code);
    free(ctx->read);
    for (int i = 0; i < ctx->ready_count; i++)
        clReleaseProgram(ctx->ready[i].program);
    free(ctx->ready);
}
