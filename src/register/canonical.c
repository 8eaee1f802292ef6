/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that knows how the voxels of the images lie in their files. A run
 * sees every image in the storage nearest to RAS, so that all 48 storages of an
 * image are one computation; its results go back to the axes of the fixed file. */
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/register.h"
#include "runtime/device/host.h"

static int bring(const clvox_volume **volume, bool data, clv_register_canonical *c)
{
    clv_orientation o;
    if (!*volume)
        return CLVOX_OK;
    clv_orientation_of(&(*volume)->grid, &o);
    if (clv_orientation_same(&o))
        return CLVOX_OK;
    /* The same volume in several channels is brought once. */
    for (int i = 0; i < c->count; i++)
        if (c->from[i] == *volume) {
            *volume = data ? c->own[i] : &c->shell[i];
            return CLVOX_OK;
        }
    c->from[c->count] = *volume;
    c->shell[c->count] = **volume;
    clv_orientation_grid(&(*volume)->grid, &o, &c->shell[c->count].grid);
    if (data) {
        int status = clv_orientation_volume(*volume, &o, NULL, &c->own[c->count]);
        if (status < 0)
            return status;
    }
    *volume = data ? c->own[c->count] : &c->shell[c->count];
    c->count++;
    return CLVOX_OK;
}

int clv_register_canonical_make(const clvox_register_images *given, bool data, clv_register_canonical *c)
{
    int status = CLVOX_OK;
    *c = (clv_register_canonical){.images = *given};
    for (int i = 0; i < given->channels; i++) {
        CLV_TRY(bring(&c->images.fixed[i], data, c));
        CLV_TRY(bring(&c->images.moving[i], data, c));
    }
    CLV_TRY(bring(&c->images.fixed_mask, data, c));
    CLV_TRY(bring(&c->images.moving_mask, data, c));
    CLV_TRY(bring(&c->images.linear_fixed_mask, data, c));
    CLV_TRY(bring(&c->images.linear_moving_mask, data, c));
    for (int i = 0; i < CLVOX_MAX_LEVELS; i++) {
        CLV_TRY(bring(&c->images.level_fixed_mask[i], data, c));
        CLV_TRY(bring(&c->images.level_moving_mask[i], data, c));
    }
    CLV_TRY(bring(&c->images.initial_warp, data, c));
    CLV_TRY(bring(&c->images.fixed_posteriors, data, c));
    CLV_TRY(bring(&c->images.moving_posteriors, data, c));
end:
    return status;
}

void clv_register_canonical_free(clv_register_canonical *c)
{
    for (int i = 0; i < c->count; i++)
        clvox_volume_destroy(&c->own[i]);
    c->count = 0;
}

int clv_register_canonical_return(const clvox_grid *fixed, clvox_register_result *result)
{
    int status = CLVOX_OK;
    clv_orientation o, back;
    clv_orientation_of(fixed, &o);
    clv_orientation_inverse(&o, &back);
    if (result->warp && !clvox_grid_equal(&result->warp->grid, fixed)) /* else it came so from the device */
        CLV_TRY(clv_orientation_replace(&back, fixed, &result->warp));
    if (result->inverse_warp && !clvox_grid_equal(&result->inverse_warp->grid, fixed))
        CLV_TRY(clv_orientation_replace(&back, fixed, &result->inverse_warp));
    CLV_TRY(clv_orientation_replace(&back, fixed, &result->warped));
    CLV_TRY(clv_orientation_replace(&back, NULL, &result->momentum)); /* lies on a part of the grid */
end:
    return status;
}

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
