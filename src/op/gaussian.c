/* SPDX-License-Identifier: Apache-2.0 */
#include "op/gaussian.h"

#include <math.h>
#include <stdio.h>

static const clv_variant x_variants[] = {
    {.name = "tile", .function = "gaussian_x_tile", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .halo = {CLV_GAUSSIAN_MAX_RADIUS, 0, 0}, .cell_bytes = 4,
     .tiles = {{128, 2, 1, 1}, {64, 4, 1, 1}, {32, 4, 1, 1}}},
    {.name = "direct", .function = "gaussian_x_direct", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {32, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "gaussian_x_row", .defines = "-DROWS=1", .shape = CLV_SHAPE_ROW,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

static const clv_variant axis_variants[] = {
    {.name = "march", .function = "gaussian_axis_march", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 16}, {64, 2, 1, 8}, {32, 1, 1, 16}}},
    {.name = "tile", .function = "gaussian_axis_tile", .shape = CLV_SHAPE_ITEM, .devices = CLV_ON_GPU,
     .halo = {0, CLV_GAUSSIAN_MAX_RADIUS, 0}, .cell_bytes = 4, .tiles = {{32, 16, 1, 1}, {32, 8, 1, 1}}},
    {.name = "direct", .function = "gaussian_axis_direct", .shape = CLV_SHAPE_ITEM,
     .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "gaussian_axis_row", .defines = "-DROWS=1", .shape = CLV_SHAPE_ROW,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DRADIUS=1", "-DRADIUS=6", "-DRADIUS=20", NULL};

const clv_entry clv_entry_gaussian_x = {"gaussian", "gaussian_x", x_variants, 3, builds};
const clv_entry clv_entry_gaussian_axis = {"gaussian", "gaussian_axis", axis_variants, 4, builds};

/* Floats of a row that a work-item of the row variants walks (cl/gaussian.cl). */
enum { CHUNK = 128 };

static int radius_of(float sigma)
{
    int radius = (int)ceilf(3 * sigma);
    return radius < 1 ? 1 : radius;
}

static int filter_axis(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors,
                       int axis, float sigma, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float weights[CLV_GAUSSIAN_MAX_RADIUS + 1];
    int radius = radius_of(sigma);
    double total = 0;
    for (int i = 0; i <= radius; i++)
        total += (i ? 2 : 1) * exp(-0.5 * i * i / ((double)sigma * sigma));
    for (int i = 0; i <= radius; i++)
        weights[i] = (float)(exp(-0.5 * i * i / ((double)sigma * sigma)) / total);
    char build[32];
    snprintf(build, sizeof build, "-DRADIUS=%d", radius);

    /* Planar components are three volumes behind one another; packed ones are
     * part of the row, three floats apart along x. */
    bool packed = vectors && clv_fields_packed(ctx);
    int inner = packed ? 3 : 1, volumes = vectors && !packed ? 3 : 1;
    for (int a = 0; a < axis; a++)
        inner *= size[a];
    int outer = volumes;
    for (int a = axis + 1; a < 3; a++)
        outer *= size[a];
    int n = size[axis], launch[3];
    double moved = 8.0 * inner * n * outer;
    if (axis == 0) {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_gaussian_x, build, size, 0, &kernel));
        launch[0] = (inner * n + kernel->tile.march - 1) / kernel->tile.march;
        launch[1] = size[1];
        launch[2] = size[2] * volumes;
        CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, moved, CLV_BUF(in), CLV_BUF(out),
                           CLV_INT4(inner, n, size[1], size[2] * volumes),
                           (clv_arg){(size_t)(radius + 1) * sizeof(float), weights, NULL}));
    } else {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_gaussian_axis, build, size, 0, &kernel));
        bool rows = kernel->variant->shape == CLV_SHAPE_ROW;
        launch[0] = inner;
        launch[1] = rows ? (inner + CHUNK - 1) / CHUNK : (n + kernel->tile.march - 1) / kernel->tile.march;
        launch[2] = outer;
        CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, moved, CLV_BUF(in), CLV_BUF(out),
                           CLV_INT4(inner, n, outer, 0),
                           (clv_arg){(size_t)(radius + 1) * sizeof(float), weights, NULL}));
    }
end:
    return status;
}

int clv_gaussian(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors,
                 const float sigma[3], clv_gaussian_method method, clv_buffer *tmp, clv_buffer *out)
{
    int status = CLVOX_OK;
    int passes = 0, done = 0;
    (void)method;
    for (int a = 0; a < 3; a++) {
        if (!(sigma[a] >= 0) || isinf(sigma[a]))
            return clv_fail(CLVOX_ERROR_ARGUMENT,
                            "Gaussian: the width %g along axis %d is not a length; give 0 or more voxels",
                            (double)sigma[a], a);
        if (ceilf(3 * sigma[a]) > CLV_GAUSSIAN_MAX_RADIUS)
            return clv_fail(CLVOX_ERROR_ARGUMENT, "Gaussian: the width %g voxels is above %d",
                            (double)sigma[a], CLV_GAUSSIAN_MAX_RADIUS / 3);
        passes += sigma[a] > 0 && size[a] > 1;
    }
    if (!passes) {
        size_t bytes = (size_t)size[0] * (size_t)size[1] * (size_t)size[2] * (vectors ? 12 : 4);
        return clv_buffer_copy(ctx, in, 0, out, 0, bytes);
    }
    /* The last pass writes out, the one before tmp, the first of three out. */
    const clv_buffer *from = in;
    for (int a = 0; a < 3; a++) {
        if (!(sigma[a] > 0) || size[a] == 1)
            continue;
        clv_buffer *to = (passes - ++done) % 2 ? tmp : out;
        CLV_TRY(filter_axis(ctx, from, size, vectors, a, sigma[a], to));
        from = to;
    }
end:
    return status;
}
