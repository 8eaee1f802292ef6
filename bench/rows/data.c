/* SPDX-License-Identifier: Apache-2.0 */
/* Data that the rows run on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "op/match/metric.h"
#include "op/match/affine_metric.h"
#include "op/tensor/links.h"
#include "ref/tensor/links.h"

enum {
    PARTIALS = CLV_METRIC_SCRATCH, /* the most that any operation wants */
    NINE_MORE = 18 * 1088,           /* for planes that are longer than the volume */
    DUAL_MORE = 3 * 1088,
    WAVES = 4093                     /* voxels of the scan that differ */
};

/* Waves along the axes, in [0, 1]: what a warp reads is near what its neighbour
 * reads, as in images and displacements. With noise where the data are rough. */
typedef struct wave {
    float *along[3];
    float noise;
    uint32_t seed;
} wave;

static int wave_create(const int size[3], bool rough, wave *w)
{
    static const float length[3] = {.11f, .13f, .07f}, height[3] = {.2f, .2f, .1f};
    *w = (wave){.noise = rough ? .02f : 0, .seed = 1};
    for (int a = 0; a < 3; a++) {
        w->along[a] = malloc(3 * (size_t)size[a] * sizeof(float));
        for (int c = 0; w->along[a] && c < 3; c++)
            for (int i = 0; i < size[a]; i++)
                w->along[a][c * size[a] + i] =
                    height[a] * sinf((rough ? 4 : 1) * length[a] * (float)i + (float)((a + 1) * c));
    }
    return w->along[0] && w->along[1] && w->along[2]
               ? CLVOX_OK
               : clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
}

static void wave_free(wave *w)
{
    for (int a = 0; a < 3; a++)
        free(w->along[a]);
}

/* Component c (0 to 2) between low and high. */
static void fill(wave *w, const int size[3], int c, float low, float high, float *values)
{
    size_t at = 0;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++) {
            float row = .5f + w->along[1][c * size[1] + y] + w->along[2][c * size[2] + z];
            for (int x = 0; x < size[0]; x++) {
                float value = row + w->along[0][c * size[0] + x];
                if (w->noise > 0) {
                    w->seed = w->seed * 1664525u + 1013904223u;
                    value += w->noise * ((float)(w->seed >> 8) / 8388608.0f - 1);
                }
                values[at++] = low + (high - low) * value;
            }
        }
}

static int send(bench_data *data, const void *host, size_t bytes, clv_buffer **out)
{
    int status = clv_buffer_create(data->ctx, bytes, "bench data", out);
    return status < 0 ? status : clv_buffer_write(data->ctx, *out, 0, host, bytes);
}

/* turn: another phase. host: 6 n floats. */
static int send_field(bench_data *data, wave *w, int turn, float *host, clv_buffer **out)
{
    size_t n = (size_t)data->n;
    for (int c = 0; c < 3; c++)
        fill(w, data->size, (c + turn) % 3, -1.5f, 1.5f, host + (size_t)c * n);
    if (!clv_fields_packed(data->ctx))
        return send(data, host, 3 * n * sizeof *host, out);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < 3; c++)
            host[3 * n + 3 * i + c] = host[c * n + i];
    return send(data, host + 3 * n, 3 * n * sizeof *host, out);
}

static int send_images(bench_data *data, wave *w, float *host)
{
    int status = CLVOX_OK;
    size_t n = (size_t)data->n;
    const float noise = w->noise;
    w->noise *= 10; /* of images, whose contrast sets what LNCC can tell */
    for (int i = 0; i < BENCH_IN; i++) {
        fill(w, data->size, i, 0, 1, host);
        for (size_t k = 0; k < n; k++)
            host[k] = fminf(fmaxf(host[k], 0), 1);
        CLV_TRY(send(data, host, n * sizeof *host, &data->in[i]));
    }
    for (size_t i = 0; i < n; i++)
        host[i] = floorf(8 * host[i]);
    CLV_TRY(send(data, host, n * sizeof *host, &data->labels));
    w->noise = noise;
    fill(w, data->size, 2, -17.5f, 17.5f, host);
    if (w->noise > 0) /* a distance has no noise, and waves four times as short are as steep */
        for (size_t i = 0; i < n; i++) {
            float x = (float)(i % (size_t)data->size[0]) - .47f * (float)data->size[0];
            float y = (float)(i / (size_t)data->size[0] % (size_t)data->size[1]) - .5f * (float)data->size[1];
            float z =
                (float)(i / (size_t)data->size[0] / (size_t)data->size[1]) - .45f * (float)data->size[2];
            host[i] = sqrtf(x * x + y * y + z * z) - .33f * (float)data->size[2];
        }
    CLV_TRY(send(data, host, n * sizeof *host, &data->level));
    CLV_TRY(send_field(data, w, 0, host, &data->u));
    CLV_TRY(send_field(data, w, 1, host, &data->v));
    for (int which = 0; which < 2; which++) {
        for (size_t c = 0; c < 6; c++) { /* 0, 3 and 5 lie on the diagonal */
            bool diagonal = c == 0 || c == 3 || c == 5;
            fill(w, data->size, ((int)c + which) % 3, diagonal ? .6f : -.2f, diagonal ? 1.4f : .2f,
                 host + c * n);
        }
        CLV_TRY(send(data, host, 6 * n * sizeof *host, which ? &data->tensor_data : &data->tensor));
    }
end:
    return status;
}

/* BENCH_TRIANGLES in the plane x = 0, of which each cell lists so many. */
static int send_mesh(bench_data *data)
{
    int status = CLVOX_OK;
    size_t count = (size_t)bench_cells(data);
    int32_t (*cells)[4] = malloc((count + 1) * sizeof *cells);
    int32_t *list = malloc((count * BENCH_LISTED + 1) * sizeof *list);
    float records[BENCH_TRIANGLES][CLV_MESH_RECORD];
    if (!cells || !list) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
        goto end;
    }
    for (int t = 0; t < BENCH_TRIANGLES; t++) {
        double corners[9];
        bench_triangle(t, corners);
        clv_mesh_record(corners, (const double[3]){0, 0, 0}, records[t]);
    }
    for (size_t c = 0; c <= count; c++) {
        const int32_t cell[4] = {(int32_t)(c % 8), (int32_t)(c / 8 % 8), (int32_t)(c / 64 % 8),
                                 (int32_t)(c * BENCH_LISTED)};
        memcpy(cells[c], cell, sizeof cell);
    }
    for (size_t i = 0; i < count * BENCH_LISTED; i++)
        list[i] = (int32_t)((i + i / BENCH_LISTED) % BENCH_TRIANGLES);
    CLV_TRY(send(data, records, sizeof records, &data->triangles));
    CLV_TRY(send(data, cells, (count + 1) * sizeof *cells, &data->cells));
    CLV_TRY(send(data, list, count * BENCH_LISTED * sizeof *list, &data->list));
end:
    free(cells);
    free(list);
    return status;
}

void bench_triangle(int t, double corners[9])
{
    const double y = t % 16, z = t / 16, at[9] = {0, y, z, 0, y + 1, z, 0, y, z + 1};
    memcpy(corners, at, sizeof at);
}

/* A volume in 16 without weighting, the others at b 1000 along a spiral over the half sphere. */
void bench_scheme(double b[BENCH_VOLUMES], double direction[BENCH_VOLUMES][3])
{
    for (int k = 0; k < BENCH_VOLUMES; k++) {
        double z = (k + 0.5) / BENCH_VOLUMES, r = sqrt(1 - z * z);
        b[k] = k % 16 ? 1000 : 0;
        direction[k][0] = r * cos(2.399963 * k);
        direction[k][1] = r * sin(2.399963 * k);
        direction[k][2] = z;
    }
}

/* Tensors that turn from voxel to voxel, with noise of 3% of the signal without weighting. */
static int send_scan(bench_data *data, float *host)
{
    double b[BENCH_VOLUMES], direction[BENCH_VOLUMES][3];
    size_t voxels = (size_t)bench_scan(data);
    uint32_t seed = 7;
    bench_scheme(b, direction);
    for (size_t k = 0; k < BENCH_VOLUMES; k++) {
        for (size_t i = 0; i < voxels && i < WAVES; i++) {
            const double *g = direction[k], turn = .37 * (double)i;
            double along = g[0] * cos(turn) + g[1] * sin(turn), s0 = 1000 + 300 * sin(.21 * (double)i),
                   noise = 0;
            for (int j = 0; j < 4; j++) {
                seed = seed * 1664525u + 1013904223u;
                noise += ((double)(seed >> 8) / 8388608.0 - 1) * .866;
            }
            host[k * voxels + i] =
                (float)(s0 * exp(-b[k] * 1e-3 * (.4 + 1.2 * along * along)) + 30 * noise);
        }
        for (size_t i = WAVES; i < voxels; i++)
            host[k * voxels + i] = host[k * voxels + i - WAVES];
    }
    return send(data, host, BENCH_VOLUMES * voxels * sizeof *host, &data->dwi);
}

/* By the reference: no row but those of tensors shall have to build a kernel for them. */
static int send_links(bench_data *data, const int size[3], float *host, clv_buffer **out)
{
    ref_tensor_links(NULL, size, (unsigned char *)host);
    return send(data, host, clv_tensor_links_bytes(size), out);
}

int bench_data_create(clvox_context *ctx, const int size[3], bool rough, bench_data *data)
{
    static const float same[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const int half[3] = {size[0], size[1], size[2] / 2};
    int status = CLVOX_OK;
    double b[BENCH_VOLUMES], direction[BENCH_VOLUMES][3];
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    float *host = malloc(6 * n * sizeof *host);
    wave w = {.seed = 0};
    *data = (bench_data){.ctx = ctx, .size = {size[0], size[1], size[2]}, .n = (int)n};
    if (!host)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's data");
    CLV_TRY(wave_create(size, rough, &w));
    CLV_TRY(send_images(data, &w, host));
    CLV_TRY(send_scan(data, host));
    CLV_TRY(send_mesh(data));
    bench_scheme(b, direction);
    CLV_TRY(clv_tensor_design_create(ctx, b, (const double(*)[3])direction, BENCH_VOLUMES, &data->design));
    CLV_TRY(send(data, same, sizeof same, &data->map));
    for (int i = 0; i < BENCH_OUT; i++) {
        CLV_TRY(clv_buffer_create(ctx, n * sizeof *host, "bench data", &data->out[i]));
        CLV_TRY(clv_buffer_copy(ctx, data->in[0], 0, data->out[i], 0, n * sizeof *host));
    }
    for (int i = 0; i < 2; i++) {
        CLV_TRY(clv_buffer_create(ctx, (3 * n + DUAL_MORE) * sizeof *host, "bench data", &data->field[i]));
        CLV_TRY(clv_buffer_copy(ctx, data->u, 0, data->field[i], 0, 3 * n * sizeof *host));
        CLV_TRY(clv_buffer_create(ctx, 3 * n * sizeof *host, "bench data", &data->solver[i]));
    }
    CLV_TRY(clv_buffer_create(ctx, (9 * n + NINE_MORE) * sizeof *host, "bench data", &data->nine));
    CLV_TRY(clv_buffer_create(ctx, PARTIALS * sizeof *host, "bench data", &data->partial));
    CLV_TRY(clv_buffer_create(ctx, BENCH_STATE * sizeof *host, "bench data", &data->state));
    CLV_TRY(clv_buffer_fill(ctx, data->state, 0, 0, BENCH_STATE * sizeof *host));
    CLV_TRY(clv_buffer_write(ctx, data->state, BENCH_LONGEST * sizeof *host, &(float){1.5f}, sizeof *host));
    CLV_TRY(send_links(data, size, host, &data->links));
    CLV_TRY(send_links(data, half, host, &data->half_links));
    CLV_TRY(clv_buffer_create(ctx, CLV_AFFINE_MOST_SUMS * sizeof *host, "bench data", &data->sums));
end:
    wave_free(&w);
    free(host);
    if (status < 0)
        bench_data_release(data);
    return status;
}

double bench_data_bytes(double n, double *largest)
{
    const double flow = (3 * 42 + 14) / 8.; /* of shooting, on half of each side */
    *largest = 36 * n;
    return (4 + 6 + 12 + 6 + .5 + 3 + 6 + 6 + 9 + 1.1 + flow) * 4 * n + 4e6;
}

void bench_data_release(bench_data *d)
{
    clv_buffer **all[] = {&d->in[0],     &d->in[1],       &d->labels, &d->level,      &d->u,      &d->v,
                          &d->tensor,    &d->tensor_data, &d->links,  &d->half_links, &d->dwi,    &d->map,
                          &d->triangles, &d->cells,       &d->list,   &d->out[0],     &d->out[1], &d->out[2],
                          &d->field[0],  &d->field[1],    &d->nine,   &d->partial,    &d->state,  &d->sums,
                          &d->solver[0], &d->solver[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    for (int i = 0; i < BENCH_OWN; i++)
        clv_buffer_destroy(&d->own[i]);
    clv_tensor_design_destroy(&d->design);
    clv_fft_destroy(&d->fft);
    clv_particle_mesh_destroy(&d->mesh);
    clv_solvers_destroy(&d->solve);
    bench_flow_release(d);
    clv_pool_release(d->workspace_list, d->workspace_count);
    d->workspace_count = 0;
}
