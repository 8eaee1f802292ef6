/* SPDX-License-Identifier: Apache-2.0 */
#include "op/label/vote.h"

static const clv_variant vote_variants[] = {
    {.name = "item", .function = "label_vote", .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
};
const clv_entry clv_entry_label_vote = CLV_ENTRY("label/vote", "label_vote", vote_variants, NULL);

static const clv_variant patches_variants[] = {
    {.name = "item",
     .function = "label_vote_patches",
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "label_vote_patches",
     .defines = "-DROW_FORM=1",
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_label_vote_patches =
    CLV_ENTRY("label/vote", "label_vote_patches", patches_variants, NULL);

#define STACK_SIZE(s) \
    CLV_INT4((s)->size[0], (s)->size[1], (s)->size[2], (s)->size[0] * (s)->size[1] * (s)->size[2])

int clv_label_vote(clvox_context *ctx, const clv_label_stack *s, const clv_label_list *list,
                   const clv_label_voters *v, clv_buffer *out, clv_buffer *share)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int launch[3] = {list->count, 1, 1};
    if (v->reach < 0 || v->reach > clv_label_margin(s->search))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "votes from %d voxels away are out of range", v->reach);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_label_vote, NULL, launch, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 12.0 * s->atlases * list->count, CLV_BUF(s->labels),
                       CLV_BUF(list->at), CLV_BUF(v->place), CLV_BUF(v->weights), CLV_BUF(v->shifts),
                       CLV_BUF(out), CLV_BUF(share), STACK_SIZE(s),
                       CLV_INT4(s->atlases, list->count, v->reach, v->weights != NULL)));
end:
    return status;
}

int clv_label_vote_patches(clvox_context *ctx, const clv_label_stack *s, const clv_label_list *list,
                           float width, clv_buffer *out, clv_buffer *share)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int launch[3] = {list->count, 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_label_vote_patches, NULL, launch, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 16.0 * s->atlases * list->count, CLV_BUF(s->images),
                       CLV_BUF(s->moments), CLV_BUF(s->labels), CLV_BUF(list->at), CLV_BUF(out),
                       CLV_BUF(share), STACK_SIZE(s), CLV_INT4(s->atlases, list->count, s->search, 0),
                       CLV_FLOAT(width)));
end:
    return status;
}

const clv_entry *const clv_operation_label_vote[] = {&clv_entry_label_vote, &clv_entry_label_vote_patches,
                                                     NULL};
