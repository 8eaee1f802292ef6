/* SPDX-License-Identifier: Apache-2.0 */
/* Ha 2011, table 3.2: splatting by sorting and by atomic additions, under three kinds of maps. */
#include <stdlib.h>

#include "bench/bench_table.h"
#include "bench/papers/lines.h"
#include "bench/papers/op/splat_sorted.h"
#include "ref/field/splat.h"

/* Values of line->inputs. */
enum { DIFFEOMORPHIC, RANDOM, SINGULAR };

static clv_map map_of(const bench_data *d, const paper_line *line)
{
    clv_map map = {.shift = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    for (int a = 0; a < 3; a++)
        if (line->inputs == SINGULAR)
            map.linear[a][3] = .5f * (float)d->size[a];
        else
            map.linear[a][a] = 1;
    return map;
}

static clv_splat_args args_of(const bench_data *d, const paper_line *line, const clv_map *map)
{
    return (clv_splat_args){.in = *CLV_VOLUME(d->in[0], d->size),
                            .map = map,
                            .field = line->inputs == RANDOM ? d->nine : d->u,
                            .most = 1e3f,
                            .size = {d->size[0], d->size[1], d->size[2]},
                            .sums = d->field[0],
                            .beyond = d->partial};
}

/* Sums are 0; in nine a field that takes voxels anywhere. */
static int prepare(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    const size_t count = 3 * (size_t)d->n;
    float *u = malloc(count * sizeof *u);
    uint64_t state = 2011;
    (void)line;
    if (!u)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        u[i] = (float)((double)(state >> 40) / (1 << 24) - .5) * (float)d->size[0];
    }
    CLV_TRY(clv_buffer_write(d->ctx, d->nine, 0, u, count * sizeof *u));
    CLV_TRY(clv_buffer_fill(d->ctx, d->field[0], 0, 0, 8 * (size_t)d->n));
end:
    free(u);
    return status;
}

static int prepare_sorted(bench_data *d, const paper_line *line)
{
    clv_splat_room room;
    for (int i = 0; i < CLV_SPLAT_ROOM; i++)
        clv_buffer_destroy(&d->own[i]);
    int status = prepare(d, line);
    if (status >= 0)
        status = clv_splat_room_create(d->ctx, d->n, &room);
    for (int i = 0; i < CLV_SPLAT_ROOM && status >= 0; i++)
        d->own[i] = room.buffer[i];
    return status;
}

/* The total brings sums back to 0. */
static int run_atomic(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    const clv_map map = map_of(d, line);
    const clv_splat_args args = args_of(d, line, &map);
    CLV_TRY(clv_splat(d->ctx, &args));
    CLV_TRY(clv_splat_total(d->ctx, &args, 1, NULL, d->out[0]));
end:
    return status;
}

static int run_sorted(bench_data *d, const paper_line *line)
{
    int status = CLVOX_OK;
    const clv_map map = map_of(d, line);
    const clv_splat_args args = args_of(d, line, &map);
    clv_splat_room room;
    for (int i = 0; i < CLV_SPLAT_ROOM; i++)
        room.buffer[i] = d->own[i];
    CLV_TRY(clv_splat_sorted(d->ctx, &args, &room));
    CLV_TRY(clv_splat_total(d->ctx, &args, 1, NULL, d->out[0]));
end:
    return status;
}

static int check(bench_check *c, const paper_line *line)
{
    int status = CLVOX_OK;
    const clv_map map = map_of(c->data, line);
    float *u = malloc(3 * c->n * sizeof *u);
    if (!u)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
    CLV_TRY(check_read_field(c, line->inputs == RANDOM ? c->data->nine : c->data->u, u));
    for (size_t i = 0; i < c->n; i++)
        c->want[i] = 0;
    ref_splat(c->in[0], c->data->size, &map, u, c->data->size, c->want, NULL);
    CLV_TRY(check_buffer(c, c->data->out[0], c->want, c->n, 2e-4, 1e-4));
end:
    free(u);
    return status;
}

/* The thesis's times are of 160x224x160. */
#define WITH(kind) .check = check, .devices = CLV_ON_ANY, .bytes = 52, .inputs = kind
#define ATOMIC(kind, title, form, first, ...)                                                               \
    {.name = "splat " title ", atomic" form, .run = run_atomic, .prepare = prepare, WITH(kind),              \
     .entry = &clv_entry_splat, .against = first, __VA_ARGS__}
#define MAP(kind, title, sorted, atomic, first)                                                             \
    {.name = "splat " title ", sorting", .run = run_sorted, .prepare = prepare_sorted, WITH(kind),           \
     .entry = &clv_entry_splat_contribute, .said = sorted, .against = PAPER_ALONE},                         \
    ATOMIC(kind, title, "", first, .variant = "item", .tile = 0, .said = atomic)
#define LOCAL ", in local memory"
static const paper_line lines[] = {
    MAP(RANDOM, "random", "215 ms", "75 ms", 0),
    ATOMIC(RANDOM, "random", LOCAL, 1, .variant = "tile", .tile = 0, .said = "76 ms"),
    MAP(DIFFEOMORPHIC, "smooth", "224 ms", "152 ms", 3),
    ATOMIC(DIFFEOMORPHIC, "smooth", LOCAL, 4, .variant = "tile", .tile = 0, .said = "21 ms",
           .expects = PAPER_FASTER, .figure = 152. / 21,
           .conclusion = "additions in local memory are faster under a smooth map"),
    MAP(SINGULAR, "singular", "215 ms", "144 ms", 6),
    ATOMIC(SINGULAR, "singular", LOCAL, 7, .variant = "tile", .tile = 0, .said = "144 ms"),
    ATOMIC(RANDOM, "random", ", planner's", 0, .tile = -1),
    ATOMIC(DIFFEOMORPHIC, "smooth", ", planner's", 3, .tile = -1),
    ATOMIC(SINGULAR, "singular", ", planner's", 6, .tile = -1),
};

/* The reference on one core, as the thesis has a CPU's column. */
static int host(bench_run *run, bench_data *d, const paper_line *line, const char *name, const char *said)
{
    enum { SAMPLES = 3 };
    int status = CLVOX_OK;
    const size_t n = (size_t)d->n;
    const clv_map map = map_of(d, line);
    const bool packed = clv_fields_packed(d->ctx);
    float *in = malloc(n * sizeof *in), *raw = malloc(3 * n * sizeof *raw), *u = malloc(3 * n * sizeof *u);
    double *out = malloc(n * sizeof *out);
    record_samples samples = {0};
    if (!in || !raw || !u || !out) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's reference");
        goto end;
    }
    CLV_TRY(clv_buffer_read(d->ctx, d->in[0], 0, in, n * sizeof *in));
    CLV_TRY(clv_buffer_read(d->ctx, line->inputs == RANDOM ? d->nine : d->u, 0, raw, 3 * n * sizeof *raw));
    for (size_t i = 0; i < 3 * n; i++)
        u[packed ? i % 3 * n + i / 3 : i] = raw[i];
    for (int k = 0; k < SAMPLES; k++) {
        const double start = clv_seconds();
        for (size_t i = 0; i < n; i++)
            out[i] = 0;
        ref_splat(in, d->size, &map, u, d->size, out, NULL);
        record_add_sample(&samples, clv_seconds() - start);
    }
    const record_row row = {.group = "ha2011",
                            .name = name,
                            .size = {d->size[0], d->size[1], d->size[2]},
                            .seconds = &samples,
                            .verified = true,
                            .remark = "the reference, in double precision"};
    record_add(run->log, &row);
    fprintf(run->out, "%-54s %9.3f %31s%s\n", name, 1e3 * samples.median, "", said);
end:
    free(in);
    free(raw);
    free(u);
    free(out);
    return status;
}

int bench_ha2011_splat(bench_run *run, bench_data *data)
{
    static const struct {
        const char *name, *said;
        int line;
    } hosts[] = {{"splat random, plain C on one core of the host", "1435 ms", 0},
                 {"splat smooth, plain C on one core of the host", "775 ms", 3},
                 {"splat singular, plain C on one core of the host", "347 ms", 6}};
    int status = CLVOX_OK;
    const paper_table table = {"ha2011", "GTX 260", "the thesis", lines, (int)(sizeof lines / sizeof *lines)};
    fprintf(run->out, "Table 3.2, GTX 260, 160x224x160: splatting under maps that take voxels anywhere, "
                      "smoothly, and near one point;\n"
                      "atomic additions are of 64 bits here, and their total is in the time\n");
    CLV_TRY(prepare(data, &lines[0]));
    for (int i = 0; i < 3; i++)
        CLV_TRY(host(run, data, &lines[hosts[i].line], hosts[i].name, hosts[i].said));
    CLV_TRY(paper_print(run, data, &table));
end:
    for (int i = 0; i < CLV_SPLAT_ROOM; i++)
        clv_buffer_destroy(&data->own[i]);
    return status;
}
