/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/reduce.h"

/* march: elements of a chunk at least. Chunks depend on n and the variant
 * alone, so that the order of additions does. */
static const clv_variant variants[] = {
    {.name = "groups", .function = "reduce_groups", .group = {CLV_MARCH},
     .most_groups = CLV_REDUCE_PARTIALS, .devices = CLV_ON_GPU,
     .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "chunks", .function = "reduce_chunks", .group = {CLV_MARCH}, .most_groups = CLV_REDUCE_PARTIALS,
     .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 32768}}},
};
static const clv_variant longest_variants[] = {
    {.name = "groups", .function = "longest_groups", .defines = "-DUNROLL=4",
     .group = {CLV_MARCH}, .most_groups = CLV_REDUCE_PARTIALS, .devices = CLV_ON_GPU, .fixed_bytes = 256 * 4,
     .tiles = {{256, 1, 1, 4096}, {64, 1, 1, 4096}}},
    {.name = "chunks", .function = "longest_chunks", .group = {CLV_MARCH}, .most_groups = CLV_REDUCE_PARTIALS,
     .devices = CLV_ON_ANY, .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant last_variants[] = {
    {.name = "groups", .function = "reduce_last_group", .group = {CLV_WHOLE},
     .devices = CLV_ON_GPU, .fixed_bytes = 256 * 4, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "item", .function = "reduce_last_item", .group = {CLV_WHOLE}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};

#define BUILD(kind, weight) "-DKIND=" #kind " -DHAS_WEIGHT=" #weight
static const char *const builds[] = {
    BUILD(0, 0), BUILD(0, 1), BUILD(1, 0), BUILD(1, 1), BUILD(2, 0), BUILD(2, 1), BUILD(3, 0), BUILD(3, 1),
    BUILD(4, 0), BUILD(4, 1), BUILD(5, 0), BUILD(5, 1), BUILD(6, 0), BUILD(6, 1), NULL,
};
static const char *const longest_builds[] = {"-DCOMBINE=2", NULL};
enum { JOIN_SUM, JOIN_MIN, JOIN_MAX, JOIN_LENGTH };
static const char *const last_builds[] = {"-DCOMBINE=0", "-DCOMBINE=1", "-DCOMBINE=2",
                                          "-DCOMBINE=2 -DROOT=1", NULL};

const clv_entry clv_entry_reduce = CLV_ENTRY("image/reduce", "reduce", variants, builds);
const clv_entry clv_entry_reduce_longest = CLV_ENTRY("image/reduce", "reduce_longest", longest_variants,
                                                     longest_builds);
const clv_entry clv_entry_reduce_last = CLV_ENTRY("image/reduce", "reduce_last", last_variants, last_builds);

static int last(clvox_context *ctx, const char *build, const clv_buffer *partial, int count, bool most,
                clv_buffer *out, int slot)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int size[3] = {count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_reduce_last, build, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 4.0 * count, CLV_BUF(partial), CLV_INT(count),
                       CLV_INT(most), CLV_BUF(out), CLV_INT(slot)));
end:
    return status;
}

int clv_reduce(clvox_context *ctx, clv_reduce_kind kind, const clv_terms *t, clv_buffer *partial,
               clv_buffer *out, int slot)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    int size[3] = {t->n, 1, 1};
    bool two = kind == CLV_REDUCE_DOT || kind == CLV_REDUCE_SQUARE_DIFFERENCE;
    if (two != (t->b != NULL))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "reduction: one input image too many or too few");
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_reduce, builds[2 * (int)kind + (t->weight != NULL)], size, 0,
                           &kernel));
    int count = clv_launch_groups(kernel, size, NULL);
    double moved = 4.0 * t->n * (1 + two + (t->weight != NULL));
    if (count > 0)
        CLV_TRY(CLV_LAUNCH(ctx, kernel, size, moved, CLV_BUF(t->a), CLV_BUF(t->b), CLV_BUF(t->weight),
                           CLV_FLOAT(t->k),
                           CLV_INT(t->n), CLV_BUF(partial)));
    int join = kind == CLV_REDUCE_MIN ? JOIN_MIN
               : kind == CLV_REDUCE_MAX || kind == CLV_REDUCE_MAX_ABS ? JOIN_MAX : JOIN_SUM;
    CLV_TRY(last(ctx, last_builds[join], partial, count, false, out, slot));
end:
    return status;
}

int clv_reduce_longest(clvox_context *ctx, const clv_image *field, const float scale[3], bool most,
                       clv_buffer *partial, clv_buffer *out, int slot)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int voxels = (int)clv_image_voxels(field), size[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_reduce_longest, longest_builds[0], size, 0, &kernel));
    int count = clv_launch_groups(kernel, size, NULL);
    if (count > 0)
        CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 12.0 * voxels, CLV_BUF(field->buffer),
                           CLV_FLOAT4(scale[0], scale[1], scale[2], 0), CLV_INT(voxels), CLV_BUF(partial)));
    CLV_TRY(last(ctx, last_builds[JOIN_LENGTH], partial, count, most, out, slot));
end:
    return status;
}

const clv_entry *const clv_operation_image_reduce[] = {
    &clv_entry_reduce, &clv_entry_reduce_longest, &clv_entry_reduce_last, NULL};
