/* SPDX-License-Identifier: Apache-2.0 */
/* Many kernels built in few programs. On an H200 56 kernels took 5.8 s one by
 * one, 3.6 s as one program, and no less in several threads, but 1.5 s in four
 * processes. Its compiler's log, which says what registers a kernel takes, ends
 * after twelve or thirteen kernels. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/parallel.h"
#include "runtime/program.h"
#include "runtime/compose.h"
#include "runtime/helper.h"

enum { MOST_PARTS = 64, SIDE_BY_SIDE = 4, FEWEST = 4, LOGGED = 12, OF_A_HELPER = 4 };

/* One program: some of the units, with the options that they share. */
typedef struct part {
    char common[256];
    int count;
    size_t length;
    char *text;
    clv_cache_key key;
    cl_program program;
    unsigned char *binary; /* of a helper, with its log */
    size_t bytes;
    char *log;
} part;

typedef struct job {
    clvox_context *ctx;
    const clv_unit *units;
    clv_program *out;
    int *part_of; /* each unit's part; -1: it has its program already */
    int count;
    part parts[MOST_PARTS];
    int part_count;
    atomic_int next; /* part to be compiled */
} job;

static void suffix_of(const clv_unit *unit, char suffix[16])
{
    snprintf(suffix, 16, "__%08x", (unsigned)(unit->key.word[0] & 0xffffffffu));
}

/* Units that came from the cache take no part any more; returns the others' number. */
static int load_all(job *j)
{
    int missing = 0;
    for (int i = 0; i < j->count; i++) {
        if (!j->out[i].program && !clv_unit_load(j->ctx, &j->units[i], &j->out[i]))
            missing++;
    }
    return missing;
}

static int by_length(const void *a, const void *b)
{
    const clv_unit *const *x = a, *const *y = b;
    size_t m = strlen((*x)->source), n = strlen((*y)->source);
    return m != n ? (m < n) - (m > n) : (*x > *y) - (*x < *y);
}

/* In how many programs. CPU devices' compilers work one at a time, and NVIDIA's. */
static int parts_for(const clvox_context *ctx, int missing)
{
    int threads = clv_threads(), side = missing / FEWEST, parts;
    if (ctx->helper_count > 0) {
        int least = missing / 2 < ctx->helper_count + 1 ? missing / 2 : ctx->helper_count + 1;
        parts = (missing + OF_A_HELPER - 1) / OF_A_HELPER;
        parts = parts > least ? parts : least;
    } else if (ctx->limits.nvidia_major > 0)
        parts = (missing + LOGGED - 1) / LOGGED;
    else if (ctx->limits.type == CLVOX_DEVICE_CPU || side < 1)
        parts = 1;
    else
        parts = side > SIDE_BY_SIDE ? SIDE_BY_SIDE : side;
    if (ctx->limits.nvidia_major < 1 && ctx->helper_count < 1 && parts > threads)
        parts = threads;
    return parts > MOST_PARTS / 2 ? MOST_PARTS / 2 : parts;
}

/* Deals the missing units out, the longest first, to the shortest of the parts
 * that have the unit's options. */
static int deal(job *j, int missing)
{
    int status = CLVOX_OK, started[MOST_PARTS], kinds = 0, wanted = parts_for(j->ctx, missing);
    const clv_unit **sorted = calloc((size_t)j->count, sizeof *sorted);
    if (!sorted)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    int listed = 0;
    for (int i = 0; i < j->count; i++) {
        j->part_of[i] = -1;
        if (!j->out[i].program)
            sorted[listed++] = &j->units[i];
    }
    qsort(sorted, (size_t)listed, sizeof *sorted, by_length);
    for (int i = 0; i < listed; i++) {
        char common[256];
        int kind = 0;
        clv_compose_common(sorted[i]->options, common, sizeof common);
        while (kind < kinds && strcmp(j->parts[started[kind]].common, common) != 0)
            kind++;
        if (kind == kinds) {
            int parts = kinds ? 1 : wanted; /* other options are rare */
            if (j->part_count + parts > MOST_PARTS)
                continue;
            started[kinds++] = j->part_count;
            for (int k = 0; k < parts; k++)
                snprintf(j->parts[j->part_count++].common, sizeof common, "%s", common);
        }
        int best = started[kind];
        for (int k = best; k < j->part_count && !strcmp(j->parts[k].common, common); k++)
            best = j->parts[k].length < j->parts[best].length ? k : best;
        for (int k = 0; k < i; k++) /* the same program once */
            if (!memcmp(&sorted[k]->key, &sorted[i]->key, sizeof sorted[i]->key))
                best = j->part_of[sorted[k] - j->units];
        j->part_of[sorted[i] - j->units] = best;
        j->parts[best].length += strlen(sorted[i]->source);
        j->parts[best].count++;
    }
    free(sorted);
    return status;
}

/* Variants of different names may be the same program. */
static bool is_first(const job *j, int unit)
{
    for (int i = 0; i < unit; i++)
        if (j->part_of[i] == j->part_of[unit] &&
            !memcmp(&j->units[i].key, &j->units[unit].key, sizeof j->units[i].key))
            return false;
    return true;
}

static int compose(job *j, int index)
{
    int status = CLVOX_OK;
    size_t length = 0;
    char suffix[16];
    part *p = &j->parts[index];
    FILE *to = open_memstream(&p->text, &length);
    if (!to)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (int i = 0; i < j->count && status >= 0; i++) {
        if (j->part_of[i] != index || !is_first(j, i))
            continue;
        suffix_of(&j->units[i], suffix);
        status = clv_compose_unit(j->units[i].source, j->units[i].options, suffix, to);
    }
    fflush(to);
    p->key = clv_cache_key_start();
    clv_cache_key_add(&p->key, j->ctx->build_identity ? j->ctx->build_identity : "");
    clv_cache_key_add(&p->key, p->common);
    clv_cache_key_add(&p->key, p->text ? p->text : "");
    if (j->ctx->limits.nvidia_major > 0)
        clv_write_unseen(to);
    fclose(to);
    return status;
}

/* Compiles one part, in this process or by a helper (from 0). One that does
 * not build is no failure: its kernels are built by themselves then. */
static void compile_part(job *j, part *p, int helper)
{
    if (p->count < 1 || (helper >= 0 && clv_helper_compile(j->ctx, helper, p->common, p->text, &p->binary,
                                                           &p->bytes, &p->log)))
        return;
    if (clv_program_compile(j->ctx, "*", p->text, p->common, &p->program, &p->log) < 0) {
        p->program = NULL;
        if (j->ctx->options.verbosity >= 1)
            fprintf(stderr, "not built together: %s\n", clvox_message());
    }
}

typedef struct worker {
    job *job;
    int helper;
    pthread_t thread;
} worker;

static void *work(void *argument)
{
    worker *self = argument;
    job *j = self->job;
    /* Until a helper is there the others take what there is. */
    while (self->helper >= 0 && !clv_helper_ready(j->ctx, self->helper))
        if (atomic_load(&j->next) >= j->part_count)
            return NULL;
    for (int k; (k = atomic_fetch_add(&j->next, 1)) < j->part_count;)
        compile_part(j, &j->parts[k], self->helper);
    return NULL;
}

/* This thread compiles here; the others let helpers do it or, where a process'
 * threads are not in each other's way, do it here, too. */
static void compile_all(job *j)
{
    worker workers[SIDE_BY_SIDE + CLV_MOST_HELPERS];
    bool helped = j->ctx->helper_count > 0;
    int others = helped ? j->ctx->helper_count : j->ctx->limits.nvidia_major > 0 ? 0 : SIDE_BY_SIDE - 1;
    int started = 0;
    others = others < j->part_count ? others : j->part_count - 1;
    for (; started < others; started++) {
        workers[started] = (worker){.job = j, .helper = helped ? started : -1};
        if (pthread_create(&workers[started].thread, NULL, work, &workers[started]))
            break;
    }
    work(&(worker){.job = j, .helper = -1});
    for (int i = 0; i < started; i++)
        pthread_join(workers[i].thread, NULL);
}

/* What is known of a part's kernels. */
static void count_part(job *j, int index, const unsigned char *binary, size_t bytes)
{
    part *p = &j->parts[index];
    char suffix[16];
    for (int i = 0; i < j->count; i++) {
        clv_program *made = &j->out[i];
        if (j->part_of[i] != index)
            continue;
        suffix_of(&j->units[i], suffix);
        snprintf(made->function, sizeof made->function, "%s%s", j->units[i].function, suffix);
        clv_program_counts(j->ctx, made->function, p->log, binary, bytes, &made->counts);
    }
}

/* From what was compiled to a program, and to the disk cache. */
static void finish_part(job *j, int index)
{
    clvox_context *ctx = j->ctx;
    part *p = &j->parts[index];
    unsigned char *binary = NULL;
    size_t bytes = 0;
    if (p->binary)
        p->program = clv_program_load(ctx, p->common, p->binary, p->bytes);
    if (!p->program)
        return;
    if (ctx->cache_dir || ctx->limits.amd_simds > 0)
        binary = clv_program_binary(ctx, p->program, p->text, &bytes);
    count_part(j, index, binary, bytes);
    if (ctx->cache_dir && binary) {
        const clv_counts none = {-1, -1, -1};
        clv_cache_store(ctx->cache_dir, p->key, binary, bytes, &none);
        for (int i = 0; i < j->count; i++)
            if (j->part_of[i] == index)
                clv_cache_store_reference(ctx->cache_dir, j->units[i].key, p->key, j->out[i].function,
                                          &j->out[i].counts);
    }
    free(binary);
}

/* Hands the program of each part to its units and to the context. */
static int hand_out(job *j)
{
    int status = CLVOX_OK;
    for (int k = 0; k < j->part_count; k++) {
        part *p = &j->parts[k];
        finish_part(j, k);
        if (!p->program)
            continue;
        j->ctx->compiled++;
        for (int i = 0; i < j->count; i++)
            if (j->part_of[i] == k && clRetainProgram(p->program) == CL_SUCCESS)
                j->out[i].program = p->program;
        CLV_TRY(clv_shared_keep(j->ctx, p->key, p->program));
        p->program = NULL;
    }
end:
    return status;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int clv_units_build(clvox_context *ctx, const clv_unit *units, int count, clv_program *out)
{
    int status = CLVOX_OK, lock = -1;
    job *j = calloc(1, sizeof *j);
    memset(out, 0, (size_t)count * sizeof *out);
    if (!j || !(j->part_of = calloc((size_t)count + 1, sizeof *j->part_of))) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    j->ctx = ctx;
    j->units = units;
    j->out = out;
    j->count = count;
    int missing = load_all(j);
    if (missing > 1 && ctx->cache_dir) {
        int first = 0;
        while (out[first].program)
            first++;
        lock = clv_cache_lock(ctx->cache_dir, units[first].key);
        missing = load_all(j); /* another process may have built them meanwhile */
    }
    if (missing == 1) { /* alone after all */
        clv_cache_unlock(lock);
        lock = -1;
        for (int i = 0; i < count; i++)
            if (!out[i].program && clv_unit_build(ctx, &units[i], &out[i]) == CLVOX_ERROR_MEMORY)
                status = CLVOX_ERROR_MEMORY;
    }
    if (missing < 2)
        goto end;
    if (missing >= 2 * FEWEST) /* of fewer they come too late */
        clv_helpers_start(ctx);
    CLV_TRY(deal(j, missing));
    for (int k = 0; k < j->part_count; k++)
        CLV_TRY(compose(j, k));
    double compile = seconds();
    compile_all(j);
    double finish = seconds();
    CLV_TRY(hand_out(j));
    if (ctx->options.verbosity >= 2)
        fprintf(stderr, "%d kernels in %d programs, %d helpers: compiled in %.3f s, taken over in %.3f s\n",
                missing, j->part_count, ctx->helper_count, finish - compile, seconds() - finish);
end:
    clv_cache_unlock(lock);
    for (int k = 0; j && k < j->part_count; k++) {
        if (j->parts[k].program)
            clReleaseProgram(j->parts[k].program);
        free(j->parts[k].text);
        free(j->parts[k].binary);
        free(j->parts[k].log);
    }
    if (j)
        free(j->part_of);
    free(j);
    return status;
}
