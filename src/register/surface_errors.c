/* SPDX-License-Identifier: Apache-2.0 */
/* What surfaces say about a result. */
#include <string.h>

#include "base/matrix.h"
#include "base/status.h"
#include "register/surfaces.h"

/* Points on each surface, for the distances. */
enum { SAMPLES = 20000 };

typedef struct errors {
    double mean, largest, energy;
} errors;

static int compare(clvox_context *ctx, const clvox_surface *fixed, const clvox_surface *moving, double width, int varifold,
                   errors *out)
{
    int status = CLVOX_OK;
    clvox_surface_difference d;
    clvox_surface_products p;
    CLV_TRY(clvox_surface_compare(fixed, moving, SAMPLES, &d));
    CLV_TRY(clvox_surface_currents(ctx, fixed, moving, width, varifold, &p));
    *out = (errors){d.mean[2], d.largest[2], p.squared_distance / (p.aa + p.bb)};
end:
    return status;
}

int clvox_register_surface(clvox_context *context, const clvox_register_result *result,
                           const clvox_register_options *o, const clvox_surface *fixed, const clvox_surface *moving,
                           clvox_surface_errors *out)
{
    int status = CLVOX_OK;
    clvox_transform warp = {.is_warp = 1, .warp = result->warp}, affine = {.is_warp = 0};
    const clvox_link links[] = {{&affine, 1}, {&warp, 1}};
    const int varifold = o->surface_kind == CLVOX_SURFACE_VARIFOLD;
    clvox_surface *carried = NULL;
    clvox_grid finest;
    errors before, linear, after;
    *out = (clvox_surface_errors){.carried = NULL};
    clv_matrix_copy(CLV_MATRIX(result->matrix), affine.matrix);
    clv_register_level(&result->grid, o->levels > 0 ? o->shrink[o->levels - 1] : 1, &finest);
    out->width = clv_surfaces_width(o, &finest, CLVOX_MAX_LEVELS - 1);
    CLV_TRY(clvox_surface_create(moving->vertices, moving->triangles, &carried));
    memcpy(carried->points, moving->points, 3 * moving->vertices * sizeof *carried->points);
    memcpy(carried->corners, moving->corners, 3 * moving->triangles * sizeof *carried->corners);
    CLV_TRY(compare(context, fixed, carried, out->width, varifold, &before));
    CLV_TRY(clvox_apply_points(links, 1, carried->points, (int)carried->vertices));
    CLV_TRY(compare(context, fixed, carried, out->width, varifold, &linear));
    after = linear;
    if (result->warp) {
        CLV_TRY(clvox_apply_points(links + 1, 1, carried->points, (int)carried->vertices));
        CLV_TRY(compare(context, fixed, carried, out->width, varifold, &after));
    }
    out->mean_before = before.mean;
    out->mean_linear = linear.mean;
    out->mean_after = after.mean;
    out->largest_before = before.largest;
    out->largest_linear = linear.largest;
    out->largest_after = after.largest;
    out->energy_before = before.energy;
    out->energy_linear = linear.energy;
    out->energy_after = after.energy;
    out->carried = carried;
    carried = NULL;
end:
    clvox_surface_destroy(&carried);
    return status;
}
