/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/nlm.h"

#include <limits.h>

static const clv_variant pad_variants[] = {
    {.name = "item", .function = "nlm_pad", .devices = CLV_ON_GPU, .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "nlm_pad", .defines = "-DROW_FORM=1", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_nlm_pad = {"image/nlm", "nlm_pad", pad_variants, 2, NULL};

/* The items at either end make the columns that patches of the others reach into. Local memory: two
 * lines of the rows of an item. */
static const clv_variant means_variants[] = {
    {.name = "block", .function = "nlm_means", .item = {1, 4, 2}, .rim = {CLV_NLM_MAX_PATCH}, .devices = CLV_ON_GPU,
     .cell_bytes = 2 * 4 * 4 * 2, .planes = 1, .tiles = {{64, 1, 1, 1}}},
    {.name = "row", .function = "nlm_means", .defines = "-DROW_FORM=1", .item = {CLV_WHOLE, 4, 2},
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DPATCH=0 -DGUIDED=1", "-DPATCH=1", "-DPATCH=2", NULL};
const clv_entry clv_entry_nlm_means = {"image/nlm", "nlm_means", means_variants, 2, builds};

/* Rows and lanes that an item covers beyond the end. */
enum { SPARE_ROWS = 3, SPARE_LANES = 64 };

clv_nlm_padding clv_nlm_padding_of(const int size[3], int search)
{
    clv_nlm_padding p;
    for (int a = 0; a < 3; a++) {
        p.margin[a] = search + CLV_NLM_MAX_PATCH;
        p.size[a] = size[a] + 2 * p.margin[a] + (a ? SPARE_ROWS : SPARE_LANES);
    }
    return p;
}

size_t clv_nlm_padded_bytes(const clv_nlm_padding *p)
{
    return sizeof(float) * ((size_t)p->size[0] * (size_t)p->size[1] * (size_t)p->size[2] + SPARE_LANES);
}

/* `padded` of cl/image/nlm.cl. */
typedef struct padded_arg {
    int32_t size[4], margin[4];
} padded_arg;

static padded_arg padded_of(const clv_nlm_padding *p)
{
    return (padded_arg){{p->size[0], p->size[1], p->size[2], p->size[0] * p->size[1]},
                        {p->margin[0], p->margin[1], p->margin[2], 0}};
}

static int check(const clv_nlm_padding *p)
{
    if ((double)p->size[0] * p->size[1] * p->size[2] > INT_MAX - SPARE_LANES)
        return clvox_fail(
            CLVOX_ERROR_ARGUMENT,
            "%d x %d x %d voxels with their margin are too many for non-local means; take a part of the "
            "volume or a smaller search",
            p->size[0], p->size[1], p->size[2]);
    return CLVOX_OK;
}

int clv_nlm_pad(clvox_context *ctx, const clv_image *in, const clv_nlm_padding *padding, bool means,
                clv_buffer *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const padded_arg p = padded_of(padding);
    CLV_TRY(check(padding));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_pad, NULL, padding->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, padding->size,
                       4.0 * (double)clv_image_voxels(in) + (double)clv_nlm_padded_bytes(padding),
                       CLV_BUF(in->buffer), CLV_BUF(out), CLV_SIZE(in), ((clv_arg){sizeof p, &p, NULL}),
                       CLV_INT(means)));
end:
    return status;
}

int clv_nlm_means(clvox_context *ctx, const clv_image *grid, const clv_nlm_means_args *args, clv_buffer *out)
{
    int status = CLVOX_OK, search[3];
    const clv_kernel *kernel;
    const padded_arg p = padded_of(&args->padding);
    const bool guided = args->mean;
    const int side = 2 * args->patch + 1;
    CLV_TRY(check(&args->padding));
    if ((!guided && (args->patch < 1 || args->patch > CLV_NLM_MAX_PATCH)) || args->search < 1 ||
        args->search > args->padding.margin[0] - CLV_NLM_MAX_PATCH || !(args->strength > 0)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "non-local means: patch %d, search %d or strength %g is out of range",
                            args->patch, args->search, (double)args->strength);
        goto end;
    }
    for (int a = 0; a < 3; a++)
        search[a] = args->search < grid->size[a] ? args->search : grid->size[a] - 1;
    /* (1 - q/8) = x - D y / sigma^2, D a sum. */
    const float voxels = guided ? 1 : (float)(side * side * side);
    const float x = guided ? 1 : 1 + 2 / (8 * args->strength), y = 1 / (8 * args->strength * voxels);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_nlm_means, builds[guided ? 0 : args->patch], grid->size, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, grid->size, (guided ? 20.0 : 12.0) * (double)clv_image_voxels(grid),
                       CLV_BUF(args->value), CLV_BUF(guided ? args->guide : args->value),
                       CLV_BUF(guided ? args->mean : args->value), CLV_BUF(args->sigma), CLV_BUF(out), CLV_SIZE(grid),
                       ((clv_arg){sizeof p, &p, NULL}), CLV_INT4(search[0], search[1], search[2], 0),
                       CLV_FLOAT4(x, y, args->rician ? 1 : 0, 0)));
end:
    return status;
}

const clv_entry *const clv_operation_image_nlm[] = {
    &clv_entry_nlm_means, &clv_entry_nlm_pad, NULL};
