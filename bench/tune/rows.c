/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that no row of the bench runs: blocks of tensors' descent, and the
 * patches of surfaces' bands. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rows/check.h"
#include "bench/papers/op/patch_pairs.h"
#include "op/surface/nlm.h"
#include "bench/papers/op/tensor_tv_schemes.h"
#include "ref/surface/nlm.h"
#include "ref/surface/patch_search.h"
#include "bench/papers/ref/tensor_tv_schemes.h"
#include "bench/tune/tune.h"

enum { RADIUS = 2, MOST = 8 };

/* ---- tensors ---- */

static void half_size(const bench_data *d, int size[3])
{
    size[0] = d->size[0];
    size[1] = d->size[1];
    size[2] = d->size[2] / 2;
}

static size_t half_voxels(const bench_data *d)
{
    int size[3];
    half_size(d, size);
    return (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
}

/* Half the planes of each entry, twice: the data into field[1], where the descent begins into field[0]. */
static int begin_tv(bench_data *d)
{
    int status = CLVOX_OK;
    size_t bytes = half_voxels(d) * sizeof(float), plane = (size_t)d->n * sizeof(float);
    for (size_t c = 0; c < 6; c++)
        for (int to = 0; to < 2; to++)
            CLV_TRY(clv_buffer_copy(d->ctx, d->tensor_data, c * plane, d->field[to], c * bytes, bytes));
end:
    return status;
}

static int descend(bench_data *d, clv_tensor_scheme scheme)
{
    clv_tensor_tv_args args = {.data = {.buffer = d->field[1], .spacing = {1, 1, 1}, .components = 6},
                               .links = d->half_links,
                               .coupling = CLV_TENSOR_LOCAL,
                               .lambda = 10,
                               .eps = 1e-4f,
                               .dt = 2e-4f,
                               .floor = 1e-6f,
                               .partial = d->partial,
                               .state = d->state};
    clv_buffer *scratch = NULL;
    half_size(d, args.data.size);
    int status = clv_tensor_tv_schemes(d->ctx, &args, scheme, CLV_TENSOR_BLOCK_STEPS,
                                       &(clv_tensor_fields){d->field[0], d->nine, &scratch});
    if (scratch && clv_finish(d->ctx) < 0 && status >= 0)
        status = CLVOX_ERROR_DEVICE;
    clv_buffer_destroy(&scratch);
    return status;
}

static int row_tv_overlap(bench_data *d)
{
    return descend(d, CLV_TENSOR_OVERLAP);
}

static int row_tv_block(bench_data *d)
{
    return descend(d, CLV_TENSOR_BLOCK);
}

static int row_tv_none(bench_data *d)
{
    return descend(d, CLV_TENSOR_NONE);
}

/* Blocks that learn of nobody are fields of their own. */
static void descend_alone(const ref_tensor_tv *model, float *data, double *d)
{
    enum { EDGE = 2, MOST_IN = 8 };
    const int *size = model->size;
    size_t n = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    for (int z = 0; z < size[2]; z += EDGE)
        for (int y = 0; y < size[1]; y += EDGE)
            for (int x = 0; x < size[0]; x += EDGE) {
                float f[6 * MOST_IN];
                double one[6 * MOST_IN];
                size_t at[MOST_IN], count = 0;
                for (int k = 0; k < MOST_IN; k++)
                    if (x + k % 2 < size[0] && y + k / 2 % 2 < size[1] && z + k / 4 < size[2])
                        at[count++] = ((size_t)(z + k / 4) * (size_t)size[1] + (size_t)(y + k / 2 % 2)) *
                                          (size_t)size[0] + (size_t)(x + k % 2);
                for (size_t i = 0; i < 6 * count; i++) {
                    f[i] = data[i / count * n + at[i % count]];
                    one[i] = d[i / count * n + at[i % count]];
                }
                ref_tensor_tv block = *model;
                block.data = f;
                block.size[0] = x + 1 < size[0] ? 2 : 1;
                block.size[1] = y + 1 < size[1] ? 2 : 1;
                block.size[2] = z + 1 < size[2] ? 2 : 1;
                for (int k = 0; k < CLV_TENSOR_BLOCK_STEPS; k++)
                    ref_tensor_step(&block, one);
                for (size_t i = 0; i < 6 * count; i++)
                    d[i / count * n + at[i % count]] = one[i];
            }
}

/* Blocks end where those of the kernel that runs now do. */
static int check_descent(bench_check *c, clv_tensor_scheme scheme)
{
    int status = CLVOX_OK;
    const clv_kernel *k;
    size_t m = half_voxels(c->data);
    float *data = (float *)c->more;
    ref_tensor_tv model = {.w = {1, 1, 1}, .data = data, .coupling = CLV_TENSOR_LOCAL, .lambda = 10,
                           .eps = (double)1e-4f, .dt = (double)2e-4f, .floor = (double)1e-6f};
    half_size(c->data, model.size);
    for (size_t i = 0; i < 6 * m; i++) {
        data[i] = c->tensor_data[i / m * c->n + i % m];
        c->want[i] = (double)data[i];
    }
    if (scheme == CLV_TENSOR_BLOCK) {
        CLV_TRY(clv_kernel_get(c->data->ctx, &clv_entry_tensor_tv_block, "-DPAPER=0", model.size, 0, &k));
        ref_tensor_blocks(&model, c->want, k->group, false, CLV_TENSOR_BLOCK_STEPS);
    } else if (scheme == CLV_TENSOR_NONE) {
        descend_alone(&model, data, c->want);
    } else {
        for (int step = 0; step < CLV_TENSOR_BLOCK_STEPS; step++)
            ref_tensor_step(&model, c->want);
    }
    CLV_TRY(check_buffer(c, c->data->field[0], c->want, 6 * m, 8e-5, 0));
end:
    return status;
}

static int check_overlap(bench_check *c)
{
    return check_descent(c, CLV_TENSOR_OVERLAP);
}

static int check_block(bench_check *c)
{
    return check_descent(c, CLV_TENSOR_BLOCK);
}

static int check_none(bench_check *c)
{
    return check_descent(c, CLV_TENSOR_NONE);
}

/* ---- patches ---- */

static void band_size(const bench_data *d, int size[3])
{
    size[0] = d->size[0];
    size[1] = d->size[1];
    /* The surface of small volumes is a ball, of which the first planes have nothing. */
    size[2] = d->size[2] < 40 ? (d->size[2] + 1) / 2 : d->size[2] < 96 ? 3 : d->size[2] / 32;
}

static clv_image band_image(const bench_data *d)
{
    clv_image phi = {.buffer = d->level, .spacing = {1, 1, 1}, .components = 1};
    band_size(d, phi.size);
    return phi;
}

/* Whether the data have room for what the rows do with so many voxels. */
static bool fits(const bench_data *d, int count)
{
    size_t room = (size_t)d->n * sizeof(float);
    return (size_t)count * MOST * sizeof(float) <= room &&
           (size_t)count * (size_t)clv_nlm_stride(RADIUS) * sizeof(float) <= 9 * room &&
           (size_t)count * 2 * sizeof(float) <= d->partial->bytes;
}

/* The band into out[0], the places of its voxels into out[1], its length into answer[0]; 0 where
 * there is none. It is thin, so that all pairs of its patches can be compared, but of small volumes,
 * which are compared with the reference, as thick as fits. */
static int begin_band(bench_data *d)
{
    int status = CLVOX_OK, count = 0;
    float delta = d->size[2] < 16 ? 1.25f : 0.5f;
    const clv_image phi = band_image(d);
    CLV_TRY(clv_nlm_band_count(d->ctx, &phi, delta, d->partial, &count));
    for (; !fits(d, count) && delta > 1e-3f; delta /= 2)
        CLV_TRY(clv_nlm_band_count(d->ctx, &phi, delta / 2, d->partial, &count));
    CLV_TRY(clv_nlm_band_list(d->ctx, &phi, delta, d->partial, d->out[0], d->out[1]));
    d->answer[0] = fits(d, count) ? count : 0;
end:
    return status;
}

static int search(bench_data *d, int (*by)(clvox_context *ctx, const clv_patch_search_args *args))
{
    const clv_image phi = band_image(d);
    clv_patch_search_args args = {
        .patches = {.phi = phi, .band = d->out[0], .count = (int)d->answer[0], .radius = RADIUS}, .most = MOST,
        .neighbours = d->field[0], .distances = d->field[1], .scratch = d->nine};
    int status = CLVOX_OK;
    size_t needed = clv_patch_search_bytes(args.patches.count, RADIUS);
    clv_buffer *more = NULL; /* where the data have no room */
    if (args.patches.count == 0)
        return CLVOX_OK;
    if (needed > d->nine->bytes) {
        CLV_TRY(clv_buffer_create(d->ctx, needed, "scratch of the search", &more));
        args.scratch = more;
    }
    CLV_TRY(by(d->ctx, &args));
end:
    clv_buffer_destroy(&more);
    return status;
}

static int row_search(bench_data *d)
{
    return search(d, clv_patch_search);
}

/* As the paper does, pair by pair. */
static int row_pairs(bench_data *d)
{
    return search(d, clv_patch_pairs);
}

/* Against every pair, but for what nearly ties. */
static int check_search(bench_check *c)
{
    bench_data *d = c->data;
    int status = CLVOX_OK, size[3], count = (int)d->answer[0], *want = NULL;
    size_t answers = (size_t)count * MOST;
    double *distance = c->want;
    int32_t *band = (int32_t *)c->got, *got = band + count;
    float *found = (float *)(got + answers);
    band_size(d, size);
    if (count == 0)
        return bench_wrong(d->ctx, c->label, "there is nothing to compare");
    want = malloc(answers * sizeof *want);
    if (!want)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the bench's references");
    CLV_TRY(clv_buffer_read(d->ctx, d->out[0], 0, band, (size_t)count * sizeof *band));
    CLV_TRY(clv_buffer_read(d->ctx, d->field[0], 0, got, answers * sizeof *got));
    CLV_TRY(clv_buffer_read(d->ctx, d->field[1], 0, found, answers * sizeof *found));
    ref_patch_search(c->level, size, band, count, RADIUS, MOST, 0, want, distance);
    for (size_t i = 0; i < answers; i++) {
        double slack = 1e-4 * distance[i] + 1e-7;
        bool right = got[i] == want[i];
        if (!right && got[i] >= 0 && got[i] < count) {
            double its = ref_nlm_distance(c->level, size, RADIUS, band[i / MOST], band[got[i]]);
            right = fabs(its - distance[i]) <= slack;
        }
        if (!right || !(fabs((double)found[i] - distance[i]) <= slack)) {
            status = bench_wrong(d->ctx, c->label, "a patch at distance %.7g should be at %.7g", (double)found[i],
                                 distance[i]);
            goto end;
        }
    }
end:
    free(want);
    return status;
}

/* The matrix of patches in nine, neighbours in field[0], their weights in field[1], phi in out[2]. */
static int average(bench_data *d)
{
    int status = CLVOX_OK, count = (int)d->answer[0];
    const clv_image phi = band_image(d);
    const clv_patches patches = {.phi = phi, .band = d->out[0], .count = count, .radius = RADIUS};
    clv_nlm_average_args args = {.graph = {.band = d->out[0], .neighbours = d->field[0], .weights = d->field[1],
                                           .count = count, .most = MOST},
                                 .matrix = {d->nine, count, RADIUS}, .own = 1, .index = d->out[1],
                                 .sums = d->partial, .phi = clv_image_on(&phi, d->out[2], 1)};
    clv_buffer *estimates = NULL; /* the data have no room for them; only the device's time counts */
    if (count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_buffer_create(d->ctx, d->nine->bytes / 4, "estimates", &estimates));
    args.estimates = estimates;
    CLV_TRY(clv_nlm_patches_gather(d->ctx, &patches, d->nine));
    CLV_TRY(clv_nlm_weights(d->ctx, &args.graph, d->field[1], &phi, 4, 4, d->partial));
    CLV_TRY(clv_nlm_average(d->ctx, &args));
end:
    clv_buffer_destroy(&estimates);
    return status;
}

/* By the neighbours and weights that the device has. */
static int check_average(bench_check *c)
{
    bench_data *d = c->data;
    int status = CLVOX_OK, size[3], count = (int)d->answer[0];
    size_t pairs = (size_t)count * MOST, voxels;
    int32_t *band = (int32_t *)c->got, *neighbours = band + count;
    float *weights = (float *)(neighbours + pairs), *phi = weights + pairs;
    double *weight = c->want, *values = weight + pairs;
    band_size(d, size);
    voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    if (count == 0)
        return bench_wrong(d->ctx, c->label, "there is nothing to compare");
    CLV_TRY(clv_buffer_read(d->ctx, d->out[0], 0, band, (size_t)count * sizeof *band));
    CLV_TRY(clv_buffer_read(d->ctx, d->field[0], 0, neighbours, pairs * sizeof *neighbours));
    CLV_TRY(clv_buffer_read(d->ctx, d->field[1], 0, weights, pairs * sizeof *weights));
    CLV_TRY(clv_buffer_read(d->ctx, d->out[2], 0, phi, voxels * sizeof *phi));
    for (size_t i = 0; i < pairs; i++)
        weight[i] = (double)weights[i];
    ref_nlm_average(c->level, size, band, neighbours, weight, count, MOST, RADIUS, 1, values);
    for (int j = 0; j < count; j++)
        CLV_TRY(check_number(c, (double)phi[band[j]], values[j], 2e-5 * (1 + fabs(values[j]))));
end:
    return status;
}

static int begin_average(bench_data *d)
{
    int status = begin_band(d);
    return status < 0 ? status : row_search(d);
}

const bench_row tune_rows[] = {
    {"tensor tv, overlapping blocks", "tensor_tv_overlap", 0, 0, row_tv_overlap, check_overlap, begin_tv, half_size},
    {"tensor tv, blocks", "tensor_tv_block", 0, 0, row_tv_block, check_block, begin_tv, half_size},
    {"tensor tv, blocks of 8 voxels", "tensor_tv_none", 0, 0, row_tv_none, check_none, begin_tv, half_size},
    {"nlm search", "patch_search", 0, 0, row_search, check_search, begin_band, band_size},
    {"nlm search, pair by pair", "patch_pairs", 0, 0, row_pairs, check_search, begin_band, band_size},
    {"nlm average", "nlm_average", 0, 0, average, check_average, begin_average, band_size},
    {.name = NULL},
};
