/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/papers/op/patch_pairs.h"

#include "op/surface/patch_search_parts.h"

/* Constant memory that every device has; rows of a panel, as the kernel reads them. */
enum { SUBSET_BYTES = 65536, PANEL = 16 };

/* By where the subset lies, which is what the paper compares. */
#define MEMORY(word, form)                                                                                   \
    .name = word, .function = "patch_pairs", .defines = CLV_PATCH_SIZES " -DFORM=" #form,                    \
    .tiles = {{64, 1, 1, 1}, {128, 1, 1, 1}, {256, 1, 1, 1}}
/* The record of its table 2 in local memory, with its padding and without. */
#define RECORDS(word, stride)                                                                            \
    .name = word, .function = "patch_records", .defines = CLV_PATCH_SIZES " -DFORM=0 -DSTRIDE=" #stride, \
    .cell_bytes = 4 * (stride), .devices = CLV_ON_ANY, .optional = true,                                 \
    .tiles = {{32, 1, 1, 1}, {16, 1, 1, 1}}
static const clv_variant variants[] = {
    {MEMORY("constant", 0), .devices = CLV_ON_ANY},
    {MEMORY("global", 1), .devices = CLV_ON_ANY},
    {MEMORY("image", 2), .devices = CLV_ON_GPU, .image = true},
    {RECORDS("records", 321)},
    {RECORDS("records, even stride", 320)},
};
const clv_entry clv_entry_patch_pairs = CLV_ENTRY("papers/patch_pairs", "patch_pairs", variants, NULL);

static int search(const clv_patch_task *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const clv_patch_search_args *a = s->a;
    clv_buffer *subset = NULL;
    const int rows[3] = {s->used, 1, 1};
    size_t patch = (size_t)s->at.stride * sizeof(float);
    int each = (int)(SUBSET_BYTES / patch);
    CLV_TRY(clv_kernel_get(s->ctx, &clv_entry_patch_pairs, NULL, rows, 0, &kernel));
    if (kernel->variant->cell_bytes && (a->patches.radius > 2 || a->most > 96)) {
        status = clvox_fail(CLVOX_ERROR_ARGUMENT,
                            "patch pairs: a record holds a patch of 125 samples and 96 neighbours");
        goto end;
    }
    CLV_TRY(clv_buffer_create(s->ctx, (size_t)each * patch, "subset of the band's patches", &subset));
    if (kernel->variant->image)
        CLV_TRY(clv_buffer_image(s->ctx, subset, "subset of the band's patches"));
    for (int first = 0; first < s->used; first += each) {
        int now = s->used - first < each ? s->used - first : each;
        CLV_TRY(clv_buffer_copy(s->ctx, a->scratch, (size_t)s->at.patches * 64 + (size_t)first * patch,
                                subset, 0, (size_t)now * patch));
        CLV_TRY(CLV_LAUNCH(s->ctx, kernel, rows, (double)patch * s->used, CLV_BUF(a->scratch),
                           kernel->variant->image ? CLV_IMAGE(subset) : CLV_BUF(subset),
                           CLV_BUF(a->neighbours), CLV_BUF(a->distances),
                           CLV_INT4(s->used, s->at.stride, now, a->most), CLV_INT(s->at.panels),
                           CLV_INT(first)));
        if (first / each % 16 == 15)
            CLV_TRY(clv_patch_report(s, (double)(first + now) / s->used));
    }
    CLV_TRY(clv_finish(s->ctx)); /* the subset is read until then */
    CLV_TRY(clv_patch_report(s, 1));
end:
    clv_buffer_destroy(&subset);
    return status;
}

int clv_patch_pairs(clvox_context *ctx, const clv_patch_search_args *args)
{
    int status = CLVOX_OK;
    clv_patch_task s = {.ctx = ctx, .a = args};
    CLV_TRY(clv_patch_begin(&s, PANEL, PANEL));
    if (args->patches.count < 1)
        goto end;
    CLV_TRY(clv_patch_take_all(&s));
    CLV_TRY(search(&s));
end:
    return status;
}

const clv_entry *const clv_operation_papers_patch_pairs[] = {&clv_entry_patch_pairs, NULL};
