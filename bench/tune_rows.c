/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that no row of the bench runs: blocks of tensors' descent, and the
 * patches of surfaces' bands. */
#include "op/nlm.h"
#include "op/tensor_tv.h"
#include "tune.h"

enum { RADIUS = 2, MOST = 8 };

/* A thin band in the first planes, so that all pairs of its patches can be compared. */
static const float DELTA = 0.5f;

/* ---- tensors ---- */

static void half_size(const bench_data *d, int size[3])
{
    size[0] = d->size[0];
    size[1] = d->size[1];
    size[2] = d->size[2] / 2;
}

static int begin_tv(bench_data *d)
{
    int size[3];
    half_size(d, size);
    return clv_buffer_copy(d->ctx, d->tensor_data, 0, d->field[0], 0,
                           6 * sizeof(float) * (size_t)size[0] * (size_t)size[1] * (size_t)size[2]);
}

static int descend(bench_data *d, clv_tensor_scheme scheme)
{
    clv_tensor_tv_args args = {.data = d->tensor_data, .links = d->half_links, .spacing = {1, 1, 1},
                               .coupling = CLV_TENSOR_LOCAL, .lambda = 10, .eps = 1e-4f, .relax = 1,
                               .floor = 1e-6f, .partial = d->partial, .state = d->state};
    half_size(d, args.size);
    return clv_tensor_tv_descend(d->ctx, &args, scheme, CLV_TENSOR_BLOCK_STEPS, d->field[0], d->nine);
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

/* ---- patches ---- */

static void band_size(const bench_data *d, int size[3])
{
    size[0] = d->size[0];
    size[1] = d->size[1];
    size[2] = d->size[2] < 96 ? (d->size[2] < 3 ? d->size[2] : 3) : d->size[2] / 32;
}

/* The band into out[0], the places of its voxels into out[1], its length into
 * answer[0]; 0 where the data have no room for what the rows do with it. */
static int begin_band(bench_data *d)
{
    int status = CLVOX_OK, size[3], count = 0;
    band_size(d, size);
    CLV_TRY(clv_nlm_band_count(d->ctx, d->level, size, DELTA, d->partial, &count));
    CLV_TRY(clv_nlm_band_list(d->ctx, d->level, size, DELTA, d->partial, d->out[0], d->out[1]));
    size_t room = (size_t)d->n * sizeof(float);
    if ((size_t)count * MOST * sizeof(float) > room || clv_nlm_search_bytes(d->ctx, count, RADIUS, MOST) > 9 * room ||
        (size_t)count * (size_t)clv_nlm_stride(RADIUS) * sizeof(float) > 9 * room ||
        (size_t)count * 2 * sizeof(float) > d->partial->bytes)
        count = 0;
    d->answer[0] = count;
end:
    return status;
}

static int search(bench_data *d, clv_nlm_memory memory)
{
    clv_nlm_patches patches = {.phi = d->level, .band = d->out[0], .count = (int)d->answer[0], .radius = RADIUS};
    band_size(d, patches.size);
    if (patches.count == 0)
        return CLVOX_OK;
    return clv_nlm_search(d->ctx, &patches, memory, MOST, 0, d->field[0], d->field[1], d->nine, NULL, NULL);
}

static int row_search(bench_data *d)
{
    return search(d, CLV_NLM_AUTO);
}

static int row_search_constant(bench_data *d)
{
    return search(d, CLV_NLM_CONSTANT);
}

static int row_search_global(bench_data *d)
{
    return search(d, CLV_NLM_GLOBAL);
}

static int row_search_image(bench_data *d)
{
    return search(d, CLV_NLM_IMAGE);
}

/* The matrix of patches in nine, neighbours in field[0], their weights in field[1], phi in out[2]. */
static int average(bench_data *d)
{
    static const float unit[3] = {1, 1, 1};
    int status = CLVOX_OK, count = (int)d->answer[0];
    clv_nlm_patches patches = {.phi = d->level, .band = d->out[0], .count = count, .radius = RADIUS};
    const clv_nlm_graph graph = {.band = d->out[0], .neighbours = d->field[0], .weights = d->field[1],
                                 .count = count, .most = MOST};
    band_size(d, patches.size);
    clv_buffer *estimates = NULL; /* the data have no room for them; only the device's time counts */
    if (count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_buffer_create(d->ctx, d->nine->bytes / 4, "estimates", &estimates));
    CLV_TRY(clv_nlm_patches_gather(d->ctx, &patches, d->nine));
    CLV_TRY(clv_nlm_weights(d->ctx, &graph, d->field[1], patches.size, unit, 4, 4, d->partial));
    CLV_TRY(clv_nlm_average(d->ctx, &graph, d->nine, RADIUS, 1, NULL, d->out[1], patches.size, estimates, d->partial,
                            d->out[2]));
end:
    clv_buffer_destroy(&estimates);
    return status;
}

static int begin_average(bench_data *d)
{
    int status = begin_band(d);
    return status < 0 ? status : search(d, CLV_NLM_AUTO);
}

const bench_row tune_rows[] = {
    {"tensor tv, overlapping blocks", "tensor_tv_overlap", 0, 0, row_tv_overlap, NULL, begin_tv, half_size},
    {"tensor tv, blocks", "tensor_tv_block", 0, 0, row_tv_block, NULL, begin_tv, half_size},
    {"tensor tv, blocks of 8 voxels", "tensor_tv_none", 0, 0, row_tv_none, NULL, begin_tv, half_size},
    {"nlm search", "nlm_search", 0, 0, row_search, NULL, begin_band, band_size},
    {"nlm search, constant memory", "nlm_pairs_constant", 0, 0, row_search_constant, NULL, begin_band, band_size},
    {"nlm search, global memory", "nlm_pairs_global", 0, 0, row_search_global, NULL, begin_band, band_size},
    {"nlm search, image memory", "nlm_pairs_image", 0, 0, row_search_image, NULL, begin_band, band_size},
    {"nlm average", "nlm_average", 0, 0, average, NULL, begin_average, band_size},
    {.name = NULL},
};
