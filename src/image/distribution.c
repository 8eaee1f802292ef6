/* SPDX-License-Identifier: Apache-2.0 */
#include "image/distribution.h"

#include <math.h>
#include <string.h>

#include "image/otsu.h"
#include "op/image/histogram.h"
#include "op/image/reduce.h"

enum { BINS = CLV_DISTRIBUTION_BINS };

int clv_distribution_measure(clvox_context *ctx, const clv_image *image, const clv_buffer *weight,
                             clv_buffer *partial, clv_buffer *state, int slot, clv_distribution *d)
{
    int status = CLVOX_OK;
    const clv_terms values = {image->buffer, NULL, weight, 0, clv_image_floats(image)};
    clv_buffer *counts = NULL;
    float range[2];
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_MIN, &values, partial, state, slot));
    CLV_TRY(clv_reduce(ctx, CLV_REDUCE_MAX, &values, partial, state, slot + 1));
    CLV_TRY(clv_buffer_read(ctx, state, (size_t)slot * sizeof(float), range, sizeof range));
    if (!isfinite(range[0]) || !isfinite(range[1]) || range[1] <= range[0]) {
        /* Nothing at all, or one value, as a segmentation has inside. */
        bool some = isfinite(range[0]) && isfinite(range[1]);
        memset(d, 0, sizeof *d);
        d->low = d->high = some ? range[0] : 0;
        d->total = d->counts[0] = some;
        goto end;
    }
    d->low = range[0];
    d->high = range[1];
    CLV_TRY(clv_buffer_create(ctx, sizeof d->counts, "histogram", &counts));
    CLV_TRY(clv_histogram(ctx, image, weight, &(clv_bins){range[0], range[1], BINS}, counts));
    CLV_TRY(clv_buffer_read(ctx, counts, 0, d->counts, sizeof d->counts));
    d->total = 0;
    for (int i = 0; i < BINS; i++)
        d->total += d->counts[i];
end:
    clv_buffer_destroy(&counts);
    return status;
}

double clv_distribution_quantile(const clv_distribution *d, double q)
{
    double sum = 0, want = q * d->total;
    for (int i = 0; i < BINS; i++) {
        if (sum + d->counts[i] >= want && d->counts[i] > 0)
            return d->low + (d->high - d->low) * (i + (want - sum) / d->counts[i]) / BINS;
        sum += d->counts[i];
    }
    return d->high;
}

double clv_distribution_otsu(const clv_distribution *d)
{
    if (d->high <= d->low)
        return d->low;
    int last = (int)ceil((clv_distribution_quantile(d, 0.995) - d->low) / (d->high - d->low) * BINS);
    last = last < 2 ? 2 : last > BINS ? BINS : last;
    double counts[BINS];
    for (int i = 0; i < last; i++)
        counts[i] = d->counts[i];
    return d->low + (d->high - d->low) * clv_otsu(counts, last) / BINS;
}
