/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/landmark_force.h"

#include <math.h>

#include "op/sort/radix_sort.h"

static const clv_variant track_variants[] = {
    {.name = "item", .function = "landmark_track_item", .devices = CLV_ON_ANY, .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
};
static const char *const track_builds[] = {"", "-DHAS_SECOND=1", NULL};

static const clv_variant force_variants[] = {
    {.name = "item",
     .function = "landmark_force_item",
     .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}, {256, 1, 1, 1}, {16, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "landmark_force_row",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const force_builds[] = {"", "-DGAUSSIAN=1", NULL};

const clv_entry clv_entry_landmark_track = CLV_ENTRY("anatomy/landmark_force", "landmark_track",
                                                     track_variants, track_builds);
const clv_entry clv_entry_landmark_force = CLV_ENTRY("anatomy/landmark_force", "landmark_force",
                                                     force_variants, force_builds);

static const clv_variant cells_variants[] = {
    {.name = "item",
     .function = "landmark_cells",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run",
     .function = "landmark_cells",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 2048}}},
};
static const clv_variant sums_variants[] = {
    {.name = "item", .function = "landmark_sums_item", .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 1}}},
    {.name = "run",
     .function = "landmark_sums_run",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
static const char *const sorted_builds[] = {"", NULL};
const clv_entry clv_entry_landmark_cells = CLV_ENTRY("anatomy/landmark_force", "landmark_cells",
                                                     cells_variants, sorted_builds);
const clv_entry clv_entry_landmark_sums = CLV_ENTRY("anatomy/landmark_force", "landmark_sums", sums_variants,
                                                    sorted_builds);

int clv_landmark_track(clvox_context *ctx, const clv_landmark_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->count, 1, 1};
    const float all[3] = {1, 1, 1}, *axes = a->axes ? a->axes : all;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_track, track_builds[a->second != NULL], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 96. * a->count, CLV_BUF(a->points), CLV_INT(a->count), CLV_BUF(a->u.buffer),
                       CLV_BUF(a->second), CLV_GRID(&a->u), CLV_FLOAT(a->weight),
                       CLV_FLOAT4(axes[0], axes[1], axes[2], 0), CLV_BUF(a->state), CLV_INT(a->slot),
                       CLV_BUF(a->tracked)));
end:
    return status;
}

int clv_landmark_force(clvox_context *ctx, const clv_landmark_args *a, bool second, const float *sigma,
                       const clv_image *force)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float rate[3] = {1, 1, 1};
    for (int i = 0; sigma && i < 3; i++)
        rate[i] = 1 / fmaxf(1, sigma[i]);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_force, force_builds[sigma != NULL], force->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, force->size, 24. * (double)clv_image_voxels(force), CLV_BUF(a->tracked),
                       CLV_INT(second ? a->count : 0), CLV_INT(a->count), CLV_FLOAT4(rate[0], rate[1], rate[2], 0),
                       CLV_BUF(force->buffer), CLV_SIZE(force)));
end:
    return status;
}

/* Entries of a landmark: the voxels about it. */
enum { ABOUT = 8 };

int clv_landmark_scratch_create(clvox_context *ctx, int most, clv_landmark_scratch *out)
{
    int status = CLVOX_OK;
    size_t counts, totals;
    const size_t bytes = 4 * ABOUT * (size_t)most;
    *out = (clv_landmark_scratch){.most = most};
    if (most > INT32_MAX / (2 * ABOUT))
        return clvox_fail(CLVOX_ERROR_MEMORY, "%d landmarks are too many to be sorted", most);
    CLV_TRY(clv_sort_words(ctx, CLVOX_SORT_UINT32, true, ABOUT * most, &counts, &totals));
    CLV_TRY(clv_buffer_create(ctx, bytes, "voxels of landmarks", &out->cells));
    CLV_TRY(clv_buffer_create(ctx, bytes, "landmarks by voxels", &out->order));
    CLV_TRY(clv_buffer_create(ctx, bytes, "scratch for sorting", &out->other_cells));
    CLV_TRY(clv_buffer_create(ctx, bytes, "scratch for sorting", &out->other_order));
    CLV_TRY(clv_buffer_create(ctx, 4 * counts, "scratch for sorting", &out->counts));
    CLV_TRY(clv_buffer_create(ctx, 4 * totals, "scratch for sorting", &out->totals));
end:
    if (status < 0)
        clv_landmark_scratch_destroy(out);
    return status;
}

void clv_landmark_scratch_destroy(clv_landmark_scratch *s)
{
    clv_buffer **all[] = {&s->cells, &s->order, &s->other_cells, &s->other_order, &s->counts, &s->totals};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        clv_buffer_destroy(all[i]);
    s->most = 0;
}

size_t clv_landmark_scratch_bytes(int most)
{
    /* Keys and values, twice, and counts of digits. */
    enum { ENTRY = 24, LEAST = 1 << 16 };
    return ENTRY * ABOUT * (size_t)most + LEAST;
}

int clv_landmark_force_sorted(clvox_context *ctx, const clv_landmark_args *a, bool second,
                              const clv_landmark_scratch *s, const clv_image *force)
{
    int status = CLVOX_OK;
    const clv_kernel *cells, *sums;
    const int line[3] = {a->count, 1, 1}, entries[3] = {ABOUT * a->count, 1, 1};
    const clv_arg first = CLV_INT(second ? a->count : 0);
    if (a->count > s->most)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "room for %d landmarks, not %d", s->most, a->count);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_cells, sorted_builds[0], line, 0, &cells));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_landmark_sums, sorted_builds[0], entries, 0, &sums));
    CLV_TRY(CLV_LAUNCH(ctx, cells, line, (16. + 8 * ABOUT) * a->count, CLV_BUF(a->tracked), first,
                       CLV_INT(a->count), CLV_BUF(s->cells), CLV_BUF(s->order), CLV_SIZE(force)));
    CLV_TRY(clv_sort(ctx, &(clv_sort_args){.kind = CLVOX_SORT_UINT32,
                                           .keys = s->cells,
                                           .values = s->order,
                                           .other_keys = s->other_cells,
                                           .other_values = s->other_order,
                                           .counts = s->counts,
                                           .totals = s->totals,
                                           .n = entries[0]}));
    CLV_TRY(CLV_LAUNCH(ctx, sums, entries, (8. + 32) * entries[0], CLV_BUF(a->tracked), first,
                       CLV_BUF(s->cells), CLV_BUF(s->order), CLV_INT(entries[0]), CLV_BUF(force->buffer),
                       CLV_SIZE(force)));
end:
    return status;
}

const clv_entry *const clv_operation_anatomy_landmark_force[] = {
    &clv_entry_landmark_track, &clv_entry_landmark_force, &clv_entry_landmark_cells, &clv_entry_landmark_sums,
    NULL};
