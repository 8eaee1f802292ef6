/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/select.h"
#include "base/status.h"
#include "tensor/resident.h"

/* Share of the noise's standard deviation that PCA of 20 to 30 directions in windows of 5^3 leaves: that of the
 * kept components. On phantoms of SNR 10 to 30 lambda is best between 0.37 and 0.56. */
static const double LEFT = 0.45;

/* Median of the values above 0; 0 if there are none. */
static double median(const clvox_volume *volume, float *room)
{
    size_t count = 0;
    for (size_t i = 0; i < clvox_grid_voxels(&volume->grid); i++)
        if (volume->data[i] > 0)
            room[count++] = volume->data[i];
    return clv_median(room, count);
}

int clvox_noise_level(const clvox_volume *noise, double *level)
{
    CLV_GIVEN(noise);
    float *room = malloc((clvox_grid_voxels(&noise->grid) + 1) * sizeof *room);
    *level = 0;
    if (!room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the noise level");
    *level = median(noise, room);
    free(room);
    return CLVOX_OK;
}

int clv_tensor_fit_denoised(clvox_tensor_fit_result *fit, const clvox_volume *noise)
{
    size_t n = clvox_grid_voxels(&fit->sigma->grid);
    if (noise->frames != 1 || !clvox_grid_equal(&noise->grid, &fit->sigma->grid))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "the map of the noise is not on the grid of the fit");
    float *room = malloc((n + 1) * sizeof *room);
    if (!room)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory for the noise of a fit");
    for (size_t i = 0; i < n; i++) {
        /* The design makes the tensor's noise a multiple of the signal's. */
        double before = (double)fit->noise->data[i], left = LEFT * (double)noise->data[i];
        double times = before > 0 && left > 0 ? left / before : 1;
        fit->sigma->data[i] = (float)(times * (double)fit->sigma->data[i]);
        fit->noise->data[i] = (float)(times * before);
    }
    fit->median_sigma = median(fit->sigma, room);
    fit->median_noise = median(fit->noise, room);
    free(room);
    return CLVOX_OK;
}
