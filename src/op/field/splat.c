/* SPDX-License-Identifier: Apache-2.0 */
#include "op/field/splat.h"

#include <math.h>

/* Voxels on which a work-group of 256 lands under a smooth map, with room for stretching. */
#define CELLS 2048

/* Slabs of a CPU device: the work-item of each reads all positions, which is a quarter of its work with two. Two cores
 * need half of rows' time, four a tenth more, eight two and a half times as much. */
enum { MOST_SLABS = 3 };

/* As in splat.cl: a box's words before its cells, its cells. */
enum { HEAD = 4, BOX_CELLS = 32 * 32 * 32 };
/* With fewer voxels slabs are as fast as boxes. */
enum { LEAST_BOXED = 4096 };

static const clv_variant variants[] = {
    {.name = "tile", .function = "splat_tile", .defines = "-DCELLS=" CLV_TEXT(CELLS), .devices = CLV_ON_GPU,
     .fixed_bytes = CELLS * 8 + 24, .tiles = {{8, 8, 4, 1}, {16, 4, 4, 1}, {8, 4, 4, 1}}},
    {.name = "item", .function = "splat_item", .devices = CLV_ON_GPU, .tiles = {{32, 4, 1, 1}, {64, 4, 1, 1}}},
    {.name = "slab", .function = "splat_slab", .before = &clv_entry_splat_box, .most_groups = 256,
     .devices = CLV_ON_CPU, .most_units = MOST_SLABS, .tiles = {{1, 1, 1, 1}}},
    {.name = "row", .function = "splat_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DHAS_FIELD=0 -DONES=0", "-DHAS_FIELD=0 -DONES=1",
                                     "-DHAS_FIELD=1 -DONES=0", "-DHAS_FIELD=1 -DONES=1", NULL};
const clv_entry clv_entry_splat = CLV_ENTRY("field/splat", "splat", variants, builds);

static const clv_variant box_variants[] = {
    {.name = "part", .function = "splat_box", .most_groups = 256, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const clv_variant boxes_variants[] = {
    {.name = "run", .function = "splat_boxes", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
static const char *const boxes_builds[] = {"-DHAS_FIELD=0", NULL};
const clv_entry clv_entry_splat_box = CLV_ENTRY("field/splat", "splat_box", box_variants, builds);
const clv_entry clv_entry_splat_boxes = CLV_ENTRY("field/splat", "splat_boxes", boxes_variants, boxes_builds);

static const clv_variant total_variants[] = {
    {.name = "item", .function = "splat_total", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "splat_total", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 4096}}},
};
static const char *const total_builds[] = {"-DHAS_FIELD=0 -DHAS_WEIGHTS=0", "-DHAS_FIELD=0 -DHAS_WEIGHTS=1", NULL};
const clv_entry clv_entry_splat_total = CLV_ENTRY("field/splat", "splat_total", total_variants, total_builds);

/* All voxels with the largest value in one place stay below 2^62. */
int clv_splat_power(const clv_splat_args *a)
{
    int value, voxels;
    frexp(a->ones ? 1 : (double)a->most, &value);
    frexp((double)clv_image_voxels(&a->in), &voxels);
    int power = 61 - value - voxels;
    return power < 126 ? power : 126;
}

static int slabs_of(const clvox_context *ctx)
{
    const int units = clvox_context_limits(ctx)->compute_units;
    return units < 1 ? 1 : units < MOST_SLABS ? units : MOST_SLABS;
}

size_t clv_splat_box_bytes(const clvox_context *ctx)
{
    const bool cpu = clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
    return cpu ? (size_t)slabs_of(ctx) * (HEAD + BOX_CELLS) * sizeof(int64_t) : 0;
}

int clv_splat(clvox_context *ctx, const clv_splat_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel, *box = NULL, *boxes;
    const int slabs = slabs_of(ctx), cells[3] = {slabs * BOX_CELLS, 1, 1};
    const char *build = builds[2 * (a->field != NULL) + a->ones];
    const double from = (double)clv_image_voxels(&a->in), to = (double)a->size[0] * a->size[1] * a->size[2];
    if (!(a->most >= 0 && isfinite(a->most)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "splat: the largest value is %g; it must be a number",
                          (double)a->most);
    const clv_arg most = CLV_FLOAT(a->ones ? 1 : a->most), scale = CLV_FLOAT(ldexpf(1, clv_splat_power(a)));
    const clv_arg size = CLV_INT4(a->size[0], a->size[1], a->size[2], 0);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat, build, a->in.size, 0, &kernel));
    if (kernel->variant->before && a->boxes && clv_splat_box_bytes(ctx) > 0 && from >= LEAST_BOXED) {
        CLV_TRY(clv_kernel_get(ctx, kernel->variant->before, build, a->in.size, 0, &box));
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_boxes, boxes_builds[0], cells, 0, &boxes));
        CLV_TRY(CLV_LAUNCH(ctx, box, a->in.size, from * (a->field ? 16 : 4), CLV_BUF(a->in.buffer),
                           CLV_SIZE(&a->in), CLV_MAP(a->map), CLV_BUF(a->field), most, scale,
                           CLV_BUF(a->boxes), size, CLV_BUF(a->beyond), CLV_INT(slabs)));
    }
    CLV_TRY(CLV_LAUNCH(ctx, kernel, a->in.size, from * (a->field ? 16 : 4) + 16 * to, CLV_BUF(a->in.buffer),
                       CLV_SIZE(&a->in), CLV_MAP(a->map), CLV_BUF(a->field), most, scale, CLV_BUF(a->sums),
                       size, CLV_BUF(a->beyond), CLV_INT(slabs), CLV_BUF(box ? a->boxes : NULL)));
    if (box)
        CLV_TRY(CLV_LAUNCH(ctx, boxes, cells, 0, CLV_BUF(a->boxes), CLV_INT(slabs), CLV_BUF(a->sums), size));
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
    CLV_TRY(CLV_LAUNCH(
        ctx, kernel, line, (mean ? 36. : 20.) * n, CLV_BUF(a->sums),
        CLV_FLOAT(ldexpf(factor, -clv_splat_power(a))), CLV_BUF(mean ? mean->weights->sums : NULL),
        CLV_FLOAT(mean ? ldexpf(1, -clv_splat_power(mean->weights)) : 0), CLV_FLOAT(mean ? mean->least : 0),
        CLV_FLOAT(mean ? mean->outside : 0), CLV_BUF(out), CLV_INT(n)));
end:
    return status;
}

int clv_splat_numbers(clvox_context *ctx, clv_buffer *sums, int power, int count, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_total, total_builds[0], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 20. * count, CLV_BUF(sums), CLV_FLOAT(ldexpf(1, -power)),
                       CLV_BUF(NULL), CLV_FLOAT(0), CLV_FLOAT(0), CLV_FLOAT(0), CLV_BUF(out),
                       CLV_INT(count)));
end:
    return status;
}

const clv_entry *const clv_operation_field_splat[] = {
    &clv_entry_splat, &clv_entry_splat_box, &clv_entry_splat_boxes, &clv_entry_splat_total, NULL};
