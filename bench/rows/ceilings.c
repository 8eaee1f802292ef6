/* SPDX-License-Identifier: Apache-2.0 */
/* Ceilings of the device. Each kernel's result is checked before its time counts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clvox/threads.h"
#include "bench/bench.h"
#include "bench/papers/op/ceiling.h"
#include "bench/papers/op/copy.h"
#include "bench/papers/op/fma_rate.h"
#include "bench/papers/ref/ceiling.h"
#include "bench/papers/ref/fma_rate.h"

typedef struct bench_probe {
    clvox_context *ctx;
    clv_buffer *in, *out;
    clv_pinned *pinned;
    char *host, *host_out;
    size_t bytes;
    int access, steps, count, group;
    bool twice, wait;
    double amount; /* of a call */
} bench_probe;

/* Times calls and turns their samples into rates (unit "s": leaves them), prints and records them. */
static int probe(bench_run *run, bench_probe *p, int (*call)(void *), const char *name, const char *unit,
                 double *value)
{
    bench_time time;
    record_samples rates = {0};
    bool timers = run->timers;
    run->timers = false;
    int status = bench_measure(run, call, p, NULL, &time);
    run->timers = timers;
    if (status < 0)
        return status;
    bool seconds = !strcmp(unit, "s");
    for (int i = 0; i < time.seconds.count; i++)
        record_add_sample(&rates, seconds ? time.seconds.sample[i] : p->amount / time.seconds.sample[i]);
    record_ceiling(run->log, name, unit, &rates);
    fprintf(run->out, "%-34s %9.2f %-8s %5.1f%%\n", name, rates.median * (seconds ? 1e6 : 1e-9),
            seconds               ? "us"
            : !strcmp(unit, "B/s") ? "GB/s"
            : !strcmp(unit, "1/s") ? "G/s"
                                   : "GFLOP/s",
            100 * rates.spread);
    fflush(run->out);
    if (value)
        *value = rates.median;
    return CLVOX_OK;
}

/* ---- copies ---- */

static int call_copy(void *what)
{
    bench_probe *p = what;
    int n = (int)(p->bytes / sizeof(float));
    p->amount = 2. * (double)p->bytes;
    return p->access ? clv_ceiling_copy(p->ctx, p->access, p->in, p->out, n)
                     : clv_copy(p->ctx, p->in, p->out, n);
}

/* One copy, compared word by word at both ends and in the middle. */
static int check_copied(bench_probe *p, const char *name)
{
    enum { WORDS = 1024 };
    uint32_t from[WORDS], to[WORDS];
    int status = CLVOX_OK;
    size_t some = p->bytes < sizeof from ? p->bytes : sizeof from;
    CLV_TRY(clv_buffer_fill(p->ctx, p->out, 0, 0, p->bytes));
    CLV_TRY(call_copy(p));
    for (int part = 0; part < 3; part++) {
        size_t at = (p->bytes - some) / 8 * (size_t)part * 4; /* 0, half, all of the way */
        CLV_TRY(clv_buffer_read(p->ctx, p->in, at, from, some));
        CLV_TRY(clv_buffer_read(p->ctx, p->out, at, to, some));
        if (memcmp(from, to, some))
            return bench_wrong(p->ctx, name, "bytes differ");
    }
end:
    return status;
}

static int copy_of(bench_run *run, bench_probe *p, size_t bytes, int access, const char *name, double *value)
{
    p->bytes = bytes;
    p->access = access;
    int status = check_copied(p, name);
    return status < 0 ? status : probe(run, p, call_copy, name, "B/s", value);
}

/* Room for a copy of so many bytes, or less on a small device. */
static size_t affordable(const bench_run *run, size_t bytes)
{
    const clvox_device_limits *l = clvox_context_limits(run->ctx);
    while (bytes > 1 << 20 && ((l->max_allocation && bytes > l->max_allocation) ||
                               (l->global_bytes && bytes > l->global_bytes / 8)))
        bytes = bytes / 2 & ~(size_t)15;
    return bytes;
}

static int open_copies(bench_probe *p, size_t bytes)
{
    int status = CLVOX_OK;
    uint32_t *words = malloc(bytes);
    if (!words)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = (uint32_t)i * 2654435761u & 0x7f7fffffu; /* no NaN */
    CLV_TRY(clv_buffer_create(p->ctx, bytes, "bench data", &p->in));
    CLV_TRY(clv_buffer_create(p->ctx, bytes, "bench data", &p->out));
    CLV_TRY(clv_buffer_write(p->ctx, p->in, 0, words, bytes));
end:
    free(words);
    return status;
}

static void close_probe(bench_probe *p)
{
    clv_buffer_destroy(&p->in);
    clv_buffer_destroy(&p->out);
    clv_pinned_destroy(&p->pinned);
    free(p->host);
    free(p->host_out);
    *p = (bench_probe){.ctx = p->ctx};
}

/* ---- arithmetic ---- */

static int call_peak(void *what)
{
    bench_probe *p = what;
    const clv_fma_chains chains = {p->twice, 1, 0.99f, 0.5f, p->steps};
    return clv_fma_rate(p->ctx, &chains, p->in, p->out, &p->amount);
}

static int arithmetic(bench_run *run, bool twice, const char *name, double *value)
{
    enum { FEW = 9 };
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .twice = twice, .steps = FEW};
    float got;
    CLV_TRY(clv_buffer_create(run->ctx, 64, "bench data", &p.in));
    CLV_TRY(clv_buffer_create(run->ctx, CLV_FMA_ROOM * sizeof(float), "bench data", &p.out));
    CLV_TRY(call_peak(&p));
    CLV_TRY(clv_buffer_read(run->ctx, p.out, 0, &got, sizeof got));
    /* A work-item has one lane or as many as its vectors are wide. */
    double lanes = (double)got / ref_fma_rate(1, (double)0.99f, 0.5, FEW);
    if (!(fabs(lanes - rint(lanes)) < 1e-4 * lanes && rint(lanes) >= 1)) {
        status = bench_wrong(run->ctx, name, "%g lanes", lanes);
        goto end;
    }
    p.steps = 1 << 14;
    CLV_TRY(probe(run, &p, call_peak, name, "FLOP/s", value));
end:
    close_probe(&p);
    return status;
}

/* ---- reads ---- */

static int call_reads(void *what)
{
    bench_probe *p = what;
    return clv_ceiling_reads(p->ctx, p->steps, p->in, p->out, &p->amount, &p->group);
}

static int reads(bench_run *run)
{
    enum { FEW = 24, CELLS = CLV_CEILING_CELLS + CLV_CEILING_BEYOND };
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .steps = FEW};
    float cells[CELLS], got;
    for (int i = 0; i < CELLS; i++)
        cells[i] = (float)(i * 7 % 32) / 32;
    CLV_TRY(clv_buffer_create(run->ctx, sizeof cells, "bench data", &p.in));
    CLV_TRY(clv_buffer_create(run->ctx, CLV_CEILING_ROOM * sizeof(float), "bench data", &p.out));
    CLV_TRY(clv_buffer_write(run->ctx, p.in, 0, cells, sizeof cells));
    CLV_TRY(call_reads(&p));
    for (int l = 0; l < p.group; l++) {
        CLV_TRY(clv_buffer_read(run->ctx, p.out, (size_t)l * sizeof got, &got, sizeof got));
        double want = ref_ceiling_reads(cells, CLV_CEILING_CELLS, l, FEW);
        if (!(fabs((double)got - want) < 1e-5)) {
            status = bench_wrong(run->ctx, BENCH_READS, "%g should be %g", (double)got, want);
            goto end;
        }
    }
    p.steps = 4096;
    CLV_TRY(probe(run, &p, call_reads, BENCH_READS, "1/s", &run->reads));
end:
    close_probe(&p);
    return status;
}

/* ---- local memory, atomics, launches ---- */

static int call_local(void *what)
{
    bench_probe *p = what;
    return clv_ceiling_local(p->ctx, p->steps, p->in, p->out, &p->amount, &p->group);
}

static int local_memory(bench_run *run)
{
    enum { FEW = 12, CELLS = 4 * 256 };
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .steps = FEW};
    float cells[CELLS], got[4];
    double want[4];
    for (int i = 0; i < CELLS; i++)
        cells[i] = (float)(i * 7 % 32) / 32;
    CLV_TRY(clv_buffer_create(run->ctx, sizeof cells, "bench data", &p.in));
    CLV_TRY(clv_buffer_create(run->ctx, CLV_CEILING_ROOM * sizeof(float), "bench data", &p.out));
    CLV_TRY(clv_buffer_write(run->ctx, p.in, 0, cells, sizeof cells));
    CLV_TRY(call_local(&p));
    for (int l = 0; l < p.group; l++) {
        CLV_TRY(clv_buffer_read(run->ctx, p.out, (size_t)l * sizeof got, got, sizeof got));
        ref_ceiling_local(cells, p.group, l, FEW, want);
        for (int k = 0; k < 4; k++)
            if (!(fabs((double)got[k] - want[k]) < 1e-5)) {
                status = bench_wrong(run->ctx, "local memory", "%g should be %g", (double)got[k], want[k]);
                goto end;
            }
    }
    p.steps = 4096;
    CLV_TRY(probe(run, &p, call_local, "local memory", "B/s", NULL));
end:
    close_probe(&p);
    return status;
}

static int call_atomics(void *what)
{
    bench_probe *p = what;
    return clv_ceiling_atomics(p->ctx, p->count, p->steps, p->out, &p->amount);
}

static int atomics(bench_run *run, int count, const char *name)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .count = count, .steps = 3};
    size_t bytes = (size_t)count * sizeof(int);
    int *got = malloc(bytes), *want = malloc(bytes);
    if (!got || !want) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    CLV_TRY(clv_buffer_create(run->ctx, bytes, "bench data", &p.out));
    CLV_TRY(clv_buffer_fill(run->ctx, p.out, 0, 0, bytes));
    CLV_TRY(call_atomics(&p));
    CLV_TRY(clv_buffer_read(run->ctx, p.out, 0, got, bytes));
    ref_ceiling_atomics(count, (int)(p.amount / p.steps), p.steps, want);
    if (memcmp(got, want, bytes)) {
        status = bench_wrong(run->ctx, name, "counts differ");
        goto end;
    }
    p.steps = 64;
    CLV_TRY(probe(run, &p, call_atomics, name, "1/s", NULL));
end:
    free(got);
    free(want);
    close_probe(&p);
    return status;
}

static int call_empty(void *what)
{
    bench_probe *p = what;
    int status = clv_ceiling_empty(p->ctx, p->out);
    return status < 0 || !p->wait ? status : clv_finish(p->ctx);
}

static int launches(bench_run *run)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx};
    CLV_TRY(clv_buffer_create(run->ctx, 4, "bench data", &p.out));
    CLV_TRY(probe(run, &p, call_empty, "launch", "s", NULL));
    p.wait = true;
    CLV_TRY(probe(run, &p, call_empty, "launch and wait", "s", NULL));
end:
    close_probe(&p);
    return status;
}

/* ---- transfers ---- */

static int call_upload(void *what)
{
    bench_probe *p = what;
    return clv_buffer_write(p->ctx, p->out, 0, p->pinned ? p->pinned->data : p->host, p->bytes);
}

static int call_download(void *what)
{
    bench_probe *p = what;
    return clv_buffer_read(p->ctx, p->out, 0, p->pinned ? p->pinned->data : p->host, p->bytes);
}

static int transfers(bench_run *run, bool pinned)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .bytes = affordable(run, (size_t)64 << 20)};
    p.amount = (double)p.bytes;
    CLV_TRY(clv_buffer_create(run->ctx, p.bytes, "bench data", &p.out));
    if (pinned) {
        CLV_TRY(clv_pinned_create(run->ctx, p.bytes, &p.pinned));
        memset(p.pinned->data, 1, p.bytes);
    } else if (!(p.host = malloc(p.bytes))) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    } else {
        memset(p.host, 1, p.bytes);
    }
    CLV_TRY(probe(run, &p, call_upload, pinned ? "upload, pinned" : "upload, pageable", "B/s", NULL));
    CLV_TRY(probe(run, &p, call_download, pinned ? "download, pinned" : "download, pageable", "B/s", NULL));
end:
    close_probe(&p);
    return status;
}

/* ---- the host ---- */

enum { PARTS = 64 };

static int copy_part(void *what, size_t part, int worker)
{
    const bench_probe *p = what;
    size_t size = p->bytes / PARTS;
    (void)worker;
    memcpy(p->host_out + part * size, p->host + part * size, size);
    return CLVOX_OK;
}

static int call_host_copy(void *what)
{
    return clvox_parallel(PARTS, copy_part, what);
}

int bench_host_limit(bench_run *run)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx, .bytes = affordable(run, (size_t)256 << 20) / PARTS * PARTS};
    if (run->host_copy > 0)
        return CLVOX_OK;
    p.amount = 2. * (double)p.bytes;
    p.host = malloc(p.bytes);
    p.host_out = malloc(p.bytes);
    if (!p.host || !p.host_out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    memset(p.host, 1, p.bytes);
    CLV_TRY(probe(run, &p, call_host_copy, BENCH_HOST_COPY, "B/s", &run->host_copy));
end:
    close_probe(&p);
    return status;
}

/* ---- all of them ---- */

static void print_heading(const bench_run *run)
{
    fprintf(run->out, "%s (%s, driver %s), volumes of %dx%dx%d\n%-34s %9s %-8s %6s\n",
            clvox_context_limits(run->ctx)->name, clvox_context_limits(run->ctx)->platform,
            clvox_context_limits(run->ctx)->driver, run->size[0], run->size[1], run->size[2], "ceiling",
            "rate", "", "spread");
}

/* The copy that bounds rows: of a field, which neither a cache nor a small launch flatters. */
int bench_limits(bench_run *run)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx};
    double voxels = (double)run->size[0] * run->size[1] * run->size[2];
    if (run->copy > 0)
        return CLVOX_OK;
    print_heading(run);
    size_t bytes = affordable(run, (size_t)voxels / 4 * 4 * 3 * sizeof(float));
    CLV_TRY(open_copies(&p, bytes));
    CLV_TRY(copy_of(run, &p, bytes, 0, "copy", &run->copy));
    CLV_TRY(arithmetic(run, false, "multiply-add fp32", &run->peak));
    if (clvox_context_limits(run->ctx)->type != CLVOX_DEVICE_CPU)
        CLV_TRY(reads(run));
end:
    close_probe(&p);
    return status;
}

int bench_ceilings(bench_run *run)
{
    int status = CLVOX_OK;
    bench_probe p = {.ctx = run->ctx};
    const clvox_device_limits *l = clvox_context_limits(run->ctx);
    CLV_TRY(bench_limits(run));
    if (l->fp64)
        CLV_TRY(arithmetic(run, true, "multiply-add fp64", NULL));
    const size_t most = affordable(run, (size_t)256 << 20);
    CLV_TRY(open_copies(&p, most));
    for (int access = 16; access >= 4; access /= 2)
        for (size_t bytes = most; bytes >= 1 << 18; bytes /= 16) {
            char name[48];
            if (access < 16 && bytes < most)
                break;
            snprintf(name, sizeof name, bytes >= 1 << 20 ? "copy %zu MiB, %d-byte" : "copy %zu KiB, %d-byte",
                     bytes >= 1 << 20 ? bytes >> 20 : bytes >> 10, access);
            CLV_TRY(copy_of(run, &p, bytes, access, name, NULL));
        }
    close_probe(&p);
    CLV_TRY(local_memory(run));
    CLV_TRY(atomics(run, CLV_CEILING_COUNTERS, "atomics, 65536 counters"));
    CLV_TRY(atomics(run, 1, "atomics, one counter"));
    CLV_TRY(launches(run));
    CLV_TRY(transfers(run, false));
    CLV_TRY(transfers(run, true));
    CLV_TRY(bench_host_limit(run));
    fprintf(run->out, "\n");
end:
    close_probe(&p);
    return status;
}
