/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/splat_sorted.h"

#include <math.h>

#include "op/sort/radix_sort.h"
#include "op/sort/scan.h"

enum { NODES, VALUES, OTHER_NODES, OTHER_VALUES, UNITS, COUNTS, TOTALS, SCAN, SHARES = 8 };

static const clv_variant contribute_variants[] = {
    {.name = "item",
     .function = "splat_contribute",
     .devices = CLV_ON_ANY,
     .tiles = {{64, 4, 1, 1}, {32, 4, 1, 1}}},
};
#define LINE(entry) {.name = "item", .function = entry, .devices = CLV_ON_ANY, .tiles = {{256, 1, 1, 1}}}
static const clv_variant units_variants[] = {LINE("splat_units")}, ends_variants[] = {LINE("splat_ends")};
const clv_entry clv_entry_splat_contribute =
    CLV_ENTRY("papers/splat_sorted", "splat_contribute", contribute_variants, NULL);
const clv_entry clv_entry_splat_units = CLV_ENTRY("papers/splat_sorted", "splat_units", units_variants, NULL);
const clv_entry clv_entry_splat_ends = CLV_ENTRY("papers/splat_sorted", "splat_ends", ends_variants, NULL);

int clv_splat_room_create(clvox_context *ctx, int voxels, clv_splat_room *out)
{
    int status = CLVOX_OK;
    size_t counts, totals;
    *out = (clv_splat_room){{NULL}};
    if (voxels > INT32_MAX / SHARES)
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d voxels are too many for splatting by sorting", voxels);
    const int shares = SHARES * voxels, scan = clv_scan_words(ctx, shares, true);
    CLV_TRY(scan);
    CLV_TRY(clv_sort_words(ctx, CLVOX_SORT_UINT32, true, shares, &counts, &totals));
    const size_t words[CLV_SPLAT_ROOM] = {[UNITS] = 2 * (size_t)shares, [COUNTS] = counts, [TOTALS] = totals,
                                          [SCAN] = (size_t)scan};
    for (int i = 0; i < CLV_SPLAT_ROOM; i++)
        CLV_TRY(clv_buffer_create(ctx, 4 * (words[i] ? words[i] : (size_t)shares), "shares of voxels",
                                  &out->buffer[i]));
    status = CLVOX_OK;
end:
    if (status < 0)
        for (int i = 0; i < CLV_SPLAT_ROOM; i++)
            clv_buffer_destroy(&out->buffer[i]);
    return status;
}

int clv_splat_sorted(clvox_context *ctx, const clv_splat_args *a, const clv_splat_room *room)
{
    int status = CLVOX_OK;
    const clv_kernel *contribute, *units, *ends;
    clv_buffer *const *b = room->buffer;
    const int voxels = (int)clv_image_voxels(&a->in), shares = SHARES * voxels, line[3] = {shares, 1, 1};
    const int nodes = a->size[0] * a->size[1] * a->size[2];
    const clv_sort_args sort = {.kind = CLVOX_SORT_UINT32, .keys = b[NODES], .values = b[VALUES],
                                .other_keys = b[OTHER_NODES], .other_values = b[OTHER_VALUES],
                                .counts = b[COUNTS], .totals = b[TOTALS], .n = shares};
    const clv_scan_args scan = {.in = b[UNITS],
                                .keys = b[NODES],
                                .n = shares,
                                .inclusive = true,
                                .wide = true,
                                .totals = b[SCAN],
                                .out = b[UNITS]};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_contribute, NULL, a->in.size, 0, &contribute));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_units, NULL, line, 0, &units));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_splat_ends, NULL, line, 0, &ends));
    CLV_TRY(CLV_LAUNCH(ctx, contribute, a->in.size, 80. * voxels, CLV_BUF(a->in.buffer), CLV_SIZE(&a->in),
                       CLV_MAP(a->map), CLV_BUF(a->field), CLV_FLOAT(a->most),
                       CLV_INT4(a->size[0], a->size[1], a->size[2], 0), CLV_BUF(a->beyond), CLV_BUF(b[NODES]),
                       CLV_BUF(b[VALUES])));
    CLV_TRY(clv_sort(ctx, &sort));
    CLV_TRY(CLV_LAUNCH(ctx, units, line, 12. * shares, CLV_BUF(b[VALUES]),
                       CLV_FLOAT(ldexpf(1, clv_splat_power(a))), CLV_INT(shares), CLV_BUF(b[UNITS])));
    CLV_TRY(clv_scan(ctx, &scan));
    CLV_TRY(CLV_LAUNCH(ctx, ends, line, 12. * shares, CLV_BUF(b[NODES]), CLV_BUF(b[UNITS]), CLV_INT(shares),
                       CLV_INT(nodes), CLV_BUF(a->sums)));
end:
    return status;
}

const clv_entry *const clv_operation_papers_splat_sorted[] = {
    &clv_entry_splat_contribute, &clv_entry_splat_units, &clv_entry_splat_ends, NULL};
