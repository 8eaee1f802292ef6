/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's search, pair by pair, a subset of the band at a time. */
#include "op/surface/patch_search_parts.h"

enum { SUBSET_BYTES = 65536 }; /* what constant memory holds everywhere */

#define PAIRS_TILES .tiles = {{64, 1, 1, 1}, {128, 1, 1, 1}, {256, 1, 1, 1}}
static const clv_variant constant_variants[] = {
    {.name = "item", .function = "nlm_pairs", .defines = "-DFORM=0", .item = {CLV_MARCH},
     .devices = CLV_ON_ANY, PAIRS_TILES},
};
static const clv_variant global_variants[] = {
    {.name = "item", .function = "nlm_pairs", .defines = "-DFORM=1", .item = {CLV_MARCH},
     .devices = CLV_ON_ANY, PAIRS_TILES},
};
static const clv_variant image_variants[] = {
    {.name = "item", .function = "nlm_pairs", .defines = "-DFORM=2", .item = {CLV_MARCH},
     .devices = CLV_ON_GPU, PAIRS_TILES},
};
const clv_entry clv_entry_nlm_pairs_constant = {"surface/patch_search", "nlm_pairs_constant",
                                                constant_variants, 1, NULL};
const clv_entry clv_entry_nlm_pairs_global = {"surface/patch_search", "nlm_pairs_global", global_variants, 1,
                                              NULL};
const clv_entry clv_entry_nlm_pairs_image = {"surface/patch_search", "nlm_pairs_image", image_variants, 1, NULL};

const clv_entry *clv_nlm_pairs_entry(clv_nlm_memory memory)
{
    return memory == CLV_NLM_CONSTANT ? &clv_entry_nlm_pairs_constant
           : memory == CLV_NLM_IMAGE  ? &clv_entry_nlm_pairs_image
                                      : &clv_entry_nlm_pairs_global;
}

int clv_nlm_pairs(const clv_nlm_task *s, clv_nlm_memory memory)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    clv_buffer *subset = NULL;
    size_t patch = (size_t)s->at.stride * sizeof(float);
    int each = (int)(SUBSET_BYTES / patch), quads = s->at.stride / 4;
    if (memory == CLV_NLM_IMAGE && clvox_context_limits(s->ctx)->type == CLVOX_DEVICE_CPU)
        return clv_fail(CLVOX_ERROR_DEVICE, "search of patches: image memory is not used on CPU devices, "
                                            "which read images many times slower than buffers; take constant "
                                            "or global");
    CLV_TRY(clv_kernel_get(s->ctx, clv_nlm_pairs_entry(memory), NULL, (const int[3]){1, 1, 1}, 0, &kernel));
    if (memory != CLV_NLM_GLOBAL)
        CLV_TRY(clv_buffer_create(s->ctx, (size_t)each * patch, "subset of the band's patches", &subset));
    if (memory == CLV_NLM_IMAGE)
        CLV_TRY(clv_buffer_image(s->ctx, subset, "subset of the band's patches"));
    for (int first = 0; first < s->used; first += each) {
        int now = s->used - first < each ? s->used - first : each, from = 0;
        if (subset)
            CLV_TRY(clv_buffer_copy(s->ctx, s->scratch, (size_t)s->at.patches * 64 + (size_t)first * patch,
                                    subset, 0, (size_t)now * patch));
        else
            from = s->at.patches * 4 + first * quads;
        CLV_TRY(CLV_LAUNCH(s->ctx, kernel, ((const int[3]){s->used, 1, 1}), (double)patch * s->used,
                           CLV_BUF(s->scratch),
                           memory == CLV_NLM_IMAGE ? CLV_IMAGE(subset)
                                                   : CLV_BUF(subset ? subset : s->scratch),
                           CLV_BUF(s->neighbours), CLV_BUF(s->distances),
                           CLV_INT4(s->used, s->at.stride, now, s->most), CLV_INT(s->at.panels),
                           CLV_INT(from), CLV_INT(first)));
        if (first / each % 16 == 15)
            CLV_TRY(clv_nlm_report(s, (double)(first + now) / s->used));
    }
    CLV_TRY(clv_finish(s->ctx)); /* the subset is read until then */
    CLV_TRY(clv_nlm_report(s, 1));
end:
    clv_buffer_destroy(&subset);
    return status;
}
