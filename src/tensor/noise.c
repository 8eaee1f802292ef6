/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/noise.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/select.h"
#include "base/status.h"

static float diffusivity(const clvox_volume *tensor, size_t i, size_t n)
{
    return (tensor->data[i] + tensor->data[i + 3 * n] + tensor->data[i + 5 * n]) / 3;
}

int clv_tensor_noise_read(const clvox_volume *tensor, const clvox_volume *noise, const float *inside,
                          double *sigma, double *relative)
{
    int status = CLVOX_OK;
    size_t n = clvox_grid_voxels(&tensor->grid), count = 0, ratios = 0;
    float *value = malloc(n * sizeof *value), *ratio = malloc(n * sizeof *ratio);
    if (!value || !ratio) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (size_t i = 0; i < n; i++) {
        float s = noise->data[i], mean = diffusivity(tensor, i, n);
        if (!(inside[i] > 0) || !isfinite(s) || !(s > 0))
            continue;
        value[count++] = s;
        if (mean > 0)
            ratio[ratios++] = s / mean;
    }
    if (!count || !ratios) {
        status =
            clvox_fail(CLVOX_ERROR_DATA,
                       "the noise map is nowhere above 0 inside (a fit of 7 volumes leaves no residuals); "
                       "give lambda as a number");
        goto end;
    }
    *sigma = clv_median(value, count);
    *relative = clv_median(ratio, ratios);
end:
    free(value);
    free(ratio);
    return status;
}

int clv_tensor_noise_guess(const clvox_volume *tensor, const float *inside, double *sigma, double *relative)
{
    /* The lower quartile of chi squared with six degrees of freedom. */
    static const double QUARTILE = 3.4546;
    static const int beside[6] = {0, 1, 1, 0, 1, 0};
    int status = CLVOX_OK, axes = 0;
    const int *size = tensor->grid.size;
    size_t n = clvox_grid_voxels(&tensor->grid), count = 0;
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    float *value = malloc(n * sizeof *value), *mean = malloc(n * sizeof *mean);
    if (!value || !mean) {
        status = clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
        goto end;
    }
    for (int a = 0; a < 3; a++)
        axes += size[a] > 2;
    for (size_t i = 0; i < n; i++) {
        const size_t at[3] = {i % stride[1], i / stride[1] % (size_t)size[1], i / stride[2]};
        bool whole = inside[i] > 0;
        for (int a = 0; a < 3 && whole; a++)
            whole = size[a] <= 2 || (at[a] > 0 && at[a] + 1 < (size_t)size[a] && inside[i - stride[a]] > 0 &&
                                     inside[i + stride[a]] > 0);
        if (!whole)
            continue;
        double square = 0;
        for (size_t c = 0; c < 6; c++) {
            const float *d = tensor->data + c * n + i;
            double sum = 0;
            for (int a = 0; a < 3; a++)
                if (size[a] > 2)
                    sum += (double)*(d - stride[a]) + (double)d[stride[a]];
            double r = (double)*d - sum / (2 * axes);
            square += (beside[c] ? 2 : 1) * r * r;
        }
        mean[count] = diffusivity(tensor, i, n);
        value[count++] = (float)square;
    }
    if (!axes || count < 8) {
        status = clvox_fail(CLVOX_ERROR_DATA, "too few voxels lie among others to guess the noise from; "
                                              "give a noise map or lambda");
        goto end;
    }
    *sigma = sqrt(clv_select(value, count, count / 4) / (QUARTILE * (1 + 1.0 / (2 * axes))));
    *relative = *sigma / clv_median(mean, count);
    if (!(*sigma > 0) || !(*relative > 0))
        status = clvox_fail(CLVOX_ERROR_DATA, "the tensor shows no noise; give lambda as a number");
end:
    free(value);
    free(mean);
    return status;
}

int clv_tensor_structure(const clvox_volume *tensor, const clvox_volume *noise, double sigma,
                         const float *inside, double *structure)
{
    /* The median of chi squared with six degrees of freedom. */
    static const double MEDIAN = 5.3481;
    static const int beside[6] = {0, 1, 1, 0, 1, 0};
    const int *size = tensor->grid.size;
    const size_t stride[3] = {1, (size_t)size[0], (size_t)size[0] * (size_t)size[1]};
    /* A median wants no more. */
    size_t n = clvox_grid_voxels(&tensor->grid), step = 1 + n / 262144, count = 0;
    float *value = malloc(3 * (n / step + 1) * sizeof *value);
    if (!value)
        return clvox_fail(CLVOX_ERROR_MEMORY, "out of host memory");
    for (size_t i = 0; i < n; i += step) {
        const size_t at[3] = {i % stride[1], i / stride[1] % (size_t)size[1], i / stride[2]};
        double own = noise ? (double)noise->data[i] : sigma;
        for (int a = 0; a < 3 && inside[i] > 0 && own > 0; a++) {
            size_t j = i + stride[a];
            if (at[a] + 1 >= (size_t)size[a] || !(inside[j] > 0))
                continue;
            double other = noise ? (double)noise->data[j] : sigma, square = 0;
            for (size_t c = 0; c < 6; c++) {
                double d = (double)tensor->data[c * n + j] - (double)tensor->data[c * n + i];
                square += (beside[c] ? 2 : 1) * d * d;
            }
            if (other > 0 && isfinite(own + other))
                value[count++] = (float)(square / (own * own + other * other));
        }
    }
    *structure = count ? sqrt(clv_median(value, count) / MEDIAN) : 1;
    free(value);
    return CLVOX_OK;
}

double clv_tensor_lambda(double sigma, double relative, double structure, int bregman, int reweight)
{
    /* Rounds of reweighting spare edges, so that the rest can be smoothed more, the more so
     * the less noise there is to hide edges: on phantoms, which are constant between edges,
     * from 3 at a tenth and a half of the diffusivity to 7 at a fiftieth. A scan varies
     * everywhere. Total variation is what a Laplace distribution of the differences of
     * neighbours asks for, its strength the noise's variance over their size: the fewer of
     * them noise explains, the less is smoothed. */
    static const double MOST = 1.62, FALL = 0.38;
    if (reweight > 0)
        return fmax(1, structure) * pow(relative, FALL) / (MOST * sigma);
    /* Bregman iterations start from what is too smooth and put detail back. */
    return 1 / ((bregman > 1 ? 2.0 * bregman : 1) * sigma);
}
