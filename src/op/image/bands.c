/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/bands.h"

#include <stdlib.h>

static const clv_variant variants[] = {
    {.name = "item", .function = "bands_item", .devices = CLV_ON_GPU,
     .tiles = {{32, 4, 1, 1}, {8, 8, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row", .function = "bands_row", .item = {CLV_WHOLE}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
static const char *const builds[] = {"-DAXIS=0", "-DAXIS=1", "-DAXIS=2", NULL};

const clv_entry clv_entry_bands = CLV_ENTRY("image/bands", "bands", variants, builds);

int clv_bands_make(clvox_context *ctx, int rows, int columns, const double *matrix, clv_bands *out)
{
    int status = CLVOX_OK, width = 1;
    int32_t *first = calloc((size_t)rows, sizeof *first);
    float *weights = NULL;
    *out = (clv_bands){.rows = rows, .columns = columns};
    if (!first) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < rows; i++) {
        const double *row = matrix + (size_t)i * (size_t)columns;
        int begin = 0, last = columns - 1;
        while (begin < columns - 1 && row[begin] == 0)
            begin++;
        while (last > begin && row[last] == 0)
            last--;
        first[i] = begin;
        width = last - begin + 1 > width ? last - begin + 1 : width;
    }
    out->width = width;
    size_t places = (size_t)rows * sizeof *first, values = (size_t)rows * (size_t)width * sizeof *weights;
    weights = malloc(values);
    if (!weights) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int i = 0; i < rows; i++) {
        if (first[i] > columns - width)
            first[i] = columns - width;
        for (int k = 0; k < width; k++)
            weights[(size_t)i * (size_t)width + (size_t)k] =
                (float)matrix[(size_t)i * (size_t)columns + (size_t)(first[i] + k)];
    }
    CLV_TRY(clv_buffer_create(ctx, places, "first columns of bands", &out->first));
    CLV_TRY(clv_buffer_create(ctx, values, "weights of bands", &out->weights));
    CLV_TRY(clv_buffer_write(ctx, out->first, 0, first, places));
    CLV_TRY(clv_buffer_write(ctx, out->weights, 0, weights, values));
end:
    free(first);
    free(weights);
    if (status < 0)
        clv_bands_free(out);
    return status;
}

void clv_bands_free(clv_bands *bands)
{
    clv_buffer_destroy(&bands->first);
    clv_buffer_destroy(&bands->weights);
    *bands = (clv_bands){.rows = 0};
}

int clv_bands_apply(clvox_context *ctx, const clv_image *in, int axis, const clv_bands *bands,
                    const clv_image *out)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    if (in->size[axis] != bands->columns || out->size[axis] != bands->rows)
        return clvox_fail(CLVOX_ERROR_ARGUMENT,
                          "a matrix of %d rows and %d columns cannot take %d values to %d", bands->rows,
                          bands->columns, in->size[axis], out->size[axis]);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_bands, builds[axis], out->size, 0, &kernel));
    double moved = 4.0 * ((double)clv_image_voxels(in) + (double)clv_image_voxels(out));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, out->size, moved, CLV_BUF(in->buffer), CLV_INT(in->size[axis]),
                       CLV_BUF(bands->first), CLV_BUF(bands->weights), CLV_INT(bands->width),
                       CLV_BUF(out->buffer), CLV_SIZE(out)));
end:
    return status;
}

const clv_entry *const clv_operation_image_bands[] = {
    &clv_entry_bands, NULL};
