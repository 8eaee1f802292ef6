/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/currents.h"

#include <math.h>
#include <stdlib.h>

/* Local memory of an item: a source and a sum. */
static const clv_variant variants[] = {
    {.name = "group", .function = "currents_group", .group = {CLV_CURRENTS_BLOCK}, .devices = CLV_ON_GPU,
     .cell_bytes = 36, .tiles = {{128, 1, 1, 1}, {64, 1, 1, 1}, {256, 1, 1, 1}}},
    {.name = "row", .function = "currents_row", .group = {CLV_CURRENTS_BLOCK}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
#define BUILD(varifold, gradient) \
    "-DVARIFOLD=" #varifold " -DGRADIENT=" #gradient " -DBLOCK=" CLV_TEXT(CLV_CURRENTS_BLOCK)
static const char *const builds[] = {BUILD(0, 0), BUILD(0, 1), BUILD(1, 0), BUILD(1, 1), NULL};

const clv_entry clv_entry_currents = CLV_ENTRY("anatomy/currents", "currents", variants, builds);

int clv_currents(clvox_context *ctx, const clv_currents_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->target.count, 1, 1};
    if (!(a->width > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a kernel of width %g mm: it must be above 0",
                          (double)a->width);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_currents, builds[2 * a->varifold + (a->gradient != NULL)], line, 0, &kernel));
    if (a->target.count == 0)
        return CLVOX_OK;
    const float square = a->width * a->width, scale = -1.44269504f / square,
                far = (float)(CLV_CURRENTS_REACH * CLV_CURRENTS_REACH) * square;
    /* A gradient takes all of them: what a block would add to the other's has no fixed order. */
    const bool own = a->target.element == a->source.element && a->target.count == a->source.count;
    const bool halves = own && !a->gradient;
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 32.0 * (a->target.count + a->source.count), CLV_BUF(a->target.element),
                       CLV_BUF(a->target.box), CLV_INT(a->target.count), CLV_BUF(a->source.element),
                       CLV_BUF(a->source.box), CLV_INT(a->source.count), CLV_FLOAT(scale), CLV_FLOAT(far),
                       CLV_INT(halves), CLV_FLOAT(a->factor), CLV_BUF(a->gradient), CLV_BUF(a->partial)));
end:
    return status;
}

int clv_currents_product(clvox_context *ctx, const clv_buffer *partial, int targets, double *product)
{
    int status = CLVOX_OK;
    const size_t blocks = (size_t)CLV_CURRENTS_BLOCKS(targets);
    float *sum = malloc(blocks * sizeof *sum + 1);
    *product = 0;
    if (!sum)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the product of two surfaces");
    CLV_TRY(clv_buffer_read(ctx, partial, 0, sum, blocks * sizeof *sum));
    for (size_t i = 0; i < blocks; i++)
        *product += (double)sum[i];
end:
    free(sum);
    return status;
}

const clv_entry *const clv_operation_anatomy_currents[] = {&clv_entry_currents, NULL};
