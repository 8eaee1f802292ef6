/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/cauchy.h"

static const clv_variant variants[] = {
    {.name = "item", .function = "cauchy", .devices = CLV_ON_ANY, .tiles = {{128, 1, 1, 1}, {64, 1, 1, 1}}},
};
const clv_entry clv_entry_cauchy = CLV_ENTRY("papers/cauchy", "cauchy", variants, NULL);

int clv_cauchy(clvox_context *ctx, const clv_elements *target, const clv_elements *source, float width,
               clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {target->count, 1, 1};
    if (!(width > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a kernel of width %g mm: it must be above 0", (double)width);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_cauchy, NULL, line, 0, &kernel));
    if (target->count == 0)
        return CLVOX_OK;
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 32.0 * (2 * target->count + source->count),
                       CLV_BUF(target->element), CLV_INT(target->count), CLV_BUF(source->element),
                       CLV_INT(source->count), CLV_FLOAT(1 / (width * width)), CLV_BUF(out)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_cauchy[] = {&clv_entry_cauchy, NULL};
