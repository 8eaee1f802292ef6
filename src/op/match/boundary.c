/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/boundary.h"

#include <stdlib.h>

#include "op/map.h"

/* Points of an item, where there are not too many: a CPU's cores each take many. */
static const clv_variant variants[] = {
    {.name = "item",
     .function = "boundary_item",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 16}, {128, 1, 1, 16}}},
    {.name = "run",
     .function = "boundary_item",
     .item = {CLV_MARCH},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1024}}},
};
static const char *const builds[] = {"", NULL};
const clv_entry clv_entry_boundary = CLV_ENTRY("match/boundary", "boundary", variants, builds);

int clv_boundary(clvox_context *ctx, const clv_boundary_args *a, clv_buffer *partial,
                 double sums[CLV_BOUNDARY_SUMS])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {a->count, 1, 1};
    float *host = NULL;
    for (int s = 0; s < CLV_BOUNDARY_SUMS; s++)
        sums[s] = 0;
    if (a->count < 1)
        return CLVOX_OK;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_boundary, builds[0], line, 0, &kernel));
    const int march = kernel->tile.march, whole = (a->count + march - 1) / march;
    const int items = whole < CLV_BOUNDARY_MOST_ITEMS ? whole : CLV_BOUNDARY_MOST_ITEMS;
    const size_t bytes = (size_t)items * CLV_BOUNDARY_SUMS * sizeof *host;
    host = malloc(bytes);
    if (!host) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the sums of a boundary");
        goto end;
    }
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 96. * a->count, CLV_BUF(a->image.buffer), CLV_SIZE(&a->image),
                       CLV_ROWS4(a->map), CLV_BUF(a->points), CLV_INT(a->count), CLV_FLOAT(a->slope),
                       CLV_INT(items), CLV_BUF(partial)));
    CLV_TRY(clv_buffer_read(ctx, partial, 0, host, bytes));
    for (size_t i = 0; i < (size_t)items * CLV_BOUNDARY_SUMS; i++)
        sums[i % CLV_BOUNDARY_SUMS] += (double)host[i];
end:
    free(host);
    return status;
}

const clv_entry *const clv_operation_match_boundary[] = {&clv_entry_boundary, NULL};
