/* SPDX-License-Identifier: Apache-2.0 */
#include "op/moments.h"

#include <stdlib.h>

/* groups: size is (ny, nz, 1) work-groups, one a row; row: (1, ny, nz) items. */
static const clv_variant variants[] = {
    {.name = "groups", .function = "moments_groups", .shape = CLV_SHAPE_GROUPS, .devices = CLV_ON_GPU,
     .fixed_bytes = 64 * 4, .tiles = {{64, 1, 1, 1}}},
    {.name = "row", .function = "moments_row", .shape = CLV_SHAPE_ROW, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_moments = {"moments", "moments", variants, 2, NULL};

/* Joins the rows' moments about the common mean, in double precision. */
static void join(const float *rows, const int size[3], double result[10])
{
    double sum = 0, mean[3] = {0, 0, 0}, second[6] = {0, 0, 0, 0, 0, 0};
    const float *r = rows;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++, r += 3) {
            sum += r[0];
            mean[0] += (double)r[0] * r[1];
            mean[1] += (double)r[0] * y;
            mean[2] += (double)r[0] * z;
        }
    for (int i = 0; i < 10; i++)
        result[i] = 0;
    if (!(sum > 0))
        return;
    for (int i = 0; i < 3; i++)
        mean[i] /= sum;
    r = rows;
    for (int z = 0; z < size[2]; z++)
        for (int y = 0; y < size[1]; y++, r += 3) {
            double dx = r[1] - mean[0], dy = y - mean[1], dz = z - mean[2];
            second[0] += r[2] + r[0] * dx * dx;
            second[1] += r[0] * dx * dy;
            second[2] += r[0] * dx * dz;
            second[3] += r[0] * dy * dy;
            second[4] += r[0] * dy * dz;
            second[5] += r[0] * dz * dz;
        }
    result[0] = sum;
    for (int i = 0; i < 3; i++)
        result[1 + i] = mean[i];
    for (int i = 0; i < 6; i++)
        result[4 + i] = second[i] / sum;
}

int clv_moments(clvox_context *ctx, const clv_buffer *w, const int size[3], double result[10])
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    clv_buffer *rows = NULL;
    float *host = NULL;
    size_t count = (size_t)size[1] * (size_t)size[2], bytes = 3 * count * sizeof(float);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moments, NULL, size, 0, &kernel));
    CLV_TRY(clv_buffer_create(ctx, bytes, "moments of rows", &rows));
    host = malloc(bytes + 1);
    if (!host) {
        status = clv_fail(CLVOX_ERROR_MEMORY, "moments: out of host memory");
        goto end;
    }
    const int groups[3] = {size[1], size[2], 1};
    CLV_TRY(CLV_LAUNCH(ctx, kernel, kernel->variant->shape == CLV_SHAPE_GROUPS ? groups : size,
                       4.0 * (double)count * size[0], CLV_BUF(w), CLV_INT4(size[0], size[1], size[2], 0),
                       CLV_BUF(rows)));
    CLV_TRY(clv_buffer_read(ctx, rows, 0, host, bytes));
    join(host, size, result);
end:
    free(host);
    clv_buffer_destroy(&rows);
    return status;
}
