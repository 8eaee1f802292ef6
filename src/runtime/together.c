/* SPDX-License-Identifier: Apache-2.0 */
/* Many kernels built in few programs. On an H200 a program took 0.14 s, 0.10 s
 * of them whatever was in it; four built side by side took as long as two and
 * a half one after another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "runtime/build.h"
#include "runtime/compose.h"

enum { MOST_PARTS = 64, SIDE_BY_SIDE = 4, FEWEST = 4 };

/* One program: some of the units, with the options that they share. */
typedef struct part {
    char common[256];
    int count;
    size_t length;
    char *text;
    clv_cache_key key;
    cl_program program;
} part;

typedef struct job {
    clvox_context *ctx;
    const clv_unit *units;
    clv_program *out;
    int *part_of; /* each unit's part; -1: it has its program already */
    int count;
    part parts[MOST_PARTS];
    int part_count;
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

/* Deals the missing units out, the longest first, to the shortest of the parts
 * that have the unit's options. CPU devices' compilers work one at a time. */
static int deal(job *j, int missing)
{
    int status = CLVOX_OK, started[MOST_PARTS], kinds = 0;
    int threads = clv_threads(), wanted = missing / FEWEST;
    const clv_unit **sorted = calloc((size_t)j->count, sizeof *sorted);
    if (!sorted)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    if (j->ctx->limits.type == CLVOX_DEVICE_CPU || wanted < 1)
        wanted = 1;
    wanted = wanted > SIDE_BY_SIDE ? SIDE_BY_SIDE : wanted;
    wanted = wanted > threads ? threads : wanted;
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
    fclose(to);
    p->key = clv_cache_key_start();
    clv_cache_key_add(&p->key, j->ctx->build_identity ? j->ctx->build_identity : "");
    clv_cache_key_add(&p->key, p->common);
    clv_cache_key_add(&p->key, p->text);
    return status;
}

/* Builds one part, with what is known of its kernels. One that does not build
 * is no failure: its kernels are built by themselves then. */
static int build_part(void *user, size_t index, int worker)
{
    job *j = user;
    clvox_context *ctx = j->ctx;
    part *p = &j->parts[index];
    char *log = NULL, suffix[16];
    unsigned char *binary = NULL;
    size_t bytes = 0;
    bool unknown = false;
    (void)worker;
    if (p->count < 1 || clv_program_compile(ctx, "*", p->text, p->common, &p->program, &log) < 0) {
        if (p->count > 0 && ctx->options.verbosity >= 1)
            fprintf(stderr, "not built together: %s\n", clvox_message());
        goto end;
    }
    if (ctx->cache_dir || ctx->limits.amd_simds > 0)
        binary = clv_program_binary(ctx, p->program, p->text, &bytes);
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < j->count; i++) {
            clv_program *made = &j->out[i];
            if (j->part_of[i] != (int)index)
                continue;
            suffix_of(&j->units[i], suffix);
            snprintf(made->function, sizeof made->function, "%s%s", j->units[i].function, suffix);
            clv_program_counts(ctx, made->function, log, binary, bytes, &made->counts);
            unknown = unknown || made->counts.registers < 0;
        }
        if (pass > 0 || !unknown || !ctx->cache_dir || ctx->limits.nvidia_major < 1)
            break;
        free(log);
        log = clv_program_log_again(ctx, "*", p->text, p->common);
    }
    if (ctx->cache_dir && binary) {
        const clv_counts none = {-1, -1, -1};
        clv_cache_store(ctx->cache_dir, p->key, binary, bytes, &none);
        for (int i = 0; i < j->count; i++)
            if (j->part_of[i] == (int)index)
                clv_cache_store_reference(ctx->cache_dir, j->units[i].key, p->key, j->out[i].function,
                                          &j->out[i].counts);
    }
end:
    free(binary);
    free(log);
    return CLVOX_OK;
}

/* Hands the program of each part to its units and to the context. */
static int hand_out(job *j)
{
    int status = CLVOX_OK;
    for (int k = 0; k < j->part_count; k++) {
        part *p = &j->parts[k];
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
    CLV_TRY(deal(j, missing));
    for (int k = 0; k < j->part_count; k++)
        CLV_TRY(compose(j, k));
    CLV_TRY(clv_parallel((size_t)j->part_count, build_part, j));
    CLV_TRY(hand_out(j));
end:
    clv_cache_unlock(lock);
    for (int k = 0; j && k < j->part_count; k++) {
        if (j->parts[k].program)
            clReleaseProgram(j->parts[k].program);
        free(j->parts[k].text);
    }
    if (j)
        free(j->part_of);
    free(j);
    return status;
}
