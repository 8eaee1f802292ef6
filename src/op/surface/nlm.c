/* SPDX-License-Identifier: Apache-2.0 */
#include "op/surface/nlm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* Along a line of voxels of the band, or of rows of the volume. */
#define LINE(symbol, role, kernel, many)                                                                    \
    static const clv_variant symbol##_variants[] = {                                                        \
        {.name = "lanes", .function = kernel, .item = {CLV_MARCH}, .devices = CLV_ON_GPU,             \
         .tiles = {{64, 1, 1, 1}}},                                                                         \
        {.name = "runs", .function = kernel, .item = {CLV_MARCH}, .devices = CLV_ON_CPU,              \
         .tiles = {{1, 1, 1, many}}},                                                                       \
    };                                                                                                      \
    const clv_entry clv_entry_nlm_##symbol = CLV_ENTRY("surface/nlm", role, symbol##_variants, NULL)

LINE(plane_means, "nlm_plane_means", "nlm_plane_means", 64);
LINE(plane, "nlm_plane", "nlm_plane", 64);
LINE(scatter, "nlm_scatter", "nlm_scatter", 1024);
LINE(overlap, "nlm_overlap", "nlm_overlap", 64);

/* Voxels of a chunk: a work-group, with a work-item for each 32 of them; on CPU devices a work-item. */
#define CHUNK 4096
enum { WORDS = CHUNK / 32 };
#define CHUNKS(symbol, role, kernel, bytes)          \
    static const clv_variant symbol##_variants[] = { \
        {.name = "group",                            \
         .function = kernel,                         \
         .defines = "-DCHUNK=" CLV_TEXT(CHUNK),      \
         .group = {1, 1, 1},                         \
         .devices = CLV_ON_GPU,                      \
         .fixed_bytes = bytes,                       \
         .tiles = {{WORDS, 1, 1, 1}}},               \
        {.name = "run",                              \
         .function = kernel,                         \
         .defines = "-DCHUNK=" CLV_TEXT(CHUNK),      \
         .group = {1, 1, 1},                         \
         .devices = CLV_ON_CPU,                      \
         .tiles = {{1, 1, 1, 1}}},                   \
    };                                               \
    const clv_entry clv_entry_nlm_##symbol = CLV_ENTRY("surface/nlm", role, symbol##_variants, NULL)

CHUNKS(count, "nlm_count", "nlm_count", sizeof(int32_t));
CHUNKS(band, "nlm_band", "nlm_list", 4 * WORDS * sizeof(int32_t)); /* bits, sums before, a scan's two */

static const clv_variant ends_variants[] = {
    {.name = "group",
     .function = "nlm_ends",
     .group = {CLV_WHOLE},
     .devices = CLV_ON_ANY,
     .cell_bytes = 8,
     .tiles = {{1024, 1, 1, 1}, {256, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_ends = CLV_ENTRY("surface/nlm", "nlm_ends", ends_variants, NULL);

/* A work-group MARCH rows of a plane; on CPU devices a work-item many rows. */
static const clv_variant volume_variants[] = {
    {.name = "group",
     .function = "nlm_volume_group",
     .group = {1, 1, 1},
     .devices = CLV_ON_GPU,
     .cell_bytes = 16 * 6, /* MARCH at most 16 */
     .fixed_bytes = 4,
     .tiles = {{128, 1, 1, 16}, {64, 1, 1, 8}}},
    {.name = "runs",
     .function = "nlm_volume_row",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16}}},
};
const clv_entry clv_entry_nlm_volume = CLV_ENTRY("surface/nlm", "nlm_volume", volume_variants, NULL);

/* Floats of a patch's row, and of the widest one. */
#define STRIDE_OF(edge) (((edge) * (edge) * (edge) + 31) / 32 * 32)
#define MOST_STRIDE 736
_Static_assert(MOST_STRIDE == STRIDE_OF(2 * CLV_NLM_WIDEST + 1), "the row of the widest patches");

static const clv_variant residual_variants[] = {
    {.name = "lanes",
     .function = "nlm_residual",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}}},
    {.name = "runs",
     .function = "nlm_residual_runs",
     .defines = "-DMOST_STRIDE=" CLV_TEXT(MOST_STRIDE),
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 64}}},
};
const clv_entry clv_entry_nlm_residual = CLV_ENTRY("surface/nlm", "nlm_residual", residual_variants, NULL);

/* Sums of rows of the graph: a work-group some rows, of which 32 entries at a time are in local memory, with
 * a float between rows; on CPU devices a work-item each. */
#define GRAPH_ROWS 16
#define GRAPH(symbol)                                               \
    static const clv_variant symbol##_variants[] = {                \
        {.name = "group",                                           \
         .function = #symbol "_group",                              \
         .defines = "-DGRAPH_ROWS=" CLV_TEXT(GRAPH_ROWS),           \
         .group = {GRAPH_ROWS, 1, 1},                               \
         .devices = CLV_ON_GPU,                                     \
         .fixed_bytes = GRAPH_ROWS * 33 * 4,                        \
         .tiles = {{256, 1, 1, 1}, {128, 1, 1, 1}}},                \
        {.name = "runs",                                            \
         .function = #symbol,                                       \
         .item = {CLV_MARCH},                                       \
         .devices = CLV_ON_CPU,                                     \
         .tiles = {{1, 1, 1, 64}}},                                 \
    };                                                              \
    const clv_entry clv_entry_##symbol = CLV_ENTRY("surface/nlm", #symbol, symbol##_variants, NULL)

GRAPH(nlm_weights);
GRAPH(nlm_energy);
GRAPH(nlm_step);

/* A work-group a patch, its samples side by side; on CPU devices a work-item. */
static const clv_variant patches_variants[] = {
    {.name = "group", .function = "nlm_patches", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .tiles = {{32, 1, 1, 1}, {128, 1, 1, 1}}},
    {.name = "item", .function = "nlm_patches", .group = {1, 1, 1}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_patches = CLV_ENTRY("surface/nlm", "nlm_patches", patches_variants, NULL);

/* Means of patches: 32 work-items each; on CPU devices a work-item. */
#define PATCHES 4
static const clv_variant average_variants[] = {
    {.name = "group",
     .function = "nlm_estimate_group",
     .defines = "-DPATCHES=" CLV_TEXT(PATCHES) " -DMOST=" CLV_TEXT(CLV_PATCH_MOST_NEIGHBOURS),
     .group = {PATCHES, 1, 1},
     .devices = CLV_ON_GPU,
     .fixed_bytes = PATCHES * CLV_PATCH_MOST_NEIGHBOURS * 8,
     .tiles = {{32 * PATCHES, 1, 1, 1}}},
    {.name = "item", .function = "nlm_estimate", .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_average = CLV_ENTRY("surface/nlm", "nlm_average", average_variants, NULL);

#define SIZE4(n) CLV_INT4((n)[0], (n)[1], (n)[2], 0)

/* ---- the band ----------------------------------------------------------- */

static int chunks_of(const int size[3])
{
    return (int)(((size_t)size[0] * (size_t)size[1] * (size_t)size[2] + CHUNK - 1) / CHUNK);
}

size_t clv_nlm_parts_bytes(const int size[3])
{
    const int rows = size[1] * size[2], chunks = chunks_of(size);
    return (size_t)(rows > chunks ? rows : chunks) * sizeof(int32_t);
}

int clv_nlm_band_count(clvox_context *ctx, const clv_image *phi, float delta, clv_buffer *ends, int *count)
{
    int status = CLVOX_OK, n = (int)clv_image_voxels(phi);
    const clv_kernel *counted, *summed;
    const int line[3] = {chunks_of(phi->size), 1, 1};
    int32_t all;
    *count = 0;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_count, NULL, line, 0, &counted));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_ends, NULL, line, 0, &summed));
    CLV_TRY(CLV_LAUNCH(ctx, counted, line, 4.0 * n, CLV_BUF(phi->buffer), CLV_INT(n), CLV_FLOAT(delta),
                       CLV_BUF(ends)));
    CLV_TRY(CLV_LAUNCH(ctx, summed, line, 8.0 * line[0], CLV_BUF(ends), CLV_INT(line[0])));
    CLV_TRY(clv_buffer_read(ctx, ends, ((size_t)line[0] - 1) * sizeof all, &all, sizeof all));
    *count = all;
end:
    return status;
}

int clv_nlm_band_list(clvox_context *ctx, const clv_image *phi, float delta, const clv_buffer *ends,
                      clv_buffer *band, clv_buffer *index)
{
    int status = CLVOX_OK, n = (int)clv_image_voxels(phi);
    const clv_kernel *kernel;
    const int line[3] = {chunks_of(phi->size), 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_band, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 8.0 * n, CLV_BUF(phi->buffer), CLV_INT(n), CLV_FLOAT(delta),
                       CLV_BUF(ends), CLV_BUF(band), CLV_BUF(index)));
end:
    return status;
}

/* ---- patches and noise -------------------------------------------------- */

int clv_nlm_stride(int radius)
{
    return STRIDE_OF(2 * radius + 1);
}

static int check_matrix(int count, int radius)
{
    if (radius < 1 || radius > CLV_NLM_WIDEST)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a patch of %d voxels is not possible; take 3, 5 or 7",
                          2 * radius + 1);
    if (count > INT_MAX / clv_nlm_stride(radius))
        return clvox_fail(CLVOX_ERROR_MEMORY,
                          "a band of %d voxels has too many patches; take a narrower band or smaller patches",
                          count);
    return CLVOX_OK;
}

int clv_nlm_patches_gather(clvox_context *ctx, const clv_patches *p, clv_buffer *matrix)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int groups[3] = {p->count, 1, 1};
    int stride = clv_nlm_stride(p->radius);
    CLV_TRY(check_matrix(p->count, p->radius));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_patches, NULL, groups, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, groups, 4.0 * p->count * (stride + 2), CLV_BUF(p->phi.buffer),
                       SIZE4(p->phi.size), CLV_BUF(p->band), CLV_INT(p->radius), CLV_INT(stride),
                       CLV_BUF(matrix)));
end:
    return status;
}

/* 1 over the sums of squares over a patch of 1, x, x^2 - mean and x y. */
static void norms_of(int radius, float *mean, float norm[4])
{
    double edge = 2 * radius + 1, middle = radius * (radius + 1) / 3.0, quartic = 0, square = edge * middle;
    for (int x = -radius; x <= radius; x++)
        quartic += (x * x - middle) * (x * x - middle);
    *mean = (float)middle;
    norm[0] = (float)(1 / (edge * edge * edge));
    norm[1] = (float)(1 / (square * edge * edge));
    norm[2] = (float)(1 / (quartic * edge * edge));
    norm[3] = (float)(1 / (square * square * edge));
}

static int fit(clvox_context *ctx, const clv_nlm_matrix *m, float keen, clv_buffer *residual)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {m->count, 1, 1};
    int stride = clv_nlm_stride(m->radius);
    float mean, norm[4];
    CLV_TRY(check_matrix(m->count, m->radius));
    norms_of(m->radius, &mean, norm);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_residual, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4.0 * m->count * (stride + 1), CLV_BUF(m->buffer),
                       CLV_INT(m->count), CLV_INT(m->radius), CLV_INT(stride), CLV_FLOAT(mean), CLV_FLOAT4V(norm),
                       CLV_FLOAT(keen), CLV_BUF(residual)));
end:
    return status;
}

int clv_nlm_residual(clvox_context *ctx, const clv_nlm_matrix *matrix, clv_buffer *residual)
{
    return fit(ctx, matrix, 0, residual);
}

int clv_nlm_polish(clvox_context *ctx, const clv_nlm_matrix *matrix, float scale, clv_buffer *residual)
{
    return fit(ctx, matrix, 1 / scale, residual);
}

int clv_nlm_planes(clvox_context *ctx, const clv_nlm_matrix *m, float share, clv_buffer *planes,
                   clv_buffer *tiles, clv_buffer *middles)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {m->count, 1, 1};
    int stride = clv_nlm_stride(m->radius);
    float mean, norm[4];
    CLV_TRY(check_matrix(m->count, m->radius));
    norms_of(m->radius, &mean, norm);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_plane, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4.0 * m->count * (3 * stride + 5), CLV_BUF(m->buffer),
                       CLV_INT(m->count), CLV_INT(m->radius), CLV_INT(stride), CLV_FLOAT4V(norm),
                       CLV_FLOAT(share), CLV_BUF(planes), CLV_BUF(tiles), CLV_BUF(middles)));
end:
    return status;
}

int clv_nlm_plane_means(clvox_context *ctx, const clv_nlm_graph *g, const clv_nlm_plane_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {g->count, 1, 1};
    float mean, norm[4];
    norms_of(a->radius, &mean, norm);
    const float sizes[2] = {1 / norm[1], 1 / norm[0]};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_plane_means, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 12.0 * g->count * g->most, CLV_BUF(g->neighbours),
                       CLV_BUF(g->weights), CLV_BUF(a->planes), CLV_BUF(a->values), CLV_INT(g->count), CLV_INT(g->most),
                       CLV_FLOAT(a->share), (clv_arg){sizeof sizes, sizes, NULL},
                       CLV_FLOAT(fminf(1 / a->c2, 1e30f)), CLV_BUF(a->means)));
end:
    return status;
}

/* ---- weights ------------------------------------------------------------ */

int clv_nlm_weights(clvox_context *ctx, const clv_nlm_graph *g, const clv_buffer *distances,
                    const clv_image *grid, float c1, float c2, clv_buffer *sums)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {g->count, 1, 1};
    if (!(c1 > 0) || !(c2 > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "c1 %g and c2 %g must be above 0", (double)c1, (double)c2);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_weights, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 12.0 * g->count * g->most, CLV_BUF(g->neighbours),
                       CLV_BUF(distances), CLV_BUF(g->band), CLV_GRID(grid), CLV_INT(g->count),
                       CLV_INT(g->most), CLV_FLOAT(1 / c1), CLV_FLOAT(fminf(1 / c2, 1e30f)), CLV_BUF(g->weights),
                       CLV_BUF(sums)));
end:
    return status;
}

int clv_nlm_energy(clvox_context *ctx, const clv_nlm_graph *g, const clv_buffer *phi, clv_buffer *energy)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {g->count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_energy, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 8.0 * g->count * g->most, CLV_BUF(phi), CLV_BUF(g->band),
                       CLV_BUF(g->neighbours), CLV_BUF(g->weights), CLV_INT(g->count), CLV_INT(g->most),
                       CLV_BUF(energy)));
end:
    return status;
}

/* ---- updates ------------------------------------------------------------ */

int clv_nlm_step(clvox_context *ctx, const clv_nlm_graph *g, const clv_buffer *state, int slot,
                 clv_buffer *next, clv_buffer *phi)
{
    int status = CLVOX_OK;
    const clv_kernel *step, *scatter;
    const int line[3] = {g->count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_step, NULL, line, 0, &step));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_scatter, NULL, line, 0, &scatter));
    CLV_TRY(CLV_LAUNCH(ctx, step, line, 8.0 * g->count * (g->most + 1), CLV_BUF(phi), CLV_BUF(g->band),
                       CLV_BUF(g->neighbours), CLV_BUF(g->weights), CLV_INT(g->count), CLV_INT(g->most),
                       CLV_BUF(state), CLV_INT(slot), CLV_BUF(next)));
    CLV_TRY(CLV_LAUNCH(ctx, scatter, line, 12.0 * g->count, CLV_BUF(next), CLV_BUF(g->band),
                       CLV_INT(g->count), CLV_BUF(phi)));
end:
    return status;
}

/* The overlap of the estimates of patches first to first + part - 1. */
static int overlap(clvox_context *ctx, const clv_nlm_average_args *a, const clv_buffer *estimates, int first,
                   int part)
{
    int status = CLVOX_OK, stride = clv_nlm_stride(a->matrix.radius);
    const clv_kernel *kernel;
    const int line[3] = {a->graph.count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_overlap, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, part * stride * 4.0 + 8.0 * line[0], CLV_BUF(estimates),
                       CLV_BUF(a->graph.band), CLV_BUF(a->index), SIZE4(a->phi.size), CLV_INT(line[0]),
                       CLV_INT(first), CLV_INT(part), CLV_INT(a->matrix.radius), CLV_INT(stride),
                       CLV_BUF(a->planes), CLV_BUF(a->sums), CLV_BUF(a->phi.buffer)));
end:
    return status;
}

int clv_nlm_average(clvox_context *ctx, const clv_nlm_average_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *estimate;
    const clv_nlm_graph *g = &a->graph;
    const int line[3] = {g->count, 1, 1};
    int stride = clv_nlm_stride(a->matrix.radius);
    double row = stride * 4.0;
    size_t rows = a->estimates->bytes / ((size_t)stride * sizeof(float));
    CLV_TRY(check_matrix(g->count, a->matrix.radius));
    if (rows < 1 || g->most < 1 || g->most > CLV_PATCH_MOST_NEIGHBOURS) {
        status =
            clvox_fail(CLVOX_ERROR_ARGUMENT,
                       "means of %d neighbours with room for %zu patches are not possible", g->most, rows);
        goto end;
    }
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_average, NULL, line, 0, &estimate));
    for (int first = 0; first < g->count;) {
        int part = (size_t)(g->count - first) < rows ? g->count - first : (int)rows;
        CLV_TRY(CLV_LAUNCH(ctx, estimate, ((const int[3]){part, 1, 1}), part * (2 * row + 8.0 * g->most),
                           CLV_BUF(a->matrix.buffer), CLV_BUF(g->neighbours), CLV_BUF(g->weights),
                           CLV_INT(first), CLV_INT(part), CLV_INT(g->most), CLV_INT(stride),
                           CLV_FLOAT(a->own), CLV_BUF(a->estimates)));
        CLV_TRY(overlap(ctx, a, a->estimates, first, part));
        first += part;
    }
end:
    return status;
}

int clv_nlm_overlap(clvox_context *ctx, const clv_nlm_matrix *matrix, const clv_buffer *band,
                    const clv_buffer *index, clv_buffer *sums, const clv_image *phi)
{
    const clv_nlm_average_args args = {.graph = {.band = band, .count = matrix->count}, .matrix = *matrix,
                                       .index = index, .sums = sums, .phi = *phi};
    int status = check_matrix(matrix->count, matrix->radius);
    return status < 0 ? status : overlap(ctx, &args, matrix->buffer, 0, matrix->count);
}

/* ---- volume ------------------------------------------------------------- */

int clv_nlm_volume(clvox_context *ctx, const clv_image *phi, float level, clv_buffer *parts, double *cells)
{
    int status = CLVOX_OK, planes = phi->size[2] - 1;
    const clv_kernel *kernel;
    const int *size = phi->size, line[3] = {(size[1] - 1) * planes, 1, 1};
    float *sums = NULL;
    *cells = 0;
    if (size[0] < 2 || line[0] < 1)
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_volume, NULL, line, 0, &kernel));
    const bool strips = kernel->tile.x > 1; /* of one plane */
    const int many = strips ? (size[1] - 2 + kernel->tile.march) / kernel->tile.march * planes : line[0];
    const size_t bytes = (size_t)many * sizeof *sums;
    sums = malloc(bytes);
    if (!sums)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    CLV_TRY(CLV_LAUNCH(ctx, kernel, ((const int[3]){many, 1, 1}), 4.0 * size[0] * size[1] * size[2],
                       CLV_BUF(phi->buffer), SIZE4(size), CLV_FLOAT(level), CLV_BUF(parts)));
    CLV_TRY(clv_buffer_read(ctx, parts, 0, sums, bytes));
    for (int r = 0; r < many; r++)
        *cells += (double)sums[r];
end:
    free(sums);
    return status;
}

const clv_entry *const clv_operation_surface_nlm[] = {
    &clv_entry_nlm_count,    &clv_entry_nlm_ends,        &clv_entry_nlm_band,
    &clv_entry_nlm_residual, &clv_entry_nlm_plane_means, &clv_entry_nlm_plane,
    &clv_entry_nlm_weights,  &clv_entry_nlm_energy,      &clv_entry_nlm_step,
    &clv_entry_nlm_scatter,  &clv_entry_nlm_overlap,     &clv_entry_nlm_volume,
    &clv_entry_nlm_patches,  &clv_entry_nlm_average,     NULL};
