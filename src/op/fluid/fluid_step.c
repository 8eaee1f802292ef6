/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/fluid_step.h"

/* Places of each maximum in partial. */
#define SLOTS 2048
_Static_assert(2 * SLOTS == CLV_FLUID_PARTIALS, "the longest rate and the largest bend have as many places");
static const char *const builds[] = {"-DSLOTS=" CLV_TEXT(SLOTS), NULL};

static const clv_variant rate_variants[] = {
    {.name = "march", .function = "rate_march", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .fixed_bytes = 4, .tiles = {{64, 4, 1, 4}, {32, 4, 1, 8}, {1, 1, 1, 8}}},
    {.name = "row", .function = "rate_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_fluid_rate = CLV_ENTRY("fluid/fluid_step", "fluid_rate", rate_variants, builds);

static const clv_variant bend_variants[] = {
    {.name = "march", .function = "bend_march", .item = {1, 1, CLV_MARCH}, .devices = CLV_ON_GPU,
     .fixed_bytes = 4, .tiles = {{64, 4, 1, 8}, {32, 4, 1, 8}, {1, 1, 1, 8}}},
    {.name = "row", .function = "bend_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_fluid_bend = CLV_ENTRY("fluid/fluid_step", "fluid_bend", bend_variants, builds);

static const clv_variant largest_variants[] = {
    {.name = "group", .function = "fluid_largest", .group = {1, 1, 1},
     .devices = CLV_ON_ANY, .fixed_bytes = 8,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_fluid_largest = CLV_ENTRY("fluid/fluid_step", "fluid_largest", largest_variants,
                                                    builds);

static const clv_variant update_variants[] = {
    {.name = "vector", .function = "update_vector", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 4}, {1, 1, 1, 1024}}},
    {.name = "row", .function = "update_row", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 16384}}},
};
const clv_entry clv_entry_fluid_update = CLV_ENTRY("fluid/fluid_step", "fluid_update", update_variants,
                                                   builds);

int clv_fluid_rate(clvox_context *ctx, const clv_image *u, const clv_buffer *v, clv_buffer *p,
                   clv_buffer *partial, clv_buffer *state)
{
    int status = CLVOX_OK;
    const clv_kernel *rate, *bend, *largest;
    if (!u->buffer || !v || !p || p == u->buffer || p == v)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "fluid rate: u, v and p must be three buffers");
    if (!partial || partial->bytes < CLV_FLUID_PARTIALS * sizeof(float) || !state ||
        state->bytes < CLV_FLUID_SLOTS * sizeof(float))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "fluid rate: partial holds at least %d floats and state %d",
                          CLV_FLUID_PARTIALS, CLV_FLUID_SLOTS);
    const int *size = u->size;
    const double n = (double)clv_image_voxels(u);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fluid_rate, builds[0], size, 0, &rate));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fluid_bend, builds[0], size, 0, &bend));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fluid_largest, builds[0], (int[3]){1, 1, 1}, 0, &largest));
    CLV_TRY(clv_buffer_fill(ctx, partial, 0, 0, 2 * SLOTS * sizeof(float)));
    CLV_TRY(CLV_LAUNCH(ctx, rate, size, 36 * n, CLV_BUF(u->buffer), CLV_BUF(v), CLV_GRID(u), CLV_BUF(p),
                       CLV_BUF(partial)));
    CLV_TRY(
        CLV_LAUNCH(ctx, bend, size, 24 * n, CLV_BUF(u->buffer), CLV_BUF(p), CLV_GRID(u), CLV_BUF(partial)));
    CLV_TRY(CLV_LAUNCH(ctx, largest, ((int[3]){1, 1, 1}), 8.0 * SLOTS, CLV_BUF(partial),
                       CLV_BUF(state), CLV_INT(CLV_FLUID_LONGEST), CLV_INT(CLV_FLUID_BEND)));
end:
    return status;
}

int clv_fluid_update(clvox_context *ctx, const clv_image *u, const clv_buffer *p, float largest,
                     clv_buffer *state)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    if (!u->buffer || !p || u->buffer == p || !state || state->bytes < CLV_FLUID_SLOTS * sizeof(float))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "fluid update: u, p and state must be three buffers");
    if (!(largest > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "fluid update: the largest step must be above 0 voxels");
    const int floats = clv_image_floats(u), line[3] = {floats, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fluid_update, builds[0], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 12.0 * floats, CLV_BUF(u->buffer), CLV_BUF(p), CLV_INT(floats),
                       CLV_FLOAT(largest), CLV_BUF(state),
                       CLV_INT4(CLV_FLUID_LONGEST, CLV_FLUID_BEND, CLV_FLUID_STEP, CLV_FLUID_MOVED)));
end:
    return status;
}

const clv_entry *const clv_operation_fluid_fluid_step[] = {
    &clv_entry_fluid_rate, &clv_entry_fluid_bend, &clv_entry_fluid_largest, &clv_entry_fluid_update,
    NULL};
