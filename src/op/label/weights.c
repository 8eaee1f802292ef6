/* SPDX-License-Identifier: Apache-2.0 */
#include "op/label/weights.h"

static const clv_variant moments_variants[] = {
    {.name = "item",
     .function = "label_moments",
     .devices = CLV_ON_GPU,
     .tiles = {{64, 4, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "label_moments",
     .defines = "-DROW_FORM=1",
     .item = {CLV_WHOLE},
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
const clv_entry clv_entry_label_moments = CLV_ENTRY("label/weights", "label_moments", moments_variants, NULL);

static const clv_variant weights_variants[] = {
    {.name = "item",
     .function = "label_weights",
     .devices = CLV_ON_GPU,
     .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}},
    {.name = "row",
     .function = "label_weights",
     .defines = "-DROW_FORM=1",
     .devices = CLV_ON_CPU,
     .tiles = {{1, 1, 1, 1}}},
};
/* Fewer atlases take less private memory. */
enum { FEW = 16 };
static const char *const builds[] = {"-DMOST=16", "-DMOST=64", "-DJOINT=1 -DMOST=16", "-DJOINT=1 -DMOST=64",
                                     NULL};
const clv_entry clv_entry_label_weights =
    CLV_ENTRY("label/weights", "label_weights", weights_variants, builds);

size_t clv_label_images_bytes(const int size[3], int atlases)
{
    enum { SPARE = 8 };
    return sizeof(float) *
           ((size_t)size[0] * (size_t)size[1] * (size_t)size[2] * (size_t)(atlases + 1) + SPARE);
}

#define STACK_SIZE(s) \
    CLV_INT4((s)->size[0], (s)->size[1], (s)->size[2], (s)->size[0] * (s)->size[1] * (s)->size[2])

int clv_label_moments(clvox_context *ctx, const clv_label_stack *s)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int volumes = s->atlases + 1, launch[3] = {s->size[0], s->size[1], s->size[2] * volumes};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_label_moments, NULL, launch, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 12.0 * launch[0] * launch[1] * launch[2], CLV_BUF(s->images),
                       CLV_BUF(s->moments), STACK_SIZE(s), CLV_INT(volumes)));
end:
    return status;
}

int clv_label_weights(clvox_context *ctx, const clv_label_stack *s, const clv_label_list *list, bool joint,
                      float ridge, clv_buffer *weights, clv_buffer *shifts)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int launch[3] = {list->count, 1, 1};
    if (s->atlases < 1 || s->atlases > CLV_LABEL_ATLASES || s->search < 0 || s->search > CLV_LABEL_SEARCH ||
        !(ridge > 0))
        return clvox_fail(CLVOX_ERROR_ARGUMENT, "%d atlases, a search of %d or a ridge of %g is out of range",
                          s->atlases, s->search, (double)ridge);
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_label_weights, builds[2 * joint + (s->atlases > FEW)], launch, 0,
                           &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, launch, 24.0 * s->atlases * list->count, CLV_BUF(s->images),
                       CLV_BUF(s->moments), CLV_BUF(s->labels), CLV_BUF(list->at), CLV_BUF(weights),
                       CLV_BUF(shifts), STACK_SIZE(s), CLV_INT4(s->atlases, list->count, s->search, 0),
                       CLV_FLOAT(ridge)));
end:
    return status;
}

const clv_entry *const clv_operation_label_weights[] = {&clv_entry_label_moments, &clv_entry_label_weights,
                                                        NULL};
