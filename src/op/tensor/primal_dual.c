/* SPDX-License-Identifier: Apache-2.0 */
#include "op/tensor/primal_dual.h"

#include <limits.h>
#include <math.h>

/* Voxels as they lie: one for each work-item, or runs of eight at a time. */
#define LINE(symbol, kernel, builds)                                                                        \
    static const clv_variant symbol##_variants[] = {                                                        \
        {.name = "item", .function = kernel, .item = {CLV_MARCH}, .devices = CLV_ON_GPU,              \
         .tiles = {{128, 1, 1, 1}}},                                                                       \
        {.name = "run", .function = kernel, .defines = "-DWIDE=8", .item = {CLV_MARCH},               \
         .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 2048}}},                                                \
    };                                                                                                      \
    const clv_entry clv_entry_##symbol = CLV_ENTRY("tensor/primal_dual", #symbol, symbol##_variants, builds)

static const char *const couplings[] = {"-DPAPER=0", "-DPAPER=1", NULL};
static const char *const sums[] = {"-DWHOLE=0", "-DWHOLE=1", NULL};

LINE(tensor_inside, "tensor_inside", NULL);
LINE(tensor_log, "tensor_log", NULL);
LINE(tensor_pd_dual, "tensor_pd_dual", couplings);
LINE(tensor_pd_primal, "tensor_pd_primal", NULL);
LINE(tensor_pd_radius, "tensor_pd_radius", NULL);

/* How many partial sums there are follows from the volume alone, and so does the order of additions. */
#define SUMS "-DSUMS=" CLV_TEXT(CLV_TENSOR_PD_SUMS)
enum { MOST_GROUPS = CLV_TENSOR_PD_PARTIALS / CLV_TENSOR_PD_SUMS };
static const clv_variant sums_variants[] = {
    {.name = "group", .function = "tensor_pd_sums", .defines = SUMS, .group = {1024, 1, 1},
     .most_groups = MOST_GROUPS, .devices = CLV_ON_GPU, .cell_bytes = 4 * CLV_TENSOR_PD_SUMS, .planes = 1,
     .tiles = {{128, 1, 1, 1}}},
    {.name = "run", .function = "tensor_pd_sums", .defines = "-DWIDE=8 " SUMS, .group = {1024, 1, 1},
     .most_groups = MOST_GROUPS, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_tensor_pd_sums = CLV_ENTRY("tensor/primal_dual", "tensor_pd_sums", sums_variants,
                                                     sums);

static const clv_variant total_variants[] = {
    {.name = "group", .function = "tensor_pd_total", .defines = SUMS, .group = {CLV_WHOLE},
     .devices = CLV_ON_ANY, .cell_bytes = 4 * CLV_TENSOR_PD_SUMS, .planes = 1, .tiles = {{64, 1, 1, 1}}},
};
const clv_entry clv_entry_tensor_pd_total = CLV_ENTRY("tensor/primal_dual", "tensor_pd_total", total_variants,
                                                      NULL);

/* Floats from one plane of the dual to the next: 256 bytes past a page. */
static int plane_of(int n)
{
    return (n + 1023) / 1024 * 1024 + 64;
}

size_t clv_tensor_pd_dual_bytes(const int size[3])
{
    return 18 * sizeof(float) * (size_t)plane_of(size[0] * size[1] * size[2]);
}

static int voxels_of(const int size[3], int *n)
{
    double all = (double)size[0] * size[1] * size[2];
    if (!(all >= 1 && all <= INT_MAX / 18 - 2048))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%d x %d x %d voxels are too many for tensor denoising; take a part of the volume",
                          size[0], size[1], size[2]);
    *n = (int)all;
    return CLVOX_OK;
}

int clv_tensor_log(clvox_context *ctx, clv_buffer *tensor, const clv_buffer *links, int voxels, float least,
                   bool back)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_log, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 49.0 * voxels, CLV_BUF(tensor), CLV_BUF(links), CLV_INT(voxels),
                       CLV_FLOAT(least), CLV_INT(back)));
end:
    return status;
}

int clv_tensor_inside(clvox_context *ctx, const clv_buffer *from, const clv_buffer *links, int voxels,
                      float times, clv_buffer *to)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {voxels, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_inside, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 49.0 * voxels, CLV_BUF(from), CLV_BUF(links), CLV_INT(voxels),
                       CLV_FLOAT(times), CLV_BUF(to)));
end:
    return status;
}

#define SIZE4(pd) \
    CLV_INT4((pd)->data.size[0], (pd)->data.size[0] * (pd)->data.size[1], n, plane_of(n))

static const char *coupling_of(const clv_tensor_pd *pd)
{
    return couplings[pd->paper];
}

/* Weights of differences: k times the smallest edge over the edge along the axis. */
typedef struct weights {
    float of[4];
} weights;

static weights weights_of(const clv_tensor_pd *pd, float k)
{
    const float *edge = pd->data.spacing;
    double least = (double)fminf(edge[0], fminf(edge[1], edge[2]));
    weights w = {{0}};
    for (int a = 0; a < 3; a++)
        w.of[a] = k * (float)(least / (double)edge[a]);
    return w;
}

/* An upper bound of the norm of the differences. */
static double norm_of(const clv_tensor_pd *pd)
{
    const weights w = weights_of(pd, 1);
    double square = 0;
    for (int a = 0; a < 3; a++)
        square += (double)w.of[a] * (double)w.of[a];
    return 2 * sqrt(square);
}

static int launch_sums(clvox_context *ctx, const clv_tensor_pd *pd, const clv_buffer *u, bool whole)
{
    int status = CLVOX_OK, n = 0;
    const clv_kernel *kernel, *total;
    const weights w = weights_of(pd, 1);
    CLV_TRY(voxels_of(pd->data.size, &n));
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_sums, sums[whole], line, 0, &kernel));
    const int groups[3] = {clv_launch_groups(kernel, line, NULL), 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_total, NULL, groups, 0, &total));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, (whole ? 121.0 : 25.0) * n, CLV_BUF(u), CLV_BUF(pd->data.buffer),
                       CLV_BUF(pd->dual), CLV_BUF(pd->radius), CLV_BUF(pd->links), SIZE4(pd), CLV_FLOAT4V(w.of),
                       CLV_FLOAT(pd->lambda), CLV_FLOAT(pd->floor), CLV_BUF(pd->partial)));
    CLV_TRY(CLV_LAUNCH(ctx, total, groups, 4.0 * CLV_TENSOR_PD_SUMS * groups[0], CLV_BUF(pd->partial),
                       CLV_INT(groups[0]), CLV_BUF(pd->state)));
end:
    return status;
}

int clv_tensor_pd_start(clvox_context *ctx, clv_tensor_pd *pd, bool again)
{
    int status = CLVOX_OK, n = 0;
    const float even[6] = {.40824829f, .40824829f, .40824829f, .40824829f, .40824829f, .40824829f};
    CLV_TRY(voxels_of(pd->data.size, &n));
    if (!(pd->lambda > 0) || isinf(pd->lambda)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT, "lambda %g is not above 0", (double)pd->lambda);
        goto end;
    }
    pd->tau = (float)(4 / norm_of(pd));
    pd->sigma = (float)(1 / (4 * norm_of(pd)));
    CLV_TRY(clv_buffer_copy(ctx, pd->tensor, 0, pd->ahead, 0, 6 * (size_t)n * sizeof(float)));
    if (!again) {
        CLV_TRY(clv_buffer_fill(ctx, pd->dual, 0, 0, clv_tensor_pd_dual_bytes(pd->data.size)));
        CLV_TRY(clv_buffer_write(ctx, pd->state, 0, even, sizeof even));
    }
end:
    return status;
}

int clv_tensor_pd_step(clvox_context *ctx, clv_tensor_pd *pd)
{
    int status = CLVOX_OK, n = 0;
    const clv_kernel *dual, *primal;
    CLV_TRY(voxels_of(pd->data.size, &n));
    if (pd->paper)
        CLV_TRY(launch_sums(ctx, pd, pd->ahead, false));
    const int line[3] = {n, 1, 1};
    const float gamma = 0.7f * pd->lambda, pull = pd->tau * pd->lambda / (1 + pd->tau * pd->lambda);
    const float theta = 1 / sqrtf(1 + 2 * gamma * pd->tau);
    const weights up = weights_of(pd, pd->sigma), down = weights_of(pd, pd->tau);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_dual, coupling_of(pd), line, 0, &dual));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_primal, NULL, line, 0, &primal));
    CLV_TRY(CLV_LAUNCH(ctx, dual, line, 169.0 * n, CLV_BUF(pd->ahead), CLV_BUF(pd->links), SIZE4(pd),
                       CLV_FLOAT4V(up.of), CLV_BUF(pd->state), CLV_BUF(pd->radius), CLV_BUF(pd->dual)));
    CLV_TRY(CLV_LAUNCH(ctx, primal, line, 169.0 * n, CLV_BUF(pd->dual), CLV_BUF(pd->data.buffer),
                       CLV_BUF(pd->links), SIZE4(pd), CLV_FLOAT4V(down.of),
                       CLV_FLOAT4(pull, theta, pd->floor, 0), CLV_BUF(pd->tensor), CLV_BUF(pd->ahead)));
    pd->tau *= theta;
    pd->sigma /= theta;
end:
    return status;
}

int clv_tensor_pd_radius(clvox_context *ctx, const clv_tensor_pd *pd, float contrast, clv_buffer *radius)
{
    int status = CLVOX_OK, n = 0;
    const clv_kernel *kernel;
    const weights w = weights_of(pd, 1);
    CLV_TRY(voxels_of(pd->data.size, &n));
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_radius, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 29.0 * n, CLV_BUF(pd->tensor), CLV_BUF(pd->links), SIZE4(pd),
                       CLV_FLOAT4V(w.of), CLV_FLOAT(contrast), CLV_BUF(radius)));
end:
    return status;
}

int clv_tensor_pd_energy(clvox_context *ctx, const clv_tensor_pd *pd, clv_tensor_pd_energies *out)
{
    int status = CLVOX_OK;
    float state[CLV_TENSOR_PD_STATE], radius[6];
    double square = 0;
    *out = (clv_tensor_pd_energies){.variation = 0};
    /* The radii belong to the iterations. */
    CLV_TRY(clv_buffer_read(ctx, pd->state, 0, radius, sizeof radius));
    CLV_TRY(launch_sums(ctx, pd, pd->tensor, true));
    CLV_TRY(clv_buffer_read(ctx, pd->state, 0, state, 15 * sizeof(float)));
    CLV_TRY(clv_buffer_write(ctx, pd->state, 0, radius, sizeof radius));
    for (int c = 0; c < 6; c++) {
        out->components[c] = (double)state[6 + c];
        square += out->components[c] * out->components[c];
    }
    out->variation = pd->paper ? sqrt(square) : (double)state[12];
    out->fit = (double)state[13];
    out->energy = out->variation + (double)pd->lambda * out->fit;
    out->dual = (double)state[14];
end:
    return status;
}

const clv_entry *const clv_operation_tensor_primal_dual[] = {
    &clv_entry_tensor_inside, &clv_entry_tensor_log, &clv_entry_tensor_pd_dual,
    &clv_entry_tensor_pd_primal, &clv_entry_tensor_pd_radius, &clv_entry_tensor_pd_sums,
    &clv_entry_tensor_pd_total, NULL};
