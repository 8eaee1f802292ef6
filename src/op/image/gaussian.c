/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/gaussian.h"
#include "op/image/recursive.h"
#include "op/image/smooth.h"

#include <math.h>
#include <stdio.h>

/* On an H200 at radius 6 wide moves 82% of what a copy does, march 92%; one sample a work-item, in local
 * memory or without, took up to four times as long. */
static const clv_variant x_variants[] = {
    {.name = "wide", .function = "gaussian_x_wide", .item = {CLV_MARCH}, .devices = CLV_ON_GPU,
     .halo = {CLV_GAUSSIAN_MAX_RADIUS, 0, 0}, .cell_bytes = 4, .fixed_bytes = 3 * 32 * 4 * 4,
     .tiles = {{32, 4, 1, 4}}},
    {.name = "row", .function = "gaussian_x_row", .defines = "-DROWS=1 -DCHUNK=384", .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

static const clv_variant axis_variants[] = {
    {.name = "march", .function = "gaussian_axis_march", .item = {1, CLV_MARCH, 1}, .devices = CLV_ON_GPU,
     .tiles = {{64, 2, 1, 8}, {32, 4, 1, 16}}},
    {.name = "row", .function = "gaussian_axis_row", .defines = "-DROWS=1 -DCHUNK=384",
     .item = {384, CLV_WHOLE, 1}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

/* On the H200 x and y at once took 1.3 times as long as one after the other
 * (a barrier a row), so that GPUs have no such variant. */
static const clv_variant xy_variants[] = {
    {.name = "row", .function = "gaussian_xy_row", .defines = "-DROWS=1 -DCHUNK=384",
     .item = {384, CLV_WHOLE, 1}, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

static const char *const builds[] = {"-DRADIUS=1", "-DRADIUS=6", "-DRADIUS=20", NULL};
static const char *const xy_builds[] = {"-DRADIUS=1 -DRADIUS_X=1", "-DRADIUS=6 -DRADIUS_X=6", NULL};

const clv_entry clv_entry_gaussian_x = CLV_ENTRY("image/gaussian", "gaussian_x", x_variants, builds);
const clv_entry clv_entry_gaussian_axis = CLV_ENTRY("image/gaussian", "gaussian_axis", axis_variants, builds);
const clv_entry clv_entry_gaussian_xy = CLV_ENTRY("image/gaussian", "gaussian_xy", xy_variants, xy_builds);

enum {
    MAX_FUSED_RADIUS = 8, /* beyond it the unrolled loops grow long */
    /* Radii from which the recursion is faster, on two cores and an H200. */
    RECURSIVE_FROM_X_CPU = 40,
    RECURSIVE_FROM_AXIS_CPU = 16,
    RECURSIVE_FROM_X_GPU = CLV_GAUSSIAN_MAX_RADIUS,
    RECURSIVE_FROM_AXIS_GPU = 44
};

int clv_gaussian_radius(float sigma)
{
    int radius = (int)ceilf(3 * sigma);
    return radius < 1 ? 1 : radius;
}

/* The array as the kernels see it: n samples along the axis, `inner` floats
 * apart, `outer` such arrays behind one another. Planar components are three
 * volumes behind one another; packed ones are part of the row, three floats
 * apart along x. */
typedef struct lines {
    int inner, n, outer;
} lines;

static lines lines_along(const clvox_context *ctx, const int size[3], bool vectors, int axis)
{
    bool packed = vectors && clv_fields_packed(ctx);
    lines l = {packed ? 3 : 1, size[axis], vectors && !packed ? 3 : 1};
    for (int a = 0; a < axis; a++)
        l.inner *= size[a];
    for (int a = axis + 1; a < 3; a++)
        l.outer *= size[a];
    return l;
}

void clv_gaussian_weights(float sigma, float weights[CLV_GAUSSIAN_MAX_RADIUS + 1])
{
    int radius = clv_gaussian_radius(sigma);
    double total = 0, exact[CLV_GAUSSIAN_MAX_RADIUS + 1];
    for (int i = 0; i <= radius; i++) {
        exact[i] = exp(-0.5 * i * i / ((double)sigma * (double)sigma));
        total += (i ? 2 : 1) * exact[i];
    }
    for (int i = 0; i <= radius; i++)
        weights[i] = (float)(exact[i] / total);
}

/* A filter: its width, and the radius that its kernel is compiled for, of at least that of the width. */
typedef struct width {
    float sigma;
    int radius;
} width;

/* As a kernel's argument: bytes. Weights beyond the width are 0, and come last in the sums. */
static size_t set_weights(width w, float weights[CLV_GAUSSIAN_MAX_RADIUS + 1])
{
    clv_gaussian_weights(w.sigma, weights);
    for (int i = clv_gaussian_radius(w.sigma) + 1; i <= w.radius; i++)
        weights[i] = 0;
    return (size_t)(w.radius + 1) * sizeof(float);
}

/* few: compiling a kernel for each width takes longer than their runs on small images. */
static width width_of(bool few, float sigma)
{
    static const int radii[] = {6, 12, 20, 28, 40, CLV_GAUSSIAN_MAX_RADIUS};
    width w = {sigma, clv_gaussian_radius(sigma)};
    int k = 0;
    while (few && radii[k] < w.radius)
        k++;
    w.radius = few ? radii[k] : w.radius;
    return w;
}

static int filter_x(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors, width by,
                    clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    char build[32];
    float weights[CLV_GAUSSIAN_MAX_RADIUS + 1];
    size_t bytes = set_weights(by, weights);
    lines l = lines_along(ctx, size, vectors, 0);
    int planes = l.outer / size[1];
    snprintf(build, sizeof build, "-DRADIUS=%d", by.radius);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_gaussian_x, build, size, 0, &kernel));
    const int launch[3] = {l.inner * l.n, size[1], planes};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 8.0 * l.inner * l.n * l.outer, CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(l.inner, l.n, size[1], planes), (clv_arg){bytes, weights, NULL}));
end:
    return status;
}

static int filter_axis(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors, int axis,
                       width by, clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    char build[32];
    float weights[CLV_GAUSSIAN_MAX_RADIUS + 1];
    size_t bytes = set_weights(by, weights);
    lines l = lines_along(ctx, size, vectors, axis);
    snprintf(build, sizeof build, "-DRADIUS=%d", by.radius);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_gaussian_axis, build, size, 0, &kernel));
    const int launch[3] = {l.inner, l.n, l.outer};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 8.0 * l.inner * l.n * l.outer, CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(l.inner, l.n, l.outer, 0), (clv_arg){bytes, weights, NULL}));
end:
    return status;
}

static int filter_xy(clvox_context *ctx, const clv_buffer *in, const int size[3], bool vectors,
                     const width by[2], clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    char build[48];
    float weights[2][CLV_GAUSSIAN_MAX_RADIUS + 1];
    size_t bytes[2] = {set_weights(by[0], weights[0]), set_weights(by[1], weights[1])};
    lines l = lines_along(ctx, size, vectors, 0);
    int planes = l.outer / size[1], length = l.inner * l.n;
    snprintf(build, sizeof build, "-DRADIUS=%d -DRADIUS_X=%d", by[1].radius, by[0].radius);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_gaussian_xy, build, size, 0, &kernel));
    const int launch[3] = {length, size[1], planes};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 8.0 * length * l.outer, CLV_BUF(in), CLV_BUF(out),
                       CLV_INT4(l.inner, l.n, size[1], planes), (clv_arg){bytes[0], weights[0], NULL},
                       (clv_arg){bytes[1], weights[1], NULL}));
end:
    return status;
}

static bool is_cpu(const clvox_context *ctx)
{
    return clvox_context_limits(ctx)->type == CLVOX_DEVICE_CPU;
}

static bool is_recursive(const clvox_context *ctx, clv_gaussian_method method, int axis, float sigma)
{
    if (method == CLV_GAUSSIAN_RECURSIVE || 3 * sigma > CLV_GAUSSIAN_MAX_RADIUS)
        return true;
    if (method == CLV_GAUSSIAN_SEPARABLE)
        return false;
    int from = is_cpu(ctx) ? (axis ? RECURSIVE_FROM_AXIS_CPU : RECURSIVE_FROM_X_CPU)
                           : (axis ? RECURSIVE_FROM_AXIS_GPU : RECURSIVE_FROM_X_GPU);
    return clv_gaussian_radius(sigma) >= from;
}

int clv_gaussian(clvox_context *ctx, const clv_image *in, const float sigma[3], clv_gaussian_method method,
                 clv_buffer *tmp, clv_buffer *out)
{
    int status = CLVOX_OK;
    const int *size = in->size;
    const bool vectors = in->components == 3;
    const bool few = method == CLV_GAUSSIAN_FINITE;
    bool axes[3], recursive[3];
    width by[3];
    for (int a = 0; a < 3; a++) {
        if (!(sigma[a] >= 0) || isinf(sigma[a]))
            return clvox_fail(CLVOX_ERROR_ARGUMENT,
                              "Gaussian: the width %g along axis %d is not a length; give 0 or more voxels",
                              (double)sigma[a], a);
        axes[a] = sigma[a] > 0 && size[a] > 1;
        recursive[a] = is_recursive(ctx, method, a, sigma[a]);
        by[a] = width_of(few, sigma[a]);
    }
    bool fused = is_cpu(ctx) && axes[0] && axes[1] && !recursive[0] && !recursive[1] &&
                 by[0].radius <= MAX_FUSED_RADIUS && by[1].radius <= MAX_FUSED_RADIUS;
    int passes = axes[0] + axes[1] + axes[2] - fused;
    if (method <= CLV_GAUSSIAN_FINITE && passes > 1 && clv_smooth_takes(sigma))
        return clv_smooth(ctx, in, sigma, out, NULL);
    if (!passes)
        return clv_buffer_copy(ctx, in->buffer, 0, out, 0, (size_t)clv_image_floats(in) * sizeof(float));
    /* The last pass writes out, the one before tmp, the first of three out. */
    const clv_buffer *from = in->buffer;
    for (int a = 0; a < 3; a++) {
        if (!axes[a] || (a == 1 && fused))
            continue;
        clv_buffer *to = --passes % 2 ? tmp : out;
        if (recursive[a])
            CLV_TRY(clv_recursive(ctx, from, size, vectors, a, sigma[a], to));
        else if (a == 0 && fused)
            CLV_TRY(filter_xy(ctx, from, size, vectors, by, to));
        else if (a == 0)
            CLV_TRY(filter_x(ctx, from, size, vectors, by[0], to));
        else
            CLV_TRY(filter_axis(ctx, from, size, vectors, a, by[a], to));
        from = to;
    }
end:
    return status;
}

const clv_entry *const clv_operation_image_gaussian[] = {
    &clv_entry_gaussian_x, &clv_entry_gaussian_axis, &clv_entry_gaussian_xy, NULL};
