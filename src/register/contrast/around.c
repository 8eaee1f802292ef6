/* SPDX-License-Identifier: Apache-2.0 */
#include "register/contrast/around.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/image/gaussian.h"
#include "register/thresholds.h"

/* mm, of Gaussians: of means, and of deviations the first SPREADS. */
static const double WIDTH[] = {6, 3, 1.5, 12};
enum { WIDTHS = 4, SPREADS = 3 };

/* Values of a feature into bins that about as many voxels share. */
static void into_bins(clv_around *around, size_t n, const float *values, int feature)
{
    enum { STEPS = 4096 };
    double low = INFINITY, high = -INFINITY, below = 0;
    size_t counts[STEPS] = {0};
    uint8_t bin[STEPS];
    for (size_t i = 0; i < n; i++)
        if (around->row[i] != CLV_NO_ROW && isfinite(values[i])) {
            low = fmin(low, (double)values[i]);
            high = fmax(high, (double)values[i]);
        }
    const double per = high > low ? (STEPS - 1) / (high - low) : 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            if (around->row[i] == CLV_NO_ROW)
                continue;
            const double v = ((double)values[i] - low) * per; /* NaN: the first */
            const int step = v > 0 ? (int)fmin(STEPS - 1, v) : 0;
            if (pass == 0)
                counts[step]++;
            else
                around->bins[CLV_TREE_FEATURES * (size_t)around->row[i] + (size_t)feature] = bin[step];
        }
        for (int k = 0; pass == 0 && k < STEPS; k++) {
            bin[k] =
                (uint8_t)(CLV_TREE_BINS * (below + .5 * (double)counts[k]) / fmax(1, (double)around->rows));
            below += (double)counts[k];
        }
    }
}

/* Makes rows where the image varies. */
static int make_rows(clv_around *around, size_t n, const float *spread, double least)
{
    for (size_t i = 0; i < n; i++)
        around->row[i] = (double)spread[i] > least ? (uint32_t)around->rows++ : CLV_NO_ROW;
    around->bins = malloc(CLV_TREE_FEATURES * around->rows + 1);
    return around->bins ? CLVOX_OK : clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
}

int clv_around_make(clvox_context *ctx, const clvox_grid *grid, const clv_buffer *image, const float *values,
                    double range, const float *another, clv_buffer *const scratch[3], clv_around *around)
{
    int status = CLVOX_OK, feature = 0;
    const int *size = grid->size;
    const size_t n = clvox_grid_voxels(grid), bytes = n * sizeof(float);
    double edge[3];
    float *mean = malloc(2 * bytes), *spread = mean + n;
    *around = (clv_around){.row = malloc(n * sizeof *around->row)};
    if (!mean || !around->row) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "registration: out of host memory");
        goto end;
    }
    clvox_grid_spacing(grid, edge);
    for (size_t i = 0; i < n; i++)
        spread[i] = values[i] * values[i];
    CLV_TRY(clv_buffer_write(ctx, scratch[0], 0, spread, bytes));
    for (int k = 0; k < WIDTHS; k++) {
        const float sigma[3] = {(float)(WIDTH[k] / edge[0]), (float)(WIDTH[k] / edge[1]),
                                (float)(WIDTH[k] / edge[2])};
        CLV_TRY(clv_gaussian(ctx, CLV_VOLUME(image, size), sigma, CLV_GAUSSIAN_AUTO, scratch[1], scratch[2]));
        CLV_TRY(clv_buffer_read(ctx, scratch[2], 0, mean, bytes));
        if (k < SPREADS) {
            CLV_TRY(clv_gaussian(ctx, CLV_VOLUME(scratch[0], size), sigma, CLV_GAUSSIAN_AUTO, scratch[1],
                                 scratch[2]));
            CLV_TRY(clv_buffer_read(ctx, scratch[2], 0, spread, bytes));
            for (size_t i = 0; i < n; i++)
                spread[i] = sqrtf(fmaxf(0, spread[i] - mean[i] * mean[i]));
            if (k == 0)
                CLV_TRY(make_rows(around, n, spread, VARIES * range));
            into_bins(around, n, spread, feature++);
        }
        into_bins(around, n, mean, feature++);
    }
    into_bins(around, n, values, feature++);
    into_bins(around, n, another, feature++);
    for (size_t i = 0; i < n; i++) {
        const size_t at[3] = {i % (size_t)size[0], i / (size_t)size[0] % (size_t)size[1],
                              i / (size_t)size[0] / (size_t)size[1]};
        for (int a = 0; a < 3 && around->row[i] != CLV_NO_ROW; a++)
            around->bins[CLV_TREE_FEATURES * (size_t)around->row[i] + (size_t)(feature + a)] =
                (uint8_t)(CLV_TREE_BINS * at[a] / (size_t)size[a]);
    }
end:
    free(mean);
    return status;
}

void clv_around_free(clv_around *around)
{
    free(around->row);
    free(around->bins);
    *around = (clv_around){0};
}
