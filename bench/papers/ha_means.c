/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, figures 2.3 and 2.6: time by size, and means of one to eight volumes. */
#include <math.h>

#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/copy.h"
#include "bench/papers/op/gradient.h"
#include "bench/papers/op/nary.h"
#include "op/image/pointwise.h"

/* ---- means ---- */

/* Eight volumes of the bench's data; of larger ones their first n numbers, as they lie on the device. */
static void volumes_of(const bench_data *d, const clv_buffer *in[CLV_NARY_MOST])
{
    const clv_buffer *all[CLV_NARY_MOST] = {d->in[0], d->in[1], d->labels, d->level,
                                            d->u,     d->v,     d->tensor, d->tensor_data};
    for (int i = 0; i < CLV_NARY_MOST; i++)
        in[i] = all[i];
}

static int run_mean(bench_data *d, const paper_line *line)
{
    const clv_buffer *in[CLV_NARY_MOST];
    volumes_of(d, in);
    return clv_mean(d->ctx, in, line->inputs, d->n, d->out[0]);
}

static int run_chain(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    const clv_buffer *in[CLV_NARY_MOST];
    const clv_image *out = CLV_VOLUME(d->out[0], d->size);
    volumes_of(d, in);
    for (int i = 1; i < line->inputs; i++)
        CLV_TRY(clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, out, i == 1 ? in[0] : d->out[0], in[i], NULL,
                              (float[4]){1, 1}));
    CLV_TRY(clv_pointwise(d->ctx, CLV_POINTWISE_LINEAR, out, line->inputs == 1 ? in[0] : d->out[0], NULL,
                          NULL, (float[4]){1 / (float)line->inputs}));
end:
    return status;
}

static int check_mean(bench_check *c, const paper_line *line)
{
    int status = CLVOX_OK;
    const clv_buffer *in[CLV_NARY_MOST];
    volumes_of(c->data, in);
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = 0;
    for (int k = 0; k < line->inputs; k++) {
        CLV_TRY(clv_buffer_read(c->data->ctx, in[k], 0, c->got, 4 * c->n));
        for (size_t i = 0; i < c->n; i++)
            c->want[i] += (double)c->got[i] / line->inputs;
    }
    CLV_TRY(check_buffer(c, c->data->out[0], c->want, c->n, 2e-5, 2e-6));
end:
    return status;
}

#define MEAN(k)                                                                                      \
    {.name = "mean of " #k ", two by two",                                                           \
     .run = run_chain,                                                                               \
     .check = check_mean,                                                                            \
     .inputs = k,                                                                                    \
     .devices = CLV_ON_ANY,                                                                          \
     .bytes = 12 * (k - 1) + 8,                                                                      \
     .entry = &clv_entry_pointwise,                                                                  \
     .against = PAPER_ALONE},                                                                        \
    {                                                                                                \
        .name = "mean of " #k ", at once", .run = run_mean, .check = check_mean, .inputs = k,        \
        .devices = CLV_ON_ANY, .bytes = 4 * (k + 1), .entry = &clv_entry_nary, .against = 2 * (k)-2, \
        .expects = k > 1 ? PAPER_FASTER : PAPER_NO_SLOWER,                                           \
        .conclusion = "the mean of all inputs at once beats a chain"                                 \
    }
static const paper_line means[] = {MEAN(1), MEAN(2), MEAN(3), MEAN(4), MEAN(5), MEAN(6), MEAN(7), MEAN(8)};

int bench_ha2011_means(bench_run *run, bench_data *data)
{
    const paper_table table = {"ha2011", "GTX 260", "the thesis", means, (int)(sizeof means / sizeof *means)};
    fprintf(
        run->out,
        "Figure 2.6, GTX 260: means of 1 to 8 volumes in one pass against sums of two and a division (the\n"
        "figure's numbers are not in the text)\n");
    return paper_print(run, data, &table);
}

/* ---- time by size ---- */

typedef struct sized {
    clvox_context *ctx;
    int size[3];
    clv_buffer *in[2], *out; /* out: 3 n */
} sized;

static int call_copy(void *what)
{
    const sized *s = what;
    return clv_copy(s->ctx, s->in[0], s->out, s->size[0] * s->size[1] * s->size[2] / 4 * 4);
}

static int call_sum(void *what)
{
    const sized *s = what;
    return clv_pointwise(s->ctx, CLV_POINTWISE_LINEAR, CLV_VOLUME(s->out, s->size), s->in[0], s->in[1], NULL,
                         (float[4]){.3f, .7f});
}

static int call_gradient(void *what)
{
    const sized *s = what;
    return clv_gradient(s->ctx, CLV_VOLUME(s->in[0], s->size), s->out);
}

/* Rows of the bench check them. */
static const struct {
    const char *name, *row;
    int (*call)(void *what);
    double bytes;
} functions[] = {{"copy", "copy", call_copy, 8},
                 {"a x + b y", "pointwise a+b", call_sum, 12},
                 {"gradient", "gradient", call_gradient, 16}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static int measure_size(bench_run *run, int edge, record_samples found[FUNCTIONS])
{
    int status = CLVOX_OK;
    sized s = {.ctx = run->ctx, .size = {edge, edge, edge}};
    const size_t bytes = 4 * (size_t)edge * (size_t)edge * (size_t)edge;
    const clv_request room[] = {
        {&s.in[0], bytes, "bench data"}, {&s.in[1], bytes, "bench data"}, {&s.out, 3 * bytes, "bench data"}};
    CLV_TRY(clv_pool_take(run->ctx, room, 3));
    for (int i = 0; i < 2; i++)
        CLV_TRY(clv_buffer_fill(run->ctx, s.in[i], 0, 0x3f000000, bytes));
    for (int f = 0; f < FUNCTIONS; f++) {
        bench_time time;
        char tile[32];
        record_row row = {.group = "ha2011",
                          .name = functions[f].name,
                          .verified = true,
                          .size = {edge, edge, edge},
                          .bytes = functions[f].bytes * (double)bytes / 4};
        CLV_TRY(bench_measure(run, functions[f].call, &s, NULL, &time));
        bench_complete(run, &time, &row, tile);
        record_add(run->log, &row);
        found[f] = time.seconds;
        fprintf(run->out, " %11.4f %6.3f", 1e3 * time.seconds.median,
                1e9 * time.seconds.median / ((double)bytes / 4));
    }
    fprintf(run->out, "\n");
    fflush(run->out);
end:
    clv_pool_release(room, 3);
    return status;
}

int bench_ha2011_sizes(bench_run *run)
{
    enum { SIZES = 8 };
    static const int edges[SIZES] = {32, 64, 96, 128, 160, 192, 224, 256};
    int status = CLVOX_OK, last = 0;
    record_samples found[SIZES][FUNCTIONS];
    const double most = (double)run->size[0] * run->size[1] * run->size[2];
    for (int f = 0; f < FUNCTIONS; f++)
        CLV_TRY(paper_verify_row(run->ctx, bench_rows_images, functions[f].row));
    fprintf(run->out,
            "Figure 2.3: time of functions by size (the thesis: proportional to the number of voxels; its "
            "numbers\n"
            "are not in the text)\n%-8s",
            "edge");
    for (int f = 0; f < FUNCTIONS; f++)
        fprintf(run->out, " %11s %6s", functions[f].name, "ns/vx");
    fprintf(run->out, "\n");
    for (int i = 0; i < SIZES && (i < 3 || (double)edges[i] * edges[i] * edges[i] <= most); i++, last++) {
        fprintf(run->out, "%-8d", edges[i]);
        CLV_TRY(measure_size(run, edges[i], found[i]));
    }
    for (int f = 0; f < FUNCTIONS; f++) {
        const double voxels = pow((double)edges[last - 1] / edges[last - 2], 3);
        const double times = found[last - 1][f].median / found[last - 2][f].median;
        char name[64];
        const record_paper paper = {.here = times / voxels,
                                    .device = "GTX 260",
                                    .unit = "of what the voxels grow by, from the size before",
                                    .conclusion = "time is proportional to the size",
                                    .holds = fabs(times / voxels - 1) < .2};
        snprintf(name, sizeof name, "%s, by size", functions[f].name);
        const record_row row = {.group = "ha2011",
                                .name = name,
                                .verified = true,
                                .seconds = &found[last - 1][f],
                                .paper = &paper,
                                .size = {edges[last - 1], edges[last - 1], edges[last - 1]}};
        record_add(run->log, &row);
        fprintf(run->out,
                "%s: from %d to %d %.2f times the voxels take %.2f times as long: that time is proportional "
                "to the size %s.\n",
                functions[f].name, edges[last - 2], edges[last - 1], voxels, times,
                paper.holds ? "holds" : "does not hold");
    }
    fprintf(run->out, "\n");
end:
    return status;
}
