/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "anatomy/elements.h"

/* The inner product of args' target and source. */
static int product(clvox_context *ctx, const clv_currents_args *args, double *out)
{
    int status = CLVOX_OK;
    *out = 0;
    if (args->target.count == 0 || args->source.count == 0)
        return CLVOX_OK;
    CLV_TRY(clv_currents(ctx, args));
    CLV_TRY(clv_currents_product(ctx, args->partial, args->target.count, out));
end:
    return status;
}

int clvox_surface_currents(clvox_context *ctx, const clvox_surface *a, const clvox_surface *b, double width,
                           int varifold, clvox_surface_products *out)
{
    int status = CLVOX_OK;
    clv_element_set sets[2] = {{NULL, NULL, 0}, {NULL, NULL, 0}};
    clv_buffer *partial = NULL;
    double origin[3];
    const clvox_surface *surfaces[2] = {a, b};
    clvox_surface_facts facts[2];
    *out = (clvox_surface_products){0};
    if (!ctx || !a || !b || !(width > 0) || !isfinite(width))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "currents want two surfaces and a width above 0 mm");
    for (int i = 0; i < 2; i++)
        CLV_TRY(clvox_surface_inspect(surfaces[i], &facts[i]));
    for (int k = 0; k < 3; k++)
        origin[k] = (facts[0].bounds[0][k] + facts[0].bounds[1][k]) / 2;
    for (int i = 0; i < 2; i++)
        CLV_TRY(clv_element_set_create(ctx, surfaces[i], origin, &sets[i]));
    int most = sets[0].count > sets[1].count ? sets[0].count : sets[1].count;
    size_t bytes = 4 * (size_t)(CLV_CURRENTS_BLOCKS(most) + 1);
    CLV_TRY(clv_buffer_create(ctx, bytes, "inner products of surfaces", &partial));
    double *products[3] = {&out->aa, &out->bb, &out->ab};
    for (int i = 0; i < 3; i++) {
        const clv_currents_args args = {.target = clv_element_set_view(&sets[i == 1]),
                                        .source = clv_element_set_view(&sets[i > 0]),
                                        .width = (float)width,
                                        .varifold = varifold,
                                        .partial = partial};
        CLV_TRY(product(ctx, &args, products[i]));
    }
    out->squared_distance = out->aa + out->bb - 2 * out->ab;
end:
    for (int i = 0; i < 2; i++)
        clv_element_set_release(&sets[i]);
    clv_buffer_destroy(&partial);
    return status;
}
