/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, chapter 4: streams of volumes through the device by how their steps overlap. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_table.h"
#include "bench/papers/op/greedy.h"
#include "bench/papers/op/nary.h"
#include "bench/papers/stream.h"
#include "op/image/gaussian.h"
#include "op/image/pointwise.h"

/* ATLAS_VOLUMES: of an item of an atlas, an image and its displacement. */
enum { SOURCES = 4, LEAST = 3, TEMPORARY = 4, MOST_PASSES = 4096, WINDOW_WIDTH = 3, ATLAS_VOLUMES = 4 };

/* Task of a stream; those before NORMALIZATION take nothing back. */
typedef enum task { MAXIMUM, AVERAGING, ENERGY, NORMALIZATION, GAUSSIAN, WINDOW, ATLAS, CHAIN } task;

/* A way to stream. */
typedef struct way {
    stream_mode mode;
    stream_order order;
    const char *name;
} way;

static const way ways[] = {
    {STREAM_SYNCHRONOUS, STREAM_UED, "sync"}, {STREAM_IMPLICIT, STREAM_UED, "implicit"},
    {STREAM_ENGINES, STREAM_UED, "engines"},  {STREAM_INDEPENDENT, STREAM_UED, "UED"},
    {STREAM_INDEPENDENT, STREAM_EDU, "EDU"},  {STREAM_INDEPENDENT, STREAM_DUE, "DUE"},
};
enum { WAYS = sizeof ways / sizeof *ways, FIRST_INDEPENDENT = 3 };

typedef struct streaming {
    bench_run *run;
    int size[3], count;
    size_t bytes, in, out; /* of a volume; of an item of the task */
    task task;
    int passes, waits;                /* of CHAIN, and after how many of them it waits; -1: not at all */
    clv_buffer *sum, *tmp[TEMPORARY]; /* one for each queue */
    clv_greedy greedy; /* of an atlas, with an image, its displacement, the next one, the deformed image */
    clv_buffer *image, *u, *next, *deformed, *target;
    float *source, *row;              /* an item more than SOURCES volumes; an item */
    int file[2];                      /* that volumes are read from and written to; -1: memory */
    bool copies;                      /* staging is filled and emptied; else it has been filled before */
    uint64_t hash;                    /* of what came back */
} streaming;

/* ---- the steps ------------------------------------------------------------ */

static int load(void *user, int item, void *staging)
{
    const streaming *s = user;
    const size_t at = (size_t)(item % SOURCES) * s->bytes;
    if (s->file[0] >= 0 && pread(s->file[0], staging, s->in, (off_t)at) != (ssize_t)s->in)
        return clvox_fail(CLVOX_ERROR_FILE, "the file of a stream cannot be read");
    if (s->file[0] < 0 && s->copies)
        memcpy(staging, (const char *)s->source + at, s->in);
    return CLVOX_OK;
}

static uint64_t hash_of(uint64_t hash, const void *values, size_t bytes)
{
    const uint32_t *word = values;
    for (size_t i = 0; i < bytes / sizeof *word; i++)
        hash = (hash ^ word[i]) * UINT64_C(1099511628211);
    return hash;
}

static int store(void *user, int item, const void *staging)
{
    streaming *s = user;
    const off_t at = (off_t)((size_t)(item % SOURCES) * s->bytes);
    if (s->file[1] >= 0 && pwrite(s->file[1], staging, s->out, at) != (ssize_t)s->out)
        return clvox_fail(CLVOX_ERROR_FILE, "the file of a stream cannot be written");
    if (s->copies)
        s->hash = hash_of(s->hash, staging, s->out);
    return CLVOX_OK;
}

static bool takes_back(task t)
{
    return t >= NORMALIZATION;
}

/* Tasks whose items change what the next ones see. */
static bool adds_up(task t)
{
    return t < NORMALIZATION || t == ATLAS;
}

static bool in_order(task t)
{
    return t == WINDOW || t == ATLAS;
}

static void set_task(streaming *s, task t)
{
    s->task = t;
    s->in = t == ATLAS ? ATLAS_VOLUMES * s->bytes : s->bytes;
    s->out = t == ATLAS ? 3 * s->bytes : takes_back(t) ? s->bytes : 0;
}

/* The mean of the last volumes, of which the device keeps so many: one comes, one goes (section 4.2). */
static int slide(streaming *s, int item, clv_buffer *in, clv_buffer *out)
{
    const int count = item + 1 < WINDOW_WIDTH ? item + 1 : WINDOW_WIDTH;
    const int status = clv_buffer_copy(s->run->ctx, in, 0, s->tmp[item % WINDOW_WIDTH], 0, s->bytes);
    return status < 0 ? status
                      : clv_mean(s->run->ctx, (const clv_buffer *const *)s->tmp, count,
                                 (int)(s->bytes / sizeof(float)), out);
}

/* A step of one subject of an atlas (algorithm 1): its image and displacement come, the displacement goes,
 * the deformed image is added to the next template. */
static int match(streaming *s, clv_buffer *in, clv_buffer *out)
{
    const float mean[4] = {1, 1 / (float)s->count};
    int status = CLVOX_OK;
    clvox_context *ctx = s->run->ctx;
    CLV_TRY(clv_buffer_copy(ctx, in, 0, s->image, 0, s->bytes));
    CLV_TRY(clv_buffer_copy(ctx, in, s->bytes, s->u, 0, 3 * s->bytes));
    CLV_TRY(clv_greedy_deform(ctx, &s->greedy, s->image, s->u, s->deformed));
    CLV_TRY(clv_greedy_velocity(ctx, &s->greedy, s->deformed, s->target, NULL));
    /* No vector is longer than the force's longest over gamma: nothing moves by more than half of that. */
    CLV_TRY(clv_greedy_move(ctx, &s->greedy, .5f * s->greedy.op.gamma, s->u, s->next));
    CLV_TRY(clv_greedy_deform(ctx, &s->greedy, s->image, s->next, s->deformed));
    CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(s->sum, s->size), s->sum, s->deformed, NULL,
                          mean));
    CLV_TRY(clv_buffer_copy(ctx, s->next, 0, out, 0, 3 * s->bytes));
end:
    return status;
}

static int compute(void *user, int item, clv_buffer *in, clv_buffer *out)
{
    int status = CLVOX_OK;
    streaming *s = user;
    clvox_context *ctx = s->run->ctx;
    const float mean[4] = {1, 1 / (float)s->count}, square[4] = {1, 1}, range[4] = {1.6f, 0, 0, -.3f},
                sigma[3] = {2, 2, 2};
    switch (s->task) {
    case MAXIMUM:
        return clv_largest(ctx, s->sum, in, (int)(s->bytes / sizeof(float)), s->sum);
    case WINDOW: return slide(s, item, in, out);
    case ATLAS: return match(s, in, out);
    case AVERAGING:
        return clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(s->sum, s->size), s->sum, in, NULL, mean);
    case ENERGY:
        return clv_pointwise(ctx, CLV_POINTWISE_MULTIPLY, CLV_VOLUME(s->sum, s->size), in, in, s->sum,
                             square);
    case NORMALIZATION:
        return clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, s->size), in, NULL, NULL, range);
    case GAUSSIAN:
        return clv_gaussian(ctx, CLV_VOLUME(in, s->size), sigma, CLV_GAUSSIAN_AUTO, s->tmp[item % TEMPORARY],
                            out);
    case CHAIN: break;
    }
    for (int i = 0; i < s->passes; i++) {
        if (i == s->waits)
            CLV_TRY(clv_finish(ctx));
        CLV_TRY(clv_pointwise(ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(out, s->size), i ? out : in, NULL, NULL,
                              (float[4]){.5f, 0, 0, .25f}));
    }
    status = s->waits == s->passes ? clv_finish(ctx) : CLVOX_OK;
end:
    return status;
}

static stream_work work_of(streaming *s)
{
    stream_work work = {s->count, s->in, s->out, load, compute, store, s};
    if (!work.out)
        work.store = NULL;
    return work;
}

/* ---- right or wrong -------------------------------------------------------- */

/* The sum of a stream that takes nothing back, into its hash; cleared for the next. */
static int read_sum(streaming *s)
{
    int status = CLVOX_OK;
    if (adds_up(s->task)) {
        CLV_TRY(clv_buffer_read(s->run->ctx, s->sum, 0, s->row, s->bytes));
        s->hash = hash_of(s->hash, s->row, s->bytes);
    }
    status = clv_buffer_fill(s->run->ctx, s->sum, 0, 0, s->bytes);
end:
    return status;
}

/* Result of a loop without a stream. */
static int loop(streaming *s, uint64_t *hash)
{
    int status = CLVOX_OK;
    clv_buffer *in = NULL, *out = NULL;
    const clv_request requests[] = {{&in, s->in, "bench data"}, {&out, s->out, "bench data"}};
    s->hash = 0;
    CLV_TRY(clv_pool_take(s->run->ctx, requests, 2));
    CLV_TRY(clv_buffer_fill(s->run->ctx, s->sum, 0, 0, s->bytes));
    for (int i = 0; i < s->count; i++) {
        CLV_TRY(clv_buffer_write(s->run->ctx, in, 0,
                                 (const char *)s->source + (size_t)(i % SOURCES) * s->bytes, s->in));
        CLV_TRY(compute(s, i, in, takes_back(s->task) ? out : NULL));
        if (!takes_back(s->task))
            continue;
        CLV_TRY(clv_buffer_read(s->run->ctx, out, 0, s->row, s->out));
        s->hash = hash_of(s->hash, s->row, s->out);
    }
    CLV_TRY(read_sum(s));
    *hash = s->hash;
end:
    clv_pool_release(requests, 2);
    return status;
}

static int verify(streaming *s, const way *w)
{
    int status = CLVOX_OK;
    uint64_t want = 0;
    stream *items = NULL;
    const stream_work work = work_of(s);
    s->copies = true;
    CLV_TRY(loop(s, &want));
    s->hash = 0;
    CLV_TRY(stream_create(s->run->ctx, &work, w->mode, w->order, &items));
    CLV_TRY(stream_run(items));
    CLV_TRY(read_sum(s));
    if (s->hash != want)
        status = bench_wrong(s->run->ctx, w->name, "the stream's results are not those of a loop");
end:
    stream_destroy(&items);
    s->copies = false;
    return status;
}

/* ---- time ------------------------------------------------------------------ */

static int time_way(streaming *s, const way *w, record_samples *samples)
{
    int status = CLVOX_OK;
    const stream_work work = work_of(s);
    stream *items = NULL;
    const double end = clv_seconds() + s->run->seconds;
    *samples = (record_samples){.count = 0};
    CLV_TRY(stream_create(s->run->ctx, &work, w->mode, w->order, &items));
    for (int i = 0; i <= LEAST || (samples->spread > .03 && clv_seconds() < end && i < RECORD_SAMPLES); i++) {
        const double start = clv_seconds();
        CLV_TRY(stream_run(items));
        if (i) /* the first is to warm up */
            record_add_sample(samples, clv_seconds() - start);
    }
end:
    stream_destroy(&items);
    return status;
}

/* All items' steps alone: up, compute, down. */
static int time_steps(streaming *s, double seconds[3])
{
    int status = CLVOX_OK;
    clvox_context *ctx = s->run->ctx;
    clv_buffer *in = NULL, *out = NULL;
    clv_pinned *pinned = NULL;
    const bool back = takes_back(s->task);
    const clv_request requests[] = {{&in, s->in, "bench data"}, {&out, s->out, "bench data"}};
    CLV_TRY(clv_pool_take(ctx, requests, 2));
    CLV_TRY(clv_pinned_create(ctx, s->in, &pinned));
    memcpy(pinned->data, s->source, s->in);
    for (int again = 0; again < 2; again++) /* the first is to warm up */
        for (int step = 0; step < 3; step++) {
            const double start = clv_seconds();
            for (int i = 0; i < s->count && (step < 2 || back); i++)
                CLV_TRY(step == 0   ? clv_buffer_write(ctx, in, 0, pinned->data, s->in)
                        : step == 1 ? compute(s, i, in, back ? out : NULL)
                                    : clv_buffer_read(ctx, out, 0, pinned->data, s->out));
            CLV_TRY(clv_finish(ctx));
            seconds[step] = clv_seconds() - start;
        }
end:
    clv_pinned_destroy(&pinned);
    clv_pool_release(requests, 2);
    return status;
}

/* ---- tables ---------------------------------------------------------------- */

static void add_row(streaming *s, const char *what, const char *how, const record_samples *samples,
                    const record_paper *paper)
{
    char name[96];
    snprintf(name, sizeof name, "stream, %s, %s", what, how);
    const record_row row = {.group = "ha2011",
                            .name = name,
                            .size = {s->size[0], s->size[1], s->size[2]},
                            .seconds = samples,
                            .verified = true,
                            .paper = paper};
    record_add(s->run->log, &row);
}

/* One line: the steps alone, and every way. figure: the thesis's time of `sync` over the best independent
 * one. */
static int line(streaming *s, const char *what, double figure)
{
    int status = CLVOX_OK;
    double steps[3] = {0};
    record_samples samples[WAYS] = {{0}};
    const record_samples *best = NULL;
    CLV_TRY(time_steps(s, steps));
    fprintf(s->run->out, "%-26s %8.1f %8.1f %8.1f", what, 1e3 * steps[0], 1e3 * steps[1], 1e3 * steps[2]);
    for (int i = 0; i < WAYS; i++) {
        if (ways[i].mode == STREAM_IMPLICIT && in_order(s->task)) { /* whose queues know no order of items */
            fprintf(s->run->out, " %9s", "-");
            continue;
        }
        status = verify(s, &ways[i]);
        if (status >= 0)
            status = time_way(s, &ways[i], &samples[i]);
        if (status == CLVOX_ERROR_MEMORY && ways[i].mode == STREAM_IMPLICIT) {
            fprintf(s->run->out, " %9s", "no room");
            status = CLVOX_OK;
            continue;
        }
        CLV_TRY(status);
        fprintf(s->run->out, " %9.1f", 1e3 * samples[i].median);
        if (i >= FIRST_INDEPENDENT && (!best || samples[i].median < best->median))
            best = &samples[i];
    }
    const double longest = fmax(steps[0], fmax(steps[1], steps[2]));
    fprintf(s->run->out, " %8.2f\n", best->median / longest);
    fflush(s->run->out);
    const record_paper paper = {.value = figure,
                                .here = samples[0].median / best->median,
                                .unit = "times as fast as one step after another",
                                .device = "GTX 480",
                                .conclusion = "streams hide the shorter steps",
                                .holds = bench_slower(&samples[0], best)};
    for (int i = 0; i < WAYS; i++)
        if (samples[i].count)
            add_row(s, what, ways[i].name, &samples[i], &samples[i] == best ? &paper : NULL);
end:
    return status;
}

static void heading(const streaming *s, const char *what)
{
    fprintf(s->run->out, "%-26s %8s %8s %8s", what, "up", "compute", "down");
    for (int i = 0; i < WAYS; i++)
        fprintf(s->run->out, " %9s", ways[i].name);
    fprintf(s->run->out, " %8s\n", "longest");
}

/* Passes that take `ratio` of the time of the transfers. */
static int choose_passes(streaming *s, double ratio)
{
    double steps[3];
    s->passes = 8;
    const int status = time_steps(s, steps);
    const double passes = ratio * (steps[0] + steps[2]) / (steps[1] / s->passes);
    s->passes = passes < 2 ? 2 : passes > MOST_PASSES ? MOST_PASSES : (int)passes;
    return status;
}

static int ratios(streaming *s)
{
    static const double share[] = {.25, 1, 4};
    static const char *const names[] = {"compute 1/4 of transfers", "as long as transfers",
                                        "compute 4 x transfers"};
    int status = CLVOX_OK;
    fprintf(s->run->out,
            "\nFigure 4.12: %d volumes, ms in all: each step alone, then one step after another, a queue for "
            "each\n"
            "volume, by the device's engines, and independent of them in three orders; the best of these "
            "over the\n"
            "longest step. The thesis (GTX 480): independent streams take as long as the longest.\n",
            s->count);
    heading(s, "");
    set_task(s, CHAIN);
    s->waits = -1;
    for (int i = 0; i < 3; i++) {
        CLV_TRY(choose_passes(s, share[i]));
        CLV_TRY(line(s, names[i], 0));
    }
end:
    return status;
}

static int waiting(streaming *s)
{
    static const char *const names[] = {"waits before", "waits in the middle", "waits at the end"};
    int status = CLVOX_OK;
    fprintf(
        s->run->out,
        "\nFigure 4.13: compute that waits for the device, as long as the transfers. The thesis: one of the\n"
        "orders is always the best, and queues for volumes gain nothing.\n");
    heading(s, "");
    set_task(s, CHAIN);
    s->waits = -1;
    CLV_TRY(choose_passes(s, 1));
    for (int i = 0; i < 3; i++) {
        s->waits = s->passes * i / 2;
        CLV_TRY(line(s, names[i], 0));
    }
end:
    s->waits = -1;
    return status;
}

static int functions(streaming *s)
{
    static const struct {
        task task;
        const char *name;
        double figure; /* of the thesis: Sync over Hrd-indp */
    } rows[] = {{MAXIMUM, "maximum", 360. / 349},
                {ENERGY, "energy", 710. / 698},
                {AVERAGING, "averaging", 378. / 361},
                {NORMALIZATION, "normalization", 694. / 677},
                {GAUSSIAN, "Gaussian, sigma 2", 1099. / 678},
                {WINDOW, "sliding mean of three", 0},
                {ATLAS, "atlas, one iteration", 555204. / 340356}};
    int status = CLVOX_OK;
    fprintf(s->run->out, "\nTable 4.1: functions (the thesis, GTX 480, ms: maximum 360 and 349, energy 710 "
                         "and 698, averaging 378 and 361,\n"
                         "normalization 694 and 677, Gaussian 1099 and 678, atlas 555204 and 340356, one "
                         "after another and independent);\n"
                         "and a sliding window (figure 4.4), of which the thesis has no time\n");
    heading(s, "");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        set_task(s, rows[i].task);
        CLV_TRY(line(s, rows[i].name, rows[i].figure));
    }
end:
    return status;
}

/* Volumes that come from a file and go into one. */
static int disk(streaming *s)
{
    static const way how[] = {{STREAM_SYNCHRONOUS, STREAM_UED, "one step after another"},
                              {STREAM_INDEPENDENT, STREAM_DUE, "three steps at once"},
                              {STREAM_DISK, STREAM_DUE, "five steps at once"}};
    int status = CLVOX_OK;
    record_samples samples[3];
    FILE *files[2] = {tmpfile(), tmpfile()};
    fprintf(s->run->out, "\nSection 4.6: Gaussians of volumes from a file into a file, ms in all\n");
    set_task(s, GAUSSIAN);
    for (int i = 0; i < 2; i++)
        if (!files[i] || fwrite(s->source, s->bytes, SOURCES, files[i]) != SOURCES || fflush(files[i])) {
            status = clvox_fail(CLVOX_ERROR_FILE, "no temporary file for a stream can be written");
            goto end;
        } else {
            s->file[i] = fileno(files[i]);
        }
    for (int i = 0; i < 3; i++) {
        CLV_TRY(verify(s, &how[i]));
        CLV_TRY(time_way(s, &how[i], &samples[i]));
        fprintf(s->run->out, "%-26s %8.1f\n", how[i].name, 1e3 * samples[i].median);
        const record_paper paper = {.here = samples[0].median / samples[i].median,
                                    .unit = "times as fast as one step after another",
                                    .device = "GTX 480",
                                    .conclusion = "streams hide the disk",
                                    .holds = bench_slower(&samples[0], &samples[i])};
        add_row(s, "from disk", how[i].name, &samples[i], i == 2 ? &paper : NULL);
    }
end:
    for (int i = 0; i < 2; i++) {
        if (files[i])
            fclose(files[i]);
        s->file[i] = -1;
    }
    return status;
}

static int atlas_create(streaming *s)
{
    int status = CLVOX_OK;
    clvox_context *ctx = s->run->ctx;
    const clv_fluid_operator op = bench_operator(s->size, true, .01f);
    struct {
        clv_buffer **buffer;
        size_t volumes;
    } const all[] = {{&s->image, 1}, {&s->u, 3}, {&s->next, 3}, {&s->deformed, 1}, {&s->target, 1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        CLV_TRY(clv_buffer_create(ctx, all[i].volumes * s->bytes, "bench data", all[i].buffer));
    CLV_TRY(clv_buffer_write(ctx, s->target, 0, s->source, s->bytes));
    CLV_TRY(clv_greedy_create(ctx, &op, &s->greedy));
end:
    return status;
}

static void atlas_destroy(streaming *s)
{
    clv_buffer **const all[] = {&s->image, &s->u, &s->next, &s->deformed, &s->target};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    clv_greedy_destroy(&s->greedy);
}

int bench_ha2011_streams(bench_run *run)
{
    int status = CLVOX_OK;
    streaming s = {.run = run, .waits = -1, .file = {-1, -1}};
    const bool cpu = clvox_context_limits(run->ctx)->type == CLVOX_DEVICE_CPU;
    s.count = cpu ? 8 : 32;
    for (int a = 0; a < 3; a++)
        s.size[a] = cpu && run->size[a] > 1 ? (run->size[a] + 1) / 2 : run->size[a];
    const size_t n = (size_t)s.size[0] * (size_t)s.size[1] * (size_t)s.size[2];
    s.bytes = n * sizeof(float);
    const size_t held = SOURCES - 1 + ATLAS_VOLUMES;
    s.source = malloc(held * s.bytes);
    s.row = malloc(ATLAS_VOLUMES * s.bytes);
    if (!s.source || !s.row) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    for (size_t i = 0; i < held * n; i++)
        s.source[i] = (float)(i * 2654435761u % 1000) / 1000;
    CLV_TRY(clv_buffer_create(run->ctx, s.bytes, "bench data", &s.sum));
    for (int i = 0; i < TEMPORARY; i++)
        CLV_TRY(clv_buffer_create(run->ctx, s.bytes, "bench data", &s.tmp[i]));
    CLV_TRY(atlas_create(&s));
    fprintf(run->out, "Chapter 4: streams of %d volumes of %dx%dx%d through the device\n", s.count, s.size[0],
            s.size[1], s.size[2]);
    CLV_TRY(ratios(&s));
    CLV_TRY(waiting(&s));
    CLV_TRY(functions(&s));
    status = disk(&s);
    fprintf(run->out, "\n");
    bench_ha2011_missing(run);
end:
    for (int i = 0; i < TEMPORARY; i++)
        clv_buffer_destroy(&s.tmp[i]);
    clv_buffer_destroy(&s.sum);
    atlas_destroy(&s);
    free(s.source);
    free(s.row);
    return status;
}
