/* SPDX-License-Identifier: Apache-2.0 */
/* The search by a blocked product.
 *
 * What the product may be wrong by: with u = 2^-24, a and b the patches less
 * the mean patch of a block, as rounded, K samples and g = K u / (1 - K u), the
 * computed product is within g |a||b| of a.b and the computed squares within
 * g |a|^2, so that |a|^2 + |b|^2 - 2 a.b is within (2 g + 6 u)(|a|^2 + |b|^2) of
 * the distance of a and b. Rounding the differences moves that by less than
 * 4.1 u (|a|^2 + |b|^2) from the true distance, from which the directly summed
 * one is within 2 (g + 3 u)(|a|^2 + |b|^2). Together less than
 * 4.5 (K + 16) u (|a|^2 + |b|^2): `slack` of the kernels. A feature (a product
 * with a unit vector) is within (g + 2 u)|a|; `blur` is four times that. */
#include "op/surface/patch_search.h"

#include <math.h>
#include <stdlib.h>

#include "op/surface/patch_search_parts.h"

/* A work-group takes a block of rows, by GROUP_Y columns at a time. Passes: a few near blocks for a
 * first threshold, the near blocks for a good one, then all, as often as lists are full; one is all. */
#define TILE_LOCAL(block, items) (4 * (4 * 8 * (block) + CLV_PATCH_LONGEST + 15 * (block) + 6 * (items) + 1))
enum { PASSES = 3 };
/* On an H200 tall is up to 14% faster for bands of 175,000 voxels and more, small up to 8% for 30,000. */
static const clv_variant search_variants[] = {
    {.name = "tall", .function = "patch_search_tile", .defines = CLV_PATCH_SIZES " -DHIGH=16",
     .group = {128, 128, 1}, .passes = PASSES, .devices = CLV_ON_GPU, .fixed_bytes = TILE_LOCAL(128, 128),
     .tiles = {{128, 1, 1, 1}}},
    {.name = "small", .function = "patch_search_tile", .defines = CLV_PATCH_SIZES, .group = {64, 64, 1},
     .passes = PASSES, .devices = CLV_ON_GPU, .fixed_bytes = TILE_LOCAL(64, 64), .tiles = {{64, 1, 1, 1}}},
    {.name = "rows", .function = "patch_search_rows", .defines = CLV_PATCH_SIZES, .group = {CLV_MARCH, 16, 1},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 48}, {1, 1, 1, 96}}},
};
static const clv_variant keep_variants[] = {
    {.name = "groups", .function = "patch_search_keep_groups", .defines = CLV_PATCH_SIZES, .group = {1, 1, 1},
     .devices = CLV_ON_GPU, .fixed_bytes = 1024 * 8 + CLV_PATCH_LONGEST * 4 + 128 * 9 * 4,
     .tiles = {{128, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "rows", .function = "patch_search_keep_rows", .defines = CLV_PATCH_SIZES, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant gather_variants[] = {
    {.name = "items", .function = "patch_search_gather", .defines = CLV_PATCH_SIZES, .devices = CLV_ON_GPU,
     .tiles = {{16, 16, 1, 1}}},
    {.name = "rows", .function = "patch_search_gather", .defines = CLV_PATCH_SIZES, .item = {CLV_WHOLE},
     .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 1}}},
};
#define ITEMS(role, many)                                                                                    \
    static const clv_variant role##_variants[] = {                                                           \
        {.name = "item", .function = "patch_search_" #role, .defines = CLV_PATCH_SIZES,                      \
         .devices = CLV_ON_ANY, .tiles = {{many, 1, 1, 1}}},                                                 \
    };                                                                                                       \
    const clv_entry clv_entry_patch_search_##role = CLV_ENTRY("surface/patch_search", "patch_search_" #role, \
                                                              role##_variants, NULL)
ITEMS(features, 64);
ITEMS(blocks, 32);
ITEMS(near, 32);
ITEMS(reach, 64);
const clv_entry clv_entry_patch_search = CLV_ENTRY("surface/patch_search", "patch_search", search_variants,
                                                   NULL);
const clv_entry clv_entry_patch_search_keep = CLV_ENTRY("surface/patch_search", "patch_search_keep",
                                                        keep_variants, NULL);
const clv_entry clv_entry_patch_search_gather = CLV_ENTRY("surface/patch_search", "patch_search_gather",
                                                          gather_variants, NULL);

enum { MOST_COUNT = INT32_MAX / 384 }; /* elements of all patches are counted in an int */

static const int line[3] = {1, 1, 1};

static int blocks_of(int count, int block)
{
    return (count + block - 1) / block;
}

static int units(size_t floats)
{
    return (int)((floats + 15) / 16);
}

static void lay_out(int count, int radius, int block, int panel, size_t room, clv_patch_layout *l)
{
    enum { WORTHWHILE = 1 << 18 }; /* rows that fill any device many times over */
    int side = 2 * radius + 1, blocks = blocks_of(count, block), at = 0;
    size_t padded = (size_t)blocks * (size_t)block;
    *l = (clv_patch_layout){.samples = side * side * side, .block = block, .panel = panel, .panels = -1};
    l->stride = (l->samples + 15) / 16 * 16;
    size_t stride = (size_t)l->stride;
#define PLACE(where, floats) ((where) = at, at += units(floats))
    PLACE(l->left, 16);
    PLACE(l->basis, (size_t)l->samples * CLV_PATCH_POLYNOMIALS);
    PLACE(l->order, padded);
    PLACE(l->by_index, (size_t)count * CLV_PATCH_FEATURES);
    PLACE(l->patches, padded * stride);
    if (panel)
        PLACE(l->panels, padded * stride);
    PLACE(l->features, padded * CLV_PATCH_FEATURES);
    PLACE(l->boxes, (size_t)blocks * CLV_PATCH_BOX);
    PLACE(l->centres, (size_t)blocks * stride);
    PLACE(l->near, (size_t)blocks * CLV_PATCH_NEAR);
    /* A block's lists, counts of its rows, and two cursors a row. */
    size_t each = (size_t)block * (CLV_PATCH_CAPACITY + 3) * 4, fixed = (size_t)at * 64 + 4 * 64;
    size_t chunk = room > fixed ? (room - fixed) / each : 0;
    if (room == 0)
        chunk = (size_t)blocks_of(WORTHWHILE, block);
    l->chunk = chunk > (size_t)blocks ? blocks : (int)chunk;
    size_t rows = (size_t)l->chunk * (size_t)block;
    PLACE(l->counts, rows);
    PLACE(l->cursors, 2 * rows > (size_t)blocks ? 2 * rows : (size_t)blocks);
    PLACE(l->lists, rows * CLV_PATCH_CAPACITY);
#undef PLACE
    l->bytes = (size_t)at * 64;
}

size_t clv_patch_search_bytes(int count, int radius)
{
    /* Enough for every variant, the larger block's padding included. */
    clv_patch_layout l;
    lay_out(count, radius, CLV_PATCH_LARGEST_BLOCK, 1, 0, &l);
    return l.bytes + (size_t)CLV_PATCH_LARGEST_BLOCK * (CLV_PATCH_CAPACITY + 4) * 4;
}

int clv_patch_report(const clv_patch_task *s, double fraction)
{
    int status = CLVOX_OK;
    if (!s->a->progress)
        return CLVOX_OK;
    CLV_TRY(clv_finish(s->ctx));
    if (s->a->progress(s->a->user, fraction))
        status = clvox_fail(CLVOX_ERROR_STOPPED, "search of patches: stopped on request");
end:
    return status;
}

static clv_arg grid_of(const clv_patches *p, int32_t size[4])
{
    for (int a = 0; a < 3; a++)
        size[a] = p->phi.size[a];
    size[3] = p->radius;
    return (clv_arg){4 * sizeof *size, size, NULL};
}

static int gather(clv_patch_task *s, bool features)
{
    int status = CLVOX_OK;
    int32_t size[4];
    const clv_kernel *kernel;
    const clv_patches *p = &s->a->patches;
    int rows = blocks_of(s->used, s->at.block) * s->at.block;
    const int elements[3] = {s->at.stride + 16, rows, 1};
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_gather, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(s->ctx, kernel, elements, 4. * elements[0] * rows, CLV_BUF(p->phi.buffer),
                       grid_of(p, size), CLV_BUF(p->band), CLV_BUF(s->a->scratch),
                       CLV_INT4(s->used, s->at.stride, s->at.block, s->at.panel),
                       CLV_INT4(s->at.order, features ? s->at.by_index : -1, 0, 0),
                       CLV_INT4(s->at.patches, s->at.panels, s->at.features, 0), CLV_INT(rows)));
end:
    return status;
}

/* Features of all patches, and from them the order of the search. */
static int arrange(clv_patch_task *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    int32_t size[4];
    const clv_patches *p = &s->a->patches;
    size_t room = (size_t)p->count * CLV_PATCH_FEATURES * sizeof(float);
    float *features = NULL;
    float basis[343 * CLV_PATCH_POLYNOMIALS];
    int32_t *order = malloc((size_t)p->count * sizeof *order);
    features = malloc(room);
    if (!features || !order) {
        status =
            clvox_fail(CLVOX_ERROR_MEMORY, "search of patches: out of host memory for %d voxels", p->count);
        goto end;
    }
    clv_patch_basis(p->radius, basis);
    CLV_TRY(clv_buffer_write(s->ctx, s->a->scratch, (size_t)s->at.basis * 64, basis,
                             (size_t)s->at.samples * CLV_PATCH_POLYNOMIALS * sizeof(float)));
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_features, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(s->ctx, kernel, ((const int[3]){p->count, 1, 1}), 4. * p->count,
                       CLV_BUF(p->phi.buffer), grid_of(p, size), CLV_BUF(p->band), CLV_INT(p->count),
                       CLV_BUF(s->a->scratch), CLV_INT(s->at.basis), CLV_INT(s->at.by_index)));
    CLV_TRY(clv_buffer_read(s->ctx, s->a->scratch, (size_t)s->at.by_index * 64, features, room));
    s->used = clv_patch_order(features, p->count, s->at.block, order);
    if (s->used > 0)
        CLV_TRY(clv_buffer_write(s->ctx, s->a->scratch, (size_t)s->at.order * 64, order,
                                 (size_t)s->used * sizeof *order));
end:
    free(features);
    free(order);
    return status;
}

static int keep(clv_patch_task *s, int first, int blocks)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_keep, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(s->ctx, kernel, ((const int[3]){blocks * s->at.block, 1, 1}), 0,
                       CLV_BUF(s->a->scratch), CLV_BUF(s->a->neighbours), CLV_BUF(s->a->distances),
                       CLV_INT4(s->used, s->at.stride, s->at.block, s->a->most),
                       CLV_INT4(s->at.patches, s->at.order, s->at.lists, s->at.counts), CLV_INT(first)));
end:
    return status;
}

/* Whether a kernel left something undone since the word was set to 0. */
static int unfinished(clv_patch_task *s, bool *out)
{
    uint32_t word;
    int status = clv_buffer_read(s->ctx, s->a->scratch, (size_t)s->at.left * 64, &word, sizeof word);
    *out = word != 0;
    return status;
}

static int fill(clv_patch_task *s, int at, size_t words)
{
    return clv_buffer_fill(s->ctx, s->a->scratch, (size_t)at * 64, 0, words * 4);
}

static int search_blocks(clv_patch_task *s)
{
    /* Steps of each pass. */
    static const int limits[PASSES] = {2, CLV_PATCH_NEAR - 2, 1 << 30};
    int status = CLVOX_OK, blocks = blocks_of(s->used, s->at.block);
    const clv_kernel *kernel, *prepare;
    float units_of_rounding = (float)(s->at.samples + 16) * 0x1p-24f;
    const int sizes[3] = {s->at.stride + 16, blocks, 1};
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search, NULL, line, 0, &kernel));
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_blocks, NULL, line, 0, &prepare));
    CLV_TRY(CLV_LAUNCH(s->ctx, prepare, sizes, 4. * s->used * s->at.stride, CLV_BUF(s->a->scratch),
                       CLV_INT4(s->used, s->at.stride, s->at.block, 0),
                       CLV_INT4(s->at.patches, s->at.features, s->at.centres, s->at.boxes), CLV_INT(blocks)));
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_near, NULL, line, 0, &prepare));
    CLV_TRY(CLV_LAUNCH(s->ctx, prepare, ((const int[3]){blocks, 1, 1}), 4. * blocks, CLV_BUF(s->a->scratch),
                       CLV_INT(s->at.boxes), CLV_INT(s->at.near), CLV_INT(blocks)));
    bool stepwise = kernel->variant->passes > 1;
    /* If one launch takes each block whole, progress is reported between launches. */
    int chunk = stepwise ? s->at.chunk : s->at.chunk < 64 ? s->at.chunk : 64;
    if (chunk < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "search of patches: its scratch buffer is too small");
    CLV_TRY(fill(s, s->at.counts, (size_t)s->at.chunk * (size_t)s->at.block));
    for (int first = 0; first < blocks; first += chunk) {
        int now = blocks - first < chunk ? blocks - first : chunk;
        bool more = true;
        CLV_TRY(fill(s, s->at.cursors, (size_t)now));
        for (int round = 0; more; round++) {
            CLV_TRY(fill(s, s->at.left, 1));
            CLV_TRY(CLV_LAUNCH(s->ctx, kernel, ((const int[3]){now * s->at.block, s->at.panel, 1}), 0,
                               CLV_BUF(s->a->scratch), CLV_BUF(s->a->neighbours), CLV_BUF(s->a->distances),
                               CLV_INT4(s->used, s->at.stride, 0, blocks),
                               CLV_INT4(s->at.patches, s->at.panels, s->at.features, s->at.boxes),
                               CLV_INT4(s->at.centres, s->at.near, s->at.order, s->at.lists),
                               CLV_INT4(s->at.counts, s->at.cursors, s->at.left, s->a->most), CLV_INT(first),
                               CLV_INT(limits[round < PASSES ? round : PASSES - 1]),
                               CLV_FLOAT(4.5f * units_of_rounding),
                               CLV_FLOAT(s->a->exhaustive ? 1e30f : 4 * units_of_rounding)));
            if (!stepwise)
                break;
            CLV_TRY(keep(s, first, now));
            CLV_TRY(unfinished(s, &more));
        }
        CLV_TRY(clv_patch_report(s, (double)(first + now) / blocks));
    }
end:
    return status;
}

/* Positions are indices; NaN keeps patches that are not finite from any list. */
int clv_patch_take_all(clv_patch_task *s)
{
    int status = CLVOX_OK, count = s->a->patches.count;
    int32_t *order = malloc((size_t)count * sizeof *order);
    if (!order)
        return clvox_fail(CLVOX_ERROR_MEMORY, "search of patches: out of host memory for %d voxels", count);
    for (int j = 0; j < count; j++)
        order[j] = j;
    s->used = count;
    CLV_TRY(clv_buffer_write(s->ctx, s->a->scratch, (size_t)s->at.order * 64, order,
                             (size_t)count * sizeof *order));
    CLV_TRY(gather(s, false));
end:
    free(order);
    return status;
}

static int search_reach(clv_patch_task *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_patch_search_args *a = s->a;
    const clv_buffer *band = a->reach_band ? a->reach_band : a->patches.band;
    const int *n = a->reach_band ? a->reach_size : a->patches.phi.size;
    int count = s->a->patches.count, rows = s->at.chunk * s->at.block;
    if (rows < 1)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "search of patches: its scratch buffer is too small");
    CLV_TRY(clv_patch_take_all(s));
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_search_reach, NULL, line, 0, &kernel));
    for (int first = 0; first < count; first += rows) {
        int now = count - first < rows ? count - first : rows;
        bool more = true;
        CLV_TRY(fill(s, s->at.cursors, 2 * (size_t)now));
        while (more) {
            CLV_TRY(fill(s, s->at.left, 1));
            CLV_TRY(CLV_LAUNCH(s->ctx, kernel, ((const int[3]){now, 1, 1}), 4. * now, CLV_BUF(s->a->scratch),
                               CLV_BUF(band), CLV_INT4(n[0], n[1], n[2], 0),
                               CLV_INT(count), CLV_INT4(s->at.lists, s->at.counts, s->at.cursors, s->at.left),
                               CLV_INT(first), CLV_INT(now), CLV_FLOAT(a->reach)));
            CLV_TRY(keep(s, first / s->at.block, blocks_of(now, s->at.block)));
            CLV_TRY(unfinished(s, &more));
        }
        CLV_TRY(clv_patch_report(s, (double)(first + now) / count));
    }
end:
    return status;
}

int clv_patch_begin(clv_patch_task *s, int block, int panel)
{
    int status = CLVOX_OK;
    const clv_patch_search_args *a = s->a;
    const int count = a->patches.count, radius = a->patches.radius;
    size_t words = (size_t)(count > 0 ? count : 0) * (size_t)(a->most > 0 ? a->most : 0);
    if (radius < 1 || radius > CLV_PATCH_MOST_RADIUS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "search of patches: radius %d; it must be 1 to %d", radius,
                          CLV_PATCH_MOST_RADIUS);
    if (a->most < 1 || a->most > CLV_PATCH_MOST_NEIGHBOURS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "search of patches: %d neighbours; there can be 1 to %d",
                          a->most, CLV_PATCH_MOST_NEIGHBOURS);
    if (count < 1)
        return CLVOX_OK;
    if (count > MOST_COUNT)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "search of patches: a band of %d voxels; take a thinner band",
                          count);
    lay_out(count, radius, block, panel, a->scratch->bytes, &s->at);
    if (s->at.bytes > a->scratch->bytes)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "search of patches: its scratch buffer holds %.0f MiB, not %.0f",
                          (double)a->scratch->bytes / 1048576, (double)s->at.bytes / 1048576);
    CLV_TRY(clv_buffer_fill(s->ctx, a->neighbours, 0, UINT32_MAX, words * 4));
    CLV_TRY(clv_buffer_fill(s->ctx, a->distances, 0, 0x7F800000u, words * 4));
end:
    return status;
}

int clv_patch_search(clvox_context *ctx, const clv_patch_search_args *args)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    clv_patch_task s = {.ctx = ctx, .a = args};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_patch_search, NULL, line, 0, &kernel));
    CLV_TRY(clv_patch_begin(&s, kernel->group[0], args->reach > 0 ? 0 : kernel->group[1]));
    if (args->patches.count < 1)
        goto end;
    if (args->reach > 0) {
        CLV_TRY(search_reach(&s));
        goto end;
    }
    CLV_TRY(arrange(&s));
    if (s.used > 1) {
        CLV_TRY(gather(&s, true));
        CLV_TRY(search_blocks(&s));
    }
end:
    return status;
}

const clv_entry *const clv_operation_surface_patch_search[] = {
    &clv_entry_patch_search,        &clv_entry_patch_search_keep,   &clv_entry_patch_search_gather,
    &clv_entry_patch_search_features, &clv_entry_patch_search_blocks, &clv_entry_patch_search_near,
    &clv_entry_patch_search_reach,  NULL};
