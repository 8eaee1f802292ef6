/* SPDX-License-Identifier: Apache-2.0 */
/* Data type in which a volume made from another one is written. */
#include <math.h>
#include <stdbool.h>

#include "base/status.h"
#include "clvox/volume.h"

/* The least and the largest integer of a type; false: it is of floats. */
static bool integers(clvox_type type, double *least, double *most)
{
    static const int bits[] = {0, 0, 7, 8, 15, 16, 31, 32, 63, 64};
    static const bool sign[] = {false, false, true, false, true, false, true, false, true, false};
    if (!bits[type])
        return false;
    *least = sign[type] ? -ldexp(1, bits[type]) : 0;
    *most = ldexp(1, bits[type]) - 1;
    return true;
}

int clvox_volume_set_output(clvox_volume *volume, const clvox_volume *source, double outside, clvox_output output)
{
    CLV_GIVEN(volume, source);
    static const clvox_type types[] = {CLVOX_TYPE_FLOAT32, CLVOX_TYPE_FLOAT32, CLVOX_TYPE_FLOAT32,
                                       CLVOX_TYPE_FLOAT64, CLVOX_TYPE_INT16,   CLVOX_TYPE_UINT16,
                                       CLVOX_TYPE_UINT8,   CLVOX_TYPE_INT32};
    double least, most, low = 0, high = 0;
    bool whole = true;
    if ((unsigned)output > CLVOX_OUTPUT_INT)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "unknown output type");
    if (output == CLVOX_OUTPUT_AUTO || volume->kind != CLVOX_KIND_SCALAR)
        return CLVOX_OK;
    volume->type = output == CLVOX_OUTPUT_INPUT ? source->stored : types[output];
    volume->slope = volume->inter = 0;
    if (!integers(volume->type, &least, &most))
        return CLVOX_OK;
    const size_t count = clvox_grid_voxels(&source->grid) * (size_t)source->frames;
    for (size_t i = 0; i <= count; i++) {
        const double v = i < count ? (double)source->data[i] : outside;
        if (!isfinite(v))
            continue;
        low = fmin(low, v);
        high = fmax(high, v);
        whole = whole && rint(v) == v;
    }
    if (whole && low >= least && high <= most)
        return CLVOX_OK;
    /* NIfTI-1 holds the scale in float32: it is rounded before it is used, so that readers get what was meant.
     * Without a sign, 0 is a whole number of steps above the lowest value, so that it is exact. */
    double slope = least < 0 ? fmax(-low, high) / most : (high - low) / (low < 0 ? most - 1 : most);
    slope = (double)(float)fmax(slope, 1e-37);
    volume->slope = slope;
    volume->inter = least < 0 || low >= 0 ? 0 : -(double)(float)(ceil(-low / slope) * slope);
    return CLVOX_OK;
}
