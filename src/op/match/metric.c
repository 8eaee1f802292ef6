/* SPDX-License-Identifier: Apache-2.0 */
#include "op/match/metric.h"

/* Groups of the sums: each leaves 8 floats in scratch, and the line lies behind them. */
enum { GROUP_SUMS = 1024, RUN_SUMS = 256, BLOCK = 1024, LINE_AT = 8 * GROUP_SUMS };

/* Kernels of mutual information get these three as macros. */
#define TEXT_OF(n) #n
#define TEXT(n) TEXT_OF(n)
#define NOTES 5  /* words that a group keeps behind its counts */
#define HEAD 16  /* words before the counts of the image */
#define MOST_BINS 128
#define MI "-DMI -DNOTES=" TEXT(NOTES) " -DHEAD=" TEXT(HEAD) " -DMOST_BINS=" TEXT(MOST_BINS)
enum { MOST_CHUNK = 8192, LEAST_CHUNK = 2048, LEAST_BINS = 8 };

/* Words of local memory that a work-group counts into at most: smaller than
 * any device's, and several groups fit a compute unit. */
enum { MOST_LOCAL = 6144, MOST_COPIES = 4, MOST_OWN = 256 };

static const float LEAST_VARIANCE = 1e-10f;

static const clv_variant ssd_variants[] = {
    {.name = "group", .function = "metric_ssd_group", .group = {BLOCK}, .most_groups = GROUP_SUMS,
     .devices = CLV_ON_GPU, .fixed_bytes = 256 * 24, .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "metric_ssd_run", .group = {BLOCK}, .most_groups = RUN_SUMS,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_metric_ssd = CLV_ENTRY("match/metric", "metric_ssd", ssd_variants, NULL);

static const clv_variant ncc_variants[] = {
    {.name = "group", .function = "metric_ncc_group", .group = {BLOCK}, .most_groups = GROUP_SUMS,
     .devices = CLV_ON_GPU, .fixed_bytes = 256 * 24, .tiles = {{256, 1, 1, 1}}},
    {.name = "run", .function = "metric_ncc_run", .group = {BLOCK}, .most_groups = RUN_SUMS,
     .devices = CLV_ON_CPU, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_metric_ncc = CLV_ENTRY("match/metric", "metric_ncc", ncc_variants, NULL);

static const clv_variant total_variants[] = {
    {.name = "group", .function = "metric_total", .group = {1, 1, 1}, .devices = CLV_ON_ANY,
     .cell_bytes = 24, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_metric_total = CLV_ENTRY("match/metric", "metric_total", total_variants, NULL);

static const clv_variant line_variants[] = {
    {.name = "lanes", .function = "metric_line_lanes", .devices = CLV_ON_GPU,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "runs", .function = "metric_line_runs", .item = {CLV_MARCH}, .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 8192}}},
};
const clv_entry clv_entry_metric_line = CLV_ENTRY("match/metric", "metric_line", line_variants, NULL);

/* Launched over chunks of voxels and bands of the histogram's rows. */
static const clv_variant counts_variants[] = {
    {.name = "group", .function = "metric_counts_group", .defines = MI, .group = {1, 1, 1},
     .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 1}, {64, 1, 1, 1}}},
    {.name = "own", .function = "metric_counts_own", .defines = MI, .group = {1, CLV_WHOLE, 1},
     .most_groups = MOST_OWN, .devices = CLV_ON_CPU, .no_local = true, .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_metric_counts = CLV_ENTRY("match/metric", "metric_counts", counts_variants, NULL);

static const clv_variant table_variants[] = {
    {.name = "group", .function = "metric_table", .defines = MI, .group = {1, 1, 1},
     .devices = CLV_ON_ANY, .fixed_bytes = (256 + 2 * MOST_BINS) * 4,
     .tiles = {{256, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_metric_table = CLV_ENTRY("match/metric", "metric_table", table_variants, NULL);

static const clv_variant derivatives_variants[] = {
    {.name = "group", .function = "metric_table_derivatives_group", .defines = MI, .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, .tiles = {{256, 1, 1, 16}, {64, 1, 1, 16}}},
    {.name = "runs", .function = "metric_table_derivatives", .defines = MI, .item = {CLV_MARCH},
     .devices = CLV_ON_CPU, .no_local = true, .tiles = {{1, 1, 1, 4096}}},
};
const clv_entry clv_entry_metric_table_derivatives = CLV_ENTRY("match/metric", "metric_table_derivatives",
                                                               derivatives_variants, NULL);

static int at_least(int a, int b)
{
    return a > b ? a : b;
}

static int at_most(int a, int b)
{
    return a < b ? a : b;
}

/* a / b, rounded up, without a sum that could overflow. */
static int parts_of(int a, int b)
{
    return a / b + (a % b > 0);
}

/* scratch: the groups' sums, then the line's figures. */
static int from_sums(clvox_context *ctx, const clv_metric_args *a, bool ncc, int n)
{
    int status = CLVOX_OK;
    const clv_kernel *sums, *total, *line;
    double both = a->derivative_fixed ? 16.0 : 12.0;
    clv_buffer *partial = a->scratch;
    const int line_of_voxels[3] = {n, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, ncc ? &clv_entry_metric_ncc : &clv_entry_metric_ssd, NULL, a->fixed.size, 0,
                           &sums));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_total, NULL, (int[3]){1, 1, 1}, 0, &total));
    int groups = clv_launch_groups(sums, line_of_voxels, NULL);
    if (ncc)
        CLV_TRY(CLV_LAUNCH(ctx, sums, line_of_voxels, 8.0 * n, CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving),
                           CLV_INT(n), CLV_BUF(partial)));
    else
        CLV_TRY(CLV_LAUNCH(ctx, sums, line_of_voxels, both * n, CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving),
                           CLV_INT(n), CLV_BUF(partial), CLV_BUF(a->derivative_moving),
                           CLV_BUF(a->derivative_fixed)));
    if (ncc || a->out)
        CLV_TRY(CLV_LAUNCH(ctx, total, ((int[3]){1, 1, 1}), 32.0 * groups, CLV_BUF(partial),
                           CLV_INT(groups), CLV_INT(ncc), CLV_FLOAT(LEAST_VARIANCE), CLV_INT(LINE_AT),
                           CLV_BUF(a->out), CLV_INT(a->slot)));
    if (ncc) {
        CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_line, NULL, line_of_voxels, 0, &line));
        CLV_TRY(CLV_LAUNCH(ctx, line, line_of_voxels, both * n, CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving),
                           CLV_INT(n), CLV_BUF(partial), CLV_INT(LINE_AT), CLV_BUF(a->derivative_moving),
                           CLV_BUF(a->derivative_fixed)));
    }
end:
    return status;
}

/* Units to a weight of 1. A voxel adds at most 4/9 of it to a bin: a chunk has
 * to stay below 2^32 units, the image below 2^32 times 2^15 (the split into
 * two words). The lower words of the at most 2^17 chunks then fit by themselves. */
static float units_of_one(int n, int chunk)
{
    double one = 1 << 18;
    while (one < 1 << 22 && one * chunk < 4.5e9 && one * n < 1.5e14)
        one *= 2;
    return (float)one;
}

/* scratch: head, lower words, upper words, table, work-items' own histograms. */
static int from_counts(clvox_context *ctx, const clv_metric_args *a, int n)
{
    int status = CLVOX_OK;
    const clv_kernel *counts, *table, *derivatives;
    int bins = a->parameter, square = bins * bins, table_at = HEAD + 2 * square, own_at = HEAD + 3 * square;
    int rows = at_most(bins, MOST_LOCAL / bins);
    const int linear[3] = {n, 1, 1};
    int copy = rows * bins + 8, copies = at_least(1, at_most(MOST_COPIES, MOST_LOCAL / copy));
    size_t local = ((size_t)copies * (size_t)copy + NOTES) * 4;
    size_t own = (size_t)bins * (size_t)(bins | 1) * 4;
    const bool kept = own <= MOST_LOCAL * 4;
    own = kept ? own : 4;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_counts, NULL, a->fixed.size, local, &counts));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_table, NULL, (int[3]){1, 1, 1}, 0, &table));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_metric_table_derivatives, NULL, linear, own, &derivatives));
    int chunk = at_most(at_least(n / 256, LEAST_CHUNK), MOST_CHUNK), chunks = parts_of(n, chunk);
    int places = (CLV_METRIC_SCRATCH - own_at) / square;
    const int shares[3] = {chunks, parts_of(bins, rows), 1};
    CLV_TRY(clv_buffer_fill(ctx, a->scratch, 0, 0, (size_t)table_at * 4));
    CLV_TRY(CLV_LAUNCH(ctx, counts, shares, 8.0 * n, CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving), CLV_INT(n),
                       CLV_INT(bins), CLV_INT(chunk), CLV_INT(rows), CLV_INT(copies),
                       CLV_FLOAT(units_of_one(n, chunk)), CLV_INT(own_at), CLV_INT(places),
                       CLV_BUF(a->scratch), CLV_LOCAL(local)));
    CLV_TRY(CLV_LAUNCH(ctx, table, ((int[3]){1, 1, 1}), 12.0 * square, CLV_BUF(a->scratch), CLV_INT(bins),
                       CLV_INT(table_at), CLV_BUF(a->out), CLV_INT(a->slot)));
    CLV_TRY(CLV_LAUNCH(ctx, derivatives, linear, (a->derivative_fixed ? 16.0 : 12.0) * n,
                       CLV_BUF(a->fixed.buffer), CLV_BUF(a->moving), CLV_INT(n), CLV_INT(bins),
                       CLV_BUF(a->scratch), CLV_INT(table_at), CLV_INT(kept), CLV_BUF(a->derivative_moving),
                       CLV_BUF(a->derivative_fixed), CLV_LOCAL(own)));
end:
    return status;
}

size_t clv_metric_scratch(const int size[3], int parameter, bool local, bool both)
{
    (void)size;
    (void)parameter;
    (void)local;
    (void)both;
    return CLV_METRIC_SCRATCH;
}

int clv_metric(clvox_context *ctx, clv_metric_kind kind, const clv_metric_args *a)
{
    double voxels = (double)a->fixed.size[0] * a->fixed.size[1] * a->fixed.size[2];
    if (a->fixed.size[0] < 1 || a->fixed.size[1] < 1 || a->fixed.size[2] < 1 || voxels >= 2147483648.0 / 3)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "metric: a size of %d x %d x %d voxels is not possible",
                          a->fixed.size[0], a->fixed.size[1], a->fixed.size[2]);
    if (!a->scratch || a->scratch->bytes < CLV_METRIC_SCRATCH * sizeof(float) || a->slot < 0 ||
        (a->out && a->out->bytes < (size_t)(a->slot + 2) * sizeof(float)))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "metric: scratch holds %d floats and out two from slot on",
                          CLV_METRIC_SCRATCH);
    if (kind == CLV_METRIC_MI && (a->parameter < LEAST_BINS || a->parameter > MOST_BINS))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "metric: %d bins asked for; %d to %d are possible",
                          a->parameter, LEAST_BINS, MOST_BINS);
    return kind == CLV_METRIC_MI ? from_counts(ctx, a, (int)voxels)
                                 : from_sums(ctx, a, kind == CLV_METRIC_NCC, (int)voxels);
}

const clv_entry *const clv_operation_match_metric[] = {
    &clv_entry_metric_ssd, &clv_entry_metric_ncc, &clv_entry_metric_total, &clv_entry_metric_line,
    &clv_entry_metric_counts, &clv_entry_metric_table, &clv_entry_metric_table_derivatives, NULL};
