/* SPDX-License-Identifier: Apache-2.0 */
/* Moazeni et al. 2009: descent of tensor total variation by how blocks wait for
 * one another. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "bench_table.h"
#include "op/tensor_tv.h"

enum { STEPS = 100, RUNS = 3 };

typedef struct problem {
    clvox_context *ctx;
    clv_tensor_tv_args args;
    size_t n;
    clv_buffer *data, *links, *partial, *state, *field, *other;
    float *noisy, *exact, *got;
} problem;

static const struct scheme {
    const char *name;
    clv_tensor_scheme scheme;
    const clv_entry *entry;
} schemes[] = {
    {"global", CLV_TENSOR_GLOBAL, &clv_entry_tensor_tv_step},
    {"overlap", CLV_TENSOR_OVERLAP, &clv_entry_tensor_tv_overlap},
    {"block", CLV_TENSOR_BLOCK, &clv_entry_tensor_tv_block},
    {"none", CLV_TENSOR_NONE, &clv_entry_tensor_tv_none},
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void release(problem *p)
{
    clv_buffer **all[] = {&p->data, &p->links, &p->partial, &p->state, &p->field, &p->other};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    free(p->noisy);
    free(p->exact);
    free(p->got);
}

/* Boxes of three kinds of tissue, in 1e-3 mm^2/s, with noise of 0.1. */
static void fill(problem *p)
{
    static const float tissue[3][6] = {
        {1.7f, 0, 0, 0.3f, 0, 0.3f}, {0.5f, 0.2f, 0, 1.4f, 0.1f, 0.4f}, {0.8f, 0, 0, 0.8f, 0, 0.8f}};
    const int *size = p->args.size;
    uint32_t seed = 1;
    for (size_t c = 0, i = 0; c < 6; c++)
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++, i++) {
                    float noise = 0;
                    for (int k = 0; k < 4; k++) {
                        seed = seed * 1664525u + 1013904223u;
                        noise += (float)(seed >> 8) / 16777216.0f - 0.5f;
                    }
                    p->noisy[i] = tissue[(x / 16 + y / 16 + z / 16) % 3][c] + 0.17f * noise;
                }
}

static int create(clvox_context *ctx, const int size[3], problem *p)
{
    int status = CLVOX_OK;
    *p = (problem){.ctx = ctx, .n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2]};
    size_t bytes = 24 * p->n;
    p->noisy = malloc(bytes);
    p->exact = malloc(bytes);
    p->got = malloc(bytes);
    if (!p->noisy || !p->exact || !p->got)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's tensors");
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->data));
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->field));
    CLV_TRY(clv_buffer_create(ctx, bytes, "bench tensors", &p->other));
    CLV_TRY(clv_buffer_create(ctx, clv_tensor_links_bytes(size), "bench links", &p->links));
    CLV_TRY(clv_buffer_create(ctx, CLV_TENSOR_TV_PARTIALS * sizeof(float), "bench sums", &p->partial));
    CLV_TRY(clv_buffer_create(ctx, CLV_TENSOR_TV_STATE * sizeof(float), "bench state", &p->state));
    CLV_TRY(clv_tensor_links(ctx, NULL, size, p->links));
    p->args = (clv_tensor_tv_args){
        .data = p->data, .links = p->links, .size = {size[0], size[1], size[2]}, .spacing = {1, 1, 1},
        .lambda = 10, .eps = 1e-4f, .relax = 1, .floor = 1e-6f, .partial = p->partial, .state = p->state,
    };
    fill(p);
    CLV_TRY(clv_buffer_write(ctx, p->data, 0, p->noisy, bytes));
end:
    return status;
}

static double distance(const float *a, const float *b, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        double d = (double)a[i] - (double)b[i];
        sum += d * d;
    }
    return sqrt(sum / (double)count);
}

static int run(problem *p, const struct scheme *s, double ceiling, double *exact_seconds, FILE *out,
               cJSON *rows)
{
    int status = CLVOX_OK;
    const clv_kernel *k;
    float state[CLV_TENSOR_TV_STATE];
    double seconds = HUGE_VAL;
    size_t bytes = 24 * p->n;
    bool paper = p->args.coupling == CLV_TENSOR_PAPER, exact = s->scheme == CLV_TENSOR_GLOBAL;
    char occupancy[16] = "unknown";
    for (int r = 0; r <= RUNS; r++) { /* the first builds the kernels */
        CLV_TRY(clv_buffer_copy(p->ctx, p->data, 0, p->field, 0, bytes));
        CLV_TRY(clv_finish(p->ctx));
        double start = now();
        CLV_TRY(clv_tensor_tv_descend(p->ctx, &p->args, s->scheme, r ? STEPS : 4, p->field, p->other));
        CLV_TRY(clv_finish(p->ctx));
        seconds = r ? fmin(seconds, now() - start) : HUGE_VAL;
    }
    CLV_TRY(clv_tensor_tv_energy(p->ctx, &p->args, p->field));
    CLV_TRY(clv_buffer_read(p->ctx, p->state, 0, state, sizeof state));
    CLV_TRY(clv_buffer_read(p->ctx, p->field, 0, exact ? p->exact : p->got, bytes));
    CLV_TRY(clv_kernel_get(p->ctx, s->entry, paper ? "-DPAPER=1" : "-DPAPER=0", p->args.size, 0, &k));
    if (exact)
        *exact_seconds = seconds;
    if (k->occupancy >= 0)
        snprintf(occupancy, sizeof occupancy, "%.0f%%", 100 * k->occupancy);
    double moved = distance(p->exact, p->noisy, 6 * p->n);
    double away = exact || moved <= 0 ? 0 : distance(p->got, p->exact, 6 * p->n) / moved;
    /* Bytes of an exact step: the field, the data and the links in, the field out; for
     * the paper's coupling the field and the links once more. */
    double share = (paper ? 98. : 73.) * (double)p->n * STEPS / seconds / ceiling;
    fprintf(out, "%-8s %-8s %-28s %9s %8d %9s %10.2f %8.2f %8.1f%% %12.6g %9.2f%%\n",
            paper ? "paper" : "local", s->name, k->label, occupancy, k->local_bytes,
            k->resources.limit[0] ? k->resources.limit : "unknown", 1e3 * seconds, *exact_seconds / seconds,
            100 * share, (double)state[CLV_TENSOR_TV_ENERGY], 100 * away);
    fflush(out);
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "coupling", paper ? "paper" : "local");
    cJSON_AddStringToObject(row, "scheme", s->name);
    cJSON_AddStringToObject(row, "kernel", k->label);
    cJSON_AddNumberToObject(row, "registers", k->registers);
    cJSON_AddNumberToObject(row, "local_bytes", k->local_bytes);
    cJSON_AddNumberToObject(row, "occupancy", k->occupancy);
    cJSON_AddNumberToObject(row, "seconds", seconds);
    cJSON_AddNumberToObject(row, "share_of_copy", share);
    cJSON_AddNumberToObject(row, "energy", (double)state[CLV_TENSOR_TV_ENERGY]);
    cJSON_AddNumberToObject(row, "away", away);
    cJSON_AddItemToArray(rows, row);
end:
    return status;
}

int bench_moazeni2009(clvox_context *ctx, const int size[3], double seconds, FILE *out, cJSON *json)
{
    int status = CLVOX_OK;
    double ceiling, exact_seconds = 0;
    bench_data data = {0};
    problem p = {0};
    cJSON *rows = cJSON_AddArrayToObject(json, "moazeni2009");
    status = bench_data_create(ctx, size, &data);
    if (status >= 0)
        status = bench_ceiling(&data, seconds, &ceiling);
    bench_data_release(&data);
    if (status < 0)
        return status;
    CLV_TRY(create(ctx, size, &p));
    fprintf(out,
            "Moazeni et al. 2009, table 1 and figures 3 to 7: %d steps of tensor total variation by scheme,\n"
            "%dx%dx%d, on %s.\n"
            "The paper, Quadro FX 5600, 128x128x128: global 3.7 s (266 times its CPU),\n"
            "block 128 times, none 134 times its CPU. 'away': rms distance from the exact result over\n"
            "the rms distance that the exact one has come; 'of copy': bytes of exact steps over time and\n"
            "copy bandwidth.\n\n",
            STEPS, size[0], size[1], size[2], clvox_context_limits(ctx)->name);
    fprintf(out, "%-8s %-8s %-28s %9s %8s %9s %10s %8s %9s %12s %10s\n", "coupling", "scheme", "kernel",
            "occupancy", "local B", "limit", "ms", "speed", "of copy", "energy", "away");
    for (int c = 0; c < 2; c++)
        for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
            p.args.coupling = c ? CLV_TENSOR_LOCAL : CLV_TENSOR_PAPER;
            CLV_TRY(run(&p, &schemes[s], ceiling, &exact_seconds, out, rows));
        }
end:
    release(&p);
    return status;
}
