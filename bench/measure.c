/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "op/copy.h"
#include "op/energy.h"
#include "op/force.h"
#include "op/tensor_links.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int batch(bench_data *data, int (*run)(bench_data *), int calls, double *seconds)
{
    int status = clv_finish(data->ctx);
    double start = now();
    for (int i = 0; i < calls && status >= 0; i++)
        status = run(data);
    if (status >= 0)
        status = clv_finish(data->ctx);
    *seconds = (now() - start) / calls;
    return status;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int bench_measure(bench_data *data, int (*run)(bench_data *), double seconds, bench_time *out)
{
    int status = CLVOX_OK, calls = 1;
    double once;
    CLV_TRY(batch(data, run, 1, &once)); /* builds the kernels */
    CLV_TRY(batch(data, run, 2, &once));
    /* A batch of at least 5 ms hides the clock and the wait at its end. */
    if (once < 5e-3)
        calls = (int)ceil(5e-3 / fmax(once, 1e-6));
    double end = now() + seconds;
    out->samples = 0;
    while (out->samples < 3 || (out->samples < BENCH_REPEATS && now() < end)) {
        CLV_TRY(batch(data, run, calls, &once));
        out->sample[out->samples++] = once;
    }
    double sorted[BENCH_REPEATS];
    memcpy(sorted, out->sample, sizeof sorted);
    qsort(sorted, (size_t)out->samples, sizeof *sorted, compare);
    out->median = sorted[out->samples / 2];
    out->low = sorted[0];
    out->high = sorted[out->samples - 1];
end:
    return status;
}

static int copy(bench_data *data)
{
    return clv_copy(data->ctx, data->field[0], data->field[1], 3 * data->n / 4 * 4);
}

int bench_ceiling(bench_data *data, double seconds, double *bytes_per_second)
{
    bench_time time;
    int status = bench_measure(data, copy, seconds, &time);
    if (status >= 0)
        *bytes_per_second = 8. * (3 * data->n / 4 * 4) / time.median;
    return status;
}

/* Smooth values in [0, 1]: what a warp reads is near what its neighbour reads,
 * as in images and in displacements. */
static void fill(float *values, const int size[3], int copies, float low, float high)
{
    size_t at = 0;
    for (int c = 0; c < copies; c++)
        for (int z = 0; z < size[2]; z++)
            for (int y = 0; y < size[1]; y++)
                for (int x = 0; x < size[0]; x++)
                    values[at++] = low + (high - low) *
                                             (.5f + .2f * sinf(.11f * (float)x + (float)c) +
                                              .2f * sinf(.13f * (float)y) + .1f * sinf(.07f * (float)z));
}

/* BENCH_TRIANGLES in the plane x = 0, of which each cell lists so many. */
static int fill_mesh(bench_data *data)
{
    int status = CLVOX_OK;
    size_t count = (size_t)bench_cells(data);
    int32_t (*cells)[4] = malloc((count + 1) * sizeof *cells);
    int32_t *list = malloc((count * BENCH_LISTED + 1) * sizeof *list);
    float records[BENCH_TRIANGLES][CLV_MESH_RECORD];
    if (!cells || !list) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    for (int t = 0; t < BENCH_TRIANGLES; t++) {
        const double y = t % 16, z = t / 16, corners[9] = {0, y, z, 0, y + 1, z, 0, y, z + 1};
        clv_mesh_record(corners, (const double[3]){0, 0, 0}, records[t]);
    }
    for (size_t c = 0; c <= count; c++) {
        const int32_t cell[4] = {(int32_t)(c % 8), (int32_t)(c / 8 % 8), (int32_t)(c / 64 % 8),
                                 (int32_t)(c * BENCH_LISTED)};
        memcpy(cells[c], cell, sizeof cell);
    }
    for (size_t i = 0; i < count * BENCH_LISTED; i++)
        list[i] = (int32_t)((i + i / BENCH_LISTED) % BENCH_TRIANGLES);
    CLV_TRY(clv_buffer_create(data->ctx, sizeof records, "bench data", &data->triangles));
    CLV_TRY(clv_buffer_create(data->ctx, (count + 1) * sizeof *cells, "bench data", &data->cells));
    CLV_TRY(clv_buffer_create(data->ctx, count * BENCH_LISTED * sizeof *list, "bench data", &data->list));
    CLV_TRY(clv_buffer_write(data->ctx, data->triangles, 0, records, sizeof records));
    CLV_TRY(clv_buffer_write(data->ctx, data->cells, 0, cells, (count + 1) * sizeof *cells));
    CLV_TRY(clv_buffer_write(data->ctx, data->list, 0, list, count * BENCH_LISTED * sizeof *list));
end:
    free(cells);
    free(list);
    return status;
}

/* A volume in 16 without weighting, the others at b 1000 along a spiral over the half sphere. */
static int make_design(bench_data *data)
{
    double b[BENCH_VOLUMES] = {0}, direction[BENCH_VOLUMES][3] = {{0}};
    for (int k = 0; k < BENCH_VOLUMES; k++) {
        double z = (k + 0.5) / BENCH_VOLUMES, r = sqrt(1 - z * z);
        b[k] = k % 16 ? 1000 : 0;
        direction[k][0] = r * cos(2.399963 * k);
        direction[k][1] = r * sin(2.399963 * k);
        direction[k][2] = z;
    }
    return clv_tensor_design_create(data->ctx, b, (const double(*)[3])direction, BENCH_VOLUMES, &data->design);
}

int bench_data_create(clvox_context *ctx, const int size[3], bench_data *data)
{
    int status = CLVOX_OK;
    float *host = NULL;
    memset(data, 0, sizeof *data);
    data->ctx = ctx;
    memcpy(data->size, size, sizeof data->size);
    data->n = size[0] * size[1] * size[2];
    size_t n = (size_t)data->n;
    host = malloc(3 * n * sizeof *host);
    if (!host)
        return clv_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    fill(host, size, 3, 0, 1);
    for (int i = 0; i < BENCH_SCALARS; i++) {
        CLV_TRY(clv_buffer_create(ctx, n * sizeof(float), "bench data", &data->scalar[i]));
        CLV_TRY(clv_buffer_write(ctx, data->scalar[i], 0, host + (size_t)(i % 3) * n, n * sizeof(float)));
    }
    for (size_t i = 0; i < n; i++)
        host[i] = 35 * (host[i] - 0.5f);
    CLV_TRY(clv_buffer_create(ctx, n * sizeof(float), "bench data", &data->level));
    CLV_TRY(clv_buffer_write(ctx, data->level, 0, host, n * sizeof(float)));
    fill(host, size, 3, -1.5f, 1.5f);
    for (int i = 0; i < BENCH_FIELDS; i++) {
        CLV_TRY(clv_buffer_create(ctx, 3 * n * sizeof(float), "bench data", &data->field[i]));
        CLV_TRY(clv_buffer_write(ctx, data->field[i], 0, host, 3 * n * sizeof(float)));
    }
    /* And a little for planes that are longer than the volume. */
    CLV_TRY(clv_buffer_create(ctx, (9 * n + 18 * 1088) * sizeof(float), "bench data", &data->nine));
    CLV_TRY(clv_buffer_create(ctx, 6 * n * sizeof(float), "bench data", &data->tensor));
    CLV_TRY(clv_buffer_create(ctx, 6 * n * sizeof(float), "bench data", &data->tensor_data));
    CLV_TRY(clv_buffer_create(ctx, clv_tensor_links_bytes(size), "bench data", &data->links));
    CLV_TRY(clv_tensor_links(ctx, NULL, size, data->links));
    for (size_t c = 0; c < 6; c++) { /* 0, 3 and 5 lie on the diagonal */
        for (size_t i = 0; i < n; i++) {
            float wave = host[(c * n / 2 + i) % (2 * n)] / 1.5f;
            host[2 * n + i] = c == 0 || c == 3 || c == 5 ? 1 + 0.4f * wave : 0.2f * wave;
        }
        CLV_TRY(clv_buffer_write(ctx, data->tensor, c * n * sizeof(float), host + 2 * n, n * sizeof(float)));
    }
    CLV_TRY(clv_buffer_copy(ctx, data->tensor, 0, data->tensor_data, 0, 6 * n * sizeof(float)));
    CLV_TRY(clv_buffer_create(ctx, BENCH_PARTIALS * sizeof(float), "bench data", &data->partial));
    CLV_TRY(clv_buffer_create(ctx, BENCH_STATE * sizeof(float), "bench data", &data->state));
    CLV_TRY(fill_mesh(data));
    CLV_TRY(make_design(data));
    CLV_TRY(clv_buffer_write(ctx, data->state, BENCH_LONGEST * sizeof(float), &(float){1.5f}, sizeof(float)));
end:
    free(host);
    if (status < 0)
        bench_data_release(data);
    return status;
}

void bench_data_release(bench_data *data)
{
    for (int i = 0; i < BENCH_SCALARS; i++)
        clv_buffer_destroy(&data->scalar[i]);
    for (int i = 0; i < BENCH_FIELDS; i++)
        clv_buffer_destroy(&data->field[i]);
    clv_buffer_destroy(&data->nine);
    clv_buffer_destroy(&data->tensor);
    clv_buffer_destroy(&data->tensor_data);
    clv_buffer_destroy(&data->links);
    clv_tensor_design_destroy(&data->design);
    clv_buffer_destroy(&data->triangles);
    clv_buffer_destroy(&data->cells);
    clv_buffer_destroy(&data->list);
    clv_buffer_destroy(&data->level);
    clv_buffer_destroy(&data->partial);
    clv_buffer_destroy(&data->state);
}
