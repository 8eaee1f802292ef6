/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/tv.h"

#include <limits.h>
#include <math.h>

static const char *const couplings[] = {"-DCOUPLED=0", "-DCOUPLED=1", NULL};
static const char *const norms[] = {"-DNORMS=0", "-DNORMS=1", NULL};

static const clv_variant step_variants[] = {
    {.name = "item",
     .function = "tv_step_item",
     .item = {1, 1, CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{32, 8, 1, 4}, {32, 8, 1, 16}, {32, 4, 1, 16}, {64, 4, 1, 32}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "tv_step_row",
     .defines = "-DWIDE=8",
     .item = {CLV_WHOLE, 8, CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 32}}},
};
const clv_entry clv_entry_tv_step = CLV_ENTRY("image/tv", "tv_step", step_variants, couplings);

static const clv_variant norm_variants[] = {
    {.name = "item",
     .function = "tv_norm",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{128, 1, 1, 1}}},
    {.name = "run",
     .function = "tv_norm",
     .defines = "-DWIDE=8",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 2048}}},
};
const clv_entry clv_entry_tv_norm = CLV_ENTRY("image/tv", "tv_norm", norm_variants, norms);

/* How many partial sums there are follows from the volume alone, and so does the order of additions. */
#define SUMS "-DSUMS=" CLV_TEXT(CLV_TV_SUMS)
enum { MOST_GROUPS = CLV_TV_PARTIALS / CLV_TV_SUMS };
static const clv_variant sums_variants[] = {
    {.name = "group",
     .function = "tv_sums",
     .defines = SUMS,
     .group = {1024, 1, 1},
     .most_groups = MOST_GROUPS,
     .devices = CLV_ON_GPU,
     .cell_bytes = 4 * CLV_TV_SUMS,
     .planes = 1,
     .tiles = {{128, 1, 1, 1}}},
    {.name = "run",
     .function = "tv_sums",
     .defines = "-DWIDE=8 " SUMS,
     .group = {1024, 1, 1},
     .most_groups = MOST_GROUPS,
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_tv_sums = CLV_ENTRY("image/tv", "tv_sums", sums_variants, couplings);

/* Floats from one plane of the dual to the next: 256 bytes past a page. */
static int plane_of(int n)
{
    return (n + 1023) / 1024 * 1024 + 64;
}

size_t clv_tv_dual_bytes(const int size[3])
{
    return 3 * sizeof(float) * (size_t)plane_of(size[0] * size[1] * size[2]);
}

/* `tv_step` of cl/image/tv.cl. */
typedef struct step_arg {
    float up[4], down[4];
    int32_t size[4];
    float radius;
    int32_t apart;
    int32_t unused[2];
} step_arg;

static step_arg step_of(const clv_tv *tv)
{
    const float *edge = tv->grid.spacing;
    const double least = (double)fminf(edge[0], fminf(edge[1], edge[2]));
    const int n = (int)clv_image_voxels(&tv->grid);
    step_arg s = {.up = {0, 0, 0, tv->theta},
                  .down = {0, 0, 0, tv->tau},
                  .size = {tv->grid.size[0], tv->grid.size[1], tv->grid.size[2], n},
                  .radius = tv->radius,
                  .apart = plane_of(n)};
    for (int a = 0; a < 3; a++) {
        s.down[a] = (float)(least / (double)edge[a]);
        s.up[a] = tv->sigma * s.down[a];
    }
    return s;
}

static int check(const clv_tv *tv)
{
    const int *size = tv->grid.size;
    if ((double)size[0] * size[1] * size[2] > INT_MAX / 3 - 1088)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "%d x %d x %d voxels are too many for total variation; take a part of the volume",
                          size[0], size[1], size[2]);
    if (!(tv->radius > 0) || isinf(tv->radius))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "total variation of weight %g: it is not above 0",
                          (double)tv->radius);
    return CLVOX_OK;
}

int clv_tv_start(clvox_context *ctx, clv_tv *tv)
{
    /* With the longest steps of both kinds few iterations bring the dual near enough. */
    static const double FIRST = 1;
    int status = CLVOX_OK;
    const size_t bytes = clv_image_voxels(&tv->grid) * sizeof(float);
    double square = 0;
    CLV_TRY(check(tv));
    tv->theta = 0;
    step_arg s = step_of(tv);
    for (int a = 0; a < 3; a++)
        square += (double)s.down[a] * (double)s.down[a];
    tv->tau = (float)FIRST;
    tv->sigma = (float)(1 / (FIRST * 4 * square));
    for (int c = 0; c < tv->channels; c++) {
        clv_tv_channel *channel = &tv->channel[c];
        for (int k = 0; k < 2; k++)
            CLV_TRY(clv_buffer_copy(ctx, channel->data, 0, channel->u[k], 0, bytes));
        CLV_TRY(clv_buffer_fill(ctx, channel->dual[0], 0, 0, clv_tv_dual_bytes(tv->grid.size)));
    }
end:
    return status;
}

/* norm: the squares of all channels, of their duals to be, or of their gradients. */
static int join(clvox_context *ctx, const clv_tv *tv, bool gradients)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const step_arg s = step_of(tv);
    const int line[3] = {s.size[3], 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tv_norm, norms[gradients], line, 0, &kernel));
    for (int c = 0; c < tv->channels; c++) {
        const clv_tv_channel *channel = &tv->channel[c];
        CLV_TRY(CLV_LAUNCH(ctx, kernel, line, ((gradients ? 9.0 : 25.0) + (c ? 4 : 0)) * s.size[3],
                           CLV_BUF(channel->u[0]), CLV_BUF(channel->u[1]), CLV_BUF(channel->dual[0]),
                           CLV_BUF(tv->links), CLV_BUF(tv->norm), ((clv_arg){sizeof s, &s, NULL}),
                           CLV_INT(c > 0)));
    }
end:
    return status;
}

/* The data term's convexity is 1; less of it keeps the dual's steps short for longer, and is faster. */
#define CONVEXITY 0.7f

int clv_tv_step(clvox_context *ctx, clv_tv *tv)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const step_arg s = step_of(tv);
    if (tv->norm)
        CLV_TRY(join(ctx, tv, false));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tv_step, couplings[tv->norm != NULL], tv->grid.size, 0, &kernel));
    for (int c = 0; c < tv->channels; c++) {
        clv_tv_channel *channel = &tv->channel[c];
        clv_buffer *spare = channel->u[2], *dual = channel->dual[1];
        CLV_TRY(CLV_LAUNCH(ctx, kernel, tv->grid.size, (tv->norm ? 45.0 : 41.0) * s.size[3],
                           CLV_BUF(channel->u[0]), CLV_BUF(channel->u[1]), CLV_BUF(channel->data),
                           CLV_BUF(channel->dual[0]), CLV_BUF(tv->links), CLV_BUF(tv->norm), CLV_BUF(spare),
                           CLV_BUF(dual), ((clv_arg){sizeof s, &s, NULL})));
        channel->u[2] = channel->u[1];
        channel->u[1] = channel->u[0];
        channel->u[0] = spare;
        channel->dual[1] = channel->dual[0];
        channel->dual[0] = dual;
    }
    tv->theta = 1 / sqrtf(1 + 2 * CONVEXITY * tv->tau);
    tv->tau *= tv->theta;
    tv->sigma /= tv->theta;
end:
    return status;
}

int clv_tv_energy(clvox_context *ctx, const clv_tv *tv, clv_tv_energies *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    float parts[CLV_TV_PARTIALS];
    double sum[CLV_TV_SUMS] = {0};
    const step_arg s = step_of(tv);
    const int line[3] = {s.size[3], 1, 1};
    if (tv->norm)
        CLV_TRY(join(ctx, tv, true));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_tv_sums, couplings[tv->norm != NULL], line, 0, &kernel));
    const int groups = clv_launch_groups(kernel, line, NULL);
    for (int c = 0; c < tv->channels; c++) {
        const clv_tv_channel *channel = &tv->channel[c];
        CLV_TRY(CLV_LAUNCH(ctx, kernel, line, (tv->norm ? 25.0 : 21.0) * s.size[3], CLV_BUF(channel->u[0]),
                           CLV_BUF(channel->data), CLV_BUF(channel->dual[0]), CLV_BUF(tv->links),
                           CLV_BUF(tv->norm), ((clv_arg){sizeof s, &s, NULL}), CLV_FLOAT(c == 0 ? 1 : 0),
                           CLV_BUF(tv->partial)));
        CLV_TRY(clv_buffer_read(ctx, tv->partial, 0, parts, sizeof(float) * CLV_TV_SUMS * (size_t)groups));
        for (int k = 0; k < CLV_TV_SUMS * groups; k++)
            sum[k % CLV_TV_SUMS] += (double)parts[k];
    }
    *out = (clv_tv_energies){.variation = sum[2], .fit = sum[3], .gap = fmax(0, sum[0] + sum[1])};
end:
    return status;
}

const clv_entry *const clv_operation_image_tv[] = {&clv_entry_tv_norm, &clv_entry_tv_step, &clv_entry_tv_sums,
                                                   NULL};
