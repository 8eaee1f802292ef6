/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that knows how the voxels of the images lie in their files. A run
 * sees every image in the storage nearest to RAS, so that all 48 storages of an
 * image are one computation; its results go back to the axes of the fixed file. */
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/problem.h"
#include "runtime/device/host.h"

static int enter(clv_problem *p)
{
    int status = CLVOX_OK;
    const clvox_volume **at[CLV_PROBLEM_VOLUMES], *given[CLV_PROBLEM_VOLUMES];
    const int count = clv_problem_volumes(&p->images, at);
    clv_register_copies *own = &p->own;
    p->shown = &clv_register_first(&p->images, false)->grid;
    for (int i = 0; i < count; i++) {
        clv_orientation o;
        clvox_grid grid;
        int brought = 0;
        if (!*at[i])
            continue;
        clv_orientation_of(&(*at[i])->grid, &o);
        if (clv_orientation_same(&o))
            continue;
        while (brought < own->count && given[brought] != *at[i]) /* the same volume in several channels */
            brought++;
        if (brought == own->count) {
            given[brought] = *at[i];
            clv_orientation_grid(&(*at[i])->grid, &o, &grid);
            CLV_TRY(p->planned ? clv_problem_shell(p, &grid, *at[i])
                               : clv_orientation_volume(*at[i], &o, NULL, &own->own[own->count++]));
        }
        *at[i] = own->own[brought];
    }
end:
    return status;
}

static int leave(const clv_problem *p, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_orientation o, back;
    const clvox_grid *fixed = &result->grid;
    result->grid = *p->shown;
    clv_orientation_of(fixed, &o);
    clv_orientation_inverse(&o, &back);
    if (result->warp && !clvox_grid_equal(&result->warp->grid, fixed)) /* else it came so from the device */
        CLV_TRY(clv_orientation_replace(&back, fixed, &result->warp));
    if (result->inverse_warp && !clvox_grid_equal(&result->inverse_warp->grid, fixed))
        CLV_TRY(clv_orientation_replace(&back, fixed, &result->inverse_warp));
    CLV_TRY(clv_orientation_replace(&back, fixed, &result->warped));
    CLV_TRY(clv_orientation_replace(&back, NULL, &result->momentum)); /* lies on a part of the grid */
    if (result->warped)
        CLV_TRY(clvox_volume_set_output(result->warped, p->outer->images.moving[0], 0, p->options.output));
end:
    return status;
}

const clv_step clv_step_ras_order = {.name = "RAS order", .enter = enter, .leave = leave};

int clvox_register_labels(clvox_context *ctx, const clvox_volume *labels, const clvox_grid *fixed,
                          const clvox_register_result *result, clvox_volume **out)
{
    CLV_GIVEN(ctx, labels, fixed, result, out);
    CLV_HOST_THREADS(ctx);
    int status = CLVOX_OK, count = 0;
    clv_orientation to, from, back;
    clvox_grid grid;
    clvox_volume *moved[2] = {NULL, NULL}, *made = NULL;
    clvox_transform affine = {.is_warp = 0}, warp = {.is_warp = 1};
    clvox_link links[2];
    *out = NULL;
    clv_orientation_of(fixed, &to);
    clv_orientation_of(&labels->grid, &from);
    clv_orientation_inverse(&to, &back);
    clv_orientation_grid(fixed, &to, &grid);
    if (!clv_orientation_same(&from))
        CLV_TRY(clv_orientation_volume(labels, &from, NULL, &moved[0]));
    if (result->warp && !clv_orientation_same(&to))
        CLV_TRY(clv_orientation_volume(result->warp, &to, NULL, &moved[1]));
    if (result->warp) {
        warp.warp = moved[1] ? moved[1] : result->warp;
        links[count++] = (clvox_link){&warp, 0};
    }
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    links[count++] = (clvox_link){&affine, 0};
    CLV_TRY(clvox_apply(ctx, moved[0] ? moved[0] : labels, &grid, links, count, CLVOX_INTERPOLATE_LABEL, 0,
                        &made));
    if (clv_orientation_same(&to)) {
        *out = made;
        made = NULL;
    } else {
        CLV_TRY(clv_orientation_volume(made, &back, fixed, out));
    }
end:
    clvox_volume_destroy(&moved[0]);
    clvox_volume_destroy(&moved[1]);
    clvox_volume_destroy(&made);
    return status;
}
