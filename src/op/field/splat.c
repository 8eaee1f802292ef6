/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/splat.h"

#include <math.h>

/* What a work-group of 256 voxels lands on under a smooth map, with room for stretching. */
#define CELLS 2048

static const clv_variant variants[] = {
    {.name = "tile", .function = "splat_tile", .defines = "-DCELLS=" CLV_TEXT(CELLS), .devices = CLV_ON_GPU,
     .fixed_bytes = CELLS * 8 + 24, .tiles = {{8, 8, 4, 1}, {16, 4, 4, 1}, {8, 4, 4, 1}}},
    {.name = "item", .function = "splat_item", .devices = CLV_ON_GPU, .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}}},
    {.name = "words", .function = "splat_item", .defines = "-DWORDS", .devices = CLV_ON_GPU, .optional = true,
     .tiles = {{32, 4, 1, 1}}},
    {.name = "row", .function = "splat_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DHAS_FIELD=0 -DONES=0", "-DHAS_FIELD=0 -DONES=1",
                                     "-DHAS_FIELD=1 -DONES=0", "-DHAS_FIELD=1 -DONES=1", NULL};
const clv_entry clv_entry_splat = {"field/splat", "splat", variants, 4, builds};

static const clv_variant total_variants[] = {
    {.name = "item", .function = "splat_total", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "splat_total", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
static const char *const total_builds[] = {"-DHAS_FIELD=0 -DHAS_WEIGHTS=0", "-DHAS_FIELD=0 -DHAS_WEIGHTS=1", NULL};
const clv_entry clv_entry_splat_total = {"field/splat", "splat_total", total_variants, 2, total_builds};

/* The power of two of units to 1: all voxels with the largest value in one place stay below 2^62. */
static int unit_power(const clv_splat_args *a)
{
    int value, voxels;
    frexp(a->ones ? 1 : (double)a->most, &value);
    frexp((double)clv_image_voxels(&a->in), &voxels);
    int power = 61 - value - voxels;
    return power < 126 ? power : 126;
}

int clv_splat(clvox_context *ctx, const clv_splat_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    double from = (double)clv_image_voxels(&a->in), to = (double)a->size[0] * a->size[1] * a->size[2];
    if (!(a->most >= 0 && isfinite(a->most)))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "splat: the largest value is %g; it must be a number", (double)a->most);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat, builds[2 * (a->field != NULL) + a->ones], a->in.size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->in.size, from * (a->field ? 16 : 4) + 8 * to, CLV_BUF(a->in.buffer),
                       CLV_SIZE(&a->in), CLV_MAP(a->map), CLV_BUF(a->field), CLV_FLOAT(a->ones ? 1 : a->most),
                       CLV_FLOAT(ldexpf(1, unit_power(a))), CLV_BUF(a->sums),
                       CLV_INT4(a->size[0], a->size[1], a->size[2], 0), CLV_BUF(a->beyond)));
end:
    return status;
}

int clv_splat_total(clvox_context *ctx, const clv_splat_args *a, float factor, const clv_splat_mean *mean,
                    clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = a->size[0] * a->size[1] * a->size[2], line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_total, total_builds[mean != NULL], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, (mean ? 36. : 20.) * n, CLV_BUF(a->sums),
                       CLV_FLOAT(ldexpf(factor, -unit_power(a))), CLV_BUF(mean ? mean->weights->sums : NULL),
                       CLV_FLOAT(mean ? ldexpf(1, -unit_power(mean->weights)) : 0),
                       CLV_FLOAT(mean ? mean->least : 0), CLV_FLOAT(mean ? mean->outside : 0), CLV_BUF(out),
                       CLV_INT(n)));
end:
    return status;
}

const clv_entry *const clv_operation_field_splat[] = {
    &clv_entry_splat, &clv_entry_splat_total, NULL};
