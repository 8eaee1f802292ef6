/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "base/status.h"
#include "clvox/tensor.h"
#include "image/otsu.h"

enum { BINS = 256 };

int clvox_dwi_mask(const clvox_volume *dwi, clvox_volume **out)
{
    CLV_GIVEN(dwi, out);
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(&dwi->grid), inside = 0;
    double counts[BINS] = {0}, largest = 0;
    clvox_volume *mask = NULL;
    *out = NULL;
    CLV_TRY(clvox_volume_create(&dwi->grid, 1, CLVOX_KIND_LABEL, &mask));
    mask->type = CLVOX_TYPE_UINT8;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t v = 0; v < (size_t)dwi->frames; v++)
            sum += (double)dwi->data[v * n + i];
        mask->data[i] = sum > 0 && isfinite(sum) ? (float)sqrt(sum / dwi->frames) : 0;
        largest = fmax(largest, (double)mask->data[i]);
    }
    /* 0 is what a program has blanked, not noise. */
    for (size_t i = 0; i < n; i++)
        if (mask->data[i] > 0)
            counts[(int)fmin(BINS - 1, (double)mask->data[i] / largest * BINS)]++;
    float threshold = (float)(largest * clv_otsu(counts, BINS) / BINS);
    for (size_t i = 0; i < n; i++) {
        mask->data[i] = mask->data[i] > 0 && mask->data[i] >= threshold ? 1 : 0;
        inside += mask->data[i] > 0;
    }
    if (!inside) {
        status = clvox_fail(CLVOX_ERROR_DATA, "no voxel has a signal above 0");
        goto end;
    }
    *out = mask;
    mask = NULL;
end:
    clvox_volume_destroy(&mask);
    return status;
}
