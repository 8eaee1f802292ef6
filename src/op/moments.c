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

static const clv_variant plane_variants[] = {
    {.name = "groups", .function = "moments_planes", .shape = CLV_SHAPE_GROUPS, .devices = CLV_ON_ANY,
     .fixed_bytes = 64 * 4, .tiles = {{64, 1, 1, 1}}},
};
const clv_entry clv_entry_moments_planes = {"moments", "moments_planes", plane_variants, 1, NULL};

/* Joins the planes' moments about the common mean, in double precision. */
static void join(const float *planes, int count, double result[10])
{
    double sum = 0, mean[3] = {0, 0, 0}, second[6] = {0, 0, 0, 0, 0, 0};
    for (int i = 0; i < 10; i++)
        result[i] = 0;
    for (int z = 0; z < count; z++) {
        const float *p = planes + 6 * (size_t)z;
        sum += p[0];
        mean[0] += (double)p[0] * p[1];
        mean[1] += (double)p[0] * p[2];
        mean[2] += (double)p[0] * z;
    }
    if (!(sum > 0))
        return;
    for (int i = 0; i < 3; i++)
        mean[i] /= sum;
    for (int z = 0; z < count; z++) {
        const float *p = planes + 6 * (size_t)z;
        double dx = p[1] - mean[0], dy = p[2] - mean[1], dz = z - mean[2];
        second[0] += p[3] + p[0] * dx * dx;
        second[1] += p[4] + p[0] * dx * dy;
        second[2] += p[0] * dx * dz;
        second[3] += p[5] + p[0] * dy * dy;
        second[4] += p[0] * dy * dz;
        second[5] += p[0] * dz * dz;
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
    const clv_kernel *kernel, *planes_kernel;
    clv_buffer *rows = NULL, *planes = NULL;
    size_t count = (size_t)size[1] * (size_t)size[2], bytes = 6 * (size_t)size[2] * sizeof(float);
    const int groups[3] = {size[1], size[2], 1};
    float *host = malloc(bytes);
    if (!host)
        return clv_fail(CLVOX_ERROR_MEMORY, "moments: out of host memory");
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moments, NULL, size, 0, &kernel));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moments_planes, NULL, size, 0, &planes_kernel));
    CLV_TRY(clv_buffer_create(ctx, 3 * count * sizeof(float), "moments of rows", &rows));
    CLV_TRY(clv_buffer_create(ctx, bytes, "moments of planes", &planes));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, kernel->variant->shape == CLV_SHAPE_GROUPS ? groups : size,
                       4.0 * (double)count * size[0], CLV_BUF(w), CLV_INT4(size[0], size[1], size[2], 0),
                       CLV_BUF(rows)));
    CLV_TRY(CLV_LAUNCH(ctx, planes_kernel, ((int[3]){size[2], 1, 1}), 12.0 * (double)count, CLV_BUF(rows),
                       CLV_INT4(size[0], size[1], size[2], 0), CLV_BUF(planes)));
    CLV_TRY(clv_buffer_read(ctx, planes, 0, host, bytes));
    join(host, size[2], result);
end:
    free(host);
    clv_buffer_destroy(&rows);
    clv_buffer_destroy(&planes);
    return status;
}
