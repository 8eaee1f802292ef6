/* SPDX-License-Identifier: Apache-2.0 */
#include "op/image/histogram.h"

#define MOST_BINS 1024

/* march: elements of a chunk. */
static const clv_variant variants[] = {
    {.name = "groups", .function = "histogram_groups", .defines = "-DUNROLL=2",
     .group = {CLV_MARCH}, .devices = CLV_ON_GPU, .fixed_bytes = MOST_BINS * 4,
     .tiles = {{256, 1, 1, 16384}, {64, 1, 1, 8192}}},
    {.name = "chunks", .function = "histogram_chunks", .group = {CLV_MARCH}, .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 65536}}},
};
static const char *const builds[] = {"-DHAS_MASK=0 -DMOST_BINS=" CLV_TEXT(MOST_BINS),
                                     "-DHAS_MASK=1 -DMOST_BINS=" CLV_TEXT(MOST_BINS), NULL};

const clv_entry clv_entry_histogram = CLV_ENTRY("image/histogram", "histogram", variants, builds);

int clv_histogram(clvox_context *ctx, const clv_image *a, const clv_buffer *mask, const clv_bins *bins,
                  clv_buffer *counts)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int n = clv_image_floats(a), line[3] = {n, 1, 1};
    if (bins->count < 1 || bins->count > MOST_BINS)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "histogram: %d bins asked for; 1 to %d are possible",
                          bins->count, MOST_BINS);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_histogram, builds[mask != NULL], line, 0, &kernel));
    CLV_TRY(clv_buffer_fill(ctx, counts, 0, 0, (size_t)bins->count * 4));
    float scale = bins->high > bins->low ? (float)bins->count / (bins->high - bins->low) : 0.0f;
    if (n > 0)
        CLV_TRY(CLV_LAUNCH(ctx, kernel, line, 4.0 * n * (mask ? 2 : 1), CLV_BUF(a->buffer), CLV_BUF(mask),
                           CLV_INT(n), CLV_FLOAT(bins->low), CLV_FLOAT(scale), CLV_INT(bins->count),
                           CLV_BUF(counts)));
end:
    return status;
}

const clv_entry *const clv_operation_image_histogram[] = {
    &clv_entry_histogram, NULL};
