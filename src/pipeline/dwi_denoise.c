/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "clvox/tensor.h"
#include "op/mppca.h"

int clvox_dwi_denoise(clvox_context *ctx, const clvox_volume *dwi, const clvox_volume *mask, int radius,
                      clvox_volume **out, clvox_volume **noise)
{
    int status = CLVOX_OK;
    size_t bytes = clvox_grid_voxels(&dwi->grid) * sizeof(float), all = bytes * (size_t)dwi->frames;
    const int *n = dwi->grid.size;
    clv_buffer *scan = NULL, *inside = NULL, *sigma = NULL;
    const clv_request requests[] = {{&scan, all, "diffusion-weighted volumes"},
                                    {&sigma, bytes, "map of the noise"},
                                    {&inside, bytes, "mask"}};
    *out = *noise = NULL;
    if (radius < 1)
        return clv_fail(CLVOX_ERROR_ARGUMENT, "a window of radius %d is a single voxel; take 1 or more",
                        radius);
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &dwi->grid)))
        return clv_fail(CLVOX_ERROR_ARGUMENT, "the mask is not on the grid of the scan; resample it there");
    CLV_TRY(clv_pool_take(ctx, requests, mask ? 3 : 2));
    clv_mppca_args args = {.size = {n[0], n[1], n[2]}, .volumes = dwi->frames, .radius = radius, .dwi = scan,
                           .mask = inside, .out = scan, .sigma = sigma};
    CLV_TRY(clvox_volume_create(&dwi->grid, dwi->frames, CLVOX_KIND_SCALAR, out));
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, noise));
    (*out)->frame_seconds = dwi->frame_seconds;
    CLV_TRY(clv_buffer_write(ctx, scan, 0, dwi->data, all));
    if (mask)
        CLV_TRY(clv_buffer_write(ctx, inside, 0, mask->data, bytes));
    CLV_TRY(clv_mppca(ctx, &args));
    CLV_TRY(clv_buffer_read(ctx, scan, 0, (*out)->data, all));
    CLV_TRY(clv_buffer_read(ctx, sigma, 0, (*noise)->data, bytes));
end:
    clv_buffer_destroy(&scan);
    clv_buffer_destroy(&inside);
    clv_buffer_destroy(&sigma);
    if (status < 0) {
        clvox_volume_destroy(out);
        clvox_volume_destroy(noise);
    }
    return status;
}
