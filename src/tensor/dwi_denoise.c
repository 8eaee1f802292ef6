/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"
#include "clvox/tensor.h"
#include "op/tensor/mppca.h"
#include "runtime/device/host.h"
#include "runtime/device/watch.h"
#include "tensor/resident.h"

static int check(const clvox_volume *dwi, const clvox_volume *mask, int radius)
{
    if (radius < 0)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "a window of radius %d; take 1 or more, or 0 for the usual",
                          radius);
    if (mask && (mask->frames != 1 || !clvox_grid_equal(&mask->grid, &dwi->grid)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the mask is not on the grid of the scan; resample it there");
    return CLVOX_OK;
}

/* A magnitude has no values below 0; real parts, and data of phase corrected scans, do. */
static bool has_signs(const clvox_volume *dwi)
{
    const size_t values = clvox_grid_voxels(&dwi->grid) * (size_t)dwi->frames;
    for (size_t i = 0; i < values; i++)
        if (dwi->data[i] < 0)
            return true;
    return false;
}

/* Voxels of a window of that many along a side, as far as the grid has them. */
static double voxels_of(const int size[3], int side)
{
    double voxels = 1;
    for (int a = 0; a < 3; a++) {
        const int odd = (size[a] - 1) / 2 * 2 + 1;
        voxels *= side < odd ? side : odd;
    }
    return voxels;
}

int clvox_dwi_window(const clvox_volume *dwi)
{
    CLV_GIVEN(dwi);
    const int *size = dwi->grid.size;
    int side = 5;
    while (voxels_of(size, side) <= dwi->frames && voxels_of(size, side + 2) > voxels_of(size, side))
        side += 2;
    return side;
}

int clv_dwi_denoise_resident(clvox_context *ctx, const clvox_volume *dwi, int radius, const clv_resident *at,
                             clvox_volume **noise)
{
    int status = CLVOX_OK;
    const int *n = dwi->grid.size;
    size_t bytes = clvox_grid_voxels(&dwi->grid) * sizeof(float);
    clv_buffer *sigma = NULL;
    const clv_request request = {&sigma, bytes, "map of the noise"};
    *noise = NULL;
    CLV_TRY(check(dwi, NULL, radius));
    CLV_TRY(clv_pool_take(ctx, &request, 1));
    const clv_mppca_args args = {
        .dwi = {.buffer = at->scan, .size = {n[0], n[1], n[2]}, .components = dwi->frames},
        .radius = radius ? radius : clvox_dwi_window(dwi) / 2,
        .is_signed = has_signs(dwi),
        .mask = at->mask,
        .out = at->scan,
        .sigma = sigma};
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_SCALAR, noise));
    CLV_TRY(clv_mppca(ctx, &args));
    CLV_TRY(clv_buffer_read(ctx, sigma, 0, (*noise)->data, bytes));
end:
    clv_buffer_destroy(&sigma);
    if (status < 0)
        clvox_volume_destroy(noise);
    return status;
}

int clvox_dwi_denoise(clvox_context *ctx, const clvox_volume *dwi, const clvox_volume *mask, int radius,
                      clvox_volume **out, clvox_volume **noise)
{
    CLV_GIVEN(ctx, dwi, out);
    CLV_HOST_THREADS(ctx);
    CLV_WATCH(ctx, "denoising");
    int status = CLVOX_OK;
    size_t bytes = clvox_grid_voxels(&dwi->grid) * sizeof(float), all = bytes * (size_t)dwi->frames;
    clv_resident at = {NULL, NULL, NULL};
    const clv_request requests[] = {{&at.scan, all, "diffusion-weighted volumes"},
                                    {&at.mask, bytes, "mask"}};
    *out = *noise = NULL;
    CLV_TRY(check(dwi, mask, radius));
    CLV_TRY(clvox_volume_create(&dwi->grid, dwi->frames, CLVOX_KIND_SCALAR, out));
    (*out)->frame_seconds = dwi->frame_seconds;
    void *const host[] = {(*out)->data, mask ? mask->data : NULL};
    CLV_TRY(clv_pool_take_over(ctx, requests, host, mask ? 2 : 1));
    CLV_TRY(clv_buffer_write(ctx, at.scan, 0, dwi->data, all));
    if (mask)
        CLV_TRY(clv_buffer_write(ctx, at.mask, 0, mask->data, bytes));
    CLV_TRY(clv_dwi_denoise_resident(ctx, dwi, radius, &at, noise));
    CLV_TRY(clv_buffer_read(ctx, at.scan, 0, (*out)->data, all));
end:
    clv_buffer_destroy(&at.scan);
    clv_buffer_destroy(&at.mask);
    if (status < 0) {
        clvox_volume_destroy(out);
        clvox_volume_destroy(noise);
    }
    return status;
}
