/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/pointwise.h"

static const clv_variant variants[] = {
    {.name = "lanes", .function = "pointwise_lanes", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 4}, {64, 1, 1, 8}, {1, 1, 1, 4}}},
    {.name = "runs", .function = "pointwise_runs", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
static const clv_variant table_variants[] = {
    {.name = "lanes", .function = "pointwise_table", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "runs", .function = "pointwise_table", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};

/* How many inputs each kind takes at least and at most, and its builds by the
 * presence of b (1) and c (2). */
typedef struct kind_row {
    const char *name;
    bool needs_b, takes_b, takes_c;
    const char *builds[4];
} kind_row;

#define BUILD(kind, b, c) "-DKIND=" #kind " -DHAS_B=" #b " -DHAS_C=" #c

static const kind_row kinds[] = {
    [CLV_POINTWISE_LINEAR] = {"linear", false, true, true,
                              {BUILD(0, 0, 0), BUILD(0, 1, 0), BUILD(0, 0, 1), BUILD(0, 1, 1)}},
    [CLV_POINTWISE_MULTIPLY] = {"multiply", true, true, true, {0, BUILD(1, 1, 0), 0, BUILD(1, 1, 1)}},
    [CLV_POINTWISE_DIVIDE] = {"divide", true, true, false, {0, BUILD(2, 1, 0), 0, 0}},
    [CLV_POINTWISE_CLAMP] = {"clamp", false, false, false, {BUILD(3, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_LOG] = {"log", false, false, false, {BUILD(4, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_ABS] = {"abs", false, false, false, {BUILD(5, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_SQUARE_DIFFERENCE] = {"square difference", true, true, false,
                                         {0, BUILD(6, 1, 0), 0, 0}},
    [CLV_POINTWISE_THRESHOLD] = {"threshold", false, false, false, {BUILD(7, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_FINITE] = {"finite", false, false, false, {BUILD(8, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_EXP] = {"exp", false, false, false, {BUILD(9, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_ROOT] = {"root", false, false, false, {BUILD(10, 0, 0), 0, 0, 0}},
    [CLV_POINTWISE_TUKEY] = {"tukey", false, false, false, {BUILD(11, 0, 0), 0, 0, 0}},
};

static const char *const builds[] = {
    BUILD(0, 0, 0), BUILD(0, 1, 0), BUILD(0, 0, 1), BUILD(0, 1, 1), BUILD(1, 1, 0), BUILD(1, 1, 1),
    BUILD(2, 1, 0), BUILD(3, 0, 0), BUILD(4, 0, 0), BUILD(5, 0, 0), BUILD(6, 1, 0), BUILD(7, 0, 0),
    BUILD(8, 0, 0), BUILD(9, 0, 0), BUILD(10, 0, 0), BUILD(11, 0, 0), NULL,
};

const clv_entry clv_entry_pointwise = CLV_ENTRY("image/pointwise", "pointwise", variants, builds);
const clv_entry clv_entry_pointwise_table = CLV_ENTRY("image/pointwise", "pointwise_table", table_variants,
                                                      NULL);

int clv_pointwise(clvox_context *ctx, clv_pointwise_kind kind, const clv_image *out, const clv_buffer *a,
                  const clv_buffer *b, const clv_buffer *c, const float k[4])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const kind_row *row = &kinds[kind];
    const int n = clv_image_floats(out), size[3] = {n, 1, 1};
    const char *build = row->builds[(b ? 1 : 0) + (c ? 2 : 0)];
    if (!build)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "pointwise %s: one input image too many or too few",
                          row->name);
    if (n == 0)
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_pointwise, build, size, 0, &kernel));
    int streams = 2 + (b != NULL) + (c != NULL);
    /* Absent inputs are never read; a stands in, as not every driver takes NULL. */
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 4.0 * streams * n, CLV_BUF(out->buffer), CLV_BUF(a),
                       CLV_BUF(b ? b : a), CLV_BUF(c ? c : a), CLV_FLOAT4V(k), CLV_INT(n)));
end:
    return status;
}

int clv_pointwise_table(clvox_context *ctx, const clv_image *out, const clv_buffer *a, const float *from,
                        const float *to, int knots)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = clv_image_floats(out), size[3] = {n, 1, 1};
    clv_buffer *table = NULL;
    if (knots < 1 || knots > 256)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "intensity map: %d knots given; 1 to 256 are possible",
                          knots);
    for (int i = 1; i < knots; i++)
        if (!(from[i] >= from[i - 1]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "intensity map: the knots are not in ascending order");
    if (n == 0)
        return CLVOX_OK;
    size_t bytes = (size_t)knots * sizeof(float);
    CLV_TRY(clv_buffer_create(ctx, 2 * bytes, "intensity map", &table));
    CLV_TRY(clv_buffer_write(ctx, table, 0, from, bytes));
    CLV_TRY(clv_buffer_write(ctx, table, bytes, to, bytes));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_pointwise_table, NULL, size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, 8.0 * n, CLV_BUF(out->buffer), CLV_BUF(a), CLV_BUF(table),
                       CLV_INT(knots), CLV_INT(n)));
end:
    clv_buffer_destroy(&table);
    return status;
}

const clv_entry *const clv_operation_image_pointwise[] = {
    &clv_entry_pointwise, &clv_entry_pointwise_table, NULL};
