/* SPDX-License-Identifier: Apache-2.0 */
#include "op/anatomy/moving_mesh.h"

#define ROW(name_) \
    {.name = "item", .function = name_, .devices = CLV_ON_ANY, .tiles = {{64, 1, 1, 1}, {1, 1, 1, 1}}}
static const clv_variant place_variants[] = {ROW("moving_mesh_place_item")};
static const clv_variant elements_variants[] = {ROW("moving_mesh_elements_item")};
static const clv_variant boxes_variants[] = {ROW("moving_mesh_boxes_item")};
static const clv_variant pull_variants[] = {ROW("moving_mesh_pull_item")};

#define BLOCK "-DBLOCK=" CLV_TEXT(CLV_CURRENTS_BLOCK)
#define OF(corners) BLOCK " -DELEMENT_CORNERS=" #corners
#define FIELD " -DHAS_FIELD=1"
static const char *const plain[] = {BLOCK, NULL};
static const char *const moved[] = {BLOCK, BLOCK FIELD, NULL};
/* By corners, from 1 on; with a map from PULLED on. */
static const char *const shaped[] = {OF(1), OF(2), OF(3), NULL};
enum { PULLED = 3 };
static const char *const pulled[] = {OF(1), OF(2), OF(3), OF(1) FIELD, OF(2) FIELD, OF(3) FIELD, NULL};

const clv_entry clv_entry_moving_mesh_place = CLV_ENTRY("anatomy/moving_mesh", "moving_mesh_place",
                                                        place_variants, moved);
const clv_entry clv_entry_moving_mesh_elements = CLV_ENTRY("anatomy/moving_mesh", "moving_mesh_elements",
                                                           elements_variants, shaped);
const clv_entry clv_entry_moving_mesh_boxes = CLV_ENTRY("anatomy/moving_mesh", "moving_mesh_boxes",
                                                        boxes_variants, plain);
const clv_entry clv_entry_moving_mesh_pull = CLV_ENTRY("anatomy/moving_mesh", "moving_mesh_pull",
                                                       pull_variants, pulled);

int clv_moving_mesh_place(clvox_context *ctx, const clv_moving_mesh *m, const clv_buffer *u, const clv_image *grid)
{
    int status = CLVOX_OK;
    const clv_kernel *place, *make, *boxes;
    const int vertices[3] = {m->vertices, 1, 1}, elements[3] = {m->elements, 1, 1};
    const int blocks[3] = {CLV_CURRENTS_BLOCKS(m->elements), 1, 1};
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moving_mesh_place, moved[u != NULL], vertices, 0, &place));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moving_mesh_elements, shaped[m->corners - 1], elements, 0, &make));
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moving_mesh_boxes, plain[0], blocks, 0, &boxes));
    CLV_TRY(CLV_LAUNCH(ctx, place, vertices, 48. * m->vertices, CLV_BUF(m->points), CLV_INT(m->vertices), CLV_BUF(u),
                       CLV_GRID(grid), CLV_BUF(m->tracked)));
    CLV_TRY(CLV_LAUNCH(ctx, make, elements, 92. * m->elements, CLV_BUF(m->tracked), CLV_BUF(m->topology),
                       CLV_INT(m->elements),
                       CLV_FLOAT4(grid->spacing[0], grid->spacing[1], grid->spacing[2], 0),
                       CLV_BUF(m->element)));
    CLV_TRY(CLV_LAUNCH(ctx, boxes, blocks, 16. * m->elements, CLV_BUF(m->element), CLV_INT(m->elements),
                       CLV_BUF(m->box)));
end:
    return status;
}

int clv_moving_mesh_pull(clvox_context *ctx, const clv_moving_mesh *m, const clv_mesh_pull_args *a)
{
    int status = CLVOX_OK;
    const clv_kernel *kernel;
    const int vertices[3] = {m->vertices, 1, 1};
    const float all[3] = {1, 1, 1}, *axes = a->axes ? a->axes : all;
    CLV_TRY(clv_kernel_get(ctx, &clv_entry_moving_mesh_pull, pulled[m->corners - 1 + (a->u ? PULLED : 0)],
                           vertices, 0, &kernel));
    CLV_TRY(CLV_LAUNCH(ctx, kernel, vertices, 48. * m->vertices + 100. * m->elements, CLV_INT(m->vertices),
                       CLV_INT(m->elements), CLV_BUF(m->topology), CLV_BUF(m->element),
                       CLV_BUF(a->by_element), CLV_BUF(a->u), CLV_GRID(&a->grid), CLV_FLOAT(a->factor),
                       CLV_FLOAT4(axes[0], axes[1], axes[2], 0), CLV_BUF(a->state), CLV_INT(a->slot),
                       CLV_BUF(m->tracked)));
end:
    return status;
}

const clv_entry *const clv_operation_anatomy_moving_mesh[] = {&clv_entry_moving_mesh_place, &clv_entry_moving_mesh_elements,
                                                             &clv_entry_moving_mesh_boxes, &clv_entry_moving_mesh_pull, NULL};
