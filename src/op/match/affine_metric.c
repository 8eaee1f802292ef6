/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/affine_metric.h"

/* Blocks of a map and of all maps: a GPU is full with as many groups, a CPU's items each add up a block. */
enum { MOST_BLOCKS = 128, BLOCK_SAMPLES = 2048, MOST_GROUPS = 1024 };

/* Bytes of local memory that a work-group counts into: any device has them. */
enum { MOST_LOCAL = 16384 };

#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)

static const clv_variant prepare_variants[] = {
    {.name = "item", .function = "prepare", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "chunk", .function = "prepare", .item = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 16384}}},
};
const clv_entry clv_entry_affine_prepare = CLV_ENTRY("match/affine_metric", "affine_prepare",
                                                     prepare_variants, NULL);

static const clv_variant localise_variants[] = {
    {.name = "item", .function = "localise", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "chunk", .function = "localise", .item = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 16384}}},
};
const clv_entry clv_entry_affine_localise = CLV_ENTRY("match/affine_metric", "affine_localise",
                                                      localise_variants, NULL);

/* Launched over blocks of rows, maps, and bands of the fixed image's bins. */
static const clv_variant histogram_variants[] = {
    {.name = "groups", .function = "histogram_groups", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "rows", .function = "histogram_rows", .item = {1, 1, CLV_WHOLE}, .devices = CLV_ON_CPU,
     .no_local = true, .defines = "-DMOST_BINS=" TEXT(CLV_AFFINE_MOST_BINS), .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_affine_histogram = CLV_ENTRY("match/affine_metric", "affine_histogram",
                                                       histogram_variants, NULL);

/* Launched over blocks of rows and maps. */
static const clv_variant sums_variants[] = {
    {.name = "groups", .function = "sums_groups", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .fixed_bytes = 128 * 8 * 4, .tiles = {{128, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "rows", .function = "sums_rows", .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
enum { WEIGHTED = 3 }; /* the build of PAIR with weights */
static const char *const sums_builds[] = {"-DSOURCE=0", "-DSOURCE=1", "-DSOURCE=2", "-DSOURCE=3", NULL};
const clv_entry clv_entry_affine_sums = CLV_ENTRY("match/affine_metric", "affine_sums", sums_variants,
                                                  sums_builds);

static const clv_variant join_variants[] = {
    {.name = "groups", .function = "join_groups", .devices = CLV_ON_GPU,
     .cell_bytes = 4, .tiles = {{32, 8, 1, 1}}},
    {.name = "item", .function = "join_blocks", .devices = CLV_ON_ANY,
     .tiles = {{64, 1, 1, 1}}},
};
const clv_entry clv_entry_affine_join = CLV_ENTRY("match/affine_metric", "affine_join", join_variants, NULL);

int clv_affine_sum_count(clv_affine_source source)
{
    return CLV_AFFINE_DERIVATIVE + (source == CLV_AFFINE_PAIR ? 36 : 12) + 60;
}

int clv_affine_prepare(clvox_context *ctx, const clv_buffer *in, const clv_buffer *share, int n,
                       float scale, float offset, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_affine_prepare, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, (share ? 12.0 : 8.0) * n, CLV_BUF(in), CLV_BUF(share),
                       CLV_INT(n), CLV_FLOAT(scale), CLV_FLOAT(offset), CLV_BUF(out)));
end:
    return status;
}

int clv_affine_localise(clvox_context *ctx, const clv_image *image, const clv_surroundings *s,
                        const int rim[3], float epsilon, clv_buffer *out)
{
    int status = CLVOX_OK, n = (int)clv_image_voxels(image);
    const clv_kernel *kernel;
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_affine_localise, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 20.0 * n, CLV_BUF(image->buffer), CLV_BUF(s->mean),
                       CLV_BUF(s->square), CLV_BUF(s->share), CLV_SIZE(image),
                       CLV_INT4(rim[0], rim[1], rim[2], 0), CLV_FLOAT(epsilon), CLV_BUF(out)));
end:
    return status;
}

/* Rows of the lattice, and how they are cut into blocks: by the sizes alone,
 * so that sums have one order on every device of a kind. */
typedef struct blocks {
    int rows, rows_each, count;
    double samples;
} blocks;

static blocks blocks_of(const clv_affine_pair *pair, bool gpu)
{
    blocks b;
    const int *size = pair->fixed.size;
    int ny = (size[1] + pair->step[0] - 1) / pair->step[0];
    int nz = (size[2] + pair->step[1] - 1) / pair->step[1];
    b.rows = ny * nz;
    b.samples = (double)b.rows * size[0];
    int most = MOST_GROUPS / pair->count < 1 ? 1 : MOST_GROUPS / pair->count;
    most = most > MOST_BLOCKS && !gpu ? MOST_BLOCKS : most;
    int wanted = (int)(b.samples / BLOCK_SAMPLES) + 1;
    wanted = wanted > most ? most : wanted;
    b.rows_each = (b.rows + wanted - 1) / wanted;
    b.count = (b.rows + b.rows_each - 1) / b.rows_each;
    return b;
}

size_t clv_affine_partials(const clv_affine_pair *pair)
{
    return (size_t)blocks_of(pair, true).count * (size_t)pair->count * CLV_AFFINE_MOST_SUMS;
}

static double bytes_of(const clv_affine_pair *pair, const blocks *b)
{
    double moving = (double)clv_image_voxels(&pair->moving);
    return 4.0 * (b->samples * (pair->weights ? 2 : 1) + moving) * pair->count;
}

#define PAIR_ARGS(pair, blocks)                                                                    \
    CLV_BUF((pair)->fixed.buffer), CLV_SIZE(&(pair)->fixed), CLV_BUF((pair)->moving.buffer),       \
        CLV_SIZE(&(pair)->moving), CLV_BUF((pair)->maps),                                          \
        CLV_INT4((pair)->step[0], (pair)->step[1], (blocks)->rows_each, (blocks)->rows)

int clv_affine_histogram(clvox_context *ctx, const clv_affine_pair *pair, int bins, unsigned unit,
                         clv_buffer *counts)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    blocks b = blocks_of(pair, clvox_context_limits(ctx)->type != CLVOX_DEVICE_CPU);
    if (bins < 8 || bins > CLV_AFFINE_MOST_BINS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "joint histogram: %d bins asked for; 8 to %d are possible",
                          bins, CLV_AFFINE_MOST_BINS);
    /* Bins of F that a group counts at once: as many as local memory holds. */
    int line = 4 * bins, band = MOST_LOCAL / line < bins ? MOST_LOCAL / line : bins;
    size_t local = (size_t)(band * line);
    const int size[3] = {b.count, pair->count, (bins + band - 1) / band};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_affine_histogram, NULL, size, local, &kernel));
    CLV_TRY(clv_buffer_fill(ctx, counts, 0, 0, (size_t)bins * (size_t)line * (size_t)pair->count));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, bytes_of(pair, &b), PAIR_ARGS(pair, &b), CLV_INT(bins),
                       CLV_INT(band), CLV_FLOAT((float)unit), CLV_BUF(counts), CLV_LOCAL(local)));
end:
    return status;
}

int clv_affine_sums(clvox_context *ctx, const clv_affine_pair *pair,
                    const clv_affine_derivatives *derivatives, clv_buffer *partial, clv_buffer *out)
{
    const clv_affine_source source = derivatives->source;
    const clv_buffer *tables = source == CLV_AFFINE_TABLE ? derivatives->values : NULL;
    const clv_buffer *by_voxel = source == CLV_AFFINE_IMAGE ? derivatives->values : pair->weights;
    int status = CLVOX_OK;
    const clv_kernel *kernel, *join;
    blocks b = blocks_of(pair, clvox_context_limits(ctx)->type != CLVOX_DEVICE_CPU);
    const int size[3] = {b.count, pair->count, 1};
    int sums = clv_affine_sum_count(source);
    const int line[3] = {sums * pair->count, 1, 1};
    if (source == CLV_AFFINE_IMAGE && pair->count != 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "linear sums: derivatives from an image are those of one map");
    if (pair->weights && source != CLV_AFFINE_PAIR)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "linear sums: only pairs of values have weights");
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_affine_sums, sums_builds[pair->weights ? WEIGHTED : (int)source],
                           size, 0, &kernel));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_affine_join, NULL, line, 0, &join));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, bytes_of(pair, &b), PAIR_ARGS(pair, &b),
                       CLV_FLOAT4(pair->centre[0], pair->centre[1], pair->centre[2], 0),
                       CLV_INT(derivatives->bins), CLV_BUF(tables), CLV_BUF(by_voxel), CLV_BUF(partial)));
    CLV_TRY(CLV_LAUNCH(ctx, join, line, 4.0 * line[0] * (b.count + 1), CLV_BUF(partial), CLV_INT(b.count),
                       CLV_INT(sums), CLV_INT(line[0]), CLV_BUF(out)));
end:
    return status;
}

const clv_entry *const clv_operation_match_affine_metric[] = {
    &clv_entry_affine_prepare, &clv_entry_affine_localise, &clv_entry_affine_histogram,
    &clv_entry_affine_sums, &clv_entry_affine_join, NULL};
