/* SPDX-License-Identifier: Apache-2.0 */
#include "op/fluid/fluid_operator.h"

/* Local memory of march: four planes of three components, and a float a work-item. */
static const clv_variant variants[] = {
    {.name = "march", .function = "fluid_operator_march", .item = {1, 1, CLV_MARCH},
     .devices = CLV_ON_GPU,
     .halo = {1, 1, 0}, .cell_bytes = 13 * 4, .planes = 1,
     .tiles = {{64, 4, 1, 16}, {32, 8, 1, 16}}},
    {.name = "row", .function = "fluid_operator_row", .defines = "-DROW_FORM=1", .item = {CLV_WHOLE},
     .most_groups = 4096, .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};

/* The result; the kernel is built with the same number. */
enum { PRODUCT, DOT, RESIDUAL = 2 };
static const char *const builds[] = {"-DRESIDUAL=2 -DCOUPLED=0", "-DRESIDUAL=2 -DCOUPLED=1", NULL};

const clv_entry clv_entry_fluid_operator = CLV_ENTRY("fluid/fluid_operator", "fluid_operator", variants,
                                                     builds);

int clv_fluid_operator_check(const clv_fluid_operator *op)
{
    for (int a = 0; a < 3; a++)
        if (op->size[a] < 1 || !(op->spacing[a] > 0))
            return clvox_fail(CLVOX_ERROR_ARGUMENT, "fluid operator: axis %d has %d voxels of %g mm", a + 1,
                              op->size[a], (double)op->spacing[a]);
    if (!(op->alpha >= 0 && op->beta >= 0 && op->gamma > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "fluid operator: alpha %g, beta %g, gamma %g; the first two must not be negative "
                          "and gamma must be positive",
                          (double)op->alpha, (double)op->beta, (double)op->gamma);
    return CLVOX_OK;
}

int clv_fluid_operator_launch(clvox_context *ctx, const clv_fluid_operator *op, const clv_fluid_product *p)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int *size = op->size;
    double q[3], alpha = (double)op->alpha, beta = (double)op->beta, sum = 0;
    CLV_TRY(clv_fluid_operator_check(op));
    for (int a = 0; a < 3; a++) {
        q[a] = size[a] > 1 ? 1 / (double)op->spacing[a] : 0;
        sum += 2 * alpha * q[a] * q[a];
    }
    float near[4] = {0}, along[4] = {0}, centre[4] = {0};
    for (int a = 0; a < 3; a++) {
        near[a] = (float)(alpha * q[a] * q[a]);
        along[a] = (float)(beta * q[a] * q[a]);
        centre[a] = (float)((double)op->gamma + sum + 2 * beta * q[a] * q[a]);
    }
    const float cross[4] = {(float)(beta * q[0] * q[1] / 4), (float)(beta * q[0] * q[2] / 4),
                            (float)(beta * q[1] * q[2] / 4)};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_fluid_operator, builds[beta > 0], size, 0, &kernel));
    int sums = clv_launch_groups(kernel, size, NULL);
    if (sums > CLV_FLUID_OPERATOR_PARTIALS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "fluid operator: %d x %d x %d voxels are too many; take a part of the volume",
                          size[0], size[1], size[2]);
    CLV_TRY(CLV_LAUNCH(ctx, kernel, size, (p->f ? 36.0 : 24.0) * size[0] * size[1] * size[2], CLV_BUF(p->v),
                       CLV_BUF(p->f), CLV_BUF(p->out), CLV_INT4(size[0], size[1], size[2], op->periodic),
                       CLV_FLOAT4V(centre), CLV_FLOAT4V(near), CLV_FLOAT4V(along), CLV_FLOAT4V(cross),
                       CLV_INT(p->f ? RESIDUAL : p->partial ? DOT : PRODUCT), CLV_BUF(p->partial)));
    if (p->count)
        *p->count = sums;
end:
    return status;
}

int clv_fluid_operator_apply(clvox_context *ctx, const clv_fluid_operator *op, const clv_buffer *v, clv_buffer *out)
{
    return clv_fluid_operator_launch(ctx, op, &(clv_fluid_product){.v = v, .out = out});
}

const clv_entry *const clv_operation_fluid_fluid_operator[] = {
    &clv_entry_fluid_operator, NULL};
