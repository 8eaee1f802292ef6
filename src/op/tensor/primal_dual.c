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
    const clv_entry clv_entry_##symbol = {"tensor/primal_dual", #symbol, symbol##_variants, 2, builds}

static const char *const couplings[] = {"-DPAPER=0", "-DPAPER=1", "-DPAPER=0 -DRADIUS=1", NULL};
static const char *const sums[] = {"-DWHOLE=0", "-DWHOLE=1", "-DWHOLE=1 -DRADIUS=1", NULL};

LINE(tensor_inside, "tensor_inside", NULL);
LINE(tensor_log, "tensor_log", NULL);
LINE(tensor_pd_dual, "tensor_pd_dual", couplings);
LINE(tensor_pd_primal, "tensor_pd_primal", NULL);
LINE(tensor_pd_radius, "tensor_pd_radius", NULL);

/* A work-item a run. */
#define RUNS(symbol, builds)                                                                                \
    static const clv_variant symbol##_variants[] = {                                                        \
        {.name = "run", .function = #symbol, .defines = "-DWIDE=8", .item = {CLV_MARCH},              \
         .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},                                                   \
    };                                                                                                      \
    const clv_entry clv_entry_##symbol = {"tensor/primal_dual", #symbol, symbol##_variants, 1, builds}

RUNS(tensor_pd_sweep, couplings);
RUNS(tensor_pd_edges, NULL);

/* Fixed counts of work-groups: the order of additions depends on nothing else. */
static const clv_variant sums_variants[] = {
    {.name = "group", .function = "tensor_pd_sums", .group = {1, 1, 1}, .devices = CLV_ON_GPU,
     .cell_bytes = 36, .planes = 1, .tiles = {{128, 1, 1, 1}}},
    {.name = "run", .function = "tensor_pd_sums", .defines = "-DWIDE=8", .group = {1, 1, 1},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_tensor_pd_sums = {"tensor/primal_dual", "tensor_pd_sums", sums_variants, 2, sums};

static const clv_variant total_variants[] = {
    {.name = "group", .function = "tensor_pd_total", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .cell_bytes = 36, .planes = 1, .tiles = {{64, 1, 1, 1}}},
};
const clv_entry clv_entry_tensor_pd_total = {"tensor/primal_dual", "tensor_pd_total", total_variants, 1, NULL};

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
        return clv_fail(CLVOX_ERROR_ARGUMENT,
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

#define SIZE4(pd) CLV_INT4((pd)->size[0], (pd)->size[0] * (pd)->size[1], n, plane_of(n))
#define WEIGHT4(pd, k) CLV_FLOAT4((k) * (pd)->weight[0], (k) * (pd)->weight[1], (k) * (pd)->weight[2], 0)

static const char *coupling_of(const clv_tensor_pd *pd)
{
    return couplings[pd->paper ? 1 : pd->radius ? 2 : 0];
}

/* An upper bound of the norm of the differences. */
static double norm_of(const clv_tensor_pd *pd)
{
    double square = 0;
    for (int a = 0; a < 3; a++)
        square += (double)pd->weight[a] * (double)pd->weight[a];
    return 2 * sqrt(square);
}

static int launch_sums(clvox_context *ctx, const clv_tensor_pd *pd, const clv_buffer *u, bool whole)
{
    int status = CLVOX_OK, n = 0;
    const clv_kernel *kernel, *total;
    CLV_TRY(voxels_of(pd->size, &n));
    const int most = CLV_TENSOR_PD_PARTIALS / 9, wanted = (n + 1023) / 1024;
    const int groups[3] = {wanted < most ? wanted : most, 1, 1}, one[3] = {1, 1, 1};
    const char *build = sums[whole && pd->radius ? 2 : whole];
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_sums, build, groups, 0, &kernel));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_total, NULL, one, 0, &total));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, groups, (whole ? 121.0 : 25.0) * n, CLV_BUF(u), CLV_BUF(pd->data),
                       CLV_BUF(pd->dual), CLV_BUF(pd->radius), CLV_BUF(pd->links), SIZE4(pd),
                       WEIGHT4(pd, 1.0f), CLV_FLOAT(pd->lambda), CLV_FLOAT(pd->floor), CLV_BUF(pd->partial)));
    CLV_TRY(CLV_LAUNCH(ctx, total, one, 36.0 * groups[0], CLV_BUF(pd->partial), CLV_INT(groups[0]),
                       CLV_BUF(pd->state)));
end:
    return status;
}

int clv_tensor_pd_start(clvox_context *ctx, clv_tensor_pd *pd, bool again)
{
    int status = CLVOX_OK, n = 0;
    const float even[6] = {.40824829f, .40824829f, .40824829f, .40824829f, .40824829f, .40824829f};
    CLV_TRY(voxels_of(pd->size, &n));
    if (!(pd->lambda > 0) || isinf(pd->lambda)) {
        status = clv_fail(CLVOX_ERROR_ARGUMENT, "lambda %g is not above 0", (double)pd->lambda);
        goto end;
    }
    pd->tau = (float)(4 / norm_of(pd));
    pd->sigma = (float)(1 / (4 * norm_of(pd)));
    CLV_TRY(clv_buffer_copy(ctx, pd->tensor, 0, pd->ahead, 0, 6 * (size_t)n * sizeof(float)));
    if (!again) {
        CLV_TRY(clv_buffer_fill(ctx, pd->dual, 0, 0, clv_tensor_pd_dual_bytes(pd->size)));
        CLV_TRY(clv_buffer_write(ctx, pd->state, 0, even, sizeof even));
    }
end:
    return status;
}

static int passes(clvox_context *ctx, clv_tensor_pd *pd, int n, float pull, float theta)
{
    int status = CLVOX_OK;
    const clv_kernel *dual, *primal;
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_dual, coupling_of(pd), line, 0, &dual));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_primal, NULL, line, 0, &primal));
    CLV_TRY(CLV_LAUNCH(ctx, dual, line, 169.0 * n, CLV_BUF(pd->ahead), CLV_BUF(pd->links), SIZE4(pd),
                       WEIGHT4(pd, pd->sigma), CLV_BUF(pd->state), CLV_BUF(pd->radius), CLV_BUF(pd->dual)));
    CLV_TRY(CLV_LAUNCH(ctx, primal, line, 169.0 * n, CLV_BUF(pd->dual), CLV_BUF(pd->data), CLV_BUF(pd->links),
                       SIZE4(pd), WEIGHT4(pd, pd->tau), CLV_FLOAT4(pull, theta, pd->floor, 0),
                       CLV_BUF(pd->tensor), CLV_BUF(pd->ahead)));
end:
    return status;
}

static int sweep(clvox_context *ctx, clv_tensor_pd *pd, int n, float pull, float theta)
{
    int status = CLVOX_OK;
    const clv_kernel *all, *edges;
    /* Runs of whole planes (of a slice: rows), four for each core. */
    const int *size = pd->size, flat = size[2] == 1;
    int unit = flat ? size[0] : size[0] * size[1], units = flat ? size[1] : size[2];
    int parts = 4 * clvox_context_limits(ctx)->compute_units;
    int run = (units + parts - 1) / (parts > 0 ? parts : 1) * unit, wait = (unit + 7) / 8 * 8;
    run = parts > 0 && run >= unit ? run : n;
    const int line[3] = {(n + run - 1) / run, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_sweep, coupling_of(pd), line, 0, &all));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_edges, NULL, line, 0, &edges));
    CLV_TRY(CLV_LAUNCH(ctx, all, line, 265.0 * n, CLV_BUF(pd->ahead), CLV_BUF(pd->links), SIZE4(pd),
                       WEIGHT4(pd, pd->sigma), CLV_BUF(pd->state), CLV_BUF(pd->radius), CLV_BUF(pd->dual),
                       CLV_BUF(pd->data),
                       WEIGHT4(pd, pd->tau), CLV_FLOAT4(pull, theta, pd->floor, 0), CLV_BUF(pd->tensor),
                       CLV_INT(run), CLV_INT(wait)));
    CLV_TRY(CLV_LAUNCH(ctx, edges, line, 169.0 * line[0] * wait, CLV_BUF(pd->dual), CLV_BUF(pd->data),
                       CLV_BUF(pd->links), SIZE4(pd), WEIGHT4(pd, pd->tau),
                       CLV_FLOAT4(pull, theta, pd->floor, 0), CLV_BUF(pd->tensor), CLV_BUF(pd->ahead),
                       CLV_INT(run), CLV_INT(wait)));
end:
    return status;
}

int clv_tensor_pd_step(clvox_context *ctx, clv_tensor_pd *pd)
{
    int status = CLVOX_OK, n = 0;
    CLV_TRY(voxels_of(pd->size, &n));
    if (pd->paper)
        CLV_TRY(launch_sums(ctx, pd, pd->ahead, false));
    float gamma = 0.7f * pd->lambda, pull = pd->tau * pd->lambda / (1 + pd->tau * pd->lambda);
    float theta = 1 / sqrtf(1 + 2 * gamma * pd->tau);
    CLV_TRY((pd->form == CLV_TENSOR_PD_SWEEP ? sweep : passes)(ctx, pd, n, pull, theta));
    pd->tau *= theta;
    pd->sigma /= theta;
end:
    return status;
}

int clv_tensor_pd_radius(clvox_context *ctx, const clv_tensor_pd *pd, float contrast, clv_buffer *radius)
{
    int status = CLVOX_OK, n = 0;
    const clv_kernel *kernel;
    CLV_TRY(voxels_of(pd->size, &n));
    const int line[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tensor_pd_radius, NULL, line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 29.0 * n, CLV_BUF(pd->tensor), CLV_BUF(pd->links), SIZE4(pd),
                       WEIGHT4(pd, 1.0f), CLV_FLOAT(contrast), CLV_BUF(radius)));
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
    &clv_entry_tensor_pd_primal, &clv_entry_tensor_pd_radius, &clv_entry_tensor_pd_sweep,
    &clv_entry_tensor_pd_edges, &clv_entry_tensor_pd_sums, &clv_entry_tensor_pd_total, NULL};
