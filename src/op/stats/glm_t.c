/* SPDX-License-Identifier: Apache-2.0 */
#include "op/stats/glm_t.h"

#include <string.h>

/* march: voxels an item, or a group of one item, walks over. */
static const clv_variant variants[] = {
    {.name = "items",
     .function = "glm_t_items",
     .item = {CLV_MARCH},
     .devices = CLV_ON_GPU,
     .fixed_bytes = CLV_GLM_BATCH * 128 * 4,
     .tiles = {{128, 1, 1, 4}, {64, 1, 1, 4}}},
    {.name = "rows",
     .function = "glm_t_rows",
     .item = {CLV_MARCH},
     .devices = CLV_ON_ANY,
     .tiles = {{1, 1, 1, 512}}},
};
static const char *const builds[] = {"-DBATCH=" CLV_TEXT(CLV_GLM_BATCH) " -DBLOCK=" CLV_TEXT(
                                         CLV_GLM_BLOCK) " -DNEAR=" CLV_TEXT(CLV_GLM_NEAR) "f",
                                     NULL};

const clv_entry clv_entry_glm_t = CLV_ENTRY("stats/glm_t", "glm_t", variants, builds);

size_t clv_glm_floats(int subjects, int voxels)
{
    return ((size_t)voxels + CLV_GLM_BLOCK - 1) / CLV_GLM_BLOCK * CLV_GLM_BLOCK * (size_t)subjects;
}

int clv_glm_t(clvox_context *ctx, const clv_glm *m, const clv_glm_batch *b)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int line[3] = {m->voxels, 1, 1}, start = b->at * CLV_GLM_BATCH * m->subjects * m->vectors;
    /* The data come from memory once, and again for each nuisance only where caches do not hold them. */
    const double moved =
        4. * m->voxels * (m->subjects + 1 + (b->count ? 3 : 0) + (b->maps ? b->permutations : 0));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_glm_t, builds[0], line, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, line, moved, CLV_BUF(m->data), CLV_BUF(b->weights), CLV_INT(start),
                       CLV_INT(m->subjects), CLV_INT(m->vectors), CLV_INT(m->voxels),
                       CLV_FLOAT((float)m->dof), CLV_INT(m->absolute), CLV_INT(b->permutations),
                       CLV_INT(b->slot), CLV_INT(b->first), CLV_BUF(m->least), CLV_BUF(b->threshold),
                       CLV_BUF(b->count), CLV_BUF(b->largest), CLV_BUF(b->maps)));
end:
    return status;
}

float clv_glm_largest(int32_t place)
{
    const int32_t bits = place ^ ((place >> 31) & 0x7fffffff);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

const clv_entry *const clv_operation_stats_glm_t[] = {&clv_entry_glm_t, NULL};
